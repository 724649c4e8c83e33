#!/usr/bin/env python3
"""Every door to the GPU, one by one: is each kernel that a program launches in our trace, and does the program print the same bits?

    tests/gpu/frameworks.py [--only WORD]... [--shard I/N] [--seconds S] [--jobs N] [FOLDER]

Needs a GPU and nvcc; what else a row needs (PyTorch, Triton, JAX, CuPy, Numba, ncu) it asks for, and is skipped, with the reason, where
that is missing or the program fails without us too. Each row runs one program of tests/gpu/doors/ alone and traced, and where the
program cannot count its kernels itself, once more, untraced, under its framework's own profiler. Prints PASS, FAIL or SKIP for each
promise; FOLDER (else $OUT, else build/gpu-frameworks) receives log.txt, frameworks.json and frameworks.md, the table. Ends within
S seconds (400). Exit status 0: none failed; 1: one did; 77: no GPU."""
import argparse
import collections
import concurrent.futures
import ctypes
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOORS = ROOT / "tests/gpu/doors"
os.environ.setdefault("TEST_TMP", tempfile.gettempdir())
sys.path.insert(0, str(ROOT / "tests/e2e"))
from lib import Trace  # noqa: E402  the second reader

BEGAN = time.monotonic()
PYTHON = sys.executable
lock = threading.Lock()
log = None
options = None
work = None
results = []


# --- running ------------------------------------------------------------------------------------------------------------------

class Skipped(Exception):
    pass


def say(text):
    with lock:
        print(text, flush=True)
        print(text, file=log, flush=True)


def left(limit_s):
    return max(1.0, min(limit_s, options.seconds - (time.monotonic() - BEGAN)))


def execute(command, limit_s=90, **env):
    """(exit status or None if it ran out of time, stdout, stderr). None as a variable's value removes it."""
    variables = dict(os.environ, NCCL_NVLS_ENABLE="0", TORCH_SYMM_MEM_DISABLE_MULTICAST="1", PYTHONDONTWRITEBYTECODE="1")
    for name, value in env.items():
        variables.pop(name, None)
        if value is not None:
            variables[name] = str(value)
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], cwd=DOORS, env=variables, start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    try:
        out, err = process.communicate(timeout=left(limit_s))
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        status = None
    settings = " ".join(f"{name}={value}" for name, value in env.items())
    with lock:
        print(f"$ {settings} {' '.join(map(str, command))} -> {status}, {time.monotonic() - began:.1f} s\n{out[-3000:]}{err[-3000:]}",
              file=log, flush=True)
    return status, out, err


# --- what a trace has ------------------------------------------------------------------------------------------------------------

def load_demangler():
    try:
        library = ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return None
    library.__cxa_demangle.restype = ctypes.c_void_p
    library.__cxa_demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
    return library.__cxa_demangle


DEMANGLE = load_demangler()


def demangled(name):
    status = ctypes.c_int(1)
    if not DEMANGLE or not name.startswith("_Z"):
        return name
    text = DEMANGLE(name.encode("utf-8", "surrogateescape"), None, None, ctypes.byref(status))
    return ctypes.string_at(text).decode("utf-8", "replace") if status.value == 0 and text else name


class Traced:
    """All traces of one run: kernels by name, the report's coverage, what each says of CUPTI."""

    def __init__(self, folder):
        self.paths = sorted(folder.glob("*.bst"))
        self.traces = [Trace(path) for path in self.paths]
        self.kernels = collections.Counter(demangled(t.kernel_name(row)) for t in self.traces for row in t["run"])
        self.with_kernels = [t for t in self.traces if t["run"]]
        self.contexts = {(t.path, row["context"]) for t in self.traces for row in t["run"]}
        self.in_graphs = sum(row["graph"] != 0 for t in self.traces for row in t["run"])
        self.library_calls = sum(len(t.tables.get("library", ())) for t in self.traces)
        self.lost = {cause: n for t in self.traces for cause, n in t.losses.items() if n}
        self.states = [t.meta.get("cupti.state") for t in self.traces]
        self.reasons = [t.meta.get("cupti.reason", "") for t in self.traces]
        self.coverage = self.read_coverage(folder) if self.paths else []

    @staticmethod
    def read_coverage(folder):
        status, out, err = execute([options.boundshim, "report", "--format", "json", folder], 60)
        (folder / "report.json").write_text(out)
        try:
            return [process["coverage"] for process in json.loads(out)["processes"]]
        except (ValueError, KeyError):
            say(f"     report on {folder}: exit status {status}: {err[-300:]}")
            return []

    def explained(self):
        return sum(c.get("kernels_explained") or 0 for c in self.coverage)


