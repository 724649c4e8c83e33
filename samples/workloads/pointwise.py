#!/usr/bin/env python3
"""Applies element-wise operations, normalisations and softmax to 256 MiB of float32.

Claims: they are memory-bound, whatever they compute for an element; GELU costs as ReLU. Expected verdict: memory, DRAM, for most
kernels; not for softmax (latency) and for the statistics of batch normalisation, which takes one block a channel, 64 in all, does not fill the
GPU and makes the whole mixed. Change: --op, or --rows (64 rows are 1 MiB: L2 holds them, and a kernel is shorter than its launch).

    python3 pointwise.py [--op all|relu|gelu|add|dropout|layer_norm|batch_norm|softmax[,...]] [--rows 16384] [--seconds 3]"""
import argparse

import torch
from pace import repeat
from torch.nn import functional as F

COLUMNS = 4096

parser = argparse.ArgumentParser()
parser.add_argument("--op", default="all")
parser.add_argument("--rows", type=int, default=16384)
parser.add_argument("--seconds", type=float, default=3)
args = parser.parse_args()

torch.manual_seed(0)
x = torch.randn(args.rows, COLUMNS, device="cuda")
y = torch.randn(args.rows, COLUMNS, device="cuda")
images = x.view(-1, 64, 8, 8)  # of 64 channels
weight, bias = torch.ones(COLUMNS, device="cuda"), torch.zeros(COLUMNS, device="cuda")
mean, variance = torch.zeros(64, device="cuda"), torch.ones(64, device="cuda")
OPS = {
    "relu": lambda: torch.relu(x),
    "gelu": lambda: F.gelu(x),
    "add": lambda: x + y,
    "dropout": lambda: F.dropout(x, 0.1),
    "layer_norm": lambda: F.layer_norm(x, (COLUMNS,), weight, bias),
    "batch_norm": lambda: F.batch_norm(images, mean, variance, training=True),
    "softmax": lambda: torch.softmax(x, 1),
}
names = list(OPS) if args.op == "all" else args.op.split(",")


def step():
    for name in names:
        OPS[name]()


checksum = sum(OPS[name]().square().mean().item() for name in names)
repeat(step, args.seconds)
print(f"pointwise: {','.join(names)} of {x.nbytes >> 20} MiB, checksum {checksum:.3f}")
