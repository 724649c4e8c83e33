#!/usr/bin/env python3
"""Hardware counters on the simulated GPU: samples are what the GPU did, bursts are told with their cost, refusals end them with a
reason and nothing else, and the counters are given back whenever a burst, the program or the recording ends."""
import bisect
import os
import random
import subprocess
import time

from lib import (APPS, CUPTI, KILLED, WAITING, Result, Trace, Truth, as_alone, check, environment, equal, folder, in_pairs, main, need_sim, run,
                 same_calls, same_device_work)

need_sim("launch_loop", "fork_busy", "die", "play")

SEED = int(os.environ.get("BOUNDSHIM_TEST_SEED", 1))
UNITS = {0: "dram_read", 1: "dram_write", 2: "tensor", 3: "fma", 4: "alu", 5: "fp64", 6: "sm_active", 8: "l2", 9: "l1", 10: "sm_clock",
         11: "xu"}
CLOCK_HZ = 1_980_000_000
KERNELS = {
    "kernel_0": {"tensor": 80, "dram_read": 10, "alu": 3, "sm_active": 100},
    "kernel_1": {"dram_read": 90, "dram_write": 30, "l2": 70, "l1": 22, "sm_active": 100},
    "kernel_2": {"fp64": 66, "fma": 41, "xu": 7, "sm_active": 50},
}


def kernels_of(*durations_us):
    return "".join(f"kernel {name} duration={us}us counters={','.join(f'{k}:{v}' for k, v in values.items())}\n"
                   for (name, values), us in zip(KERNELS.items(), durations_us))


FINE, COARSE = kernels_of(170, 60, 35), kernels_of(1810, 640, 330)
SCRIPT = COARSE
LOOP = ("kernels=3", "sync=1", "quiet=1")
STEP_S = {FINE: 0.0003, COARSE: 0.0029}  # and what waiting takes
FIRST_S = 0.5  # auto begins so long after the first launch
# freed memory is overwritten: CUPTI keeps the pointer to the configuration
FREED_IS_SEEN = {"MALLOC_PERTURB_": "165"}


def loop(seconds, *options, script="", kernels=COARSE, **settings):
    """launch_loop for so long, if the machine is free."""
    settings.setdefault("env", {})
    settings["env"] = {**FREED_IS_SEEN, **settings["env"]}
    return run("launch_loop", f"steps={int((FIRST_S + seconds) / STEP_S[kernels])}", *LOOP, *options, script=kernels + script, **settings)


def pm_calls(truth, name=None):
    rows = [row for row in truth.cupti if row["call"].startswith(("cuptiPm", "cuptiProfiler", "cuptiDeviceGetChip"))]
    return [row for row in rows if row["call"] == name] if name else rows


def given_back(truth, complete=True):
    """Each session is disabled before the next one on any device, none is left, and the profiler is never ended. How many."""
    calls, open_on, count = pm_calls(truth), None, 0
    for row in calls:
        if row["call"] == "cuptiPmSamplingEnable" and not row["ret"]:
            check(open_on is None, "two sessions at once:", row)
            open_on, count = row["device"], count + 1
        elif row["call"] == "cuptiPmSamplingDisable":
            equal(row["device"], open_on, "the device disabled")
            open_on = None
        elif row["call"] == "cuptiProfilerDeInitialize":
            raise AssertionError("cuptiProfilerDeInitialize was called")
    check(open_on is None or not complete, "a session was left enabled")
    check(len(pm_calls(truth, "cuptiProfilerInitialize")) <= 1, "initialised more than once")
    return count


class Timeline:
    """What one device's counters were at any time, by the truth: mean(begin, end, counter)."""

    def __init__(self, truth, device, kernels=KERNELS, idle=None, writeback=0):
        self.idle, self.lines = idle or {}, {}
        for counter in UNITS.values():
            late, changes = writeback if counter == "dram_write" else 0, []
            for op in truth.ops:
                value = kernels.get(op["name"], {"sm_active": 100}).get(counter, 0)
                if op["kind"] == "kernel" and op["device"] == device and value:
                    changes += [(op["start"] + late, value), (op["end"] + late, -value)]
            self.lines[counter] = self.integrate(sorted(changes), self.idle.get(counter, 0))

    @staticmethod
    def integrate(changes, now):
        # from a while before the first change: an integral from 1970 on has no digits to spare
        last = changes[0][0] - 10**9 if changes else 0
        times, sums, levels, total = [last], [0.0], [min(now, 100)], 0.0
        for at, change in changes:
            total, last, now = total + min(max(now, 0), 100) * (at - last), at, now + change
            times.append(at)
            sums.append(total)
            levels.append(min(max(now, 0), 100))
        return times, sums, levels

    def upto(self, counter, at):
        times, sums, levels = self.lines[counter]
        i = bisect.bisect(times, at) - 1
        return sums[i] + levels[i] * (at - times[i])

    def mean(self, begin, end, counter):
        return (self.upto(counter, end) - self.upto(counter, begin)) / (end - begin)


