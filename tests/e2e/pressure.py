#!/usr/bin/env python3
"""More than there is room for: buffers that never come back, 10,000 threads, hours of run time, an allocator whose
lock is held around CUDA calls. The program is as alone, memory is bounded, and what was lost is counted to the last record."""
import json
import os
import re
import resource
import subprocess
import threading
import time

from lib import (APPS, BUILD, SHIM, SIM, Trace, as_alone, check, environment, equal, folder, main, need, need_sim, run)

need_sim("crowd", "held_lock", "launch_loop")
need(BUILD / "boundshim")
POOL_BYTES = 512 * (256 << 10)  # of shim/actbuf.h
SOAK_S = float(os.environ.get("SOAK_S", 8))
BYTES_PER_LAUNCH = 12  # what a launch, its kernel and its share of waits may take


def peak_rss(program, *options, **settings):
    """(result, the highest resident memory in bytes)"""
    where = folder("rss")
    with open(where / "peak", "w", encoding="utf-8") as out:
        prefix = ["python3", "-c", "import os, resource, subprocess, sys\nstatus = subprocess.call(sys.argv[1:])\n"
                  f"open({str(where / 'peak')!r}, 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))\n"
                  "sys.exit(status if status >= 0 else 128 - status)"]
        out.flush()
    env = {**settings.pop("env", {})}
    if settings.get("preload", True):
        # for the program alone, not for Python
        preload, env["LD_PRELOAD"] = environment(where)["LD_PRELOAD"], None
        prefix += ["env", f"LD_PRELOAD={preload}"]
    result = run(program, *options, where=where, prefix=prefix, env=env, **settings)
    return result, 1024 * int((where / "peak").read_text())


