"""bf16 by weights of i4, i8 and e4m3, beside torch's bf16 matmul by the same weights: TFLOP/s.

    python tests/bench/gemm_mixed.py [M N K ...] [--sweep]       --sweep: every configuration that is worth trying

Inputs are normal random numbers in rotating buffers, larger than L2 together, as many for all; calls are captured in
CUDA graphs, which take turns, each behind a replay that is not timed. Medians.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch

from cutelite.kernels.arrays import clusters_at_once
from cutelite.kernels.gemm import mixed
from tests.bench.given import parser
from tests.bench.timing import L2_BYTES, Replay, cold, machine, medians, off

SHAPES = [(t, n, k) for n, k in ((8192, 8192), (4096, 14336)) for t in (16, 64, 4096)]


def measured(m: int, n: int, k: int, sweep: bool) -> dict[str, float]:
    """TFLOP/s by name, ratios to torch, and the greatest error."""
    buffers = cold(n * k, 6 * L2_BYTES)
    x = [torch.randn(m, k, device="cuda", dtype=torch.bfloat16) for _ in range(buffers)]
    whole = [torch.randn(n, k, device="cuda", dtype=torch.bfloat16) for _ in range(buffers)]
    out = torch.empty((m, n), device="cuda", dtype=torch.bfloat16)
    calls: dict[str, Callable[[int], Any]] = {"torch": lambda i: torch.mm(x[i], whole[i].T, out=out)}
    worst = 0.0

    def ours(i: int, packed: list[torch.Tensor], kind: str, config: Any = None) -> None:
        mixed.gemm(x[i], packed[i], kind, out, config=config)

    for kind, (bits, _) in mixed.KINDS.items():
        numbers = np.random.default_rng(1)
        codes = numbers.integers(0, 1 << bits, (n, k))
        if kind == "e4m3":
            codes = np.where(codes % 128 == 127, 0, codes)  # NaN
        scales = numbers.uniform(0.5, 2.0, (n, -(-k // mixed.DEPTH))).astype(np.float32)
        packed = torch.from_numpy(mixed.pack(codes, scales, kind)).cuda()
        copies = [packed.clone() for _ in range(buffers)]
        calls[kind] = partial(ours, packed=copies, kind=kind)
        base = mixed.choose(m, n, k, kind, clusters_at_once(1, x[0]))
        for groups, splits in product((2, 4), (1, 2, 4, 8)) if sweep and base.tokens <= 64 else ():
            config = replace(base, groups=groups, splits=splits, regs=(40, 104) if groups == 4 else (40, 232))
            calls[f"{kind} groups {groups} splits {splits}"] = partial(ours, packed=copies, kind=kind, config=config)
        out.fill_(float("nan"))
        calls[kind](0)
        weights = torch.from_numpy(codes).cuda()
        if kind == "e4m3":
            exact = weights.to(torch.uint8).view(torch.float8_e4m3fn).double()
        else:
            exact = torch.where(weights < 1 << bits - 1, weights, weights - (1 << bits)).double()
        of_blocks = torch.from_numpy(scales).cuda().bfloat16().double().repeat_interleave(mixed.DEPTH, 1)[:, :k]
        worst = max(worst, off(out, x[0].double() @ (exact * of_blocks).T))
    each = max(2 * m * n * k / 1000e12, n * k / 4e12)
    times = medians({name: Replay(call, buffers, 8e-3, each) for name, call in calls.items()})
    rates = {name: 2e-12 * m * n * k / took for name, took in times.items()}
    return {**rates, **{f"{kind} / torch": times["torch"] / times[kind] for kind in mixed.KINDS}, "error": worst}


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("numbers", nargs="*", type=int, metavar="N")
    asked.add_argument("--sweep", action="store_true")
    given = asked.parse_args()
    numbers: list[int] = given.numbers
    print(machine())
    for m, n, k in [(*numbers[i : i + 3],) for i in range(0, len(numbers), 3)] or SHAPES:
        found = measured(m, n, k, given.sweep)
        print(json.dumps({"shape": (m, n, k), **{key: round(v, 5 if v < 1 else 3) for key, v in found.items()}}))


if __name__ == "__main__":
    main()
