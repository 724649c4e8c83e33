"""Repeats a step for about so many seconds, without a wait in between, as a training loop does. What a program prints must not depend on how often."""
import sys
import time

WARM_UP, TIMED, LEAST = 2, 3, 8


def on_gpu():
    import torch

    torch.cuda.synchronize()


def timed(step, count, wait):
    began = time.perf_counter()
    for _ in range(count):
        step()
    wait()
    return (time.perf_counter() - began) / count


def repeat(step, seconds, wait=on_gpu, least=LEAST):
    """Warms up, times some steps, then calls step() as often as fits into `seconds`, at least so often. Says on stderr how long one took."""
    timed(step, WARM_UP, wait)
    count = max(least, round(seconds / timed(step, TIMED, wait)))
    print(f"a step takes {timed(step, count, wait) * 1e6:.1f} us", file=sys.stderr)