def report(result):
    done = subprocess.run([BUILD / "boundshim", "report", "--format", "json", result.traces[0]], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


# --- buffers -------------------------------------------------------------------------------------------------------------------

def ten_thousand_buffers_from_64_threads_some_never_returned():
    """One record each, handed back newest first, every 15th never: the pool runs dry, and each record that is missing is counted."""
    options = ("threads=64", "launches=200", "sync=20")
    script = "cupti_buffer_records 1\nlose_buffer_every 15\ncupti_reversed on\n"
    alone, before = peak_rss("crowd", *options, preload=False)
    result, after = peak_rss("crowd", *options, script=script, env={"BOUNDSHIM_COUNTERS": "off"})
    trace, truth = as_alone(result, alone).says(0).trace().sound(), result.truth()
    withheld = sum(row["records"] for row in truth.other if row["t"] == "lost_buffer")
    made, kept = 64 * 200, len(trace["run"])
    check(withheld > 20 and trace.losses["pool_exhausted"] > 0, f"{withheld} buffers withheld, lost: {trace.losses}")
    equal(kept + withheld + trace.losses["cupti_dropped"], made, "kernels kept, withheld and dropped")
    true = {op["corr"]: (op["start"], op["end"]) for op in truth.device_ops()}
    equal([row for row in trace["run"] if true[row["correlation"]] != (row["begin"], row["begin"] + row["duration"])], [], "wrong kernels")
    equal(len({row["correlation"] for row in trace["run"]}), kept, "kernels that are there once")
    equal(len(trace.calls("cudaLaunchKernel")), made - trace.losses["ring_full"], "launches")
    check(after - before < POOL_BYTES + (32 << 20), f"{(after - before) >> 20} MiB more than alone")
    return f"{kept} kept, {withheld} withheld, {trace.losses['cupti_dropped']} dropped; {(after - before) >> 20} MiB more than alone"


def and_so_with_asan_first():
    """Nothing that CUPTI still has is freed or touched, by the eye of AddressSanitizer, whose runtime must come first."""
    other = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    if not other.startswith("/"):
        return "skipped: no libasan"
    env = {"LD_PRELOAD": f"{os.path.realpath(other)} {SHIM}", "LD_LIBRARY_PATH": SIM, "ASAN_OPTIONS": "detect_leaks=0"}
    result = run("crowd", "threads=16", "launches=100", "sync=10", env=env, script="cupti_buffer_records 1\nlose_buffer_every 5\ncupti_reversed on\n")
    equal((result.status, result.err), (0, ""), "status and stderr")
    trace, truth = result.trace().sound(), result.truth()
    withheld = sum(row["records"] for row in truth.other if row["t"] == "lost_buffer")
    equal(len(trace["run"]) + withheld + trace.losses["cupti_dropped"], 1600, "kernels kept, withheld and dropped")
    return None


def the_verdict_is_withheld_where_so_much_is_lost():
    result = run("crowd", "threads=64", "launches=200", "sync=20", script="cupti_buffer_records 1\nlose_buffer_every 15\n")
    verdict = report(result)["verdict"]
    equal((verdict["regime"], verdict["confidence"]), ("unknown", 0), "verdict")


def an_allocator_whose_lock_is_held_around_cuda_calls_does_not_deadlock():
    """It launches from inside malloc too. In no hook and no callback do we allocate; for counters a thread of ours does."""
    for env, most in (({"BOUNDSHIM_COUNTERS": "off"}, 0), ({}, 100)):
        result = run("held_lock", script="cupti_buffer_records 20\n", env=env, limit=60)
        equal(result.status, 0, f"status ({result.err})")
        launched, inside, ours = map(int, re.search(r"(\d+) launches, (\d+) from malloc, malloc called (\d+) times", result.err).groups())
        check(inside > 1000, f"{inside} launches from malloc")
        check(ours <= most, f"the shim called malloc or free {ours} times")
        trace = result.trace().sound()
        equal(len(trace["run"]) + trace.losses["cupti_dropped"], launched, f"kernels kept and dropped ({trace.losses})")
    return f"{launched} launches, {inside} of them from malloc"


# --- many ----------------------------------------------------------------------------------------------------------------------

def ten_thousand_threads_at_once():
    options = ("threads=10000", "launches=2")
    alone = run("crowd", *options, preload=False, env={"SIM_TRUTH": None})
    trace = as_alone(run("crowd", *options, env={"SIM_TRUTH": None}), alone).says(0).trace().sound()
    calls = len(trace.calls("cudaLaunchKernel"))
    equal(len(trace["thread"]), 4096, "threads told")
    # the first of them is main's, which launches nothing; a call is lost once, whatever is called inside it
    equal((calls, trace.losses["thread_limit"]), (2 * 4095, 20000 - 2 * 4095), f"launches kept and lost ({trace.losses})")
    equal(len(trace["run"]) + trace.losses["cupti_dropped"], 20000, f"kernels kept and dropped ({trace.losses})")
    return f"{calls} launches kept, {trace.losses['thread_limit']} beyond the limit of threads"


# --- long ----------------------------------------------------------------------------------------------------------------------

def resident(pid):
    fields = open(f"/proc/{pid}/statm", encoding="ascii").read().split()
    return int(fields[1]) * resource.getpagesize()


def memory_over_time(preload, seconds):
    """(resident memory at each tenth of a second, trace or None, launches)"""
    where = folder("soak")
    env = environment(where, preload=preload, env={"SIM_TRUTH": None, "BOUNDSHIM_COUNTERS": "off"})
    command = [APPS / "launch_loop", "steps=100000000", "kernels=2", "threads=2", "sync=10", "wait=200", "quiet=1"]
    with subprocess.Popen(command, cwd=where, env=env) as process:
        samples, began = [], time.monotonic()
        while time.monotonic() - began < seconds:
            time.sleep(0.1)
            samples.append(resident(process.pid))
        process.terminate()
    return samples, next(iter(where.glob("*.bst")), None)


def memory_stays_flat_and_the_file_small():
    """SOAK_S=3600 makes it an hour. From a third of the time on nothing grows beyond what the program alone does."""
    alone = []
    other = threading.Thread(target=lambda: alone.extend(memory_over_time(False, SOAK_S)[0]))
    other.start()
    ours, path = memory_over_time(True, SOAK_S)
    other.join()
    growth = [samples[-1] - samples[len(samples) // 3] for samples in (ours, alone)]
    # batches and rings are touched as they are first filled
    check(growth[0] - max(growth[1], 0) < 3 << 20, f"resident memory grew by {growth[0] >> 10} KiB, alone by {growth[1] >> 10} KiB")
    trace = Trace(path).sound(complete=False)
    equal({cause: n for cause, n in trace.losses.items() if n and cause != "unfinished"}, {}, "losses")
    launches, size = len(trace.calls("cudaLaunchKernel")), path.stat().st_size
    check(launches > 1000 * SOAK_S, f"only {launches} launches")
    check(size < BYTES_PER_LAUNCH * launches + 60_000, f"{size} bytes for {launches} launches")
    return f"{launches} launches in {SOAK_S:.0f} s, {size / launches:.1f} bytes each, grew by {growth[0] >> 10} KiB, alone by {growth[1] >> 10} KiB"


if __name__ == "__main__":
    main(ten_thousand_buffers_from_64_threads_some_never_returned, and_so_with_asan_first, the_verdict_is_withheld_where_so_much_is_lost,
         an_allocator_whose_lock_is_held_around_cuda_calls_does_not_deadlock, ten_thousand_threads_at_once,
         memory_stays_flat_and_the_file_small)
