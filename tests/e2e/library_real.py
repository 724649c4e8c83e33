#!/usr/bin/env python3
"""The same on NVIDIA's own cuBLAS, cuBLASLt and cuDNN, whose symbols have versions and whose descriptors only they can read.
Skipped where they are not installed. Needs no GPU: the calls are refused, but what they ask for is read before."""
import os
import pathlib
import subprocess

from lib import ROOT, as_alone, check, equal, folder, main, need, need_sim, run, skip

need_sim()
need("gcc")
ROOTS = [pathlib.Path(p) for p in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if p]
HOME = next((root for root in ROOTS if (root / "include/cublasLt.h").exists() and (root / "include/cudnn.h").exists()), None)
LIBS = next((HOME / f for f in ("lib64", "lib") if HOME and list((HOME / f).glob("libcublasLt.so*"))
             and list((HOME / f).glob("libcudnn.so*"))), None)
if not LIBS:
    skip("cuBLAS and cuDNN are not installed")
FLOPS, BYTES, READS_C, BROADCAST_B = 512, 1024, 16, 128
TYPES = {"f32": 2, "f16": 3, "bf16": 4, "f8_e4m3": 5}
COMPUTE = {"f32": 2, "tf32": 5, "any": 10}


def build():
    program = folder("real") / "library_real"
    command = ["gcc", "-O1", "-o", program, ROOT / "tests/e2e/library_real.c", f"-isystem{HOME}/include", f"-L{LIBS}", "-lcublas",
               "-lcublasLt", "-lcudnn", f"-Wl,-rpath,{LIBS}"]
    subprocess.run(command, check=True, capture_output=True)
    return str(program)


PROGRAM = build()


def what_the_real_libraries_say_is_read():
    alone = run(PROGRAM, preload=False)
    result = as_alone(run(PROGRAM), alone)
    trace = result.trace().sound().lossless()
    shapes = {row["id"]: row for row in trace["shape"]}
    lt, batch = 2 * 48 * 40 * 32, 6
    y, window = 4 * 48 * 6 * 6, 6 * 25
    wanted = [
        ("cublasLtMatmul", lt, 2 * (48 * 32 + 32 * 40 + 48 * 40), (48, 40, 32, 1), "bf16", "bf16", "f32", 0),
        ("cublasLtMatmul", lt * batch, 4 * (batch * 48 * 32 + 32 * 40 + 2 * batch * 48 * 40), (48, 40, 32, batch), "f32", "f32",
         "tf32", READS_C | BROADCAST_B),
        ("cublasLtMatmul", lt, 48 * 32 + 32 * 40 + 2 * 48 * 40, (48, 40, 32, 1), "f8_e4m3", "bf16", "f32", 0),
        ("cudnnConvolutionForward", 2 * y * window, 2 * (4 * 24 * 225 + 48 * window + 2 * y), (4 * 36, 12, window, 4), "f16", "f16",
         "f32", READS_C),
        ("cudnnBackendExecute", 2 * 6 * 20 * 32 * 40, 2 * 6 * (20 * 32 + 32 * 40 + 20 * 40), (20, 40, 32, 6), "f16", "f16", "f32", 0),
        ("cublasSgemm_v2", 2 * 3 * 5 * 7, 4 * (21 + 35 + 15), (3, 5, 7, 1), "f32", "f32", "f32", 0),
        ("cublasHgemmBatched_64", 2 * 3 * 5 * 7 * 9, 2 * 9 * (21 + 35 + 15), (3, 5, 7, 9), "f16", "f16", None, 0),
    ]
    equal([trace.api(row) for row in trace["library"]], [row[0] for row in wanted], "calls")
    for row, (name, flops, size, sizes, a, c, compute, flags) in zip(trace["library"], wanted):
        shape = shapes[row["shape"]]
        equal((shape["flops"], shape["bytes"]), (flops, size), f"{name}: FLOPs and bytes")
        equal(tuple(shape[k] for k in "mnk") + (shape["batch"],), sizes, f"{name}: sizes")
        equal((shape["type_a"], shape["type_c"]), (TYPES[a], TYPES[c]), f"{name}: types")
        check(compute is None or shape["compute"] == COMPUTE[compute], f"{name}: compute", shape["compute"])
        equal(shape["flags"] & (FLOPS | BYTES | READS_C | BROADCAST_B), FLOPS | BYTES | flags, f"{name}: flags")
    return f"{len(wanted)} calls"


def an_application_may_look_for_functions_by_handle():
    """Past the hooks, as XLA does: what is said of the library is that it is loaded."""
    program = ("import ctypes, time\n"
               f"lt = ctypes.CDLL('{LIBS}/libcublasLt.so.13')\n"
               "rt = ctypes.CDLL('libcudart.so.13', mode=ctypes.RTLD_GLOBAL)\n"
               "rt.cudaSetDevice(0)\n")
    result = run("/usr/bin/env", "python3", "-c", program, env={"LD_LIBRARY_PATH": str(ROOT / "build/sim")})
    equal(result.status, 0, f"exit status ({result.err})")
    trace = result.trace().sound()
    equal(trace.meta.get("library.state.cublaslt"), "loaded, no call seen", "state of cuBLASLt")
    equal(len(trace["library"]), 0, "library calls")


main(what_the_real_libraries_say_is_read, an_application_may_look_for_functions_by_handle)
