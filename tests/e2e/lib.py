"""What the end-to-end tests share: running programs under the shim on the simulated CUDA, reading
traces with the second reader (scripts/bstdump) and comparing them with what really happened."""
import collections
import concurrent.futures
import importlib.machinery
import importlib.util
import io
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
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD") or ROOT / "build").resolve()
SHIM = pathlib.Path(os.environ.get("SHIM") or BUILD / "libboundshim.so").resolve()
APPS, SIM = BUILD / "apps", BUILD / "sim"
CUPTI = SIM / "libcupti.so.13"
TMP = pathlib.Path(os.environ.get("TEST_TMP") or tempfile.mkdtemp(prefix="boundshim-e2e-"))
LIMIT_S = 60
KILLED = -signal.SIGKILL

# A shell that starts us in the background has told us to ignore these, and what we start would inherit that.
for number in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


def skip(reason):
    print(reason)
    sys.exit(77)


def need(*paths):
    """Skips the test where something it stands on is not built or not installed."""
    for path in paths:
        if not (pathlib.Path(path).exists() or shutil.which(str(path))):
            skip(f"{path} is not there")


def need_sim(*apps):
    need(SHIM, CUPTI, SIM / "libcudart.so.13", *(APPS / app for app in apps))


def check(condition, *words):
    if not condition:
        raise AssertionError(" ".join(map(str, words)))


def equal(got, wanted, what):
    check(got == wanted, f"{what}: got {got!r}, expected {wanted!r}")


def folder(name="run"):
    return pathlib.Path(tempfile.mkdtemp(prefix=name + "-", dir=TMP))


def load_bstdump():
    loader = importlib.machinery.SourceFileLoader("bstdump", str(ROOT / "scripts/bstdump"))
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bstdump", loader))
    loader.exec_module(module)
    return module


BSTDUMP = load_bstdump()
CAUSES = ("ring_full thread_limit pool_exhausted cupti_dropped time_invalid unknown_record dictionary_full"
          " file_limit write_error unfinished no_memory other").split()
FAILED, CAPTURED, NESTED, DRIVER, MODULE_LOADED = 1, 2, 4, 8, 16
TIME_INVALID = 1


def unquote(text):
    raw = re.sub(r"\\x(..)", lambda m: chr(int(m.group(1), 16)), text[1:-1])
    return raw.encode("latin1").decode("utf-8", "surrogateescape")


