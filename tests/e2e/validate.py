#!/usr/bin/env python3
"""scripts/validate without a GPU: a stand-in ncu, and reports written by hand, whose agreement is known; then a real trace of the
simulated GPU."""
import json
import pathlib
import shutil
import subprocess
import sys

from lib import APPS, BUILD, CUPTI, ROOT, SHIM, SIM, check, environment, equal, folder, main, need

LABEL = BUILD / "tools/label"
need(LABEL, BUILD / "boundshim")
sys.path.insert(0, str(ROOT / "scripts"))
import agreement  # noqa: E402  (scripts/ is no package)
from agreement import DURATION, METRICS, PASSES, WAVES, Signature  # noqa: E402

PREAMBLE = ('==WARNING== Note: Running with unmodified GPU clocks.\n==PROF== Connected to process 992 (/usr/bin/python3.12)\n'
            '==PROF== Profiling "a" - 0: 0%....50%....100% - 1 pass\n"said" by the program\n')
HEAD = ('"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",'
        '"Section Name","Metric Name","Metric Unit","Metric Value"\n')
GRIDS = {"gemm": (64, 2, 1), "copy": (6144, 1, 1), "tiny": (2, 1, 1), "edge": (528, 1, 1), "odd": (528, 1, 1)}
PLAIN = {f"_Z{len(name)}{name}v": f"{name}()" for name in GRIDS}


def csv_row(number, name, grid, metric, value):
    size = "({}, {}, {})".format(*grid)
    return (f'"{number}","992","python3.12","127.0.0.1","{name}","1","7","(128, 1, 1)","{size}","0","9.0",'
            f'"Command line profiler metrics","{metric}","x","{value}"\n')


def signature(name):
    return Signature(f"{name}()", GRIDS[name], (128, 1, 1))


# --- what ncu prints -------------------------------------------------------------------------------------------------------------

def reads_what_ncu_prints():
    name = "void at::<unnamed>::layer_norm<float, 0>(int, const T1 *)"
    parts = {METRICS[part][0]: part for part in METRICS}
    row = lambda number, metric, value: csv_row(number, name, (2304, 1, 1), metric, value)  # noqa: E731
    text = (PREAMBLE + HEAD + row(0, DURATION, "5,440") + row(0, METRICS["dram_read"][0], "36.34") + row(0, PASSES, "1")
            + row(1, DURATION, "n/a") + row(1, METRICS["dram_read"][0], "20.5") + row(1, METRICS["dram_write"][0], "1.25") + row(1, PASSES, "3"))
    first, second = launches = agreement.read_ncu(text, parts)
    equal((first["name"], first["grid"], first["block"], first["duration"], first["dram_read"]),
          (name, (2304, 1, 1), (128, 1, 1), 5440.0, 36.34), "a launch")
    check("duration" not in second, "a value that is none was read")
    equal(agreement.passes_of(launches), [1, 3], "passes")
    equal(agreement.read_ncu(PREAMBLE, parts), [], "no table")


def units_come_of_their_parts():
    equal(agreement.units_of({"dram_read": 20.5, "dram_write": 1.25, "l2_sectors": 7.0, "l2_tags": 9.0, "l1_out": 3.0, "tensor": 0.0}),
          {"tensor": 0.0, "dram": 21.75, "l2": 9.0, "l1": 3.0}, "units")
    equal(agreement.units_of({"dram_read": 20.5}), {}, "half of DRAM says nothing")
    parts = [[{**launch("gemm", 100, l1_lsu=10.0)}, {**launch("gemm", 100, l1_lsu=30.0)}], [{**launch("gemm", 100, l1_out=24.0)}]]
    found = agreement.aggregate(parts, PLAIN)[signature("gemm")]
    equal(found["units"], {"l1": 24.0}, "the larger of the means, from two runs")
    # launches of the first run are 24 and 30 then, that of the second 24
    near(found["spread"]["l1"], 2.0, "spread")


# --- by hand -----------------------------------------------------------------------------------------------------------------------

def parts_of(units):
    """A unit's value as that of its first part; the others are idle."""
    return {part: value if part == agreement.PARTS[unit][1][0] else 0.0 for unit, value in units.items() if unit in agreement.PARTS
            for part in agreement.PARTS[unit][1]}


