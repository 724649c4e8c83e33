#!/usr/bin/env python3
"""NVTX through the recorder's own injection: push and pop, start and end, domains, registered strings, thread names; a variable
that another tool has set stays. Against NVIDIA's header; skipped where it is not installed."""
import pathlib
import subprocess

from lib import ROOT, SIM, as_alone, check, equal, folder, main, need, need_sim, run, same_calls, skip

need_sim("launch_loop")
need("gcc")
INCLUDES = [p for p in (pathlib.Path("/usr/local/cuda/include"), ROOT / "build/cuda/include") if (p / "nvtx3/nvToolsExt.h").exists()]
if not INCLUDES:
    skip("nvtx3/nvToolsExt.h is not installed")
PUSH, POP, START, END, MARK, THREAD_NAME = range(1, 7)


def build():
    program = folder("nvtx") / "nvtx_ranges"
    apps = ROOT / "tests/apps"
    subprocess.run(["gcc", "-O1", "-o", program, ROOT / "tests/e2e/nvtx_ranges.c", apps / "app.c", f"-I{apps}", f"-I{ROOT}/tests/sim",
                    *(f"-isystem{i}" for i in INCLUDES), SIM / "libcudart.so.13", f"-Wl,-rpath,{SIM}", "-ldl", "-pthread", "-lm"],
                   check=True)
    return str(program)


PROGRAM = build()
ALONE = run(PROGRAM, preload=False)


def rows_of(trace, tid=None):
    """(kind, name, domain's name) in order."""
    ids = {t["id"] for t in trace["thread"] if tid is None or t["tid"] == tid}
    rows = []
    for row in trace["range"]:
        if row["thread"] in ids:
            domain = trace.strings[trace.handles[row["domain"]] & 0xffffffff] if row["domain"] else None
            rows.append((row["kind"], trace.strings.get(row["name"]), domain))
    return rows


def ranges_are_as_the_program_said_them():
    result = as_alone(run(PROGRAM), ALONE).says(0)
    trace, truth = result.trace().sound().lossless(), result.truth()
    same_calls(trace, truth)
    main_tid = int(trace.meta["process.pid"])
    equal(rows_of(trace, main_tid), [
        (PUSH, "outer", None), (PUSH, "changing", None), (POP, None, None), (PUSH, "wide ?", None), (POP, None, None),
        (POP, None, None), (START, "a", None), (START, "b", None), (END, None, None), (END, None, None), (MARK, "mark", None),
        (PUSH, "with attributes", None), (POP, None, None), (PUSH, None, None), (POP, None, None), (POP, None, None),
        (PUSH, "registered early", "a domain"), (POP, None, "a domain"), (START, "started in the domain", "a domain"),
        (MARK, "started in the domain", "a domain"), (END, None, "a domain"),
    ], "ranges of the main thread")
    other = [t["tid"] for t in trace["thread"] if t["tid"] != main_tid]
    equal(len(other), 1, "other threads")
    equal(rows_of(trace, other[0]), [(THREAD_NAME, "second thread", None), (PUSH, "on the second thread", None), (POP, None, None)],
          "ranges of the second thread")
    named = [row for row in trace["range"] if row["kind"] == THREAD_NAME]
    equal([row["id"] for row in named], other, "the thread that was named")


def starts_and_ends_belong_together():
    trace = run(PROGRAM).trace()
    starts = [(row["id"], trace.strings[row["name"]]) for row in trace["range"] if row["kind"] == START]
    ends = [row["id"] for row in trace["range"] if row["kind"] == END]
    equal(len({i for i, _ in starts}), 3, "ids")
    equal([name for end in ends for i, name in starts if i == end], ["a", "b", "started in the domain"], "what ended")


def launches_lie_inside_their_ranges():
    trace = run(PROGRAM).trace()
    tid = int(trace.meta["process.pid"])
    launches = [row for row in trace.calls_of(tid) if trace.api(row) == "cudaLaunchKernel"]
    pushes = {trace.strings.get(row["name"]): row["time"] for row in trace["range"] if row["kind"] == PUSH}
    pops = sorted(row["time"] for row in trace["range"] if row["kind"] == POP)
    begin, end = launches[0]["begin"], launches[0]["begin"] + launches[0]["duration"]
    check(pushes["changing"] <= begin and end <= min(t for t in pops if t > pushes["changing"]), "the first launch")


def hooks_mode_has_ranges_too():
    trace = as_alone(run(PROGRAM, mode="hooks"), ALONE).trace().sound()
    equal(len(trace["range"]), 24, "rows")


def another_tools_injection_stays():
    where = folder("other")
    (where / "tool.c").write_text('#include <stdio.h>\nint InitializeInjectionNvtx2(void *t)\n'
                                  '{ (void)t; fputs("the other tool\\n", stderr); return 1; }\n')
    tool = where / "tool.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tool, where / "tool.c"], check=True)
    result = run(PROGRAM, env={"NVTX_INJECTION64_PATH": tool})
    equal((result.status, result.out), (0, ALONE.out), "status and output")
    check("the other tool" in result.err, "the other tool was not loaded")
    equal(result.trace().sound()["range"], [], "ranges")


main(ranges_are_as_the_program_said_them, starts_and_ends_belong_together, launches_lie_inside_their_ranges,
     hooks_mode_has_ranges_too, another_tools_injection_stays)