class Trace:
    """A trace as bstdump prints it."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        out = io.StringIO()
        BSTDUMP.Dump(self.path.read_bytes(), out).run()
        self.dump = out.getvalue()
        self.tables, self.damage, self.chunks = collections.defaultdict(list), [], []
        self.refused = None
        for line in self.dump.splitlines():
            name, *cells = line.split("\t")
            words = name.split(" ")
            if words[0] == "refused":
                self.refused = name
            elif words[0] == "damage":
                self.damage.append(name)
            elif words[0] == "losses":
                self.losses = dict(zip(CAUSES, map(int, words[1:])))
            elif words[0] == "complete":
                self.complete = words[1] == "yes"
            elif words[0] == "missing":
                self.missing = int(words[1].split("=")[1])
            elif words[0] == "torn":
                self.torn = int(words[1])
            elif words[0] == "chunk":
                self.chunks.append({k: int(v) for k, v in (w.split("=") for w in words[3:])})
            elif cells:
                row = {}
                for cell in cells:
                    key, _, value = cell.partition("=")
                    row[key] = unquote(value) if value.startswith('"') else int(value)
                self.tables[name].append(row)
        self.meta = {row["key"]: row["value"] for row in self.tables["meta"]}
        self.strings = {row["id"]: row["value"] for row in self.tables["string"]}
        self.apis = {row["id"]: row for row in self.tables["api"]}
        self.kernels = {row["id"]: row for row in self.tables["kernel"]}
        self.threads = {row["id"]: row for row in self.tables["thread"]}
        self.handles = {row["id"]: row["value"] for row in self.tables["handle"]}

    def __getitem__(self, table):
        return self.tables[table]

    def sound(self, complete=True):
        """Everything in it is usable: no damage, no gap in the numbering, names before their use."""
        check(not self.refused, f"{self.path.name}: {self.refused}")
        check(not self.damage, f"{self.path.name}:", *self.damage)
        equal(self.missing, 0, f"{self.path.name}: missing chunks")
        if complete:
            check(self.complete, f"{self.path.name} is not complete")
            equal(self.torn, 0, f"{self.path.name}: torn bytes")
        for row in self["call"]:
            check(row["thread"] in self.threads, "a call of a thread that is not told:", row)
            check(row["api"] in self.apis, "a call of an API that is not told:", row)
            check(row["stream"] in self.handles or row["stream"] == 0, "a stream not told:", row)
        for row in self["run"]:
            check(row["kernel"] in self.kernels or row["kernel"] == 0, "a kernel not told:", row)
        for row in self["kernel"]:
            check(row["name"] in self.strings or row["name"] == 0, "a name not told:", row)
        return self

    def lossless(self):
        for cause, count in self.losses.items():
            equal(count, 0, f"{self.path.name}: records lost to {cause}")
        return self

    def api(self, row):
        return self.apis[row["api"]]["name"]

    def calls(self, name=None, **flags):
        """Rows of `call`, those of one API if named."""
        return [row for row in self["call"] if name is None or self.api(row) == name]

    def calls_of(self, tid):
        ids = {t["id"] for t in self["thread"] if t["tid"] == tid}
        return [row for row in self["call"] if row["thread"] in ids]

    def kernel_name(self, run):
        kernel = self.kernels.get(run["kernel"])
        return self.strings.get(kernel["name"], "") if kernel else ""

    def realtime_offset(self):
        """What to add to a host time to be on the timeline of CLOCK_REALTIME."""
        rows = self["clock"]
        check(rows, f"{self.path.name}: no clock readings")
        return rows[0]["realtime"] - rows[0]["host"]


class Truth:
    """What SIM_TRUTH says happened."""

    def __init__(self, path):
        self.calls, self.ops, self.cupti, self.other = [], [], [], []
        # the end of the first call that ended with all of CUPTI on; its row may be written late, the clock was read before
        self.cupti_started = enabled = 0
        text = pathlib.Path(path).read_text() if pathlib.Path(path).exists() else ""
        for line in text.splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue  # cut off by a kill
            where = {"call": self.calls, "op": self.ops, "cupti": self.cupti}.get(row["t"], self.other)
            where.append(row)
            if row.get("enable") == 1:
                self.cupti_started, enabled = 0, row.get("time", 0)
            elif row["t"] == "call" and not self.cupti_started and self.cupti:
                self.cupti_started = max(row["end"], enabled)

    def device_ops(self):
        return [op for op in self.ops if op["kind"] in ("kernel", "copy", "peer", "set")]


class Result:
    def __init__(self, where, status, out, err):
        self.where, self.status, self.out, self.err = where, status, out, err
        self.traces = sorted(where.glob("*.bst"))
        self.truths = sorted(where.glob("truth*.json"))

    def trace(self):
        equal(len(self.traces), 1, f"trace files (stderr: {self.err!r})")
        return Trace(self.traces[0])

    def truth(self):
        equal(len(self.truths), 1, "truth files")
        return Truth(self.truths[0])

    def says(self, lines, *words):
        """So many lines of ours on stderr, with these words in them."""
        ours = [line for line in self.err.splitlines() if line.startswith("boundshim: ")]
        equal(len(ours), lines, f"lines of the shim on stderr ({self.err!r})")
        for word in words:
            check(any(word in line for line in ours), f"{word!r} is not on stderr: {self.err!r}")
        return self


def environment(where, mode=None, script="", preload=True, virtual=False, env=None):
    """Settings of one run; `env` adds to them, None removes."""
    settings = {k: v for k, v in os.environ.items()
                if not k.startswith(("BOUNDSHIM_", "SIM_", "LD_", "CUDA_", "NVTX_"))}
    settings["SIM_TRUTH"] = str(where / "truth-%p.json")
    if script:
        (where / "script").write_text(script)
        settings["SIM_SCRIPT"] = str(where / "script")
    libraries = [str(SHIM)] if preload else []
    if virtual:
        libraries.append(str(SIM / "libsimclock.so"))
        settings["SIM_CLOCK"] = "virtual"
    if libraries:
        settings["LD_PRELOAD"] = " ".join(libraries)
    settings["BOUNDSHIM_CUPTI"] = str(CUPTI)
    if mode:
        settings["BOUNDSHIM_MODE"] = mode
    for key, value in (env or {}).items():
        settings.pop(key, None)
        if value is not None:
            settings[key] = str(value)
    return settings


def run(program, *arguments, limit=LIMIT_S, prefix=(), where=None, **settings):
    """Runs one of the test programs (or any program by its path) in a folder of its own to its end."""
    where = where or folder(pathlib.Path(program).name)
    path = program if "/" in str(program) else APPS / program
    try:
        done = subprocess.run([*map(str, prefix), str(path), *map(str, arguments)], cwd=where,
                              env=environment(where, **settings), stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"{program} {arguments}: no end after {limit} s") from error
    return Result(where, done.returncode, done.stdout.decode(errors="replace"),
                  done.stderr.decode(errors="replace"))


def strip(text):
    """The program's own lines of stderr."""
    return [line for line in text.splitlines() if not line.startswith("boundshim: ")]


