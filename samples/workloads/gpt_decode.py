#!/usr/bin/env python3
"""Generates token after token with a GPT of 12 layers and 768 features: batch 1, a key-value cache, bfloat16.

Claim: every kernel reads weights or cache for one token and ends within microseconds; Python launches
more slowly than they finish. Expected verdict: overhead, with `host` the largest leaf.

    python3 gpt_decode.py [--steps 1000]"""
import argparse

import torch
from torch import nn
from torch.nn import functional as F

WORDS, FEATURES, HEADS, LAYERS, LENGTH = 50304, 768, 12, 12, 2048


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(FEATURES), nn.LayerNorm(FEATURES)
        self.qkv, self.out = nn.Linear(FEATURES, 3 * FEATURES), nn.Linear(FEATURES, FEATURES)
        self.up, self.down = nn.Linear(FEATURES, 4 * FEATURES), nn.Linear(4 * FEATURES, FEATURES)
        self.register_buffer("cache", torch.zeros(2, 1, HEADS, LENGTH, FEATURES // HEADS))

    def forward(self, x, place):
        q, k, v = self.qkv(self.norm1(x)).view(1, 1, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        self.cache[0, :, :, place], self.cache[1, :, :, place] = k[:, :, 0], v[:, :, 0]
        keys, values = self.cache[:, :, :, : place + 1]
        mixed = F.scaled_dot_product_attention(q, keys, values)
        x = x + self.out(mixed.transpose(1, 2).reshape(1, 1, FEATURES))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1000)
args = parser.parse_args()

torch.manual_seed(0)
word = nn.Embedding(WORDS, FEATURES).to("cuda", torch.bfloat16)
blocks = nn.ModuleList(Block() for _ in range(LAYERS)).to("cuda", torch.bfloat16).eval()
norm = nn.LayerNorm(FEATURES).to("cuda", torch.bfloat16)

token = torch.zeros(1, 1, dtype=torch.long, device="cuda")
with torch.inference_mode():
    for step in range(args.steps):
        x = word(token)
        for block in blocks:
            x = block(x, step % LENGTH)
        token = F.linear(norm(x), word.weight).argmax(-1)

print(f"gpt_decode: {args.steps} steps, the last token is one of {WORDS}: {0 <= token.item() < WORDS}")
