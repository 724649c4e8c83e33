#!/usr/bin/env python3
"""However a program ends, forks or replaces itself: its status and output are as alone, it is not held up, and each process
that used CUDA leaves a trace of its own, whole where it came to its exit."""
import signal
import time

from lib import TIME_INVALID, Trace, as_alone, check, equal, in_pairs, main, need_sim, run, same_calls, same_device_work, Truth

need_sim("die", "fork_child", "exec_twice", "threads_at_exit", "launch_loop")

EXIT_RUNS = 30


def pair(result, pid=None):
    """(trace, truth) of each process, by process id."""
    truths = {int(path.stem.split("-")[1]): Truth(path) for path in result.truths}
    traces = {}
    for path in result.traces:
        trace = Trace(path)
        traces.setdefault(int(trace.meta["process.pid"]), []).append(trace)
    return traces, truths


def a_return_from_main_ends_the_trace():
    result = as_alone(run("die", "how=return"), run("die", "how=return", preload=False)).says(0)
    trace, truth = result.trace().sound().lossless(), result.truth()
    same_calls(trace, truth)
    equal(same_device_work(trace, truth), 1000, "kernels")
    equal(trace.meta["end.reason"], "exit", "end.reason")


def _exit_keeps_its_status_and_what_is_older_than_a_second():
    result = run("die", "how=_exit", "launches=500", "sync=1", "pause=900").says(0)
    equal(result.status, 7, "exit status")
    trace, truth = result.trace().sound(complete=False), result.truth()
    check(not trace.complete, "no exit handler ran, and the trace says complete")
    same_calls(trace, truth, prefix=True)
    equal(len(trace.calls("cudaLaunchKernel")), 500, "launches older than 0.9 s")
    equal(len(trace["run"]), 500, "kernels older than 0.9 s")


def signals_end_it_as_alone():
    for how, number in (("abort", signal.SIGABRT), ("segv", signal.SIGSEGV), ("term", signal.SIGTERM)):
        alone = run("die", f"how={how}", "launches=100", "sync=1", preload=False)
        result = as_alone(run("die", f"how={how}", "launches=100", "sync=1", "pause=700"), alone).says(0)
        equal(result.status, -number, f"{how}: status")
        trace = result.trace().sound(complete=False)
        same_calls(trace, result.truth(), prefix=True)
        equal(len(trace.calls("cudaLaunchKernel")), 100, f"{how}: launches older than 0.7 s")


def a_forked_child_that_uses_no_cuda_leaves_the_parents_trace_alone():
    for child in ("exit", "_exit"):
        options = ("when=after", f"child={child}")
        result = as_alone(run("fork_child", *options), run("fork_child", *options, preload=False)).says(0)
        trace, truths = result.trace().sound().lossless(), [Truth(path) for path in result.truths]
        parent = [t for t in truths if t.device_ops()]
        equal(len(parent), 1, "processes that launched")
        same_calls(trace, parent[0])
        equal(same_device_work(trace, parent[0]), 20, "kernels")


def a_child_that_inherits_used_cuda_has_its_failures_in_its_own_trace():
    options = ("when=after", "child=cuda")
    result = as_alone(run("fork_child", *options), run("fork_child", *options, preload=False)).says(0)
    traces = [Trace(path).sound().lossless() for path in result.traces]
    equal(len(traces), 2, "traces")
    child = [t for t in traces if not t["run"]]
    equal(len(child), 1, "traces without kernels")
    # and nothing of what the parent had recorded and not yet written
    equal([(child[0].api(row), row["result"]) for row in child[0]["call"]], [("cudaMalloc", 3)], "the child's calls")
    parent = [t for t in traces if t["run"]]
    equal(len(parent[0].calls("cudaLaunchKernel")), 20, "the parent's launches")
    equal(child[0].meta["cupti.state"], "off", "cupti.state")
    check("fork" in child[0].meta["cupti.reason"], child[0].meta["cupti.reason"])


