#!/usr/bin/env python3
"""Programs that never touch CUDA: same output and status, no file, next to no extra work."""
import os
import re
import shutil
import struct
import subprocess
import sys
import time

from lib import ROOT, SHIM, check, equal, folder, main, need

need(SHIM, "gcc", "bash")

# What the library may cost such a program: system calls of the loader (open, read, fstat, mmap ...) and of the constructor,
# and instructions, relocations among them. 1 ms is about 3 million instructions.
CALLS_MOST = 15
INSTRUCTIONS_MOST = 1_500_000


def execute(command, where, preload, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("BOUNDSHIM_", "LD_", "CUDA_", "NVTX_"))}
    if preload:
        env["LD_PRELOAD"] = str(SHIM)
    env.update(more)
    done = subprocess.run(command, cwd=where, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def commands(where):
    (where / "hello.c").write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 3; }\n')
    (where / "bad.c").write_text("int main(void) { return nothing; }\n")
    return {
        "ls": ["ls", "-la", str(ROOT / "shim")],
        "ls of nothing": ["ls", "/nonexistent"],
        "gcc": ["gcc", "-O1", "-o", "hello", "hello.c"],
        "what gcc built": ["./hello"],
        "gcc that fails": ["gcc", "-c", "bad.c"],
        "bash": ["bash", "-c", "for i in 1 2 3; do echo $i; done; (exit 4); echo $?; /bin/true && exit 5"],
        "bash, forking": ["bash", "-c", "x=$(echo a | tr a b); echo $x; cat <(echo c); sleep 0 & wait; kill -9 $$"],
        "sh": ["sh", "-c", "echo $0; false"],
        "python": [sys.executable, "-c", "1"],
        "python, forking": [sys.executable, "-c",
                            "import os, sys, subprocess, multiprocessing as m\n"
                            "print(subprocess.run(['sh', '-c', 'echo sub; exit 3']).returncode, flush=True)\n"
                            "pid = os.fork()\n"
                            "if pid == 0: os._exit(9)\n"
                            "print(os.waitpid(pid, 0)[1] >> 8)\n"
                            "c = m.get_context('fork')\n"
                            "p = c.Process(target=print, args=('worker',)); p.start(); p.join(); sys.exit(p.exitcode + 6)"],
        "posix_spawn": [sys.executable, "-c", "import os; print(os.waitpid(os.posix_spawn('/bin/echo', ['echo', 'x'],"
                                              " os.environ), 0)[1])"],
    }


def programs_without_cuda_are_as_alone():
    where = folder("preload")
    for name, command in commands(where).items():
        alone, before = execute(command, where, False), set(where.iterdir())
        traced = execute(command, where, True)
        equal(traced, alone, name)
        equal({p.name for p in where.iterdir()} - {p.name for p in before}, set(), f"{name}: new files")
    return f"{len(commands(where))} programs"


def a_variable_that_another_tool_has_set_stays():
    where = folder("preload")
    for name in ("NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH"):
        _, out, _ = execute(["env"], where, True, **{name: "/opt/other/tool.so"})
        check(f"{name}=/opt/other/tool.so".encode() in out.splitlines(), f"{name} was changed")
        _, out, _ = execute(["env"], where, True)
        check(f"{name}={SHIM}".encode() in out.splitlines(), f"{name} is not set")
    _, out, _ = execute(["env"], where, True, BOUNDSHIM_MODE="off")
    check(b"INJECTION64" not in out, "off, and the environment was changed")


def strace_count(command, where, preload):
    log = where / "log"
    env = {"LD_PRELOAD": str(SHIM)} if preload else {}
    arguments = ["strace", "-qq", "-o", str(log), *(f"-E{k}={v}" for k, v in env.items()), *command]
    done = subprocess.run(arguments, cwd=where, capture_output=True, timeout=60)
    if done.returncode:
        return None
    return len([line for line in log.read_text().splitlines() if re.match(r"\w+\(", line)])


def loading_costs_a_handful_of_system_calls():
    need("strace")
    where = folder("calls")
    alone, with_us = (strace_count(["/bin/true"], where, preload) for preload in (False, True))
    if alone is None:
        return "skipped: strace may not trace here"
    check(with_us - alone <= CALLS_MOST, f"{with_us - alone} system calls more, at most {CALLS_MOST} are allowed")
    return f"{with_us - alone} more"


