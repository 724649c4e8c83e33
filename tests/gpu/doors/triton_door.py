"""A Triton kernel. In a file of its own, as Triton reads its source."""
import triton
import triton.language as tl


@triton.jit
def triton_add(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(y + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def launch(x, y, count):
    for _ in range(count):
        triton_add[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