def launch(name, duration, **units):
    parts = parts_of(units) | {key: value for key, value in units.items() if key not in agreement.PARTS}
    return {"name": f"_Z{len(name)}{name}v", "grid": GRIDS[name], "block": (128, 1, 1), "duration": float(duration), "waves": 4.0, **parts}


IDLE = {"fma": 1.0, "alu": 1.0, "fp64": 0.0, "xu": 0.0}
ONE = [
    launch("gemm", 300_000, tensor=81.0, dram=20.0, **IDLE), launch("gemm", 100_000, tensor=77.0, dram=24.0, **IDLE),
    launch("copy", 50_000, tensor=0.0, dram=90.0, **IDLE), launch("copy", 50_000, tensor=0.0, dram=86.0, **IDLE),
    {**launch("tiny", 4_000, tensor=0.0, dram=2.0, **IDLE), "waves": 0.01}, {**launch("tiny", 4_000, tensor=0.0, dram=2.0, **IDLE), "waves": 0.01},
    launch("edge", 40_000, tensor=0.0, dram=63.0, **IDLE), launch("edge", 40_000, tensor=0.0, dram=59.0, **IDLE),
    launch("odd", 40_000, tensor=0.0, dram=30.0, **IDLE), launch("odd", 40_000, tensor=0.0, dram=30.0, **IDLE),
    {**launch("odd", 40_000), "name": "_Z8elsewhere"},
]
TWO = [{**row, **parts_of({"l2": 40.0, "l1": 10.0})} for row in ({k: row[k] for k in ("name", "grid", "block", "duration", "waves")} for row in ONE)]


def measure(value, by):
    return None if value is None else {"value": value, "low": value - by, "high": value + by}


def row(name, launches, total_ns, leaf, confidence, evidence="counters", **units):
    by = units.pop("by", 2.0)
    return {"name": f"{name}()", "short_name": name, "grid": list(GRIDS[name]), "block": [128, 1, 1], "launches": launches,
            "total_ns": total_ns, "mean_ns": total_ns / launches, "leaf": leaf, "regime": "other", "leans": None,
            "confidence": confidence, "evidence": evidence, "samples": 40.0, "waves": {"value": 4.0, "low": 4.0, "high": 4.0},
            **{f"{unit}_pct": measure(units.get(unit), by) for unit in ("tensor", "fma", "dram", "l2", "l1")}}


WITH = [
    row("gemm", 40, 4_000_000, "compute", 0.9, tensor=81.0, dram=30.0, l2=41.0),
    row("copy", 60, 3_000_000, "dram", 0.9, tensor=0.0, dram=88.5, l2=40.0),
    # two library calls of one signature
    row("edge", 30, 1_200_000, "latency", 0.5, tensor=0.0, dram=58.0), row("edge", 10, 400_000, "dram", 0.5, tensor=0.0, dram=62.0),
    row("odd", 20, 800_000, "unknown", 0.0, evidence="none"),
    row("tiny", 100, 400_000, "latency", 0.9, tensor=0.0, dram=2.0),
    row("gemm", 10, 200_000, "compute", 0.9) | {"grid": [1, 1, 1]},
]
WITHOUT = [
    row("gemm", 40, 3_900_000, "unknown", 0.0, "none"), row("copy", 60, 3_000_000, "dram", 0.3, "prior"),
    row("edge", 40, 1_600_000, "unknown", 0.0, "none"), row("odd", 20, 800_000, "latency", 0.3, "prior"),
    row("tiny", 100, 400_000, "compute", 0.8, "geometry"), row("gemm", 10, 200_000, "unknown", 0.0, "none") | {"grid": [1, 1, 1]},
]


def near(got, wanted, what, within=1e-6):
    check(got is not None and abs(got - wanted) <= within, f"{what}: got {got}, expected {wanted}")


def the_clock_is_a_mean_by_duration():
    plain = {"k": "k"}
    launch = {"name": "k", "grid": (1, 1, 1), "block": (1, 1, 1), "tensor": 1.0}
    groups = [[{**launch, "duration": 100.0, "clock": 2e9}, {**launch, "duration": 300.0, "clock": 1e9}], [{**launch, "duration": 100.0}]]
    (found,) = agreement.aggregate(groups, plain).values()
    near(found["clock_hz"], 1.25e9, "clock", 1)
    (found,) = agreement.aggregate([groups[1]], plain).values()
    equal(found["clock_hz"], None, "clock that was not measured")


