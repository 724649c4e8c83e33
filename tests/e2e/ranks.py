#!/usr/bin/env python3
"""Several ranks, each with its trace, on the simulated CUDA: collectives are communication, and waiting for the slowest rank is told
from transfer. Rank 1 works longer before each; a collective ends for all at once, so it is the shortest there."""
import json
import os
import subprocess

from lib import BUILD, check, equal, folder, main, need, need_sim, run

need_sim("play")
need(BUILD / "boundshim")

ROUNDS = 60
TRANSFER_US = 80
ALL_REDUCE = "_Z35ncclDevKernel_AllReduce_Sum_f32_RINGv"
ALL_GATHER = "_Z33ncclDevKernel_AllGather_RING_LLv"


def job(waits, where=None, rounds=None, kernels=None, ranks=True):
    """One run for each rank; rank r waits waits[r] us in each collective, as it works so much less before it than the slowest does."""
    where = where or folder("ranks")
    for rank, wait in enumerate(waits):
        names = (kernels or {}).get(rank, (ALL_REDUCE, ALL_GATHER))
        program = where / f"program-{rank}"
        program.write_text("\n".join([
            f"repeat {(rounds or {}).get(rank, ROUNDS)}", f"work {100 + max(waits) - wait}", "launch forward 0 20000", f"launch {names[0]} 0",
            "sync 0", f"work {100 + max(waits) - wait}", f"launch {names[1]} 0", "sync 0", "end", "device_sync"]))
        script = (f"kernel forward duration=200us\nkernel *ncclDevKernel* duration={TRANSFER_US + wait}us\n")
        env = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": len(waits), "SIM_TRUTH": None} if ranks else {"SIM_TRUTH": None}
        result = run("play", program, where=where, script=script, virtual=True, env=env)
        equal((result.status, result.err), (0, ""), f"rank {rank}")
    equal(len(list(where.glob("*.bst"))), len(waits), "traces")
    return where


def report(where, *options):
    done = subprocess.run([BUILD / "boundshim", "report", *options, where], capture_output=True, text=True, timeout=60, check=False,
                          env=dict(os.environ, COLUMNS="100", NO_COLOR="1"))
    equal(done.returncode, 0, f"exit status of report ({done.stderr})")
    return json.loads(done.stdout) if options else done.stdout


JSON = ("--format", "json")


def waiting_for_the_slowest_is_told_from_transfer():
    where = job((400, 0, 300))
    told = report(where, *JSON)
    collectives = told["collectives"]
    equal(len(told["processes"]), 3, "processes")
    equal([rank["rank"] for rank in collectives["ranks"]], ["0", "1", "2"], "ranks")
    equal(collectives["slowest"]["rank"], "1", "the slowest rank")
    count = collectives["count"]
    check(2 * ROUNDS - 6 <= count <= 2 * ROUNDS, f"{count} collectives compared")
    for rank, wait in zip(collectives["ranks"], (400, 0, 300)):
        equal((rank["waiting_ns"], rank["transfer_ns"]), (wait * 1000 * count, TRANSFER_US * 1000 * count), f"rank {rank['rank']}")
        equal(rank["total_ns"], rank["waiting_ns"] + rank["transfer_ns"], "sum")
    text = " ".join(report(where).split())
    check("The others wait for rank 1, 74 % of all time in collectives" in text, text[:1500])


def collectives_are_communication():
    for process in report(job((400, 0)), *JSON)["processes"]:
        device = process["devices"][0]
        leaves, rank = device["steady"]["leaves"], int(process["run"]["rank"])
        steps = device["steady"]["step"]["count"]
        each = leaves["communication"] / (2 * steps) / 1000
        check(abs(each - (TRANSFER_US + (400, 0)[rank])) < 5, f"rank {rank}: {each} us of communication each")
        labels = {k["leaf"] for k in device["kernels"] if "nccl" in k["name"]}
        equal(labels, {"communication"}, "labels of the collectives")


def equal_ranks_have_no_slowest():
    where = job((0, 0, 0))
    collectives = report(where, *JSON)["collectives"]
    equal((collectives["slowest"], collectives["reason"]), (None, None), "slowest, reason")
    equal([rank["waiting_ns"] for rank in collectives["ranks"]], [0, 0, 0], "waiting")
    check("No rank stands out" in report(where), report(where)[:800])


def a_rank_cut_short_is_compared_as_far_as_it_goes():
    collectives = report(job((100, 0), rounds={1: 30}), *JSON)["collectives"]
    check(50 <= collectives["count"] <= 60, collectives)
    equal(collectives["slowest"]["rank"], "1", "the slowest rank")


def other_collectives_are_not_compared():
    where = job((100, 0), kernels={1: (ALL_GATHER, ALL_REDUCE)})
    collectives = report(where, *JSON)["collectives"]
    equal((collectives["count"], collectives["ranks"]), (None, []), "count, ranks")
    check("same order" in collectives["reason"], collectives)
    check("not compared: the ranks did not run the same" in report(where), report(where)[:800])


def processes_without_ranks_are_told_by_pid():
    collectives = report(job((200, 0), ranks=False), *JSON)["collectives"]
    equal({rank["rank"] for rank in collectives["ranks"]}, {None}, "ranks")
    equal(len({rank["pid"] for rank in collectives["ranks"]}), 2, "pids")


def one_process_has_nothing_to_compare():
    where = job((0,))
    equal(report(where, *JSON)["collectives"], None, "collectives")
    check("beside each other" not in report(where), "a table of one rank")


main(waiting_for_the_slowest_is_told_from_transfer, collectives_are_communication, equal_ranks_have_no_slowest,
     a_rank_cut_short_is_compared_as_far_as_it_goes, other_collectives_are_not_compared, processes_without_ranks_are_told_by_pid,
     one_process_has_nothing_to_compare)
