#!/usr/bin/env python3
"""However a program ends, forks or replaces itself: its status and output are as alone, it is not held up, and each process
that used CUDA leaves a trace of its own, whole where it came to its exit."""
import collections
import os
import re
import signal
import sys
import time

from lib import (APPS, FAILED, TIME_INVALID, WAITING, Trace, as_alone, check, equal, in_pairs, main, need_sim, run, same_calls,
                 same_device_work, Truth)

need_sim("die", "fork_child", "exec_twice", "threads_at_exit", "launch_loop", "raw_children", "plugin.so")

EXIT_RUNS = int(os.environ.get("EXIT_RUNS", 30))


def pair(result, pid=None):
    """(trace, truth) of each process, by process id."""
    truths = {int(path.stem.split("-")[1]): Truth(path) for path in result.truths}
    traces = {}
    for path in result.traces:
        trace = Trace(path)
        traces.setdefault(int(trace.meta["process.pid"]), []).append(trace)
    return traces, truths


def kept_by_then(began, got, all_of_them, what):
    """All that was to be written in the 0.35 s that the recorder takes, less only where the machine kept it waiting for as long."""
    check(got == all_of_them or (got < all_of_them and WAITING.since(began) > 0.3), f"{what}: {got} of {all_of_them}, kept waiting for"
          f" {WAITING.since(began):.2f} s")


def a_return_from_main_ends_the_trace():
    result = as_alone(run("die", "how=return"), run("die", "how=return", preload=False)).says(0)
    trace, truth = result.trace().sound().lossless(), result.truth()
    same_calls(trace, truth)
    equal(same_device_work(trace, truth), 1000, "kernels")
    equal(trace.meta["end.reason"], "exit", "end.reason")


def _exit_keeps_its_status_and_what_is_older_than_a_second():
    began = time.monotonic()
    result = run("die", "how=_exit", "launches=500", "sync=1", "pause=900").says(0)
    equal(result.status, 7, "exit status")
    trace, truth = result.trace().sound(complete=False), result.truth()
    check(not trace.complete, "no exit handler ran, and the trace says complete")
    same_calls(trace, truth, prefix=True)
    kept_by_then(began, len(trace.calls("cudaLaunchKernel")), 500, "launches older than 0.9 s")
    kept_by_then(began, len(trace["run"]), 500, "kernels older than 0.9 s")


def signals_end_it_as_alone():
    for how, number in (("abort", signal.SIGABRT), ("segv", signal.SIGSEGV), ("term", signal.SIGTERM)):
        alone = run("die", f"how={how}", "launches=100", "sync=1", preload=False)
        began = time.monotonic()
        result = as_alone(run("die", f"how={how}", "launches=100", "sync=1", "pause=700"), alone).says(0)
        equal(result.status, -number, f"{how}: status")
        trace = result.trace().sound(complete=False)
        same_calls(trace, result.truth(), prefix=True)
        kept_by_then(began, len(trace.calls("cudaLaunchKernel")), 100, f"{how}: launches older than 0.7 s")


# --- Python: CUDA comes in privately with an extension, as always there --------------------------------------------------------

PLUGIN = f"import ctypes, faulthandler, multiprocessing, os, signal, sys, time\nplugin = ctypes.CDLL({str(APPS / 'plugin.so')!r})\n"


def python(program, preload=True):
    return run(sys.executable, "-c", PLUGIN + program, preload=preload)


def pythons_own_handlers_work_as_alone():
    """SIGTERM with a handler, whose exit is one like any other; SIGSEGV and SIGABRT with faulthandler's traceback on stderr."""
    begin = "faulthandler.enable()\nassert plugin.plugin_run(100) == 0\ntime.sleep(0.7)\n"
    programs = {
        "handler": (begin + "signal.signal(signal.SIGTERM, lambda *_: (print('asked to end'), sys.exit(9)))\n"
                            "os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)", 9),
        "default": (begin + "os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)", -signal.SIGTERM),
        "interrupt": (begin + "os.kill(os.getpid(), signal.SIGINT); time.sleep(30)", -signal.SIGINT),
        "segv": (begin + "ctypes.string_at(1)", -signal.SIGSEGV),
        "abort": (begin + "os.abort()", -signal.SIGABRT),
    }
    for name, (program, status) in programs.items():
        alone, began = python(program, preload=False), time.monotonic()
        result = python(program)
        equal((result.status, result.out), (alone.status, alone.out), f"{name}: status and output")
        equal(result.status, status, f"{name}: status")
        # addresses of threads differ from run to run
        equal(*(re.sub("0x[0-9a-f]+", "0x", r.err) for r in (result, alone)), f"{name}: stderr")
        if name in ("segv", "abort"):
            check("Fatal Python error" in result.err and "most recent call first" in result.err, f"{name}: {result.err!r}")
        trace = result.trace().sound(complete=name in ("handler",))
        kept_by_then(began, len(trace.calls("cudaLaunchKernel")), 100, f"{name}: launches")


def forked_workers_without_cuda_leave_one_file():
    program = ("assert plugin.plugin_run(50) == 0\n"
               "pool = multiprocessing.get_context('fork').Pool(8)\n"
               "print(pool.map(len, ['a' * n for n in range(40)]))\n"
               "pool.close(); pool.join()\nassert plugin.plugin_run(50) == 0\n")
    result = as_alone(python(program), python(program, preload=False)).says(0)
    equal(result.status, 0, f"status ({result.err})")
    trace, truth = result.trace().sound().lossless(), [Truth(path) for path in result.truths]
    parent = [t for t in truth if t.device_ops()]
    equal(len(parent), 1, "processes that launched")
    same_calls(trace, parent[0])
    equal(same_device_work(trace, parent[0]), 100, "kernels")


