#!/usr/bin/env python3
"""The scenarios of tests/SCENARIOS.md that need a GPU, each by its name. One GPU, nvcc, gcc; PyTorch, ncu and compute-sanitizer where
they are there. Ends by itself within six minutes; every command has its own limit below that.

    tests/gpu/scenarios.py [--only NAME,...] [--list] [--shim PATH] [--boundshim PATH] [--log FILE]

Prints PASS, FAIL or SKIP for each scenario, and for what failed why. Exit status 0: none failed; 77: no GPU or no nvcc here."""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
import lib  # noqa: E402: the second reader of traces
from lib import DRIVER, Trace  # noqa: E402

DEADLINE_S = 350
BEGAN = time.monotonic()
CAPTURED = lib.CAPTURED
WORK = pathlib.Path(tempfile.mkdtemp(prefix="boundshim-scenarios-"))
SCENARIOS = {}
shim = boundshim = None
log = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


class Skip(Exception):
    """The scenario needs what is not here."""


def scenario(name):
    """Registers the function under the name that tests/SCENARIOS.md has."""
    def register(function):
        SCENARIOS[name] = function
        return function
    return register


def check(held, *words):
    if not held:
        raise AssertionError(" ".join(map(str, words)))


def equal(got, wanted, what):
    check(got == wanted, f"{what}: got {got!r}, expected {wanted!r}")


# --- running -------------------------------------------------------------------------------------------------------------------

class Result:
    def __init__(self, folder, status, out, err, seconds):
        self.folder, self.status, self.out, self.err, self.seconds = folder, status, out, err, seconds
        self.paths = sorted(folder.glob("*.bst"))

    def trace(self, complete=True):
        equal(len(self.paths), 1, f"traces ({self.words()})")
        return Trace(self.paths[0]).sound(complete=complete)

    def words(self):
        return f"status {self.status}, stdout {self.out[-300:]!r}, stderr {self.err[-500:]!r}"

    def ours(self):
        return [line for line in self.err.splitlines() if line.startswith("boundshim: ")]