def true_samples(trace, truth, device=0, slots=UNITS, noise=0, **timeline):
    """Each sample is the mean of what ran; none comes twice, backwards, or from before its burst began. Returns how many."""
    line = Timeline(truth, device, **timeline)
    rows = [row for row in trace["sample"] if row["device"] == device]
    starts = [row["time"] for row in pm_calls(truth, "cuptiPmSamplingStart") if row["device"] == device and not row["ret"]]
    stops = [row["time"] for row in pm_calls(truth, "cuptiPmSamplingStop") if row["device"] == device]
    last = 0
    for row in rows:
        begin, end = row["begin"], row["begin"] + row["duration"]
        check(row["duration"] > 0 and begin >= last, "a sample that goes back:", row)
        last = end
        i = bisect.bisect(starts, begin) - 1
        check(i >= 0, "a sample from before the start:", row)
        check(i >= len(stops) or end <= stops[i], "a sample from after the stop:", row)
        equal(row["set"], device + 1, "set")
        for slot in range(12):
            got = row[f"v{slot}"]
            if slot not in slots:
                equal(got, 0, f"v{slot}, which has no metric")
            elif slots[slot] == "sm_clock":
                equal(got, CLOCK_HZ, "sm_clock")
            else:
                wanted = line.mean(begin, end, slots[slot])
                check(abs(got / 100 - wanted) <= 0.02 + noise, f"{slots[slot]} is {got / 100}, was {wanted:.3f}:", row)
    return len(rows)


def bursts_add_up(trace, device=0):
    """The samples of a device's bursts are all there. Its good bursts and the one that ended with a reason, if any."""
    rows = [row for row in trace["burst"] if row["device"] == device]
    good = [row for row in rows if not row["reason"]]
    equal(sum(row["samples"] for row in rows), len([r for r in trace["sample"] if r["device"] == device]), "samples of all bursts")
    for row in rows:
        check(row["begin"] <= row["end"], "a burst that ends before it began:", row)
    for row in good:
        check(row["dropped"] >= 1, "the first sample, from configuration to start, was kept:", row)
        check(row["cpu"] > 0, "a burst without CPU time:", row)
    check(len(rows) - len(good) <= 1, "more than one reason:", *(row["reason"] for row in rows))
    return good, next((row["reason"] for row in rows if row["reason"]), "")


def whole(result):
    """The activity trace does not suffer."""
    trace, truth = result.trace().sound().lossless(), result.truth()
    same_calls(trace, truth)
    same_device_work(trace, truth)
    return trace, truth


# --- what is sampled --------------------------------------------------------------------------------

def samples_are_what_the_gpu_did():
    result = loop(1.5, kernels=FINE).says(0)
    equal(result.status, 0, f"status ({result.err})")
    trace, truth = whole(result)
    count = true_samples(trace, truth)
    good, reason = bursts_add_up(trace)
    equal(reason, "", "reason")
    check(len(good) >= 4, f"only {len(good)} bursts")
    check(count > 2500, f"only {count} samples")
    equal(given_back(truth), len(good), "sessions")
    for row in good:
        equal((row["interval"], row["set"]), (100_000, 1), "interval and set of a burst")
    check(all(row["duration"] == 100_000 for row in trace["sample"]), "durations other than the interval")
    return f"{count} samples in {len(good)} bursts"


def metrics_are_told_with_name_unit_and_source():
    rows = {row["slot"]: row for row in loop(0.7).trace()["metric"]}
    equal({slot: row["name"] for slot, row in rows.items()}, UNITS, "names")
    for slot, row in rows.items():
        clock = row["name"] == "sm_clock"
        equal((row["set"], row["scale"], row["unit"]), (1, 1 if clock else 100, "hz" if clock else "pct"), row["name"])
    equal(rows[2]["source"], "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", "source")
    equal(rows[10]["source"], "gpc__cycles_elapsed.avg.per_second", "source")


