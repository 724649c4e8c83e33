#!/usr/bin/env python3
"""Multiplies two 8192 x 8192 bfloat16 matrices, over and over.

Claim: each product keeps the tensor cores busy for more than a millisecond, and launches are queued
far ahead. Expected verdict: compute, tensor pipe; idle leaves together under 3 %.

    python3 gemm_loop.py [--steps 1500]"""
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1500)
args = parser.parse_args()

torch.manual_seed(0)
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
c = torch.empty_like(a)

for step in range(args.steps):
    torch.mm(a, b, out=c)

print(f"gemm_loop: {args.steps} steps, checksum {c[::512, ::512].float().sum().item():.3f}")