def execute(command, limit_s=60, preload=True, env=None, tool=()):
    """Runs it to its end, by default under the shim (and `tool` before it, which inherits the preload)."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    settings = {k: v for k, v in os.environ.items() if not k.startswith(("BOUNDSHIM_", "NVTX_", "CUDA_INJECTION"))}
    if preload:
        settings |= {"LD_PRELOAD": str(shim), "BOUNDSHIM_OUT": f"{folder}/"}
    for key, value in (env or {}).items():
        settings.pop(key, None)
        if value is not None:
            settings[key] = str(value)
    words = [*map(str, tool), *map(str, command)]
    began = time.monotonic()
    process = subprocess.Popen(words, cwd=folder, env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    try:
        out, err = process.communicate(timeout=max(1.0, min(limit_s, DEADLINE_S - (began - BEGAN))))
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        status = "no end"
    seconds = time.monotonic() - began
    print(f"$ {' '.join(words)} {'(shim)' if preload else ''} {env or ''} -> {status} in {seconds:.2f} s\n{out[-3000:]}{err[-3000:]}", file=log, flush=True)
    return Result(folder, status, out, err, seconds)


def as_alone(command, limit_s=60, env=None, words=None):
    """Runs it alone and traced: the same status, stdout, and stderr but for our lines. The traced result."""
    alone = execute(command, limit_s, preload=False, env=env)
    traced = execute(command, limit_s, env=env)
    check(alone.status != "no end", f"alone: {alone.words()}")
    equal((traced.status, traced.out), (alone.status, alone.out), "status and stdout")
    if words is not None:
        equal(len(traced.ours()), words, f"lines of ours ({traced.ours()})")
    return traced


def coverage(result):
    done = subprocess.run([boundshim, "report", "--format", "json", result.folder], capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode == 0, f"report: status {done.returncode}, {done.stderr[-300:]}")
    return [process["coverage"] for process in json.loads(done.stdout)["processes"]]


def explained(result, kernels):
    """So many kernels, each with its launch, nothing lost."""
    (c,) = coverage(result)
    equal((c["kernels"], c["kernels_explained"]), (kernels, kernels), "kernels, explained")
    equal(c["dropped"], {}, "dropped")


# --- building ------------------------------------------------------------------------------------------------------------------

NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
CUDA = pathlib.Path(NVCC).resolve().parent.parent
built = {}


def make(name, *command):
    if name not in built:
        done = subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True, timeout=90, check=False)
        check(done.returncode == 0, f"building {name}: {done.stderr[-500:]}")
        built[name] = WORK / name
    return built[name]


def nvcc(name, source, *flags):
    arch = "-arch=native" if pathlib.Path("/dev/nvidia0").exists() else "-arch=sm_90"
    return make(name, NVCC, "-O1", arch, *flags, "-o", WORK / name, ROOT / "tests/gpu" / source)


def app(name, static=False):
    """A program of tests/apps, with a real kernel."""
    real = nvcc("app_gpu.o", "app_gpu.cu", "-c")
    includes = [f"-I{ROOT}/tests/apps", f"-I{ROOT}/tests/sim", f"-isystem{CUDA}/include"]
    common = make("app.o", "gcc", "-O1", "-Dapp_kernel=simulated_kernel", "-Dapp_symbol=simulated_symbol", "-c", "-o", WORK / "app.o",
                  ROOT / "tests/apps/app.c", *includes)
    links = ["-lcudart_static", "-lrt"] if static else ["-lcudart", f"-Wl,-rpath,{CUDA}/lib64"]
    out = name + ("-static" if static else "")
    return make(out, "gcc", "-O1", "-w", "-o", WORK / out, ROOT / f"tests/apps/{name}.c", common, real, *includes,
                f"-L{CUDA}/lib64", *links, "-lstdc++", "-ldl", "-lpthread", "-lm")


def plugin():
    return nvcc("plugin.so", "plugin.cu", "--cudart", "shared", "-shared", "-Xcompiler", "-fPIC", f"-Xlinker=-rpath={CUDA}/lib64")


def graphs():
    return nvcc("graphs", "graphs.cu", "-rdc=true", "-lcudadevrt", "--cudart", "shared", f"-Xlinker=-rpath={CUDA}/lib64")


def python(program):
    return [sys.executable, "-c", program]


def need_torch():
    if "torch" not in built:
        built["torch"] = execute(python("import torch; torch.zeros(1).cuda()"), 150, preload=False).status == 0
    if not built["torch"]:
        raise Skip("no PyTorch with CUDA")


# --- endings -------------------------------------------------------------------------------------------------------------------

@scenario("exit-clean")
def exit_clean():
    for program in (app("die"), app("die", static=True)):
        result = as_alone([program, "how=return", "launches=1000"], words=0)
        equal(result.status, 0, "status")
        trace = result.trace()
        equal((trace.complete, trace.meta["end.reason"]), (True, "exit"), "complete, end")
        explained(result, 1000)


@scenario("os._exit")
def os_exit():
    program = (f"import ctypes, os, time\nplugin = ctypes.CDLL({str(plugin())!r})\n"
               "assert plugin.plugin_run(1000) == 0\ntime.sleep(1.5)\nprint('leaving', flush=True)\nos._exit(7)\n")
    result = as_alone(python(program), words=0)
    equal((result.status, result.out), (7, "leaving\n"), "status, stdout")
    trace = result.trace(complete=False)
    check(not trace.complete, "the trace says that it is complete")
    equal(len(trace["run"]), 1000, "kernels older than a second")


@scenario("flush races exit")
def flush_races_exit():
    """Alone some runs may end badly too: nothing worse may happen under the shim, and no later."""
    # so many that CUPTI is up before main returns, on the quickest machine too
    command = [app("threads_at_exit"), "threads=32", "launches=100000"]
    alone = [execute(command, 20, preload=False) for _ in range(5)]
    slowest = max(r.seconds for r in alone)
    known, bad, kernels = {r.status for r in alone} | {0}, [], []
    began = time.monotonic()
    while len(kernels) < 15 and time.monotonic() - began < 60:
        result = execute(command, 20)
        if result.status not in known or result.seconds > slowest + 3:
            bad.append(f"{result.seconds:.1f} s, {result.words()}")
        equal(len(result.paths), 1, f"traces ({result.words()})")
        kernels.append(coverage(result)[0]["kernels"])
    check(any(kernels), "no kernels in any trace")
    check(not bad, f"alone at most {slowest:.1f} s, statuses {known}; under the shim:", *bad[:3])
    return f"{len(kernels)} runs, statuses alone {known}, {min(kernels)} to {max(kernels)} kernels"


@scenario("cudaDeviceReset then reuse")
def device_reset():
    result = as_alone([app("device_reset"), "launches=10"], words=0)
    equal(result.status, 0, f"status ({result.words()})")
    trace = result.trace().lossless()
    equal(len(trace["run"]), 20, "kernels before and after")
    contexts = [row["context"] for row in trace["run"]]
    equal(len(set(contexts)), 2, f"contexts {set(contexts)}")


# --- doors ---------------------------------------------------------------------------------------------------------------------

@scenario("spawn workers with CUDA")
def spawn_workers():
    job = WORK / "job.py"
    job.write_text(f"import ctypes, multiprocessing\nplugin = ctypes.CDLL({str(plugin())!r})\n"
                   "def job(n):\n    return plugin.plugin_run(n)\n"
                   "if __name__ == '__main__':\n    multiprocessing.set_start_method('spawn')\n"
                   "    workers = [multiprocessing.Process(target=job, args=(100 + n,)) for n in range(4)]\n"
                   "    [w.start() for w in workers]; [w.join() for w in workers]\n"
                   "    print([w.exitcode for w in workers]); plugin.plugin_run(50)\n", encoding="utf-8")
    result = as_alone([sys.executable, job], 100, words=0)
    equal((result.status, result.out), (0, "[0, 0, 0, 0]\n"), f"status, stdout ({result.err[-300:]})")
    equal(sorted(len(Trace(path).sound().lossless()["run"]) for path in result.paths), [50, 100, 101, 102, 103], "kernels of each process")


@scenario("DEEPBIND, dlsym, static cudart")
def past_the_hooks():
    deep = ("import ctypes, os\nplugin = ctypes.CDLL(PLUGIN, mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND)\n"
            "print(plugin.plugin_run(500))\n").replace("PLUGIN", repr(str(plugin())))
    handle = (f"import ctypes\ncudart = ctypes.CDLL('{CUDA}/lib64/libcudart.so')\np = ctypes.c_void_p()\n"
              "print(cudart.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(4096)))\n"
              "print({cudart.cudaMemset(p, 0, ctypes.c_size_t(4096)) for _ in range(500)}, cudart.cudaDeviceSynchronize())\n")
    for name, command, table, count in (("deep binding", python(deep), "run", 500), ("handle", python(handle), "copy", 500),
                                        ("static", [app("die", static=True), "launches=500"], "run", 500)):
        result = as_alone(command, words=0)
        equal(result.status, 0, f"{name}: status ({result.words()})")
        trace = result.trace().lossless()
        equal(len(trace[table]), count, f"{name}: operations of the device")
        equal([row for row in trace["call"] if not row["flags"] & DRIVER][:1], [], f"{name}: hooked calls")
        launched = {row["correlation"] for row in trace["call"]}
        equal([row for row in trace[table] if row["correlation"] not in launched][:1], [], f"{name}: operations without a call")


@scenario("all doors")
def all_doors():
    program = app("all_doors")
    names = execute([program, "list"], preload=False).out.split()
    result = as_alone([program])
    equal(result.status, 0, f"status ({result.words()})")
    trace = result.trace().lossless()
    seen = [trace.api(row) for row in trace["call"] if not row["flags"] & DRIVER]
    # two more copies verify what the others did
    wrong = {name: seen.count(name) for name in names if seen.count(name) != (3 if name == "cudaMemcpy" else 1)}
    check(len(names) > 70 and not wrong, f"{len(names)} doors; seen not once: {wrong}")
    launches = [row["correlation"] for row in trace["call"] if row["correlation"]]
    equal(len(launches), len(set(launches)), "calls with a correlation of their own")
    equal([r for r in trace["run"] + trace["copy"] if r["correlation"] not in launches][:3], [], "device work without a call")
    equal(len(trace["run"]), 8, "kernels")


@scenario("wrong or missing libcupti")
def wrong_libcupti():
    program = [app("die"), "launches=200"]
    stub = WORK / "stub/libcupti.so.13"
    stub.parent.mkdir(exist_ok=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "/dev/null", "-Wl,-soname,libcupti.so.13", "-o", stub], check=True)
    for name, path, words in (("absent", "/nonexistent/libcupti.so", "/nonexistent"), ("stub", stub, "lacks")):
        result = as_alone(program, env={"BOUNDSHIM_CUPTI": path}, words=1)
        equal(result.status, 0, f"{name}: status ({result.words()})")
        trace = result.trace()
        equal((trace.meta["cupti.state"], len(trace["run"])), ("off", 0), f"{name}: state, kernels")
        check(words in trace.meta["cupti.reason"], trace.meta["cupti.reason"])
        equal(len(trace.calls("cudaLaunchKernel")) + len(trace.calls("__cudaLaunchKernel")), 200, f"{name}: launches")
    found = as_alone(program, words=0).trace()
    check(found.meta["cupti.state"] == "on" and found.meta["cupti.version"], found.meta)
    others = [p for p in subprocess.run(["find", "/usr", "/opt", "-name", "libcupti.so.1[123]*", "-type", "f"], capture_output=True,
                                        text=True, timeout=60, check=False).stdout.split() if os.path.realpath(found.meta["cupti.path"]) != p]
    for path in others[:3]:  # of another version: it works, or says why not
        trace = as_alone(program, env={"BOUNDSHIM_CUPTI": path}).trace()
        check(trace.meta["cupti.state"] == "on" or trace.meta.get("cupti.reason"), f"{path}: {trace.meta}")
        equal(trace.meta.get("cupti.path", path), path, "path")
    return f"in use {found.meta['cupti.path']} ({found.meta['cupti.version']}); others tried: {others[:3] or 'none here'}"


# --- graphs --------------------------------------------------------------------------------------------------------------------

CAPTURE = """
import threading, torch
torch.manual_seed(0)
x = torch.zeros(1 << 16, device="cuda")
others = [torch.zeros(1 << 12, device="cuda") for _ in range(3)]
stop = threading.Event()
def busy(y):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        while not stop.is_set():
            for _ in range(50):
                y.add_(1)
            stream.synchronize()
