"""How far boundshim's figures of kernels agree with Nsight Compute's: matching, means, labels, errors and intervals. scripts/validate
gets the material, and this works on it: a report (as `boundshim report --format json` prints it) and what `ncu --csv` prints."""
import collections
import csv
import math
import re
import statistics
import subprocess

PCT = ".avg.pct_of_peak_sustained_elapsed"
DURATION, WAVES, PASSES = "gpu__time_duration.sum", "launch__waves_per_multiprocessor", "profiler__replayer_passes"
# Percentages of SM units are of cycles: a kernel bound by DRAM shows more of them where the clock is lower.
CLOCK = "gpc__cycles_elapsed.avg.per_second"
# What ncu measures: the metrics that may speak for each part, the first that the chip has is taken. The definitions that
# shim/metrics.def samples: those of ncu's own lts__throughput and l1tex__throughput take five passes and count more (the fabric between
# the halves of L2, which is busier than DRAM whenever DRAM is busy).
METRICS = {
    "tensor": ["sm__pipe_tensor_cycles_active" + PCT, "sm__inst_executed_pipe_tensor" + PCT],
    "fma": ["sm__inst_executed_pipe_fma" + PCT],
    "alu": ["sm__inst_executed_pipe_alu" + PCT],
    "fp64": ["sm__pipe_fp64_cycles_active" + PCT, "sm__inst_executed_pipe_fp64" + PCT],
    "xu": ["sm__inst_executed_pipe_xu" + PCT],
    "dram_read": ["dramc__sectors_op_read" + PCT, "dram__cycles_active_read" + PCT, "dram__bytes_read.sum.pct_of_peak_sustained_elapsed"],
    "dram_write": ["dramc__sectors_op_write" + PCT, "dram__cycles_active_write" + PCT, "dram__bytes_write.sum.pct_of_peak_sustained_elapsed"],
    "l2_sectors": ["lts__t_sectors" + PCT],
    "l2_tags": ["lts__t_tag_requests" + PCT],
    "l2_in": ["lts__xbar2lts_cycles_active" + PCT],
    "l2_out": ["lts__lts2xbar_cycles_active" + PCT],
    "l1_lsu": ["l1tex__data_pipe_lsu_wavefronts" + PCT],
    "l1_in": ["l1tex__m_xbar2l1tex_read_sectors" + PCT],
    "l1_out": ["l1tex__m_l1tex2xbar_req_cycles_active" + PCT],
}
PIPES = ("tensor", "fma", "alu", "fp64", "xu")
UNITS = PIPES + ("dram", "l2", "l1")  # in the order in which the labelling program wants them
# Unit: its parts, and what they make together.
PARTS = {pipe: (max, (pipe,)) for pipe in PIPES} | {
    "dram": (sum, ("dram_read", "dram_write")), "l2": (max, ("l2_sectors", "l2_tags", "l2_in", "l2_out")), "l1": (max, ("l1_lsu", "l1_in", "l1_out"))}
IN_REPORT = ("tensor", "fma", "dram", "l2", "l1")
BAND_PCT = 3  # as analysis/decide.c: this near to a threshold, a label is a coin toss
LEAST_LAUNCHES = 5
SHORT_NS, EXCESS_MOST_NS = 15e3, 2e3  # see range_excess
FEWER_MOST = 6  # see same_work: a window may hold one step and a half
ROUNDING_PCT = 0.01  # ncu prints two digits


class Signature(collections.namedtuple("Signature", "name grid block")):
    """A kernel as both sides know it: the name as the report prints it, grid and block as three numbers."""


# --- boundshim's side ----------------------------------------------------------------------------------------------------------

def busiest_device(report):
    """(process, device) with the most kernel time."""
    pairs = [(p, d) for p in report["processes"] for d in p["devices"]]
    if not pairs:
        raise ValueError("the report has no device")
    return max(pairs, key=lambda pair: sum(k["total_ns"] for k in pair[1]["kernels"]))


def kernels_of(device):
    """Signature -> its figures; rows of one signature (told apart by library call) are put together, weighted by time."""
    rows = collections.defaultdict(list)
    for row in device["kernels"]:
        if row["total_ns"]:
            rows[Signature(row["name"], tuple(row["grid"]), tuple(row["block"]))].append(row)
    return {signature: put_together(same) for signature, same in rows.items()}


