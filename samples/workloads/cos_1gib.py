#!/usr/bin/env python3
"""Takes the cosine of 1 GiB of float32, over and over.

Claim: 2 GiB move for a few flops a number, so that DRAM is the busiest unit by far.
Expected verdict: memory, DRAM.

    python3 cos_1gib.py [--steps 3000]"""
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=3000)
args = parser.parse_args()

torch.manual_seed(0)
x = torch.randn(1 << 28, device="cuda")

for step in range(args.steps):
    y = torch.cos(x)

print(f"cos_1gib: {args.steps} steps, checksum {y[:: 1 << 20].sum().item():.3f}")
