#!/usr/bin/env python3
"""Trains a convolutional network of torchvision on random images, or answers with it; 224 x 224, channels last.

Claims: a large ResNet-152 is compute-bound, a small MobileNet and single samples are memory-bound. Expected verdict: training ResNet-152 at batch
128 is overhead on an H200, 2,626 kernels that the CPU launches more slowly than they end; --infer --batch 1 is overhead for any model, because
kernels of microseconds are launched one by one; training MobileNet is memory-bound only with a large batch (not measured yet).
Change: --model (any of torchvision.models.list_models()), --batch, --infer, --precision.

    python3 convnet.py [--model resnet152] [--batch 128] [--infer] [--precision bf16|tf32|fp32] [--seconds 3]"""
import argparse

import torch
from pace import repeat
from torchvision.models import get_model

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="resnet152")
parser.add_argument("--batch", type=int, default=128)
parser.add_argument("--infer", action="store_true")
parser.add_argument("--precision", choices=["bf16", "tf32", "fp32"], default="bf16")
parser.add_argument("--seconds", type=float, default=3)
args = parser.parse_args()

torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = args.precision == "tf32"
model = get_model(args.model).cuda().to(memory_format=torch.channels_last).train(not args.infer)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
loss_fn = torch.nn.CrossEntropyLoss()
images = torch.randn(args.batch, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
targets = torch.randint(0, 1000, (args.batch,), device="cuda")


def train():
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=args.precision == "bf16"):
        loss = loss_fn(model(images), targets)
    loss.backward()
    optimizer.step()
    return loss


def infer():
    with torch.inference_mode(), torch.autocast("cuda", dtype=torch.bfloat16, enabled=args.precision == "bf16"):
        return model(images).float().square().mean()


step = infer if args.infer else train
first = step().item()
repeat(step, args.seconds, least=4)
print(f"convnet: {args.model}, batch {args.batch}, {'inference' if args.infer else 'training'} in {args.precision}, first result {first:.2f}")