def spawned_workers_with_cuda_leave_a_file_each():
    where = run("/bin/true", preload=False).where
    (where / "job.py").write_text(PLUGIN + "def job(n):\n    return plugin.plugin_run(n)\n\n"
                                  "if __name__ == '__main__':\n"
                                  "    multiprocessing.set_start_method('spawn')\n"
                                  "    workers = [multiprocessing.Process(target=job, args=(10 + n,)) for n in range(4)]\n"
                                  "    [w.start() for w in workers]; [w.join() for w in workers]\n"
                                  "    print([w.exitcode for w in workers]); plugin.plugin_run(7)\n")
    result = run(sys.executable, "job.py", where=where).says(0)
    equal((result.status, result.out), (0, "[0, 0, 0, 0]\n"), f"status and output ({result.err})")
    traces, truths = pair(result)
    equal(collections.Counter(map(len, traces.values())), {1: 5}, "traces of a process")
    kernels = []
    for pid, (trace,) in traces.items():
        same_calls(trace.sound().lossless(), truths[pid])
        kernels.append(same_device_work(trace, truths[pid]))
    equal(sorted(kernels), [7, 10, 11, 12, 13], "kernels of each process")


def children_of_vfork_and_bare_clone_leave_nothing():
    for cuda in (0, 1):
        alone = run("raw_children", f"cuda={cuda}", preload=False)
        equal(alone.status, 3, f"status alone ({alone.out})")
        result = as_alone(run("raw_children", f"cuda={cuda}"), alone).says(0)
        equal(len(result.traces), cuda, "traces")
        if cuda:
            trace = result.trace().sound().lossless()
            equal((trace.meta["end.reason"], len(trace.calls("cudaLaunchKernel")), len(trace["run"])), ("exit", 20, 20),
                  "end, launches, kernels")


# --- C -------------------------------------------------------------------------------------------------------------------------

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
    """It takes at most 2 s; a recorder that was not done by then, which takes a machine that kept it waiting, is told."""
    def once(_):
        began = time.monotonic()
        result = run("threads_at_exit", "threads=32", "launches=500")
        took, waited = time.monotonic() - began, WAITING.since(began)
        equal(result.status, 0, f"exit status (stderr: {result.err!r})")
        check(took < 4 + 2 * waited, f"exit took {took:.1f} s, kept waiting for {waited:.2f} s")
        late = "not finished within 2 s of exit" in result.err
        check(not late or waited > 0.3, f"not finished at exit, kept waiting for {waited:.2f} s only")
        result.says(int(late))
        trace = result.trace().sound(complete=not late)
        if trace["clock"]:
            same_calls(trace, result.truth(), prefix=True)
        return took, late

    times, late = zip(*in_pairs(once, range(EXIT_RUNS)))
    check(not all(late), "none was finished at exit")
    return f"{EXIT_RUNS} runs, the longest {max(times):.2f} s, {sum(late)} not finished by then"


def kernels_that_still_run_at_exit_are_counted_as_unfinished():
    result = run("threads_at_exit", "first=1", "threads=2", "launches=900",
                 script="kernel exit_kernel duration=20s\nqueue_depth 100000\n").says(0)
    trace = result.trace().sound()
    launched = [row["correlation"] for row in trace.calls("cudaLaunchKernel") if not row["flags"] & FAILED]
    unfinished = [row for row in trace["run"] if row["flags"] & TIME_INVALID]
    check(unfinished, f"{len(launched)} launches, {len(trace['run'])} kernels, none unfinished")
    equal(trace.losses["unfinished"] + trace.losses["time_invalid"], len(unfinished), "counted")
    known = {row["correlation"] for row in trace["run"]}
    # of each of the two threads the launch that was under way at the exit may come too late for its id or for the last flush
    never = [correlation for correlation in launched if correlation not in known]
    check(len(launched) >= 900 and len(never) <= 2, f"{len(launched)} launches, never told of: {never}")
    return f"{len(unfinished)} of {len(launched)} launches"


def many_short_threads_are_all_there():
    result = run("launch_loop", "steps=3", "threads=200", "kernels=2").says(0)
    equal(result.status, 0, "exit status")
    trace, truth = result.trace().sound().lossless(), result.truth()
    same_calls(trace, truth)
    same_device_work(trace, truth)
    return f"{len(trace['thread'])} threads"


main(a_return_from_main_ends_the_trace, _exit_keeps_its_status_and_what_is_older_than_a_second, signals_end_it_as_alone,
     pythons_own_handlers_work_as_alone, forked_workers_without_cuda_leave_one_file, spawned_workers_with_cuda_leave_a_file_each,
     children_of_vfork_and_bare_clone_leave_nothing,
     a_forked_child_that_uses_no_cuda_leaves_the_parents_trace_alone,
     a_child_that_inherits_used_cuda_has_its_failures_in_its_own_trace, a_child_forked_before_cuda_is_traced_for_itself,
     exec_begins_a_new_trace, exec_with_one_name_keeps_the_first_file, exit_is_not_held_up_by_launching_threads,
     kernels_that_still_run_at_exit_are_counted_as_unfinished,
     many_short_threads_are_all_there)