# --- rows --------------------------------------------------------------------------------------------------------------------------

class Row:
    """One row of the table: what was checked, in words."""

    def __init__(self, name, version):
        self.name, self.version = name, version
        self.checks, self.limits, self.notes = [], [], []
        self.truth = self.seen = self.by = self.output = self.skipped = None

    def check(self, what, held, words=""):
        self.checks.append({"what": what, "held": bool(held), "words": words})
        say(f"{'PASS' if held else 'FAIL'} {self.name}: {what}" + (f": {words}" if words else ""))
        return held

    def note(self, words):
        self.notes.append(words)
        say(f"     {self.name}: {words}")

    def limit(self, words):
        """What CUPTI itself cannot see: measured, not promised."""
        self.limits.append(words)
        say(f"     {self.name}: limit: {words}")

    def result(self):
        if self.skipped:
            return "not run"
        return "equal" if all(c["held"] for c in self.checks) else "FAILED"


def folder_of(row, kind="trace"):
    folder = work / re.sub(r"\W+", "-", f"{row.name} {kind}").strip("-")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def run_alone(row, command, limit_s=90, **env):
    """What the program prints without us; the row is skipped if it fails there too."""
    status, out, err = execute(command, limit_s, **env)
    if status != 0:
        words = (err.strip() or out.strip() or "no word").splitlines()[-1]
        raise Skipped(f"it fails without us too (exit status {status}): {words[:200]}")
    return out


def run_traced(row, command, limit_s=90, folder=None, **env):
    """The same with us: (Traced, stdout). LD_PRELOAD=None in env: by other means."""
    folder = folder or folder_of(row)
    settings = {"LD_PRELOAD": options.shim, "BOUNDSHIM_OUT": folder, "BOUNDSHIM_COUNTERS": options.counters, **options.more, **env}
    status, out, err = execute(command, limit_s, **settings)
    row.check("it ends as without us", status == 0, "" if status == 0 else f"exit status {status}: {err.strip()[-300:]}")
    for line in sorted({line for line in err.splitlines() if line.startswith("boundshim: ")}):
        row.note(line[:200])
    return Traced(folder), out


def same_output(row, alone, traced):
    row.output = "identical" if alone == traced else "DIFFERS"
    row.check("the same output, bit for bit", alone == traced and alone, "" if alone == traced else f"{alone[-300:]!r} and {traced[-300:]!r}")


def launched(out):
    return collections.Counter({name: int(n) for name, n in re.findall(r"^launched (\S+) (\d+)$", out, re.M)})


def kineto(path):
    """Kernels of a trace that torch.profiler exported."""
    events = json.loads(path.read_text(errors="replace"))["traceEvents"]
    return collections.Counter(demangled(e["name"]) for e in events if e.get("cat") == "kernel")


def compare(row, by, wanted, got):
    """Each name as often; where the two name kernels differently, the same counts."""
    row.by, row.truth, row.seen = by, sum(wanted.values()), sum(got.values())
    names = wanted == got
    same = row.truth > 0 and (names or sorted(wanted.values()) == sorted(got.values()))
    words = f"{row.truth} by {by}, {row.seen} in our trace"
    if not names:
        differing = sorted(set(wanted) | set(got), key=lambda name: -abs(wanted[name] - got[name]))
        words += "; by name: " + ", ".join(f"{name[:60]} {wanted[name]}/{got[name]}" for name in differing if wanted[name] != got[name])[:500]
    row.check("every kernel is in our trace, none twice", same, words)


