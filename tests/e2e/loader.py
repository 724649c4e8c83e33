#!/usr/bin/env python3
"""However the loader brings CUDA, CUPTI and other libraries into a process: several copies of the runtime, deep binding, lookup by
handle, a run path, a wrong or missing libcupti, allocators and sanitizers preloaded before us or behind us."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

from lib import (APPS, BUILD, DRIVER, ROOT, SHIM, SIM, Trace, as_alone, check, equal, folder, main, need, need_sim, run, same_calls,
                 same_device_work)

need_sim("launch_loop", "plugin.so", "caller12.so", "caller13.so", "static_like")
need("gcc")
IMPORTS = "import ctypes, os\n"


def python(program, preload=True, **settings):
    return run(sys.executable, "-c", IMPORTS + program, preload=preload, **settings)


def compiled(where, name, source, *flags):
    (where / f"{name}.c").write_text(source)
    subprocess.run(["gcc", "-O1", "-o", where / name, where / f"{name}.c", *map(str, flags)], check=True)
    return where / name


# --- which runtime -------------------------------------------------------------------------------------------------------------

def second_copy_of_13(where):
    """A second libcudart of CUDA 13 under the name that wheels give theirs, and a library bound to it."""
    objects = sorted((SIM / "cudart13").glob("*.o"))
    library = where / "libcudart-0a1b2c3d.so.13"
    subprocess.run(["gcc", "-shared", "-o", library, *objects, f"-Wl,-soname,{library.name},-rpath,{SIM},-Bsymbolic",
                    f"-Wl,--version-script={SIM}/libcudart.so.13.map", "-pthread", "-ldl"], check=True)
    headers = re.findall(r"-isystem (\S+)", subprocess.run(["make", "-n", "-B", "-C", ROOT, f"BUILD={BUILD}", "sim-apps"], text=True,
                                                           capture_output=True, check=False).stdout)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", where / "caller.so", "-DCALLER=13b", ROOT / "tests/apps/caller.c",
                    *(f"-isystem{h}" for h in dict.fromkeys(headers)), library, f"-Wl,-rpath,{where}"], check=True)
    return where / "caller.so"


def two_copies_of_cuda_13_and_one_of_12_each_get_their_own_calls():
    callers = {12: APPS / "caller12.so", 13: APPS / "caller13.so", "13b": second_copy_of_13(folder("copies"))}
    program = f"callers = {[(5 + i, str(path)) for i, path in enumerate(callers.values())]!r}\n" + (
        "version = ctypes.c_int()\n"
        "for n, path in callers * 2:\n"
        "    print(ctypes.CDLL(path).caller_run(n, ctypes.byref(version)), version.value // 1000)\n")
    result = as_alone(python(program), python(program, preload=False)).says(0)
    equal(result.out.split("\n"), ["0 12", "0 13", "0 13"] * 2 + [""], "what the callers got")
    trace, truth = result.trace().sound().lossless(), result.truth()
    same_calls(trace, truth)
    same_device_work(trace, truth)
    names = [trace.kernel_name(row) for row in trace["run"]]
    equal({name: names.count(name) for name in set(names)},
          {f"kernel_of_cudart_{c}": 2 * (5 + i) for i, c in enumerate(callers)}, "kernels of each copy")


def deep_binding_passes_the_hooks_by_and_is_seen_all_the_same():
    program = ("plugin = ctypes.CDLL(PATH, mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND)\n"
               "print(plugin.plugin_run(100))\n").replace("PATH", repr(str(APPS / "plugin.so")))
    result = as_alone(python(program), python(program, preload=False)).says(0)
    equal(result.out, "0\n", "what it got")
    trace, truth = result.trace().sound().lossless(), result.truth()
    equal(same_device_work(trace, truth), 100, "kernels")
    equal([row for row in trace["call"] if not row["flags"] & DRIVER], [], "hooked calls")
    launched = {row["correlation"] for row in trace["call"]}
    equal([row for row in trace["run"] if row["correlation"] not in launched], [], "kernels without a call")


def lookup_by_handle_passes_the_hooks_by_and_is_seen_all_the_same():
    program = (f"cudart = ctypes.CDLL({str(SIM / 'libcudart.so.13')!r})\n"
               "memory = ctypes.c_void_p()\n"
               "print(cudart.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(4096)))\n"
               "print([cudart.cudaMemset(memory, 0, ctypes.c_size_t(4096)) for _ in range(20)])\n"
               "print(cudart.cudaDeviceSynchronize())\n")
    result = as_alone(python(program), python(program, preload=False)).says(0)
    trace, truth = result.trace().sound().lossless(), result.truth()
    equal(same_device_work(trace, truth), 20, "sets")
    equal([row for row in trace["call"] if not row["flags"] & DRIVER], [], "hooked calls")


def what_passes_the_hooks_by_is_told_in_the_report():
    """launches_hooked against launches_seen is the coverage of the hooks; in mode hooks nothing is made up."""
    result = run("static_like")
    done = subprocess.run([BUILD / "boundshim", "report", "--format", "json", result.traces[0]], capture_output=True, text=True,
                          timeout=60, check=True)
    words = json.loads(done.stdout)["processes"][0]["coverage"]
    check(words["launches_hooked"] == 0 and words["launches_seen"] >= 100 and words["kernels"] == words["kernels_explained"], words)
    hooks = as_alone(run("static_like", mode="hooks"), run("static_like", preload=False)).says(0)
    for path in hooks.traces:
        equal(Trace(path).sound()["call"], [], "calls that no hook saw")


def a_library_of_the_callers_run_path_is_found():
    """Whoever hooks dlopen becomes the caller, whose run path is another one."""
    where = folder("runpath")
    (where / "lib").mkdir()
    compiled(where / "lib", "libnear.so", "int near_by(void) { return 42; }\n", "-shared", "-fPIC")
    program = compiled(where, "program", "#include <dlfcn.h>\n#include <stdio.h>\nint main(void) { void *p = dlopen(\"libnear.so\", RTLD_NOW);\n"
                       "int (*f)(void) = p ? (int (*)(void))dlsym(p, \"near_by\") : 0; printf(\"%d\\n\", f ? f() : -1); return 0; }\n",
                       "-Wl,-rpath,$ORIGIN/lib", "-Wl,--enable-new-dtags", "-ldl")
    result = as_alone(run(str(program), where=folder()), run(str(program), preload=False))
    equal((result.out, result.traces), ("42\n", []), "output and traces")


def no_device_is_a_trace_of_nothing_but_the_calls_that_failed():
    """CUDA_VISIBLE_DEVICES empty: each call says 100, no device, and so does the trace; the exit is not held up."""
    env = {"CUDA_VISIBLE_DEVICES": ""}
    alone = run("launch_loop", "steps=3", preload=False, env=env)
    check(alone.status != 0, "it did not notice that it has no device")
    began = time.monotonic()
    result = as_alone(run("launch_loop", "steps=3", env=env), alone).says(0)
    check(time.monotonic() - began < 4, "held up at exit")
    trace = result.trace().sound().lossless()
    equal([(trace.api(row), row["result"]) for row in trace["call"]], [("cudaSetDevice", 100)], "calls")
    equal((trace["run"], trace["copy"], trace.meta["end.reason"]), ([], [], "exit"), "records of a device, end")


# --- which libcupti ------------------------------------------------------------------------------------------------------------

def place(where, **libraries):
    """A folder with the stand-in runtime and driver, and what else is named, to be found by LD_LIBRARY_PATH alone."""
    for name in ("libcudart.so.13", "libcuda.so.1"):
        shutil.copy(SIM / name, where / name)
    for name, source in libraries.items():
        shutil.copy(source, where / name.replace("__", "."))
    return where


def a_libcupti_by_search_path_is_named_with_its_version_or_why_not():
    stub = folder("stub")
    compiled(stub, "empty", "int nothing;\n", "-shared", "-fPIC", "-Wl,-soname,libcupti.so.13")
    alone = run("launch_loop", "steps=20", preload=False)
    cases = {
        "right": ({"libcupti__so__13": SIM / "libcupti.so.13"}, "", "130001"),
        "older": ({"libcupti__so__13": SIM / "libcupti.so.13"}, "cupti_version 24\n", "24"),
        "newer": ({"libcupti__so__13": SIM / "libcupti.so.13"}, "cupti_version 140000\n", "140000"),
        "stub": ({"libcupti__so__13": stub / "empty"}, "", None),
        "no library": ({"libcupti__so__13": ROOT / "README.md"}, "", None),
        "absent": ({}, "", None),
    }
    for case, (libraries, script, version) in cases.items():
        where = place(folder("cupti"), **libraries)
        result = as_alone(run("launch_loop", "steps=20", script=script, env={"BOUNDSHIM_CUPTI": None, "LD_LIBRARY_PATH": where}), alone)
        trace, truth = result.trace().sound(), result.truth()
        equal(len(trace.calls("cudaLaunchKernel")), 20, f"{case}: hooked launches")
        if version:
            result.says(0)
            equal((trace.meta["cupti.state"], trace.meta["cupti.version"]), ("on", version), f"{case}: state and version")
            equal(trace.meta["cupti.path"], str(where / "libcupti.so.13"), f"{case}: path")
            equal(same_device_work(trace, truth), 20, f"{case}: kernels")
        else:
            result.says(1, "CUPTI is off")
            equal(trace.meta["cupti.state"], "off", f"{case}: state")
            check("libcupti" in trace.meta["cupti.reason"] or "cupti" in trace.meta["cupti.reason"], trace.meta["cupti.reason"])
            equal(trace["run"], [], f"{case}: kernels")
    check("lacks" in run("launch_loop", "steps=2", env={"BOUNDSHIM_CUPTI": None, "LD_LIBRARY_PATH": place(
        folder("cupti"), libcupti__so__13=stub / "empty")}).trace().meta["cupti.reason"], "the stub is not named as one")


# --- beside which other preloads -----------------------------------------------------------------------------------------------

def library(*names):
    """The path of the first that the loader's cache or gcc knows."""
    cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    for name in names:
        found = re.search(rf"\s{re.escape(name)} .*x86-64.*=> (\S+)", cache)
        if found:
            return found[1]
        path = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        if path.startswith("/"):
            return str(pathlib.Path(path).resolve())
    return None


