#!/usr/bin/env python3
"""Profilers that look CUPTI up by handle (tests/apps/by_handle.c), which nothing of ours stands before: whoever comes first has CUPTI,
the other goes without, the program is as alone wherever that can be, and the trace says who has it. Two copies of the recorder
in one process are one tracer."""
import shutil
import subprocess

from lib import SHIM, as_alone, check, equal, folder, main, need, need_sim, run, same_calls

need_sim("by_handle", "launch_loop", "play")
need("gcc")


def proton():
    """A library of the name that Proton is known by."""
    where = folder("proton")
    (where / "proton.c").write_text("int proton;\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", where / "libproton.so", where / "proton.c"], check=True)
    return where / "libproton.so"


PROTON = proton()


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


def proton_is_given_way_to_when_it_comes_later():
    result = compare("late=1", "pause=1000", library=PROTON).says(1, "Proton")
    trace = hooks_are_there(result, 1200)
    equal(trace.meta["cupti.state"], "taken", "cupti.state")
    equal(len(trace["run"]), 400, "kernels until it came")


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
     proton_is_given_way_to_before_it_starts, proton_is_given_way_to_when_it_comes_later,
     yielding_leaves_it_all, two_copies_are_one_tracer)
