#!/usr/bin/env python3
"""Timelines of the virtual clock, worked out by hand, against SIM_TRUTH. usage: selftest_timeline.py BUILD"""
import json
import os
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
EPOCH = 1_700_000_000_000_000_000
US = 1000
SCRIPT = """
kernel * duration=10us
cost * 0
cost *Launch* 3us
launch_latency 4us
queue_gap 1us
sync_latency 2us
"""


def run(program, script, status=0):
    with tempfile.TemporaryDirectory() as folder:
        path, truth = folder + "/script", folder + "/truth"
        open(path, "w").write(SCRIPT + script)
        env = dict(os.environ, SIM_CLOCK="virtual", SIM_SCRIPT=path, SIM_TRUTH=truth,
                   LD_PRELOAD=BUILD + "/sim/libsimclock.so")
        done = subprocess.run([BUILD + "/apps/" + program[0]] + program[1:], env=env, capture_output=True)
        assert done.returncode == status, (program, done)
        lines = [json.loads(x) for x in open(truth)]
    return lines


def ops(lines, kind="kernel"):
    return [(o["start"] - EPOCH, o["end"] - EPOCH) for o in lines if o["t"] == "op" and o["kind"] == kind]


def same(got, want, what):
    assert got == want, "%s: got %s, want %s" % (what, got, want)


def launches_queue_behind_each_other():
    # Launches end at 3, 6, 9 us; the first starts 4 us later, the others a gap after their predecessor.
    lines = run(["launch_loop", "steps=3"], "")
    same(ops(lines), [(7 * US, 17 * US), (18 * US, 28 * US), (29 * US, 39 * US)], "queued")
    waits = [(w["begin"] - EPOCH, w["end"] - EPOCH) for w in lines if w["t"] == "wait"]
    same(waits, [(9 * US, 41 * US)], "the wait ends a latency after the last kernel")


def a_slow_host_leaves_gaps():
    lines = run(["launch_loop", "steps=2", "work=50"], "")
    same(ops(lines), [(57 * US, 67 * US), (110 * US, 120 * US)], "host bound")


def a_full_queue_blocks_the_launch():
    lines = run(["launch_loop", "steps=4"], "queue_depth 2")
    calls = [c for c in lines if c["t"] == "call" and c["api"] == "cudaLaunchKernel"]
    # The third waits for the end of the first, at 17; the fourth for the second's, at 28.
    same([c["end"] - EPOCH for c in calls], [3 * US, 6 * US, 17 * US, 28 * US], "blocked launches")


def one_engine_for_each_direction():
    lines = run(["launch_loop", "steps=2", "streams=2", "kernels=0", "h2d=1000", "d2h=1000"],
                "copy h2d bandwidth=1GB/s latency=0\ncopy d2h bandwidth=1GB/s latency=0")
    # 1 us each at 1 GB/s: the up copies follow each other, each down copy its own up copy (+1 gap).
    same(ops(lines, "copy"), [(4 * US, 5 * US), (6 * US, 7 * US), (5 * US, 6 * US), (7 * US, 8 * US)],
         "copy engines")


def pageable_copies_block():
    lines = run(["launch_loop", "steps=1", "kernels=0", "d2h=1000", "pinned=0"],
                "copy d2h_pageable bandwidth=1GB/s latency=0")
    call = next(c for c in lines if c["t"] == "call" and c["api"] == "cudaMemcpyAsync")
    same(call["end"] - EPOCH, 7 * US, "pageable download")


def graph_nodes_have_their_own_gap():
    lines = run(["launch_loop", "steps=1", "kernels=3", "graph=1"],
                "graph_latency 5us\ngraph_node_gap 500ns")
    # Three captured launches and the graph launch, 3 us each, then the latency.
    same(ops(lines), [(17000, 27000), (27500, 37500), (38000, 48000)], "graph")
    nodes = [o["node"] for o in lines if o["t"] == "op"]
    same(len(set(nodes)), 3, "nodes")
    same(len({o["corr"] for o in lines if o["t"] == "op"}), 1, "one correlation id")


