#!/usr/bin/env python3
"""Programs before and after one change, of which `boundshim report` advises the change on the first. scripts/whatif records the first,
and measures both to see whether the advice was right.

    python3 pairs.py --list                      one JSON object a line: name, change (an advice id), items (work of a step after
                                                 the change, over that before), unseen (it is none of those that docs/whatif.md's
                                                 parameters were set by)
    python3 pairs.py NAME --only before|after [--seconds 4]
                                                 steps of one of them, after a warm-up
    python3 pairs.py NAME --rounds 9             both in turn in one process, in blocks of about 0.3 s; prints a JSON object with
                                                 the time of a step in ns for each block

A step function is called again and again without a wait, unless it waits itself."""
import argparse
import json
import time

PAIRS = {}  # name -> (change, items, function that returns step functions before and after, unseen)


def pair(change, items=1, unseen=False):
    def add(make):
        PAIRS[make.__name__] = (change, items, make, unseen)
        return make

    return add


# --- models ------------------------------------------------------------------------------------


def mlp(width=512, batch=64, inputs=256):
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)).cuda()
    return model, torch.randn(batch, inputs, device="cuda"), torch.randint(0, 10, (batch,), device="cuda")


def bert(layers=12, batch=32, words=128):
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.1, activation="gelu", batch_first=True)
    model = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).cuda()
    return model, torch.randn(batch, words, 768, device="cuda")


def training(model, inputs, targets=None, optimizer=None, autocast=False, end=None):
    """A step of training. Without targets the loss is the mean square."""
    import torch

    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=autocast):
            out = model(inputs)
            loss = out.float().pow(2).mean() if targets is None else torch.nn.functional.cross_entropy(out.float(), targets)
        loss.backward()
        optimizer.step()
        if end:
            end(loss)

    return step


def inference(model, inputs):
    """Forward passes; counting them ends each, else equal layers are all that can be seen."""
    import torch

    count = torch.zeros(1, device="cuda")

    def step():
        with torch.no_grad():
            model(inputs)
            count.add_(1)

    return step


def by_precision(step):
    """The step in full fp32, and with tensor cores."""
    import torch

    def with_precision(precision):
        def run():
            torch.set_float32_matmul_precision(precision)
            step()

        return run

    return with_precision("highest"), with_precision("high")


def captured(step):
    """The whole step as one CUDA graph (PyTorch's notes on CUDA graphs)."""
    import torch

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def replay(held=step):  # the graph reads and writes tensors that only the step holds
        graph.replay()

    return replay


# --- pairs -------------------------------------------------------------------------------------


@pair("cuda-graphs")
def mlp_graphs():
    return training(*mlp()), captured(training(*mlp()))


@pair("compile")
def mlp_compile():
    import torch

    model, inputs, targets = mlp()
    return training(*mlp()), training(torch.compile(model), inputs, targets, torch.optim.SGD(model.parameters(), lr=0.01))


@pair("reduce-overhead")
def mlp_reduce_overhead():
    import torch

    model, inputs, targets = mlp()
    compiled = torch.compile(model, mode="reduce-overhead")
    return training(*mlp()), training(compiled, inputs, targets, torch.optim.SGD(model.parameters(), lr=0.01))


@pair("no-sync")
def mlp_item():
    losses = []
    return training(*mlp(), end=lambda loss: losses.append(loss.item())), training(*mlp())


@pair("larger-batch", items=2)
def mlp_batch():
    return training(*mlp(batch=64)), training(*mlp(batch=128))


@pair("compile")
def bert_compile():
    import torch

    model, inputs = bert()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return training(*bert(), autocast=True), training(torch.compile(model), inputs, None, optimizer, autocast=True)


@pair("compile")
def bert_infer_compile():
    """A forward pass without gradients, which needs no autograd function round the compiled part."""
    import torch

    model, inputs = bert(layers=12, batch=8, words=256)
    model, inputs = model.to(torch.bfloat16).eval(), inputs.to(torch.bfloat16)
    return inference(model, inputs), inference(torch.compile(model), inputs)


@pair("fused-optimizer")
def bert_fused_adamw():
    import torch

    def with_adamw(**how):
        model, inputs = bert(layers=12, batch=8)
        return training(model, inputs, None, torch.optim.AdamW(model.parameters(), lr=1e-5, **how), autocast=True)

    return with_adamw(foreach=True), with_adamw(fused=True)


