"""What the tests of hardware counters share: loops with known counters, and samples and bursts compared with what the
simulated GPU did."""
import bisect

from lib import check, equal, need_sim, run, same_calls, same_device_work

need_sim("launch_loop", "fork_busy", "die", "play")

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
