#!/usr/bin/env python3
"""Trains a GPT of 12 layers and 768 features on random tokens: batch 16, 1024 tokens, bfloat16 autocast, fused AdamW.

Claims: large matrix products and flash attention on the tensor cores; layer norms, GELUs, casts and the
loss over 50,304 words are bound by DRAM. Expected verdict: mixed, compute ahead, the GPU busy.
Mixed precision doubles throughput, a larger batch fills the GPU better, checkpointing trades compute for memory.
Change: --precision, --batch, --checkpoint (activations of a block are computed again in the backward pass).

    python3 gpt_train.py [--steps 100] [--batch 16] [--precision bf16|tf32|fp32] [--checkpoint]"""
import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

WORDS, FEATURES, HEADS, LAYERS, LENGTH = 50304, 768, 12, 12, 1024


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(FEATURES), nn.LayerNorm(FEATURES)
        self.qkv, self.out = nn.Linear(FEATURES, 3 * FEATURES), nn.Linear(FEATURES, FEATURES)
        self.mlp = nn.Sequential(nn.Linear(FEATURES, 4 * FEATURES), nn.GELU(), nn.Linear(4 * FEATURES, FEATURES))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, FEATURES))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.word, self.place = nn.Embedding(WORDS, FEATURES), nn.Embedding(LENGTH, FEATURES)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(FEATURES), nn.Linear(FEATURES, WORDS, bias=False)

    def forward(self, tokens):
        x = self.word(tokens) + self.place.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if args.checkpoint else block(x)
        return self.head(self.norm(x))


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--precision", choices=["bf16", "tf32", "fp32"], default="bf16")
parser.add_argument("--checkpoint", action="store_true")
args = parser.parse_args()

torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = args.precision == "tf32"
model = GPT().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
tokens = torch.randint(0, WORDS, (args.batch, LENGTH + 1), device="cuda")

for step in range(args.steps):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=args.precision == "bf16"):
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.view(-1, WORDS), tokens[:, 1:].reshape(-1))
    loss.backward()
    optimizer.step()

# Some backward kernels add in no fixed order, so that only finiteness is sure.
print(f"gpt_train: {args.steps} steps, loss finite: {bool(torch.isfinite(loss))}, tokens {tokens.sum().item()}, at most {torch.cuda.max_memory_allocated() / 2**30:.0f} GiB")
