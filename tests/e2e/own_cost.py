#!/usr/bin/env python3
"""What tracing costs is taken out: programs run on the simulated CUDA with CUPTI's costs of an H200 injected, and alone. Traced time
less `tracing` is the time of the run alone within 3 %."""
from lib import check, equal, main, need_sim
from leaves import BIG, GRAPH, Scenario, alone, play, report_of

need_sim("play")

NODES = "capture 0;" + "launch short 0;" * 20 + "captured 0 0"
PROGRAMS = {
    "host_bound": Scenario("work 10; launch short 0", rounds=300),
    "nothing_but_launches": Scenario("launch short 0; launch short 0; launch short 0; work 1", rounds=200,
                                     script="kernel short duration=1us per_block=0\n"),
    "waits": Scenario("work 5; launch small 0; launch short 0; sync 0", rounds=200),
    "graph_of_three": Scenario("work 5; replay 0 0", rounds=200, before=GRAPH),
    "graph_of_twenty": Scenario("replay 0 0; sync 0", rounds=200, before=NODES),
    "gpu_bound": Scenario("work 5;" + BIG, rounds=100),
    "two_streams": Scenario("work 20; launch short 0; launch short 1", rounds=200),
}


def length(result):
    """From the start of the 11th kernel to that of the last."""
    starts = sorted(op["start"] for op in result.truth().ops if op["kind"] == "kernel")
    return starts[-1] - starts[10]


def the_corrected_step_is_the_untraced_one():
    worst = (0, "")
    for name, scenario in PROGRAMS.items():
        traced = play(name, scenario)
        device = report_of(traced.traces[0])["devices"][0]
        steady, step = device["steady"], device["steady"]["step"]
        check(step, f"{name}: no steps")
        share = steady["leaves"]["tracing"] / steady["window_ns"]
        before, after = length(alone(name, scenario)), length(traced)
        error = after * (1 - share) / before - 1
        print(f"     {name:22} traced {100 * (after / before - 1):+6.2f} %, corrected {100 * error:+6.2f} %,"
              f" of it on the device {steady['tracing_device_ns'] / max(1, steady['leaves']['tracing']):4.0%}")
        check(abs(error) <= 0.03, f"{name}: traced {after / before:.3f}, corrected {1 + error:.3f} of the run alone")
        untraced = step["period_ns"] * (1 - share)
        check(abs(step["untraced_ns"] - untraced) <= 1, f"{name}: untraced_ns is {step['untraced_ns']}, not {untraced}")
        worst = max(worst, (abs(error), name))
    return f"worst {100 * worst[0]:.2f} % ({worst[1]})"


def a_device_bound_program_is_not_corrected():
    device = report_of(play("gpu_bound", PROGRAMS["gpu_bound"]).traces[0])["devices"][0]
    equal(device["steady"]["leaves"]["tracing"], 0, "tracing of a GPU that never idles")


if __name__ == "__main__":
    main(the_corrected_step_is_the_untraced_one, a_device_bound_program_is_not_corrected)
