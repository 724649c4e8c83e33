#!/usr/bin/env python3
"""Library arithmetic on a real GPU: PyTorch's matrix products, convolutions, attention and LSTM in several types, each with the FLOPs
that its sizes make, against what the trace says (scripts/bstdump's tables). Prints one line for each; exit status 1 if one
differs, 77 without a GPU or PyTorch.

    tests/gpu/library.py [FOLDER]     the trace and the words go there (build/gpu-library)"""
import bisect
import collections
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FAILED, CAPTURED, DEFERRED = 1, 2, 8
FLOPS, BYTES = 512, 1024


# --- the program that is traced -------------------------------------------------------------------

def work():
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    torch.manual_seed(0)
    gpu = "cuda"

    def tensor(*size, dtype=torch.float32, grad=False):
        t = torch.randn(*size, device=gpu)
        return t.to(dtype).requires_grad_(grad)

    def say(name, flops, function):
        """Runs it twice: the second time inside a range of that name. FLOPs None: only shown."""
        try:
            for turn in range(2):
                if turn:
                    torch.cuda.nvtx.range_push(f"{name}|{'' if flops is None else flops}")
                function()
                torch.cuda.synchronize()
                if turn:
                    torch.cuda.nvtx.range_pop()
        except Exception as error:  # an operation that this version or GPU has not: said, not judged
            print(f"skipped {name}: {type(error).__name__}: {str(error).splitlines()[0][:90]}", flush=True)

    m, n, k, b = 1024, 768, 512, 6
    types = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "fp64": torch.float64, "complex64": torch.complex64}
    for tf32 in (False, True):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        for name, dtype in types.items():
            if tf32 and name != "fp32":
                continue
            name = "tf32" if tf32 else name
            each = 8 if name == "complex64" else 2
            x, w, v = tensor(m, k, dtype=dtype), tensor(k, n, dtype=dtype), tensor(k, dtype=dtype)
            say(f"mm {name}", each * m * n * k, lambda: torch.mm(x, w))
            say(f"mm {name}, transposed", each * m * n * k, lambda: torch.mm(x, w.t().contiguous().t()))
            say(f"mv {name}", each * m * k, lambda: torch.mv(x, v))
            bias, weight = tensor(n, dtype=dtype), tensor(n, k, dtype=dtype)
            say(f"addmm {name}", each * m * n * k, lambda: torch.addmm(bias, x, w))
            say(f"linear {name}", each * m * n * k, lambda: F.linear(x, weight, bias))
            xb, wb = tensor(b, m, k, dtype=dtype), tensor(b, k, n, dtype=dtype)
            say(f"bmm {name}", each * b * m * n * k, lambda: torch.bmm(xb, wb))
            say(f"bmm {name}, one matrix for all", each * b * m * n * k, lambda: torch.bmm(xb, w.expand(b, k, n)))
            if name != "complex64":
                say(f"baddbmm {name}", 2 * b * m * n * k, lambda: torch.baddbmm(tensor(b, m, n, dtype=dtype), xb, wb, beta=0.5))
            if name in ("fp32", "fp64"):
                upper = torch.triu(tensor(n, n, dtype=dtype)) + 4 * torch.eye(n, device=gpu, dtype=dtype)
                right = tensor(n, 64, dtype=dtype)
                say(f"triangular solve {name}", n * n * 64, lambda: torch.linalg.solve_triangular(upper, right, upper=True))
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False

    a8 = tensor(m, k).to(torch.float8_e4m3fn)
    b8 = tensor(n, k).to(torch.float8_e4m3fn).t()
    one = torch.ones((), device=gpu)
    say("scaled_mm fp8", 2 * m * n * k, lambda: torch._scaled_mm(a8, b8, one, one, out_dtype=torch.bfloat16))
    i8 = torch.randint(-9, 9, (m, k), device=gpu, dtype=torch.int8), torch.randint(-9, 9, (k, n), device=gpu, dtype=torch.int8)
    say("int_mm int8", 2 * m * n * k, lambda: torch._int_mm(*i8))

    def convolve(name, x_size, w_size, dtype, last=False, groups=1, dims=2, **more):
        layout = {2: torch.channels_last, 3: torch.channels_last_3d}[dims] if last else torch.contiguous_format
        x = tensor(*x_size, dtype=dtype).contiguous(memory_format=layout).requires_grad_()
        w = tensor(*w_size, dtype=dtype).contiguous(memory_format=layout).requires_grad_()
        function = F.conv3d if dims == 3 else F.conv2d
        y = function(x, w, groups=groups, **more)
        flops, g = 2 * y.numel() * w[0].numel(), torch.ones_like(y)
        say(f"conv {name}", flops, lambda: function(x.detach(), w.detach(), groups=groups, **more))
        y = function(x, w, groups=groups, **more)
        say(f"conv backward {name}", 2 * flops, lambda: y.backward(g, retain_graph=True))

    for name in ("fp32", "bf16", "fp16"):
        convolve(f"{name}", (8, 64, 56, 56), (128, 64, 3, 3), types[name], padding=1)
        convolve(f"{name}, channels last, stride 2", (8, 64, 56, 56), (128, 64, 3, 3), types[name], last=True, stride=2)
    convolve("bf16, 1x1", (8, 256, 28, 28), (512, 256, 1, 1), torch.bfloat16, last=True)
    convolve("fp16, 4 groups", (8, 64, 28, 28), (128, 16, 3, 3), torch.float16, groups=4)
    convolve("fp32, three dimensions", (2, 16, 12, 28, 28), (32, 16, 3, 3, 3), torch.float32, dims=3)

    h, s, d = 12, 1024, 64
    q, key, value = (tensor(4, h, s, d, dtype=torch.bfloat16, grad=True) for _ in range(3))
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        say("sdpa cudnn", 2 * 4 * h * s * s * 2 * d, lambda: F.scaled_dot_product_attention(q.detach(), key.detach(), value.detach()))
        say("sdpa cudnn, causal", 2 * 4 * h * s * s * 2 * d,
            lambda: F.scaled_dot_product_attention(q.detach(), key.detach(), value.detach(), is_causal=True))
        try:
            out = F.scaled_dot_product_attention(q, key, value)
            g = torch.ones_like(out)
            say("sdpa cudnn backward", 2 * 4 * h * s * s * 5 * d, lambda: out.backward(g, retain_graph=True))
        except Exception as error:
            print(f"skipped sdpa cudnn backward: {error}", flush=True)
    with sdpa_kernel(SDPBackend.MATH):
        say("sdpa math", 2 * 4 * h * s * s * 2 * d, lambda: F.scaled_dot_product_attention(q.detach(), key.detach(), value.detach()))

    lstm = torch.nn.LSTM(256, 512, num_layers=2).cuda()
    steps = tensor(35, 20, 256, grad=True)
    weights = sum(p.numel() for name, p in lstm.named_parameters() if name.startswith("weight"))
    say("lstm forward, training", 2 * weights * 35 * 20, lambda: lstm(steps))
    out, _ = lstm(steps)
    g = torch.ones_like(out)

    def train():
        out, _ = lstm(steps)
        out.backward(g)

    say("lstm forward and backward", 3 * 2 * weights * 35 * 20, train)

    # one capture of a product and a convolution, three replays: FLOPs through graph nodes
    x, w = tensor(m, k, dtype=torch.bfloat16), tensor(k, n, dtype=torch.bfloat16)
    image, window = tensor(8, 64, 56, 56, dtype=torch.bfloat16), tensor(64, 64, 3, 3, dtype=torch.bfloat16)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            torch.mm(x, w), F.conv2d(image, window)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    torch.cuda.nvtx.range_push("capture|")
    with torch.cuda.graph(graph):
        torch.mm(x, w)
        y = F.conv2d(image, window)
    torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_push(f"replay|{3 * (2 * m * n * k + 2 * y.numel() * 64 * 9)}")
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()


