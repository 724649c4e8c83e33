"""Training over NCCL, one process for each GPU, under torchrun: DDP, and one all-reduce of its own in each step.

    torchrun --nproc_per_node=N ranks.py SLOW_RANK SLEEP_MS     rank SLOW_RANK sleeps so long before each step; -1: none does

Rank 0 prints a checksum of the parameters and of the reduced tensor, which are the same on all ranks."""
import hashlib
import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

STEPS = 60


def main():
    rank, slow, pause = int(os.environ["LOCAL_RANK"]), int(sys.argv[1]), float(sys.argv[2]) / 1000
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    width = 2048
    model = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.Linear(width, width)).to(device)
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(256, width, device=device) + rank
    tensor = torch.full((4 << 20,), float(rank + 1), device=device)
    for _ in range(STEPS):
        if rank == slow:
            time.sleep(pause)
        optimizer.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        optimizer.step()
        dist.all_reduce(tensor)
        tensor.mul_(1.0 / dist.get_world_size())
        torch.cuda.synchronize()
    digest = hashlib.sha256()
    for part in (*model.parameters(), tensor):
        digest.update(part.detach().cpu().numpy().tobytes())
    if rank == 0:
        print("result", digest.hexdigest()[:32], flush=True)
    dist.barrier()
    torch.cuda.synchronize()
    dist.destroy_process_group()


main()