torch.cuda.synchronize()
warm = torch.cuda.Stream()
with torch.cuda.stream(warm):
    x.add_(1); x.mul_(1)
torch.cuda.synchronize()
x.zero_()
threads = [threading.Thread(target=busy, args=(y,)) for y in others]
[t.start() for t in threads]
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g, capture_error_mode="thread_local"):
    for _ in range(5):
        x.add_(1)
for _ in range(100):
    g.replay()
torch.cuda.synchronize()
stop.set()
[t.join() for t in threads]
torch.cuda.synchronize()
print(int(x.double().sum().item()), all(bool((y == y[0]).all()) for y in others))
"""


@scenario("stream capture")
def stream_capture():
    need_torch()
    result = as_alone(python(CAPTURE), 90)
    equal((result.status, result.out), (0, f"{(1 << 16) * 500} True\n"), f"status, stdout ({result.err[-300:]})")
    trace = result.trace()
    replays = [row for row in trace["run"] if row["graph"] and row["node"]]
    equal(len(replays), 500, "kernels of 100 replays of 5")
    equal(len({row["node"] for row in replays}), 5, "nodes")
    known = {row["node"] for row in trace["node"]}
    equal([row for row in replays if row["node"] not in known][:1], [], "kernels of nodes that nobody made")
    captured = [row for row in trace["call"] if row["flags"] & CAPTURED]
    check(len(captured) >= 5, f"{len(captured)} captured launches")
    executed = {row["correlation"] for row in trace["run"]}
    # a captured launch runs nothing
    equal([row for row in captured if row["correlation"] in executed][:1], [], "captured launches with a kernel")
    (c,) = coverage(result)
    check(c["kernels"] == c["kernels_explained"], c)
    return f"{len(captured)} captured, {c['kernels']} kernels"


@scenario("graph made before tracing")
def graph_before():
    result = as_alone([graphs(), "before", "3"], 30, env={"BOUNDSHIM_DELAY_S": "1"}, words=0)
    equal((result.status, result.out), (0, "each replay counted 96\n"), f"status, stdout ({result.err[-300:]})")
    trace = result.trace()
    launches, kernels = trace.calls("cudaGraphLaunch"), trace["run"]
    check(len(launches) > 100, f"{len(launches)} replays")
    # the replays that were under way when tracing began may be partly seen
    check(3 * len(launches) - 30 <= len(kernels) <= 3 * len(launches) + 30, f"{len(launches)} replays of 3, {len(kernels)} kernels")
    (c,) = coverage(result)
    check(c["kernels_explained"] >= c["kernels"] - 30, f"kernels of nodes made before are not explained: {c}")
    return f"{len(kernels)} kernels, {c['kernels_explained']} explained, dropped {c['dropped']}"


@scenario("while node")
def while_node():
    result = as_alone([graphs(), "while"], 30, words=0)
    equal((result.status, result.out), (0, "the body ran 200 times\n"), f"status, stdout ({result.err[-300:]})")
    trace = result.trace()
    names = [trace.kernel_name(row) for row in trace["run"]]
    bodies = sum("body_of_while" in name for name in names)
    equal(sum("begin_while" in name for name in names), 20, "kernels before the loops")
    # CUPTI is said to tell of the first iteration only: a limit that the README names
    check(20 <= bodies <= 200, f"{bodies} bodies of 200")
    (c,) = coverage(result)
    return f"{bodies} of 200 bodies are in CUPTI's records; kernels {c['kernels']}, explained {c['kernels_explained']}, dropped {c['dropped']}"


@scenario("device graph")
def device_graph():
    result = as_alone([graphs(), "device"], 30, words=0)
    equal((result.status, result.out), (0, "counted 1280\n"), f"status, stdout ({result.err[-300:]})")
    trace = result.trace()
    names = [trace.kernel_name(row) for row in trace["run"]]
    equal(sum("launch_from_device" in name for name in names), 20, "kernels that launch")
    (c,) = coverage(result)
    return f"{sum(name.startswith('_Z5count') for name in names)} of 40 kernels that the device launched are in CUPTI's records; {c}"


@scenario("long run")
def long_run():
    """A few million kernels of graphs: the program's memory and the GPU's stay where they are."""
    command = [app("launch_loop"), "steps=40000", "kernels=64", "graph=1", "sync=20", "quiet=1"]
    peak = ("import resource, subprocess, sys\nstatus = subprocess.call(sys.argv[1:])\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\nsys.exit(status)")
    result = execute(command, 90, tool=[*python(peak), "env", f"LD_PRELOAD={shim}"], env={"LD_PRELOAD": None})
    alone = execute(command, 90, preload=False, tool=python(peak))
    equal((result.status, alone.status), (0, 0), f"statuses ({result.words()})")
    (c,) = coverage(result)
    equal(c["kernels"] + c["lost"], 40000 * 64, f"kernels kept and lost ({c})")
    more = (int(result.out.split()[-1]) - int(alone.out.split()[-1])) // 1024
    check(more < 400, f"{more} MiB more than alone")
    return f"{c['kernels']} kernels, dropped {c['dropped']}, {more} MiB more than alone, {c['trace_bytes'] / c['kernels']:.2f} bytes a kernel"


# --- beside other tools --------------------------------------------------------------------------------------------------------

def tool_path(name, *places):
    found = shutil.which(name) or next((p for p in (f"{CUDA}/bin/{name}", *places) if pathlib.Path(p).exists()), None)
    if not found:
        raise Skip(f"no {name}")
    return found


def stepped_back(result, what):
    """The app's trace says how CUPTI stands, and is sound."""
    if not result.paths:
        return f"{what}: no trace, the tool put its own library in the place of the preload"
    traces = [Trace(path) for path in result.paths]
    of_app = [t for t in traces if t.calls("cudaLaunchKernel") or t.calls("__cudaLaunchKernel")]
    equal(len(of_app), 1, f"{what}: traces with launches, of {len(traces)}")
    trace = of_app[0].sound()
    state, reason = trace.meta["cupti.state"], trace.meta.get("cupti.reason", "")
    check(state in ("off", "taken", "on") and (state == "on" or reason), f"{what}: cupti.state {state}, reason {reason!r}")
    return f"{what}: cupti {state}{' (' + reason + ')' if reason else ''}, {len(trace['run'])} kernels"