def kernels_side_by_side_graphs_and_tails_are_counted():
    cases = (
        (("streams=4",), "", {}),
        (("graph=1",), "", {}),
        ((), "pm_writeback 40us\n", {"writeback": 40_000}),
        ((), "pm_idle sm_active:7,dram_read:15\n", {"idle": {"sm_active": 7, "dram_read": 15}}),
        ((), "pm_noise 1.5\n", {"noise": 1.5}),
    )

    def once(case):
        options, script, timeline = case
        trace, truth = whole(loop(0.8, *options, script=script, kernels=FINE))
        bursts_add_up(trace)
        count = true_samples(trace, truth, **timeline)
        check(count > 500, f"{case}: only {count} samples")

    in_pairs(once, cases)


def other_chips_give_what_fits_one_pass():
    ga100 = {0: "dram_read", 1: "dram_write", 2: "tensor", 3: "fma", 6: "sm_active", 10: "sm_clock"}
    ad102 = {0: "dram_read", 1: "dram_write", 2: "tensor", 6: "sm_active", 8: "l2", 9: "l1", 10: "sm_clock"}

    def once(case):
        chip, slots = case
        trace, truth = whole(loop(0.7, script=f"device chip={chip}\n"))
        equal({row["slot"]: row["name"] for row in trace["metric"]}, slots, f"{chip}: metrics")
        check(true_samples(trace, truth, slots=slots) > 300, f"{chip}: too few samples")
        equal(bursts_add_up(trace)[1], "", f"{chip}: reason")
        # GA100 has no time interval, only clock cycles
        check(all(abs(row["duration"] - 100_000) <= 1 for row in trace["sample"]), f"{chip}: durations")

    in_pairs(once, (("GA100", ga100), ("AD102", ad102)))
    trace, truth = whole(as_alone(loop(0.6, script="device chip=GX999\n").says(0), loop(0.6, preload=False)))
    equal(len(trace["sample"]), 0, "samples of an unknown chip")
    check("choosing metrics" in bursts_add_up(trace)[1], trace["burst"])


def all_that_was_delivered_is_decoded():
    """Decoding that stops early leaves nothing out; of an image that was full there is what it held, and nothing twice."""
    for script, least, most in (("pm_decode_most 37\n", 950, 1333), ("pm_image_most 90\n", 89, 89)):
        trace, truth = whole(loop(0.8, script=script))
        true_samples(trace, truth)
        good, reason = bursts_add_up(trace)
        equal(reason, "", "reason")
        for row in good[:-1]:
            check(least <= row["samples"] <= most, f"{script}: samples of a burst:", row)


def a_burst_that_was_stopped_too_late_is_lost_alone():
    """The hardware's buffer is full when a thread that got no core comes to stop it: the next burst may do better."""
    began = time.monotonic()
    trace, truth = whole(loop(1.2, script="pm_late_stop 60ms\n", env={"BOUNDSHIM_COUNTER_INTERVAL_US": "10"}).says(0))
    good, reason = bursts_add_up(trace)
    equal((reason, good[0]["samples"]), ("", 0), "reason, and samples of the first burst")
    check(good[0]["dropped"] >= 6000, f"{good[0]['dropped']} dropped")
    equal(given_back(truth), len(good), "sessions")
    count = true_samples(trace, truth)
    check(len(good) >= 2 and (count > 5 or WAITING.since(began) > 0.2), f"{count} samples in {len(good)} bursts")


def any_interval_is_survived():
    def once(case):
        value, lines, duration = case
        began = time.monotonic()
        result = loop(0.6, env={"BOUNDSHIM_COUNTER_INTERVAL_US": value})
        equal(result.status, 0, f"{value}: status ({result.err})")
        result.says(lines, *(["BOUNDSHIM_COUNTER_INTERVAL_US"] if lines else []))
        trace, truth = whole(result)
        equal(bursts_add_up(trace)[1], "", f"{value}: reason")
        # each burst of 15 ms may be stopped 26 ms late, and is lost then
        check(true_samples(trace, truth) > 5 or WAITING.since(began) > 0.2, f"{value}: too few samples")
        equal({row["duration"] for row in trace["sample"]} | {duration}, {duration}, f"{value}: durations")
        equal({row["interval"] for row in trace["burst"]}, {duration}, f"{value}: interval told")

    in_pairs(once, (("0", 1, 10_000), ("1", 1, 10_000), ("10", 0, 10_000), ("250", 0, 250_000), ("4000000", 1, 10_000_000),
                    ("4503599627370496", 1, 10_000_000), ("99999999999999999999", 1, 100_000)))


# --- refusals ------------------------------------------------------------------------------------------

