#!/usr/bin/env python3
"""When hardware counters are sampled: while something runs, on one device after the other, within a share of a core; and they are given
back whenever a burst, the program or the recording ends."""
import os
import random
import subprocess
import time

from counters_truth import COARSE, LOOP, SCRIPT, UNITS, bursts_add_up, given_back, loop, pm_calls, true_samples, whole
from lib import APPS, KILLED, WAITING, Result, Trace, Truth, as_alone, check, environment, equal, folder, in_pairs, main, run

SEED = int(os.environ.get("BOUNDSHIM_TEST_SEED", 1))


# --- when and where -------------------------------------------------------------------------------------

def two_devices_take_turns():
    result = loop(1.2, "threads=2", "devices=2", script="devices 2\n").says(0)
    trace, truth = whole(result)
    given_back(truth)
    turns = [row["device"] for row in trace["burst"]]
    for device in (0, 1):
        good, reason = bursts_add_up(trace, device)
        equal(reason, "", "reason")
        check(true_samples(trace, truth, device) > 500, f"device {device}: too few samples")
        check(len(good) >= 3, f"device {device}: {len(good)} bursts")
        equal(len([row for row in trace["metric"] if row["set"] == device + 1]), len(UNITS), "metrics of a set")
    check(abs(turns.count(0) - turns.count(1)) <= 2, "turns:", turns)


def a_device_that_refuses_leaves_the_other_one_sampled():
    result = loop(1, "threads=2", "devices=2", script="devices 2\nfail cuptiPmSamplingEnable 1 26\n",
                  env={"BOUNDSHIM_COUNTERS": "on"}).says(1, "another tool holds")
    trace, truth = whole(result)
    given_back(truth)
    refused = [row["device"] for row in trace["burst"] if row["reason"]]
    equal(len(refused), 1, "devices that refused")
    other = 1 - refused[0]
    check(true_samples(trace, truth, other) > 500, "too few samples of the other one")
    equal([row for row in trace["sample"] if row["device"] == refused[0]], [], "samples of the one that refused")


def nothing_is_sampled_while_nothing_runs():
    """One kernel a second: a burst finds it or not, and the counters are left alone until the next one."""
    result = run("launch_loop", "steps=4", "wait=700000", "sync=1", "quiet=1", script=SCRIPT)
    trace, truth = whole(result)
    given_back(truth)
    bursts_add_up(trace)
    count = len(pm_calls(truth, "cuptiPmSamplingEnable"))
    check(1 <= count <= 12, f"{count} bursts for 4 kernels in 3 s")  # three for each: asked for, found, found nothing
    return f"{count} bursts"


def a_kernel_of_seconds_is_sampled_while_it_runs():
    trace, truth = whole(run("launch_loop", "steps=2", "sync=1", "quiet=1", script="kernel kernel_0 duration=1s\n"))
    given_back(truth)
    good, _ = bursts_add_up(trace)
    check(len(good) >= 3, f"{len(good)} bursts in kernels of a second")
    check(true_samples(trace, truth, kernels={}) > 1000, "too few samples")


def early_bursts_wait_for_steady_launches():
    """A start-up of ten launches and 2.2 s of loading, then steps. The first burst finds nothing and may; the second waits for the steps."""
    program = folder("start-up") / "program"
    program.write_text("repeat 10\nlaunch kernel_0 0\nend\nsync 0\nsleep 2200000\nrepeat 400\nlaunch kernel_0 0\nlaunch kernel_1 0\nsync 0\nend\n")
    # each burst costs more than the time until then has earned
    began = time.monotonic()
    trace, truth = whole(run("play", program, script=COARSE + "pm_call_cost 80ms\n"))
    given_back(truth)
    true_samples(trace, truth)
    good, _ = bursts_add_up(trace)
    steps = min(op["start"] for op in truth.ops if op["kind"] == "kernel" and op["name"] == "kernel_1")
    starts = [row["time"] for row in pm_calls(truth, "cuptiPmSamplingStart")]
    check(len(good) >= 2, f"{len(good)} bursts")
    check(starts[0] < steps - 300_000_000, f"the first burst began {(starts[0] - steps) / 1e6:.0f} ms after the steps did")
    most = 700_000_000 + 1e9 * WAITING.since(began)
    check(50_000_000 <= starts[1] - steps <= most, f"the second burst began {(starts[1] - steps) / 1e6:.0f} ms after the steps did")
    return f"the second began {(starts[1] - steps) / 1e6:.0f} ms after the steps did"


def decoding_keeps_within_its_share_of_a_core():
    result = loop(4, script="pm_decode_cost 40us\n")
    trace, truth = whole(result)
    given_back(truth)
    good, _ = bursts_add_up(trace)
    check(len(good) >= 3, f"{len(good)} bursts")
    cpu = sum(row["cpu"] for row in good[:-1])
    share = cpu / (good[-1]["begin"] - good[0]["begin"])
    check(share <= 0.2, f"{share:.2f} of a core")
    gaps = [b["begin"] - a["end"] for a, b in zip(good, good[1:])]
    check(min(gaps) >= 20_000_000, f"the counters were given back for {min(gaps)} ns only")
    return f"{share:.3f} of a core, {len(good)} bursts"