def put_together(rows):
    total = sum(row["total_ns"] for row in rows)
    largest = max(rows, key=lambda row: row["total_ns"])
    launches = sum(row["launches"] for row in rows)
    units = {}
    for unit in IN_REPORT:
        known = [(row[unit + "_pct"], row["total_ns"]) for row in rows if row.get(unit + "_pct")]
        weight = sum(ns for _, ns in known)
        # a mean over part of the time says nothing of the whole
        units[unit] = {end: sum(m[end] * ns for m, ns in known) / weight for end in ("value", "low", "high")} \
            if weight and weight == total else None
    waves = largest.get("waves")
    return {"launches": launches, "total_ns": total, "mean_ns": total / launches if launches else 0, "units": units,
            "samples": sum(row.get("samples") or 0 for row in rows), "waves": waves["value"] if waves else None,
            **{key: largest[key] for key in ("leaf", "regime", "leans", "confidence", "evidence", "short_name")}}


# --- ncu's side ----------------------------------------------------------------------------------------------------------------

def numbers(text):
    return tuple(int(n) for n in re.findall(r"\d+", text))


def read_ncu(text, parts):
    """The launches that `ncu --csv` printed, in order: {name, grid, block, duration, waves, passes, <part>: % of peak}; parts: metric -> part."""
    lines = text.splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID",')), None)
    if begin is None:
        return []
    launches = {}
    for row in csv.DictReader(line for line in lines[begin:] if line.startswith('"')):
        part = {DURATION: "duration", WAVES: "waves", PASSES: "passes", CLOCK: "clock"}.get(row["Metric Name"]) or parts.get(row["Metric Name"])
        launch = launches.setdefault(row["ID"], {"name": row["Kernel Name"], "grid": numbers(row["Grid Size"]),
                                                 "block": numbers(row["Block Size"])})
        try:
            value = float(row["Metric Value"].replace(",", ""))
        except ValueError:
            continue  # "n/a", "nan"
        if part and math.isfinite(value):
            launch[part] = value
    return list(launches.values())


def passes_of(launches):
    """How many passes ncu needed, all the numbers that it told."""
    return sorted({int(launch["passes"]) for launch in launches if "passes" in launch})


def units_of(parts):
    """Unit -> % of peak, from what is known of their parts."""
    found = {}
    for unit, (together, names) in PARTS.items():
        known = [parts[name] for name in names if name in parts]
        if known and (together is max or len(known) == len(names)):
            found[unit] = together(known)
    return found


def mean(pairs):
    """Of (value, weight) pairs; None of none."""
    weight = sum(w for _, w in pairs)
    return sum(v * w for v, w in pairs) / weight if weight else None


def aggregate(groups, plain, skip_first=False):
    """
    Signature -> what ncu measured of it over all groups of metrics (one list of launches for each): means weighted by duration, and
    how far single launches are from them. plain: name as ncu prints it -> name as the report does.
    """
    found = collections.defaultdict(lambda: [[] for _ in groups])
    for number, launches in enumerate(groups):
        for launch in launches:
            if launch.get("duration"):
                name = plain.get(launch["name"], launch["name"])
                found[Signature(name, launch["grid"], launch["block"])][number].append(launch)
    result = {}
    for signature, parts in found.items():
        if skip_first:
            parts = [part[1:] if len(part) > 1 else part for part in parts]
        every = [launch for group in parts for launch in group]
        known = {name: [(launch[name], launch["duration"]) for launch in every if name in launch] for name in METRICS}
        means = {name: mean(pairs) for name, pairs in known.items() if pairs}
        units, spread = units_of(means), {}
        for launch in every:
            launch["units"] = units_of({**means, **{name: launch[name] for name in means if name in launch}})
        for unit in units:
            own = [launch for launch in every if any(name in launch for name in PARTS[unit][1])]
            spread[unit] = mean([(abs(launch["units"][unit] - units[unit]), launch["duration"]) for launch in own])
        result[signature] = {
            "launches": min((len(known[name]) for name in means), default=0), "units": units, "spread": spread, "parts": means,
            "each": parts[0] or every, "duration_ns": mean([(launch["duration"], 1) for launch in every]),
            "waves": next((launch["waves"] for launch in every if "waves" in launch), None),
            "clock_hz": mean([(launch["clock"], launch["duration"]) for launch in every if "clock" in launch]),
        }
    return result


