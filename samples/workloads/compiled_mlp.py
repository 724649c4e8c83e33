#!/usr/bin/env python3
"""Runs a compiled MLP with a long chain of element-wise steps between two products: 16,384 x 2048, bfloat16.

Claim: torch.compile fuses the chain into one Triton kernel bound by DRAM, next to two matrix products on
the tensor cores that take most of the time. Expected verdict: compute, tensor pipe.

    python3 compiled_mlp.py [--steps 1000]"""
import argparse

import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1000)
args = parser.parse_args()

torch.manual_seed(0)
up = nn.Linear(2048, 8192).to("cuda", torch.bfloat16)
down = nn.Linear(8192, 2048).to("cuda", torch.bfloat16)


@torch.compile
def mlp(x):
    hidden = F.gelu(up(x))
    return down(torch.sigmoid(hidden) * hidden.cos() + 1) + x


x = torch.randn(16384, 2048, device="cuda", dtype=torch.bfloat16)
with torch.inference_mode():
    for step in range(args.steps):
        y = mlp(x)

print(f"compiled_mlp: {args.steps} steps, finite: {bool(torch.isfinite(y).all())}")
