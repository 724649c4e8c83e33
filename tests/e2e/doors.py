#!/usr/bin/env python3
"""Ways to the GPU and ways in for the recorder that the other files do not have, on the simulated CUDA: CUDA_INJECTION64_PATH alone,
libraries loaded with RTLD_DEEPBIND, several contexts in a process, a graph that was made before tracing began. tests/gpu/frameworks.py
has all of them on a GPU."""
from lib import SHIM, as_alone, check, equal, folder, main, need_sim, run, same_device_work

need_sim("launch_loop", "dlopen_local", "contexts", "play", "static_like")


def whole(result, kernels):
    trace = result.trace().sound().lossless()
    equal((trace.meta["cupti.state"], len(trace["run"])), ("on", kernels), "cupti.state, kernels")
    launched = {row["correlation"] for row in trace["call"]}
    equal([row for row in trace["run"] if row["correlation"] not in launched], [], "kernels without a launch")
    same_device_work(trace, result.truth())
    return trace


def the_driver_may_load_us_alone():
    for program, options in (("launch_loop", ("steps=60", "kernels=2")), ("static_like", ())):
        alone = run(program, *options, preload=False)
        result = as_alone(run(program, *options, preload=False, env={"CUDA_INJECTION64_PATH": SHIM}), alone).says(0)
        kernels = sum(op["kind"] == "kernel" for op in result.truth().ops)
        trace = whole(result, kernels)
        check(kernels > 0 and all(row["flags"] & 8 for row in trace["call"] if row["correlation"]), "a call seen by a hook")


def deepbind_is_seen_through_the_driver():
    for deepbind in (0, 1):
        options = (f"deepbind={deepbind}", "launches=80")
        result = as_alone(run("dlopen_local", *options), run("dlopen_local", *options, preload=False)).says(0)
        whole(result, 80)


def contexts_are_told_apart():
    trace = whole(as_alone(run("contexts"), run("contexts", preload=False)).says(0), 150)
    equal(len({row["context"] for row in trace["run"]}), 3, "contexts")
    equal({row["device"] for row in trace["run"]}, {0}, "devices")


def a_graph_made_before_tracing_began_is_seen_node_by_node():
    program = folder("late") / "program"
    program.write_text("\n".join([
        "capture 0", "launch a 0", "launch b 0", "captured 0 0", "replay 0 0", "device_sync", "sleep 1500000", "repeat 50", "replay 0 0",
        "end", "device_sync"]))
    result = run("play", program, env={"BOUNDSHIM_DELAY_S": "0.5"}).says(0)
    trace = result.trace().sound().lossless()
    equal(len(trace["run"]), 100, "kernels after tracing began")
    check(all(row["graph"] and row["node"] for row in trace["run"]), "a kernel without its graph and node")
    launched = {row["correlation"] for row in trace.calls("cudaGraphLaunch")}
    equal({row["correlation"] for row in trace["run"]} - launched, set(), "kernels without a graph launch")


main(the_driver_may_load_us_alone, deepbind_is_seen_through_the_driver, contexts_are_told_apart,
     a_graph_made_before_tracing_began_is_seen_node_by_node)