def instructions(where, preload):
    env = f"LD_PRELOAD={SHIM}" if preload else "NOTHING="
    done = subprocess.run(["valgrind", "--tool=none", "--trace-children=no", "/bin/true"], capture_output=True)
    if done.returncode:
        return None
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "/bin/true"], cwd=where,
                          env=dict(os.environ, **dict([env.split("=", 1)])), capture_output=True, text=True, timeout=60)
    found = re.search(r"Collected : (\d+)", done.stderr)
    return int(found.group(1)) if found else None


def loading_costs_under_a_millisecond():
    """By instructions, which do not depend on who else is busy; the time is printed only."""
    need("valgrind")
    where = folder("cost")
    alone, with_us = instructions(where, False), instructions(where, True)
    if not alone or not with_us:
        return "skipped: valgrind does not run here"
    check(with_us - alone < INSTRUCTIONS_MOST, f"{with_us - alone} instructions more, at most {INSTRUCTIONS_MOST} are allowed")
    times = {}
    for preload in (False, True):
        rounds = []
        for _ in range(15):
            began = time.perf_counter()
            execute(["/bin/true"], where, preload)
            rounds.append(time.perf_counter() - began)
        times[preload] = sorted(rounds)[len(rounds) // 2]
    return f"{with_us - alone} instructions more, {(times[True] - times[False]) * 1e3:.2f} ms in the median here"


def elf32(path):
    """A program of 32 bits that needs no library: writes `32` and ends with status 3."""
    text = bytes.fromhex("b804000000bb01000000b974800408ba03000000cd80" "b801000000bb03000000cd80") + b"32\n"
    text = text.replace(bytes.fromhex("74800408"), struct.pack("<I", 0x8048054 + len(text) - 3))
    size = 84 + len(text)
    header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    path.write_bytes(header + struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, size, size, 5, 0x1000) + text)
    path.chmod(0o755)
    return [str(path)]


def programs_of_another_kind_are_as_alone():
    """Static ones and those of 32 bits, alone and as children of a shell that is traced."""
    where = folder("kinds")
    (where / "hello.c").write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 3; }\n')
    subprocess.run(["gcc", "-static", "-o", "static", "hello.c"], cwd=where, check=True)
    kinds = {"static": ["./static"], "32 bits": elf32(where / "small")}
    try:
        equal(execute(kinds["32 bits"], where, False), (3, b"32\n", b""), "32 bits, alone")
    except OSError:
        del kinds["32 bits"]  # a kernel without them
    before = set(where.iterdir())
    for name, command in kinds.items():
        for words in (command, ["sh", "-c", f"{command[0]}; echo $?"]):
            equal(execute(words, where, True), execute(words, where, False), f"{name}: {words}")
    equal(set(where.iterdir()), before, "files")
    return ", ".join(kinds)


def a_relative_path_fails_in_another_folder_with_the_loaders_word_alone():
    """Documented: give an absolute path. The program runs on, and stdout and status are its own."""
    where = folder("relative")
    shutil.copy(SHIM, where / "shim.so")
    (where / "below").mkdir()
    env = {"LD_PRELOAD": "./shim.so"}
    alone = execute(["bash", "-c", "cd below; ls; exit 6"], where, False)
    status, out, err = execute(["bash", "-c", "cd below; ls; exit 6"], where, False, **env)
    equal((status, out), alone[:2], "status and output")
    lines = err.decode().splitlines()
    check(lines and all(line.startswith("ERROR: ld.so: object './shim.so' from LD_PRELOAD cannot be preloaded") for line in lines), err)
    equal(execute(["ls"], where, False, **env), execute(["ls"], where, False), "in the folder where it is")
    equal(sorted(p.name for p in where.rglob("*")), ["below", "shim.so"], "files")


def a_secure_program_is_left_alone():
    """setuid programs ignore the preload; nothing of ours may complain in their place."""
    where = folder("secure")
    for command in (["su", "--version"], ["mount", "--version"]):
        try:
            equal(execute(command, where, True), execute(command, where, False), command[0])
        except FileNotFoundError:
            continue


main(programs_without_cuda_are_as_alone, a_variable_that_another_tool_has_set_stays,
     programs_of_another_kind_are_as_alone, a_relative_path_fails_in_another_folder_with_the_loaders_word_alone,
     loading_costs_a_handful_of_system_calls, loading_costs_under_a_millisecond, a_secure_program_is_left_alone)