def means_are_weighted_by_duration():
    found = agreement.aggregate([ONE, TWO], PLAIN)
    gemm = found[signature("gemm")]
    near(gemm["units"]["tensor"], 80.0, "tensor")
    near(gemm["spread"]["tensor"], 1 * 0.75 + 3 * 0.25, "spread of launches")
    near(gemm["units"]["dram"], 21.0, "dram")
    near(gemm["units"]["l2"], 40.0, "l2, from the second run")
    equal(gemm["launches"], 2, "launches, of the least measured unit")
    near(gemm["duration_ns"], 200_000, "duration")
    skipped = agreement.aggregate([ONE, TWO], PLAIN, skip_first=True)
    near(skipped[signature("gemm")]["units"]["tensor"], 77.0, "tensor without the first launch")


def other_work_of_the_same_name_is_left_out():
    ours = {signature(name): {"launches": n} for name, n in (("gemm", 6000), ("copy", 300), ("tiny", 300), ("edge", 600), ("odd", 300))}
    measured = {signature(name): {"launches": n} for name, n in (("gemm", 2), ("copy", 5), ("tiny", 2), ("edge", 10), ("odd", 95))}
    equal({s.name for s in agreement.same_work(ours, measured)}, {"copy()", "tiny()", "edge()"}, "signatures kept")


def the_excess_of_ncus_range_is_taken_out():
    ours = {signature(name): {"mean_ns": ns} for name, ns in (("gemm", 100e3), ("copy", 9e3), ("tiny", 4e3), ("edge", 2e3))}
    measured = {signature(name): {"duration_ns": ns, "units": {"dram": 40.0}, "spread": {"dram": 2.0}, "each": []}
                for name, ns in (("gemm", 120e3), ("copy", 10e3), ("tiny", 5e3), ("edge", 2.5e3))}
    near(agreement.range_excess(ours, measured), 1000, "of the short ones")
    scaled = agreement.without_excess(measured[signature("tiny")], 1000)
    near(scaled["units"]["dram"], 50, "per the kernel's own time")
    near(scaled["duration_ns"], 4000, "duration")
    del measured[signature("edge")]
    near(agreement.range_excess(ours, measured), 0, "two say nothing")


def agreement_is_as_by_hand():
    ours, blind = agreement.kernels_of({"kernels": WITH}), agreement.kernels_of({"kernels": WITHOUT})
    equal(len(ours), 6, "signatures, rows of one put together")
    near(ours[signature("edge")]["units"]["dram"]["value"], 59.0, "of two rows, weighted by time")
    got = agreement.compare(ours, agreement.aggregate([ONE, TWO], PLAIN), blind, 132, LABEL)
    total, seen = 10_000_000, 9_800_000
    near(got["measured_share"], seen / total, "kernel time that ncu saw")
    labels = {row["name"]: (row["ncu"]["leaf"], row["near_threshold"]) for row in got["rows"]}
    equal(labels, {"gemm()": ("compute", False), "copy()": ("dram", False), "edge()": ("dram", True), "odd()": ("latency", False),
                   "tiny()": ("underfilled", False)}, "labels of ncu's figures")
    near(got["near_share"], 1_600_000 / seen, "time near a threshold")
    near(got["near_confident_share"], 0.0, "confident near a threshold")
    clear = seen - 1_600_000
    for key, wanted in (("same", 7_000_000), ("unknown", 800_000), ("wrong", 400_000)):
        near(got["clear"][key], wanted / clear, f"{key}, thresholds left out")
    near(got["all"]["same"], 7_000_000 / seen, "same, all")
    near(got["all"]["wrong"], 2_000_000 / seen, "wrong, all")
    for key, wanted in (("same", 3_000_000 + 800_000), ("unknown", 4_000_000), ("wrong", 400_000)):
        near(got["blind_clear"][key], wanted / clear, f"{key} without counters")
    near(got["errors"]["tensor"]["points"], 1.0 * 4_000_000 / 9_000_000, "tensor error where both know")
    near(got["errors"]["tensor"]["of_time"], 9_000_000 / seen, "the time where both know tensor")
    near(got["errors"]["dram"]["points"], (9 * 4_000_000 + 0.5 * 3_000_000 + 2 * 1_600_000 + 0) / 9_000_000, "DRAM error")
    equal(got["intervals"]["tensor"], (4, 4), "tensor intervals")
    equal(got["intervals"]["dram"], (3, 4), "DRAM intervals: the GEMM's is too far off")
    equal(got["intervals"]["l2"], (2, 2), "L2 intervals")
    equal(got["intervals"]["all"], (9, 10), "all intervals")
    near(got["self"]["dram"], (1.5 * 4_000_000 + 2 * 3_000_000 + 2 * 1_600_000) / seen, "ncu against itself")
    near(got["self"]["label"], (seen - 800_000) / seen, "ncu's labels against themselves: half of edge's launches")
    equal(got["of_one_percent"], {"signatures": 6, "measured_enough": 0}, "measured five times")
    near(agreement.time_ratio(ours, blind), 10_000_000 / 9_900_000, "GPU time added")


