#!/usr/bin/env python3
"""The device's time by NVTX range, of a training loop on the simulated CUDA with its virtual clock: each range has the kernels that
were launched in it and the gaps before them, what autograd's thread launches belongs to none, and all sums to the window."""
import json
import pathlib
import subprocess

from lib import BUILD, ROOT, SIM, check, equal, folder, main, need, need_sim, run, skip

need_sim()
need("gcc")
INCLUDES = [p for p in (pathlib.Path("/usr/local/cuda/include"), ROOT / "build/cuda/include") if (p / "nvtx3/nvToolsExt.h").exists()]
if not INCLUDES:
    skip("nvtx3/nvToolsExt.h is not installed")
ROUNDS = 60
US = 1000
BUSY = {"layer_a": 20, "layer_b": 30, "loss": 10, "backward": 40, "optimizer": 100, "log": 5}
SCRIPT = "\n".join(f"kernel {name}* duration={us}us per_block=0" for name, us in BUSY.items()) + "\n"


def build():
    program = folder("ranges") / "nvtx_training"
    apps = ROOT / "tests/apps"
    subprocess.run(["gcc", "-O1", "-o", program, ROOT / "tests/e2e/nvtx_training.c", apps / "app.c", f"-I{apps}", f"-I{ROOT}/tests/sim",
                    *(f"-isystem{i}" for i in INCLUDES), SIM / "libcudart.so.13", f"-Wl,-rpath,{SIM}", "-ldl", "-pthread", "-lm"],
                   check=True)
    return str(program)


def report(trace, *options):
    done = subprocess.run([BUILD / "boundshim", "report", *options, trace], capture_output=True, text=True, timeout=60)
    equal(done.returncode, 0, f"exit status of report ({done.stderr})")
    return done.stdout


RESULT = run(build(), script=SCRIPT, virtual=True)
equal((RESULT.status, RESULT.out), (0, "nvtx_training: done\n"), "the program")
TRACE = RESULT.traces[0]
DEVICE = json.loads(report(TRACE, "--format", "json"))["processes"][0]["devices"][0]
RANGES = DEVICE["ranges"]


def paths():
    """{("step", "forward"): its row}"""
    rows, path = {}, []
    for row in RANGES["tree"]:
        name = f"{row['domain']}:{row['name']}" if row["domain"] else row["name"]
        path[row["depth"]:] = [name]
        rows[tuple(path)] = row
    return rows


ROWS = paths()
LAYER, FORWARD, ADAM = ("step", "forward", "layer"), ("step", "forward"), ("step", "optim:Adam.step")


def ranges_nest_as_the_program_said():
    equal(set(ROWS), {("step",), ("step", "data"), FORWARD, LAYER, ("step", "backward"), ADAM}, "paths")
    counts = {path[-1]: (row["opened"], row["whole"]["count"]) for path, row in ROWS.items()}
    equal(counts, {"step": (ROUNDS, ROUNDS), "data": (ROUNDS, 0), "forward": (ROUNDS, ROUNDS), "layer": (2 * ROUNDS, 2 * ROUNDS),
                   "backward": (ROUNDS, 0), "optim:Adam.step": (ROUNDS, ROUNDS)}, "opened, with work of the device")


def kernels_count_where_they_were_launched():
    whole = {path: row["whole"]["self_leaves"] for path, row in ROWS.items()}
    equal(whole[LAYER]["underfilled"], ROUNDS * 2 * (BUSY["layer_a"] + BUSY["layer_b"]) * US, "layers")
    equal(whole[FORWARD]["underfilled"], ROUNDS * BUSY["loss"] * US, "forward, itself")
    equal(whole[ADAM]["unknown"], ROUNDS * BUSY["optimizer"] * US, "optimizer")
    alone = RANGES["threads_without"]["whole"]
    equal(alone["self_leaves"]["underfilled"], ROUNDS * 3 * BUSY["backward"] * US, "backward, of a thread without ranges")
    outside = RANGES["outside"]["whole"]["self_leaves"]["underfilled"] - alone["self_leaves"]["underfilled"]
    equal(outside, ROUNDS * BUSY["log"] * US, "outside of all ranges, on the thread that has some")


def a_gap_goes_to_the_range_of_the_launch_that_came_late():
    """300 us of data loading and 5 us in the layer end with the first kernel of the layer; what the wait before them destroyed is
    sync, and the wait itself returns 2 us after the device was done."""
    leaves = ROWS[LAYER]["whole"]["self_leaves"]
    idle = (leaves["host"] + leaves["sync"]) / ROUNDS / US
    check(abs(idle - 307) < 3, f"host and sync time of layers, each step: {idle} us")
    for path in (("step", "data"), ("step", "backward")):
        equal(ROWS[path]["whole"]["total_ns"], 0, f"time of {path}")


def leaves_of_all_ranges_sum_to_the_window():
    for which in ("whole", "steady"):
        rows = [row[which] for row in RANGES["tree"]] + [RANGES["outside"][which]]
        for leaf, ns in DEVICE[which]["leaves"].items():
            equal(sum(row["self_leaves"][leaf] for row in rows), ns, f"{which}: {leaf}")
        top = [row[which] for row in RANGES["tree"] if row["depth"] == 0] + [RANGES["outside"][which]]
        equal(sum(row["total_ns"] for row in top), DEVICE[which]["window_ns"], f"{which}: totals")
        for row in rows:
            equal(sum(row["pillars"].values()), row["total_ns"], f"{which}: pillars")


def totals_hold_what_is_inside():
    for path, row in ROWS.items():
        inside = [r for p, r in ROWS.items() if p[:-1] == path]
        equal(row["whole"]["total_ns"], row["whole"]["self_ns"] + sum(r["whole"]["total_ns"] for r in inside), f"total of {path}")


def the_text_has_the_tree():
    text = report(TRACE)
    block = text[text.index("\nRanges (NVTX)"):].split("\n\n")[0]
    check("  step" in block and "  forward" in block and "    layer" in block and "  optim:Adam.step" in block, block)
    check("threads that never opened one" in block, block)
    check("data" not in block, "a range without time is shown:", block)
    short = report(TRACE, "--top", "2")
    check("and 2 more (--top 4)" in short[short.index("\nRanges (NVTX)"):].split("\n\n")[0], short)
    return block


main(ranges_nest_as_the_program_said, kernels_count_where_they_were_launched, a_gap_goes_to_the_range_of_the_launch_that_came_late,
     leaves_of_all_ranges_sum_to_the_window, totals_hold_what_is_inside, the_text_has_the_tree)
