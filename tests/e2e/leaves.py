#!/usr/bin/env python3
"""Programs whose timeline is known, on the simulated CUDA with its virtual clock: each leaf of the report is what the truth says,
within 1 % of the window, in both windows and on each device, and the leaves sum to the window to the nanosecond.

A scenario is what tests/apps/play.c does, what the simulated device does (SIM_SCRIPT), and what the steady window must hold, in us
for each round, counted by hand. Everything else is compared with tests/e2e/timeline_truth.py, which knows the truth file alone."""
import json
import os
import subprocess
import sys

from lib import BUILD, check, equal, in_pairs, main, need_sim, run
from timeline_truth import IDLE, LEAVES, Timeline

need_sim("play")

LAUNCH_NS, NODE_NS = 850, 360  # what CUPTI costs where nothing was calibrated: DESIGN, section 2
TOLERANCE = 0.01
DEVICE = f"cupti_activity_cost {LAUNCH_NS}ns\ncupti_node {NODE_NS}ns\n"
WIDE = 20000  # blocks: waves > 1, so that without counters nothing is said of a kernel
KERNELS = {"small": ("underfilled", 20), "big": ("unknown", 100), "short": ("underfilled", 4), "nccl_sum": ("communication", 60),
           "early": ("unknown", 50)}


def script_of(extra):
    lines = [f"kernel {name}* duration={us}us per_block=0 overlap=10us" for name, (_, us) in KERNELS.items()]
    return DEVICE + "\n".join(lines) + "\n" + extra


def label(names):
    """Of kernels that run together: nothing is said of several if nothing is said of one."""
    leaves = {KERNELS[name][0] for name in names}
    return "unknown" if "unknown" in leaves else leaves.pop()


class Scenario:
    def __init__(self, text, rounds=40, script="", before="", devices=1, want=None, after="", label=None):
        self.before, self.text, self.after, self.rounds = before, text, after, rounds
        self.script, self.devices, self.want, self.label = script, devices, want or {}, label

    def program(self):
        lines = [*self.before.split(";"), f"repeat {self.rounds}", *self.text.split(";"), "end"]
        lines += ["device 1", "device_sync", "device 0"] * (self.devices > 1) + ["device_sync", *self.after.split(";")]
        return "\n".join(line.strip() for line in lines)


BIG = f"launch big 0 {WIDE}"
EARLY = f"launch_early early 0 {WIDE}"
BEFORE_DEVICE_1 = "device 1; launch small 1; device 0; launch small 0; device_sync"
GRAPH = "capture 0; launch small 0; launch small 0; launch small 0; captured 0 0"
TWO_THREADS = ("barrier 0 2; work 10; launch small 0; barrier 1 2; barrier 2 2",
               "thread; repeat 40; barrier 0 2; barrier 1 2; work 40; " + BIG + "; barrier 2 2; end")
