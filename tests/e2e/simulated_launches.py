#!/usr/bin/env python3
"""Programs on the simulated CUDA in each mode: every launch, copy, set and graph node that happened is in the trace exactly
once, with its times, correlation, stream and geometry, and every call in each thread's order."""
import json
import subprocess

from lib import BUILD, SIM, equal, check, need_sim, run, as_alone, same_calls, same_device_work, main
from lib import CAPTURED, DRIVER, MODULE_LOADED

need_sim("launch_loop", "capture", "static_like", "all_doors", "two_cudarts", "dlopen_local", "failing_calls",
         "device_reset")

LOOPS = {
    "plain": "steps=300 kernels=3",
    "copies": "steps=50 kernels=2 h2d=4096 d2h=100000 set=4096 sync=5",
    "pageable": "steps=20 h2d=200000 d2h=200000 pinned=0 sync=1",
    "streams": "steps=100 kernels=2 streams=4 events=1 sync=10",
    "threads": "steps=100 threads=6 streams=2 sync=7",
    "allocations": "steps=40 alloc=65536 sync=1",
    "async_allocations": "steps=40 alloc=65536 async=1",
    "graph": "steps=60 kernels=5 graph=1 sync=6",
    "host_functions": "steps=30 host=1 sync=3",
    "per_thread": "steps=50 ptsz=1",
}


def compare(result, mode="trace"):
    trace, truth = result.trace().sound().lossless(), result.truth()
    calls = same_calls(trace, truth, mode)
    check(calls > 0, "no calls in the trace")
    operations = same_device_work(trace, truth) if mode == "trace" else 0
    return trace, truth, calls, operations


def every_loop_is_traced_as_it_was():
    calls = operations = 0
    for name, options in LOOPS.items():
        try:
            trace, _, c, o = compare(run("launch_loop", *options.split()).says(0))
        except AssertionError as error:
            raise AssertionError(f"{name} ({options}): {error}") from error
        equal(trace.meta["cupti.state"], "on", "cupti.state")
        calls, operations = calls + c, operations + o
    return f"{calls} calls, {operations} device operations"


def cuda_12_is_traced_as_well():
    need_sim("launch_loop12")
    trace, *_ = compare(run("launch_loop12", "steps=50", "kernels=2", "h2d=1000", "graph=0", "sync=5",
                            env={"BOUNDSHIM_CUPTI": SIM / "libcupti.so.12"}).says(0))
    check(trace.meta["cupti.path"].endswith("libcupti.so.12"), trace.meta["cupti.path"])


def hooks_mode_has_the_calls_and_nothing_of_the_device():
    result = run("launch_loop", "steps=100", "kernels=2", "h2d=100", "sync=10", mode="hooks").says(0)
    trace, truth, _, _ = compare(result, "hooks")
    equal(len(trace["run"]) + len(trace["copy"]), 0, "device records")
    equal(truth.cupti, [], "calls of CUPTI")
    equal(trace.meta["boundshim.mode"], "hooks", "boundshim.mode")
    equal(trace.meta["cupti.state"], "off", "cupti.state")


def off_mode_leaves_nothing():
    result = run("launch_loop", "steps=20", mode="off").says(0)
    equal(result.status, 0, "exit status")
    equal(result.traces, [], "trace files")
    equal(result.truth().cupti, [], "calls of CUPTI")


def the_program_is_as_alone_in_every_mode():
    for options in ("steps=30 kernels=2 h2d=4096 graph=1 sync=3", "steps=10 threads=3 alloc=100"):
        alone = run("launch_loop", *options.split(), preload=False)
        for mode in ("trace", "hooks", "off"):
            as_alone(run("launch_loop", *options.split(), mode=mode), alone)


def all_doors_are_seen_once_each():
    alone = run("all_doors", preload=False)
    result = as_alone(run("all_doors"), alone).says(0)
    trace, truth, _, _ = compare(result)
    names = run("all_doors", "list", preload=False).out.split()
    seen = [trace.api(row) for row in trace["call"] if not row["flags"] & DRIVER]
    made = [call["api"] for call in truth.calls if call["domain"] == "runtime" and not call["nested"]]
    for name in names:
        check(name in made, name, "was not called by the program")
        equal(seen.count(name), made.count(name), f"rows of {name}")
    # one launch for each kernel, however many layers it went through
    launches = [row["correlation"] for row in trace["call"] if row["correlation"]]
    equal(len(launches), len(set(launches)), "calls with a correlation of their own")
    missing = {row["correlation"] for row in trace["run"] + trace["copy"]} - set(launches)
    equal(missing, set(), "device work without a call")
    return f"{len(names)} doors"


