#!/usr/bin/env python3
"""Trains a two-layer LSTM of 1024 features on random sequences: batch 64, 128 steps, float32, Adam.

Claim: cuDNN launches a small matrix product and a small element-wise kernel for each time step, none of
which fills the GPU. Expected verdict: overhead, with `underfilled` large, or latency.

    python3 lstm_train.py [--steps 200]"""
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()

torch.manual_seed(0)
lstm = nn.LSTM(512, 1024, num_layers=2, batch_first=True).cuda()
head = nn.Linear(1024, 10).cuda()
optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=1e-3, fused=True)
loss_fn = nn.CrossEntropyLoss()
inputs = torch.randn(64, 128, 512, device="cuda")
targets = torch.randint(0, 10, (64,), device="cuda")

for step in range(args.steps):
    optimizer.zero_grad()
    loss = loss_fn(head(lstm(inputs)[0][:, -1]), targets)
    loss.backward()
    optimizer.step()

print(f"lstm_train: {args.steps} steps, loss finite: {bool(torch.isfinite(loss))}, targets {targets.sum().item()}")
