#!/usr/bin/env python3
"""Profilers that look CUPTI up by handle (tests/apps/by_handle.c), which nothing of ours stands before: whoever comes first has CUPTI,
the other goes without, the program is as alone wherever that can be, and the trace says who has it. Two copies of the recorder
in one process are one tracer."""
import shutil
import subprocess

from lib import SHIM, as_alone, check, equal, folder, main, need, need_sim, run, same_calls

need_sim("by_handle", "launch_loop", "play")
need("gcc")


def tool(name):
    """A library of the name that a profiler is known by."""
    where = folder("library")
    (where / "nothing.c").write_text("int nothing_of_theirs;\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", where / name, where / "nothing.c"], check=True)
    return where / name


PROTON = tool("libproton.so")


def compare(*options, library=None, **env):
    env = {**env, "BY_HANDLE_LIBRARY": library}
    alone = run("by_handle", *options, env=env, preload=False)
    equal((alone.status, alone.out), (0, "profiled 400 kernels\n"), f"alone ({alone.err})")
    return as_alone(run("by_handle", *options, env=env), alone)


def hooks_are_there(result, launches):
    trace = result.trace().sound()
    equal(len(trace.calls("cudaLaunchKernel")), launches, "launches")
    return trace


def one_that_came_first_has_cupti():
    result = compare("early=1").says(1, "cuptiSubscribe")
    trace = hooks_are_there(result, 800)
    equal((trace.meta["cupti.state"], len(trace["run"])), ("taken", 0), "cupti.state, kernels")


def records_that_another_took_are_missed():
    """It registers for CUPTI's buffers without a word: none of ours comes back."""
    result = run("by_handle", "subscribe=0", "late=1", "pause=800", env={"BY_HANDLE_LIBRARY": "libm.so.6"}).says(1, "CUPTI was taken")
    equal(result.status, 0, "exit status")
    trace = hooks_are_there(result, 1200)
    equal(trace.meta["cupti.state"], "taken", "cupti.state")
    check("another profiler" in trace.meta["cupti.reason"], trace.meta["cupti.reason"])
    equal(len(trace["run"]), 400, "kernels, those before it came")


def a_kernel_of_seconds_is_not_taken_for_it():
    """Thousands of launches queue behind a long kernel, whose buffer does not come back before its end."""
    program = folder("long") / "program"
    program.write_text("launch long 0\nrepeat 3000\nlaunch short 0\nend\ndevice_sync\n")
    script = "kernel long duration=3s\nkernel short duration=1us\nqueue_depth 100000\n"
    result = run("play", program, script=script).says(0)
    trace = result.trace().sound().lossless()
    equal((trace.meta["cupti.state"], len(trace["run"])), ("on", 3001), "cupti.state, kernels")


def proton_is_given_way_to_before_it_starts():
    """Its library is there before the first call into CUDA: nothing is asked of CUPTI."""
    result = compare(library=PROTON).says(1, "Proton")
    trace = hooks_are_there(result, 1200)
    equal(trace.meta["cupti.state"], "taken", "cupti.state")
    check("Proton" in trace.meta["cupti.reason"], trace.meta["cupti.reason"])
    equal(len(trace["run"]), 0, "kernels")
    same_calls(trace, result.truth(), "hooks")


def proton_that_comes_later_is_told_of():
    """It is refused CUPTI, as nothing that we could do in a running program would give it that: said before, and how to help it."""
    result = run("by_handle", "late=1", "pause=1000", env={"BY_HANDLE_LIBRARY": PROTON}).says(1, "Proton")
    equal((result.status, result.out), (3, "refused: 39\n"), "status and output")
    trace = hooks_are_there(result, 400)
    equal((trace.meta["cupti.state"], len(trace["run"])), ("on", 400), "cupti.state, kernels")
    check("BOUNDSHIM_CUPTI_YIELD" in trace.meta["cupti.reason"], trace.meta["cupti.reason"])


def nvidias_tools_find_nothing_of_ours_set():
    """As Nsight Compute is started: a shell script, the tool, its helpers, the program, all with our preload."""
    where = folder("tool")
    for name in ("ncu", "nsys", "compute-sanitizer", "program"):
        shutil.copy("/usr/bin/env", where / name)
    (where / "script").write_text('#!/bin/sh\nexec "$@"\n')
    (where / "script").chmod(0o755)
    for name in ("ncu", "nsys", "compute-sanitizer"):
        out = run(where / "script", where / name).out
        check("INJECTION64" not in out, f"{name} finds: {out}")
        # what it starts, told by what the tool gives it
        for variable in (("NV_TPS_LAUNCH_TOKEN", "Interactive"), ("LD_PRELOAD", f"{SHIM}:{tool('libTreeLauncherTargetInjection.so')}"),
                         ("LD_PRELOAD", f"{tool('libToolsInjectionProxy64.so')}:{SHIM}")):
            out = run(where / "script", where / name, f"{variable[0]}={variable[1]}", where / "program").out
            check("INJECTION64" not in out, f"under {name}, {variable[0]}: {out}")
    check("CUDA_INJECTION64_PATH" in run(where / "program").out, "a program of another name finds nothing")


def cupti_is_left_to_nvidias_tools():
    """Programs that they start have a library of theirs preloaded: CUPTI is not even asked."""
    for name, words in (("libTreeLauncherTargetInjection.so", "Nsight Compute"), ("libToolsInjectionProxy64.so", "Nsight Systems")):
        alone = run("launch_loop", "steps=50", preload=False)
        result = as_alone(run("launch_loop", "steps=50", env={"LD_PRELOAD": f"{tool(name)}:{SHIM}"}), alone).says(1, words)
        trace = result.trace().sound()
        equal((trace.meta["cupti.state"], len(trace["run"]), result.truth().cupti), ("taken", 0, []), "cupti.state, kernels, calls of CUPTI")
        check(words in trace.meta["cupti.reason"], trace.meta["cupti.reason"])
        same_calls(trace, result.truth(), "hooks")


def yielding_leaves_it_all():
    for library in (None, PROTON):
        result = compare(library=library, BOUNDSHIM_CUPTI_YIELD=1).says(0)
        trace = hooks_are_there(result, 1200)
        equal(trace.meta["cupti.state"], "off", "cupti.state")
        check("BOUNDSHIM_CUPTI_YIELD" in trace.meta["cupti.reason"], trace.meta["cupti.reason"])


def two_copies_are_one_tracer():
    where = folder("copy")
    copy = where / "libboundshim.so"
    shutil.copy(SHIM, copy)
    alone = run("launch_loop", "steps=50", preload=False)
    for env in ({"CUDA_INJECTION64_PATH": copy}, {"LD_PRELOAD": f"{SHIM}:{copy}"}, {"LD_PRELOAD": f"{copy}:{SHIM}"},
                {"CUDA_INJECTION64_PATH": SHIM}):
        result = as_alone(run("launch_loop", "steps=50", env=env), alone).says(0)
        trace = result.trace().sound().lossless()
        equal((trace.meta["cupti.state"], len(trace["run"])), ("on", 50), f"{env}: cupti.state, kernels")
        same_calls(trace, result.truth())


main(one_that_came_first_has_cupti, records_that_another_took_are_missed, a_kernel_of_seconds_is_not_taken_for_it,
     proton_is_given_way_to_before_it_starts, proton_that_comes_later_is_told_of, nvidias_tools_find_nothing_of_ours_set,
     cupti_is_left_to_nvidias_tools,
     yielding_leaves_it_all, two_copies_are_one_tracer)
