#!/usr/bin/env python3
"""kill -9 at random moments and at every write: the trace reads, each thread's calls are a prefix of what it did, and nothing
older than a second is missing; of the device nothing that was handed over a second ago."""
import random
import os
import signal
import subprocess
import time

from lib import (APPS, HOOKED, KILLED, Trace, Truth, Result, check, environment, equal, folder, in_pairs, main, need, need_sim,
                 same_calls, device_rows, device_truth, run)

need_sim("launch_loop")

KILLS = int(os.environ.get("KILLS", 50))
SEED = int(os.environ.get("BOUNDSHIM_TEST_SEED", 1))
LOSS_NS = 1_000_000_000
LOOPS = (
    "steps=1000000 kernels=2 sync=1 wait=1500 quiet=1",
    "steps=1000000 kernels=1 threads=3 sync=4 h2d=1000 wait=5000 quiet=1",
    "steps=1000000 kernels=4 graph=1 sync=2 wait=1000 quiet=1",
    "steps=1000000 kernels=1 sync=1 alloc=100 wait=1500 quiet=1",
)


def kill_after(options, seconds):
    """Runs the loop, kills it so long after its first call; (result, time of the kill on CLOCK_REALTIME)."""
    where = folder("kill")
    process = subprocess.Popen([str(APPS / "launch_loop"), *options.split()], cwd=where, env=environment(where),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 10
    while not list(where.glob("truth*.json")) and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(seconds)
    at = time.time_ns()
    process.send_signal(signal.SIGKILL)
    _, err = process.communicate()
    return Result(where, process.returncode, "", err.decode()), at


def check_old_calls(trace, truth, at):
    """Every call that ended a second before the kill is in the trace: same_calls has shown that the rest are too."""
    for tid in {c["tid"] for c in truth.calls}:
        old = [c for c in truth.calls if c["tid"] == tid and not c["nested"] and c["domain"] == "runtime"
               and c["end"] < at - LOSS_NS and c["api"] in HOOKED]
        have = [row for row in trace.calls_of(tid)]
        check(len(have) >= len(old), f"thread {tid}: {len(old)} calls are older than a second, {len(have)} are in the trace")


def check_device(trace, truth, at):
    """Nothing that did not happen; nothing missing that ended a second ago, since these programs wait for their kernels."""
    got, wanted = device_rows(trace), device_truth(truth)
    unfinished = trace.losses["unfinished"] + trace.losses["time_invalid"]
    extra = list((got - wanted).elements())
    check(len(extra) <= unfinished, f"{len(extra)} operations that never happened, e.g. {extra[:1]}")
    missing = [op for op in (wanted - got).elements() if op[2] < at - LOSS_NS]
    check(not missing, f"{len(missing)} operations older than a second are missing, the first {missing[:1]}")


def random_kills_lose_at_most_a_second():
    chance = random.Random(SEED)
    plan = [(LOOPS[i % len(LOOPS)], chance.uniform(0, 0.2) if i % 5 == 0 else chance.uniform(0, 1.6)) for i in range(KILLS)]
    calls = without = 0

    def once(item):
        options, seconds = item
        result, at = kill_after(options, seconds)
        equal(result.status, KILLED, f"status ({result.err!r})")
        equal(result.err, "", "stderr")
        truth = result.truth()
        if not result.traces:
            check(not [c for c in truth.calls if c["end"] < at - LOSS_NS], "no trace after a second of calls")
            return None
        trace = result.trace()
        if trace.refused:
            # killed between the making of the file and its header
            equal(result.traces[0].stat().st_size, 0, "a file whose header is not good has bytes")
            return None
        trace.sound(complete=False)
        check(not trace.complete, "a killed program has a complete trace")
        if not trace["call"]:
            check(not [c for c in truth.calls if c["end"] < at - LOSS_NS], "no calls in the trace")
            return 0
        same = same_calls(trace, truth, prefix=True)
        check_old_calls(trace, truth, at)
        check_device(trace, truth, at)
        return same

    for count in in_pairs(named(once), plan):
        calls, without = calls + (count or 0), without + (count is None)
    check(calls > 1000, "too few calls were recorded to say anything")
    return f"{KILLS} kills (seed {SEED}), {calls} calls recorded, {without} before there was a trace"


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
    return f"{sum(killed)} writes"



main(random_kills_lose_at_most_a_second, a_kill_while_a_long_kernel_runs_keeps_the_calls,
     a_kill_at_each_write_leaves_what_was_written)
