#!/usr/bin/env python3
"""Trains a tiny MLP: batch 64, 256 -> 512 -> 512 -> 10, SGD, step after step without a wait.

Claim: every kernel takes a few microseconds and Python takes longer to launch the next one.
Expected verdict: overhead, with `host` the largest leaf.

    python3 mlp_train.py [--steps 2000]"""
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=2000)
args = parser.parse_args()

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss_fn = nn.CrossEntropyLoss()
inputs = torch.randn(64, 256, device="cuda")
targets = torch.randint(0, 10, (64,), device="cuda")

for step in range(args.steps):
    optimizer.zero_grad()
    loss = loss_fn(model(inputs), targets)
    loss.backward()
    optimizer.step()

print(f"mlp_train: {args.steps} steps, loss {loss.item():.4f}")