@pair("fused-optimizer")
def mlp_foreach_sgd():
    import torch
    from torch import nn

    def with_sgd(**how):
        torch.manual_seed(0)
        model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(32)]).cuda()
        inputs, targets = torch.randn(64, 256, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
        return training(model, inputs, targets, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, **how))

    return with_sgd(foreach=False), with_sgd(foreach=True)


@pair("cuda-graphs")
def bert_graphs():
    """Inference on one sentence."""
    import torch

    model, inputs = bert(batch=1)
    model, inputs = model.to(torch.bfloat16).eval(), inputs.to(torch.bfloat16)

    def step():
        with torch.no_grad():
            model(inputs)

    return step, captured(step)


@pair("fuse")
def cos_cos():
    import torch

    x = torch.randn(1 << 26, device="cuda")
    steps = torch.zeros(1, device="cuda")
    fused = torch.compile(lambda v: v.cos().cos())

    def counted(function):  # without an end of the step, a loop of cosines is all that can be seen
        function(x)
        steps.add_(1)

    return lambda: counted(lambda v: v.cos().cos()), lambda: counted(fused)


@pair("tensor-cores")
def mlp_tf32():
    return by_precision(training(*mlp(width=4096, batch=4096, inputs=4096)))


@pair("bf16")
def mlp_bf16():
    return training(*mlp(4096, 4096, 4096)), training(*mlp(4096, 4096, 4096), autocast=True)


