#!/usr/bin/env python3
"""Each CUPTI function that the shim calls fails, in each of its calls that matters, once and for ever, with each code that the
field reports: the program is as alone, at most one line is said, the trace names the function, the hooks' records are whole.
Also what CUPTI's records may be: times that are none, kinds that nobody knows, names of any bytes and length."""
import re

from lib import (CUPTI, ROOT, SIM, TIME_INVALID, as_alone, check, equal, in_pairs, main, need_sim, run, same_calls,
                 same_device_work)

need_sim("launch_loop", "static_like")

OPTIONS = ("steps=15", "kernels=2", "h2d=100", "graph=1", "sync=5")
ALONE = run("launch_loop", *OPTIONS, preload=False)
# 15 not initialized, 26 hardware busy, 27 not supported, 35 insufficient privileges, 39 multiple subscribers, 43 virtualized device not
# supported, 45 CMP device not supported
CODES = (15, 26, 27, 35, 39, 43, 45)
# called only where the program's own profiler asks for it: e2e/shared_cupti.py
ON_REQUEST = {"cuptiEnableDomain", "cuptiActivityRegisterTimestampCallback"}
FUNCTIONS = [name for name in re.findall(r"^CUPTI\((\w+), [01]\)", (ROOT / "shim/cupti_api.def").read_text(), re.M)
             if name not in ON_REQUEST]
# Without these CUPTI is off. Of the rest, what fails is told ("degraded"), or is a wish whose failure changes nothing.
FATAL = ("cuptiSubscribe", "cuptiActivityRegisterCallbacks")
WISHES = ("cuptiGetVersion", "cuptiGetResultString", "cuptiUnsubscribe", "cuptiActivityDisable", "cuptiSetThreadIdType",
          "cuptiActivitySetAttribute", "cuptiGetGraphId", "cuptiGetGraphNodeId", "cuptiGetDeviceId",
          "cuptiActivityGetNumDroppedRecords")


def faulty(function, at, code, forever):
    script = f"fail {function} {at} {code}" + (" forever" if forever else "") + "\n"
    return as_alone(run("launch_loop", *OPTIONS, script=script), ALONE)


def hooks_are_whole(result):
    """Every hooked call is there, though its correlation may not be."""
    trace, truth = result.trace().sound(), result.truth()
    wanted = [c["api"] for c in truth.calls if not c["nested"] and c["domain"] == "runtime"]
    for name in ("cudaLaunchKernel", "cudaGraphLaunch", "cudaMemcpyAsync", "cudaStreamSynchronize"):
        equal(len(trace.calls(name)), wanted.count(name), f"calls of {name}")
    return trace, truth


def verify(item):
    function, at, code, forever = item
    where = f"{function}, call {at}, code {code}" + (", for ever" if forever else "")
    try:
        result = faulty(function, at, code, forever)
        trace, truth = hooks_are_whole(result)
        state, reason = trace.meta["cupti.state"], trace.meta.get("cupti.reason", "")
        if function in FATAL or (function == "cuptiActivityEnable" and at == 1):
            equal(state, "taken" if function == "cuptiSubscribe" and code == 39 else "off", "cupti.state")
            check(function in reason and f"({code})" in reason, f"cupti.reason is {reason!r}")
            result.says(1, function)
            equal(len(trace["run"]), 0, "kernels")
            calls = [row["call"] for row in truth.cupti]
            equal(calls.count("cuptiSubscribe"), calls.count("cuptiUnsubscribe"), "subscriptions that were undone")
            return
        equal(state, "on", "cupti.state")
        if function in WISHES:
            result.says(0)
            if not function.startswith("cuptiGetGraph"):
                equal(same_device_work(trace, truth), len(truth.device_ops()), "device operations")
        elif reason or forever:
            check(function in reason, f"cupti.reason is {reason!r}")
            result.says(1, function)
        else:
            result.says(0)
    except AssertionError as error:
        raise AssertionError(f"{where}: {error}") from error


def every_function_may_fail():
    plan = [(f, at, code, forever) for f in FUNCTIONS for code in CODES for at, forever in ((1, False), (1, True), (2, True)) if at == 1 or f not in FATAL]
    plan += [("cuptiActivityEnable", at, code, False) for at in (2, 3, 4, 5) for code in CODES]
    in_pairs(verify, plan)
    return f"{len(FUNCTIONS)} functions, {len(plan)} faults"


def a_program_without_hooks_survives_each_fault_too():
    alone = run("static_like", preload=False)

    def once(function):
        result = as_alone(run("static_like", script=f"fail {function} 1 35 forever\n"), alone)
        result.trace().sound()

    in_pairs(once, FUNCTIONS)


def a_libcupti_that_is_not_there_is_one_line():
    for path in ("/nonexistent/libcupti.so", ROOT / "README.md", SIM / "libcuda.so.1"):
        result = as_alone(run("launch_loop", *OPTIONS, env={"BOUNDSHIM_CUPTI": path}), ALONE).says(1, "CUPTI is off")
        trace, truth = hooks_are_whole(result)
        equal(trace.meta["cupti.state"], "off", "cupti.state")
        check(str(path) in trace.meta["cupti.reason"], trace.meta["cupti.reason"])
        same_calls(trace, truth, "hooks")
    check("lacks" in trace.meta["cupti.reason"], "the library without CUPTI's symbols:", trace.meta["cupti.reason"])


def yielding_leaves_cupti_alone():
    result = as_alone(run("launch_loop", *OPTIONS, env={"BOUNDSHIM_CUPTI_YIELD": 1}), ALONE).says(0)
    trace, truth = hooks_are_whole(result)
    equal(truth.cupti, [], "calls of CUPTI")
    check("BOUNDSHIM_CUPTI_YIELD" in trace.meta["cupti.reason"], trace.meta)