# --- reading ------------------------------------------------------------------------------------

def tables(path):
    loader = importlib.machinery.SourceFileLoader("bstdump", str(ROOT / "scripts/bstdump"))
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bstdump", loader))
    loader.exec_module(module)
    out = io.StringIO()
    module.Dump(path.read_bytes(), out).run()
    found = collections.defaultdict(list)
    for line in out.getvalue().splitlines():
        name, *cells = line.split("\t")
        if cells:
            found[name].append({k: (v[1:-1] if v.startswith('"') else int(v)) for k, v in (c.split("=", 1) for c in cells)})
    return found


def ranges(t):
    """[(name, expected FLOPs or None, begin, end)]"""
    strings = {row["id"]: row["value"] for row in t["string"]}
    stack, found = [], []
    for row in t["range"]:
        if row["kind"] == 1:
            stack.append((strings.get(row["name"], ""), row["time"]))
        elif row["kind"] == 2 and stack:
            name, begin = stack.pop()
            name, _, flops = name.partition("|")
            found.append((name, int(flops) if flops else None, begin, row["time"]))
    return found


def short(name):
    demangled = subprocess.run(["c++filt", name], capture_output=True, text=True).stdout.strip() if name.startswith("_Z") else name
    return re.sub(r"^void ", "", demangled)[:50]