@scenario("CUPTI busy: ncu")
def under_ncu():
    tool = [tool_path("ncu"), "--metrics", "sm__cycles_elapsed.avg", "--launch-count", "3", "--target-processes", "all"]
    program = [app("die"), "launches=50"]
    alone = execute(program, 100, preload=False, tool=tool)
    if alone.status != 0 or "sm__cycles_elapsed" not in alone.out:
        raise Skip(f"ncu does not work here: {alone.words()}")
    words = []
    # the preload inherited by ncu itself, and given to the program alone, behind what ncu preloads
    given = ["sh", "-c", f'LD_PRELOAD="${{LD_PRELOAD:+$LD_PRELOAD:}}{shim}" exec "$@"', "sh"]
    for how, prefix, more in (("inherited", tool, {}), ("given", tool + given, {"LD_PRELOAD": None})):
        result = execute(program, 100, tool=prefix, env=more)
        equal(result.status, 0, f"{how}: status ({result.words()})")
        check("die: 50 launches" in result.out, f"{how}: {result.words()}")
        equal(result.out.count("sm__cycles_elapsed"), alone.out.count("sm__cycles_elapsed"), f"{how}: kernels that ncu measured")
        check(how == "inherited" or result.paths, f"{how}: no trace ({result.words()})")
        words.append(stepped_back(result, how))
    return "; ".join(words)


