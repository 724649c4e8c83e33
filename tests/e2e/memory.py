#!/usr/bin/env python3
"""Ten million kernels are reported on in bounded memory: 256 MB at most, and hardly more than for a tenth of them. Time is a matter of
`make bench`."""
import os
import subprocess

from lib import BUILD, check, folder, main, need

MAKE_TRACE = BUILD / "bench/make_trace"
need(MAKE_TRACE)
MOST_MB = 256


def peak_mb(kernels):
    """Resident memory at its highest, what of the trace itself is mapped among it."""
    trace = folder("memory") / "trace.bst"
    subprocess.run([MAKE_TRACE, str(2 * kernels), trace], check=True, timeout=100)
    process = subprocess.Popen([BUILD / "boundshim", "report", "--format", "json", trace], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    size = trace.stat().st_size / 1e6
    trace.unlink()
    check(status == 0, "status of report:", status)
    return usage.ru_maxrss * 1024 / 1e6, size


def memory_is_bounded():
    small, small_size = peak_mb(1_000_000)
    large, size = peak_mb(10_000_000)
    check(large <= MOST_MB, f"10 M kernels take {large:.0f} MB")
    return f"1 M kernels {small:.0f} MB (trace {small_size:.0f} MB), 10 M kernels {large:.0f} MB (trace {size:.0f} MB)"


main(memory_is_bounded)
