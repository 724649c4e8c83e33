#!/usr/bin/env python3
"""Runs an MLP of eight layers forward, in bfloat16, of any width and batch, launched in one of several ways.

Claims: with small tensors the GPU is an expensive paperweight, which waits for Python; with large ones the CPU runs ahead; twice
the batch barely costs time where overhead binds. Tracing, FX, CUDA graphs and TorchDynamo take overhead away. Expected verdict:
overhead for --width 128 and 512, with `host` the largest leaf; compute from about 4096 on. With graphs: no longer host.
Change: --width, --batch, --how (trace = torch.jit.trace, fx = torch.fx, graphs = a CUDA graph, compile = torch.compile,
reduce-overhead = that with CUDA graphs).

    python3 mlp_sweep.py [--width 512] [--batch 512] [--how eager|trace|fx|graphs|compile|reduce-overhead] [--seconds 3]"""
import argparse

import torch
from pace import repeat
from torch import nn

LAYERS = 8

parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=512)
parser.add_argument("--batch", type=int, default=512)
parser.add_argument("--how", choices=["eager", "trace", "fx", "graphs", "compile", "reduce-overhead"], default="eager")
parser.add_argument("--seconds", type=float, default=3)
args = parser.parse_args()


def captured(model, x):
    """A function that replays the model, recorded with x, as one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)

    def replay(_):
        graph.replay()
        return y

    return replay


def launched(model, x):
    if args.how == "trace":
        return torch.jit.trace(model, x)
    if args.how == "fx":
        return torch.fx.symbolic_trace(model)
    if args.how == "graphs":
        return captured(model, x)
    if args.how == "compile":
        return torch.compile(model)
    if args.how == "reduce-overhead":
        return torch.compile(model, mode="reduce-overhead")
    return model


torch.manual_seed(0)
layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(args.width, args.width), nn.ReLU())]
model = nn.Sequential(*layers).to("cuda", torch.bfloat16).eval()
x = torch.randn(args.batch, args.width, device="cuda", dtype=torch.bfloat16)
with torch.no_grad():
    run = launched(model, x)
    checksum = run(x).float().abs().mean().item()
    repeat(lambda: run(x), args.seconds)
print(f"mlp_sweep: width {args.width}, batch {args.batch}, {args.how}, checksum {checksum:.3f}")
