#!/usr/bin/env python3
"""The command without memory: each allocation fails in its turn, once and from there on. It ends, by no signal; with status 0 what it
prints is what it always prints, or a line says what is missing."""
import os
import pathlib
import subprocess

from lib import BUILD, ROOT, TMP, check, equal, in_pairs, main, need

need("gcc", BUILD / "boundshim")

FAIL = TMP / "fail_allocations.so"
subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-fno-builtin", "-o", FAIL, pathlib.Path(__file__).with_suffix(".c")], check=True)
TRACE, OTHER = ROOT / "tests/golden/valid/every-table.bst", ROOT / "samples/traces/cos_1gib/trace.bst"
COMMANDS = {
    "report": ("report", TRACE),
    "report of a run": ("report", OTHER),
    "report --format json": ("report", "--format", "json", OTHER),
    "report --view roofline": ("report", "--view", "roofline", OTHER),
    "diff": ("diff", TRACE, OTHER),
    "info": ("info", TRACE),
    "info --dump": ("info", "--dump", ROOT / "tests/golden/valid/example.bst"),
}
EACH = int(os.environ.get("ALLOCATIONS", 60))  # that many of each command's are tried in make test


def command(arguments, **env):
    return subprocess.run([BUILD / "boundshim", *arguments], capture_output=True, timeout=60,
                          env={**os.environ, "LD_PRELOAD": str(FAIL), **env})


def allocations(arguments):
    file = TMP / "allocations"
    command(arguments, FAIL_COUNT=str(file))
    return int(file.read_text())


def some(count):
    """The first ones, the last ones, and others evenly between."""
    if count <= EACH:
        return range(1, count + 1)
    third = EACH // 3
    return sorted({*range(1, third + 1), *range(count - third, count + 1), *(round(i * count / third) for i in range(1, third))})


def once(item):
    arguments, good, n, mode = item
    done = command(arguments, FAIL_ALLOCATION=f"{n}{mode}")
    where = f"boundshim {' '.join(map(str, arguments))}, allocation {n}{mode}"
    check(done.returncode in (0, 1), f"{where}: status {done.returncode} {done.stderr[-300:]!r}")
    if done.returncode == good.returncode and done.stdout == good.stdout:
        return "same"
    words = done.stderr.decode(errors="replace")
    check("memory" in words.lower(), f"{where}: status {done.returncode}, another output, and nothing said of memory: {words!r}")
    return "said"


def each_allocation_of_each_command_may_fail():
    tried = []
    for arguments in COMMANDS.values():
        good = command(arguments)
        equal(good.returncode, 0, f"{arguments}: status ({good.stderr!r})")
        tried += in_pairs(once, [(arguments, good, n, mode) for n in some(allocations(arguments)) for mode in ("", "+")])
    return f"{len(COMMANDS)} commands, {len(tried)} faults: {tried.count('said')} said, {tried.count('same')} did without"


main(each_allocation_of_each_command_may_fail)
