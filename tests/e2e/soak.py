#!/usr/bin/env python3
"""A program of threads that come and go, children, libraries and device resets, for SOAK_SECONDS (8; a night: 1800): no thread leaves
memory or files behind, over a minute it is flat after a third, and the trace has every launch or counts it as lost."""
import json
import os
import subprocess

from lib import BUILD, check, equal, main, need, need_sim, run

need_sim("churn")
need(BUILD / "boundshim")

SECONDS = int(os.environ.get("SOAK_SECONDS", 8))
THREADS = int(os.environ.get("SOAK_THREADS", 12))
LAUNCHES = 1500  # of a thread: more records than a ring has, so that all of it is touched in one life
SETTLED_S = 60
# Batches, and rings of more threads at once, take their time to be touched. A ring that is not used again were 256 kB for each thread.
SETTLING_KB = 8192
THREAD_KB = 16
LONG_KB = 16384  # where a busy machine lets threads end faster than the writer takes their rings back, more rings are made


def check_memory(told):
    """Of each second: kB resident, launches so far."""
    middle, last = told[len(told) // 2], told[-1]
    threads = (last[1] - middle[1]) / LAUNCHES
    check(last[0] - middle[0] <= SETTLING_KB + THREAD_KB * threads, f"{last[0] - middle[0]} kB more after {threads:.0f} more threads: {told}")
    if SECONDS >= SETTLED_S:
        first = max(kb for kb, _ in told[:len(told) // 3])
        check(max(kb for kb, _ in told) <= first + LONG_KB, f"not flat after {first} kB: {told}")
    return f"{middle[0]} kB halfway, {last[0]} kB at the end"


def memory_and_files_are_flat_and_nothing_is_lost(options):
    result = run("churn", f"seconds={SECONDS}", f"threads={THREADS}", f"launches={LAUNCHES}", "pause=50", *options, limit=SECONDS + 60,
                 env={"SIM_TRUTH": None, "BOUNDSHIM_COUNTERS": "off"}).says(0)
    equal(result.status, 0, f"exit status ({result.err!r})")
    *told, last = [[int(word) for word in line.split()[1:] if word.isdigit()] for line in result.out.splitlines()]
    memory = check_memory([(row[0], row[2]) for row in told])
    files = [row[1] for row in told]
    check(max(files) <= files[0], f"open files: {files}")
    launches = last[0]
    equal(len(result.traces), 1, "traces")
    report = subprocess.run([BUILD / "boundshim", "report", "--format", "json", result.traces[0]], capture_output=True, check=True)
    process = json.loads(report.stdout)["processes"][0]
    coverage = process["coverage"]
    check(process["run"]["complete"], "the trace is not complete")
    # the first threads launch while CUPTI is being started
    check(launches - THREADS <= coverage["kernels"] <= launches, f"{launches} launches, {coverage['kernels']} kernels")
    # a ring that a starved writer did not empty in time is a loss that is counted
    dropped = sum(coverage["dropped"].values())
    check(launches - dropped <= coverage["launches_hooked"] <= launches,
          f"{launches} launches, {coverage['launches_hooked']} in the trace, {coverage['dropped']}")
    return f"{SECONDS} s, {launches // LAUNCHES} threads, {launches} launches, {dropped} records dropped and counted; {memory}, {max(files)} files"


def threads_children_and_libraries():
    return memory_and_files_are_flat_and_nothing_is_lost(())


def the_device_reset_again_and_again():
    return memory_and_files_are_flat_and_nothing_is_lost(("reset=500",))


main(threads_children_and_libraries, the_device_reset_again_and_again)