# --- the whole program, with stand-ins -----------------------------------------------------------------------------------------------

NCU = '''#!{python}
"""A stand-in for ncu: prints what is in {table} of the metrics asked for; more than {most} metrics take two passes."""
import json, sys
words = sys.argv[1:]
with open({calls!r}, "a") as calls:
    calls.write(json.dumps(words) + "\\n")
if "--query-metrics" in words:
    print("\\n".join([f"sm__filler_{{i}}   Counter" for i in range(200)] + [m + "   Throughput" for m in {known!r}]))
    sys.exit()
metrics = words[words.index("--metrics") + 1].split(",")
bad = [metric for metric in metrics if metric in {bad!r}]
if bad:
    print("==ERROR== Failed to find metric " + bad[0])
    sys.exit(1)
print({head!r}, end="")
for line in open({table!r}):
    if any('"' + metric + '"' in line for metric in metrics):
        print(line, end="")
    if '"{passes}"' in line:
        print(line.replace("PASSES", "1" if len(metrics) <= {most} else "2"), end="")
'''
SCRIPT = "#!/bin/sh\n{}\n"


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def stand_in_ncu(where, launches, most, bad=()):
    """Its table has the launches; most: metrics that go into one pass."""
    metrics = METRICS | {"duration": [DURATION], "waves": [WAVES]}
    lines = []
    for number, measured in enumerate(launches):
        lines.append(csv_row(number, measured["name"], measured["grid"], PASSES, "PASSES"))
        values = {metric: value for key, value in measured.items() for metric in metrics.get(key, ())}
        lines += [csv_row(number, measured["name"], measured["grid"], metric, f"{value:,.2f}") for metric, value in values.items()]
    (where / "table").write_text("".join(lines))
    return executable(where / "ncu", NCU.format(
        python=sys.executable, table=str(where / "table"), calls=str(where / "calls"), head=PREAMBLE + HEAD, most=most, bad=bad, passes=PASSES,
        known=[name.split(".")[0] for names in METRICS.values() for name in names]))


