#!/usr/bin/env python3
"""A program of threads that come and go, children, libraries and device resets, for SOAK_SECONDS (8; a night: 1800): no thread leaves
memory or files behind, over a minute it is flat after a third, and the trace has every launch or counts it as lost."""
import json
import os
import re
import subprocess

from lib import BUILD, check, equal, main, need, need_sim, run

need_sim("churn")
need(BUILD / "boundshim")

SECONDS = int(os.environ.get("SOAK_SECONDS", 8))
THREADS = int(os.environ.get("SOAK_THREADS", 12))
LAUNCHES = 1500  # of a thread: more records than a ring has, so that all of it is touched in one life
SETTLED_S = 60
# Of 12 threads: 17 MB when nothing holds the writer up, 30 when threads end faster than it takes their rings back. Were no ring used
# again, 130 threads, which the busiest machine gets through, had 33 MB of them alone.
MOST_KB = 48 * 1024
LONG_KB = 16384


def check_memory(told):
    """kB resident in each second."""
    check(max(told) <= MOST_KB, f"more than {MOST_KB} kB: {told}")
    if SECONDS >= SETTLED_S:
        first = max(told[:len(told) // 3])
        check(max(told) <= first + LONG_KB, f"not flat after {first} kB: {told}")
    return f"{told[len(told) // 2]} kB halfway, {max(told)} kB at most"


def launches_before_cupti(trace):
    """Calls of cudaLaunchKernel without a correlation: made while CUPTI was being started."""
    dump = [subprocess.run([BUILD / "boundshim", "info", f"--dump={table}", trace], capture_output=True, check=True).stdout
            for table in ("api", "call")]
    launch = re.search(rb"^api\tid=(\d+)\tname=\"cudaLaunchKernel\"", dump[0], re.M)[1]
    return len(re.findall(rb"^call\tthread=\d+\tapi=%s\t.*\tcorrelation=0\t" % launch, dump[1], re.M))


def memory_and_files_are_flat_and_nothing_is_lost(options):
    result = run("churn", f"seconds={SECONDS}", f"threads={THREADS}", f"launches={LAUNCHES}", "pause=50", *options, limit=SECONDS + 60,
                 env={"SIM_TRUTH": None, "BOUNDSHIM_COUNTERS": "off"}).says(0)
    equal(result.status, 0, f"exit status ({result.err!r})")
    *told, last = [[int(word) for word in line.split()[1:] if word.isdigit()] for line in result.out.splitlines()]
    memory = check_memory([row[0] for row in told])
    files = [row[1] for row in told]
    check(max(files) <= files[0], f"open files: {files}")
    launches = last[0]
    equal(len(result.traces), 1, "traces")
    report = subprocess.run([BUILD / "boundshim", "report", "--format", "json", result.traces[0]], capture_output=True, check=True)
    process = json.loads(report.stdout)["processes"][0]
    coverage = process["coverage"]
    check(process["run"]["complete"], "the trace is not complete")
    # a ring that a starved writer did not empty in time is a loss that is counted
    dropped = sum(coverage["dropped"].values())
    check(launches - dropped <= coverage["launches_hooked"] <= launches,
          f"{launches} launches, {coverage['launches_hooked']} in the trace, {coverage['dropped']}")
    early = launches_before_cupti(result.traces[0])
    check(launches - dropped - early <= coverage["kernels"] <= launches,
          f"{launches} launches, {early} of them before CUPTI was on, {coverage['kernels']} kernels")
    return (f"{SECONDS} s, {launches // LAUNCHES} threads, {launches} launches, {early} before CUPTI was on, {dropped} records dropped and "
            f"counted; {memory}, {max(files)} files")


def threads_children_and_libraries():
    return memory_and_files_are_flat_and_nothing_is_lost(())


def the_device_reset_again_and_again():
    return memory_and_files_are_flat_and_nothing_is_lost(("reset=500",))


main(threads_children_and_libraries, the_device_reset_again_and_again)
