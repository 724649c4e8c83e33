#!/usr/bin/env python3
"""Trains BERT-base on random tokens: batch 32, 128 tokens, bfloat16 autocast, AdamW.

Claim: matrix products on the tensor cores next to many element-wise kernels and casts; the queue
stays full. Expected verdict: mixed, the GPU busy most of each step.

    python3 bert_train.py [--steps 100]"""
import argparse

import torch
from transformers import BertConfig, BertForMaskedLM

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()

torch.manual_seed(0)
model = BertForMaskedLM(BertConfig()).cuda().train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
tokens = torch.randint(0, 30522, (args.steps, 32, 128), device="cuda")

for step in range(args.steps):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(input_ids=tokens[step], labels=tokens[step]).loss
    loss.backward()
    optimizer.step()

# Some backward kernels add in no fixed order, so that only the loss's whole part is sure.
print(f"bert_train: {args.steps} steps, loss about {loss.item():.0f}, tokens {tokens.sum().item()}")