REFUSALS = (
    # script line, what the reason says, whether bursts come before
    ("fail cuptiPmSamplingGetCounterAvailability 1 35 forever", "not permitted", False),
    ("fail cuptiPmSamplingGetCounterAvailability 2 35 forever", "not permitted", False),
    ("fail cuptiPmSamplingStart 1 35", "not permitted", False),
    ("fail cuptiPmSamplingStart 2 35", "not permitted", True),
    ("fail cuptiPmSamplingGetCounterAvailability 1 40", "not permitted", False),
    ("fail cuptiPmSamplingEnable 1 26", "another tool holds the counters", False),
    ("fail cuptiPmSamplingEnable 2 26", "another tool holds the counters", True),
    ("fail cuptiPmSamplingEnable 2 7", "this program", True),
    ("fail cuptiPmSamplingGetCounterAvailability 1 27", "not supported", False),
    ("fail cuptiPmSamplingSetConfig 1 27 forever", "not supported", False),
    ("fail cuptiPmSamplingEnable 1 43", "not supported", False),
    ("fail cuptiProfilerInitialize 1 999", "cuptiProfilerInitialize: failed (CUPTI 999)", False),
    ("fail cuptiDeviceGetChipName 1 2", "not supported", False),
    ("fail cuptiProfilerHostInitialize 1 1 forever", "choosing metrics", False),
    ("fail cuptiProfilerHostConfigAddMetrics 1 17 forever", "choosing metrics", False),
    ("fail cuptiProfilerHostGetConfigImage 1 1 forever", "choosing metrics", False),
    ("fail cuptiPmSamplingGetCounterDataSize 2 1", "counter data image", True),
    ("fail cuptiPmSamplingCounterDataImageInitialize 1 1", "counter data image", False),
    ("fail cuptiPmSamplingStop 2 999", "cuptiPmSamplingStop", True),
    ("fail cuptiPmSamplingDecodeData 1 8", "overflowed", False),
    ("fail cuptiPmSamplingDecodeData 2 8", "overflowed", True),
    ("fail cuptiPmSamplingGetCounterDataInfo 1 1", "decoding", False),
    ("pm_record_bytes 1MiB", "overflowed", False),
)


def a_refusal_ends_sampling_and_nothing_else():
    alone = loop(0.7, preload=False)

    def once(refusal):
        line, words, before = refusal
        try:
            result = as_alone(loop(0.7, script=line + "\n").says(0), alone)
            trace, truth = whole(result)
            good, reason = bursts_add_up(trace)
            check(words in reason, f"the reason is {reason!r}")
            check(bool(good) == before, f"{len(good)} bursts before")
            equal(true_samples(trace, truth) > 0, before, "samples before")
            given_back(truth)
            equal(max(row["begin"] for row in trace["burst"]), [r for r in trace["burst"] if r["reason"]][0]["begin"], "last burst")
        except AssertionError as error:
            raise AssertionError(f"{line}: {error}") from error

    in_pairs(once, REFUSALS)
    return f"{len(REFUSALS)} refusals"


def on_says_it_once_and_auto_is_silent():
    line = "fail cuptiPmSamplingEnable 1 26\n"
    loop(0.5, script=line, env={"BOUNDSHIM_COUNTERS": "on"}).says(1, "hardware counters are off on GPU 0", "another tool holds")
    loop(0.5, script=line, env={"BOUNDSHIM_COUNTERS": "auto"}).says(0)
    loop(0.5, env={"BOUNDSHIM_COUNTERS": "on"}).says(0)
    loop(0, mode="hooks", env={"BOUNDSHIM_COUNTERS": "on"}).says(1, "hardware counters are off: BOUNDSHIM_MODE=hooks")
    loop(0, mode="hooks").says(0)


def a_bad_sample_is_dropped_and_counted():
    for function in ("cuptiPmSamplingCounterDataGetSampleInfo", "cuptiProfilerHostEvaluateToGpuValues"):
        trace, truth = whole(loop(0.6, script=f"fail {function} 100 1\n"))
        true_samples(trace, truth)
        good, reason = bursts_add_up(trace)
        equal((reason, good[0]["dropped"]), ("", 2), f"{function}: reason, and dropped of the first burst")


def off_makes_no_pm_call():
    trace, truth = whole(loop(0.5, env={"BOUNDSHIM_COUNTERS": "off"}).says(0))
    equal(pm_calls(truth), [], "PM calls")
    equal([len(trace[table]) for table in ("metric", "sample", "burst")], [0, 0, 0], "rows of counters")


