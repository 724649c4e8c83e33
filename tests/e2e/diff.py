#!/usr/bin/env python3
"""Pairs of runs on the simulated CUDA that differ in one known thing: `boundshim diff` names that thing, with its size, and
nothing else. All on the virtual clock, so that the truth is exact."""
import json
import random
import subprocess

from lib import BUILD, check, equal, main, need_sim, run

need_sim("launch_loop")

LOOP = {"steps": 200, "kernels": 3, "work": 2, "sync": 1, "wait": 100}
DURATIONS = {"kernel_0": "20us", "kernel_1": "30us", "kernel_2": "40us"}
US = 1000


def script_of(durations):
    return "".join(f"kernel {name} duration={duration} per_block=0\n" for name, duration in durations.items())


def record(durations=None, mode=None, **options):
    options = {**LOOP, **options}
    result = run("launch_loop", *(f"{key}={value}" for key, value in options.items()), mode=mode, virtual=True,
                 script=script_of({**DURATIONS, **(durations or {})}))
    equal(result.status, 0, "exit status of the program")
    return str(result.traces[0])


BASE = record()


def command(*arguments):
    return subprocess.run([BUILD / "boundshim", "diff", *map(str, arguments)], capture_output=True, text=True, timeout=60)


def diff(a, b):
    """The first pair of the comparison, whose leaves add up."""
    done = command("--format", "json", a, b)
    equal(done.returncode, 0, f"exit status ({done.stderr})")
    report = json.loads(done.stdout)
    equal(report["schema"], "boundshim.diff/1", "schema")
    pair = report["pairs"][0]
    for side in ("a_ns", "b_ns", "change_ns"):
        equal(sum(leaf[side] for leaf in pair["leaves"].values()), pair["mean"][side], f"sum of the leaves' {side}")
    return pair


def near(got, wanted, tolerance, what):
    check(abs(got - wanted) <= tolerance, f"{what}: got {got}, expected {wanted} +- {tolerance}")


def changed(pair):
    return {k["short_name"]: k for k in pair["kernels"]
            if k["match"] != "same" or k["pace"] != "same" or k["launches_changed"] or k["regime_changed"]}


def only_leaves(pair, **wanted):
    """No leaf but these changed by more than 2 us a step."""
    for name, leaf in pair["leaves"].items():
        near(leaf["change_ns"], wanted.get(name, 0), 2 * US, f"change of {name}")


def the_same_again_is_no_change():
    pair = diff(BASE, record())
    equal((pair["per"], pair["time"]["significant"], changed(pair)), ("step", False, {}), "comparison of equals")
    only_leaves(pair)
    check(command(BASE, record()).stdout.startswith("No change"), "the answer")


def the_length_of_the_run_is_no_change():
    pair = diff(BASE, record(steps=450))
    equal((pair["time"]["significant"], changed(pair)), (False, {}), "comparison of a longer run")


def a_slower_kernel_is_named():
    pair = diff(BASE, record({"kernel_1": "45us"}))
    equal(list(changed(pair)), ["kernel_1"], "kernels that changed")
    kernel = pair["kernels"][0]
    equal((kernel["short_name"], kernel["match"], kernel["pace"]), ("kernel_1", "same", "slower"), "first kernel")
    near(kernel["b"]["mean_ns"] / kernel["a"]["mean_ns"], 1.5, 0.001, "factor")
    near(kernel["change_ns"], 15 * US, 200, "change a step")
    near(pair["time"]["change_ns"]["value"], 15 * US, 500, "change of the step")
    equal(pair["time"]["significant"], True, "significant")
    text = command(BASE, record({"kernel_1": "45us"})).stdout
    check("1.50x slower" in text and text.startswith("B is 1.0"), text)


def a_faster_kernel_is_named():
    pair = diff(BASE, record({"kernel_2": "10us"}))
    equal(list(changed(pair)), ["kernel_2"], "kernels that changed")
    equal(pair["kernels"][0]["pace"], "faster", "pace")
    near(pair["time"]["change_ns"]["value"], -30 * US, 500, "change of the step")


def added_host_time_lands_in_host():
    pair = diff(BASE, record(wait=160))
    only_leaves(pair, host=60 * US)
    equal((pair["time"]["significant"], changed(pair)), (True, {}), "comparison")
    check("mostly host +60" in command(BASE, record(wait=160)).stdout, "the cause")


