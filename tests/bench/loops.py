"""Loops over global memory by `cl.range(..., unroll=, prefetch=)`: GB/s, read and written, beside torch, in one run.

python tests/bench/loops.py [MILLIONS_OF_ELEMENTS]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

import cutelite as cl
from cutelite import Constexpr, Tensor, f32, i32
from tests.bench.given import words
from tests.bench.timing import machine

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


def table(name: str, calls: dict[str, Callable[[], Any]], size: int) -> None:
    """Print the rates of one kernel, each call moving `size` bytes."""
    rates = {form: timing.rate(size) / 1e9 for form, timing in cl.do_bench(calls).items()}
    print(f"{name}, {size >> 20} MB: " + ", ".join(f"{form} {rate:.0f}" for form, rate in rates.items()))


def main() -> None:
    n = int((words(__doc__, "MILLIONS", float) or [64])[0] * 1e6) // COLUMNS * COLUMNS
    print(f"{machine()}; GB/s by (unroll, prefetch)")
    x, y = (torch.randn(n, device="cuda") for _ in range(2))
    for blocks in (132, 264, 528, 1056):
        calls: dict[str, Callable[[], Any]] = {}
        launch = scale_add[blocks, THREADS]
        for form in FORMS:
            wanted = y + 0.5 * x
            launch(x, y, 0.5, *form)
            torch.testing.assert_close(y, wanted)
            calls[str(form)] = partial(launch, x, y, 1e-3, *form)
        calls["torch.add_"] = lambda: y.add_(x, alpha=1e-3)
        table(f"y += a x in {blocks} blocks", calls, 12 * n)
    launch = fourfold[n // (4 * THREADS), THREADS]
    for known in (True, False):
        launch(x, y, 4, known)
        torch.testing.assert_close(y, x * 2)
    calls = {name: partial(launch, x, y, 4, it) for name, it in (("range(4)", True), ("range(n)", False))}
    table("four elements a thread, n = 4", calls, 8 * n)
    rows = x.view(-1, COLUMNS)
    for parts in (8, 16, 33, 66):
        calls, out = {}, torch.empty(parts, COLUMNS, device="cuda")
        launch = column_sums[(COLUMNS // THREADS, parts), THREADS]
        for form in FORMS:
            launch(rows, out, *form)
            torch.testing.assert_close(out.sum(0), rows.sum(0), rtol=1e-3, atol=1e-2)
            calls[str(form)] = partial(launch, rows, out, *form)
        calls["torch.sum"] = lambda: rows.sum(0)
        table(f"sums of columns in {16 * parts} blocks", calls, 4 * n)


if __name__ == "__main__":
    main()