def a_cupti_without_pm_sampling_is_told():
    """CUDA 12.0's has none: here its name is gone from a copy of the library."""
    where = folder("old")
    path = where / "libcupti.so.13"
    path.write_bytes(CUPTI.read_bytes().replace(b"\0cuptiPmSamplingEnable\0", b"\0cuptiPmSamplingXnable\0"))
    for mode, lines in (("auto", 0), ("on", 1)):
        result = loop(0.5, env={"BOUNDSHIM_CUPTI": path, "BOUNDSHIM_COUNTERS": mode, "LD_LIBRARY_PATH": CUPTI.parent})
        result.says(lines, *(["no PM sampling"] if lines else []))
        trace, truth = whole(result)
        equal(pm_calls(truth), [], "PM calls")
        reasons = [row["reason"] for row in trace["burst"]]
        equal(len(reasons), 1, "reasons")
        check("CUDA 12.6" in reasons[0] and "cuptiPmSamplingEnable" in reasons[0], reasons[0])


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
    trace, truth = whole(run("play", program, script=COARSE + "pm_call_cost 80ms\n"))
    given_back(truth)
    true_samples(trace, truth)
    good, _ = bursts_add_up(trace)
    steps = min(op["start"] for op in truth.ops if op["kind"] == "kernel" and op["name"] == "kernel_1")
    starts = [row["time"] for row in pm_calls(truth, "cuptiPmSamplingStart")]
    check(len(good) >= 2, f"{len(good)} bursts")
    check(starts[0] < steps - 300_000_000, f"the first burst began {(starts[0] - steps) / 1e6:.0f} ms after the steps did")
    check(50_000_000 <= starts[1] - steps <= 700_000_000, f"the second burst began {(starts[1] - steps) / 1e6:.0f} ms after the steps did")
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
    result = loop(1.2, env={"BOUNDSHIM_DURATION_S": "0.9"}).says(0)
    trace, truth = result.trace().sound(), result.truth()
    equal(trace.meta["end.reason"], "duration", "end.reason")
    check(given_back(truth) >= 1, "no burst")
    bursts_add_up(trace)
    last = max(row["time"] for row in pm_calls(truth))
    check(last < min(c["begin"] for c in truth.calls) + 1_500_000_000, "counters were read after the end of the recording")


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
        result = loop(seconds, script="pm_decode_cost 50us\npm_call_cost 60ms\n", env={"BOUNDSHIM_COUNTERS": "on"}).says(0)
        equal(result.status, 0, f"{seconds}: status ({result.err})")
        trace, truth = whole(result)
        given_back(truth)
        bursts_add_up(trace)
        true_samples(trace, truth)
        last = max(c["end"] for c in truth.calls)
        rows = pm_calls(truth)
        return enabled_at(truth, last), (max(row["time"] for row in rows) - last) / 1e6 if rows else 0

    ends = in_pairs(once, [chance.uniform(-0.3, 0.7) for _ in range(30)])
    check(any(during for during, _ in ends), "no exit fell into a burst")
    late = [ms for during, ms in ends if during]
    check(sorted(late)[len(late) // 2] < 250, f"the exit waited {sorted(late)} ms for the counters")
    return f"{len(late)} of {len(ends)} during a burst, which ended {sorted(late)[len(late) // 2]:.0f} ms after the last call"


def an_exit_waits_for_slow_decoding_but_not_for_ever():
    result = loop(0.1, script="pm_decode_cost 400us\n").says(0)
    equal(result.status, 0, f"status ({result.err})")
    whole(result)
    began = time.monotonic()
    result = loop(0.3, script="pm_decode_cost 20ms\npm_no_statics on\n").says(0)
    equal(result.status, 0, f"status ({result.err})")
    check(time.monotonic() - began < 6, "held up at exit")
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


main(samples_are_what_the_gpu_did, metrics_are_told_with_name_unit_and_source, kernels_side_by_side_graphs_and_tails_are_counted,
     other_chips_give_what_fits_one_pass, all_that_was_delivered_is_decoded, a_burst_that_was_stopped_too_late_is_lost_alone, any_interval_is_survived,
     a_refusal_ends_sampling_and_nothing_else, on_says_it_once_and_auto_is_silent, a_bad_sample_is_dropped_and_counted,
     off_makes_no_pm_call, a_cupti_without_pm_sampling_is_told, two_devices_take_turns,
     a_device_that_refuses_leaves_the_other_one_sampled, nothing_is_sampled_while_nothing_runs,
     a_kernel_of_seconds_is_sampled_while_it_runs, early_bursts_wait_for_steady_launches, decoding_keeps_within_its_share_of_a_core,
     the_end_of_the_recording_ends_sampling, an_exit_during_a_burst_is_clean_and_quick,
     an_exit_waits_for_slow_decoding_but_not_for_ever, forks_during_bursts_harm_neither_side,
     a_kill_during_a_burst_leaves_what_was_sampled)