def sound(row, traced, files=1, strict=False):
    row.check(f"{files} trace{'s' if files > 1 else ''}", len(traced.with_kernels) == files and (not strict or len(traced.paths) == files),
              f"{len(traced.with_kernels)} with kernels, {len(traced.paths)} in all")
    seen = sum(traced.kernels.values())
    row.check("every one is explained", seen and traced.explained() == seen, f"{traced.explained()} of {seen}")
    row.check("nothing is lost", not traced.lost, json.dumps(traced.lost) if traced.lost else "")


# --- programs of our own ----------------------------------------------------------------------------------------------------------

def own(row, command, limit_s=60, unseen=(), check=None, **env):
    """A program that says how many kernels it launched. `unseen`: names that CUPTI may miss, measured only."""
    alone = run_alone(row, command, limit_s)
    traced, out = run_traced(row, command, limit_s, **env)
    same_output(row, alone, out)
    wanted, got = launched(alone), collections.Counter(traced.kernels)
    for name in unseen:
        row.limit(f"{got.pop(name, 0)} of {wanted.pop(name, 0)} launches of {name} are in our trace")
    got = collections.Counter({name: n for name, n in got.items() if name in wanted or not unseen})
    compare(row, "count", wanted, got)
    sound_own(row, traced, unseen)
    if check:
        check(row, traced)


def sound_own(row, traced, unseen):
    if not unseen:
        sound(row, traced, strict=True)
        return
    row.check("one trace", len(traced.with_kernels) == 1, f"{len(traced.with_kernels)}")
    row.check("nothing is lost", not traced.lost, json.dumps(traced.lost) if traced.lost else "")
    row.note(f"{traced.explained()} of {sum(traced.kernels.values())} kernels explained")
    for name in unseen:
        ids = {(r["correlation"] != 0, r["graph"], r["node"]) for t in traced.traces for r in t["run"] if t.kernel_name(r) == name}
        row.note(f"{name}: (correlated, graph, node) {sorted(ids)[:6]}")


def program(name, *arguments):
    return [work / name, *arguments]


def late_graph(row):
    """Tracing begins 6 s after the first call: the graph is captured, instantiated and replayed before."""
    alone = run_alone(row, program("graph", "late", "0.1"), 60)
    traced, out = run_traced(row, program("graph", "late", "10"), 60, BOUNDSHIM_DELAY_S="6")
    same_output(row, alone, out)
    got = collections.Counter(traced.kernels)
    others = {name: got.pop(name) for name in list(got) if name.startswith(("memset", "memcpy"))}
    if others:
        row.limit("its copy and set nodes are kernels: " + ", ".join(f"{name} {n}" for name, n in others.items()))
    compare(row, "count after tracing began", launched(alone), got)
    sound(row, traced)


def contexts(row, traced):
    row.check("three contexts are told apart", len(traced.contexts) == 3, f"{len(traced.contexts)}")


def graphs_told(row, traced):
    row.note(f"{traced.in_graphs} of {sum(traced.kernels.values())} kernels name their graph and node")


def loaded(how):
    return lambda row: own(row, program("loader", how, work / "plugin.so"))


def injected(row):
    own(row, program("runtime-shared"), LD_PRELOAD=None, CUDA_INJECTION64_PATH=options.shim)


def both(row):
    own(row, program("runtime-shared"), CUDA_INJECTION64_PATH=options.shim)


def both_copies(row):
    """The injected library is another file: the first tracer stays the only one."""
    copy = work / "copy/libboundshim.so"
    copy.parent.mkdir(exist_ok=True)
    shutil.copy(options.shim, copy)
    own(row, program("runtime-shared"), CUDA_INJECTION64_PATH=copy)


def ncu(row):
    if not shutil.which("ncu"):
        raise Skipped("no ncu here")
    command = ["ncu", "--csv", "--page", "raw", "--metrics", "sm__cycles_elapsed.max", *program("groups", "cooperative")]
    measured = re.compile(r'^"\d+",', re.M)
    alone = run_alone(row, command, 120)
    traced, out = run_traced(row, command, 120)
    count = [len(measured.findall(text)) for text in (alone, out)]
    row.check("ncu measures the same kernels", count[0] == count[1] and count[0] > 0, f"{count[0]} and {count[1]}")
    beside(row, traced)


