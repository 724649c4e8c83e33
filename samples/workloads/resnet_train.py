#!/usr/bin/env python3
"""Trains ResNet-50 on random images: batch 128, 224 x 224, channels last, bfloat16 autocast, SGD.

Claim: convolutions on the tensor cores next to batch normalisations and activations that are bound by
DRAM; the queue stays full. Expected verdict: mixed, the GPU busy most of each step.

    python3 resnet_train.py [--steps 100]"""
import argparse

import torch
from torchvision.models import resnet50

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()

torch.manual_seed(0)
model = resnet50().cuda().to(memory_format=torch.channels_last).train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
loss_fn = torch.nn.CrossEntropyLoss()
images = torch.randn(128, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
targets = torch.randint(0, 1000, (128,), device="cuda")

for step in range(args.steps):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = loss_fn(model(images), targets)
    loss.backward()
    optimizer.step()

# cuDNN may take algorithms whose sums differ from run to run, so that only finiteness is sure.
print(f"resnet_train: {args.steps} steps, loss finite: {bool(torch.isfinite(loss))}, targets {targets.sum().item()}")