@scenario("CUPTI busy: compute-sanitizer")
def under_sanitizer():
    tool = [tool_path("compute-sanitizer", f"{CUDA}/compute-sanitizer/compute-sanitizer"), "--tool", "memcheck"]
    program = [app("die"), "launches=50"]
    alone = execute(program, 100, preload=False, tool=tool)
    if alone.status != 0 or "ERROR SUMMARY: 0 errors" not in alone.out:
        raise Skip(f"compute-sanitizer does not work here: {alone.words()}")
    result = execute(program, 100, tool=tool)
    equal(result.status, 0, f"status ({result.words()})")
    check("die: 50 launches" in result.out and "ERROR SUMMARY: 0 errors" in result.out, result.words())
    return stepped_back(result, "memcheck")


@scenario("torch.profiler inside")
def torch_profiler():
    need_torch()
    result = execute([sys.executable, ROOT / "tests/gpu/torch_profiler.py", "--shim", shim, "--boundshim", boundshim], 150, preload=False)
    failed = [line for line in result.out.splitlines() if line.startswith("FAIL")]
    check(result.status == 0, f"status {result.status}", *failed[:5], result.err[-300:])
    return f"{result.out.count('PASS ')} promises of tests/gpu/torch_profiler.py"


# --- NVTX and counters ---------------------------------------------------------------------------------------------------------