def sanitizer(row):
    tool = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if not tool:
        raise Skipped("no compute-sanitizer here")
    command = [tool, "--tool", "memcheck", *program("groups", "cooperative")]
    alone = run_alone(row, command, 120)
    traced, out = run_traced(row, command, 120)
    same_output(row, alone, out)
    row.check("memcheck finds the same", "ERROR SUMMARY: 0 errors" in alone and "ERROR SUMMARY: 0 errors" in out, out.strip()[-200:])
    beside(row, traced)


def beside(row, traced):
    """Under another tool: what we have is said to be what it is."""
    row.seen = sum(traced.kernels.values())
    row.note(f"cupti.state {traced.states}, {[words for words in traced.reasons if words]}, {row.seen} kernels in our trace")
    row.check("a trace, and what it says of CUPTI is true", bool(traced.paths) and all(
        state == "on" or reason for state, reason in zip(traced.states, traced.reasons)))


# --- frameworks -------------------------------------------------------------------------------------------------------------------

def torch_row(which, launcher=(), files=1, workers=0, limit_s=150):
    def run(row):
        caches = folder_of(row, "cache")
        env = {"TORCHINDUCTOR_CACHE_DIR": caches / "inductor", "TRITON_CACHE_DIR": caches / "triton"}
        command = [PYTHON, *launcher, DOORS / "pytorch.py", which]
        counted = caches / "kineto.json"
        alone = run_alone(row, command, limit_s, **env)
        out = run_alone(row, command, limit_s, DOOR_COUNT=counted, **env)
        row.check("torch.profiler changes no output either", out == alone)
        traced, out = run_traced(row, command, limit_s, **env)
        same_output(row, alone, out)
        wanted = kineto(counted)
        own_count = launched(alone)
        for name in own_count:
            row.check(f"{name}, as the program counts it", traced.kernels[name] == own_count[name],
                      f"{own_count[name]} launched, {traced.kernels[name]} in our trace")
        if workers:
            parent, others = split_parent(traced)
            compare(row, "torch.profiler", wanted, parent)
            row.check("the kernels of its workers, as the program counts them", sum(others.values()) == workers,
                      f"{workers} launched, {sum(others.values())} in their traces")
        else:
            compare(row, "torch.profiler", wanted, traced.kernels)
        sound(row, traced, files)
        graphs_told(row, traced)
    return run


def split_parent(traced):
    """Kernels of the process that has the model, and of the others."""
    each = [collections.Counter(demangled(t.kernel_name(r)) for r in t["run"]) for t in traced.with_kernels]
    each.sort(key=lambda c: ("layer_norm" not in " ".join(c), -sum(c.values())))
    return (each[0] if each else collections.Counter()), sum(each[1:], collections.Counter())


def launcher():
    port = 29500 + os.getpid() % 400
    return ["-m", "torch.distributed.run", "--nproc_per_node=1", "--master_addr=127.0.0.1", f"--master_port={port}"]


def proton_tree(path):
    """kernel -> count of a file that Proton wrote."""
    counts = collections.Counter()

    def walk(node):
        count = (node.get("metrics") or {}).get("count")
        if count:
            counts[node["frame"]["name"]] += int(count)
        for child in node.get("children") or ():
            walk(child)

    for file in glob.glob(f"{path}*"):
        for node in json.loads(pathlib.Path(file).read_text()):
            if "frame" in node:
                walk(node)
    return counts


