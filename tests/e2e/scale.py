#!/usr/bin/env python3
"""Runs at several sizes on the simulated CUDA whose times follow a known law: `boundshim diff --scale` finds how much work each did
and how time grows with it, as a whole and kernel by kernel. All on the virtual clock, so that the truth is exact."""
import json
import math
import subprocess

from lib import BUILD, check, equal, main, need_sim, run

need_sim("launch_loop")

GRIDS = (132, 264, 528, 1056)  # 1, 2, 4 and 8 times the work


def record(script, grid=132, wait=0, **options):
    options = {"steps": 150, "kernels": 2, "work": 1, "sync": 1, "wait": wait, "grid": grid, "h2d": grid * 100, **options}
    result = run("launch_loop", *(f"{key}={value}" for key, value in options.items()), virtual=True, script=script)
    equal(result.status, 0, "exit status of the program")
    return str(result.traces[0])


def command(*arguments):
    return subprocess.run([BUILD / "boundshim", "diff", "--scale", *map(str, arguments)], capture_output=True, text=True,
                          timeout=60)


def scale(*arguments):
    done = command("--format", "json", *arguments)
    equal(done.returncode, 0, f"exit status ({done.stderr})")
    report = json.loads(done.stdout)
    equal((report["schema"], report["per"]), ("boundshim.scale/1", "step"), "schema and unit")
    return report


def near(got, wanted, tolerance, what):
    check(abs(got - wanted) <= tolerance, f"{what}: got {got}, expected {wanted} +- {tolerance}")


def works(report):
    return [round(r["work"], 2) for r in report["runs"]]


# half a millisecond of Python for a few microseconds of kernels
OVERHEAD = [record("kernel * duration=2us per_block=0.01\n", grid, wait=500) for grid in GRIDS]
# 132 us of each kernel at the smallest size, in proportion to its blocks
FULL = [record("kernel * duration=0us per_block=1000\n", grid) for grid in GRIDS]


def overhead_does_not_grow():
    report = scale(*OVERHEAD)
    equal(works(report), [1, 2, 4, 8], "work")
    equal((report["work"]["source"], report["work"]["agrees"], report["work"]["confidence"]), ("grids", "copies", "high"), "source")
    near(report["whole"]["elasticity"]["value"], 0, 0.05, "elasticity")
    equal((report["whole"]["growth"], report["whole"]["regime_by_growth"]), ("none", "overhead"), "growth")
    equal({r["verdict"]["regime"] for r in report["runs"]}, {"overhead"}, "regimes of the traces")
    text = command(*OVERHEAD).stdout
    check(text.startswith("Time hardly grows with the work") and "overhead binds, as the trace says" in " ".join(text.split()), text)


def a_full_gpu_grows_in_step():
    report = scale(*FULL)
    near(report["whole"]["elasticities"][-1]["value"], 1, 0.03, "elasticity at the largest sizes")
    equal((report["whole"]["growth"], report["whole"]["regime_by_growth"]), ("in step", "compute or memory"), "growth")
    for kernel in report["kernels"]:
        near(kernel["elasticity"]["value"], 1, 0.01, kernel["short_name"])
    check(command(*FULL).stdout.startswith("Time grows in step"), "the answer")


def each_kernel_has_its_own_growth():
    """kernel_0 does not grow, kernel_1 does; the truth of each local elasticity follows from the script."""
    runs = [record("kernel kernel_0 duration=50us per_block=0\nkernel kernel_1 duration=100us per_block=200\n", grid)
            for grid in GRIDS]
    kernels = {kernel["short_name"]: kernel for kernel in scale(*runs)["kernels"]}
    near(kernels["kernel_0"]["elasticity"]["value"], 0, 0.01, "kernel_0")
    equal(kernels["kernel_0"]["growth"], "none", "growth of kernel_0")
    times = [100 + 0.2 * grid for grid in GRIDS]
    for got, (a, b) in zip(kernels["kernel_1"]["elasticities"], zip(times, times[1:])):
        near(got["value"], math.log(b / a) / math.log(2), 0.01, "kernel_1")


def launches_for_each_item_are_host_work_that_grows():
    """Twice the work is twice as many launches: overhead-bound, and yet time grows in step."""
    runs = [record("kernel * duration=2us per_block=0\n", kernels=15 * k, work=20, h2d=1000 * k, sync=0) for k in (1, 2, 4)]
    report = scale(*runs)
    equal(works(report), [1, 2, 4], "work")
    near(report["whole"]["elasticity"]["value"], 1, 0.1, "elasticity")
    check("what the GPU waits for grows too" in " ".join(command(*runs).stdout.split()), command(*runs).stdout)


def the_users_word_counts():
    report = scale("--work", "8,1", FULL[2], FULL[0])
    equal((works(report), report["work"]["source"]), ([1, 8], "given"), "work")
    near(report["whole"]["elasticity"]["value"], math.log(4) / math.log(8), 0.03, "elasticity")
    equal([r["trace"] for r in report["runs"]], [FULL[0], FULL[2]], "order")


def what_tells_nothing_is_said():
    done = command(FULL[0], FULL[0])
    equal(done.returncode, 1, "exit status")
    check("--work 1,2,4" in done.stderr and not done.stdout, done.stderr)
    hooks = run("launch_loop", "steps=20", mode="hooks").traces[0]
    done = command(FULL[0], hooks)
    equal(done.returncode, 1, "exit status")
    check("no kernel times" in done.stderr, done.stderr)


def noise_widens_the_interval():
    """Durations in cycles of 13 and 16 launches, the same at both sizes: the interval of the growth holds 0."""
    cycles = [",".join(f"{40 + 2 * (7 * i % n)}us" for i in range(n)) for n in (13, 16)]
    script = "".join(f"kernel kernel_{k} duration={cycle} per_block=0\n" for k, cycle in enumerate(cycles))
    growth = scale(record(script, 132), record(script.replace("40us", "42us"), 264))["whole"]["elasticity"]
    check(growth["high"] - growth["low"] > 0.005, growth)
    check(growth["low"] < 0.05 and growth["high"] > 0, growth)


main(overhead_does_not_grow, a_full_gpu_grows_in_step, each_kernel_has_its_own_growth,
     launches_for_each_item_are_host_work_that_grows, the_users_word_counts, what_tells_nothing_is_said,
     noise_widens_the_interval)