# --- labels ----------------------------------------------------------------------------------------------------------------------

class Labeller:
    """The decision of the report (analysis/decide.c) for measurements of any origin, through the program `label`."""

    def __init__(self, program):
        self.program, self.lines = program, []

    def ask(self, units, waves, coverage, duration_ns, name):
        """Notes a question; its number."""
        words = [*(units.get(unit) for unit in UNITS), waves, coverage, duration_ns, None]
        line = " ".join("-" if word is None else f"{word:.6g}" for word in words)
        self.lines.append(f"{line} counters name {' '.join(name.split())}")
        return len(self.lines) - 1

    def answers(self):
        """A list of {leaf, regime, leans, confidence}, by number."""
        done = subprocess.run([str(self.program)], input="".join(line + "\n" for line in self.lines), text=True, timeout=60,
                              capture_output=True, check=False)
        rows = [line.split() for line in done.stdout.splitlines()]
        if done.returncode or len(rows) != len(self.lines):
            raise RuntimeError(f"{self.program}: {done.stderr.strip() or 'not as many answers as questions'}")
        return [{"leaf": leaf, "regime": regime, "leans": None if leans == "-" else leans, "confidence": float(confidence)}
                for leaf, regime, leans, confidence in rows]


def moved(units):
    """The same measurements with one unit moved by the band, up and down."""
    for unit in units:
        for change in (-BAND_PCT, BAND_PCT):
            yield {**units, unit: min(max(units[unit] + change, 0), 100)}


def label_all(measured, ours, sm_count, program):
    """Adds to what ncu measured of each signature: label, near (a threshold), self_share, label_run (with the run's duration)."""
    labeller, asked = Labeller(program), {}
    for signature, m in measured.items():
        blocks = math.prod(signature.grid)
        waves = m["waves"] if m["waves"] is not None else ours[signature]["waves"]
        rest = (waves, blocks / sm_count if sm_count else None)
        asked[signature] = (
            labeller.ask(m["units"], *rest, m["duration_ns"], signature.name),
            labeller.ask(m["units"], *rest, ours[signature]["mean_ns"], signature.name),
            [labeller.ask(units, *rest, m["duration_ns"], signature.name) for units in moved(m["units"])],
            [(labeller.ask(launch["units"], *rest, launch["duration"], signature.name), launch["duration"]) for launch in m["each"]],
        )
    answers = labeller.answers()
    for signature, (itself, with_run, nearby, each) in asked.items():
        label = answers[itself]
        measured[signature].update(
            label=label, label_run=answers[with_run], near=any(answers[i]["leaf"] != label["leaf"] for i in nearby),
            self_share=mean([(answers[i]["leaf"] == label["leaf"], ns) for i, ns in each]))


# --- agreement -------------------------------------------------------------------------------------------------------------------

def shares(rows, leaf_of):
    """Of the rows' kernel time: labelled as by ncu, unknown, wrong. None where there is no row."""
    total = sum(row["total_ns"] for row in rows)
    if not total:
        return None
    count = collections.Counter()
    for row in rows:
        leaf = leaf_of(row)
        count["same" if leaf == row["ncu"]["leaf"] else "unknown" if leaf in (None, "unknown") else "wrong"] += row["total_ns"]
    return {key: count[key] / total for key in ("same", "unknown", "wrong")}


def row_of(signature, kernel, m, blind):
    units = {}
    for unit in UNITS:
        estimate = kernel["units"].get(unit)
        if unit in m["units"] or estimate:
            units[unit] = {"ncu": m["units"].get(unit), "ncu_spread": m["spread"].get(unit),
                           **(estimate or {"value": None, "low": None, "high": None})}
    other = blind.get(signature) if blind is not None else None
    return {
        "name": signature.name, "short_name": kernel["short_name"], "grid": signature.grid, "block": signature.block,
        "launches": kernel["launches"], "total_ns": kernel["total_ns"], "mean_ns": kernel["mean_ns"], "samples": kernel["samples"],
        "waves": kernel["waves"], "ncu_launches": m["launches"], "ncu_mean_ns": m["duration_ns"], "near_threshold": m["near"],
        "ncu_clock_hz": m["clock_hz"], "parts": m["parts"], "ncu": m["label"], "ncu_with_run_duration": m["label_run"], "ncu_self_share": m["self_share"],
        "ours": {key: kernel[key] for key in ("leaf", "regime", "leans", "confidence", "evidence")},
        "blind": other and {key: other[key] for key in ("leaf", "confidence", "evidence")}, "units": units,
    }