def proton(row):
    caches = folder_of(row, "cache")
    command, env = [PYTHON, DOORS / "pytorch.py", "proton"], {"TRITON_CACHE_DIR": caches / "triton"}
    alone = run_alone(row, command, DOOR_PROTON=caches / "alone", **env)
    tree = proton_tree(caches / "alone")
    row.truth, row.by = sum(tree.values()), "Proton"
    if not tree:
        raise Skipped("Proton saw no kernel without us")
    for how, more in (("there first", {}), ("yielded to", {"BOUNDSHIM_CUPTI_YIELD": "1"})):
        name = how.split()[0]
        traced, out = run_traced(row, command, folder=folder_of(row, name), DOOR_PROTON=caches / name, **more, **env)
        same_output(row, alone, out)
        theirs = proton_tree(caches / name)
        row.check(f"{how}: Proton has all that it has without us", theirs == tree, f"{sum(tree.values())} and {sum(theirs.values())}")
        state, reason = (traced.states + [None])[0], (traced.reasons + [""])[0]
        if "BOUNDSHIM_CUPTI_YIELD" in more:
            row.check(f"{how}: CUPTI is off by request", state == "off" and "YIELD" in reason, f"{state}: {reason}")
        else:
            row.check(f"{how}: cupti=taken", state == "taken", f"{state}: {reason}")
            row.seen = sum(traced.kernels.values())
        calls = sum(len(t["call"]) for t in traced.traces)
        row.note(f"{how}: {sum(traced.kernels.values())} kernels and {calls} calls in our trace")
    # loaded when we have CUPTI: its libcupti, another copy, is refused
    folder = folder_of(row, "late")
    status, _, err = execute(command, 90, LD_PRELOAD=options.shim, BOUNDSHIM_OUT=folder, BOUNDSHIM_COUNTERS=options.counters, DOOR_LATE="1",
                             DOOR_PROTON=caches / "late", **options.more, **env)
    traced = Traced(folder)
    row.check("come later: it is told of on standard error", "Proton came after it and will be refused" in err, err[-300:])
    row.check("come later: we go on", traced.states == ["on"] and traced.kernels, f"{traced.states}, {sum(traced.kernels.values())} kernels")
    row.limit(f"loaded after CUDA was used, Proton is refused CUPTI (exit status {status})")


NO_GRAPHS = "--xla_gpu_autotune_level=0 --xla_gpu_enable_command_buffer="
GRAPHS = "--xla_gpu_autotune_level=0"


def jax_command(calls):
    return [PYTHON, DOORS / "jax_door.py", calls]


def jax_row(row):
    counted, env = folder_of(row, "profile"), {"XLA_FLAGS": NO_GRAPHS, "JAX_PLATFORMS": "cuda"}
    alone = run_alone(row, jax_command(50), 150, **env)
    run_alone(row, jax_command(50), 150, DOOR_COUNT=counted, **env)
    wanted = collections.Counter(json.loads((counted / "kernels.json").read_text()))
    traced, out = run_traced(row, jax_command(50), 150, **env)
    same_output(row, alone, out)
    if wanted:
        compare(row, "jax.profiler", collections.Counter({demangled(n): c for n, c in wanted.items()}), traced.kernels)
    else:
        row.note("jax.profiler saw no kernel without us: counted by calls instead")
        by_calls(row, traced, 50, env)
    sound(row, traced)
    row.note(f"{traced.library_calls} library calls seen (XLA looks cuBLAS and cuDNN up by handle)")


def by_calls(row, traced, calls, env):
    """Twice the calls: so many more kernels that each call has the same number, by name."""
    twice, _ = run_traced(row, jax_command(2 * calls), 150, folder=folder_of(row, "twice"), **env)
    more = twice.kernels - traced.kernels
    row.by, row.truth, row.seen = "calls", sum(more.values()), sum(more.values())
    row.check("each call has the same kernels", more and all(n % calls == 0 for n in more.values()) and not traced.kernels - twice.kernels,
              f"{calls} calls more: " + ", ".join(f"{name[:40]} {n}" for name, n in more.items())[:400])


def jax_graphs(row):
    env = {"XLA_FLAGS": GRAPHS, "JAX_PLATFORMS": "cuda"}
    alone = run_alone(row, jax_command(50), 150, **env)
    traced, out = run_traced(row, jax_command(50), 150, **env)
    same_output(row, alone, out)
    by_calls(row, traced, 50, env)
    sound(row, traced)
    graphs_told(row, traced)


