#!/usr/bin/env python3
"""A million kernels with a name each: memory is bounded, each name and kernel is in the trace, and the report reads it."""
import re
import subprocess

from lib import BUILD, as_alone, check, main, need_sim
from pressure import peak_rss

need_sim("many_names")


def report_of(result):
    """The text of the report, which must say what it could not explain."""
    done = subprocess.run([BUILD / "boundshim", "report", result.traces[0]], capture_output=True, text=True, timeout=100, check=True)
    return done.stdout


def a_million_kernel_names():
    names = 1_000_000
    alone, before = peak_rss("many_names", f"names={names}", preload=False, limit=100, env={"SIM_TRUTH": None})
    result, after = peak_rss("many_names", f"names={names}", limit=100, env={"SIM_TRUTH": None})
    as_alone(result, alone).says(0)
    info = subprocess.run([BUILD / "boundshim", "info", result.traces[0]], capture_output=True, text=True, timeout=60, check=True).stdout
    rows = {name: int(count.replace(",", "")) for name, count in re.findall(r"^ +(string|kernel|run) +\d+ +[\d,]+ +([\d,]+)", info, re.M)}
    lost = re.findall(r"^  ([\d,]+)\s", info.split("\nLost", 1)[-1], re.M) if "\nLost" in info else []
    report_of(result)
    counted = sum(int(n.replace(",", "")) for n in lost)
    # one thread launches faster than its ring is emptied, when the machine is busy: counted, and the kernels are there
    check(rows["run"] == rows["kernel"] == names <= rows["string"] and counted < names // 10, f"{rows}, lost {lost}")
    check(after - before < 256 << 20, f"{(after - before) >> 20} MiB more than alone")
    return f"{rows['string']} names, {result.traces[0].stat().st_size / names:.1f} bytes for each; {(after - before) >> 20} MiB more than alone"


main(a_million_kernel_names)
