#!/usr/bin/env python3
"""Each call of libc that the shim makes fails, each in its turn, once and for ever (fail_calls.c): memory, files, threads, clocks
aside. The program is as alone; the trace decodes, and what it lacks is counted or said."""
import os
import subprocess

from lib import NESTED, SHIM, TMP, as_alone, check, equal, expected_calls, folder, in_pairs, main, need, need_sim, run

need("gcc")
need_sim("launch_loop", "library_calls")

FAIL = TMP / "fail_calls.so"
subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-fno-builtin", "-o", FAIL, os.path.join(os.path.dirname(__file__), "fail_calls.c"),
                "-ldl", "-pthread"], check=True)
SHORT = ("steps=12", "kernels=2", "h2d=100", "sync=4", "threads=2")
COUNTERS = ("steps=35", "kernels=2", "sync=1", "wait=10000")  # long enough for a burst of the hardware's counters
ALONE = {options: run("launch_loop", *options, preload=False) for options in (SHORT, COUNTERS)}
ENOSYS, EINTR, EIO, EAGAIN, ENOMEM, EACCES, EMFILE, EINVAL, ENOSPC = 38, 4, 5, 11, 12, 13, 24, 22, 28
# What each may fail with; 0 for pwrite is a short write.
ERRORS = {"malloc": (ENOMEM,), "calloc": (ENOMEM,), "mmap": (ENOMEM,), "open": (EMFILE, EACCES), "close": (EIO,), "fcntl": (EMFILE,),
          "read": (EIO,), "write": (EIO, EAGAIN), "pwrite": (ENOSPC, EINTR, 0), "ftruncate": (EIO,), "stat": (EACCES,),
          "readlink": (EACCES,), "getrandom": (EAGAIN, ENOSYS), "gethostname": (EINVAL,), "uname": (EINVAL,), "getrusage": (EINVAL,),
          "nanosleep": (EINTR,), "prctl": (EINVAL,), "setpriority": (EACCES,), "pthread_create": (EAGAIN,),
          "pthread_key_create": (EAGAIN,), "pthread_setspecific": (ENOMEM,), "pthread_sigmask": (EINVAL,),
          "pthread_mutex_init": (ENOMEM,), "syscall": (EINTR,)}
# Calls whose number is a matter of time are tried so often at most.
MOST = 60
LINES_MOST = 2


def preloaded(options, **env):
    return run("launch_loop", *options, env={"LD_PRELOAD": f"{FAIL} {SHIM}", **env})


def count(options):
    """Calls of each function by the shim, in a run where none fails."""
    file = folder("count") / "calls"
    as_alone(preloaded(options, FAIL_COUNT=file), ALONE[options]).says(0).trace().sound().lossless()
    return {name: int(n) for name, n in map(str.split, file.read_text().splitlines())}


def made_and_kept(trace, truth):
    made = sum(len(expected_calls(truth, tid)) for tid in {c["tid"] for c in truth.calls})
    return made, len([row for row in trace["call"] if not row["flags"] & NESTED])


def verify(result, options):
    as_alone(result, ALONE[options])
    ours = [line for line in result.err.splitlines() if line.startswith("boundshim: ")]
    check(len(ours) <= LINES_MOST, f"{len(ours)} lines: {ours}")
    if not result.traces:
        return "nothing"
    trace = result.trace().sound(complete=False)
    made, kept = made_and_kept(trace, result.truth())
    lost = sum(trace.losses.values())
    check(kept <= made, f"{kept} calls of {made}")
    if trace.complete:
        check(kept + lost >= made, f"{made} calls made, {kept} kept, {lost} counted as lost")
    else:
        check(ours, "an incomplete trace, and nobody was told")
    return "whole" if kept == made and trace.complete and not lost else "part"


def once(item):
    options, function, n, error, mode = item
    try:
        result = preloaded(options, FAIL_CALL=f"{function}:{n}:{error}{mode}")
        what = verify(result, options)
        # the line itself could not be written, or it must say so
        check(what != "nothing" or result.err or function == "write", "no trace, and nobody was told")
    except AssertionError as failure:
        raise AssertionError(f"{function}, call {n}{mode}, errno {error}: {failure}") from failure
    return what


def faults(options, first, last):
    return [(options, name, n, error, mode) for name, errors in ERRORS.items() for n in range(first[name] + 1, min(last[name], MOST) + 1)
            for error in errors for mode in ("", "+") if (name, mode) != ("syscall", "+")]


def words(what, calls):
    return (f"{len(what)} faults of {sum(n > 0 for n in calls.values())} functions: {what.count('whole')} whole traces, "
            f"{what.count('part')} with a part, {what.count('nothing')} without a trace")


def every_call_may_fail_once_or_for_ever():
    calls = count(SHORT)
    equal(sorted(calls), sorted(ERRORS), "functions")
    return words(in_pairs(once, faults(SHORT, dict.fromkeys(calls, 0), calls)), calls)


def every_call_that_counters_need_may_fail_too():
    """What a program makes beyond a short one; writes, waits and getrusage the short one has enough of."""
    short, calls = count(SHORT), count(COUNTERS)
    calls["pwrite"] = calls["syscall"] = calls["getrusage"] = 0
    what = in_pairs(once, faults(COUNTERS, short, calls))
    check(what, "the counters need nothing")
    return words(what, calls)


main(every_call_may_fail_once_or_for_ever, every_call_that_counters_need_may_fail_too)
