"""JAX: matrix products, fusions and reductions under jit, a known number of calls.

    jax_door.py CALLS     prints a checksum; with DOOR_COUNT=FOLDER the same runs under jax.profiler, which writes there

DOOR_PROFILE=1: the program uses jax.profiler itself and prints how many device events it got, on standard error."""
import glob
import hashlib
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402


@jax.jit
def step(x, w):
    y = jnp.tanh(x @ w)
    return y / (1.0 + jnp.abs(y).sum(axis=1, keepdims=True)), y.max()


def kernels(folder):
    """name -> count of what the profiler's lines of streams hold, copies and sets apart."""
    counts = {}
    for path in glob.glob(f"{folder}/**/*.xplane.pb", recursive=True):
        for plane in jax.profiler.ProfileData.from_file(path).planes:
            if not plane.name.startswith("/device:GPU"):
                continue
            for line in plane.lines:
                if not line.name.startswith("Stream"):
                    continue
                for event in line.events:
                    if not event.name.lower().startswith(("memcpy", "memset")):
                        counts[event.name] = counts.get(event.name, 0) + 1
    return counts


def main():
    import json
    calls, folder = int(sys.argv[1]), os.environ.get("DOOR_COUNT")
    device = jax.devices()[0]
    if device.platform not in ("gpu", "cuda"):
        sys.exit("JAX sees no GPU")
    if folder:
        jax.profiler.start_trace(folder)
    x = jax.device_put(np.arange(512 * 512, dtype=np.float32).reshape(512, 512) / 262144, device)
    w = jax.device_put(np.linspace(-1, 1, 512 * 512, dtype=np.float32).reshape(512, 512), device)
    for _ in range(calls):
        x, top = step(x, w)
    jax.block_until_ready((x, top))
    if folder:
        jax.profiler.stop_trace()
        counts = kernels(folder)
        with open(f"{folder}/kernels.json", "w", encoding="utf-8") as file:
            json.dump(counts, file)
    print("result", hashlib.sha256(np.asarray(x).tobytes()).hexdigest()[:32], float(top).hex())


main()
