"""The products of a layer of an 8B Llama, each alone: our pick, configurations the model ranks next, and cuBLAS.

    python tests/bench/llama_products.py [--rows 64 8192] [--products qkv o gate down] [--most 6] [--seconds 0.3]

Up to 256 rows: graphs of calls over weights that no cache holds, microseconds and TB/s of weights, beside those of a
copy of 1 GB. Of more rows, in windows of so many seconds, of whose second half the time counts: TFLOP/s that last at
the card's limit of power. Products of o and down add a residual, `gated` has SwiGLU in the GEMM; cuBLAS has neither.
Medians of rounds in turns.
"""

from __future__ import annotations

import argparse
from functools import partial
from itertools import islice
from typing import Any

import torch

from cutelite.kernels.gemm import CONFIGS, Config, dense
from cutelite.kernels.gemm.call import arguments, fused_of
from cutelite.kernels.gemm.fits import made_for
from cutelite.tune.compile import compile_all
from tests.bench.gemm_model import said
from tests.bench.given import parser
from tests.bench.timing import Replay, cold, graph, lasting, machine, medians

PRODUCTS = {
    "qkv": (6144, 4096), "o": (4096, 4096), "gate": (28672, 4096), "gated": (28672, 4096), "down": (4096, 14336)
}  # fmt: skip
"""Columns and depth."""
VARIANTS = [
    *(Config(cluster=cluster) for cluster in ((1, 2), (2, 2), (4, 1))),
    Config(buffers=1, swizzle=4),
    Config(buffers=1, swizzle=16),
    Config(buffers=1, raster="N"),
    Config((256, 128), cluster=(1, 2), swizzle=16),
    Config((256, 128), cluster=(2, 2)),
    Config((128, 320), cluster=(2, 1), stages=3, piece=160, buffers=1, regs=(24, 240)),
]
"""Clusters and orders of tiles that the model does not rank."""
FEW, COLD, BURST_S = 256, 400 << 20, 2e-3


def copied() -> float:
    """TB/s of a copy, what is read and what is written."""
    source = torch.zeros(1 << 28, dtype=torch.int32, device="cuda")
    target = torch.empty_like(source)
    call = partial(torch.bitwise_not, source, out=target)  # a kernel: graphs copy slower
    return float(8e-12 * source.numel()) / medians({"copy": Replay(lambda i: call(), 1, 5e-3, 7e-4)}, 5)["copy"]


def measured(name: str, rows: int, options: argparse.Namespace) -> None:
    (n, k), few = PRODUCTS[name], rows <= FEW
    gate, bytes = "silu" if name == "gated" else None, 2 * n * k
    kinds: dict[str, Any] = {"device": "cuda", "dtype": torch.bfloat16}
    x, added = torch.randn(rows, k, **kinds), torch.randn(rows, n, **kinds)
    out, plain = torch.empty(rows, n // 2 if gate else n, **kinds), torch.empty(rows, n, **kinds)
    sets = [torch.randn(n, k, **kinds) * k**-0.5 for _ in range(cold(bytes, COLD) if few else 1)]
    fused = fused_of(added, beta=1.0) if name in ("o", "down") else fused_of()
    given = [arguments(x, weight.T, out, fused, None, gate) for weight in sets]
    problem, a, b, d, *_ = given[0]
    configs = [config for _, config in islice(dense.ranked(CONFIGS, problem, a, b, d), options.most)]
    if options.variants and not few:
        configs += [config for config in VARIANTS if config not in configs and made_for(config, problem)]

    def ours(config: Any, i: int) -> None:
        dense.run(config, *given[i], early=few)

    calls: dict[str, Any] = {said(config): partial(ours, config) for config in configs}
    compile_all([partial(call, 0) for call in calls.values()])
    calls["cublas"] = lambda i: torch.mm(x, sets[i].T, out=plain)
    if few:
        trials: dict[str, Any] = {key: Replay(call, len(sets), 4e-3, bytes / 3e12) for key, call in calls.items()}
    else:
        count = max(1, int(BURST_S / (2 * rows * n * k / 7e14)))
        trials = {
            key: partial(lasting, graph(call, 1, count).replay, options.seconds, count) for key, call in calls.items()
        }
    for number, (key, took) in enumerate(medians(trials, options.rounds).items()):
        rate = f"{bytes / took * 1e-12:5.2f} TB/s" if few else f"{2e-12 * rows * n * k / took:5.0f} TFLOP/s"
        print(f"{name:5} {rows:6} rows {took * 1e6:9.1f} us {rate} {'picked ' if number == 0 else ''}{key}", flush=True)


if __name__ == "__main__":
    asked = parser(__doc__)
    asked.add_argument("--rows", type=int, nargs="+", default=[64, 8192])
    asked.add_argument("--products", nargs="+", default=list(PRODUCTS), choices=PRODUCTS)
    asked.add_argument("--most", type=int, default=6, help="configurations")
    asked.add_argument("--variants", action="store_true", help="measure `VARIANTS` too, of many rows")
    asked.add_argument("--seconds", type=float, default=0.3)
    asked.add_argument("--rounds", type=int, default=3)
    chosen = asked.parse_args()
    print(f"{machine()}, copy {copied():.2f} TB/s")
    for rows in chosen.rows:
        for name in chosen.products:
            measured(name, rows, chosen)
