#!/usr/bin/env python3
"""A disk that fails at each write of the trace, once and for ever; no room, no permission, limits: the program runs as if alone,
one line on stderr, the trace decodes and says what it lost."""
import errno
import os
import subprocess
import tempfile

from lib import (APPS, NESTED, TMP, Trace, as_alone, check, environment, equal, expected_calls, folder, in_pairs, main, need, need_sim, run,
                 same_calls, same_device_work)

need_sim("launch_loop")

OPTIONS = ("steps=12", "kernels=2", "h2d=100", "sync=4", "threads=2")
ALONE = run("launch_loop", *OPTIONS, preload=False)
SURE_WRITES = 15  # how many there are differs a little from run to run
ERRORS = ("ENOSPC", "EIO", "EINTR")


def inject(what):
    return ["strace", "-f", "-qq", "-e", "signal=none", "-o", "/dev/null", "-e", "trace=pwrite64",
            "-e", f"inject=pwrite64:{what}"]


def can_strace():
    need("strace")
    return subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True).returncode == 0


def count_writes():
    where = folder("count")
    run("launch_loop", *OPTIONS, where=where, prefix=["strace", "-f", "-qq", "-e", "trace=pwrite64", "-o", str(where / "log")])
    return sum("pwrite64" in line for line in (where / "log").read_text().splitlines())


def verify(result, error, n, forever):
    as_alone(result, ALONE)
    if error == "EINTR" and not forever:
        result.says(0)
        trace = result.trace().sound().lossless()
        same_calls(trace, result.truth())
        return
    if not result.traces:
        equal(n, 1, "a write that failed and left no trace")
        result.says(1, "nothing is recorded")
        return
    trace, truth = result.trace(), result.truth()
    said = [line for line in result.err.splitlines() if "writing the trace failed" in line]
    if not said:
        check(n > SURE_WRITES, "a failed write that nobody told")
        result.says(0)
        same_calls(trace.sound().lossless(), truth)
        return
    result.says(1, "writing the trace failed")
    trace.sound(complete=False)
    if forever:
        check(not trace.complete, "complete, though nothing could be written any more")
        return
    made = sum(len(expected_calls(truth, tid)) for tid in {c["tid"] for c in truth.calls})
    kept = len([row for row in trace["call"] if not row["flags"] & NESTED])
    device, done = len(trace["run"]) + len(trace["copy"]), len(truth.device_ops())
    lost = trace.losses["write_error"]
    check(kept <= made and device <= done, f"{kept} calls of {made}, {device} operations of {done}")
    if trace.complete and not lost:
        # what failed was a dictionary, or the index: repeated, or done without
        same_calls(trace, truth)
        same_device_work(trace, truth)
    elif trace.complete:
        check(kept + device + lost >= made + done, f"{made + done} made, {kept + device} kept, {lost} counted as lost")


def every_write_may_fail_once_or_for_ever():
    if not can_strace():
        return "skipped: strace may not trace here"
    writes = count_writes()
    check(writes > SURE_WRITES, f"only {writes} writes")
    plan = [(n, error, more) for n in range(1, writes + 1) for error in ERRORS for more in ("", "+")]

    def once(item):
        n, error, more = item
        try:
            verify(run("launch_loop", *OPTIONS, prefix=inject(f"error={error}:when={n}{more}")), error, n, bool(more))
        except AssertionError as failure:
            raise AssertionError(f"{error} at write {n}{more}: {failure}") from failure

    in_pairs(once, plan)
    return f"{len(plan)} runs: {writes} writes, {', '.join(ERRORS)}, once and for ever"


def no_place_to_write_is_one_line():
    for out in ("/nonexistent/folder/t.bst", "/proc/t.bst"):
        result = as_alone(run("launch_loop", *OPTIONS, env={"BOUNDSHIM_OUT": out}), ALONE)
        result.says(1, out, "nothing is recorded")
        equal(result.traces, [], "traces")


def an_unwritable_folder_is_one_line():
    where = folder("unwritable")
    if os.geteuid() == 0:
        need("setpriv")
        prefix = ["setpriv", "--reuid=65534", "--clear-groups"]
        os.chmod(TMP, 0o755)
        os.chmod(where, 0o555)
        for parent in (*where.parents, *APPS.parents):
            if not parent.stat().st_mode & 1:
                return f"skipped: {parent} is closed to others"
        result = run("launch_loop", *OPTIONS, where=where, prefix=prefix, env={"SIM_TRUTH": None})
    else:
        os.chmod(where, 0o555)
        result = run("launch_loop", *OPTIONS, where=where, env={"SIM_TRUTH": None})
    as_alone(result, ALONE).says(1, "Permission denied", "nothing is recorded")
    equal(result.traces, [], "traces")


