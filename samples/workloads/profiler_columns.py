#!/usr/bin/env python3
"""Runs a matrix product that allocates its result beside a multiplication in place, under PyTorch's own profiler at the end.

Claim: high memory against compute time in the profiler's columns means memory-bound. Its memory column counts bytes that an operation
allocated, not bytes moved, and it has no column of memory time: the product allocates much and is compute-bound, mul_ allocates nothing and is
bound by DRAM. Expected verdict: the gemm kernel compute, the elementwise kernel memory, DRAM. The columns go to stderr.
Change: --no-profiler leaves it out.

    python3 profiler_columns.py [--no-profiler] [--seconds 3]"""
import argparse
import sys

import torch
from pace import repeat
from torch.profiler import ProfilerActivity, profile

parser = argparse.ArgumentParser()
parser.add_argument("--no-profiler", action="store_true")
parser.add_argument("--seconds", type=float, default=3)
args = parser.parse_args()

torch.manual_seed(0)
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
x = torch.randn(1 << 28, device="cuda")


def step():
    torch.mm(a, a)
    for _ in range(3):
        x.mul_(1.0)


checksum = torch.mm(a, a).float().abs().mean().item() + x.abs().mean().item()
repeat(step, args.seconds)
if not args.no_profiler:
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True) as profiler:
        for _ in range(5):
            step()
        torch.cuda.synchronize()
    print("operation     self device time    self device memory", file=sys.stderr)
    for row in profiler.key_averages():
        if row.key in ("aten::mm", "aten::mul_"):
            print(f"{row.key:12} {row.self_device_time_total / 1e3:14.1f} ms {row.self_device_memory_usage / 2**20:17.0f} MiB", file=sys.stderr)
print(f"profiler_columns: checksum {checksum:.3f}")