# Figures by hand. A launch call takes 3 + 0.85 us, its kernel starts 3 us after it; queued kernels are 1 us apart; a wait returns
# 2 us after what it waits for, and its call takes 0.2 us.
SCENARIOS = {
    # nothing but Python
    "host_bound": Scenario("work 50; launch small 0", want={"underfilled": 20, "host": 27, "launch": 6, "tracing": 0.85}),
    "host_bound_two_streams": Scenario("work 50; launch small 0; work 50; launch small 1", want={"underfilled": 20, "host": 27}),
    "host_spins": Scenario("work 300; launch small 0", want={"host": 277}),
    "host_sleeps": Scenario("sleep 300; launch small 0", want={"host": 277}),
    "host_preempted": Scenario("preempt 300; launch small 0", want={"host": 277}),
    "host_works_and_sleeps": Scenario("work 50; sleep 1200; launch short 0; work 50; launch short 0"),
    "data_loader": Scenario("sleep 2000; h2d 1000000 0; " + BIG + "; work 100; launch small 0; sync 0"),
    "waits_spin_host_sleeps": Scenario(f"{BIG}; sync 0; sleep 500; launch small 0; work 200", script="sync_spins on\n"),
    "waits_spin_host_works": Scenario(f"{BIG}; sync 0; work 500; launch small 0; work 200", script="sync_spins on\n"),
    "waits_sleep_host_sleeps": Scenario(f"{BIG}; sync 0; sleep 500; launch small 0; work 200"),
    "waits_sleep_host_works": Scenario(f"{BIG}; sync 0; work 500; launch small 0; work 200"),
    "sleep_or_lose_the_core": Scenario("preempt 200; launch small 0; sleep 300; launch small 0; work 150; launch small 0"),
    # nothing but the GPU
    "run_ahead": Scenario("work 10;" + BIG, want={"unknown": 100, "launch": 1, "host": 0, "sync": 0}),
    "queue_full": Scenario("work 1;" + BIG, script="queue_depth 4\n", rounds=80, want={"unknown": 100, "launch": 1, "host": 0}),
    "many_streams": Scenario(f"launch big 0 {WIDE}; launch small 1; launch small 2; work 30", want={"host": 0}),
    "event_chain": Scenario(f"{BIG}; record 0 0; wait 0 1; launch small 1; record 1 1; wait 1 0", want={"unknown": 100, "underfilled": 20}),
    "default_stream": Scenario(f"launch big default {WIDE}; launch small blocking; launch small default; work 20"),
    "per_thread_stream": Scenario(f"launch big own {WIDE}; launch small own; work 20"),
    "early_start": Scenario(f"{EARLY}; {EARLY}; {EARLY}; sync 0", want={"unknown": 130 / 3}),
    "launch_bound": Scenario("launch short 0; launch short 0; launch short 0", want={"underfilled": 4, "launch": 1, "host": 0}),
    # waits
    "sync_heavy": Scenario(f"work 30; {BIG}; sync 0; work 20; launch small 0; sync 0",
                           want={"sync": 44, "host": 10, "launch": 12, "tracing": 1.7, "unknown": 100, "underfilled": 20}),
    "two_alike_in_a_round": Scenario(f"work 50; {BIG}; {BIG}; sync 0", want={"unknown": 100}),
    "lead_lost": Scenario(f"{BIG}; launch small 0; launch small 0; sync 0; work 90", want={"host": 0, "sync": 92}),
    "lead_ends_at_a_launch": Scenario(f"{BIG}; sync 0; work 10; launch small 0; work 60; launch small 1"),
    "device_sync": Scenario(f"work 30; {BIG}; device_sync"),
    "event_sync": Scenario(f"work 30; {BIG}; record 0 0; launch small 0; event_sync 0; work 40"),
    "polling": Scenario(f"work 10; {BIG}; poll 0 2", want={"sync": 0}),
    "item": Scenario(f"work 20; {BIG}; d2h 8 0; sync 0; work 15; launch small 0"),
    # copies
    "copy_hidden": Scenario(f"h2d 1000000 1; {BIG}; work 80", want={"transfer": 0}),
    "copy_exposed": Scenario("h2d 5500000 0; launch small 0; sync 0", want={"transfer": 101.5}),
    "copy_half_hidden": Scenario("h2d 5500000 1; work 20; launch small 0; sync 1"),
    "copy_both_ways": Scenario(f"h2d 2000000 1; d2h 3000000 2; {BIG}; wait 0 1; sync 1; sync 2", before="record 0 0"),
    "pageable_up": Scenario("work 20; pageable_h2d 1000000 0; launch small 0"),
    "pageable_down": Scenario(f"work 20; {BIG}; pageable_d2h 200000 0; work 30"),
    "pageable_small": Scenario("work 20; pageable_h2d 10000 0; launch small 0; work 90"),
    "blocking_copy": Scenario(f"work 20; {BIG}; wait_h2d 1000000; work 10"),
    "memset": Scenario("work 10; set 50000000 0; launch small 0; sync 0", want={"transfer": 21}),
    "on_device_copy": Scenario("d2d 20000000 0; launch small 0; sync 0"),
    "peer_copy": Scenario("peer 10000000 0; launch small 0; sync 0", devices=2),
    # memory, code
    "malloc_free": Scenario("malloc 4096; launch small 0; sync 0; free", want={"alloc": 100}),
    "free_waits": Scenario(f"malloc 4096; {BIG}; free", want={"alloc": 60}),
    "malloc_async": Scenario("work 20; malloc_async 4096 0; launch small 0; free_async 0"),
    "module_load": Scenario("load; launch small 0; sync 0", want={"alloc": 50}),
    "lazy_load": Scenario("work 20; launch small 0; sync 0", script="module_load 2ms\n"),
    # graphs
    "graph_replay": Scenario("replay 0 0; sync 0", before=GRAPH, want={"underfilled": 60}),
    "graph_run_ahead": Scenario("work 5; replay 0 0", before=GRAPH, want={"underfilled": 60, "tracing": 0.72, "host": 0}),
    "graph_host_bound": Scenario("work 150; replay 0 0", before=GRAPH, want={"underfilled": 60}),
    # held by something else
    "host_function": Scenario(f"{BIG}; host 0; launch small 0", script="host_function 50us\n", want={"dependency": 51}),
    "other_device": Scenario(f"{BIG}; record 0 0; device 1; wait 0 1; launch small 1; device 0", devices=2, before=BEFORE_DEVICE_1),
    "other_device_in_turns": Scenario(f"{BIG}; record 0 0; device 1; wait 0 1; launch small 1; record 1 1; device 0; wait 1 0",
                                      devices=2, before=BEFORE_DEVICE_1),
    "wait_value": Scenario(f"{BIG}; write_value 0; device 1; wait_value 1; launch small 1; device 0", devices=2, before=BEFORE_DEVICE_1),
    # collectives
    "collective_alone": Scenario(f"{BIG}; launch nccl_sum 0; sync 0", want={"communication": 60, "unknown": 100}),
    "collective_hidden": Scenario(f"{BIG}; launch nccl_sum 1; work 60; sync 0", want={"communication": 0}),
    "collective_late": Scenario(f"{BIG}; work 70; launch nccl_sum 1; sync 1"),
    # threads
    "forward_and_autograd": Scenario(TWO_THREADS[0], after=TWO_THREADS[1]),
    "sleeps_while_autograd_launches": Scenario("launch small 0; barrier 0 2; barrier 1 2; work 120; launch small 0",
        after=f"thread; repeat 40; barrier 0 2; work 30; launch small 0; work 200; launch small 0; barrier 1 2; end"),
    "another_thread_waits": Scenario("work 50; launch small 0", after="thread; repeat 60; sleep 20; device_sync; end"),
    "two_threads_two_streams": Scenario("work 50; launch small 0", after="thread; repeat 20; work 90; launch small 1; sync 1; end"),
    # what is not alike
    "evaluation_between": Scenario(f"work 10; {BIG}; launch small 0; every 10; repeat 8; work 100; launch short 0; end; end", rounds=60),
    "checkpoints": Scenario("work 30; launch small 0; launch small 0; every 20; sync 0; sleep 20000; end", rounds=100),
    "start_up": Scenario("work 30; launch small 0", before="sleep 50000; load; malloc 4096; launch big 0; sync 0; work 20000"),
}


