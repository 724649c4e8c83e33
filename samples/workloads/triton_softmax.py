#!/usr/bin/env python3
"""Takes the softmax of each row of 16,384 x 8192 float32 with a Triton kernel, over and over.

Claim: one program a row reads it once and writes it once, 1 GiB for a few flops a number, so that DRAM
is the busiest unit by far. Expected verdict: memory, DRAM.

    python3 triton_softmax.py [--steps 3000]"""
import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def row_softmax(out, inp, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    x = tl.load(inp + row * columns + column, mask=column < columns, other=-float("inf"))
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(out + row * columns + column, x / tl.sum(x, axis=0), mask=column < columns)


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=3000)
args = parser.parse_args()

torch.manual_seed(0)
x = torch.randn(16384, 8192, device="cuda")
y = torch.empty_like(x)

for step in range(args.steps):
    row_softmax[(x.shape[0],)](y, x, x.shape[1], BLOCK=8192, num_warps=8)

print(f"triton_softmax: {args.steps} steps, rows sum to {y.sum(1).mean().item():.3f}")