@scenario("NVTX")
def nvtx():
    source = ROOT / "tests/gpu/nvtx_marks.c"
    if not (CUDA / "include/nvtx3/nvToolsExt.h").exists():
        raise Skip("no nvtx3/nvToolsExt.h")
    libraries = [make(f"mark_{x}.so", "gcc", "-shared", "-fPIC", f"-DLIBRARY={x}", source, f"-isystem{CUDA}/include", "-o", WORK / f"mark_{x}.so")
                 for x in "ab"]
    program = make("nvtx_marks", "gcc", source, f"-isystem{CUDA}/include", "-o", WORK / "nvtx_marks", f"-L{CUDA}/lib64", "-lcudart",
                   f"-Wl,-rpath,{CUDA}/lib64", "-ldl")
    command = [program, *libraries]
    result = as_alone(command, words=0)
    equal(result.status, 0, f"status ({result.words()})")
    trace = result.trace().lossless()
    names = [trace.strings.get(row["name"]) for row in trace["range"] if row["name"]]
    equal(names, [f"{what} of library {x}" for x in "ab" for what in ("range", "mark")], "ranges and marks of both")
    tool = WORK / "tool.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", tool], text=True, check=True,
                   input='#include <stdio.h>\nint InitializeInjectionNvtx2(void *t) { (void)t; fputs("the other tool\\n", stderr); return 1; }\n')
    result = execute(command, env={"NVTX_INJECTION64_PATH": tool})
    equal((result.status, result.err.count("the other tool")), (0, 2), f"with another tool's variable ({result.words()})")
    equal(result.trace()["range"], [], "ranges that another tool asked for")


