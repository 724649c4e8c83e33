#!/usr/bin/env python3
"""Writes samples/GUIDE.md and its picture, samples/guide-roofline.svg, from results.json of `tests/gpu/guide --recorded`. No figure in them
comes from anywhere else; the words on each claim are those of samples/workloads/guide.json.

    samples/guide.py [build/guide/results.json]"""
import json
import math
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = json.loads((ROOT / "samples/workloads/guide.json").read_text())
RUNS = {run["name"]: run for run in TABLE["runs"] + TABLE["recorded"]}
GPUS = ["v100", "a100", "l40s", "h100", "h200", "b200"]
LEAVES_SHOWN = 4
CHAIN_SIZE = 1 << 26  # numbers of intensity.py
PIPES = {"fp32": "fp32", "tf32": "tensor_tf32", "bf16": "tensor_bf16", "fp8": "tensor_fp8"}


# --- numbers -------------------------------------------------------------------------------------------------------------------

def scaled(value, units):
    if value is None:
        return ""
    factor, unit = next(((f, u) for f, u in units if abs(value) >= f), units[-1])
    value /= factor
    return f"{value:.3g} {unit}" if abs(value) < 100 else f"{value:,.0f} {unit}"


def time(ns):
    return scaled(ns, [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")])


def rate(bytes_per_s):
    return scaled(bytes_per_s, [(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s")])


def flops(per_s):
    return scaled(per_s, [(1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s")])


def percent(value):
    return "" if value is None else f"{value:.0f} %" if value >= 9.95 else f"{value:.1f} %"


def number(value, digits=3):
    return "" if value is None else f"{value:.{digits}g}" if value < 100 else f"{value:,.0f}"


def speedup(value):
    return f"{value:.2f}x" if value < 10 else f"{value:.0f}x"


def table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


# --- parts of a claim ----------------------------------------------------------------------------------------------------------

def pace(run):
    return run.get("alone_pace_ns") or run.get("pace_ns") or run["step_ns"]


def present(claim):
    """Runs of a claim that were recorded, in the order of the table, with their figures."""
    return [(name, FOUND[name]) for name, run in RUNS.items() if claim in [run.get("claim"), *run.get("also", [])] and name in FOUND]


def command(name):
    """The words of the recording, else of the table, without its length in seconds."""
    recorded = ROOT / "samples/traces" / name / "command"
    words = shlex.split(recorded.read_text() if recorded.exists() else RUNS[name]["command"])
    words = words[: words.index("--seconds")] if "--seconds" in words else words
    return " ".join(words).split("samples/workloads/")[-1]


def leaves(run):
    shown = sorted(run["leaves_pct"].items(), key=lambda item: -item[1])[:LEAVES_SHOWN]
    return ", ".join(f"{leaf} {percent(share)}" for leaf, share in shown if share >= 0.5)


def verdicts(claim):
    rows = [[f"`{command(name)}`", f"**{run['regime']}**", leaves(run), time(pace(run)), percent(run["util_pct"])]
            for name, run in present(claim)]
    return table(["program", "verdict", "of the time", "step", "GPU-Util"], rows)


def leaf_of(kernel):
    return kernel["leaf"] + (f", leans to {kernel['leans']}" if kernel["leans"] else "")


def kernels(name, most=6):
    rows = [[percent(100 * k["share"]), k["leaf"], time(k["mean_ns"]), percent(k["tensor_pct"]), percent(k["dram_pct"]), f"`{k['short_name'][:50]}`"]
            for k in FOUND[name]["kernels"][:most]]
    return f"Kernels of `{command(name)}`:\n\n" + table(["share", "bound by", "mean", "tensor", "DRAM", "kernel"], rows)


def compared(claim):
    rows = []
    for pair in COMPARED:
        if pair["claim"] != claim:
            continue
        p = pair["predicted"]
        rows.append([pair["says"], f"{pair['before']}, {pair['after']}", f"**{speedup(pair['measured'])}**",
                     f"{speedup(p['value'])} ({speedup(p['low'])} to {speedup(p['high'])})" if p else "not advised" if pair.get("advice") else ""])
    return table(["change", "runs", "times as fast", "predicted by the report on the first"], rows) if rows else ""


def named(run, pattern):
    word = re.compile(rf"(?<![0-9A-Za-z]){pattern}(?![0-9A-Za-z])")
    return next((k for k in run["kernels"] if word.search(k["name"]) or word.search(k["short_name"])), None)


def sizes_of(k, sizes, used):
    """The sizes whose products have the kernel's FLOPs: one, or several that share a kernel and a grid, of which it has the mean."""
    left = [size for size in sizes if size not in used]
    groups = [[size] for size in left] + [left[i:j] for i in range(len(left)) for j in range(i + 2, len(left) + 1)]
    return next((g for g in groups if k["flops"] and abs(k["flops"] * len(g) / sum(2 * size**3 for size in g) - 1) < 0.01), None)


def matmul():
    rows = []
    for dtype in PIPES:
        run = FOUND.get(f"gemm_{dtype}")
        found, used = [], []
        for k in run["kernels"] if run else []:
            sizes = sizes_of(k, (256, 512, 1024, 2048, 4096, 8192), used)
            if sizes and k["class"] == "contraction":
                used += sizes
                found.append((sizes, k))
        for sizes, k in sorted(found, key=lambda item: item[0]):
            peak = run["ceilings"][PIPES[dtype]]
            busy = max(k["tensor_pct"] or 0, k["fma_pct"] or 0) if k["share"] > 0.03 and k["evidence"] == "counters" else None
            rows.append([dtype, " and ".join(f"{size:,}" for size in sizes), leaf_of(k), time(k["mean_ns"]), flops(k["flops_per_s"]),
                         percent(100 * k["flops_per_s"] / peak), percent(busy)])
    chain = named(FOUND["intensity"], "chain_512") if "intensity" in FOUND else None
    if chain:
        tensor = FOUND["intensity"]["ceilings"]["tensor_bf16"]
        rows.append(["fp32", "no product: `intensity.py`, k = 512", chain["leaf"], time(chain["mean_ns"]), flops(chain["flops_per_s"]),
                     f"{percent(100 * chain['flops_per_s'] / tensor)} of bf16's", percent(chain["fma_pct"])])
    return table(["type", "size", "bound by", "mean time", "FLOP/s", "of the data sheet", "pipe busy"], rows)


def pointwise():
    run = FOUND["pointwise"]
    peak = run["ceilings"]["dram_read"]
    rows = [[f"`{k['short_name'][:60]}`", leaf_of(k), time(k["mean_ns"]), rate(k["bytes_per_s"]),
             percent(100 * k["bytes_per_s"] / peak) if k["bytes_per_s"] else "", percent(k["fma_pct"]), number(k["intensity"])] for k in run["kernels"][:9]]
    return table(["kernel", "bound by", "mean", "bytes/s", f"of {rate(peak)}", "fma pipe", "FLOP/B"], rows)


def fusion():
    rows = []
    for name in ("fusion_eager", "fusion_compile", "fusion_triton", "fusion_xla"):
        run = FOUND.get(name)
        if not run:
            continue
        k = run["kernels"][0]
        count = 2 if name == "fusion_eager" else 1
        rows.append([f"`{command(name)}`", run["regime"], count, time(k["mean_ns"]), f"{count * (k['bytes'] or 0) / 2**28:.2f} x 256 MiB" if k["bytes"] else "",
                     percent(k["dram_pct"]), percent(k["fma_pct"]), time(pace(run))])
    return table(["program", "verdict", "kernels", "each", "moved in a step", "DRAM", "fma pipe", "step"], rows)


def intensity():
    rows = []
    for k in chains():
        own = 2 * k["k"] * CHAIN_SIZE / k["mean_ns"] * 1e9
        rows.append([k["k"], number(k["intensity"]) if k["intensity"] else "", leaf_of(k), time(k["mean_ns"]), flops(own),
                     flops(k["flops_per_s"]) if k["flops_per_s"] else "", rate(k["bytes_per_s"]), percent(k["dram_pct"]), percent(k["fma_pct"])])
    return "![The sweep on the roofline of an H200](guide-roofline.svg)\n\n" + \
        table(["k", "FLOP/B, measured", "bound by", "time", "FLOP/s by the program's text", "by counters", "bytes/s", "DRAM", "fma pipe"], rows)


def bert():
    words = {"contraction": "matrix products", "normalisation": "normalisation, softmax", "rest": "the rest"}
    rows = []
    for name in ("bert_train_128", "bert_train", "gpt_bf16"):
        for c in FOUND[name]["classes"] if name in FOUND else []:
            if c["launches"] and any(d["known_share"] > 0 for d in FOUND[name]["classes"] if d["class"] != "contraction"):
                rows.append([f"`{command(name)}`", words.get(c["class"], c["class"]), f"{c['launches']:,}", percent(100 * c["time_share"]),
                             "" if c["flops_share"] is None else f"{100 * c['flops_share']:.2g} %" if c["flops_share"] < 0.1 else f"{100 * c['flops_share']:.1f} %",
                             percent(100 * c["known_share"])])
    return table(["program", "class", "launches", "of kernel time", "of FLOPs", "of its time with known FLOPs"], rows)


def paperweight():
    rows = [[f"`{command(name)}`", run["regime"], percent(run["pillars_pct"]["overhead"]), percent(run["leaves_pct"].get("host", 0)),
             percent(run["leaves_pct"].get("launch", 0)), percent(run["leaves_pct"].get("underfilled", 0)), percent(run["pillars_pct"]["compute"]), time(pace(run)),
             f"{time(run['queue_ns'])}, {number(run['queue_ns'] * (run['step_kernels'] or 1) / run['step_ns'], 2)} kernels" if run["queue_ns"] and run["step_ns"] else ""]
            for name, run in sorted(present("paperweight"), key=lambda item: -item[1]["pillars_pct"]["overhead"]) if name != "mlp_train"]
    return table(["program", "verdict", "overhead", "host", "launch", "underfilled", "compute", "step", "run-ahead"], rows)


def batch():
    texts = []
    for sizes in SCALED:
        names = ", ".join(f"`{command(name)}`" for name in sizes["runs"])
        texts.append(f"{names}:\n\n```\n{sizes['text'].split(chr(10) + 'Kernels, all')[0].rstrip()}\n```")
    return "\n\n".join(texts)


def printed(claim, pattern):
    rows = []
    for name, run in present(claim):
        lines = [line for line in run["output"] if re.search(pattern, line) and not line.startswith("without")]
        rows.append([f"`{command(name)}`", run["regime"], "<br>".join(lines), leaves(run)])
    return table(["program", "verdict", "said", "of the time"], rows)


def ridge():
    rows = []
    for name in ("intensity", "gpt_bf16", "pointwise"):
        trace = ROOT / "samples/traces" / name / "trace.bst"
        if not trace.exists():
            continue
        for gpu in GPUS:
            report = json.loads(subprocess.run([ROOT / "build/boundshim", "report", "--format", "json", "--on", gpu, trace], check=True, capture_output=True).stdout)
            on = report["processes"][0]["devices"][0]["on"]
            peaks = {key: measure and measure["value"] for key, measure in on["peaks"].items()}
            ridge_of = lambda pipe: number(peaks[pipe] / peaks["dram_read"]) if peaks[pipe] else "none"  # noqa: E731
            rows.append([name, on["words"], ridge_of("fp32"), ridge_of("tensor_fp16"), ridge_of("tensor_fp8"), percent(100 * on["covered"]), percent(100 * on["moved"]),
                         speedup(on["time"]["value"]) if on["time"] else ""])
    return table(["trace", "on", "ridge fp32, FLOP/B", "tensor fp16", "fp8", "of kernel time predicted", "of that under another roof", "times as long"], rows)


PARTS = {
    "matmul": [lambda: verdicts("matmul"), matmul], "pointwise": [lambda: verdicts("pointwise"), pointwise], "fusion": [fusion, lambda: compared("fusion")], "intensity": [intensity],
    "bert": [bert], "paperweight": [paperweight], "batch": [lambda: compared("batch"), batch],
    "remedies": [lambda: verdicts("remedies"), lambda: compared("remedies")],
    "precision": [lambda: printed("precision", "GiB"), lambda: compared("precision")],
    "input": [lambda: verdicts("input"), lambda: compared("input")],
    "gpu-util": [lambda: printed("gpu-util", "NVML")], "profiler": [lambda: printed("profiler", "operation|aten::"), lambda: kernels("profiler")],
    "runtimes": [lambda: verdicts("runtimes"), lambda: compared("runtimes")], "ridge": [ridge],
}


# --- the picture ---------------------------------------------------------------------------------------------------------------

def chains():
    """Kernels of the intensity sweep by k."""
    found = []
    for k in FOUND.get("intensity", {}).get("kernels", []):
        match = re.search(r"chain_(\d+)", k["name"])
        if match:
            found.append(k | {"k": int(match.group(1))})
    return sorted(found, key=lambda k: k["k"])


def svg():
    """FLOP/s over FLOP/B, both logarithmic: the roofs of the data sheet, and each kernel where it was measured."""
    width, height, left, right, top, bottom = 760, 460, 80, 20, 30, 60
    x0, x1, y0, y1 = -1.2, 3, 11, 15.2
    peaks = FOUND["intensity"]["ceilings"]
    colors = {"dram": "#2b6cb0", "compute": "#c05621"}

    def at(x, y):
        x = left + (math.log10(x) - x0) / (x1 - x0) * (width - left - right)
        return x, height - bottom - (math.log10(y) - y0) / (y1 - y0) * (height - top - bottom)

    def text(x, y, words, anchor="middle", color="#333", size=12):
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}" font-size="{size}">{words}</text>'

    def line(a, b, color="#888", extra=""):
        return f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" stroke="{color}" {extra}/>'

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">', f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for power in range(math.ceil(x0), int(x1) + 1):
        x = at(10**power, 10**y0)
        out += [line(x, at(10**power, 10**y1), "#eee"), text(x[0], x[1] + 18, f"{10.0**power:g}")]
    for power, words in ((11, "100 G"), (12, "1 T"), (13, "10 T"), (14, "100 T"), (15, "1 P")):
        out += [line(at(10**x0, 10**power), at(10**x1, 10**power), "#eee"), text(left - 8, at(1, 10**power)[1] + 4, words, "end")]
    memory = peaks["dram_read"]
    out.append(line(at(10**x0, memory * 10**x0), at(peaks["tensor_bf16"] / memory, peaks["tensor_bf16"]), "#333", 'stroke-width="1.5"'))
    for pipe, words in (("fp32", "fp32 FMA"), ("tensor_bf16", "tensor cores, bf16")):
        corner = (peaks[pipe] / memory, peaks[pipe])
        out += [line(at(*corner), at(10**x1, peaks[pipe]), "#333", 'stroke-width="1.5"'),
                text(at(10**x1, 1e12)[0], at(1, peaks[pipe])[1] - 6, f"{words}: {flops(peaks[pipe])}", "end")]
    out.append(text(at(0.25, 1e12)[0], at(1, memory * 0.13)[1], f"memory: {rate(memory)}", "start"))
    for i, k in enumerate(chains()):
        if not k["intensity"] or not k["flops_per_s"]:
            continue
        x, y = at(k["intensity"], k["flops_per_s"])
        lower = 14 * (i % 2) if k["leaf"] == "compute" else 0
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colors.get(k["leaf"], "#777")}"/>',
                text(x + 8, y + 16 + lower, f"k = {k['k']}", "start", size=11)]
    for i, (words, color) in enumerate((("bound by DRAM", colors["dram"]), ("bound by arithmetic", colors["compute"]))):
        out += [f'<circle cx="{left + 16}" cy="{top + 10 + 18 * i}" r="5" fill="{color}"/>', text(left + 28, top + 14 + 18 * i, words, "start")]
    out += [text((left + width) / 2, height - 16, "FLOP for each byte of DRAM traffic, measured"), f'<text transform="translate(20,{height / 2}) rotate(-90)" '
            f'text-anchor="middle" fill="#333" font-size="12">FLOP/s</text>', "</svg>"]
    return "\n".join(out) + "\n"


# --- the page ------------------------------------------------------------------------------------------------------------------

def section(number_, claim):
    text = {"both": "both texts", "1": "the first text", "2": "the second text"}[claim["text"]]
    parts = [f"## {number_}. {claim['claim']}", f"*{text[0].upper() + text[1:]}.*" + (f" {claim['finding']}" if "finding" in claim else "")]
    parts += [part for part in (make() for make in PARTS.get(claim["id"], [lambda: verdicts(claim["id"])])) if part]
    return "\n\n".join(parts + [f"**What to do.** {claim['do']}"])


def page():
    some = next(run for name, run in FOUND.items() if name in RUNS and "command" in RUNS[name])
    head = f"""# Field guide

Each claim of two texts on what binds deep learning on a GPU, as a program of `samples/workloads/`, its verdict and its figures, measured on one {some['device']}
(CUDA driver {some['driver']}, PyTorch 2.11, 2026-12-01). Text 1 is "Memory-bound vs. compute-bound operations in deep learning", text 2 "Making Deep Learning Go Brrrr: A First-Principles Guide to GPU
Performance". A verdict is what the measurement says, whatever the claim; where they disagree, the list at the end says so.

To see one for yourself, on a machine with an NVIDIA GPU, and without one from the recording:

```
build/boundshim record -o mlp.bst -- python3 samples/workloads/mlp_sweep.py --width 512
build/boundshim report mlp.bst
build/boundshim report samples/traces/mlp_512/trace.bst
```

`tests/gpu/guide` runs them all and checks the verdicts; `samples/guide.py` writes this page from the recorded traces. *Step* is the time of one step, traced, or without the shim where
that was measured too; it is what the program says of its own step. Where a model is nothing but equal layers, and no kernel of its own begins its step, the report's steps may be layers: shares are the same,
times of "a step" are of a layer, and fusing across layers is not advised. *GPU-Util* is the share of time with any kernel or copy, what nvidia-smi would show. *Of the data sheet* and *DRAM* are of hardware peaks, *pipe busy* of cycles
at the clock that ran."""
    sections = [section(i, claim) for i, claim in enumerate(TABLE["claims"], 1)]
    disagreements = [f"- **{claim['claim']}** {claim['disagrees']}" for claim in TABLE["claims"] if "disagrees" in claim]
    tail = ["## Where the texts are loose or wrong", "\n".join(disagreements)] if disagreements else []
    missing = [name for name, run in RUNS.items() if "command" in run and name not in FOUND]
    if missing:
        tail += ["## Not measured yet", "Programs that are there and in the table, and have no recording: " + ", ".join(f"`{command(name)}`" for name in missing) + "."]
    return "\n\n".join([head, *sections, *tail]) + "\n"


RESULTS = json.loads(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/guide/results.json").read_text())
FOUND, COMPARED, SCALED = RESULTS["runs"], RESULTS["compare"], RESULTS["scale"]
(ROOT / "samples/GUIDE.md").write_text(page(), encoding="utf-8")
(ROOT / "samples/guide-roofline.svg").write_text(svg(), encoding="utf-8")
