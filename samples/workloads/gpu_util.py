#!/usr/bin/env python3
"""Keeps one kind of kernel running and asks NVML for GPU-Util meanwhile, the figure that nvidia-smi shows.

Claim: over 90 % GPU-Util mean compute-bound, under 50 % memory-bound. It says only how much of the time some kernel was
resident. Expected verdict: sleep (one thread waits in a loop) underfilled, memory DRAM, gemm compute, all three at about 100 %; gaps
(a GEMM, then Python is busy for as long as three) overhead, at about 25 %. Change: --kernel. What NVML says goes to stderr.

    python3 gpu_util.py [--kernel sleep|memory|gemm|gaps] [--seconds 3]"""
import argparse
import ctypes
import statistics
import sys
import threading
import time

import torch
from pace import repeat

BUSY_S = 0.006

parser = argparse.ArgumentParser()
parser.add_argument("--kernel", choices=["sleep", "memory", "gemm", "gaps"], default="sleep")
parser.add_argument("--seconds", type=float, default=3)
args = parser.parse_args()


class Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class Watch(threading.Thread):
    """Reads GPU-Util and Memory-Util of device 0 ten times a second; the first half second is of before."""

    def __init__(self):
        super().__init__(daemon=True)
        self.read, self.over = [], threading.Event()

    def run(self):
        try:
            nvml, device, now = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), Utilization()
        except OSError:
            return
        if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)):
            return
        while not self.over.wait(0.1):
            if nvml.nvmlDeviceGetUtilizationRates(device, ctypes.byref(now)) == 0:
                self.read.append((now.gpu, now.memory))

    def words(self):
        late = self.read[5:] or self.read
        if not late:
            return "NVML says nothing here"
        gpu, memory = (statistics.median(column) for column in zip(*late))
        return f"NVML: GPU-Util {gpu:.0f} %, Memory-Util {memory:.0f} %, medians of {len(late)} readings"


torch.manual_seed(0)
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
x = torch.randn(1 << 28 if args.kernel == "memory" else 1, device="cuda")


def gaps():
    torch.mm(a, a).sum()  # about 2 ms
    until = time.perf_counter() + BUSY_S
    torch.cuda.synchronize()
    while time.perf_counter() < until:
        pass


step = {
    "sleep": lambda: torch.cuda._sleep(2_000_000),  # cycles, about 1 ms
    "memory": lambda: torch.relu(x),
    "gemm": lambda: torch.mm(a, a),
    "gaps": gaps,
}[args.kernel]
checksum = torch.mm(a, a).float().abs().mean().item() + torch.relu(x).mean().item()
step()
torch.cuda.synchronize()
watch = Watch()
watch.start()
repeat(step, args.seconds)
watch.over.set()
watch.join()
print(watch.words(), file=sys.stderr)
print(f"gpu_util: {args.kernel}, checksum {checksum:.2f}")
