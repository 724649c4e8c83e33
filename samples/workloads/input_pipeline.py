#!/usr/bin/env python3
"""Trains an MLP whose input comes from the CPU: from a DataLoader that decodes, or from memory.

Claims: DataLoader workers and pinned memory keep the GPU fed. Expected verdict: overhead, host, with --workers 0, because the thread
that launches also decodes; compute or memory with --workers 8 --pinned. With --source memory the copy itself shows: as
`transfer`, and as `sync` where memory is not pinned. DALI would decode on the GPU; here nothing is left for it once the workers keep up.
Change: --workers, --pinned, --source, --layers (of 8192 features: the GPU's share of the work).

    python3 input_pipeline.py [--source decode|memory] [--workers 0] [--pinned] [--layers 4] [--seconds 3]"""
import argparse

import torch
from pace import repeat
from torch import nn

PIXELS, FEATURES, BATCH, ROLLS = (3, 64, 64), 8192, 256, 6

parser = argparse.ArgumentParser()
parser.add_argument("--source", choices=["decode", "memory"], default="decode")
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--pinned", action="store_true")
parser.add_argument("--layers", type=int, default=4)
parser.add_argument("--seconds", type=float, default=3)
args = parser.parse_args()


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        image = torch.full(PIXELS, float(index % 7))
        for _ in range(ROLLS):  # stands for decoding
            image = image.roll(1, 2) * 0.999
        return image.flatten()


def decoded():
    more = {"prefetch_factor": 4} if args.workers else {}
    return iter(torch.utils.data.DataLoader(Images(), batch_size=BATCH, num_workers=args.workers, pin_memory=args.pinned, **more))


def stored():
    batch = torch.randn(BATCH, 3 * 64 * 64)
    batch = batch.pin_memory() if args.pinned else batch
    while True:
        yield batch


torch.manual_seed(0)
sizes = [3 * 64 * 64] + [FEATURES] * args.layers
layers = [layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
batches = decoded() if args.source == "decode" else stored()
next(batches)  # workers are forked before CUDA is there
model = nn.Sequential(*layers, nn.Linear(sizes[-1], 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
targets = torch.randint(0, 10, (BATCH,), device="cuda")


def step():
    inputs = next(batches).to("cuda", non_blocking=args.pinned)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss


first = step().item()
repeat(step, args.seconds)
del batches  # ends the workers
print(f"input_pipeline: {args.source}, {args.workers} workers{', pinned' if args.pinned else ''}, first loss {first:.3f}")