def jax_profiler(row):
    """jax.profiler inside a traced program: XLA looks CUPTI up by handle."""
    env = {"XLA_FLAGS": NO_GRAPHS, "JAX_PLATFORMS": "cuda"}
    theirs = {}

    def read(name):
        path = folder / name / "kernels.json"
        theirs[name] = sum(json.loads(path.read_text()).values()) if path.exists() else None

    folder = folder_of(row, "profiles")
    alone = run_alone(row, jax_command(50), 150, DOOR_COUNT=folder / "alone", **env)
    read("alone")
    for name, more in (("shared", {}), ("yielded", {"BOUNDSHIM_CUPTI_YIELD": "1"})):
        traced, out = run_traced(row, jax_command(50), 150, folder=folder_of(row, name), DOOR_COUNT=folder / name, **more, **env)
        same_output(row, alone, out)
        read(name)
        tell = row.note if theirs[name] == theirs["alone"] else row.limit
        tell(f"{name}: jax.profiler has {theirs[name]} kernels ({theirs['alone']} without us), our trace {sum(traced.kernels.values())}; "
                 f"cupti.state {traced.states}")
        row.seen = max(row.seen or 0, sum(traced.kernels.values()))
    row.truth, row.by = theirs["alone"], "jax.profiler"
    row.check("with BOUNDSHIM_CUPTI_YIELD=1 jax.profiler has all that it has without us", theirs["yielded"] == theirs["alone"])


def some_counted(path):
    """A framework whose program counts some of its kernels: those are compared; all must be explained."""
    def run(row):
        env = {"CUPY_CACHE_DIR": folder_of(row, "cache")}
        command = [PYTHON, DOORS / path]
        alone = run_alone(row, command, 120, **env)
        traced, out = run_traced(row, command, 120, **env)
        same_output(row, alone, out)
        wanted = launched(alone)
        got = collections.Counter()
        for name, n in traced.kernels.items():
            got[next((known for known in wanted if known in name), None)] += n
        others = got.pop(None, 0)
        compare(row, "count", wanted, got)
        row.note(f"{others} kernels that the program cannot count; {traced.library_calls} library calls")
        sound(row, traced)
    return run


# --- versions ---------------------------------------------------------------------------------------------------------------------

VERSIONS = """
import importlib.metadata as m
for p in ("torch", "triton", "jax", "jaxlib", "cupy-cuda13x", "cupy-cuda12x", "numba", "numba-cuda", "nvidia-nccl-cu13"):
    try: print(p, m.version(p))
    except m.PackageNotFoundError: pass
"""


def versions():
    found = dict(line.split() for line in execute([PYTHON, "-c", VERSIONS], 60)[1].splitlines())
    out = execute([options.nvcc, "--version"], 20)[1] if options.nvcc else ""
    found["cuda"] = (re.search(r"release ([\d.]+)", out) or [None, "?"])[1]
    return found


def version_of(found, *packages):
    return ", ".join(f"{p} {found[p]}" for p in packages if p in found) or "not installed"


# --- the table --------------------------------------------------------------------------------------------------------------------