@scenario("PM sampling")
def pm_sampling():
    """At least two cycles of start and stop in one process; then a buffer that overflows; then two processes at once."""
    # few launches for the time that they take: the second reader is slow
    loop = [app("launch_loop"), "kernels=1", "sync=1", "wait=100", "quiet=1"]
    seconds = ["env", "BOUNDSHIM_LOG=1", "timeout", "-s", "INT", "9"]

    def sampled(**env):
        # ended from outside: what was sampled until then is in the file, and the counters must be free again
        return execute([*loop, "steps=1000000"], 30, tool=seconds, env={f"BOUNDSHIM_{k}": v for k, v in env.items()})

    first = Trace(next(iter(sampled().folder.glob("*.bst")))).sound(complete=False)
    rows = [row for row in first["burst"]]
    refused = [row["reason"] for row in rows if row.get("reason")]
    if refused and len(rows) == 1:
        raise Skip(f"counters are refused here: {refused[0]}")
    check(len(rows) >= 2 and not refused, f"{len(rows)} cycles, reasons {refused}")
    check(len(first["sample"]) > 100, f"{len(first['sample'])} samples")
    # samples of 1 us: far more than can be decoded, so that the hardware's buffer overflows
    fine = as_alone([*loop, "steps=30000"], 60, env={"BOUNDSHIM_COUNTER_INTERVAL_US": "1"})
    equal(fine.status, 0, f"with 1 us: status ({fine.words()})")
    rows_fine = fine.trace()["burst"]
    reasons = [row["reason"] for row in rows_fine if row.get("reason")]
    dropped = sum(row["dropped"] for row in rows_fine)
    # two at once: the second finds the counters taken, or both take turns
    both = [subprocess.Popen([*loop, "steps=30000"], cwd=WORK, env=dict(os.environ, LD_PRELOAD=str(shim), BOUNDSHIM_OUT=f"{WORK}/pm{i}/"),
                             stderr=subprocess.PIPE, text=True) for i in (1, 2) if not (WORK / f"pm{i}").mkdir()]
    equal([p.wait(60) for p in both], [0, 0], f"statuses of two at once ({[p.stderr.read()[-300:] for p in both]})")
    words = []
    for i in (1, 2):
        trace = Trace(next(iter((WORK / f"pm{i}").glob("*.bst")))).sound()
        words.append(f"{len(trace['burst'])} bursts, {[r['reason'] for r in trace['burst'] if r.get('reason')]}")
    return f"{len(rows)} cycles; at 1 us {len(rows_fine)} bursts, {dropped} samples dropped, {reasons}; two at once: {'; '.join(words)}"


# --- all of them ---------------------------------------------------------------------------------------------------------------

def first_built(name):
    for folder in ("build", "build/portable"):
        if (ROOT / folder / name).exists():
            return ROOT / folder / name
    return None


def run_one(name):
    """PASS, FAIL or SKIP, printed with its words."""
    began = time.monotonic()
    try:
        if DEADLINE_S - (began - BEGAN) < 10:
            raise AssertionError("out of time")
        word, detail = "PASS", SCENARIOS[name]() or ""
    except Skip as reason:
        word, detail = "SKIP", str(reason)
    except Exception as error:  # noqa: BLE001: whatever it is, the other scenarios still run
        word, detail = "FAIL", f"{error}" if isinstance(error, AssertionError) else repr(error)
    line = f"{word} {name} ({time.monotonic() - began:.1f} s)" + (f": {detail}" if detail else "")
    print(line, flush=True)
    print(line, file=log, flush=True)
    return word


def main():
    global shim, boundshim, log
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="names, separated by commas (a part of a name will do)")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--shim", default=first_built("libboundshim.so"))
    parser.add_argument("--boundshim", default=first_built("boundshim"))
    parser.add_argument("--log", help="file for every command with its output (else $OUT/log.txt, if OUT is set)")
    parser.add_argument("--anyway", action="store_true", help=argparse.SUPPRESS)  # on the simulated CUDA, to try this program
    given = parser.parse_args()
    wanted = [part.strip() for part in (given.only or "").split(",") if part.strip()]
    names = [name for name in SCENARIOS if not wanted or any(part in name for part in wanted)]
    names.sort(key=lambda name: name == "torch.profiler inside")  # the longest last
    if given.list:
        print("\n".join(names))
        return
    gpu = shutil.which("nvidia-smi") and subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).returncode == 0
    if not given.anyway and (not gpu or not pathlib.Path(NVCC).exists()):
        print("no GPU or no nvcc here")
        sys.exit(77)
    shim, boundshim = pathlib.Path(given.shim).resolve(), pathlib.Path(given.boundshim).resolve()
    if not given.log and os.environ.get("OUT"):
        given.log = pathlib.Path(os.environ["OUT"]) / "log.txt"
    if given.log:
        log = open(given.log, "w", encoding="utf-8")  # noqa: SIM115
    words = [run_one(name) for name in names]
    print(f"{time.monotonic() - BEGAN:.0f} s: {words.count('PASS')} passed, {words.count('FAIL')} failed, {words.count('SKIP')} skipped")
    shutil.rmtree(WORK, ignore_errors=True)
    sys.exit(1 if "FAIL" in words else 0)


main()
