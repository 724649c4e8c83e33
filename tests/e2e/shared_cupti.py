#!/usr/bin/env python3
"""A program with a profiler of its own (tests/apps/profiler.c, which uses CUPTI as PyTorch's Kineto does): it gets all that it gets
without us, and so do we, in either order and over repeated sessions."""
from lib import as_alone, check, equal, main, need_sim, run

need_sim("profiler")
SCRIPT = "kernel * duration=20us\n"


def compare(*options, alone=None, **env):
    without = run("profiler", *(options if alone is None else alone), preload=False, script=SCRIPT)
    equal(without.status, 0, f"{options}: status alone ({without.err})")
    check("kernels 0" not in without.out and without.out, f"{options}: it profiles nothing alone: {without.out}")
    return as_alone(run("profiler", *options, env={f"BOUNDSHIM_{k}": v for k, v in env.items()}, script=SCRIPT), without), without


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
    result, _ = compare("clock=1", "sessions=1")
    reasons = [row["reason"] for row in result.trace()["clock"]]
    at = reasons.index(3) if 3 in reasons else -1
    check(at >= 0 and reasons[at + 1] == 4, f"readings around the change: {reasons}")
    before, after = result.trace()["clock"][at:at + 2]
    check(abs(after["host"] - before["host"]) < 50_000_000 and before["device"] > 10**18 > after["device"], before, after)


def faults_reach_it_as_they_are():
    """What CUPTI refuses is refused to the program too, and it prints the same line of failure."""
    for function in ("cuptiActivityRegisterTimestampCallback", "cuptiActivityFlushAll"):
        script = SCRIPT + f"fail {function} 1 15 forever\n"
        result = run("profiler", "clock=1", script=script)
        equal(result.status, 1, f"{function}: exit status ({result.err})")
        check("15" in result.out + result.err, result.out, result.err)


main(both_get_all_over_three_sessions, its_first_session_may_come_before_cuda, a_long_session_comes_in_many_buffers,
     buffers_of_one_record_are_filled, a_second_subscriber_of_its_own_is_refused, what_it_finalizes_goes_on, threads_launch_at_once,
     it_has_cupti_alone_where_we_do_not_use_it, it_goes_on_after_our_window, a_clock_of_its_own_is_told, faults_reach_it_as_they_are)
