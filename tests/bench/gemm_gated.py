"""A gate, and its gradients, in GEMMs of training, beside those GEMMs with a kernel behind.

    python tests/bench/gemm_gated.py [--rows 16384] [--inner 14336] [--hidden 4096] [--seconds 0.4]

Milliseconds in windows of so long, by turns, of which the second half counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from cutelite.kernels.gemm import Config, gated
from cutelite.kernels.gemm.call import fused_of, multiply
from cutelite.kernels.rows import gates
from tests.bench.given import parser
from tests.bench.timing import lasting, medians, off

CONFIGS = {
    "the model's": (None, 64),
    "128 x 192, pieces of 64": (Config((128, 192), True, (2, 1)), 64),
    "128 x 192, pieces of 32": (Config((128, 192), True, (2, 1), regs=(24, 240)), 32),
    "128 x 128": (Config((128, 128), True, (1, 2), 5), 64),
    "128 x 128, 2 x 1": (Config((128, 128), True, (2, 1), 5), 64),
    "128 x 256": (Config(), 64),
}  # fmt: skip
PRODUCTS = {
    "the model's": (None, 32),
    "128 x 192, pieces of 32": (Config((128, 192), True, (2, 1)), 32),
    "128 x 192, pieces of 16": (Config((128, 192), True, (2, 1)), 16),
    "128 x 128": (Config((128, 128), True, (1, 2), 5), 64),
    "128 x 256": (Config(), 64),
    "128 x 256, pieces of 32": (Config(), 32),
}  # fmt: skip


def main() -> None:
    asked = parser(__doc__)
    for name, value in ("rows", 16384), ("inner", 14336), ("hidden", 4096):
        asked.add_argument(f"--{name}", type=int, default=value)
    asked.add_argument("--seconds", type=float, default=0.4)
    asked.add_argument("--rounds", type=int, default=3)
    asked.add_argument("--what", nargs="+", default=["gradients", "products"], choices=["gradients", "products"])
    options = asked.parse_args()
    m, n, k = options.rows, options.inner, options.hidden
    for what in options.what:
        {"gradients": gradients, "products": products}[what](m, n, k, options)


def compare(calls: dict[str, Callable[[], None]], found: Any, right: Any, options: Any) -> None:
    """Print how far off results are and how long calls take; the first gives the right results."""
    first, *others = calls.values()
    first()
    for name, call in zip(list(calls)[1:], others, strict=True):
        found.zero_()
        call()
        print(f"{name}: off by {off(found, right):.1e}", flush=True)
    trials = {name: partial(lasting, call, options.seconds) for name, call in calls.items()}
    for name, took in medians(trials, options.rounds).items():
        print(f"{name:26} {took * 1e3:7.3f} ms", flush=True)


def gradients(m: int, n: int, k: int, options: Any) -> None:
    made = partial(torch.randn, device="cuda", dtype=torch.bfloat16)
    dy, weight, halves = made(m, k), made(k, n) * k**-0.5, made(m, 2 * n)
    dh, found, right = made(m, n), torch.empty_like(halves), torch.empty_like(halves)

    def apart() -> None:
        multiply(dy, weight, dh, fused_of())
        gates.gated_backward(dh, *halves.chunk(2, dim=-1), out=right.chunk(2, dim=-1))

    def together(config: Any, pieces: int) -> None:
        gated.PIECES = (pieces,)
        gated.gated_gradient(dy, weight, halves, out=found, config=config)

    print("# gradients")
    compare(
        {"two kernels": apart} | {name: partial(together, *how) for name, how in CONFIGS.items()}, found, right, options
    )


def products(m: int, n: int, k: int, options: Any) -> None:
    made = partial(torch.randn, device="cuda", dtype=torch.bfloat16)
    x, weight = made(m, k), (made(2 * n, k) * k**-0.5).T
    right, halves, found = made(m, n), made(m, 2 * n), made(m, n)

    def apart() -> None:
        multiply(x, weight, halves, fused_of())
        gate, up = halves.chunk(2, dim=-1)
        gates.gated(gate, up, out=right)

    def together(config: Any, pieces: int) -> None:
        gated.PIECES = (pieces,)
        gated.gated_product(x, weight, halves, out=found, config=config)

    print("# products")
    compare(
        {"two kernels": apart} | {name: partial(together, *how) for name, how in PRODUCTS.items()},
        found,
        right,
        options,
    )


if __name__ == "__main__":
    main()