def contained(rows, units):
    """(intervals that contain ncu's value, intervals stated)"""
    stated = [row["units"][unit] for row in rows for unit in units if unit in row["units"]]
    stated = [u for u in stated if u["value"] is not None and u["ncu"] is not None]
    return sum(u["low"] - ROUNDING_PCT <= u["ncu"] <= u["high"] + ROUNDING_PCT for u in stated), len(stated)


def error(rows, unit):
    """Time-weighted, in points, where both sides know; and the share of the rows' time where they do."""
    known = [(row["units"][unit], row["total_ns"]) for row in rows if unit in row["units"]]
    pairs = [(abs(u["value"] - u["ncu"]), ns) for u, ns in known if u["value"] is not None and u["ncu"] is not None]
    total = sum(row["total_ns"] for row in rows)
    return {"points": mean(pairs), "of_time": sum(ns for _, ns in pairs) / total if total else 0}


def same_work(ours, measured):
    """
    Signatures whose launches, compared with those of the others, are about as many on both sides. A library that picks its kernels by
    trial (cuDNN's benchmark mode) takes others under ncu: one name and grid are different layers then.
    """
    ratio = {s: m["launches"] / ours[s]["launches"] for s, m in measured.items() if m["launches"] and ours[s]["launches"]}
    middle = statistics.median(ratio.values()) if ratio else 0
    # of a few launches one may be missing
    return {s: m for s, m in measured.items() if s in ratio and
            (m["launches"] + 1) / ours[s]["launches"] >= middle / FEWER_MOST and (m["launches"] - 1) / ours[s]["launches"] <= FEWER_MOST * middle}


def range_excess(ours, measured):
    """
    What ncu's range of a launch is longer than the kernel, in ns: 0.9 us on an H200, which is 20 % of a kernel of 4 us. The median over
    short kernels, where clocks and caches do not matter as much; 0 where there are not three.
    """
    found = [m["duration_ns"] - ours[s]["mean_ns"] for s, m in measured.items() if ours[s]["mean_ns"] < SHORT_NS]
    return min(max(statistics.median(found), 0.0), EXCESS_MOST_NS) if len(found) >= 3 else 0.0


def without_excess(m, excess):
    """What ncu measured of a signature, per time of the kernel instead of its range."""
    def longer(units, duration):
        factor = duration / max(duration - excess, duration / 4)
        return {unit: min(value * factor, 100) for unit, value in units.items()}

    each = [{**launch, "units": longer(launch["units"], launch["duration"]), "duration": max(launch["duration"] - excess, launch["duration"] / 4)}
            for launch in m["each"]]
    duration = m["duration_ns"]
    return {**m, "units": longer(m["units"], duration), "spread": longer(m["spread"], duration), "each": each,
            "duration_ns": max(duration - excess, duration / 4)}


