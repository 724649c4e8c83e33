#!/usr/bin/env python3
"""Convolves 64 images of 56 x 56 with 3 x 3 filters, channels last, bfloat16, as many filters as channels.

Claim: convolutions with many filters are compute-bound. Expected verdict: compute, tensor pipe, for 512 filters; for few, each byte
that is read takes part in few operations: memory or latency. Change: --filters, --depthwise (one filter for each channel, as MobileNet has them).

    python3 convolution.py [--filters 512] [--depthwise] [--seconds 3]"""
import argparse

import torch
from pace import repeat

parser = argparse.ArgumentParser()
parser.add_argument("--filters", type=int, default=512)
parser.add_argument("--depthwise", action="store_true")
parser.add_argument("--seconds", type=float, default=3)
args = parser.parse_args()

torch.manual_seed(0)
groups = args.filters if args.depthwise else 1
layer = torch.nn.Conv2d(args.filters, args.filters, 3, padding=1, groups=groups, bias=False)
layer = layer.to("cuda", torch.bfloat16).to(memory_format=torch.channels_last)
images = torch.randn(64, args.filters, 56, 56, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)
with torch.inference_mode():
    checksum = layer(images).float().abs().mean().item()
    repeat(lambda: layer(images), args.seconds)
print(f"convolution: {args.filters} filters{', depthwise' if args.depthwise else ''}, checksum {checksum:.3f}")
