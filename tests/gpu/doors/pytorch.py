"""PyTorch programs, each deterministic: eager, compiled, CUDA graphs, a Triton kernel, data loaders, one process of torchrun, Proton.

    pytorch.py NAME     prints checksums of its results, and `launched KERNEL COUNT` for kernels that it counts itself

With DOOR_COUNT=FILE the same program runs under torch.profiler, which writes its own trace of it there."""
import contextlib
import hashlib
import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch  # noqa: E402


def checksum(what, *tensors):
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.detach().contiguous().cpu().view(torch.uint8).numpy().tobytes())
    print(what, digest.hexdigest()[:32], flush=True)


def model_of(width):
    return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.LayerNorm(width), torch.nn.Linear(width, width)).cuda()


def eager():
    """Training of matrix products, normalisation and convolutions; copies both ways."""
    model, x = model_of(256), torch.randn(64, 256, device="cuda")
    convolution, image = torch.nn.Conv2d(8, 16, 3).cuda(), torch.randn(4, 8, 32, 32, device="cuda")
    optimizer = torch.optim.AdamW([*model.parameters(), *convolution.parameters()], lr=1e-3)
    for _ in range(30):
        optimizer.zero_grad()
        loss = model(x).square().mean() + convolution(image).relu().mean()
        loss.backward()
        optimizer.step()
        loss.item()
    checksum("parameters", *model.parameters(), *convolution.parameters())


def compiled(mode=None):
    """Inductor: its Triton kernels are launched with cuLaunchKernelEx, by C++ code or the launcher that it compiles."""
    model, x = model_of(256), torch.randn(64, 256, device="cuda")
    step = torch.compile(lambda v: model(v).sin().softmax(-1), mode=mode)
    with torch.no_grad():
        for _ in range(20):
            torch.compiler.cudagraph_mark_step_begin()
            out = step(x).clone()
    checksum("output", out)


def reduce_overhead():
    compiled("reduce-overhead")


def graph():
    """A whole training step in a torch.cuda.CUDAGraph."""
    model, x = model_of(256), torch.randn(64, 256, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        optimizer.step()

    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        step()
    for _ in range(50):
        captured.replay()
    torch.cuda.synchronize()
    checksum("parameters", *model.parameters())


def triton_kernel():
    import triton_door
    x = torch.arange(4096, device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    triton_door.launch(x, y, 120)
    checksum("sum", y)
    print("launched triton_add 120")


class OnHost(torch.utils.data.Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return torch.full((256,), float(i)).sin()


class OnDevice(OnHost):
    """Two kernels for each item: fill and sine."""

    def __getitem__(self, i):
        return torch.full((256,), float(i), device="cuda").sin().cpu()


def loader(dataset, method):
    model = model_of(256)
    outputs = []
    items = torch.utils.data.DataLoader(dataset, batch_size=4, num_workers=2, multiprocessing_context=method, pin_memory=method == "fork")
    for batch in items:
        outputs.append(model(batch.cuda(non_blocking=True)).mean())
    torch.cuda.synchronize()
    checksum("outputs", torch.stack(outputs))


def loader_fork():
    loader(OnHost(), "fork")


def loader_spawn():
    loader(OnDevice(), "spawn")
    print("launched in workers 80")


def torchrun():
    import torch.distributed as dist
    dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
    model = torch.nn.parallel.DistributedDataParallel(model_of(256), device_ids=[0])
    x = torch.randn(64, 256, device="cuda")
    for _ in range(10):
        model.zero_grad()
        model(x).square().mean().backward()
    torch.cuda.synchronize()
    checksum("gradients", *(p.grad for p in model.parameters()))
    dist.destroy_process_group()


def proton():
    """Triton's profiler, which opens a libcupti of its own and looks its functions up by handle. Its tree of kernels goes to DOOR_PROTON.
    Programs import it first, before CUDA is used (see main); with DOOR_LATE here."""
    import triton.profiler
    time.sleep(1 if os.environ.get("DOOR_LATE") else 0)
    import triton_door
    x = torch.arange(4096, device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    torch.cuda.synchronize()
    triton.profiler.start(os.environ["DOOR_PROTON"])
    triton_door.launch(x, y, 120)
    for _ in range(30):
        y = y + x
    torch.cuda.synchronize()
    triton.profiler.finalize()
    triton_door.launch(x, y, 40)
    checksum("sum", y)


@contextlib.contextmanager
def counted():
    path = os.environ.get("DOOR_COUNT")
    if not path:
        yield
        return
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        yield
        torch.cuda.synchronize()
    profiler.export_chrome_trace(path)


def main():
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    if sys.argv[1] == "proton" and not os.environ.get("DOOR_LATE"):
        import triton.profiler
    torch.cuda.init()
    torch.cuda.synchronize()
    with counted():
        PROGRAMS[sys.argv[1]]()
        torch.cuda.synchronize()


PROGRAMS = {"eager": eager, "compile": compiled, "reduce-overhead": reduce_overhead, "graph": graph, "triton": triton_kernel,
            "loader-fork": loader_fork, "loader-spawn": loader_spawn, "torchrun": torchrun, "proton": proton}

if __name__ == "__main__":
    main()
