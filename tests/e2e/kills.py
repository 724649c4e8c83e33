#!/usr/bin/env python3
"""Killed at random (kill_matrix.py) and at every write: the trace reads, each thread's calls are a prefix of what it did, and nothing
older than a second is missing, of the device neither."""
import os
import signal
import subprocess
import time

import kill_matrix
from lib import APPS, BUILD, KILLED, Result, check, environment, equal, folder, in_pairs, main, need, need_sim, run, same_calls

need_sim("launch_loop")

KILLS = int(os.environ.get("KILLS", 100))
SEED = int(os.environ.get("BOUNDSHIM_TEST_SEED", 1))


def random_kills_lose_at_most_a_second():
    results = kill_matrix.run(KILLS, SEED)
    check(sum(outcome.calls for _, outcome in results) > 1000, "too few calls were recorded to say anything")
    return kill_matrix.words(results, SEED)


def named(function):
    """A failure says which item it was."""
    def wrapped(item):
        try:
            return function(item)
        except AssertionError as error:
            raise AssertionError(f"{item}: {error}") from error
    return wrapped


def a_kill_while_a_long_kernel_runs_keeps_the_calls():
    script = "kernel kernel_1 duration=30s\n"
    where = folder("long")
    process = subprocess.Popen([str(APPS / "launch_loop"), "steps=1", "kernels=2", "sync=1"], cwd=where,
                               env=environment(where, script=script), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(1.5)
    process.kill()
    process.communicate()
    result = Result(where, process.returncode, "", "")
    trace = result.trace().sound(complete=False)
    equal(len(trace.calls("cudaLaunchKernel")), 2, "launches")
    check(len(trace["run"]) <= 2, "more kernels than were launched")
    known = {row["correlation"] for row in trace["run"] if not row["flags"] & 1}
    never = [row for row in trace.calls("cudaLaunchKernel") if row["correlation"] not in known]
    check(never, "the running kernel is said to have ended")
    return f"{len(never)} of 2 launches without an end"


# --- at every write -----------------------------------------------------------------------------------

SHORT = ("steps=20", "kernels=2", "h2d=100", "wait=30000", "sync=1")


def strace(*arguments):
    return ["strace", "-f", "-qq", "-e", "signal=none", "-o", "/dev/null", *arguments]


def count_writes():
    where = folder("count")
    result = run("launch_loop", *SHORT, where=where,
                 prefix=["strace", "-f", "-qq", "-e", "signal=none", "-e", "trace=pwrite64", "-o", str(where / "log")])
    equal(result.status, 0, "exit status under strace")
    return sum("pwrite64" in line for line in (where / "log").read_text().splitlines())


def a_kill_at_each_write_leaves_what_was_written():
    need("strace")
    if subprocess.run(strace("true"), capture_output=True).returncode:
        return "skipped: strace may not trace here"
    writes = count_writes()
    check(writes > 20, f"only {writes} writes")

    def once(n):
        result = run("launch_loop", *SHORT, prefix=strace("-e", f"inject=pwrite64:signal=SIGKILL:when={n}"))
        if result.status == 0:
            return 0
        check(result.status in (KILLED, 128 + signal.SIGKILL), f"write {n}: status {result.status}")
        trace = result.trace()
        from_c = subprocess.run([BUILD / "boundshim", "info", "--dump", trace.path], capture_output=True).stdout.decode()
        equal(from_c, trace.dump, "what the C reader (got) and scripts/bstdump (expected) say")
        if n == 1:
            return 1
        trace.sound(complete=False)
        check(not trace.complete, f"killed at write {n}, and complete")
        if trace["clock"] and trace["call"]:
            same_calls(trace, result.truth(), prefix=True)
        return 1

    killed = in_pairs(named(once), range(1, writes + 5))
    # how many there are differs a little from run to run; the header is written by another thread, with a count of its own
    check(all(killed[:20]), f"some of the first writes were not reached: {killed}")
    return f"{sum(killed)} writes, both readers say the same of what each left"


main(random_kills_lose_at_most_a_second, a_kill_while_a_long_kernel_runs_keeps_the_calls,
     a_kill_at_each_write_leaves_what_was_written)
