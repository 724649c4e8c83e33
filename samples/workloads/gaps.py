#!/usr/bin/env python3
"""Leaves long gaps between kernels, for one of several causes.

Claim: long gaps between kernel launches mean memory-bound. They mean that nothing was there to run: no byte of device memory waits in
a gap. Expected verdict: overhead, with leaf host (python: the CPU computes between launches), sync (the CPU waits for each result, then
launches many small kernels) or alloc (memory is given back and asked for in each step). Change: --cause.

    python3 gaps.py [--cause python|sync|alloc] [--seconds 3]"""
import argparse

import torch
from pace import repeat

parser = argparse.ArgumentParser()
parser.add_argument("--cause", choices=["python", "sync", "alloc"], default="python")
parser.add_argument("--seconds", type=float, default=3)
args = parser.parse_args()

torch.manual_seed(0)
a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
small = torch.randn(4096, device="cuda")


def python():
    torch.mm(a, a)
    sum(range(500_000))  # some milliseconds


def sync():
    if torch.mm(a, a).sum().item() > 0:  # reads the answer back
        for _ in range(4):
            small.mul_(1.0)
    else:
        for _ in range(4):
            small.add_(0.0)


def alloc():
    torch.mm(a, a)
    room = [torch.empty(64 << 20, dtype=torch.uint8, device="cuda") for _ in range(4)]
    room[0].zero_()
    del room
    torch.cuda.empty_cache()


checksum = torch.mm(a, a).float().abs().mean().item() + small.abs().mean().item()
step = {"python": python, "sync": sync, "alloc": alloc}[args.cause]
repeat(step, args.seconds)
print(f"gaps: {args.cause}, checksum {checksum:.3f}")