def rows(found):
    cuda, python = f"CUDA {found['cuda']}", lambda *packages: version_of(found, *packages)
    unseen = ("if_body", "while_body")
    yield "nvcc program, shared cudart", cuda, lambda row: own(row, program("runtime-shared"))
    yield "nvcc program, static cudart", cuda, lambda row: own(row, program("runtime-static"))
    yield "per-thread default stream, shared cudart", cuda, lambda row: own(row, program("runtime-ptds"))
    yield "per-thread default stream, static cudart", cuda, lambda row: own(row, program("runtime-ptds-static"))
    yield "driver API: cuLaunchKernel, cuLaunchKernelEx, cuLibrary, dlsym, cuGetProcAddress", cuda, lambda row: own(row, program("driver"))
    yield "several contexts in a process", cuda, lambda row: own(row, program("driver", "contexts"), check=contexts)
    yield "cooperative launch", cuda, lambda row: own(row, program("groups", "cooperative"))
    yield "thread block clusters", cuda, lambda row: own(row, program("groups", "cluster"))
    yield "CUDA graph: capture, branches, upload, update, replay", cuda, lambda row: own(row, program("graph", "replay"), check=graphs_told)
    yield "CUDA graph made before tracing starts", cuda, late_graph
    yield "conditional nodes (IF, WHILE)", cuda, lambda row: own(row, program("graph", "conditional"), unseen=unseen)
    yield "dynamic parallelism", cuda, lambda row: own(row, program("graph", "device"), unseen=("child",))
    yield "plug-in, RTLD_LOCAL", cuda, loaded("local")
    yield "plug-in, RTLD_DEEPBIND", cuda, loaded("deepbind")
    yield "CUDA_INJECTION64_PATH instead of LD_PRELOAD", cuda, injected
    yield "CUDA_INJECTION64_PATH and LD_PRELOAD", cuda, both
    yield "CUDA_INJECTION64_PATH and LD_PRELOAD, two copies", cuda, both_copies
    yield "under ncu", cuda, ncu
    yield "under compute-sanitizer", cuda, sanitizer
    yield "PyTorch eager", python("torch"), torch_row("eager")
    yield "torch.compile (Inductor, Triton)", python("torch", "triton"), torch_row("compile")
    yield "torch.compile, reduce-overhead", python("torch", "triton"), torch_row("reduce-overhead")
    yield "torch.cuda.CUDAGraph", python("torch"), torch_row("graph")
    yield "Triton kernel", python("triton", "torch"), torch_row("triton")
    yield "DataLoader workers by fork", python("torch"), torch_row("loader-fork")
    yield "DataLoader workers by spawn, on the GPU", python("torch"), torch_row("loader-spawn", files=3, workers=80)
    yield "torchrun, one process, DDP", python("torch", "nvidia-nccl-cu13"), torch_row("torchrun", launcher())
    yield "Proton beside us", python("triton"), proton
    yield "JAX, jit", python("jax", "jaxlib"), jax_row
    yield "JAX, jit, CUDA graphs (command buffers)", python("jax", "jaxlib"), jax_graphs
    yield "jax.profiler beside us", python("jax", "jaxlib"), jax_profiler
    yield "CuPy", python("cupy-cuda13x", "cupy-cuda12x"), some_counted("cupy_door.py")
    yield "Numba", python("numba", "numba-cuda"), some_counted("numba_door.py")


def build(wanted):
    """The programs, with nvcc, at once."""
    arch = f"-arch={os.environ.get('DOOR_ARCH', 'native')}"
    nvcc = lambda output, source, *more: [options.nvcc, "-O2", "-std=c++17", arch, "-o", work / output, DOORS / source, *more]
    streams = ("--default-stream", "per-thread")
    commands = [
        nvcc("runtime-shared", "runtime.cu", "--cudart", "shared"), nvcc("runtime-static", "runtime.cu", "--cudart", "static"),
        nvcc("runtime-ptds", "runtime.cu", "--cudart", "shared", *streams), nvcc("runtime-ptds-static", "runtime.cu", "--cudart", "static", *streams),
        nvcc("plugin.so", "runtime.cu", "--cudart", "shared", "-DPLUGIN", "--shared", "-Xcompiler", "-fPIC"),
        nvcc("driver", "driver.cu", "-lcuda"), nvcc("groups", "groups.cu", "--cudart", "shared"),
        nvcc("graph", "graph.cu", "--cudart", "shared", "-rdc=true", "-lcudadevrt"),
        ["cc", "-o", work / "loader", DOORS / "loader.c", "-ldl"],
    ]
    if not wanted or not options.nvcc:
        return
    # what is built already and not older than its sources
    newest = max(path.stat().st_mtime for path in DOORS.iterdir())
    commands = [c for c in commands if not (c[c.index("-o") + 1].exists() and c[c.index("-o") + 1].stat().st_mtime > newest)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for command, (status, _, err) in zip(commands, pool.map(lambda c: execute(c, 120), commands)):
            if status != 0:
                say(f"FAIL {' '.join(map(str, command))}: {err[-400:]}")
                results.append({"name": f"build {command[-1]}", "result": "FAILED", "checks": [{"what": "it builds", "held": False, "words": err[-400:]}]})


def run_row(entry):
    name, version, function = entry
    row, began = Row(name, version), time.monotonic()
    try:
        if options.seconds - (began - BEGAN) < 15:
            row.check("there is time for it", False)
        else:
            function(row)
    except Skipped as reason:
        row.skipped = str(reason)
        say(f"SKIP {name}: {reason}")
    except Exception as error:  # a trace or a file that is not as it should be
        row.check("what it left can be read", False, repr(error)[:400])
    results.append({"name": name, "version": version, "result": row.result(), "by": row.by, "launched": row.truth, "traced": row.seen,
                    "output": row.output, "limits": row.limits, "notes": row.notes, "skipped": row.skipped, "checks": row.checks,
                    "seconds": round(time.monotonic() - began, 1)})


def table():
    lines = ["| program | version | kernels, by | in our trace | | output | limits, notes |", "|---|---|---|---|---|---|---|"]
    for r in results:
        if "version" not in r:
            continue
        failed = [f"{c['what']}: {c['words']}"[:160] for c in r["checks"] if not c["held"]]
        words = "; ".join(failed + r["limits"] + ([r["skipped"]] if r["skipped"] else [])).replace("|", "\\|").replace("\n", " ")
        counted = f"{r['launched']:,}, {r['by']}" if r["launched"] else ""
        seen = f"{r['traced']:,}" if r["traced"] is not None else ""
        lines.append(f"| {r['name']} | {r['version']} | {counted} | {seen} | {r['result']} | {r['output'] or ''} | {words} |")
    return "\n".join(lines) + "\n"


def first_built(name):
    return next((path for path in (ROOT / "build" / name, ROOT / "build/portable" / name) if path.exists()), None)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=os.environ.get("OUT") or ROOT / "build/gpu-frameworks")
    parser.add_argument("--only", action="append", default=[], help="rows whose name contains this word")
    parser.add_argument("--shard", default="1/1", help="the I-th of N parts of the rows")
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--jobs", type=int, default=4, help="rows at a time")
    parser.add_argument("--counters", default="off", help="BOUNDSHIM_COUNTERS of the traced runs; rows that run at once contend for them")
    parser.add_argument("--shim", default=first_built("libboundshim.so"))
    parser.add_argument("--boundshim", default=first_built("boundshim"))
    parser.add_argument("--simulated", action="store_true", help="on the simulated CUDA: tries this program, shows nothing")
    given = parser.parse_args()
    given.nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    given.more = {}
    return given


