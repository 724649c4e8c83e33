#!/usr/bin/env python3
"""Two GPUs: one process for each under torchrun with NCCL, and both in one process.

    tests/gpu/two_gpus.py [--seconds S] [FOLDER]

Needs two GPUs and PyTorch. Prints PASS or FAIL for each promise: the same output as without us, a trace for each rank with every kernel
explained, collectives labelled communication, and the time that the ranks wait for a deliberately slow one told from the time that
data moves. FOLDER (else $OUT, else build/gpu-two) receives log.txt, two_gpus.json and the reports. Ends within S seconds (300).
Exit status 0: none failed; 1: one did; 77: fewer than two GPUs, or no PyTorch. NVLink multicast stays off (NCCL_NVLS_ENABLE=0)."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import frameworks as f

SLEEP_MS, STEPS, RANKS = 20, 60, 2


def torchrun(slow):
    port = 29500 + (os.getpid() + slow) % 400
    return [f.PYTHON, "-m", "torch.distributed.run", f"--nproc_per_node={RANKS}", "--master_addr=127.0.0.1", f"--master_port={port}",
            f.DOORS / "ranks.py", slow, SLEEP_MS]


def report_of(folder):
    status, out, err = f.execute([f.options.boundshim, "report", "--format", "json", folder], 60)
    text = f.execute([f.options.boundshim, "report", folder], 60)[1]
    (f.out / f"{folder.name}.txt").write_text(text)
    f.say("\n".join(text.splitlines()[:18]))
    return json.loads(out) if status == 0 else f.say(err)


def check_ranks(row, folder, traced):
    """What the report says of the two: (report, mean us of a collective by rank)."""
    row.check("one trace for each rank", sorted(t.meta.get("run.rank", "?") for t in traced.with_kernels) == ["0", "1"],
              f"{[t.meta.get('run.rank') for t in traced.with_kernels]}")
    f.sound(row, traced, RANKS)
    report = report_of(folder)
    for process in report["processes"]:
        if not process["coverage"]["kernels"]:
            continue
        device, rank = process["devices"][0], process["run"]["rank"]
        nccl = [k for k in device["kernels"] if "nccl" in k["name"]]
        row.check(f"rank {rank}: collectives are communication", nccl and all(k["leaf"] == "communication" for k in nccl),
                  ", ".join(f"{k['short_name']} {k['launches']}: {k['leaf']}" for k in nccl))
        leaves = device["steady"]["leaves"]
        row.check(f"rank {rank}: leaves sum to the window", sum(leaves.values()) == device["steady"]["window_ns"])
        row.note(f"rank {rank}: communication {100 * leaves['communication'] / device['steady']['window_ns']:.0f} % of {STEPS} steps")
    return report["collectives"]


def of_each(collectives, key):
    return {rank["rank"]: rank[key] / collectives["count"] / 1000 for rank in collectives["ranks"]}


def training(row):
    transfers = {}
    for name, slow in (("balanced", -1), ("slow rank 1", 1), ("slow rank 0", 0)):
        alone = f.run_alone(row, torchrun(slow), 120)
        folder = f.folder_of(row, name)
        traced, out = f.run_traced(row, torchrun(slow), 120, folder=folder)
        f.same_output(row, alone, out)
        row.truth = row.seen = (row.seen or 0) + sum(traced.kernels.values())
        row.by = "both ranks"
        collectives = check_ranks(row, folder, traced)
        if not row.check(f"{name}: the ranks' collectives are matched", collectives and collectives["count"], str(collectives)[:300]):
            continue
        waiting, transfer = of_each(collectives, "waiting_ns"), of_each(collectives, "transfer_ns")
        words = f"{collectives['count']} collectives, waiting {waiting}, transfer {transfer} us each"
        transfers[name] = transfer["0"]
        if slow < 0:
            row.note(f"{name}: {words}")
            continue
        fast, late = str(1 - slow), str(slow)
        row.check(f"{name}: it is named", (collectives["slowest"] or {}).get("rank") == late, words)
        # each step has several collectives, of which the first is waited in
        step = waiting[fast] * collectives["count"] / (STEPS - 2) / 1000
        row.check(f"{name}: the other waits about {SLEEP_MS} ms a step for it", 0.6 * SLEEP_MS < step < 1.6 * SLEEP_MS, f"{step:.1f} ms")
        row.check(f"{name}: transfer is as long as without a slow rank", transfer["0"] < 3 * transfers.get("balanced", 0) + 50,
                  f"{transfer['0']:.0f} us, balanced {transfers.get('balanced', 0):.0f} us")


def one_process(row):
    counted = f.folder_of(row, "count") / "kineto.json"
    command = [f.PYTHON, f.DOORS / "two_devices.py"]
    alone = f.run_alone(row, command)
    f.run_alone(row, command, DOOR_COUNT=counted)
    traced, out = f.run_traced(row, command)
    f.same_output(row, alone, out)
    f.compare(row, "torch.profiler", f.kineto(counted), traced.kernels)
    f.sound(row, traced)
    devices = {r["device"] for t in traced.traces for r in t["run"]}
    row.check("both devices are told apart", devices == {0, 1}, f"{devices}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=os.environ.get("OUT") or f.ROOT / "build/gpu-two")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--counters", default="off")
    parser.add_argument("--shim", default=f.first_built("libboundshim.so"))
    parser.add_argument("--boundshim", default=f.first_built("boundshim"))
    f.options = parser.parse_args()
    f.options.more = {}
    smi = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60, check=False) if shutil.which("nvidia-smi") else None
    count = len(smi.stdout.strip().splitlines()) if smi and smi.returncode == 0 else 0
    if count < RANKS:
        print(f"{count} GPUs here, two are needed")
        sys.exit(77)
    if subprocess.run([f.PYTHON, "-c", "import torch"], capture_output=True, timeout=200, check=False).returncode:
        print("no PyTorch here")
        sys.exit(77)
    f.options.shim, f.options.boundshim = pathlib.Path(f.options.shim).resolve(), pathlib.Path(f.options.boundshim).resolve()
    f.out = pathlib.Path(f.options.folder).resolve()
    f.out.mkdir(parents=True, exist_ok=True)
    f.work = f.ROOT / "build/gpu-two-work"
    f.work.mkdir(parents=True, exist_ok=True)
    f.log = open(f.out / "log.txt", "a", encoding="utf-8")
    found = {line.split()[0]: line.split()[1] for line in f.execute([f.PYTHON, "-c", f.VERSIONS], 60)[1].splitlines()}
    for name, function in (("NCCL training, two ranks", training), ("two GPUs in a process", one_process)):
        f.run_row((name, f.version_of(found, "torch", "nvidia-nccl-cu13"), function))
    failed = [c for r in f.results for c in r["checks"] if not c["held"]]
    (f.out / "two_gpus.json").write_text(json.dumps({"rows": f.results}, indent=1) + "\n")
    f.say(f.table())
    f.say(f"{time.monotonic() - f.BEGAN:.0f} s, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
