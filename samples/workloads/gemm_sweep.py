#!/usr/bin/env python3
"""Multiplies square matrices of several sizes in one type, one after another, over and over.

Claims: large matrix products are compute-bound, small ones are not; the peak of the data sheet is that of tensor cores and of
few bits. Expected verdict: compute for the default sizes, because the largest take nearly all the time; the smallest are underfilled.
With --rows 1 each weight is read for two flops: memory, DRAM.
Change: --dtype (fp32 runs on no tensor core, tf32 is fp32 on them), --sizes, --rows.

    python3 gemm_sweep.py [--dtype fp32|tf32|bf16|fp8] [--sizes 256,512,...] [--rows N] [--seconds 3]"""
import argparse

import torch
from pace import repeat

parser = argparse.ArgumentParser()
parser.add_argument("--dtype", choices=["fp32", "tf32", "bf16", "fp8"], default="bf16")
parser.add_argument("--sizes", default="256,512,1024,2048,4096,8192")
parser.add_argument("--rows", type=int, help="of the first matrix; as its columns")
parser.add_argument("--seconds", type=float, default=3)
args = parser.parse_args()

torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = args.dtype == "tf32"


def product(size):
    """A function that multiplies (rows x size) by (size x size)."""
    dtype = torch.float32 if args.dtype in ("fp32", "tf32") else torch.bfloat16
    a = torch.randn(args.rows or size, size, device="cuda", dtype=dtype)
    b = torch.randn(size, size, device="cuda", dtype=dtype)
    if args.dtype != "fp8":
        return lambda: torch.mm(a, b)
    a, b = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn).t()  # the second by columns, as the hardware takes it
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


products = [product(int(size)) for size in args.sizes.split(",")]


def step():
    for multiply in products:
        multiply()


checksum = sum(multiply().float().abs().mean().item() for multiply in products)
repeat(step, args.seconds)
print(f"gemm_sweep: {args.dtype}, sizes {args.sizes}, checksum {checksum:.2f}")