def main():
    global log, options, work
    options = parse()
    out = pathlib.Path(options.folder).resolve()
    out.mkdir(parents=True, exist_ok=True)
    work = ROOT / "build/gpu-frameworks-work"
    work.mkdir(parents=True, exist_ok=True)
    log = open(out / "log.txt", "a", encoding="utf-8")
    if options.simulated:
        os.environ["LD_LIBRARY_PATH"] = str(ROOT / "build/sim")
        options.more = {"BOUNDSHIM_CUPTI": ROOT / "build/sim/libcupti.so.13"}
        gpu = "the simulated CUDA"
    else:
        smi = execute(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], 30) if shutil.which("nvidia-smi") else (1, "")
        if smi[0] != 0:
            print("no GPU here: nvidia-smi finds none")
            sys.exit(77)
        gpu = smi[1].strip().splitlines()[0]
    if not options.shim or not options.boundshim:
        sys.exit("frameworks.py: neither build/ nor build/portable/ has libboundshim.so and boundshim")
    options.shim = pathlib.Path(options.shim).resolve()
    options.boundshim = pathlib.Path(options.boundshim).resolve()
    found = versions()
    say(f"on {gpu}; {json.dumps(found)}")
    part, parts = map(int, options.shard.split("/"))
    chosen = [entry for entry in rows(found) if not options.only or any(word.lower() in entry[0].lower() for word in options.only)]
    chosen = chosen[part - 1::parts]
    order = [entry[0] for entry in chosen]
    build(any(entry[1].startswith("CUDA ") for entry in chosen))
    # the longest first: those that import a framework
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(run_row, sorted(chosen, key=lambda entry: entry[1].startswith("CUDA "))))
    results.sort(key=lambda r: order.index(r["name"]) if r["name"] in order else -1)
    failed = [c for r in results for c in r["checks"] if not c["held"]]
    passed = sum(c["held"] for r in results for c in r["checks"])
    (out / "frameworks.json").write_text(json.dumps({"gpu": gpu, "versions": found, "rows": results}, indent=1) + "\n")
    (out / "frameworks.md").write_text(table())
    say(table())
    say(f"{time.monotonic() - BEGAN:.0f} s; {sum(bool(r.get('skipped')) for r in results)} rows skipped; {passed} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
