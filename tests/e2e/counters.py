#!/usr/bin/env python3
"""Hardware counters on the simulated GPU: samples are what the GPU did, and bursts are told with their cost."""
import time

from counters_truth import FINE, UNITS, bursts_add_up, given_back, loop, true_samples, whole
from lib import WAITING, as_alone, check, equal, in_pairs, main


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
    equal(reason, "", "reason")
    equal(good[0]["samples"], 0, "samples of the first burst")
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


main(samples_are_what_the_gpu_did, metrics_are_told_with_name_unit_and_source, kernels_side_by_side_graphs_and_tails_are_counted,
     other_chips_give_what_fits_one_pass, all_that_was_delivered_is_decoded, a_burst_that_was_stopped_too_late_is_lost_alone,
     any_interval_is_survived)