# By what the performance monitors say; on the machine's clock, as they are read by a thread of the recorder.
MEASURED = {"matmul": ("compute", "tensor:85,dram_read:20,l2:30"), "stream": ("dram", "dram_read:80,dram_write:10,l2:40"),
            "lookup": ("cache", "l2:88,dram_read:20,fma:10"), "chase": ("latency", "l2:12,dram_read:9,alu:15"),
            "corner": ("underfilled", "tensor:4,dram_read:2,sm_active:8")}
MEASURED_SCRIPT = "".join(f"kernel {name} duration=600us per_block=0 counters={counters}\n" for name, (_, counters) in MEASURED.items())
BY_COUNTERS = Scenario("".join(f"launch {name} 0 {10 if name == 'corner' else WIDE};" for name in MEASURED) + "sync 0; work 500",
                       rounds=600, script=MEASURED_SCRIPT, label=lambda names: MEASURED[names[0]][0])


def play(name, scenario, virtual=True, preload=True):
    program = BUILD / f"leaves-{os.getpid()}-{name}"
    program.write_text(scenario.program())
    devices = f"devices {scenario.devices}\n" if scenario.devices > 1 else ""
    try:
        result = run("play", program, script=devices + script_of(scenario.script), virtual=virtual, preload=preload)
    finally:
        program.unlink()
    wrong = [line for line in result.out.splitlines() if line.startswith("play") or ".c:" in line]
    equal((result.status, wrong), (0, []), f"{name}: the program")
    return result


