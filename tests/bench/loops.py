"""Loops over global memory by `cl.range(..., unroll=, prefetch=)`: GB/s, read and written, beside torch, in one run.

python tests/bench/loops.py [MILLIONS_OF_ELEMENTS]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

import cutelite as cl
from cutelite import Constexpr, Tensor, f32, i32
from tests.bench.timing import L2_BYTES, medians

M, N = cl.dims("M N")
FORMS = ((1, 0), (2, 0), (4, 0), (8, 0), (2, 1), (4, 3), (8, 7))
THREADS, COLUMNS = 256, 4096


@cl.kernel
def scale_add(
    x: Tensor[f32, (N,)], y: Tensor[f32, (N,)], by: f32, unroll: Constexpr[int], prefetch: Constexpr[int]
) -> None:
    first, step = cl.block_idx.x * THREADS + cl.thread_idx.x, cl.grid_dim.x * THREADS
    for i in cl.range(first, N, step, unroll=unroll, prefetch=prefetch):
        y[i] = y[i] + by * x[i]


@cl.kernel
def column_sums(
    x: Tensor[f32, (M, COLUMNS)], out: Tensor[f32, (N, COLUMNS)], unroll: Constexpr[int], prefetch: Constexpr[int]
) -> None:
    column, part, total = cl.block_idx.x * THREADS + cl.thread_idx.x, cl.block_idx.y, 0.0
    for i in cl.range(part, M, N, unroll=unroll, prefetch=prefetch):
        total = total + x[i, column]
    out[part, column] = total


@cl.kernel
def fourfold(x: Tensor[f32, (N,)], out: Tensor[f32, (N,)], given: i32, known: Constexpr[bool]) -> None:
    first = 4 * (cl.block_idx.x * THREADS + cl.thread_idx.x)
    for i in range(4 if known else given):
        out[first + i] = x[first + i] * 2.0


def table(name: str, calls: dict[str, Callable[[int], Any]], buffers: int, size: int) -> None:
    """Print the rates of one kernel, each call moving `size` bytes."""
    seconds = medians(calls, buffers, max(buffers, int(8e-3 / (size / 3e12))))
    print(f"{name}, {size >> 20} MB: " + ", ".join(f"{form} {size / t / 1e9:.0f}" for form, t in seconds.items()))


def added(launch: Any, x: Any, y: Any, form: tuple[int, int], i: int) -> None:
    launch(x[i], y[i], 1e-3, *form)


def doubled(launch: Any, x: Any, y: Any, known: bool, i: int) -> None:
    launch(x[i], y[i], 4, known)


def summed(launch: Any, x: Any, out: Any, form: tuple[int, int], i: int) -> None:
    launch(x[i].view(-1, COLUMNS), out, *form)


def main() -> None:
    n = int(float(sys.argv[1]) * 1e6 if sys.argv[1:] else 64e6) // COLUMNS * COLUMNS
    print(f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}; GB/s by (unroll, prefetch)")
    buffers = max(2, -(-3 * L2_BYTES // (8 * n)))
    x, y = (torch.randn(buffers, n, device="cuda") for _ in range(2))
    for blocks in (132, 264, 528, 1056):
        calls: dict[str, Callable[[int], Any]] = {}
        for form in FORMS:
            wanted = y[0] + 0.5 * x[0]
            launch = scale_add[blocks, THREADS]
            launch(x[0], y[0], 0.5, *form)
            torch.testing.assert_close(y[0], wanted)
            calls[str(form)] = partial(added, launch, x, y, form)
        calls["torch.add_"] = lambda i: y[i].add_(x[i], alpha=1e-3)
        table(f"y += a x in {blocks} blocks", calls, buffers, 12 * n)
    for known in (True, False):
        fourfold[n // (4 * THREADS), THREADS](x[0], y[0], 4, known)
        torch.testing.assert_close(y[0], x[0] * 2)
    launch = fourfold[n // (4 * THREADS), THREADS]
    calls = {name: partial(doubled, launch, x, y, it) for name, it in (("range(4)", True), ("range(n)", False))}
    table("four elements a thread, n = 4", calls, buffers, 8 * n)
    for parts in (8, 16, 33, 66):
        calls, out = {}, torch.empty(parts, COLUMNS, device="cuda")
        for form in FORMS:
            launch = column_sums[(COLUMNS // THREADS, parts), THREADS]
            launch(x[0].view(-1, COLUMNS), out, *form)
            torch.testing.assert_close(out.sum(0), x[0].view(-1, COLUMNS).sum(0), rtol=1e-3, atol=1e-2)
            calls[str(form)] = partial(summed, launch, x, out, form)
        calls["torch.sum"] = lambda i: x[i].view(-1, COLUMNS).sum(0)
        table(f"sums of columns in {16 * parts} blocks", calls, buffers, 4 * n)


if __name__ == "__main__":
    main()
