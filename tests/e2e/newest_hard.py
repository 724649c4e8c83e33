#!/usr/bin/env python3
"""BOUNDSHIM_KEEP=newest where it is hard to keep: killed while the file is rewritten, and names alone that fill it."""
import subprocess
import time

from lib import APPS, Trace, check, environment, folder, in_pairs, main, need_sim, run
from newest import room_taken

need_sim("launch_loop", "many_names")


def a_kill_while_the_newest_is_kept_leaves_a_good_trace():
    def once(seed):
        where = folder("newest")
        env = environment(where, script="kernel * duration=1us\nqueue_depth 100000\n", env={
            "BOUNDSHIM_MAX_MB": 1, "BOUNDSHIM_KEEP": "newest", "SIM_TRUTH": None, "BOUNDSHIM_COUNTERS": "off"})
        with subprocess.Popen([APPS / "launch_loop", "steps=100000000", "threads=2", "sync=50", "quiet=1"], cwd=where, env=env) as process:
            most, deadline = 0, time.monotonic() + 30
            while (size := room_taken(where)) >= most and time.monotonic() < deadline:
                most = size
                time.sleep(0.003)
            time.sleep(0.02 * seed)
            process.kill()
        trace = Trace(next(where.glob("*.bst"))).sound(complete=False)
        check(len(trace["call"]) > 100 and not trace.complete, "little is left")
        return trace.losses["file_limit"]

    lost = in_pairs(once, range(3))
    check(all(lost), f"nothing was dropped before a kill: {lost}")
    return f"3 kills, {lost} rows dropped before"


def names_alone_may_fill_what_is_kept():
    """Nothing is left to drop: said once, and from the limit on the rest is counted."""
    result = run("many_names", "names=250000", env={"BOUNDSHIM_MAX_MB": 1, "BOUNDSHIM_KEEP": "newest", "SIM_TRUTH": None,
                                                    "BOUNDSHIM_COUNTERS": "off"}).says(1, "BOUNDSHIM_KEEP=newest")
    trace = result.trace().sound()
    check(result.traces[0].stat().st_size <= 1 << 20 and list(result.where.glob("*.part")) == [], "files")
    check(trace.losses["file_limit"] > 0 and trace["run"], f"{len(trace['run'])} kernels, lost: {trace.losses}")


main(a_kill_while_the_newest_is_kept_leaves_a_good_trace, names_alone_may_fill_what_is_kept)
