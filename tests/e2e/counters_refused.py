#!/usr/bin/env python3
"""Hardware counters that are refused, switched off or not there: that ends sampling with a reason and nothing else."""
from counters_truth import bursts_add_up, given_back, loop, pm_calls, true_samples, whole
from lib import CUPTI, as_alone, check, equal, folder, in_pairs, main

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


main(a_refusal_ends_sampling_and_nothing_else, on_says_it_once_and_auto_is_silent, a_bad_sample_is_dropped_and_counted,
     off_makes_no_pm_call, a_cupti_without_pm_sampling_is_told)