def what_no_hook_sees_is_seen_through_the_driver():
    result = as_alone(run("static_like"), run("static_like", preload=False)).says(0)
    trace, truth, calls, operations = compare(result)
    equal([row for row in trace["call"] if not row["flags"] & DRIVER], [], "hooked calls")
    launched = {row["correlation"]: row for row in trace["call"]}
    for r in trace["run"]:
        check(r["correlation"] in launched, "a kernel without a call:", r)
    return f"{calls} calls, {operations} device operations"


def captured_launches_are_flagged_and_replays_name_their_nodes():
    result = as_alone(run("launch_loop", "steps=40", "kernels=4", "graph=1"),
                      run("launch_loop", "steps=40", "kernels=4", "graph=1", preload=False))
    trace, truth, _, _ = compare(result)
    captured = [row for row in trace.calls("cudaLaunchKernel") if row["flags"] & CAPTURED]
    replays = [row for row in trace["run"] if row["graph"]]
    equal(len(captured), 4, "captured launches")
    equal(len(replays), 160, "kernels of replays")
    created = {row["node"]: row for row in trace["node"] if row["kind"] == 1}
    cloned = {row["node"]: row for row in trace["node"] if row["kind"] == 2}
    equal(len(created), 4, "nodes created")
    for row in replays:
        origin = cloned.get(row["node"], {}).get("source", row["node"])
        check(origin in created, "a replayed node whose origin is not told:", row)
        launch = [c for c in captured if c["begin"] == created[origin]["time"]]
        equal(len(launch), 1, "launches that made the node")
    graph_launches = {row["correlation"] for row in trace.calls("cudaGraphLaunch")}
    equal({row["correlation"] for row in replays}, graph_launches, "correlations of replays")


def hooks_are_legal_in_stream_capture():
    for mode in ("trace", "hooks"):
        result = as_alone(run("capture", mode=mode), run("capture", preload=False)).says(0)
        equal(result.status, 0, f"mode {mode}: exit status")
        result.trace().sound()


def each_caller_reaches_its_own_cudart():
    for options in ((), ("global=1",)):
        result = as_alone(run("two_cudarts", *options), run("two_cudarts", *options, preload=False))
        equal(result.status, 0, "exit status")
        trace = result.trace().sound().lossless()
        names = {trace.kernel_name(row) for row in trace["run"]}
        equal(names, {"kernel_of_cudart_12", "kernel_of_cudart_13"}, "kernels")
        same_calls(trace, result.truth())


def a_privately_loaded_plugin_works_and_is_seen():
    result = as_alone(run("dlopen_local"), run("dlopen_local", preload=False)).says(0)
    trace, _, _, operations = compare(result)
    equal(operations, 100, "kernels")
    equal(len(trace.calls("cudaLaunchKernel")), 100, "launches")


def failing_calls_keep_code_errno_and_last_error():
    for mode in ("trace", "hooks"):
        result = as_alone(run("failing_calls", mode=mode), run("failing_calls", preload=False)).says(0)
        equal(result.status, 0, f"mode {mode}: exit status")
        trace = result.trace().sound().lossless()
        same_calls(trace, result.truth(), mode)
        check(any(row["result"] for row in trace["call"]), "no failed call is recorded")


def lazy_loading_inside_a_first_launch_is_flagged():
    result = run("launch_loop", "steps=5", "kernels=2", script="module_load 2ms\n")
    trace = result.trace().sound()
    flagged = [row for row in trace["call"] if row["flags"] & MODULE_LOADED]
    check(flagged, "no call is flagged module_loaded")
    check(all(row["duration"] > 1_900_000 for row in flagged), "a flagged call was short:", flagged)
    check([row for row in trace["overhead"] if row["duration"] >= 1_900_000], "no overhead record")