def events_order_streams():
    lines = run(["launch_loop", "steps=2", "streams=2", "events=1"], "")
    same(ops(lines), [(7 * US, 17 * US), (17 * US, 27 * US)], "second stream waits for the first")


def later_lines_win_and_lazy_loading_comes_first():
    lines = run(["launch_loop", "steps=2"], "kernel kernel_0 duration=5us,9us\nmodule_load 100us")
    same(ops(lines), [(107 * US, 112 * US), (113 * US, 122 * US)], "durations take turns")


def faults_hit_the_nth_call():
    lines = run(["launch_loop", "steps=9"], "fail cudaLaunchKernel 5 700", status=1)
    calls = [c["ret"] for c in lines if c["t"] == "call" and c["api"] == "cudaLaunchKernel"]
    same(calls, [0, 0, 0, 0, 700], "fault")


def threads_are_independent_and_repeatable():
    def shape(lines):
        threads = {}
        for o in lines:
            if o["t"] == "op":
                threads.setdefault(o["tid"], []).append((o["start"], o["end"]))
        return sorted(threads.values())

    first = shape(run(["launch_loop", "steps=50", "threads=4", "work=20", "sync=5"], ""))
    same(len(first), 4, "threads")
    same(shape(run(["launch_loop", "steps=50", "threads=4", "work=20", "sync=5"], "")), first, "repeated")


def clocks_of_the_process_follow():
    code = """
import ctypes, time, resource, threading
sim = ctypes.CDLL(None)
sim.sim_cpu_work.argtypes = sim.sim_cpu_wait.argtypes = [ctypes.c_uint64]
sim.sim_cpu_work(0)
m, r, c = time.monotonic_ns(), time.time_ns(), time.thread_time_ns()
sim.sim_cpu_work(3_000_000)
sim.sim_cpu_wait(4_000_000)
time.sleep(0.005)
assert time.monotonic_ns() - m == 12_000_000, time.monotonic_ns() - m
assert time.time_ns() - r == 12_000_000
assert time.thread_time_ns() - c == 3_000_000
u = resource.getrusage(resource.RUSAGE_THREAD)
assert (u.ru_utime, u.ru_nvcsw) == (0.003, 2), u
# A thread that never enters sees the latest time, and its timeouts really end.
seen = []
def tracer():
    seen.append(time.monotonic_ns())
    threading.Event().wait(0.02)
t = threading.Thread(target=tracer); t.start(); t.join()
assert seen[0] == time.monotonic_ns(), (seen, time.monotonic_ns())
"""
    env = dict(os.environ, SIM_CLOCK="virtual", LD_PRELOAD=BUILD + "/sim/libsimclock.so")
    subprocess.run([sys.executable, "-c", code], env=env, check=True)


def the_wall_clock_can_step():
    code = """
import ctypes, time
sim = ctypes.CDLL(None)
sim.sim_cpu_work.argtypes = [ctypes.c_uint64]
cuda = ctypes.CDLL("%s/sim/libcuda.so.1")
assert cuda.cuInit(0) == 0
m, r = time.monotonic_ns(), time.time_ns()
sim.sim_cpu_work(2_000_000)
assert time.monotonic_ns() - m == 2_000_000
assert time.time_ns() - r == 2_000_000 - 5_000_000_000, time.time_ns() - r
""" % BUILD
    with tempfile.TemporaryDirectory() as folder:
        open(folder + "/script", "w").write("clock_step 1ms -5s\n")
        env = dict(os.environ, SIM_CLOCK="virtual", SIM_SCRIPT=folder + "/script",
                   LD_PRELOAD=BUILD + "/sim/libsimclock.so")
        subprocess.run([sys.executable, "-c", code], env=env, check=True)


def main():
    for name, test in list(globals().items()):
        if callable(test) and name not in ("run", "ops", "same", "main") and not isinstance(test, type):
            test()
            print("ok  " + name.replace("_", " "))


if __name__ == "__main__":
    main()
