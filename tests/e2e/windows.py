#!/usr/bin/env python3
"""BOUNDSHIM_DELAY_S and BOUNDSHIM_DURATION_S record a window of the run; the trace is whole when the window ends, and the program
does not notice. Settings that are not understood are said."""
import subprocess
import sys
import time

from lib import (APPS, WAITING, as_alone, check, environment, equal, folder, main, need_sim, run)

need_sim("launch_loop", "static_like")
LOOP = ("steps=150", "sync=1", "wait=10000", "kernels=1")  # about 1.6 s
ALONE = run("launch_loop", *LOOP, preload=False)


def window(**env):
    """(trace, launches made, for how many ns the machine kept a thread waiting)"""
    began = time.monotonic()
    result = as_alone(run("launch_loop", *LOOP, env={f"BOUNDSHIM_{k}": v for k, v in env.items()}), ALONE).says(0)
    waited = 1e9 * WAITING.since(began)
    trace, truth = result.trace().sound(), result.truth()
    if trace.meta["end.reason"] == "duration":
        calls = [(row["call"], row.get("value")) for row in truth.cupti]
        on = {value for call, value in calls if call == "cuptiActivityEnable"}
        equal({value for call, value in calls if call == "cuptiActivityDisable"}, on, "activity switched off at the end")
        still = {}
        for row in truth.cupti:
            if row["call"] == "cuptiEnableCallback":
                still[row["domain"], row["cbid"]] = row["enable"]
        equal([key for key, enabled in still.items() if enabled], [], "callbacks still on at the end")
    made = [c for c in truth.calls if c["api"] == "cudaLaunchKernel"]
    return trace, made, waited


def a_part(kept, made, most, waited):
    """Some are in the window and some are not; on a busy machine the one or the other may fill it."""
    check(10 < len(kept) < len(made) * most or waited > 200e6, f"{len(kept)} of {len(made)} launches")
    check(0 < len(kept) <= len(made), f"{len(kept)} of {len(made)} launches")


def a_duration_ends_the_recording_in_time():
    trace, made, waited = window(DURATION_S=0.5)
    equal(trace.meta["end.reason"], "duration", "end.reason")
    kept = trace.calls("cudaLaunchKernel")
    a_part(kept, made, 0.7, waited)
    last = max(row["begin"] for row in kept) + trace.realtime_offset()
    check(0.15e9 - waited < last - made[0]["begin"] < 0.95e9 + waited, f"the last launch is {(last - made[0]['begin']) / 1e9:.2f} s in")
    equal([row for row in trace["run"] if row["flags"]], [], "kernels without times")
    check(len(kept) - 1 <= len(trace["run"]) <= len(kept), f"{len(kept)} launches, {len(trace['run'])} kernels")


def a_delay_begins_the_recording_later():
    trace, made, waited = window(DELAY_S=0.6)
    kept = trace.calls("cudaLaunchKernel")
    a_part(kept, made, 0.8, waited)
    first = min(row["begin"] for row in kept) + trace.realtime_offset()
    check(0.55e9 < first - made[0]["begin"] < 1.2e9 + waited, f"the first launch is {(first - made[0]['begin']) / 1e9:.2f} s in")
    equal(trace.meta["cupti.state"], "on", "cupti.state")
    check(len(trace["run"]) >= len(kept) - 2, f"{len(kept)} launches, {len(trace['run'])} kernels")
    equal(trace.meta["end.reason"], "exit", "end.reason")


def both_make_a_window():
    trace, made, waited = window(DELAY_S=0.3, DURATION_S=0.5)
    kept = trace.calls("cudaLaunchKernel")
    a_part(kept, made, 0.6, waited)
    equal(trace.meta["end.reason"], "duration", "end.reason")


def a_program_shorter_than_the_delay_leaves_nothing():
    result = run("launch_loop", "steps=3", env={"BOUNDSHIM_DELAY_S": 30}).says(0)
    equal((result.status, result.traces), (0, []), "status and traces")


def a_delay_works_where_no_hook_sees_the_calls():
    result = as_alone(run("static_like", env={"BOUNDSHIM_DELAY_S": 0.001}), run("static_like", preload=False)).says(0)
    check(len(result.traces) <= 1, "traces")


def signals_do_not_reach_the_threads_of_the_recorder():
    """A handler of the program runs in the program's own thread, while the delay lasts and after."""
    program = (
        "import ctypes, os, signal, sys, threading, time\n"
        "seen = []\n"
        "libc = ctypes.CDLL(None)\n"
        "cudart = ctypes.CDLL(None).cudaFree\n"
        "cudart(None)\n"
        "blocked = {}\n"
        "for task in os.listdir('/proc/self/task'):\n"
        "    status = open(f'/proc/self/task/{task}/status').read()\n"
        "    blocked[int(task)] = int(status.split('SigBlk:')[1].split()[0], 16)\n"
        "mine = threading.get_native_id()\n"
        "others = {t: b for t, b in blocked.items() if t != mine}\n"
        "print(len(others), all(b & (1 << 14) and b & (1 << 9) for b in others.values()))\n"
    )
    for delay in ("0", "5"):
        where = folder("signals")
        env = environment(where, env={"BOUNDSHIM_DELAY_S": delay})
        env["LD_PRELOAD"] += f" {APPS.parent}/sim/libcudart.so.13"
        env["LD_LIBRARY_PATH"] = str(APPS.parent / "sim")
        done = subprocess.run([sys.executable, "-c", program], env=env, cwd=where, capture_output=True, text=True, timeout=60)
        count, blocked = done.stdout.split() or ("0", "")
        check(int(count) >= 1, f"delay {delay}: no thread of ours ({done.stderr})")
        equal(blocked, "True", f"delay {delay}: SIGTERM and SIGUSR1 are blocked in all threads but the program's")


def settings_that_are_not_understood_are_said():
    for name, value, word in (("BOUNDSHIM_MODE", "hook", "BOUNDSHIM_MODE=hook"),
                              ("BOUNDSHIM_MOED", "off", "BOUNDSHIM_MOED"),
                              ("BOUNDSHIM_MAX_MB", "many", "BOUNDSHIM_MAX_MB=many")):
        result = run("launch_loop", "steps=3", env={name: value}).says(1, word)
        equal(result.status, 0, "exit status")
        result.trace().sound()
    run("launch_loop", "steps=3", env={"BOUNDSHIM_MOED": "off", "BOUNDSHIM_LOG": "0"}).says(0)


def the_command_line_is_kept_as_told():
    secret = ("steps=3", "--api-token", "s3cr3t", "API_KEY=hunter2")
    for mode, hidden, count in ((None, True, 5), ("redacted", True, 5), ("full", False, 5), ("argv0", True, 1)):
        trace = run("launch_loop", *secret, env={"BOUNDSHIM_COMMAND": mode}).trace()
        command = trace.meta["process.command"]
        equal("s3cr3t" not in command and "hunter2" not in command, hidden, f"{mode}: {command!r}: secrets hidden")
        equal(len(command.split(" ")), count, f"{mode}: words of {command!r}")
        texts = [value for table in trace.tables.values() for row in table for value in row.values()]
        equal(any("s3cr3t" in text for text in texts if isinstance(text, str)), not hidden, f"{mode}: secrets elsewhere")


main(a_duration_ends_the_recording_in_time, a_delay_begins_the_recording_later, both_make_a_window,
     a_program_shorter_than_the_delay_leaves_nothing, a_delay_works_where_no_hook_sees_the_calls,
     signals_do_not_reach_the_threads_of_the_recorder, settings_that_are_not_understood_are_said,
     the_command_line_is_kept_as_told)