# --- records ---------------------------------------------------------------------------------------------

def bad(line, options=("steps=40", "sync=1"), **env):
    result = run("launch_loop", *options, script=line + "\n", **env).says(0)
    equal(result.status, 0, "exit status")
    trace = result.trace().sound()
    same_calls(trace, result.truth())
    return trace, result.truth()


def invalid_times_are_kept_flagged_and_counted():
    for how, begin, end in (("zero", 0, 0), ("inverted", None, None), ("sentinel", 1 << 63, 1 << 63)):
        trace, truth = bad(f"record every 4 {how}")
        flagged = [row for row in trace["run"] if row["flags"] & TIME_INVALID]
        equal(len(trace["run"]), 40, f"{how}: kernels")
        equal(len(flagged), 10, f"{how}: flagged kernels")
        equal(trace.losses["time_invalid"], 10, f"{how}: counted")
        true = {op["corr"]: op for op in truth.device_ops()}
        for row in flagged:
            last = (row["begin"] + row["duration"]) % (1 << 64)
            wanted = (begin, end) if begin is not None else (true[row["correlation"]]["end"], true[row["correlation"]]["start"])
            equal((row["begin"], last), wanted, f"{how}: begin and end as CUPTI gave them")
        for row in trace["run"]:
            if not row["flags"] & TIME_INVALID:
                equal(row["duration"], true[row["correlation"]]["end"] - true[row["correlation"]]["start"], "duration")


def unknown_kinds_are_counted_and_skipped():
    trace, _ = bad("record every 4 unknown_kind")
    equal(len(trace["run"]), 30, "kernels")
    equal(trace.losses["unknown_record"], 10, "unknown records")


def names_of_any_bytes_and_length_are_kept():
    trace, _ = bad("record every 4 long_name")
    names = [trace.kernel_name(row) for row in trace["run"]]
    equal(len(names), 40, "kernels")
    check(max(map(len, names)) >= 65535, f"the longest name has {max(map(len, names))} bytes")
    trace, _ = bad("record every 4 name_bytes")
    names = {trace.kernel_name(row) for row in trace["run"]}
    equal(len(names), 2, "names")
    check(any("\udc80" <= c <= "\udcff" for name in names for c in name), f"the bytes were changed: {names}")
    trace, _ = bad("record every 4 null_name")
    equal([trace.kernel_name(row) for row in trace["run"]].count(""), 10, "kernels without a name")


def duplicate_correlations_are_kept():
    trace, truth = bad("record every 4 duplicate")
    equal(len(trace["run"]), 40, "kernels")
    check(len({row["correlation"] for row in trace["run"]}) < 40, "no duplicate")


def correlations_may_wrap_around():
    trace, truth = bad("correlation 4294967200", ("steps=100", "sync=5"))
    equal(same_device_work(trace, truth), 100, "kernels")
    check(any(row["correlation"] < 100 for row in trace["run"]), "no wrap-around")


def dropped_records_and_lost_buffers_are_counted():
    trace, truth = bad("drop 10 15", ("steps=100", "sync=5"))
    equal(trace.losses["cupti_dropped"], 15, "dropped by CUPTI")
    equal(len(trace["run"]) + 15, len(truth.device_ops()), "kernels and dropped")
    result = run("launch_loop", "steps=100", "threads=4", "sync=1", script="lose_buffer_every 2\n").says(0)
    trace = result.trace().sound()
    lost = sum(row["records"] for row in result.truth().other if row["t"] == "lost_buffer")
    check(lost > 0, "no buffer was withheld")
    equal(len([row for row in trace["run"]]) + lost, 400, "kernels and withheld")


def the_order_of_delivery_does_not_matter():
    for line in ("cupti_reversed on", "cupti_delay 300ms", "cupti_unlocked_callbacks on"):
        result = run("launch_loop", "steps=300", "threads=3", "sync=7", "kernels=2", script=line + "\n").says(0)
        trace = result.trace().sound()
        same_calls(trace, result.truth())
        if "delay" not in line:
            same_device_work(trace, result.truth())
        else:
            equal(len(trace["run"]), 1800, "kernels")


def an_old_cupti_that_takes_no_null_works():
    result = run("launch_loop", "steps=100", "sync=5", script="cupti_version 22\n").says(0)
    trace = result.trace().sound().lossless()
    equal(trace.meta["cupti.version"], "22", "cupti.version")
    equal(same_device_work(trace, result.truth()), 100, "kernels")


def no_cuda_device_is_one_line_and_a_reason():
    alone = run("launch_loop", "steps=1", script="fail cuInit 1 100 forever\n", preload=False)
    result = as_alone(run("launch_loop", "steps=1", script="fail cuInit 1 100 forever\n"), alone)
    check(alone.status != 0, "the program did not notice that it has no device")
    result.says(1, "no device times")
    trace = result.trace().sound()
    equal(trace.meta["cupti.state"], "off", "cupti.state")
    check(trace.meta["cupti.reason"], "no reason")
    check(all(row["result"] for row in trace.calls("cudaStreamCreateWithFlags") + trace.calls("cudaLaunchKernel")),
          "a call succeeded")


main(every_function_may_fail, a_program_without_hooks_survives_each_fault_too, a_libcupti_that_is_not_there_is_one_line,
     yielding_leaves_cupti_alone, invalid_times_are_kept_flagged_and_counted, unknown_kinds_are_counted_and_skipped,
     names_of_any_bytes_and_length_are_kept, duplicate_correlations_are_kept, correlations_may_wrap_around,
     dropped_records_and_lost_buffers_are_counted, the_order_of_delivery_does_not_matter,
     an_old_cupti_that_takes_no_null_works, no_cuda_device_is_one_line_and_a_reason)