LOOPS = ("steps=60 kernels=3 threads=4 h2d=1000 alloc=4096 sync=7", "steps=60 kernels=4 graph=1 sync=6")


def beside(other, program, *options, first, **env):
    """The program with both preloaded, `other` first or behind us; as with it alone, and the records as they are true."""
    order = [other, str(SHIM)] if first else [str(SHIM), other]
    env = {"LD_LIBRARY_PATH": SIM, **env}
    alone = run(program, *options, preload=False, env={**env, "LD_PRELOAD": other})
    equal(alone.status, 0, f"{other} alone ({alone.err[-300:]})")
    result = as_alone(run(program, *options, env={**env, "LD_PRELOAD": " ".join(order)}), alone).says(0)
    trace, truth = result.trace().sound().lossless(), result.truth()
    check(same_calls(trace, truth) > 50, "too few calls")
    check(same_device_work(trace, truth) >= 100, "too few operations")


def mixed(*names, orders=(True, False), **env):
    other = library(*names)
    if not other:
        return f"skipped: no {names[0]}"
    for first in orders:
        for loop in LOOPS:
            beside(other, "launch_loop", *loop.split(), first=first, **env)
        beside(other, sys.executable, "-c", f"import ctypes\nassert ctypes.CDLL({str(APPS / 'plugin.so')!r}).plugin_run(200) == 0",
               first=first, **env)
    return pathlib.Path(other).name


