"""Numba: a kernel compiled from Python, on the default stream and on one of its own. Prints a checksum and how many it launched."""
import hashlib

import numpy as np

if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # numba-cuda 0.30 asks for it, NumPy 2.5 has it no more
from numba import cuda  # noqa: E402


@cuda.jit
def numba_bump(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


x = cuda.to_device(np.zeros(4096, dtype=np.float32))
for _ in range(70):
    numba_bump[16, 256](x)
cuda.synchronize()
stream = cuda.stream()
for _ in range(30):
    numba_bump[16, 256, stream](x)
stream.synchronize()
print("result", hashlib.sha256(x.copy_to_host().tobytes()).hexdigest()[:32])
print("launched numba_bump 100")
