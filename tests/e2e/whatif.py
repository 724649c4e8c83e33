#!/usr/bin/env python3
"""Programs before and after a change, on the simulated CUDA: what the report predicts from a trace of the first, against how
long the steps of both take without the shim. All on the virtual clock, so that both are exact; of this machine nothing is measured."""
import json
import statistics
import subprocess

from lib import BUILD, check, equal, main, need_sim, run

need_sim("launch_loop")

OPERATIONS = 3000  # of a run, about
# What the analyzer takes CUPTI's activity to cost (idle.c), so that it is there to be taken out.
COST = "cupti_activity_cost 850ns\n"
SHORT, MIDDLE, LONG = (f"kernel * duration={us}us\n" for us in (2, 10, 20))
SIMPLE = "void_at_native_vectorized_elementwise_kernel"
errors = []


def options(changes):
    all_of_them = {"kernels": 20, "work": 5, "sync": 10, **changes}
    return [f"steps={max(150, OPERATIONS // all_of_them['kernels'])}", *(f"{key}={value}" for key, value in all_of_them.items())]


def step_ns(changes, script):
    """The program alone: from the first operation of its steps 50 to 140, by what really happened."""
    result = run("launch_loop", *options(changes), virtual=True, script=script, preload=False)
    equal(result.status, 0, "exit status")
    starts = sorted(op["start"] for op in result.truth().device_ops())
    each = len(starts) // int(options(changes)[0].split("=")[1])
    return (starts[140 * each] - starts[50 * each]) / 90


def device_of(changes, script):
    result = run("launch_loop", *options(changes), virtual=True, script=COST + script)
    equal(result.status, 0, "exit status")
    done = subprocess.run([BUILD / "boundshim", "report", "--format", "json", result.traces[0]], capture_output=True, text=True,
                          timeout=60)
    equal(done.returncode, 0, f"exit status of the report ({done.stderr})")
    return json.loads(done.stdout)["processes"][0]["devices"][0]


def predict(name, change, before, after, script, after_script=None, items=1):
    """The measured speed-up lies in the interval; how far the likeliest value is off goes to `errors`."""
    whatif = device_of(before, script)["whatif"]
    check(whatif["known"], name, "is not simulated:", whatif)
    check(whatif["replay_error"] < 0.02, f"{name}: played unchanged, off by {whatif['replay_error']:.2%}")
    base, now = whatif["untraced_step_ns"], step_ns(before, script)
    check(abs(base / now - 1) < 0.02, f"{name}: a step of {now:.0f} ns without the shim is taken to be {base:.0f} ns")
    found = [c["step_ns"] for c in whatif["changes"] if c["id"] == change]
    equal(len(found), 1, f"{name}: predictions of {change}")
    measured = items * now / step_ns(after, after_script or script)
    low, likely, high = (base / found[0][key] for key in ("high", "value", "low"))
    check(low * 0.995 <= measured <= high * 1.005,
          f"{name}: measured {measured:.3f}x is outside of {low:.3f}x to {high:.3f}x (likely {likely:.3f}x)")
    errors.append(abs(likely / measured - 1))


def cuda_graphs():
    for script in (SHORT, MIDDLE, LONG):
        predict("graph", "cuda-graphs", {"graph": 0}, {"graph": 1}, script)
    predict("graph of many", "cuda-graphs", {"kernels": 60}, {"kernels": 60, "graph": 1}, SHORT)


def no_waits():
    for script in (SHORT, MIDDLE, LONG):
        predict("sync", "no-sync", {"sync": 1}, {"sync": 0, "wait": 0}, script)
    predict("streams", "no-sync", {"sync": 1, "streams": 3, "events": 1}, {"sync": 0, "streams": 3, "events": 1}, LONG)


def pinned_copies():
    for size in (1000000, 4000000, 40000000):
        predict(f"up {size}", "pinned-copies", {"pinned": 0, "h2d": size}, {"pinned": 1, "h2d": size}, LONG)
    predict("down", "pinned-copies", {"pinned": 0, "d2h": 4000000, "sync": 1}, {"pinned": 1, "d2h": 4000000, "sync": 1}, LONG)


def an_item_read_every_step():
    predict("item", "no-sync", {"pinned": 0, "d2h": 4, "sync": 1}, {"sync": 0}, LONG)


def allocations():
    predict("alloc", "no-alloc", {"alloc": 1000000}, {}, SHORT)


def loading_ahead():
    predict("load", "prefetch", {"h2d": 400000, "wait": 700}, {"h2d": 400000, "wait": 90}, SHORT)


def fused_kernels():
    """A chain of one kernel becomes one that reads and writes as much as each of them."""
    for kernels in (2, 3, 4):
        predict("fuse", "fuse", {"kernels": kernels, "name": SIMPLE}, {"kernels": 1, "name": SIMPLE},
                "kernel * duration=60us\n")


def a_fused_optimizer():
    """Eight passes of 10 bytes a parameter become one of 28."""
    predict("optimizer", "fused-optimizer", {"kernels": 8, "name": "multi_tensor_apply_kernel"},
            {"kernels": 1, "name": "FusedAdam"}, "kernel * duration=20us\nkernel Fused* duration=56us\n")


def twice_the_batch():
    predict("a batch that does not fill the GPU", "larger-batch", {"grid": 33}, {"grid": 66}, MIDDLE, items=2)
    # three quarters of a wave become one and a half, in two rounds
    predict("a batch that does nearly", "larger-batch", {"grid": 792}, {"grid": 1584}, LONG, "kernel * duration=40us\n", items=2)


def what_is_on_is_not_advised():
    for changes, ids in (({"graph": 1}, {"cuda-graphs"}), ({"pinned": 1, "h2d": 4000000}, {"pinned-copies"}),
                         ({"name": "FusedAdam"}, {"fused-optimizer"})):
        advised = {advice["id"] for advice in device_of(changes, SHORT)["advice"]}
        equal(advised & ids, set(), f"advice on what is on already ({changes})")


def the_likeliest_value_is_near():
    median = statistics.median(errors)
    check(len(errors) >= 15, f"only {len(errors)} pairs")
    check(median <= 0.1, f"the median error of {len(errors)} predictions is {median:.1%}")
    return f"{len(errors)} pairs, median error {median:.1%}, largest {max(errors):.1%}"


main(cuda_graphs, no_waits, pinned_copies, an_item_read_every_step, allocations, loading_ahead, fused_kernels, a_fused_optimizer,
     twice_the_batch, what_is_on_is_not_advised, the_likeliest_value_is_near)
