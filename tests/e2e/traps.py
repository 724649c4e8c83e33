#!/usr/bin/env python3
"""Errors that other profilers made, each by its public report (docs of the project they were filed at), and that this one must not make."""
import collections
import json

from lib import check, equal, main, need_sim, run
from leaves import BIG, GRAPH, SCENARIOS, Scenario, alone, play, report_of

need_sim("play", "launch_loop")


def device_of(scenario, index=0):
    process = report_of(play("trap", scenario).traces[0])
    return process["devices"][index], process


def of_window(window, *leaves):
    return sum(window["leaves"][leaf] for leaf in leaves) / window["window_ns"]


def queue_depth_is_not_launch_overhead():
    """nsys-ai#149: kernel start less API start, 120 ms to 1.5 s of queue, was called launch overhead."""
    device, _ = device_of(SCENARIOS["run_ahead"])
    check(of_window(device["steady"], "launch") < 0.02, device["steady"]["leaves"])
    check(device["kernels"][0]["queue_ns"]["value"] > 500_000, "the queue was not deep", device["kernels"][0]["queue_ns"])


def idle_time_is_the_devices_not_its_streams():
    """nsys-ai#600, #619: idle time summed over streams, 810 ms in a profile of 310 ms."""
    device, _ = device_of(SCENARIOS["many_streams"])
    for window in (device["whole"], device["steady"]):
        equal(sum(window["leaves"].values()), window["window_ns"], "sum of the leaves")
    check(of_window(device["steady"], "host", "launch", "sync", "alloc") < 0.02, device["steady"]["leaves"])


def copies_alone_are_not_idle_time():
    """nsys-ai#599: 14.4 % of the window in which only copies ran counted as idle."""
    device, _ = device_of(SCENARIOS["copy_exposed"])
    check(of_window(device["steady"], "transfer") > 0.7, device["steady"]["leaves"])


def graph_launches_are_launches():
    """nsys-ai#584: cudaGraphLaunch was not in the filter of launches, its kernels had no call."""
    device, process = device_of(SCENARIOS["graph_host_bound"])
    equal(process["coverage"]["graph_launches"], 40, "graph launches")
    check(of_window(device["steady"], "host") > 0.3 and of_window(device["steady"], "unknown") == 0, device["steady"]["leaves"])


def a_graph_launch_is_all_its_kernels():
    """TraceLens#827, tracy#1330, nsys-ai#236: one kernel for a graph launch, or kernels without a launch dropped."""
    _, process = device_of(SCENARIOS["graph_replay"])
    equal((process["coverage"]["kernels"], process["coverage"]["kernels_explained"]), (120, 120), "kernels, explained")


def lost_records_are_not_idle_time():
    """Hyperloom#1121, TraceLens#728: records lost in graph replay became 87 % and 26 % of false idle time."""
    scenario = Scenario("work 5; replay 0 0", before=GRAPH, rounds=60, script="drop 60 60\n")
    device, process = device_of(scenario)
    check(process["coverage"]["lost"] >= 60, process["coverage"])
    check(of_window(device["whole"], "launch", "host", "sync") < 0.12, "lost time counted as idle:", device["whole"]["leaves"])
    check(of_window(device["whole"], "unknown") > 0.2, device["whole"]["leaves"])


def kernels_side_by_side_count_once():
    """TraceLens#669, perfetto#4280: durations that overlap were added up."""
    device, _ = device_of(SCENARIOS["many_streams"])
    busy = sum(kernel["busy_ns"] for kernel in device["kernels"])
    equal(busy, device["steady"]["kernel_ns"], "busy time of kernels")
    check(sum(kernel["total_ns"] for kernel in device["kernels"]) > 1.3 * busy, "nothing overlapped")


def the_tracers_own_records_are_no_operations():
    """pytorch#193392: the profiler's own records were charged to operations."""
    plain = device_of(SCENARIOS["graph_replay"])[0]
    flushed = device_of(Scenario("replay 0 0; sync 0", before=GRAPH, script="cupti_flush_cost 300us\n"))[0]
    equal(flushed["steady"]["leaves"], plain["steady"]["leaves"], "leaves with overhead records")


def no_buffer_is_allocated_inside_a_launch():
    """kineto#1020: a buffer was allocated in a timed launch. No launch but the first (which loads its module) is longer than others."""
    trace = play("trap", Scenario("launch short 0;" * 20, rounds=200)).trace()
    durations = collections.Counter(row["duration"] for row in trace.calls("cudaLaunchKernel"))
    equal(list(durations), [3850], "durations of launch calls")


def no_timestamp_callback_is_registered():
    """pytorch#192021: a second registration of the timestamp callback changed the clock of records."""
    calls = [row["call"] for row in play("trap", SCENARIOS["host_bound"]).truth().cupti]
    equal(calls.count("cuptiActivityRegisterTimestampCallback"), 0, "registrations")


def nothing_is_left_on_after_the_window():
    """pytorch#146604: CUPTI stayed on after the window, 10 to 20 % slower. Each kind and callback is switched off again."""
    result = run("launch_loop", "steps=100", "sync=1", "wait=5000", env={"BOUNDSHIM_DURATION_S": "0.2"})
    kinds, callbacks = collections.Counter(), {}
    for row in result.truth().cupti:
        if row["call"] in ("cuptiActivityEnable", "cuptiActivityDisable"):
            kinds[row["value"]] += 1 if row["call"].endswith("Enable") else -1
        elif row["call"] == "cuptiEnableCallback":
            callbacks[row["domain"], row["cbid"]] = row["enable"]
    check(kinds and not any(kinds.values()) and not any(callbacks.values()), "left on:", kinds, callbacks)


def dropped_records_are_counted():
    """pytorch#192094: the count of dropped records was always 0, the API to ask for it being another than the one in use."""
    _, process = device_of(Scenario("launch short 0", rounds=100, script="drop 20 30\n"))
    equal(process["coverage"]["dropped"].get("cupti_dropped"), 30, "dropped records")


def what_is_done_already_is_no_advice():
    """DLProf 20.10: it advised mixed precision to programs that used it. Graphs are not advised to a program that replays them."""
    device, _ = device_of(SCENARIOS["graph_host_bound"])
    check("cuda-graphs" not in [advice["id"] for advice in device["advice"]], json.dumps(device["advice"]))


def no_cuda_call_is_added():
    """xpu_timer, dlrover#1537: event pairs around launches contended with NCCL. The program's calls are the only ones."""
    scenario = Scenario(f"{BIG}; launch nccl_sum 1; sync 1; work 5")
    count = [collections.Counter((c["api"], c["domain"]) for c in how("trap", scenario).truth().calls) for how in (play, alone)]
    extra = {api: n for (api, _), n in (count[0] - count[1]).items() if not api.startswith(("cuDevice", "cuDriverGet", "cuCtxGet"))}
    equal(extra, {}, "calls that the program alone does not make")


main(queue_depth_is_not_launch_overhead, idle_time_is_the_devices_not_its_streams, copies_alone_are_not_idle_time,
     graph_launches_are_launches, a_graph_launch_is_all_its_kernels, lost_records_are_not_idle_time, kernels_side_by_side_count_once,
     the_tracers_own_records_are_no_operations, no_buffer_is_allocated_inside_a_launch, no_timestamp_callback_is_registered,
     nothing_is_left_on_after_the_window, dropped_records_are_counted, what_is_done_already_is_no_advice, no_cuda_call_is_added)
