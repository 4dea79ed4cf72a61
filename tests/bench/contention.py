"""What ordinary arithmetic costs tensor cores, and they it: cycles of wgmma and of FFMA or FADD, side by side.

    python tests/bench/contention.py

One warpgroup of each block multiplies fp8 of shared memory, m64nNk32, without end; another one adds up vectors in
registers, as the sums of scaled products are. They share nothing but the multiprocessor. With `--groups N`, N
warpgroups multiply, and none adds up. Needs torch and a Hopper GPU.
"""

from typing import Any

import cutelite as cl
from cutelite import Smem, Tensor, e4m3, f32, u32
from tests.bench.given import parser

BLOCKS, GROUP, PRODUCTS, SUMS = 132, 128, 200, 400
T, S = cl.dims("T S")


def threads(groups: int, how: str) -> int:
    """Of a block: of those that multiply, and of one more group where something is added up."""
    return GROUP * (groups + (how != ""))


def build(columns: int, groups: int, how: str) -> Any:
    """A kernel of which `groups` warpgroups multiply, and one more executes `how`: 'fma', 'add', or '' for none.

    times  (2 * blocks,): cycles of each block's first warpgroup, and of the one that adds up
    x      numbers to add up, and where results go
    """

    class Storage(cl.SharedStorage):
        a: Smem[e4m3, cl.make_smem_layout(e4m3, (64 * max(groups, 1), 128))]
        b: Smem[e4m3, cl.make_smem_layout(e4m3, (columns, 128))]

    @cl.kernel(block=threads(groups, how))
    def kernel(times: Tensor[u32, (T,)], x: Tensor[f32, (S,)]) -> None:
        storage, group = Storage.allocate(), cl.warpgroup_idx()
        if how == "" or group < groups:
            multiply(storage, group, times, x)
        else:
            add_up(times, x)

    def multiply(storage: Any, group: Any, times: Any, x: Any) -> None:
        acc, start = cl.wgmma.zeros_accumulator(columns), cl.clock()
        for _ in range(PRODUCTS):
            acc = cl.wgmma.mma_async(cl.local_tile(storage.a, (64, 128), (group, 0)), storage.b, acc)
            cl.wgmma.commit_group()
            acc = cl.wgmma.wait_group(1, keep=acc)
        acc = cl.wgmma.wait_group(0, acc)
        if cl.thread_idx.x == 0:
            times[2 * cl.block_idx.x] = cl.clock() - start
        x[cl.thread_idx.x] = acc[0]

    def add_up(times: Any, x: Any) -> None:
        count, t = columns // 2, cl.thread_idx.x
        values, scales = cl.make_rmem_tensor(f32, (count,)), cl.make_rmem_tensor(f32, (2,))
        for i in cl.static_range(count):
            values[i] = x[t + i * 512]
        for i in cl.static_range(2):
            scales[i] = x[t + i * 1024]
        value = values.load()
        scale = scales.view(cl.make_layout((2, 2, columns // 8), stride=(0, 1, 0))).load()  # as in an accumulator
        sums, start = cl.full((count,), 0.0, f32), cl.clock()
        for _ in range(SUMS):
            sums = cl.math.fma(value, scale, sums) if how == "fma" else sums + value
        if t % GROUP == 0:
            times[2 * cl.block_idx.x + 1] = cl.clock() - start
        for i in cl.static_range(count):
            x[t + i * 512] = sums[i]

    return kernel


def measured(columns: int, groups: int, how: str) -> tuple[float, float]:
    """Cycles of a wgmma, of all warpgroups together, and of an instruction of the other one."""
    import torch

    kernel, x = build(columns, groups, how), torch.rand(512 * 129, device="cuda")
    times = torch.zeros(2 * BLOCKS, dtype=torch.uint32, device="cuda")
    for _ in range(2):  # the second counts
        kernel[BLOCKS, threads(groups, how)](times, x)
    torch.cuda.synchronize()
    products, sums = (int(n) for n in times.cpu()[:2])
    return products / (4 * PRODUCTS * max(groups, 1)), sums / (SUMS * columns // 2)


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--groups", type=int, default=1)
    groups = asked.parse_args().groups
    for columns in (64, 96, 128, 192):
        print(f"m64n{columns}k32, {columns // 2} cycles at best")
        for count, how in [(groups, "")] + ([(0, "fma"), (1, "fma"), (0, "add"), (1, "add")] if groups == 1 else []):
            product, instruction = measured(columns, count, how)
            words = [f"{count} multiply: {product:.1f} cycles a product"] if count else []
            words += [f"{how}: {instruction:.2f} cycles each"] if how else []
            print("   " + ", ".join(words), flush=True)


if __name__ == "__main__":
    main()