def report_of(kernels):
    steady = {"step": {"count": 10, "kernels": sum(k["launches"] for k in kernels) // 10}}
    device = {"name": "NVIDIA H200", "sm_count": 132, "kernels": kernels, "steady": steady,
              "counters": {"samples": 900, "bursts": 3, "cpu_ns": 50_000_000, "reason": None}}
    return {"processes": [{"run": {"traced_ns": 1_000_000_000}, "coverage": {"kernels": 400}, "devices": [device]}]}


def validate(where, *words, env=None):
    done = subprocess.run([ROOT / "scripts/validate", "--output", where / "out", *map(str, words)], cwd=where, text=True, capture_output=True,
                          timeout=120, env={**environment(where, preload=False), **(env or {})}, check=False)
    check((where / "out/validate.json").exists(), done.stdout, done.stderr)
    return done, json.loads((where / "out/validate.json").read_text()), (where / "out/validate.txt").read_text()


LIST = ("name\tmetric\tleaf\twithout_counters\ngemm\tsm__pipe\tcompute\tunknown\ncopy\tdram__throughput\tdram\tunknown\n"
        "tiny\tsm__throughput\tunderfilled\tunderfilled\nh2d\t\ttransfer\ttransfer\n").replace("\t", "\\t").replace("\n", "\\n")


def stand_ins(most, bad=(), words=("--pairs", 2, "--seconds", 60, "true")):
    where = folder("validate")
    for name, rows in (("on", WITH), ("off", WITHOUT)):
        (where / f"{name}.json").write_text(json.dumps(report_of(rows)))
    ncu = stand_in_ncu(where, [{**a, **parts_of({"l2": 40.0, "l1": 10.0})} for a in ONE for _ in range(3)], most, bad)
    boundshim = executable(where / "boundshim", SCRIPT.format(f'case "$4" in */on-*) cat {where}/on.json;; *) cat {where}/off.json;; esac'))
    names = "\\n".join(f"{mangled}\\t{plain}" for mangled, plain in PLAIN.items())
    label = executable(where / "label", SCRIPT.format(f'[ "$1" = --names ] && {{ printf \'{names}\\n\'; exit; }}\nexec {LABEL}'))
    shim = where / "libboundshim.so"
    shutil.copy(SHIM, shim) if SHIM.exists() else shim.touch()
    kernels = executable(where / "boundshim-kernels", SCRIPT.format(f"[ $1 = list ] && printf '{LIST}'\nexit 0"))
    tools = ["--ncu", ncu, "--boundshim", boundshim, "--label", label, "--shim", shim, "--kernels", kernels]
    done, results, text = validate(where, *tools, *words)
    return where, done, results, text


def the_whole_program_says_the_same():
    where, done, results, text = stand_ins(most=100)
    equal(done.returncode, 1, "exit status: promises are broken on purpose")
    agreed = results["workloads"][0]["agreement"]
    near(agreed["clear"]["same"], 7_000_000 / 8_200_000, "same label")
    near(results["over_all"]["errors"]["dram"], (9 * 4 + 0.5 * 3 + 2 * 1.6) / 9, "DRAM error", 1e-3)
    equal(agreed["of_one_percent"]["measured_enough"], 5, "measured five times: six launches each")
    near(results["workloads"][0]["counters"]["cpu_share"], 0.05, "CPU of sampling")
    equal(len(results["workloads"][0]["gpu_time"]["ratios"]), 2, "pairs with and without counters")
    held = {p["what"]: p["held"] for p in results["promises"]}
    equal(held["tensor activity within 1.5 points"], True, "tensor promise")
    equal(held["same label with counters >= 98 %, near thresholds left out"], False, "label promise")
    for word in ("true", "latency/underfilled WRONG", "unknown/latency ?", "(near)", "85.4", "cut: nothing"):
        check(word in text, f"{word!r} is not in the text:", text)
    equal(sorted(p.name for p in (where / "out").iterdir()), ["evidence-true.tar.xz", "log.txt", "validate.json", "validate.txt"], "files left")
    words = [json.loads(line) for line in (where / "calls").read_text().splitlines()][-1]
    option = lambda name: words[words.index(name) + 1]  # noqa: E731
    # of 400 kernels 270 are steady, 27 in each of ten steps: 130 before and one step; the rarest comes once a step
    equal((option("--launch-skip-before-match"), option("--launch-count"), option("--kill")), ("157", "135", "yes"), "the window")
    equal(option("--kernel-name"), "regex:^(" + "|".join(sorted(PLAIN)) + ")$", "the names")
    for name in ("--clock-control", "--cache-control"):
        equal(option(name), "none", name)


def each_group_takes_one_pass():
    _, _, results, _ = stand_ins(most=9)
    passes = {tuple(group["units"]): group["passes"] for group in results["groups"]}
    equal(passes, {("tensor", "fma", "dram_read", "dram_write", "l2_sectors"): [1], ("l2_tags", "l1_lsu", "l1_in"): [1],
                   ("alu", "xu", "fp64", "l1_out", "l2_in"): [1], ("l2_out",): [1]}, "groups: five metrics and four that are always there")
    near(results["workloads"][0]["agreement"]["errors"]["dram"]["points"], (9 * 4 + 0.5 * 3 + 2 * 1.6) / 9, "DRAM error", 1e-3)


def a_group_of_two_passes_is_a_broken_promise():
    _, _, results, _ = stand_ins(most=4)
    check(any(p["what"].startswith("one pass") and p["held"] is False for p in results["promises"]), results["promises"])


def a_metric_that_ncu_refuses_is_replaced():
    _, _, results, _ = stand_ins(most=100, bad=(METRICS["dram_read"][0], METRICS["xu"][0]))
    equal(len(results["groups"]), 2, "groups")
    metrics = [metric for group in results["groups"] for metric in group["metrics"]]
    check(METRICS["dram_read"][1] in metrics and METRICS["xu"][0] not in metrics, metrics)
    check(results["workloads"], results["cut"])


def micro_kernels_are_held_against_how_they_are_built():
    where, _, results, text = stand_ins(most=100, words=("--all", "--only", "kernels", "--python", "true", "--seconds", 60))
    built = {w["name"]: (w["built"]["ncu"], w["built"]["held"], w["built"]["blind_held"]) for w in results["workloads"]}
    equal(built, {"kernels/gemm": ("compute", True, True), "kernels/copy": ("dram", True, False),
                  "kernels/tiny": ("underfilled", False, False)}, "micro-kernels, copies left out")
    check("2 of 3; not tiny" in text and "1 of 3; not copy tiny" in text, text)
    calls = [json.loads(line) for line in (where / "calls").read_text().splitlines()]
    equal(calls[-1][calls[-1].index("--kernel-name") + 1], "regex:^(gemm|copy|tiny)$", "one run of ncu for all")


def what_does_not_fit_is_named():
    _, _, results, _ = stand_ins(most=100, words=("--quick", "--python", "true", "--seconds", 20))
    equal(results["cut"], [f"{name}: no time left" for name in ("bert_train", "resnet_train", "gpt_train")], "what was cut")


def results_are_merged():
    where, _, results, _ = stand_ins(most=100)
    other = {**results, "workloads": [{**results["workloads"][0], "name": "other"}], "cut": ["true: no time left", "other: words"]}
    (where / "other.json").write_text(json.dumps(other))
    done, merged, text = validate(where, "--merge", where / "out/validate.json", where / "other.json")
    equal([w["name"] for w in merged["workloads"]], ["true", "other"], "workloads")
    equal(merged["cut"], ["other: words"], "what was cut, but for what another run has")
    check("all, alike" in text and done.returncode == 1, done.stderr)


def without_anything_it_says_why():
    where = folder("validate")
    ncu = executable(where / "ncu", SCRIPT.format("echo '==ERROR== ERR_NVGPUCTRPERM'; exit 1"))
    done, results, text = validate(where, "--ncu", ncu, "--boundshim", ncu, "--label", LABEL, "--shim", LABEL, "--seconds", 60, "true")
    equal(results["workloads"], [], "workloads")
    check("cut: true: Failed: no report" in text, text)
    check("Traceback" not in done.stderr, done.stderr)


# --- kept evidence from an H200 ----------------------------------------------------------------------------------------------------

def kept_evidence_still_agrees():
    """GPT training on an H200 (samples/validate): what this analyzer says of it, against what ncu measured."""
    where = folder("validate")
    _, results, text = validate(where, "--boundshim", BUILD / "boundshim", "--label", LABEL, "--again", ROOT / "samples/validate/gpt_train")
    check(results["workloads"], text)
    agreed = results["workloads"][0]["agreement"]
    check(agreed["measured_share"] >= 0.9, f"only {agreed['measured_share']} of kernel time compared")
    check(agreed["clear"]["same"] >= 0.99 and agreed["all"]["same"] >= 0.97, agreed["clear"], agreed["all"])
    check(agreed["errors"]["tensor"]["points"] <= 1.8 and agreed["errors"]["dram"]["points"] <= 2.0, agreed["errors"])
    inside, stated = agreed["intervals"]["all"]
    check(stated >= 130 and inside >= 0.87 * stated, f"{inside} of {stated} intervals")
    return f"same label {agreed['clear']['same']:.3f}, tensor {agreed['errors']['tensor']['points']:.2f}, " \
           f"DRAM {agreed['errors']['dram']['points']:.2f} points, {inside} of {stated} intervals"


# --- the real shim, analyzer and labels, on the simulated GPU --------------------------------------------------------------------------

TRUTH = {"kernel_0": {"tensor": 80.0, "dram": 10.0, "alu": 3.0}, "kernel_1": {"tensor": 0.0, "dram": 85.0, "l2": 70.0, "l1": 22.0},
         "kernel_2": {"tensor": 0.0, "fp64": 66.0, "fma": 41.0, "dram": 0.0}}


def a_simulated_run_agrees_with_its_truth():
    if not all(path.exists() for path in (SHIM, CUPTI, APPS / "launch_loop", SIM / "libcudart.so.13")):
        return "left out: no simulated CUDA here"
    where = folder("validate-sim")
    (where / "script").write_text("".join(
        f"kernel {name} duration={us}us counters={','.join(f'{unit}:{pct}' for unit, pct in values)},sm_active:100\n" for name, us, values in (
            ("kernel_0", 170, [("tensor", 80), ("dram_read", 10), ("alu", 3)]),
            ("kernel_1", 60, [("dram_read", 60), ("dram_write", 25), ("l2", 70), ("l1", 22)]),
            ("kernel_2", 35, [("fp64", 66), ("fma", 41)]))))
    command = [APPS / "launch_loop", "steps=6000", "kernels=3", "sync=1", "quiet=1"]
    # what the kernels are called and how they are launched is known after one run
    env = {"BOUNDSHIM_CUPTI": str(CUPTI), "SIM_SCRIPT": str(where / "script"), "SIM_TRUTH": str(where / "truth-%p.json")}
    probe = subprocess.run([*map(str, command[:1]), "steps=1", *command[2:]], cwd=where, env={**environment(where), **env}, check=True,
                           capture_output=True, timeout=60)
    check(probe.returncode == 0, probe.stderr)
    ops = [json.loads(line) for path in where.glob("truth-*.json") for line in path.read_text().splitlines()]
    shapes = {op["name"]: (op["grid"], op["block"]) for op in ops if op.get("kind") == "kernel"}
    equal(set(shapes), set(TRUTH), "kernels of the loop")
    launches = [{"name": name, "grid": tuple(shapes[name][0]), "block": tuple(shapes[name][1]), "duration": us * 1e3, "waves": 4.0,
                 **parts_of(dict.fromkeys(agreement.UNITS, 0.0) | TRUTH[name])}
                for name, us in (("kernel_0", 170), ("kernel_1", 60), ("kernel_2", 35)) for _ in range(5)]
    ncu = stand_in_ncu(where, launches, 100)
    table = (where / "table").read_text()
    for name, (_, block) in shapes.items():
        lines = [line.replace("(128, 1, 1)", "({}, {}, {})".format(*block), 1) if f'"{name}"' in line else line for line in table.splitlines(True)]
        table = "".join(lines)
    (where / "table").write_text(table)
    _, results, text = validate(where, "--ncu", ncu, "--boundshim", BUILD / "boundshim", "--label", LABEL, "--shim", SHIM, "--seconds", 100,
                                "--pairs", 1, "--", *command, env=env)
    check(results["workloads"], text)
    agreed = results["workloads"][0]["agreement"]
    near(agreed["measured_share"], 1.0, "all kernel time is matched")
    for unit in ("tensor", "dram"):
        check(agreed["errors"][unit]["points"] <= 1.5, f"{unit}: {agreed['errors'][unit]}")
        near(agreed["errors"][unit]["of_time"], 1.0, f"{unit}: time with an estimate")
    near(agreed["all"]["same"], 1.0, "labels")
    equal({row["ours"]["evidence"] for row in agreed["rows"]}, {"counters"}, "evidence")
    return f"tensor within {agreed['errors']['tensor']['points']:.2f}, DRAM within {agreed['errors']['dram']['points']:.2f} points"


main(reads_what_ncu_prints, units_come_of_their_parts, means_are_weighted_by_duration, the_clock_is_a_mean_by_duration, other_work_of_the_same_name_is_left_out,
     the_excess_of_ncus_range_is_taken_out, agreement_is_as_by_hand, the_whole_program_says_the_same, each_group_takes_one_pass,
     a_group_of_two_passes_is_a_broken_promise, a_metric_that_ncu_refuses_is_replaced,
     micro_kernels_are_held_against_how_they_are_built, what_does_not_fit_is_named, results_are_merged,
     without_anything_it_says_why, kept_evidence_still_agrees, a_simulated_run_agrees_with_its_truth)