def as_alone(result, alone):
    """Same status, stdout and stderr as without the shim, but for our lines."""
    equal(result.status, alone.status, "exit status")
    equal(result.out, alone.out, "stdout")
    equal(strip(result.err), strip(alone.err), "the program's stderr")
    return result


# --- a busy machine ------------------------------------------------------------------------------

class Waiting:
    """How long the machine keeps a thread waiting that sleeps 20 ms and writes a byte, again and again: near nothing on one that has a
    core to spare. What others promise to do in time cannot be had sooner; what they do is held to the truth all the same."""

    NAP_S = 0.02

    def __init__(self):
        self.naps, self.began = [], time.monotonic()
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        path = TMP / f"waiting-{os.getpid()}"
        while TMP.exists():
            self.began = time.monotonic()
            time.sleep(self.NAP_S)
            try:
                path.write_bytes(b"x")
                path.unlink()
            except OSError:
                pass  # a test has closed the folder
            self.naps.append((time.monotonic(), self.late()))

    def late(self):
        return max(0, time.monotonic() - self.began - self.NAP_S)

    def since(self, began):
        """Seconds in all since that moment of time.monotonic(), the wait under way included."""
        total = self.late()
        for ended, late in reversed(self.naps):
            if ended < began:
                break
            total += late
        return total


WAITING = Waiting()


# --- what the shim knows -----------------------------------------------------------------------

def hooked():
    """name -> class of every hook, twins included."""
    names = {}
    for kind, name, clas in re.findall(r"^(HOOK\w*)\((\w+), (\w+),", (ROOT / "shim/hooks.def").read_text(), re.M):
        names[name] = clas
        if kind != "HOOK":
            names[f"{name}_{kind[5:].lower()}"] = clas
    return names


def driver_functions():
    """stem -> class of every driver function whose callback the shim asks for."""
    return dict(re.findall(r"^DRIVER\((\w+), (\w+)\)", (ROOT / "shim/driver.def").read_text(), re.M))


HOOKED, DRIVER_FUNCTIONS = hooked(), driver_functions()
DEVICE_CLASSES = ("LAUNCH", "GRAPH_LAUNCH", "COPY", "SET", "PREFETCH")


def class_of(name):
    return HOOKED.get(name) or DRIVER_FUNCTIONS.get(name.split("_")[0])


# --- comparing a trace with the truth -------------------------------------------------------------

COPY_KINDS = {"peer": 5, "set": 7}


def device_rows(trace):
    """Counter of everything the trace says of the device, one tuple for each record."""
    rows = collections.Counter()
    for r in trace["run"]:
        k = trace.kernels[r["kernel"]]
        rows["kernel", r["begin"], r["begin"] + r["duration"], r["correlation"], r["context"], r["stream"],
             r["graph"], r["node"], r["device"], trace.kernel_name(r),
             (k["grid_x"], k["grid_y"], k["grid_z"], k["block_x"], k["block_y"], k["block_z"])] += 1
    for r in trace["copy"]:
        kind = {5: "peer", 7: "set"}.get(r["kind"], "copy")
        rows[kind, r["begin"], r["begin"] + r["duration"], r["correlation"], r["context"], r["stream"],
             r["graph"], r["node"], r["device"], "", r["bytes"]] += 1
    return rows


def device_truth(truth):
    rows = collections.Counter()
    for o in truth.device_ops():
        last = (*o["grid"], *o["block"]) if o["kind"] == "kernel" else o["bytes"]
        rows[o["kind"], o["start"], o["end"], o["corr"], o["context"], o["stream"], o["graph"], o["node"],
             o["device"], o["name"] if o["kind"] == "kernel" else "", last] += 1
    return rows


def same_device_work(trace, truth):
    """Each operation of the device once in the trace, with its times, ids and shape. Returns how many."""
    got, wanted = device_rows(trace), device_truth(truth)
    missing, extra = list((wanted - got).elements()), list((got - wanted).elements())
    check(not missing and not extra,
          f"{len(missing)} of {sum(wanted.values())} operations are missing from the trace, {len(extra)} are not true;"
          f" the first missing: {missing[:2]}; the first wrong: {extra[:2]}")
    return sum(wanted.values())


