"""A GEMM whose A a function makes of 8 bits, beside making it first, and beside bf16 that is there: microseconds.

    python tests/bench/gemm_prepare.py [MxNxK ...]

A is i8 with a scale for each row and 128 columns. `within` makes bf16 of it in the GEMM, `ahead` in a kernel of ours;
`torch` has torch.compile make it ahead of the GEMM, and `bf16` is the GEMM alone. Timed by `cl.do_bench`, on the same
operands each time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

import cutelite as cl
from cutelite.kernels.gemm import Prepare, gemm
from tests.bench.given import words
from tests.bench.timing import machine, off

SIZES = "16x8192x8192", "256x8192x8192", "4096x4096x4096", "8192x8192x8192"


def dequantised(chunk: Any, scales: Any) -> Any:
    return chunk.values * chunk.by_row(scales, every=128)


def spread(codes: Any, scales: Any) -> Any:
    """bf16 of codes."""
    return (codes.float().unflatten(1, (-1, 128)) * scales[..., None]).flatten(1).bfloat16()


def main() -> None:
    asked = words(__doc__, "MxNxK", str)
    print(machine())
    made_first = torch.compile(spread, dynamic=False)

    def first(codes: Any, scales: Any, w: Any, out: Any) -> None:
        gemm(made_first(codes, scales), w.T, out)

    for text in asked or SIZES:
        m, n, k = (int(extent) for extent in text.split("x"))
        codes = torch.randint(-127, 128, (m, k), device="cuda", dtype=torch.int8)
        scales = torch.rand(m, k // 128, device="cuda") / 100
        w, out = torch.randn(n, k, device="cuda", dtype=torch.bfloat16), torch.empty(m, n, device="cuda").bfloat16()
        a = spread(codes, scales)
        ahead, within = (Prepare(dequantised, (scales,), within=x) for x in (False, True))

        right = a.double() @ w.double().T
        error = 0.0
        for prepare in ahead, within:
            gemm(codes, w.T, out.zero_(), prepare=prepare)
            error = max(error, off(out, right))
        calls: dict[str, Callable[[], Any]] = {
            "within": partial(gemm, codes, w.T, out, prepare=within),
            "ahead": partial(gemm, codes, w.T, out, prepare=ahead),
            "torch": partial(first, codes, scales, w, out),
            "bf16": partial(gemm, a, w.T, out),
            "cuBLAS": partial(torch.mm, a, w.T, out=out),
        }
        timings = cl.do_bench(calls, cache="warm", graph=True)
        print(
            f"{text}: "
            + ", ".join(f"{name} {timing.us:.1f}" for name, timing in timings.items())
            + f", error {error:.1e}"
        )


if __name__ == "__main__":
    main()