def a_full_disk_costs_the_program_nothing():
    """A real one: a small tmpfs where it may be mounted, else a limit on the size of files."""
    mount = tempfile.mkdtemp(prefix="boundshim-full-", dir="/tmp")
    options = ("steps=20000", "kernels=2", "sync=100", "quiet=1")
    alone = run("launch_loop", *options, preload=False)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", mount], capture_output=True).returncode == 0:
        try:
            result = as_alone(run("launch_loop", *options, env={"BOUNDSHIM_OUT": f"{mount}/t.bst"}), alone)
            result.says(1, "No space left on device")
            trace = Trace(f"{mount}/t.bst").sound(complete=False)
        finally:
            subprocess.run(["umount", mount], check=True)
        how = "a tmpfs of 64 KiB"
    else:
        result = as_alone(run("launch_loop", *options, prefix=["prlimit", "--fsize=65536"], env={"SIM_TRUTH": None}), alone)
        result.says(1, "File too large")
        trace, how = result.trace().sound(complete=False), "RLIMIT_FSIZE"
    os.rmdir(mount)
    check(trace["call"], "the beginning is missing")
    return how


def a_quota_is_as_a_full_disk():
    """EDQUOT from the tenth write on; a real quota needs a file system of one's own."""
    if not can_strace():
        return "skipped: strace may not trace here"
    result = as_alone(run("launch_loop", *OPTIONS, prefix=inject("error=EDQUOT:when=10+")), ALONE)
    result.says(1, "writing the trace failed", os.strerror(errno.EDQUOT))
    trace = result.trace().sound(complete=False)
    check(not trace.complete, "complete, though nothing could be written any more")


def no_shared_memory_is_needed():
    """/dev/shm is not there, as in some containers: no file of it is even asked for, and the trace is whole."""
    hidden = ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o ro,size=4k none /dev/shm && exec \"$@\"", "sh"]
    if subprocess.run([*hidden, "true"], capture_output=True).returncode:
        hidden = []
    result = as_alone(run("launch_loop", *OPTIONS, prefix=hidden), ALONE).says(0)
    same_calls(result.trace().sound().lossless(), result.truth())
    if can_strace():
        where = folder("shm")
        run("launch_loop", *OPTIONS, where=where, prefix=["strace", "-f", "-qq", "-e", "trace=%file,memfd_create", "-o", str(where / "log")])
        equal([line for line in (where / "log").read_text().splitlines() if "/dev/shm" in line or "memfd_create" in line], [], "shared memory")
    return "read-only" if hidden else "it cannot be hidden here; not asked for"


def a_file_size_limit_kills_nobody():
    """SIGXFSZ ends a program by default; ours must not raise it there."""
    for limit in (0, 50, 3000):
        result = as_alone(run("launch_loop", *OPTIONS, prefix=["prlimit", f"--fsize={limit}:{limit}"],
                              env={"SIM_TRUTH": None}), ALONE)
        result.says(1)


def a_closed_standard_error_kills_nobody():
    """Our line must not raise SIGPIPE, which ends a program by default."""
    read, write = os.pipe()
    os.close(read)
    where = folder("pipe")
    done = subprocess.run([APPS / "launch_loop", *OPTIONS], cwd=where, stderr=write, stdout=subprocess.PIPE, timeout=60,
                          env=environment(where, env={"BOUNDSHIM_OUT": "/nonexistent/t.bst"}))
    os.close(write)
    equal((done.returncode, done.stdout.decode()), (ALONE.status, ALONE.out), "status and output")


def a_program_without_standard_streams_leaves_a_good_trace():
    """Its own words, and ours, go nowhere, not into the trace."""
    result = run("/bin/sh", "-c", f"exec {APPS}/launch_loop {' '.join(OPTIONS)} <&- >&- 2>&-", env={"BOUNDSHIM_MOED": 1})
    equal(result.out + result.err, "", "output")
    trace = result.trace().sound().lossless()
    same_calls(trace, result.truth())


def the_size_limit_of_ours_is_kept_and_said():
    launches = 4 * 40000  # waiting for each, so that no two rows are alike; a fast machine packs them into half as much
    result = run("launch_loop", f"steps={launches // 4}", "threads=4", "streams=2", "h2d=64", "sync=1", "quiet=1",
                 env={"BOUNDSHIM_MAX_MB": 1, "SIM_TRUTH": None})
    equal(result.status, 0, "exit status")
    result.says(1, "BOUNDSHIM_MAX_MB")
    check(result.traces[0].stat().st_size <= 1 << 20, "the file is larger than its limit")
    trace = result.trace().sound()
    lost = trace.losses["file_limit"]
    kept = len(trace["call"]) + len(trace["run"]) + len(trace["copy"])
    check(lost > 0 and trace["call"] and trace["run"], f"{lost} lost, {len(trace['call'])} calls")
    check(kept + lost + trace.losses["ring_full"] + trace.losses["pool_exhausted"] >= 4 * launches,
          f"{4 * launches} made, {kept} kept, lost: {trace.losses}")
    check(any(row["cause"] == 8 and row["end"] > row["begin"] for row in trace["loss"]), "the loss has no place")
    equal(trace.meta["end.reason"], "exit", "end.reason")
    return f"{kept} rows kept, {lost} counted"


main(every_write_may_fail_once_or_for_ever, no_place_to_write_is_one_line, an_unwritable_folder_is_one_line,
     a_full_disk_costs_the_program_nothing, a_quota_is_as_a_full_disk, no_shared_memory_is_needed, a_file_size_limit_kills_nobody,
     a_closed_standard_error_kills_nobody, a_program_without_standard_streams_leaves_a_good_trace, the_size_limit_of_ours_is_kept_and_said)
