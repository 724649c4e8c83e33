#!/usr/bin/env python3
"""Runs BERT-base on one sentence of 128 random tokens at a time, in bfloat16, waiting for each answer.

Claim: a batch of 1 does not fill the GPU, and Python launches more slowly than kernels finish.
Expected verdict: overhead.

    python3 bert_infer.py [--steps 1000]"""
import argparse

import torch
from transformers import BertConfig, BertModel

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1000)
args = parser.parse_args()

torch.manual_seed(0)
model = BertModel(BertConfig()).to("cuda", torch.bfloat16).eval()
tokens = torch.randint(0, 30522, (1, 128), device="cuda")

checksum = 0.0
with torch.inference_mode():
    for step in range(args.steps):
        checksum += model(input_ids=tokens).last_hidden_state[0, 0, 0].item()

print(f"bert_infer: {args.steps} steps, checksum {checksum:.2f}")
