#!/usr/bin/env python3
"""A program with a profiler of its own (tests/apps/profiler.c, which uses CUPTI as PyTorch's Kineto does): it gets all that it gets
without us, and so do we, in either order and over repeated sessions."""
import json
import re
import subprocess

from lib import BUILD, as_alone, check, equal, main, need, need_sim, run

need_sim("profiler")
need(BUILD / "boundshim")
SCRIPT = "kernel * duration=20us\n"


def compare(*options, alone=None, **env):
    without = run("profiler", *(options if alone is None else alone), preload=False, script=SCRIPT)
    equal(without.status, 0, f"{options}: status alone ({without.err})")
    check("kernels 0" not in without.out and without.out, f"{options}: it profiles nothing alone: {without.out}")
    return as_alone(run("profiler", *options, env={f"BOUNDSHIM_{k}": v for k, v in env.items()}, script=SCRIPT), without), without


def report(result):
    done = subprocess.run([BUILD / "boundshim", "report", "--format", "json", result.traces[0]], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)["processes"][0]


def recorded_whole(result, launches):
    """Every kernel is in our trace, each once, with its time and its launch, and none of the application's records counts as lost."""
    trace = result.trace().sound()
    equal(trace.meta["cupti.state"], "on", "cupti.state")
    equal({cause: n for cause, n in trace.losses.items() if n}, {}, "losses")
    equal(len(trace["run"]), launches, "kernels")
    equal(len({row["correlation"] for row in trace["run"]}), launches, "correlations")
    equal({row["duration"] for row in trace["run"]}, {20_000}, "durations")
    launched = {row["correlation"] for row in trace["call"]}
    equal([row for row in trace["run"] if row["correlation"] not in launched], [], "kernels without a launch")
    return trace


def both_get_all_over_three_sessions():
    result, alone = compare()
    recorded_whole(result, 7 * 400)
    return alone.out.splitlines()[0]


def every_function_that_asks_is_answered():
    """cuptiActivityEnableContext, EnableAndDump, DisableContext, Flush, FlushPeriod."""
    result, _ = compare("older=1")
    recorded_whole(result, 7 * 400)


def its_first_session_may_come_before_cuda():
    result, _ = compare("early=1")
    recorded_whole(result, 6 * 400)


def a_long_session_comes_in_many_buffers():
    """More records than its buffers or ours hold: some are handed over by our thread, in the middle of a session."""
    result, _ = compare("sessions=1", "launches=30000", "buffer=20000")
    recorded_whole(result, 3 * 30000)


def buffers_of_one_record_are_filled():
    result, _ = compare("buffer=300")
    recorded_whole(result, 7 * 400)


def a_second_subscriber_of_its_own_is_refused():
    compare("twice=1")


def what_it_finalizes_goes_on():
    """The simulated cuptiFinalize aborts: it must not be reached."""
    result, _ = compare("finalize=1", alone=())
    recorded_whole(result, 7 * 400)


def threads_launch_at_once():
    result, _ = compare("threads=8", "launches=2000", "sessions=2")
    trace = result.trace().sound()
    # what other threads launched while CUPTI was being started was seen by hooks alone
    check(5 * 16000 - 16000 <= len(trace["run"]) <= 5 * 16000, f"{len(trace['run'])} kernels")
    equal({cause: n for cause, n in trace.losses.items() if n}, {}, "losses")


def it_has_cupti_alone_where_we_do_not_use_it():
    for env in ({"MODE": "off"}, {"MODE": "hooks"}, {"CUPTI_YIELD": 1}):
        compare(**env)


def it_goes_on_after_our_window():
    """Ours ends in the middle; what it asked for stays on."""
    result, _ = compare("sessions=4", "launches=4000", DURATION_S=0.2)
    trace = result.trace().sound()
    equal(trace.meta["end.reason"], "duration", "end.reason")
    check(100 < len(trace["run"]) < 9 * 4000, f"{len(trace['run'])} kernels in the window")


def a_clock_of_its_own_is_told():
    """From the change on all times are that clock's, twice as fast: both are converted, each by its own readings."""
    for early in (0, 1):
        options = ("clock=1", "sessions=2", "launches=8000", f"early={early}")
        alone = run("profiler", *options, preload=False, script=SCRIPT)
        result = run("profiler", *options, script=SCRIPT)
        # interpolated, so not the same to the nanosecond
        times = [[int(ns) for ns in re.findall(r"of (\d+) ns", text)] for text in (alone.out, result.out)]
        equal(*(re.sub(r"of \d+ ns", "", text) for text in (result.out, alone.out)), "what it got")
        check(all(39_000 < ns < 41_000 for ns in sum(times, [])), f"durations by its clock: {times}")
        trace = result.trace()
        clock = trace["clock"]
        at = [row["reason"] for row in clock].index(3)
        equal(clock[at + 1]["reason"], 4, "the reading after the change")
        check(abs(clock[at + 1]["host"] - clock[at]["host"]) < 50_000_000 and clock[at]["device"] > 10**18 > clock[at + 1]["device"], clock)
        process = report(result)
        coverage, device = process["coverage"], process["devices"][0]
        equal(coverage["kernels"], (5 - early) * 8000, "kernels")
        # A writer that gets no processor for long loses calls, and counts them.
        missing = coverage["kernels"] - coverage["kernels_explained"]
        check(missing <= coverage["lost"] <= 4000, f"{missing} kernels not explained; dropped {coverage['dropped']}, clock {clock}")
        for kernel in device["kernels"]:
            check(abs(kernel["mean_ns"] - 20_000) < 100, f"{kernel['name']}: {kernel['mean_ns']} ns")
        spent = max(row["begin"] for row in trace["call"]) - min(row["begin"] for row in trace["call"])
        check(0.9 * spent < device["whole"]["window_ns"] < 1.3 * spent, f"window {device['whole']['window_ns']}, calls over {spent}")


def faults_reach_it_as_they_are():
    """What CUPTI refuses is refused to the program too, and it prints the same line of failure."""
    for function in ("cuptiActivityRegisterTimestampCallback", "cuptiActivityFlushAll"):
        script = SCRIPT + f"fail {function} 1 15 forever\n"
        result = run("profiler", "clock=1", script=script)
        equal(result.status, 1, f"{function}: exit status ({result.err})")
        check("15" in result.out + result.err, result.out, result.err)


main(both_get_all_over_three_sessions, every_function_that_asks_is_answered,
     its_first_session_may_come_before_cuda, a_long_session_comes_in_many_buffers,
     buffers_of_one_record_are_filled, a_second_subscriber_of_its_own_is_refused, what_it_finalizes_goes_on, threads_launch_at_once,
     it_has_cupti_alone_where_we_do_not_use_it, it_goes_on_after_our_window, a_clock_of_its_own_is_told, faults_reach_it_as_they_are)