def a_device_reset_does_not_end_the_recording():
    result = as_alone(run("device_reset"), run("device_reset", preload=False)).says(0)
    trace, truth, _, operations = compare(result)
    equal(operations, 20, "kernels before and after")
    check(len({row["context"] for row in trace["run"]}) == 2, "the second context is not another one")


def a_step_of_the_clock_is_in_the_readings_and_taken_out():
    """
    CLOCK_REALTIME, and CUPTI's times with it, move by 5 s in the middle: readings show it, and the timeline goes on. After a step back
    the last 5 s before it carry the same times as the first after it, and are taken for those.
    """
    for step in (5_000_000_000, -5_000_000_000):
        result = run("launch_loop", "steps=100000", "sync=1", "wait=30", "quiet=1", virtual=True, script=f"clock_step 2s {step}ns\n",
                     env={"SIM_TRUTH": None, "BOUNDSHIM_COUNTERS": "off"}).says(0)
        trace = result.trace().sound()
        # a writer that looks before CUPTI is on reads the host's clocks alone
        rows = sorted((row for row in trace["clock"] if row["device"]), key=lambda row: row["host"])
        offsets = [(row["realtime"] - row["host"], row["device"] - row["host"]) for row in rows]
        for which, what in ((0, "CLOCK_REALTIME"), (1, "the device's clock")):
            moves = [b[which] - a[which] for a, b in zip(offsets, offsets[1:]) if abs(b[which] - a[which]) > 1_000_000]
            check(len(moves) == 1 and abs(moves[0] - step) < 1_000_000, f"{what} moved by {moves}")
        done = subprocess.run([BUILD / "boundshim", "report", "--format", "json", result.traces[0]], capture_output=True, text=True,
                              timeout=60, check=True)
        process = json.loads(done.stdout)["processes"][0]
        whole = process["devices"][0]["whole"]
        spent = max(row["begin"] for row in trace["call"]) - min(row["begin"] for row in trace["call"])
        between = max(b["host"] - a["host"] for a, b in zip(rows, rows[1:]))
        equal(sum(whole["leaves"].values()), whole["window_ns"], f"{step}: sum of the leaves")
        # times between the two readings around the step are known to the distance of those
        most = spent + between + (0 if step > 0 else -step)
        check(spent - between <= whole["window_ns"] <= most, f"{step}: window {whole['window_ns']}, calls over {spent}, between readings {between}")
        equal(process["coverage"]["kernels"], 100_000, f"{step}: kernels")


def cupti_is_used_as_promised():
    """Neither RUNTIME (5) nor DRIVER (4) activity, no whole domain, one registration, and no finalize (which would abort)."""
    calls = run("launch_loop", "steps=200", "kernels=2", "threads=2", "graph=1").truth().cupti
    kinds = {row.get("value", row.get("kind")) for row in calls if row["call"] == "cuptiActivityEnable"}
    check(kinds, "no activity kind was enabled:", calls[:3])
    check(not kinds & {4, 5}, "RUNTIME or DRIVER was enabled:", kinds)
    names = [row["call"] for row in calls]
    equal(names.count("cuptiActivityRegisterCallbacks"), 1, "registrations of buffer callbacks")
    equal(names.count("cuptiSubscribe"), 1, "subscriptions")
    for never in ("cuptiEnableDomain", "cuptiEnableAllDomains", "cuptiFinalize", "cuptiUnsubscribe",
                  "cuptiActivityRegisterTimestampCallback"):
        equal(names.count(never), 0, never)


main(every_loop_is_traced_as_it_was, cuda_12_is_traced_as_well, hooks_mode_has_the_calls_and_nothing_of_the_device,
     off_mode_leaves_nothing, the_program_is_as_alone_in_every_mode, all_doors_are_seen_once_each,
     what_no_hook_sees_is_seen_through_the_driver, captured_launches_are_flagged_and_replays_name_their_nodes,
     hooks_are_legal_in_stream_capture, each_caller_reaches_its_own_cudart, a_privately_loaded_plugin_works_and_is_seen,
     failing_calls_keep_code_errno_and_last_error, lazy_loading_inside_a_first_launch_is_flagged,
     a_device_reset_does_not_end_the_recording, a_step_of_the_clock_is_in_the_readings_and_taken_out, cupti_is_used_as_promised)
