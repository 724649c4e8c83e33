#!/usr/bin/env python3
"""BOUNDSHIM_KEEP=newest: beyond the size limit the end of a run is kept, and the room taken stays below the limit at any time."""
import json
import subprocess
import time

from lib import APPS, BUILD, NESTED, Trace, Truth, check, environment, equal, expected_calls, folder, main, need, need_sim

need_sim("launch_loop")
need(BUILD / "boundshim")


def room_taken(where):
    """What the trace and its shorter copy take together."""
    total = 0
    for path in [*where.glob("*.bst"), *where.glob("*.part")]:
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            pass
    return total


def the_newest_is_kept_where_that_is_asked_for():
    """Of each thread's calls the trace has the last ones; what went before is counted to the last row, and is no part of the report."""
    where = folder("newest")
    options = ("steps=30000", "threads=2", "kernels=2", "h2d=64", "sync=2", "quiet=1")
    # the truth tells the last calls; no room is taken beyond the limit at any time
    process = subprocess.Popen([APPS / "launch_loop", *options], cwd=where, stderr=subprocess.PIPE,
                               env=environment(where, env={"BOUNDSHIM_MAX_MB": 1, "BOUNDSHIM_KEEP": "newest", "BOUNDSHIM_COUNTERS": "off"}))
    most = 0
    while process.poll() is None:
        most = max(most, room_taken(where))
        time.sleep(0.005)
    equal((process.returncode, process.stderr.read()), (0, b""), "status and stderr")
    equal(sorted(path.suffix for path in where.iterdir() if "truth" not in path.name), [".bst"], "files")
    check(most <= 1 << 20, f"{most} bytes were taken")
    trace, truth = Trace(next(where.glob("*.bst"))).sound(), Truth(next(where.glob("truth*")))
    kept = 0
    for tid in {c["tid"] for c in truth.calls}:
        made = [(name, ret) for name, _, ret, _ in expected_calls(truth, tid)]
        rows = [(trace.api(row), row["result"]) for row in trace.calls_of(tid) if not row["flags"] & NESTED]
        check(rows == made[len(made) - len(rows):], f"thread {tid}: {len(rows)} of {len(made)} calls, and not the last ones")
        kept += len(rows)
    lost = trace.losses["file_limit"]
    events = sum(len(trace[table]) for table in ("call", "run", "copy", "wake", "overhead", "range", "library"))
    all_made = sum(len(expected_calls(truth, tid)) for tid in {c["tid"] for c in truth.calls})
    check(lost > 0 and kept > 1000, f"{kept} calls kept, {lost} rows lost")
    missing = all_made - kept + len(truth.device_ops()) - len(trace["run"]) - len(trace["copy"]) - trace.losses["ring_full"]
    # rows of `wake` are lost too, and are not in the truth
    check(missing <= lost <= 2 * missing, f"{missing} calls and operations are missing, {lost} rows counted ({events} kept)")
    done = subprocess.run([BUILD / "boundshim", "report", "--format", "json", trace.path], capture_output=True, text=True, timeout=60, check=True)
    process = json.loads(done.stdout)["processes"][0]
    device, offset = process["devices"][0], trace.realtime_offset()
    check(device["verdict"]["regime"] != "unknown", device["verdict"])
    last = max(c["end"] for c in truth.calls) - min(row["begin"] + offset for row in trace["call"])
    check(0.8 * last < device["whole"]["window_ns"] < 1.2 * last, f"the window is {device['whole']['window_ns']}, what is kept {last}")
    unknown = device["whole"]["leaves"]["unknown"] / device["whole"]["window_ns"]
    check(unknown < 0.2, f"{unknown:.0%} of the window are unknown: {device['whole']['leaves']}")
    return f"{kept} of {all_made} calls, at most {most} bytes at once, {unknown:.1%} unknown"


if __name__ == "__main__":
    main(the_newest_is_kept_where_that_is_asked_for)
