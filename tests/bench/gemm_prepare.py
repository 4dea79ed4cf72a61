"""A GEMM whose A a function makes of 8 bits, beside making it first, and beside bf16 that is there: microseconds.

    python tests/bench/gemm_prepare.py [MxNxK ...]

A is i8 with a scale for each row and 128 columns. `first` has torch make bf16 of it, compiled, and then the GEMM of
bf16; `bf16` is that GEMM alone. Medians of CUDA graphs in turns.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

from cutelite.kernels.gemm import Prepare, gemm
from tests.bench.timing import medians

SIZES = "16x8192x8192", "256x8192x8192", "4096x4096x4096", "8192x8192x8192"


def dequantised(chunk: Any, scales: Any) -> Any:
    return chunk.values * chunk.by_row(scales, every=128)


def spread(codes: Any, scales: Any) -> Any:
    """bf16 of codes."""
    return (codes.float().unflatten(1, (-1, 128)) * scales[..., None]).flatten(1).bfloat16()


def main() -> None:
    print(f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}")
    made_first = torch.compile(spread, dynamic=False)
    for text in sys.argv[1:] or SIZES:
        m, n, k = (int(extent) for extent in text.split("x"))
        codes = torch.randint(-127, 128, (m, k), device="cuda", dtype=torch.int8)
        scales = torch.rand(m, k // 128, device="cuda") / 100
        w, out = torch.randn(n, k, device="cuda", dtype=torch.bfloat16), torch.empty(m, n, device="cuda").bfloat16()
        a = spread(codes, scales)
        prepare = Prepare(dequantised, (scales,))

        def first(_: int, codes: Any, scales: Any, w: Any, out: Any) -> None:
            gemm(made_first(codes, scales), w.T, out)

        right = (a.double() @ w.double().T).float()
        gemm(codes, w.T, out, prepare=prepare)
        error = float((out.float() - right).norm() / right.norm())
        calls = {
            "prepare": lambda i, c=codes, p=prepare, w=w, out=out: gemm(c, w.T, out, prepare=p),
            "first": partial(first, codes=codes, scales=scales, w=w, out=out),
            "bf16": lambda i, a=a, w=w, out=out: gemm(a, w.T, out),
            "cuBLAS": lambda i, a=a, w=w, out=out: torch.mm(a, w.T, out=out),
        }
        times = medians(calls, 1, 10)  # type: ignore[arg-type]
        print(f"{text}: " + ", ".join(f"{name} {1e6 * t:.1f}" for name, t in times.items()) + f", error {error:.1e}")


if __name__ == "__main__":
    main()