def resnet():
    import torch
    from torchvision.models import resnet50

    model = resnet50().cuda().to(memory_format=torch.channels_last).train()
    images = torch.randn(64, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    return model, images, torch.randint(0, 1000, (64,), device="cuda")


@pair("bf16", unseen=True)
def resnet_bf16():
    return training(*resnet()), training(*resnet(), autocast=True)


@pair("compile", unseen=True)
def resnet_compile():
    import torch

    model, images, targets = resnet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return training(*resnet(), autocast=True), training(torch.compile(model), images, targets, optimizer, autocast=True)


@pair("pinned-copies")
def pinned_batch():
    import torch

    model, _, targets = mlp(width=1024, batch=4096, inputs=4096)
    pageable = torch.randn(4096, 4096)
    pinned = pageable.pin_memory()

    def from_host(batch, non_blocking):
        return lambda: training_of(batch.to("cuda", non_blocking=non_blocking))

    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def training_of(inputs):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    return from_host(pageable, False), from_host(pinned, True)


@pair("prefetch")
def loader_workers():
    import torch

    class Images(torch.utils.data.Dataset):
        def __len__(self):
            return 1 << 30

        def __getitem__(self, index):
            image = torch.full((3, 64, 64), float(index % 7))
            for _ in range(20):  # stands for decoding
                image = image.roll(1, 2) * 0.999
            return image.flatten()

    def steps(workers):
        model, _, targets = mlp(inputs=3 * 64 * 64, batch=32)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        more = {"persistent_workers": True, "prefetch_factor": 4} if workers else {}
        batches = iter(torch.utils.data.DataLoader(Images(), batch_size=32, num_workers=workers, pin_memory=True, **more))

        def step():
            inputs = next(batches).to("cuda", non_blocking=True)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

        return step

    return steps(0), steps(8)


@pair("cuda-graphs")
def decode_graphs():
    """GPT of 12 layers, one token at a time, with a cache of fixed size."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    features, heads, length = 768, 12, 1024

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(features), nn.LayerNorm(features)
            self.qkv, self.out = nn.Linear(features, 3 * features), nn.Linear(features, features)
            self.up, self.down = nn.Linear(features, 4 * features), nn.Linear(4 * features, features)
            self.register_buffer("cache", torch.zeros(2, 1, heads, length, features // heads))

        def forward(self, x, place, mask):
            q, k, v = self.qkv(self.norm1(x)).view(1, 1, 3, heads, -1).permute(2, 0, 3, 1, 4)
            self.cache[0].index_copy_(2, place, k)
            self.cache[1].index_copy_(2, place, v)
            mixed = F.scaled_dot_product_attention(q, self.cache[0], self.cache[1], attn_mask=mask)
            x = x + self.out(mixed.transpose(1, 2).reshape(1, 1, features))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    blocks = nn.ModuleList(Block() for _ in range(12)).to("cuda", torch.bfloat16).eval()
    token = torch.randn(1, 1, features, device="cuda", dtype=torch.bfloat16)
    place = torch.zeros(1, dtype=torch.long, device="cuda")
    places = torch.arange(length, device="cuda")

    def step():
        with torch.no_grad():
            mask = (places <= place).view(1, 1, 1, length)
            x = token
            for block in blocks:
                x = block(x, place, mask)
            token.copy_(x)
            place.add_(1).remainder_(length)

    return step, captured(step)


# --- pairs that nothing was fitted to ------------------------------------------------------------


def gru(words=24, batch=16, features=256):
    """A recurrent cell called word by word."""
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.head = nn.GRUCell(features, features), nn.Linear(features, 32)

        def forward(self, x):
            state = x.new_zeros(batch, features)
            for word in x.unbind(1):
                state = self.cell(word, state)
            return self.head(state)

    return Reader().cuda(), torch.randn(batch, words, features, device="cuda")


def mixer(blocks=8, batch=64, places=196, features=384):
    """Norms, products and pointwise work in turn, without attention."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(features), nn.LayerNorm(features)
            self.mix = nn.Sequential(nn.Linear(places, places), nn.GELU(), nn.Linear(places, places))
            self.feed = nn.Sequential(nn.Linear(features, 4 * features), nn.GELU(), nn.Linear(4 * features, features))

        def forward(self, x):
            x = x + self.mix(self.norm1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.feed(self.norm2(x))

    model = nn.Sequential(*[Block() for _ in range(blocks)], nn.LayerNorm(features), nn.Linear(features, 10)).cuda()
    return model, torch.randn(batch, places, features, device="cuda")


def gpt(layers=6, batch=8, words=512, features=768, heads=12):
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(features), nn.LayerNorm(features)
            self.qkv, self.out = nn.Linear(features, 3 * features), nn.Linear(features, features)
            self.up, self.down = nn.Linear(features, 4 * features), nn.Linear(4 * features, features)

        def forward(self, x):
            q, k, v = (part.unflatten(2, (heads, -1)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, 2))
            x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(8192, features)
            self.blocks = nn.Sequential(*[Block() for _ in range(layers)], nn.LayerNorm(features), nn.Linear(features, 8192))

        def forward(self, tokens):
            return self.blocks(self.embed(tokens)).flatten(0, 1)

    tokens = torch.randint(0, 8192, (batch, words), device="cuda")
    return Model().cuda(), tokens, tokens.flatten()


def convolutions(batch=32, size=112):
    import torch
    from torch import nn

    layers, channels = [], 3
    for wide, stride in ((64, 1), (64, 2), (128, 1), (128, 2), (256, 1), (256, 2), (512, 1)):
        layers += [nn.Conv2d(channels, wide, 3, stride, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU()]
        channels = wide
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 100)).cuda()
    return model, torch.randn(batch, 3, size, size, device="cuda"), torch.randint(0, 100, (batch,), device="cuda")


@pair("cuda-graphs", unseen=True)
def gru_graphs():
    step = inference(*gru())
    return step, captured(step)


@pair("cuda-graphs", unseen=True)
def mixer_graphs():
    return training(*mixer(batch=2), autocast=True), captured(training(*mixer(batch=2), autocast=True))


@pair("compile", unseen=True)
def mixer_compile():
    import torch

    model, inputs = mixer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return training(*mixer(), autocast=True), training(torch.compile(model), inputs, None, optimizer, autocast=True)


@pair("compile", unseen=True)
def gpt_infer_compile():
    import torch

    model, tokens, _ = gpt(batch=2)
    model = model.to(torch.bfloat16).eval()
    return inference(model, tokens), inference(torch.compile(model), tokens)


@pair("tensor-cores", unseen=True)
def gpt_tf32():
    return by_precision(training(*gpt()))


@pair("bf16", unseen=True)
def gpt_bf16():
    return training(*gpt()), training(*gpt(), autocast=True)


@pair("bf16", unseen=True)
def convolutions_bf16():
    return training(*convolutions()), training(*convolutions(), autocast=True)


@pair("fuse", unseen=True)
def pointwise_chain():
    """Scale, shift, GELU, add: four passes over 256 MiB."""
    import torch

    x, y = (torch.randn(1 << 26, device="cuda") for _ in range(2))
    count = torch.zeros(1, device="cuda")

    def chain(x, y):
        return torch.nn.functional.gelu(x * 1.5 + 0.5) + y

    fused = torch.compile(chain)

    def counted(function):
        function(x, y)
        count.add_(1)

    return lambda: counted(chain), lambda: counted(fused)


@pair("fused-optimizer", unseen=True)
def mixer_loop_adam():
    import torch

    def with_adam(**how):
        model, inputs = mixer(batch=16)
        return training(model, inputs, None, torch.optim.Adam(model.parameters(), lr=1e-4, **how), autocast=True)

    return with_adam(foreach=False), with_adam(fused=True)


@pair("no-sync", unseen=True)
def checked_layers():
    """After each product the program looks whether it is finite."""
    import torch

    x, weights = torch.randn(1024, 1024, device="cuda"), [torch.randn(1024, 1024, device="cuda") / 32 for _ in range(16)]
    count = torch.zeros(1, device="cuda")

    def with_check(check):
        def step():
            out = x
            for weight in weights:
                out = torch.tanh(out @ weight)
                check(out.isfinite().all())
            count.add_(1)

        return step

    return with_check(bool), with_check(lambda finite: None)


@pair("larger-batch", items=2, unseen=True)
def gru_batch():
    return inference(*gru(batch=16)), inference(*gru(batch=32))


@pair("pinned-copies", unseen=True)
def convolutions_pinned():
    import torch

    model, _, targets = convolutions(batch=256, size=64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    pageable = torch.randn(256, 3, 64, 64)
    pinned = pageable.pin_memory()

    def from_host(batch, non_blocking):
        def step():
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                out = model(batch.to("cuda", non_blocking=non_blocking))
            torch.nn.functional.cross_entropy(out.float(), targets).backward()
            optimizer.step()

        return step

    return from_host(pageable, False), from_host(pinned, True)


@pair("prefetch", unseen=True)
def texts_workers():
    """Sentences put together word by word in Python, for the GPT above."""
    import torch

    class Sentences(torch.utils.data.Dataset):
        def __len__(self):
            return 1 << 30

        def __getitem__(self, index):
            words, state = [], index % 8191 + 1
            for _ in range(512):
                state = state * 48271 % 2147483647
                words.append(state % 8192)
            return torch.tensor(words)

    def steps(workers):
        model, _, _ = gpt(layers=2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        more = {"persistent_workers": True, "prefetch_factor": 4} if workers else {}
        batches = iter(torch.utils.data.DataLoader(Sentences(), batch_size=8, num_workers=workers, pin_memory=True, **more))

        def step():
            tokens = next(batches).to("cuda", non_blocking=True)
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = torch.nn.functional.cross_entropy(model(tokens).float(), tokens.flatten())
            loss.backward()
            optimizer.step()

        return step

    return steps(0), steps(6)


# --- measuring ---------------------------------------------------------------------------------

BLOCK_S, WARM_UP_S = 0.3, 2.0


def run_for(step, seconds):
    """Steps for about so long; a full queue holds them back."""
    import torch

    for _ in range(3):  # modules are loaded
        step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        step()
    torch.cuda.synchronize()


def block_ns(step, steps):
    import torch

    torch.cuda.synchronize()
    begin = time.perf_counter_ns()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - begin) / steps


def measure(before, after, rounds):
    each = []
    for step in (before, after):
        run_for(step, WARM_UP_S)
        each.append(max(10, int(BLOCK_S * 1e9 / block_ns(step, 10))))
    found = {"before": [], "after": []}
    for _ in range(rounds):
        for key, step, steps in zip(found, (before, after), each):
            found[key].append(block_ns(step, steps))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", nargs="?", choices=sorted(PAIRS))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", choices=("before", "after"))
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    if args.list:
        for name, (change, items, _, unseen) in PAIRS.items():
            print(json.dumps({"name": name, "change": change, "items": items, "unseen": unseen}))
        return
    if not args.name:
        parser.error("NAME or --list")
    import torch

    torch.manual_seed(0)
    steps = dict(zip(("before", "after"), PAIRS[args.name][2]()))
    if args.only:
        run_for(steps[args.only], args.seconds)
        print(f"{args.name}: {args.only}")
    else:
        print(json.dumps(measure(**steps, rounds=args.rounds)))


if __name__ == "__main__":
    main()
