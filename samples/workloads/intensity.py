#!/usr/bin/env python3
"""Reads each number of 256 MiB, does k multiply-adds with it, writes it: a Triton kernel for each k from 1 to 512.

Claim: few operations for each byte are free, time stays that of the memory traffic; from some k on it grows with k. On the
roofline the kernels climb the slope and then lie under the roof. Expected verdict: memory, DRAM, below about k = 64, compute (fma) above; the
whole is mixed or compute, because the large k take the time. Change: --k, one or several.

    python3 intensity.py [--k 1,2,4,8,16,32,64,128,256,512] [--seconds 3]"""
import argparse

import torch
import triton
import triton.language as tl
from pace import repeat

SIZE, BLOCK = 1 << 26, 1024


def name(specialization):
    """Each k is a kernel by its own name."""
    return f"chain_{specialization.constants['K']}"


parser = argparse.ArgumentParser()
parser.add_argument("--k", default="1,2,4,8,16,32,64,128,256,512")
parser.add_argument("--seconds", type=float, default=3)
args = parser.parse_args()


@triton.jit(repr=name)
def chain(out, inp, K: tl.constexpr, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(inp + place)
    y = x
    if K < 16:
        for _ in tl.static_range(K):
            y = y * x + 0.5
    else:
        for _ in range(K // 16):
            for _ in tl.static_range(16):
                y = y * x + 0.5
    tl.store(out + place, y)


torch.manual_seed(0)
ks = [int(k) for k in args.k.split(",")]
x = torch.rand(SIZE, device="cuda") * 0.5
y = torch.empty_like(x)


def run(k):
    chain[(SIZE // BLOCK,)](y, x, K=k, BLOCK=BLOCK)
    return y


def step():
    for k in ks:
        run(k)


checksum = sum(run(k).mean().item() for k in ks)
repeat(step, args.seconds)
print(f"intensity: k = {args.k}, checksum {checksum:.4f}")