def jemalloc_before_and_behind():
    return mixed("libjemalloc.so.2")


def tcmalloc_before_and_behind():
    return mixed("libtcmalloc_minimal.so.4", "libtcmalloc.so.4")


def asan_before_and_behind():
    """Behind us it asks for a word that it may be: its own rule for whatever is preloaded."""
    return mixed("libasan.so", "libasan.so.8", "libasan.so.6",
                 ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0:abort_on_error=1")


def a_program_built_with_asan_is_traced_with_its_runtime_first():
    """And nothing of ours is an error to it: 4 threads, allocations in between, poisoned memory after each free."""
    other = library("libasan.so", "libasan.so.8")
    if not other:
        return "skipped: no libasan"
    where = folder("asan")
    recipe = subprocess.run(["make", "-n", "-B", "-C", ROOT, f"BUILD={BUILD}", str((APPS / "launch_loop").relative_to(ROOT))], text=True,
                            capture_output=True, check=True).stdout
    headers = dict.fromkeys(re.findall(r"-isystem (\S+)", recipe))
    apps = ROOT / "tests/apps"
    subprocess.run(["gcc", "-fsanitize=address", "-O1", "-o", where / "program", apps / "launch_loop.c", apps / "app.c", f"-I{apps}",
                    f"-I{ROOT}/tests/sim", *(f"-isystem{h}" for h in headers), SIM / "libcudart.so.13", "-ldl", "-pthread"], check=True)
    for loop in LOOPS:
        beside(other, str(where / "program"), *loop.split(), first=True, ASAN_OPTIONS="detect_leaks=0:abort_on_error=1")
    return None


# --- what the library itself is ------------------------------------------------------------------------------------------------

def audit(path):
    return subprocess.run([ROOT / "scripts/check-elf", path], capture_output=True, text=True, check=False)


def the_library_needs_libc_alone_and_exports_what_is_listed():
    done = audit(SHIM)
    equal(done.returncode, 0, f"check-elf ({done.stdout})")
    return done.stdout.strip().removeprefix("check-elf: ")


def the_audit_finds_what_it_looks_for():
    where = folder("elf")
    (where / "exports.map").write_text("{ global: hook; local: *; };\n")
    faults = {
        "static TLS": ("__thread char big[80]; void *hook(void) { return big; }", ["-ftls-model=initial-exec"], "bytes of static TLS"),
        "another library": ("int sin(double); int hook(void) { return sin(1); }", ["-Wl,--no-as-needed", "-fno-builtin", "-lm"], "needs libm"),
        "an export": ("int hook(void) { return 1; } int other(void) { return 2; }", [], "exports other"),
        "a missing hook": ("static int hook_(void) { return 1; } int (*volatile p)(void) = hook_;", ["-fvisibility=hidden"], "does not export hook"),
        "a call that ends the program": ("void abort(void); void hook(void) { abort(); }", [], "imports abort"),
        "somebody else's symbol": ("int cuInit(int); int hook(void) { return cuInit(0); }", [], "imports cuInit"),
        "a newer glibc": ("double hook(void) { extern int arc4random(void); return arc4random(); }", [], "of glibc 2.36"),
    }
    for name, (source, flags, words) in faults.items():
        built = compiled(where, "bad.so", source + "\n", "-shared", "-fPIC", "-Wl,-z,now", *flags)
        done = audit(built)
        check(done.returncode == 1 and words in done.stdout, f"{name}: {done.returncode} {done.stdout}")
    return f"{len(faults)} faults"


main(two_copies_of_cuda_13_and_one_of_12_each_get_their_own_calls, deep_binding_passes_the_hooks_by_and_is_seen_all_the_same,
     lookup_by_handle_passes_the_hooks_by_and_is_seen_all_the_same, what_passes_the_hooks_by_is_told_in_the_report,
     a_library_of_the_callers_run_path_is_found, no_device_is_a_trace_of_nothing_but_the_calls_that_failed,
     a_libcupti_by_search_path_is_named_with_its_version_or_why_not, jemalloc_before_and_behind, tcmalloc_before_and_behind,
     asan_before_and_behind, a_program_built_with_asan_is_traced_with_its_runtime_first,
     the_library_needs_libc_alone_and_exports_what_is_listed, the_audit_finds_what_it_looks_for)