def compare(ours, measured, blind, sm_count, program):
    """
    The agreement of one workload. ours, blind: Signature -> figures of the runs with and without counters (blind may be None);
    measured: Signature -> ncu's, as from aggregate.
    """
    # a label needs the units that bind most kernels
    measured = {signature: m for signature, m in measured.items() if signature in ours and {"tensor", "fma", "dram", "l2", "l1"} <= m["units"].keys()}
    measured = same_work(ours, measured)
    excess = range_excess(ours, measured)
    measured = {signature: without_excess(m, excess) for signature, m in measured.items()}
    label_all(measured, ours, sm_count, program)
    rows = [row_of(signature, ours[signature], m, blind) for signature, m in measured.items()]
    rows.sort(key=lambda row: -row["total_ns"])
    total = sum(kernel["total_ns"] for kernel in ours.values())
    time = sum(row["total_ns"] for row in rows)
    for row in rows:
        row["share"] = row["total_ns"] / total
    near = [row for row in rows if row["near_threshold"]]
    clear = [row for row in rows if not row["near_threshold"]]
    chosen = [row for row in rows if row["share"] >= 0.01]
    wanted = [kernel for kernel in ours.values() if kernel["total_ns"] >= 0.01 * total]
    result = {
        "ncu_clock_hz": mean([(m["clock_hz"], ours[s]["total_ns"]) for s, m in measured.items() if m["clock_hz"]]),
        "range_excess_ns": excess, "signatures": len(ours), "measured": len(rows), "measured_share": time / total if total else 0,
        "of_one_percent": {"signatures": len(wanted), "measured_enough": sum(r["ncu_launches"] >= LEAST_LAUNCHES for r in chosen)},
        "near_share": sum(row["total_ns"] for row in near) / time if time else None,
        "near_confident_share": mean([(row["ours"]["confidence"] > 0.5, row["total_ns"]) for row in near]),
        "clear": shares(clear, lambda row: row["ours"]["leaf"]), "all": shares(rows, lambda row: row["ours"]["leaf"]),
        "run_duration": shares([{**row, "ncu": row["ncu_with_run_duration"]} for row in rows], lambda row: row["ours"]["leaf"]),
        "blind_clear": None, "blind_all": None,
        "errors": {unit: error(rows, unit) for unit in IN_REPORT},
        "intervals": {unit: contained(rows, [unit]) for unit in IN_REPORT} | {"all": contained(rows, IN_REPORT)},
        "self": {"label": mean([(row["ncu_self_share"], row["total_ns"]) for row in rows if row["ncu_self_share"] is not None]),
                 **{unit: mean([(m["spread"][unit], ours[s]["total_ns"]) for s, m in measured.items() if unit in m["spread"]])
                    for unit in IN_REPORT}},
        "samples": {"median": statistics.median([row["samples"] for row in chosen]) if chosen else None,
                    "least": min((row["samples"] for row in chosen), default=None)},
        "rows": rows,
    }
    if blind is not None:
        result["blind_clear"] = shares(clear, lambda row: (row["blind"] or {}).get("leaf"))
        result["blind_all"] = shares(rows, lambda row: (row["blind"] or {}).get("leaf"))
    return result


def time_ratio(on, off):
    """Kernel time with counters over that without, the launches of the former at the mean durations of both; None without any."""
    both = [(on[s], off[s]) for s in on if s in off and on[s]["mean_ns"] and off[s]["mean_ns"]]
    without = sum(a["launches"] * b["mean_ns"] for a, b in both)
    return sum(a["total_ns"] for a, _ in both) / without if without else None


# --- over all workloads ------------------------------------------------------------------------------------------------------------

def over_all(workloads):
    """Means over workloads, each with the same weight, of those that have the figure; intervals are counted."""
    def average(get):
        values = [value for value in (get(w) for w in workloads) if value is not None]
        return sum(values) / len(values) if values else None

    def three(key):
        return {part: average(lambda w: (w["agreement"][key] or {}).get(part)) for part in ("same", "unknown", "wrong")}

    intervals = {unit: tuple(sum(w["agreement"]["intervals"][unit][i] for w in workloads) for i in (0, 1)) for unit in (*IN_REPORT, "all")}
    return {
        "workloads": len(workloads), "clear": three("clear"), "all": three("all"), "run_duration": three("run_duration"),
        "blind_clear": three("blind_clear"), "blind_all": three("blind_all"), "intervals": intervals,
        "errors": {unit: average(lambda w: w["agreement"]["errors"][unit]["points"]) for unit in IN_REPORT},
        "near_share": average(lambda w: w["agreement"]["near_share"]),
        "near_confident_share": average(lambda w: w["agreement"]["near_confident_share"]),
        "measured_share": average(lambda w: w["agreement"]["measured_share"]),
        "self": {key: average(lambda w: w["agreement"]["self"][key]) for key in ("label", *IN_REPORT)},
        "gpu_time_ratio": average(lambda w: w["gpu_time"]["median"]),
        # short runs are allowed a second of CPU time
        "cpu_share": max((w["counters"]["cpu_share"] for w in workloads if w["counters"].get("cpu_share") is not None
                          and w["counters"]["traced_ns"] >= 10e9), default=None),
    }