def alone(name, scenario):
    return play(name, scenario, preload=False)


def report_of(trace):
    done = subprocess.run([BUILD / "boundshim", "report", "--format", "json", trace], capture_output=True, text=True, timeout=60)
    equal(done.returncode, 0, f"exit status of report ({done.stderr})")
    return json.loads(done.stdout)["processes"][0]


def spent_of(result):
    for line in result.out.splitlines():
        how, tid, begin, end = line.split()
        yield int(tid), int(begin), int(end), how


def compare(name, window, truth, parts):
    """The leaf that is farthest from the truth, in parts of the window."""
    leaves, length = window["leaves"], window["window_ns"]
    equal(sum(leaves.values()), length, f"{name}: sum of the leaves")
    equal(sum(truth.values()), length, f"{name}: the truth's window")
    wrong = {leaf: (leaves[leaf] - truth[leaf]) / length for leaf in LEAVES}
    worst = max(wrong, key=lambda leaf: abs(wrong[leaf]))
    check(abs(wrong[worst]) <= TOLERANCE, f"{name}: leaves off by more than 1 % of {length / 1e3:.1f} us:",
          *(f"{leaf} is {leaves[leaf] / 1e3:.1f}, was {truth[leaf] / 1e3:.1f} us;" for leaf in LEAVES if abs(wrong[leaf]) > TOLERANCE))
    return abs(wrong[worst]), worst


def compare_host(name, window, parts):
    """What the thread did meanwhile; before its first silence was over, nothing is known."""
    host, length = window["host"], window["window_ns"]
    equal(sum(host.values()), window["leaves"]["host"], f"{name}: parts of host")
    unmeasured = host.pop("unmeasured")
    for part, ns in host.items():
        check(-unmeasured <= ns - parts[part] + TOLERANCE * length and ns - parts[part] <= TOLERANCE * length, f"{name}: host {part} is {ns / 1e3:.1f}, was {parts[part] / 1e3:.1f}"
              f" us of {length / 1e3:.1f}")


def check_scenario(name, scenario=None):
    scenario, virtual = scenario or SCENARIOS[name], scenario is None
    result = play(name, scenario, virtual)
    process = report_of(result.traces[0])
    timeline = Timeline(result.truth(), spent_of(result), scenario.label or label, pageable=(1, 2) if "pageable" in scenario.text else (),
                        launch_cost=LAUNCH_NS, node_cost=NODE_NS)
    equal(len(process["devices"]), len(timeline.devices), f"{name}: devices")
    worst = (0, "none")
    for device in process["devices"]:
        # on the machine's clock the first call is recorded with what starting up costs
        for which in ("whole", "steady") if virtual else ("steady",):
            window, step = device[which], device["steady"]["step"]
            if which == "steady" and step and step["outlier_count"]:
                continue  # not one stretch
            truth, parts = timeline.leaves(device["index"], window["begin"], window["window_ns"])
            place = f"{name}, device {device['index']}, {which}"
            worst = max(worst, compare(place, window, truth, parts))
            if which == "steady" and virtual:
                compare_host(place, window, parts)
    steady, step = process["devices"][0]["steady"], process["devices"][0]["steady"]["step"]
    for leaf, us in scenario.want.items():
        got = steady["leaves"][leaf] / 1e3 / (step["count"] if step else scenario.rounds)
        period = steady["window_ns"] / 1e3 / (step["count"] if step else scenario.rounds)
        check(abs(got - us) <= TOLERANCE * period, f"{name}: {leaf} is {got:.2f} us of {period:.2f} a round, expected {us}")
    return name, worst