def a_child_forked_before_cuda_is_traced_for_itself():
    options = ("when=before", "child=launch")
    result = as_alone(run("fork_child", *options), run("fork_child", *options, preload=False)).says(0)
    traces, truths = pair(result)
    equal(len(traces), 2, "processes with a trace")
    kernels = []
    for pid, found in traces.items():
        equal(len(found), 1, "traces of a process")
        same_calls(found[0].sound().lossless(), truths[pid])
        kernels.append(same_device_work(found[0], truths[pid]))
    equal(sorted(kernels), [5, 10], "kernels of child and parent")


def exec_begins_a_new_trace():
    result = as_alone(run("exec_twice"), run("exec_twice", preload=False)).says(0)
    traces = [Trace(path) for path in result.traces]
    equal(len(traces), 3, "traces")
    # an image that was replaced at once may have written no more than its header
    equal(len({t.meta["process.pid"] for t in traces if "process.pid" in t.meta}), 1, "process ids")
    equal(sorted(len(t.calls("cudaLaunchKernel")) for t in traces if not t.refused)[-1], 30, "launches of the last")
    equal([t.complete for t in traces].count(True), 1, "complete traces")
    for trace in traces:
        trace.sound(complete=False)


def exec_with_one_name_keeps_the_first_file():
    result = run("exec_twice", env={"BOUNDSHIM_OUT": "t.bst"}).says(2)
    equal([path.name for path in result.traces], ["t-1.bst", "t-2.bst", "t.bst"], "files")


def exit_is_not_held_up_by_launching_threads():
    def once(_):
        began = time.monotonic()
        result = run("threads_at_exit", "threads=16", "launches=500", limit=20)
        took = time.monotonic() - began
        equal(result.status, 0, f"exit status (stderr: {result.err!r})")
        check(took < 4, f"exit took {took:.1f} s")
        result.says(0)
        trace = result.trace().sound()
        same_calls(trace, result.truth(), prefix=True)
        return took

    times = in_pairs(once, range(EXIT_RUNS))
    return f"{EXIT_RUNS} runs, the longest {max(times):.2f} s"


def kernels_that_still_run_at_exit_are_counted_as_unfinished():
    result = run("threads_at_exit", "threads=2", "launches=900", script="kernel exit_kernel duration=20s\nqueue_depth 100000\n").says(0)
    trace = result.trace().sound()
    launched = len(trace.calls("cudaLaunchKernel"))
    unfinished = [row for row in trace["run"] if row["flags"] & TIME_INVALID]
    check(unfinished, f"{launched} launches, {len(trace['run'])} kernels, none unfinished")
    equal(trace.losses["unfinished"] + trace.losses["time_invalid"], len(unfinished), "counted")
    known = {row["correlation"] for row in trace["run"]}
    # all but those launched while CUPTI was being started
    check(len(known) >= launched * 0.8, f"{launched} launches, {len(known)} told of")
    return f"{len(unfinished)} of {launched} launches"


def many_short_threads_are_all_there():
    result = run("launch_loop", "steps=3", "threads=200", "kernels=2").says(0)
    equal(result.status, 0, "exit status")
    trace, truth = result.trace().sound().lossless(), result.truth()
    same_calls(trace, truth)
    same_device_work(trace, truth)
    return f"{len(trace['thread'])} threads"


main(a_return_from_main_ends_the_trace, _exit_keeps_its_status_and_what_is_older_than_a_second, signals_end_it_as_alone,
     a_forked_child_that_uses_no_cuda_leaves_the_parents_trace_alone,
     a_child_that_inherits_used_cuda_has_its_failures_in_its_own_trace, a_child_forked_before_cuda_is_traced_for_itself,
     exec_begins_a_new_trace, exec_with_one_name_keeps_the_first_file, exit_is_not_held_up_by_launching_threads,
     kernels_that_still_run_at_exit_are_counted_as_unfinished,
     many_short_threads_are_all_there)
