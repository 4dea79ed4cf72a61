"""The Hopper GEMM examples against cuBLAS (torch.mm), in one run: TFLOP/s, medians of interleaved rounds.

    python tests/bench/hopper_gemm.py [M N K ...]

Inputs are normal random bf16 in rotating buffers, larger than L2 together; timed by `cl.do_bench`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch

import cutelite as cl
from tests.bench.given import example, words
from tests.bench.rotating import rotating
from tests.bench.timing import cold, machine, off

SHAPES = [(2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (4096, 4096, 7168)]


def compare(m: int, n: int, k: int) -> dict[str, Any]:
    """Median rates of both on the same inputs, and how far apart the results are."""
    buffers, simple, tiled = cold(2 * (m * k + n * k)), example("hopper_gemm"), example("hopper_gemm_tiled")
    a = [torch.randn(m, k, device="cuda", dtype=torch.bfloat16) for _ in range(buffers)]
    b = [torch.randn(n, k, device="cuda", dtype=torch.bfloat16) for _ in range(buffers)]
    c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
    d = torch.empty_like(c)
    launch = simple.gemm[(-(-n // simple.BN), -(-m // simple.BM)), simple.THREADS]
    tiles = -(-m // tiled.BM) * -(-n // tiled.BN)
    launch_tiled = tiled.gemm[min(torch.cuda.get_device_properties(0).multi_processor_count, tiles), tiled.THREADS]
    e = torch.full_like(c, float("nan"))
    competitors: dict[str, Callable[[int], Any]] = {
        "hopper_gemm": lambda i: launch(a[i], b[i], c),
        "hopper_gemm_tiled": lambda i: launch_tiled(a[i], b[i], e),
        "cublas": lambda i: torch.mm(a[i], b[i].T, out=d),
    }
    timings = cl.do_bench(rotating(competitors, buffers), cache="warm", graph=True)
    for call in competitors.values():
        call(0)
    torch.cuda.synchronize()
    apart = max(off(x, d) for x in (c, e))
    rates = {name: 2 * m * n * k / timing.seconds / 1e12 for name, timing in timings.items()}
    ratios = {f"{name} / cublas": rates[name] / rates["cublas"] for name in rates if name != "cublas"}
    return {"shape": [m, n, k], **rates, **ratios, "difference": apart}


def main() -> None:
    given = words(__doc__, "N")
    shapes = [tuple(given[i : i + 3]) for i in range(0, len(given), 3)] or SHAPES
    print(machine())
    for m, n, k in shapes:
        print(json.dumps({key: round(v, 4) if isinstance(v, float) else v for key, v in compare(m, n, k).items()}))


if __name__ == "__main__":
    main()
