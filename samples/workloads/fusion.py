#!/usr/bin/env python3
"""Computes x.cos().cos() of 256 MiB of float32: as two kernels, or fused into one by torch.compile, by Triton, by XLA.

Claim: two kernels make four passes over memory, a fused one two, so that fusion halves the time. Expected verdict:
memory, DRAM, each way, in half the time where it is fused. Change: --how. xla needs JAX.

    python3 fusion.py [--how eager|compile|triton|xla] [--seconds 3]"""
import argparse
import os

from pace import on_gpu, repeat

SIZE = 1 << 26

parser = argparse.ArgumentParser()
parser.add_argument("--how", choices=["eager", "compile", "triton", "xla"], default="eager")
parser.add_argument("--seconds", type=float, default=3)
args = parser.parse_args()


def with_torch():
    """x in and out, and a function of x."""
    import torch

    torch.manual_seed(0)
    x = torch.randn(SIZE, device="cuda")
    return x, torch.compile(lambda x: x.cos().cos()) if args.how == "compile" else lambda x: x.cos().cos()


def with_triton():
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def cos_cos(out, inp, size, BLOCK: tl.constexpr):
        place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(inp + place, mask=place < size)
        tl.store(out + place, tl.cos(tl.cos(x)), mask=place < size)

    def run(x):
        y = torch.empty_like(x)
        cos_cos[(triton.cdiv(SIZE, 1024),)](y, x, SIZE, BLOCK=1024)
        return y

    return with_torch()[0], run


def with_xla():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    from jax import numpy as jnp

    return jax.random.normal(jax.random.key(0), (SIZE,), jnp.float32), jax.jit(lambda x: jnp.cos(jnp.cos(x)))


x, function = {"triton": with_triton, "xla": with_xla}.get(args.how, with_torch)()
checksum = float(function(x).sum()) / SIZE
last = None


def step():
    global last
    last = function(x)


repeat(step, args.seconds, (lambda: last.block_until_ready()) if args.how == "xla" else on_gpu)
print(f"fusion: cos(cos(x)) by {args.how}, mean {checksum:.3f}")
