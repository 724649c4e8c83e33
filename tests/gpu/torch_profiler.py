#!/usr/bin/env python3
"""PyTorch's own profiler inside a traced program: the same kernels in its tables as without us, over three sessions, whichever
came first, and all kernels in our trace. Needs a GPU and PyTorch; ends within three minutes.

    tests/gpu/torch_profiler.py [--shim PATH] [--boundshim PATH]

Prints PASS or FAIL for each promise. Exit status 0: none failed; 77: no GPU or no PyTorch."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SESSIONS, STEPS = 3, 20
failed = 0


def check(what, held, words=""):
    global failed
    failed += not held
    print(f"{'PASS' if held else 'FAIL'} {what}" + (f": {words}" if words else ""), flush=True)


# --- the program ---------------------------------------------------------------------------------------------------------------

def child(early):
    """Sessions of the profiler around training steps, and steps outside of them. Prints what each session's table has."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    def steps(n):
        for _ in range(n):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
        torch.cuda.synchronize()

    def session():
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            steps(STEPS)
        table = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA and not e.is_user_annotation]
        names = {}
        for event in table:
            names.setdefault(event.name, []).append(event.time_range.elapsed_us())
        return {name: [len(times), sum(times) / len(times)] for name, times in sorted(names.items())}

    if early:  # before the first call into CUDA
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
            torch.zeros(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(64, 512, device="cuda")
    steps(STEPS)
    results = []
    for _ in range(SESSIONS):
        results.append(session())
        steps(STEPS)
    print(json.dumps(results))


# --- the comparison ------------------------------------------------------------------------------------------------------------

def run(early, env):
    words = [sys.executable, __file__, "--child", *(["--early"] if early else [])]
    done = subprocess.run(words, env=dict(os.environ, **env), capture_output=True, text=True, timeout=80, check=False)
    if done.returncode:
        print(done.stderr[-1500:])
        return None
    return json.loads(done.stdout.splitlines()[-1])


def compare(early, shim, boundshim):
    order = "profiler first" if early else "CUDA first"
    alone = run(early, {})
    with tempfile.TemporaryDirectory() as folder:
        ours = run(early, {"LD_PRELOAD": str(shim), "BOUNDSHIM_OUT": folder})
        check(f"{order}: both runs end well", alone is not None and ours is not None)
        if not alone or not ours:
            return
        for i, (a, b) in enumerate(zip(alone, ours)):
            counts = [{name: n for name, (n, _) in session.items()} for session in (a, b)]
            check(f"{order}, session {i + 1}: the same kernels and counts in its table", counts[0] == counts[1] and bool(a),
                  f"{sum(counts[0].values())} and {sum(counts[1].values())} events")
        report = subprocess.run([boundshim, "report", "--format", "json", folder], capture_output=True, text=True, timeout=60, check=False)
        process = json.loads(report.stdout)["processes"][0]
        coverage, steps = process["coverage"], STEPS * (1 + 2 * SESSIONS)
        each = sum(n for name, (n, _) in ours[-1].items() if not name.startswith("Mem")) / STEPS
        check(f"{order}: all kernels are in our trace, explained", coverage["kernels"] == coverage["kernels_explained"] >= each * steps,
              f"{coverage['kernels']}, {coverage['kernels_explained']} explained, {each:g} a step in its table; dropped {coverage['dropped']}")
        # durations of one kernel in its last session and, over the whole run and both clocks, in our trace
        kernels = {k["name"]: k for k in process["devices"][0]["kernels"]}
        both = [(name, us, kernels[name]["mean_ns"] / 1e3) for name, (n, us) in ours[-1].items() if name in kernels and n >= STEPS and us > 3]
        for name, theirs, mine in both[:3]:
            check(f"{order}: {name[:60]}: as long by both", abs(theirs - mine) < 0.1 * mine, f"{theirs:.2f} and {mine:.2f} us")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    built = [ROOT / "build", ROOT / "build/portable"]
    parser.add_argument("--shim", default=next((b / "libboundshim.so" for b in built if (b / "libboundshim.so").exists()), None))
    parser.add_argument("--boundshim", default=next((b / "boundshim" for b in built if (b / "boundshim").exists()), None))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--early", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.early)
        return
    probe = subprocess.run([sys.executable, "-c", "import torch; torch.zeros(1).cuda()"], capture_output=True, timeout=120, check=False)
    if probe.returncode:
        print("no GPU or no PyTorch here")
        sys.exit(77)
    for early in (False, True):
        compare(early, given.shim, given.boundshim)
    print(f"{failed} failed")
    sys.exit(1 if failed else 0)


main()