def judge(t):
    enums = {(row["set"], row["value"]): row["name"] for row in t["enum"]}
    shapes = {row["id"]: row for row in t["shape"]}
    apis = {row["id"]: row["name"] for row in t["api"]}
    strings = {row["id"]: row["value"] for row in t["string"]}
    kernels = {row["id"]: strings.get(row["name"], "") for row in t["kernel"]}
    launches = {row["correlation"]: row for row in t["call"] if row["correlation"]}
    rows = sorted((r for r in t["library"] if not r["flags"] & DEFERRED), key=lambda r: (r["thread"], r["begin"]))
    keys = [(r["thread"], r["begin"]) for r in rows]
    nodes = {row["node"]: row for row in t["node"]}
    inside, outside, replayed = collections.defaultdict(list), 0, collections.defaultdict(set)

    for run in t["run"]:
        launch = launches.get(run["correlation"])
        if run["graph"]:
            node = nodes.get(run["node"])
            while node and node["kind"] == 2 and node["source"]:
                node = nodes.get(node["source"])
            if node and node["library"] and launch:
                replayed[run["correlation"]].add((node["thread"], node["library"], node["shape"]))
            continue
        at = bisect.bisect_right(keys, (launch["thread"], launch["begin"])) - 1 if launch else -1
        if at >= 0 and rows[at]["thread"] == launch["thread"] and launch["begin"] <= rows[at]["begin"] + rows[at]["duration"]:
            inside[at].append(run)
        else:
            outside += 1
    good = bad = 0
    for name, expected, begin, end in ranges(t):
        mine = [i for i, r in enumerate(rows) if begin <= r["begin"] <= end and not r["flags"] & (FAILED | CAPTURED)]
        shapes_of = [shapes.get(rows[i]["shape"]) for i in mine]
        flops = sum(s["flops"] for s in shapes_of if s and s["flags"] & FLOPS)
        for correlation, made in replayed.items():
            if begin <= launches[correlation]["begin"] <= end:
                flops += sum(shapes[shape]["flops"] for _, _, shape in made)
        size = sum(s["bytes"] for s in shapes_of if s and s["flags"] & BYTES)
        ns = sum(run["duration"] for i in mine for run in inside[i])
        rate = f"{flops / ns / 1e3:7.1f} TFLOP/s" if ns else ""
        word = "    " if expected is None else "ok  " if flops == expected else "FAIL"
        good, bad = good + (word == "ok  "), bad + (word == "FAIL")
        print(f"{word} {name:38} {flops:>14} FLOPs{'' if flops == expected else f' (expected {expected})'} {size:>11} bytes {rate}")
        for i, s in zip(mine, shapes_of):
            what = f"{enums.get(('operation', s['operation']))} m={s['m']} n={s['n']} k={s['k']} batch={s['batch']}" \
                   f" {enums.get(('data_type', s['type_a']))} in {enums.get(('compute', s['compute']))} {s['detail']}" if s else "?"
            print(f"       {apis[rows[i]['api']]}: {what}; " + ", ".join(short(kernels.get(r["kernel"], "")) for r in inside[i]))
    states = {row["key"]: row["value"] for row in t["meta"] if row["key"].startswith("library.state")}
    print(f"{good} right, {bad} wrong; {len(rows)} library calls, {len(shapes)} shapes, {outside} kernels outside of them; {states}")
    return bad == 0 and good > 0


def main():
    if sys.argv[1:] == ["--work"]:
        return work()
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/gpu-library").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    shim = next((ROOT / b / "libboundshim.so" for b in ("build", "build/portable") if (ROOT / b / "libboundshim.so").exists()), None)
    probe = subprocess.run([sys.executable, "-c", "import torch; torch.zeros(1).cuda()"], capture_output=True, text=True)
    if probe.returncode or not shim:
        print(f"no GPU, no PyTorch or no shim here: {(probe.stderr.strip().splitlines() or [''])[-1]}")
        sys.exit(77)
    for old in folder.glob("*.bst"):
        old.unlink()
    env = dict(os.environ, LD_PRELOAD=str(shim), BOUNDSHIM_OUT=f"{folder}/")
    done = subprocess.run([sys.executable, __file__, "--work"], env=env, capture_output=True, text=True, timeout=400)
    print(done.stdout + done.stderr, end="")
    traces = sorted(folder.glob("*.bst"), key=lambda p: p.stat().st_size)
    if done.returncode or not traces:
        print(f"the program ended with {done.returncode}, {len(traces)} traces")
        sys.exit(1)
    held = judge(tables(traces[-1]))
    sys.exit(0 if held else 1)


main()
