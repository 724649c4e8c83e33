#!/usr/bin/env python3
"""What tracing costs is taken out: a program is traced for a part of its run, and the step that the report corrects is compared with
the steps of the same run outside that part. Needs a GPU and PyTorch; a program takes a minute and a half, with --parts four.

    tests/gpu/own_cost.py [--shim PATH] [--boundshim PATH] [--only NAME,...] [--parts]

Prints a line for each program: traced, corrected and untraced step, each with what it is off. --parts says what of it costs how much:
hooks alone, with CUPTI, with counters; and in which thread: its CPU time and its waiting for a processor, in us of a step. Exit status 0: all corrected within 3 %; 77: no GPU or no PyTorch."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "samples/whatif"))
PROGRAMS = ("mlp", "graph", "bert")
SWITCH_S, END_S, SETTLE_S = 16, 28, 0.7  # kernels are loaded for up to 6 s on a machine just started
BLOCK_S = 0.25
MOST = 0.03


def used_by_threads():
    """{thread and name: [ns on a processor, ns waiting for one]} of this process."""
    used = {}
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
            used[f"{task.name} {name}"] = [int(n) for n in (task / "schedstat").read_text().split()[:2]]
        except OSError:  # it ended
            pass
    return used


def of_a_step(blocks):
    """{thread: [us on a processor, us waiting for one] a step} over neighbouring blocks: the counts of the first do not belong to them."""
    first, last = blocks[0][3], blocks[-1][3]
    steps = sum(count for _, _, count, _ in blocks[1:])
    used = {thread: [(now - then) / 1e3 / max(steps, 1) for now, then in zip(last[thread], first.get(thread, [0, 0]))] for thread in last}
    return {thread: us for thread, us in used.items() if max(us) >= 1}


def child(name):
    """Steps in blocks until END_S after the first CUDA call. Prints of each block its begin (s after that call), the time of a step, the
    number of steps, and what its threads had used until its end."""
    import torch

    torch.zeros(1, device="cuda")  # from here the recorder counts
    begin = time.perf_counter()
    import pairs

    if name == "mlp":
        step = pairs.training(*pairs.mlp())
    elif name == "graph":
        step = pairs.captured(pairs.training(*pairs.mlp()))
    else:
        step = pairs.training(*pairs.bert(), autocast=True)
    for _ in range(50):
        step()
    count = max(3, int(BLOCK_S * 1e9 / pairs.block_ns(step, 5)))
    blocks = []
    while time.perf_counter() - begin < END_S:
        at = time.perf_counter() - begin
        blocks.append((at, pairs.block_ns(step, count), count, used_by_threads()))
    print(json.dumps(blocks))


def measure(name, given, traced_first, **more):
    """Medians of the blocks traced and untraced, the longest block next to the switch, and the step that the report corrects."""
    window = {"BOUNDSHIM_DURATION_S": str(SWITCH_S)} if traced_first else {"BOUNDSHIM_DELAY_S": str(SWITCH_S)}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, __file__, "--child", name], capture_output=True, text=True, timeout=90, check=False,
                              env=dict(os.environ, LD_PRELOAD=str(given.shim), BOUNDSHIM_OUT=folder, **window, **more))
        if done.returncode:
            raise SystemExit(f"{name}: {done.stderr[-800:]}")
        report = subprocess.run([given.boundshim, "report", "--format", "json", folder], capture_output=True, text=True, timeout=60, check=True)
    blocks = json.loads(done.stdout.splitlines()[-1])
    before = [block for block in blocks if block[0] < SWITCH_S - SETTLE_S]
    after = [block for block in blocks if block[0] > SWITCH_S + SETTLE_S]
    first, last = ([block[1] for block in part] for part in (before, after))
    process = json.loads(report.stdout)["processes"][0]
    devices, coverage = process["devices"], process["coverage"]
    step = devices[0]["steady"]["step"] if devices and devices[0]["steady"] else None
    traced, untraced = (first, last) if traced_first else (last, first)
    if not traced or not untraced:
        raise SystemExit(f"{name}: started too slowly: {len(first)} blocks before and {len(last)} after the switch")
    return {"traced": statistics.median(traced), "untraced": statistics.median(untraced), "blocks": (len(traced), len(untraced)),
            "switch": max(block[1] for block in blocks if abs(block[0] - SWITCH_S) <= 2),
            "threads": [of_a_step(part) for part in ((before, after) if traced_first else (after, before))],
            "all": [[round(block[0], 2), round(block[1] / 1e3, 1)] for block in blocks],
            "own": coverage["hook_ns"] / max(coverage["launches_seen"], 1), "kernels": step["kernels"] if step else 1,
            "period": step["period_ns"] if step else 1, "corrected": step["untraced_ns"] if step else 1}


PARTS = {"hooks alone": {"BOUNDSHIM_MODE": "hooks"}, "and CUPTI": {"BOUNDSHIM_COUNTERS": "off"}, "and counters": {}}


def show_parts(name, given):
    for part, environment in PARTS.items():
        for traced_first in (True, False):
            m = measure(name, given, traced_first, **environment)
            print(f"     {name}, {part}, {'traced, then not' if traced_first else 'not traced, then traced'}: {m['traced'] / m['untraced'] - 1:+.1%}"
                  f" of {m['untraced'] / 1e3:.1f} us, {m['blocks']} blocks; longest next to the switch {m['switch'] / 1e3:.1f} us a step", flush=True)
            traced, untraced = m["threads"]
            for thread in sorted(traced | untraced):
                on, waiting = (" and ".join(f"{part.get(thread, [0, 0])[i]:.1f}" for part in (traced, untraced)) for i in (0, 1))
                print(f"       {thread}: {on} us of a step traced and not, waiting {waiting}")
            print("       " + " ".join(f"{at}:{us}" for at, us in m["all"]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    built = [ROOT / "build", ROOT / "build/portable"]
    parser.add_argument("--shim", default=next((b / "libboundshim.so" for b in built if (b / "libboundshim.so").exists()), None))
    parser.add_argument("--boundshim", default=next((b / "boundshim" for b in built if (b / "boundshim").exists()), None))
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child)
        return 0
    probe = subprocess.run([sys.executable, "-c", "import torch; torch.zeros(1).cuda()"], capture_output=True, timeout=120, check=False)
    if probe.returncode:
        print("no GPU or no PyTorch here")
        return 77
    failed = 0
    for name in given.only.split(","):
        if given.parts:
            show_parts(name, given)
            continue
        errors, costs = [], []
        for traced_first in (True, False):
            m = measure(name, given, traced_first)
            costs.append(m["traced"] / m["untraced"] - 1)
            # Of the blocks, as the report saw them: their step with what the report takes out.
            errors.append(m["traced"] * m["corrected"] / m["period"] / m["untraced"] - 1)
            print(f"     {name} {'traced, then not' if traced_first else 'not traced, then traced'}: {m['blocks']} blocks, traced"
                  f" {m['traced'] / 1e3:.1f} us ({costs[-1]:+.1%}), corrected {errors[-1]:+.1%}, untraced {m['untraced'] / 1e3:.1f} us;"
                  f" the report says {m['period'] / 1e3:.1f}, corrected {m['corrected'] / 1e3:.1f} us; a kernel costs"
                  f" {(m['traced'] - m['untraced']) / m['kernels']:.0f} ns, hooks and callbacks took {m['own']:.0f} ns of it", flush=True)
        error = statistics.mean(errors)
        failed += abs(error) > MOST
        print(f"{'PASS' if abs(error) <= MOST else 'FAIL'} {name}: corrected {error:+.1%} of the untraced step; traced {statistics.mean(costs):+.1%}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
