#!/usr/bin/env python3
"""Trains BERT-base on random tokens: batch 32, 128 tokens, bfloat16 autocast, AdamW.

Claims: matrix products on the tensor cores next to many element-wise kernels and casts; a transformer trained with a batch of 128 is
compute-bound; operations that are no matrix products are few of its FLOPs and much of its time (`boundshim report --view roofline`).
Expected verdict: overhead where the CPU launches more slowly than kernels end, which a batch of 32 does not hide; with 128 mixed, the GPU busy
most of each step. Change: --batch.

    python3 bert_train.py [--steps 100] [--batch 32]"""
import argparse

import torch
from transformers import BertConfig, BertForMaskedLM

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--batch", type=int, default=32)
args = parser.parse_args()

torch.manual_seed(0)
model = BertForMaskedLM(BertConfig()).cuda().train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
tokens = torch.randint(0, 30522, (args.steps, args.batch, 128), device="cuda")

for step in range(args.steps):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(input_ids=tokens[step], labels=tokens[step]).loss
    loss.backward()
    optimizer.step()

# Some backward kernels add in no fixed order, so that only the loss's whole part is sure.
print(f"bert_train: {args.steps} steps, loss about {loss.item():.0f}, tokens {tokens.sum().item()}")
