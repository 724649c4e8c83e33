#!/usr/bin/env python3
"""What a launch costs the thread that makes it, in instructions of the shim's own, counted by callgrind: that does not depend on who else
is busy. A budget that is passed wants a reason, or a change of the number here."""
import re
import subprocess

from lib import APPS, SHIM, check, environment, equal, folder, main, need, need_sim

need("valgrind")
need_sim("launch_loop")

LAUNCHES = 3000
# 287 and 520 were counted on 2026-12-01 with gcc 12 at -O2; a tenth more.
BUDGET = {"hooks": 315, "trace": 570}


def own_instructions(path):
    """Instructions that ran in libboundshim.so itself, from callgrind's file: lines of calls are inclusive and not counted."""
    names, current, total, skip = {}, "", 0, False
    for line in path.read_text(errors="replace").splitlines():
        if match := re.match(r"ob=\((\d+)\)(?: (.*))?$", line):
            if match[2]:
                names[match[1]] = match[2]
            current = names[match[1]]
        elif match := re.match(r"cob=\((\d+)\) (.*)$", line):
            names[match[1]] = match[2]
        elif line.startswith("calls="):
            skip = True
        elif match := re.match(r"[+\-*\d]\S* (\d+)$", line):
            if not skip and current.endswith("libboundshim.so"):
                total += int(match[1])
            skip = False
    return total


def per_launch(mode, launches):
    """(instructions for each further launch, those of a short run)"""
    total = []
    for count in (launches // 10, launches):
        where = folder("budget")
        done = subprocess.run(["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={where}/out", APPS / "launch_loop", f"steps={count}",
                               "sync=50", "quiet=1"], cwd=where, capture_output=True, text=True, timeout=200,
                              env=environment(where, mode=mode, env={"SIM_TRUTH": None, "BOUNDSHIM_COUNTERS": "off"}))
        equal(done.returncode, 0, f"status under callgrind ({done.stderr[-300:]!r})")
        total.append(own_instructions(where / "out-01"))
    return (total[1] - total[0]) / (launches - launches // 10), total[0]


def a_launch_stays_within_its_budget():
    if subprocess.run(["valgrind", "--tool=none", "/bin/true"], capture_output=True).returncode:
        return "skipped: valgrind does not run here"
    words = []
    for mode, most in BUDGET.items():
        each, start = per_launch(mode, LAUNCHES)
        check(each > 50, f"{mode}: {each:.0f} instructions a launch are too few to be true")
        check(each <= most, f"{mode}: {each:.0f} instructions a launch, {most} are allowed")
        words.append(f"{mode} {each:.0f} of {most} instructions a launch")
    return ", ".join(words)


main(a_launch_stays_within_its_budget)