def time_in_allocations_lands_in_alloc():
    """A synchronous malloc and free in each step, before its launches."""
    pair = diff(BASE, record(alloc=65536))
    biggest = max(pair["leaves"], key=lambda name: pair["leaves"][name]["change_ns"])
    equal(biggest, "alloc", "leaf with the largest change")


def kernels_appear_and_go():
    pair, back = diff(BASE, record(kernels=4)), diff(record(kernels=4), BASE)
    equal({name: k["match"] for name, k in changed(pair).items()}, {"kernel_3": "appeared"}, "kernels")
    equal({name: k["match"] for name, k in changed(back).items()}, {"kernel_3": "went"}, "kernels")
    equal(pair["kernels"][0]["a"], None, "the side that lacks it")


def another_grid_is_another_shape_of_the_same_kernels():
    pair = diff(BASE, record(grid=264))
    equal({name: k["match"] for name, k in changed(pair).items()}, dict.fromkeys(DURATIONS, "reshaped"), "kernels")
    equal({k["pace"] for k in pair["kernels"]}, {"same"}, "paces")


def noise_is_within_noise():
    """The durations of each kernel are the same in all runs and come in another order: neither step nor kernel changed."""
    def noisy(seed, slower=0):
        draw = random.Random(seed)
        # cycles of 13, 15 and 16 launches: no step is as another
        cycles = {name: [40 + slower * (count == 16) + 2 * (i - count // 2) for i in range(count)]
                  for name, count in zip(DURATIONS, (13, 15, 16))}
        return record({name: ",".join(f"{us}us" for us in draw.sample(cycle, len(cycle))) for name, cycle in cycles.items()})
    runs = [noisy(seed) for seed in range(6)]
    for a, b in zip(runs, runs[1:]):
        pair = diff(a, b)
        check(pair["time"]["change_ns"]["high"] - pair["time"]["change_ns"]["low"] > 2 * US, "the runs have no spread")
        equal((pair["time"]["significant"], changed(pair)), (False, {}), "two runs that differ by noise")
    pair = diff(runs[0], noisy(7, slower=10))
    equal((pair["time"]["significant"], list(changed(pair))), (True, ["kernel_2"]), "10 us more in the same noise")


def a_gate_has_its_exit_status():
    slower = record({"kernel_1": "45us"})
    for expression, status in (("step_ms>+5%", 3), ("step_ms>+20%", 0), ("step_ms>+0.01", 3), ("step_ms>+0.02", 0),
                               ("kernel_ms>+10%", 3), ("host_ms>+5%", 0), ("step_ms>", 2), ("speed>1", 2)):
        equal(command("--fail-if", expression, BASE, slower).returncode, status, expression)
    equal(command("--fail-if", "step_ms>+0%", BASE, BASE).returncode, 0, "against itself")


def devices_are_compared_one_by_one():
    def two(**options):
        result = run("launch_loop", "steps=100", "kernels=2", "sync=1", "threads=2", "devices=2", virtual=True,
                     script="devices 2\nkernel * duration=20us per_block=0\n", **options)
        return str(result.traces[0])
    done = command("--format", "json", two(), two())
    pairs = json.loads(done.stdout)["pairs"]
    equal([pair["a"]["device"] for pair in pairs], [0, 1], "devices of the pairs")
    text = command(two(), two()).stdout
    check(text.startswith("2 pairs of processes and devices"), text)
    alone = json.loads(command("--format", "json", two(), BASE).stdout)["alone"]
    equal(alone, {"a": 1, "b": 0}, "without a partner")


def what_has_no_device_times_is_not_compared():
    done = command(BASE, record(mode="hooks"))
    equal(done.returncode, 1, "exit status")
    check("nothing that can be compared" in done.stderr, done.stderr)
    check("B has no device times" in done.stdout, done.stdout)


main(the_same_again_is_no_change, the_length_of_the_run_is_no_change, a_slower_kernel_is_named, a_faster_kernel_is_named,
     added_host_time_lands_in_host, time_in_allocations_lands_in_alloc, kernels_appear_and_go,
     another_grid_is_another_shape_of_the_same_kernels, noise_is_within_noise, a_gate_has_its_exit_status,
     devices_are_compared_one_by_one, what_has_no_device_times_is_not_compared)