def the_end_of_the_recording_ends_sampling():
    began = time.monotonic()
    result = loop(1.2, env={"BOUNDSHIM_DURATION_S": "0.9"}).says(0)
    trace, truth = result.trace().sound(), result.truth()
    equal(trace.meta["end.reason"], "duration", "end.reason")
    check(given_back(truth) >= 1, "no burst")
    bursts_add_up(trace)
    last = max(row["time"] for row in pm_calls(truth))
    most = 1_500_000_000 + 1e9 * WAITING.since(began)
    check(last < min(c["begin"] for c in truth.calls) + most, "counters were read after the end of the recording")


# --- ends ---------------------------------------------------------------------------------------------------

def enabled_at(truth, at):
    state = False
    for row in pm_calls(truth):
        if row["time"] > at:
            break
        state = {"cuptiPmSamplingEnable": True, "cuptiPmSamplingDisable": False}.get(row["call"], state)
    return state


def an_exit_during_a_burst_is_clean_and_quick():
    chance = random.Random(SEED)

    def once(seconds):
        began = time.monotonic()
        result = loop(seconds, script="pm_decode_cost 50us\npm_call_cost 60ms\n", env={"BOUNDSHIM_COUNTERS": "on"}).says(0)
        waited = WAITING.since(began)
        equal(result.status, 0, f"{seconds}: status ({result.err})")
        trace, truth = whole(result)
        given_back(truth)
        bursts_add_up(trace)
        true_samples(trace, truth)
        last = max(c["end"] for c in truth.calls)
        rows = pm_calls(truth)
        took = max(row["time"] for row in rows) - last if rows else 0
        return enabled_at(truth, last), took / 1e6, took / 1e6 - 1000 * waited

    ends = in_pairs(once, [chance.uniform(-0.3, 0.7) for _ in range(30)])
    late = sorted(ms for during, ms, _ in ends if during)
    check(late, "no exit fell into a burst")
    own = sorted(ms for during, _, ms in ends if during)
    check(own[len(own) // 2] < 250, f"the exit waited {late} ms for the counters, {own} without what the machine kept it waiting")
    return f"{len(late)} of {len(ends)} during a burst, which ended {late[len(late) // 2]:.0f} ms after the last call"


def an_exit_waits_for_slow_decoding_but_not_for_ever():
    result = loop(0.1, script="pm_decode_cost 400us\n").says(0)
    equal(result.status, 0, f"status ({result.err})")
    whole(result)
    began = time.monotonic()
    result = loop(0.3, script="pm_decode_cost 20ms\npm_no_statics on\n").says(0)
    equal(result.status, 0, f"status ({result.err})")
    check(time.monotonic() - began < 6 + 2 * WAITING.since(began), "held up at exit")
    trace = result.trace().sound().lossless()
    equal([row["reason"] for row in trace["burst"]], ["not ended when the program did"], "reasons")


def forks_during_bursts_harm_neither_side():
    for child in ("exit", "_exit", "cuda"):
        options = ("ms=1500", f"child={child}")
        script = "kernel busy_kernel duration=400us\n"
        result = as_alone(run("fork_busy", *options, script=script), run("fork_busy", *options, preload=False)).says(0)
        parents = [Trace(path) for path in result.traces]
        parents = [trace.sound().lossless() for trace in parents if trace["run"]]
        equal(len(parents), 1, "traces with kernels")
        truth = [truth for truth in map(Truth, result.truths) if truth.ops]
        equal(len(truth), 1, "truths with kernels")
        check(given_back(truth[0]) >= 3, "too few bursts")
        bursts_add_up(parents[0])
        true_samples(parents[0], truth[0], kernels={})
        pid = parents[0].meta["process.pid"]
        equal({str(row["pid"]) for row in pm_calls(truth[0])}, {pid}, "processes that made PM calls")


def a_kill_during_a_burst_leaves_what_was_sampled():
    chance = random.Random(SEED)

    def once(seconds):
        where = folder("kill")
        process = subprocess.Popen([str(APPS / "launch_loop"), "steps=1000000", *LOOP], cwd=where,
                                   env=environment(where, script=SCRIPT), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        time.sleep(seconds)
        process.kill()
        _, err = process.communicate()
        result = Result(where, process.returncode, "", err.decode())
        equal((result.status, result.err), (KILLED, ""), "status and stderr")
        trace, truth = result.trace().sound(complete=False), result.truth()
        given_back(truth, complete=False)
        check(sum(row["samples"] for row in trace["burst"]) <= len(trace["sample"]), "a burst without its samples")
        return true_samples(trace, truth)

    counts = in_pairs(once, [chance.uniform(1.2, 2) for _ in range(10)])
    check(sum(counts) > 1000, f"samples left: {counts}")
    return f"{len(counts)} kills, {sum(counts)} samples left"


main(two_devices_take_turns, a_device_that_refuses_leaves_the_other_one_sampled, nothing_is_sampled_while_nothing_runs,
     a_kernel_of_seconds_is_sampled_while_it_runs, early_bursts_wait_for_steady_launches, decoding_keeps_within_its_share_of_a_core,
     the_end_of_the_recording_ends_sampling, an_exit_during_a_burst_is_clean_and_quick, an_exit_waits_for_slow_decoding_but_not_for_ever,
     forks_during_bursts_harm_neither_side, a_kill_during_a_burst_leaves_what_was_sampled)
