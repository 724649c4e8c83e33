"""Kills at random: signals x moments x numbers of threads, on the simulated CUDA. After each the trace must read, `boundshim report`
must take it, each thread's calls must be a prefix of what it did, and nothing may be missing that ended a second before the kill.
Used by tests/e2e/kills.py and scripts/kill-matrix."""
import collections
import os
import random
import resource
import signal
import subprocess
import time

from lib import (APPS, BUILD, HOOKED, WAITING, Result, check, device_rows, device_truth, environment, equal, folder, in_pairs, same_calls)

LOSS_NS = 1_000_000_000
SIGNALS = tuple(getattr(signal, "SIG" + name) for name in "KILL TERM INT HUP QUIT ABRT SEGV BUS".split())
THREADS = (1, 2, 4, 8, 16)
# name -> seconds after the first call
MOMENTS = {"first calls": (0, 0.03), "CUPTI starts": (0.03, 0.3), "running": (0.3, 1.6), "about its end": (0.3, 1.0)}
ENDS = "about its end"
# What a thread does in a step, and its sleep after it in us, if it is alone: more threads sleep longer, so that two shared cores bear
# them and what reads the traces. `steps` is for ever but where the end is what is aimed at.
LOOPS = (("kernels=2 sync=1", 1500), ("kernels=1 sync=4 h2d=1000", 3000), ("kernels=4 graph=1 sync=2", 1000),
         ("kernels=1 sync=1 alloc=100", 1500))

Kill = collections.namedtuple("Kill", "number signal moment threads options seconds")
# outcome: "trace", "complete" (it had ended already), "none" (no file yet), "empty" (killed between making the file and its header);
# the rest where there is a trace: calls in it, and how long before the kill what is missing ended, in ns
Outcome = collections.namedtuple("Outcome", "outcome calls host_loss device_loss")


def plan(count, seed):
    """So many kills; every signal, moment and number of threads equally often."""
    chance = random.Random(seed)
    cells = [(s, m, t) for s in SIGNALS for m in MOMENTS for t in THREADS]
    kills = []
    while len(kills) < count:
        chance.shuffle(cells)
        for signal_, moment, threads in cells[:count - len(kills)]:
            loop, wait_us = chance.choice(LOOPS)
            wait_us *= (threads + 1) // 2
            steps = 300000 // wait_us if moment == ENDS else 1000000
            options = f"steps={steps} threads={threads} quiet=1 wait={wait_us} {loop}"
            kills.append(Kill(len(kills), signal_, moment, threads, options, chance.uniform(*MOMENTS[moment])))
    return kills


def be_mortal():
    """In the child: a shell that starts us in the background has told us to ignore SIGINT and SIGQUIT. No core files either."""
    for number in SIGNALS:
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def kill(item):
    """Runs the loop and kills it so long after its first call; (result, time of the kill on CLOCK_REALTIME)."""
    where = folder("kill")
    process = subprocess.Popen([str(APPS / "launch_loop"), *item.options.split()], cwd=where, env=environment(where),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=be_mortal)
    deadline = time.monotonic() + 10
    while not list(where.glob("truth*.json")) and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(item.seconds)
    at = time.time_ns()
    process.send_signal(item.signal)
    try:
        _, err = process.communicate(timeout=30)
    except subprocess.TimeoutExpired as error:
        process.kill()
        raise AssertionError(f"it runs on after {item.signal.name}") from error
    return Result(where, process.returncode, "", err.decode()), at


def calls_of(truth, tid):
    return [c for c in truth.calls if c["tid"] == tid and not c["nested"] and c["domain"] == "runtime" and c["api"] in HOOKED]


def host_loss(trace, truth, at):
    """How long before the kill the first call ended that the trace lacks. same_calls has shown that those it has are the first ones."""
    worst = 0
    for tid in {c["tid"] for c in truth.calls}:
        missing = calls_of(truth, tid)[len(trace.calls_of(tid)):]
        worst = max([worst, *(at - c["end"] for c in missing[:1])])
    return worst


def device_loss(trace, truth, at):
    """The same of the device's operations, which these programs wait for; nothing is there that did not happen."""
    got, wanted = device_rows(trace), device_truth(truth)
    unfinished = trace.losses["unfinished"] + trace.losses["time_invalid"]
    extra = list((got - wanted).elements())
    check(len(extra) <= unfinished, f"{len(extra)} operations that never happened, e.g. {extra[:1]}")
    return max([0, *(at - op[2] for op in (wanted - got).elements())])


def all_lost(truth, at):
    """How long before the kill the first call ended, and the first operation: nothing of them is in a trace."""
    first_call = min((c["end"] for c in truth.calls if not c["nested"]), default=at)
    return at - first_call, max(0, at - min((op["end"] for op in truth.device_ops()), default=at))


def compare(result, truth, at):
    """The outcome of what was left, before anybody judges its losses."""
    if not result.traces:
        return Outcome("none", 0, *all_lost(truth, at))
    trace = result.trace()
    if trace.refused and not result.traces[0].stat().st_size:
        return Outcome("empty", 0, *all_lost(truth, at))
    trace.sound(complete=False)
    report = subprocess.run([BUILD / "boundshim", "report", result.traces[0]], capture_output=True)
    equal(report.returncode, 0, f"status of report ({report.stderr.decode()!r})")
    kind = "complete" if trace.complete else "trace"
    if not trace["call"]:
        return Outcome(kind, 0, *all_lost(truth, at))
    calls = same_calls(trace, truth, prefix=not trace.complete)
    return Outcome(kind, calls, host_loss(trace, truth, at), device_loss(trace, truth, at))


def examine(result, at, waited_s):
    """`waited_s`: for how long the machine kept a thread waiting while the program ran."""
    outcome = compare(result, result.truth(), at)
    for what, loss in (("call", outcome.host_loss), ("operation of the device", outcome.device_loss)):
        check(loss <= LOSS_NS + 1e9 * waited_s, f"a {what} is missing that ended {loss / 1e9:.2f} s before the kill; kept waiting for"
              f" {waited_s:.2f} s")
    return outcome


def execute(item):
    began = time.monotonic()
    try:
        result, at = kill(item)
        waited_s = WAITING.since(began)
        equal(result.err, "", "stderr")
        outcome = examine(result, at, waited_s)
        check(result.status in (-item.signal, 0 if item.moment == ENDS else -item.signal), f"status {result.status}")
        check(outcome.outcome != "complete" or item.moment == ENDS, "a killed program has a complete trace")
    except AssertionError as error:
        raise AssertionError(f"{item}: {error}") from error
    for path in (*result.traces, *result.truths):
        path.unlink()
    os.rmdir(result.where)
    return item, outcome


def run(count, seed):
    """[(kill, outcome)]; the first that breaks a rule is raised."""
    return in_pairs(execute, plan(count, seed))


def words(results, seed):
    """The closing line of both users."""
    count = collections.Counter(outcome.outcome for _, outcome in results)
    worst = [max(getattr(outcome, name) for _, outcome in results) for name in ("host_loss", "device_loss")]
    return (f"{len(results)} kills (seed {seed}), {sum(o.calls for _, o in results)} calls recorded; {count['trace']} traces cut short, "
            f"{count['complete']} complete, {count['none']} before there was a file, {count['empty']} before its header; "
            f"0 unreadable; missing at most the last {worst[0] / 1e6:.0f} ms of calls, {worst[1] / 1e6:.0f} ms of the device")