def outliers_are_explained():
    """What made them long is named, with its size: a checkpoint every 20th round, a kernel that is slow now and then, one that runs
    only now and then, and a copy. By leaf, and by the kernel or copy, or the idle time before it."""
    slow = Scenario("work 30; launch small 0; sync 0", rounds=120, script="kernel small duration=" + "20us," * 29 + "400us per_block=0\n")
    rare = Scenario(f"work 10; {BIG}; launch short 0; every 25; launch nccl_sum 0; launch nccl_sum 0; launch nccl_sum 0; end; sync 0", rounds=150)
    copies = Scenario(f"work 10; {BIG}; launch short 0; every 25; d2h 20000000 0; sync 0; end; sync 0", rounds=150)
    for scenario, leaf, us, what, how in ((SCENARIOS["checkpoints"], "host", 20_000, "small", "idle before"),
                                          (slow, "underfilled", 380, "small", "busy"),
                                          (rare, "communication", 180, "nccl_sum", "busy"),
                                          (copies, "transfer", 364, "copy device to host", "busy")):
        trace = play("outliers", scenario).traces[0]
        outliers = report_of(trace)["devices"][0]["steady"]["outliers"]
        check(outliers and outliers["count"] >= 3, "outliers:", outliers)
        equal(max(outliers["more_ns"], key=outliers["more_ns"].get), leaf, f"what grew ({outliers})")
        check(abs(outliers["more_ns"][leaf] / 1e3 - us) < 0.02 * us, f"{leaf}: {outliers['more_ns'][leaf] / 1e3} us more, expected {us}")
        cause = outliers["causes"][0]
        equal((cause["what"], cause["how"]), (what, how), f"the first cause ({outliers})")
        check(abs(cause["more_ns"] / 1e3 - us) < 0.02 * us, f"{what}: {cause['more_ns'] / 1e3} us more, expected {us}")
        text = subprocess.run([BUILD / "boundshim", "report", trace], capture_output=True, text=True, timeout=60).stdout
        words = " ".join(text.split())
        check(f"{'waiting for' if how == 'idle before' else 'by'} {what})" in words, f"{what} is not named:", text[:1000])


def each_leaf_by_counters_is_what_happened():
    _, (error, leaf) = check_scenario("by_counters", BY_COUNTERS)
    return f"worst leaf {leaf}, {100 * error:.3f} %"


def tried(name):
    try:
        return check_scenario(name)
    except AssertionError as error:
        return name, error


def each_leaf_is_what_happened():
    failed = []
    for name, worst in in_pairs(tried, SCENARIOS):
        if isinstance(worst, AssertionError):
            failed.append(str(worst))
        else:
            print(f"     {name:28} worst leaf {worst[1]:13} {100 * worst[0]:.3f} %")
    check(not failed, f"{len(failed)} of {len(SCENARIOS)} scenarios:", "\n".join(["", *failed]))
    return f"{len(SCENARIOS)} scenarios"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        SCENARIOS = {name: SCENARIOS[name] for name in sys.argv[1:]}
    main(each_leaf_is_what_happened, outliers_are_explained, each_leaf_by_counters_is_what_happened)