def expected_calls(truth, tid, mode="trace"):
    """The calls of a thread that the trace must have, in order: (name, through the driver, result, correlation)."""
    rows = []
    for c in truth.calls:
        if c["tid"] != tid or c["nested"]:
            continue
        hook = c["domain"] == "runtime" and c["api"] in HOOKED
        driver = mode == "trace" and c["domain"] == "driver" and c["api"].split("_")[0] in DRIVER_FUNCTIONS
        if hook or driver:
            rows.append((c["api"], driver, c["ret"], c))
    return rows


def same_calls(trace, truth, mode="trace", prefix=False):
    """
    Each thread's calls in the trace are those it made, in order, none twice; with `prefix`, the first so many of them.
    Returns how many the trace has.
    """
    offset, count = trace.realtime_offset(), 0
    writer = {t["tid"] for t in trace["thread"]}
    for tid in sorted({c["tid"] for c in truth.calls}):
        wanted = expected_calls(truth, tid, mode)
        rows = [r for r in trace.calls_of(tid) if not r["flags"] & NESTED]
        names = [(trace.api(r), bool(r["flags"] & DRIVER), r["result"]) for r in rows]
        told = [w[:3] for w in wanted]
        if prefix:
            # the last one may have been recorded and killed before it was noted
            check(names[:len(told)] == told[:len(names)], f"thread {tid}: not a prefix of what it did",
                  *first_difference(names, told))
            check(len(names) <= len(told) + 1, f"thread {tid}: {len(names)} calls recorded, {len(told)} made")
        else:
            check(names == told, f"thread {tid}: {len(names)} calls in the trace, {len(told)} made;",
                  *first_difference(names, told))
            check(tid in writer or not told, f"thread {tid} is not told")
        known = [i for i, row in enumerate(rows) if row["correlation"]]
        for i, (row, (_, _, _, call)) in enumerate(zip(rows, wanted)):
            # calls that were under way while CUPTI was started, or after it was ended, have no correlation
            edge = (not truth.cupti_started or call["begin"] < truth.cupti_started
                    or (prefix and (row is rows[-1] or not known or i > known[-1])) or trace.meta.get("cupti.state") != "on")
            match_call(row, call, offset, "hooks" if edge and not row["correlation"] else mode)
        count += len(rows)
    return count


def first_difference(a, b):
    for i in range(max(len(a), len(b))):
        x, y = a[i] if i < len(a) else None, b[i] if i < len(b) else None
        if x != y:
            return f"the first difference at {i}: trace {x}, truth {y};", f"before: {b[max(0, i - 2):i]}"
    return ("no difference",)


def match_call(row, call, offset, mode):
    name = call["api"]
    begin, end = row["begin"] + offset, row["begin"] + row["duration"] + offset
    slack = 200_000  # between two readings of the clocks
    check(begin - slack <= call["begin"] <= call["end"] <= end + slack,
          f"{name}: recorded from {begin} to {end}, was from {call['begin']} to {call['end']}")
    equal(bool(row["flags"] & FAILED), call["ret"] != 0, f"{name}: flag failed")
    if mode == "hooks":
        equal(row["correlation"], 0, f"{name}: correlation without CUPTI")
    elif class_of(name) in DEVICE_CLASSES and not call["ret"]:
        equal(row["correlation"], call["corr"], f"{name}: correlation")
    elif row["correlation"]:
        equal(row["correlation"], call["corr"], f"{name}: correlation")


# --- many at once -----------------------------------------------------------------------------------

def in_pairs(function, items):
    """function(item) for all of them, two at a time; the first failure is raised."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(function, items))


def main(*tests):
    """Runs each test function of a file; says which one failed and why."""
    failed = 0
    for test in tests:
        try:
            words = test()
            print(f"ok   {test.__name__.strip('_').replace('_', ' ')}" + (f": {words}" if words else ""), flush=True)
        except Exception as error:  # a test that cannot read what it got has failed, and says where
            failed += 1
            where = "" if isinstance(error, AssertionError) else f" ({traceback.format_exc(limit=-1).splitlines()[1].strip()})"
            print(f"FAIL {test.__name__.strip('_').replace('_', ' ')}: {error}{where}", flush=True)
    sys.exit(1 if failed else 0)
