"""Two GPUs in one process: kernels on each, copies between them, two threads. With DOOR_COUNT=FILE under torch.profiler."""
import threading

import torch

import pytorch


def work(index, results):
    x = torch.linspace(0, 1, 1 << 16, device=f"cuda:{index}")
    for _ in range(40):
        x = (x * 1.5).sin()
    results[index] = x


def main():
    torch.manual_seed(0)
    for index in range(2):
        torch.empty(1, device=f"cuda:{index}")
        torch.cuda.synchronize(index)
    with pytorch.counted():
        results = [None, None]
        threads = [threading.Thread(target=work, args=(index, results)) for index in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        total = results[0] + results[1].to("cuda:0")
        torch.cuda.synchronize(0)
        torch.cuda.synchronize(1)
    pytorch.checksum("total", total)


main()
