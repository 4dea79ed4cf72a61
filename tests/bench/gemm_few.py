"""Products of a few rows, as in decoding: the kernel for them, the GEMM for any size, and torch's.

    python tests/bench/gemm_few.py [--rows 1 2 4 8 16] [--sizes 6144x4096 4096x4096 28672x4096 4096x14336]

Sizes are rows and columns of the weights: those of a layer of an 8B Llama. TB/s of weights, in graphs of calls that
follow each other, over weights that no cache holds; medians of rounds in turns.
"""

from __future__ import annotations

from typing import Any

import torch

from cutelite.kernels.gemm.call import fused_of, multiply
from cutelite.kernels.gemm.few import linear_of_few
from tests.bench.given import parser
from tests.bench.timing import Replay, cold, machine, medians, off

SIZES, ROWS, COLD = ("6144x4096", "4096x4096", "28672x4096", "4096x14336"), (1, 2, 4, 8, 16), 400 << 20


def measured(n: int, k: int, rows: int) -> None:
    bytes = 2 * n * k
    kinds: dict[str, Any] = {"device": "cuda", "dtype": torch.bfloat16}
    x, out, factors = torch.randn(rows, k, **kinds), torch.empty(rows, n, **kinds), torch.rand(k, **kinds)
    gated = torch.empty(rows, n // 2, **kinds)
    sets = [torch.randn(n, k, **kinds) * k**-0.5 for _ in range(cold(bytes, COLD))]
    right = x.double() @ sets[0].double().T
    error = off(linear_of_few(x, sets[0]), right)
    calls = {
        "few": lambda i: linear_of_few(x, sets[i], out, early=True),
        "normed": lambda i: linear_of_few(x, sets[i], out, norm=factors, eps=1e-5, early=True),
        "gated": lambda i: linear_of_few(x, sets[i], gated, norm=factors, eps=1e-5, gate="silu", early=True),
        "any": lambda i: multiply(x, sets[i].T, out, fused_of(), early=True),
        "torch": lambda i: torch.mm(x, sets[i].T, out=out),
    }
    found = medians({name: Replay(call, len(sets), 4e-3, bytes / 3e12) for name, call in calls.items()}, 7)
    line = "  ".join(f"{name} {bytes / t * 1e-12:.2f} ({t * 1e6:.1f} us)" for name, t in found.items())
    print(f"{rows:3} x {n} x {k}: {line}, error {error:.1e}", flush=True)


if __name__ == "__main__":
    asked = parser(__doc__)
    asked.add_argument("--rows", type=int, nargs="+", default=ROWS)
    asked.add_argument("--sizes", nargs="+", default=SIZES)
    options = asked.parse_args()
    print(machine())
    for size in options.sizes:
        for rows in options.rows:
            n, _, k = size.partition("x")
            measured(int(n), int(k), rows)
