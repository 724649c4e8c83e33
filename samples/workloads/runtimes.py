#!/usr/bin/env python3
"""Answers with one exported model, a transformer encoder of 6 layers and 512 features in float32, under one of several runtimes.

Claim: the same model behaves differently under different runtimes. Expected verdict at --batch 1: overhead in eager mode, less of it
where the runtime fuses kernels or launches them at once. At --batch 64 all are bound by the same matrix products: compute.
Change: --runtime (eager and compile run what torch.export made, onnxruntime the same as ONNX and needs its CUDA provider, xla the
same arithmetic written for JAX with the same weights), --batch.

    python3 runtimes.py [--runtime eager|compile|xla|onnxruntime] [--batch 1] [--seconds 3]

Exit status 77: the runtime is not there, or not for this GPU."""
import argparse
import os
import sys

import torch
from pace import on_gpu, repeat
from torch import nn
from torch.nn import functional as F

FEATURES, HEADS, LAYERS, WORDS = 512, 8, 6, 128

parser = argparse.ArgumentParser()
parser.add_argument("--runtime", choices=["eager", "compile", "xla", "onnxruntime"], default="eager")
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--seconds", type=float, default=3)
args = parser.parse_args()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(FEATURES), nn.LayerNorm(FEATURES)
        self.qkv, self.out = nn.Linear(FEATURES, 3 * FEATURES), nn.Linear(FEATURES, FEATURES)
        self.up, self.down = nn.Linear(FEATURES, 4 * FEATURES), nn.Linear(4 * FEATURES, FEATURES)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).view(-1, WORDS, 3, HEADS, FEATURES // HEADS).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(2, 3) * (FEATURES // HEADS) ** -0.5, -1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(-1, WORDS, FEATURES))
        return x + self.down(F.relu(self.up(self.norm2(x))))


def skip(why):
    print(f"runtimes: {args.runtime}: {why}", file=sys.stderr)
    sys.exit(77)


def in_torch():
    function = torch.export.export(model.cuda(), (x.cuda(),)).module()
    function, inputs = torch.compile(function) if args.runtime == "compile" else function, x.cuda()
    return lambda: function(inputs), lambda y: y.float().abs().mean().item(), on_gpu


def in_onnxruntime():
    try:
        import onnxruntime
    except ImportError:
        skip("not installed")
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        skip("this build has no CUDA provider")
    path = f"/tmp/runtimes.{os.getpid()}.onnx"
    torch.onnx.export(model, (x,), path, input_names=["x"], output_names=["y"], dynamo=False)
    session = onnxruntime.InferenceSession(path, providers=["CUDAExecutionProvider"])
    os.remove(path)
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", onnxruntime.OrtValue.ortvalue_from_numpy(x.numpy(), "cuda", 0))
    binding.bind_output("y", "cuda")

    def run():
        session.run_with_iobinding(binding)
        return binding

    return run, lambda done: float(abs(done.copy_outputs_to_cpu()[0]).mean()), binding.synchronize_outputs


def in_xla():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax
        from jax import numpy as jnp
    except ImportError:
        skip("JAX is not installed")
    if jax.default_backend() != "gpu":
        skip("this JAX has no GPU")
    jax.config.update("jax_default_matmul_precision", "highest")  # float32, as PyTorch's
    weights = {name: jnp.asarray(value.numpy()) for name, value in model.state_dict().items()}

    def norm(w, name, x):
        centered = x - x.mean(-1, keepdims=True)
        return centered / jnp.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(w, name, x):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def forward(w, x):
        for i in range(LAYERS):
            q, k, v = linear(w, f"{i}.qkv", norm(w, f"{i}.norm1", x)).reshape(-1, WORDS, 3, HEADS, FEATURES // HEADS).transpose(2, 0, 3, 1, 4)
            mixed = jax.nn.softmax(q @ k.swapaxes(2, 3) * (FEATURES // HEADS) ** -0.5) @ v
            x = x + linear(w, f"{i}.out", mixed.swapaxes(1, 2).reshape(-1, WORDS, FEATURES))
            x = x + linear(w, f"{i}.down", jax.nn.relu(linear(w, f"{i}.up", norm(w, f"{i}.norm2", x))))
        return x

    function, inputs, last = jax.jit(forward), jnp.asarray(x.numpy()), []

    def run():
        last[:] = [function(weights, inputs)]
        return last[0]

    return run, lambda y: float(abs(y).mean()), lambda: last[0].block_until_ready()


torch.manual_seed(0)
model = nn.Sequential(*(Block() for _ in range(LAYERS))).eval()
x = torch.randn(args.batch, WORDS, FEATURES)
with torch.no_grad():
    run, checksum_of, wait = {"xla": in_xla, "onnxruntime": in_onnxruntime}.get(args.runtime, in_torch)()
    checksum = checksum_of(run())
    repeat(run, args.seconds, wait)
print(f"runtimes: {args.runtime}, batch {args.batch}, checksum {checksum:.3f}")
