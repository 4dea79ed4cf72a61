"""Batches of small GEMMs, some operands stretched by strides of 0, and gradients of weights added up in f32.

    python tests/bench/gemm_batches.py [--shapes 40] [--seed 1] [--seconds 40] [--jobs 8]

Random sizes of bf16, multiples of 8, by the configuration that the model picks, in graphs over rotating operands, in
turns with torch; results are compared before. By kind:

batches   (B, M, K) by (B, K, N)                                     torch.bmm
one A     (M, K) by (B, K, N), A expanded                            torch.matmul
one B     (B, M, K) by (K, N), B expanded                            torch.matmul
heads     (B, M, H, K) and (B, N, H, K) with heads ahead of rows     torch.matmul
wgrad     (M, K).T by (M, N), added to an f32 gradient               torch.addmm with f32 results, or mm and an addition
"""

import argparse
import math
import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from cutelite.kernels.gemm import gemm
from cutelite.tune.compile import compile_all
from tests.bench.given import ahead, parser
from tests.bench.timing import Replay, cold, machine, medians, off

KINDS = "batches", "one A", "one B", "heads", "wgrad"
Case = tuple[str, int, int, int, int]
COLD_BYTES, ROUNDS, GRAPH_S = 100 << 20, 7, 2e-3


def cases_of(count: int, seed: int) -> list[Case]:
    """Kinds, and random batches, M, N and K by their logarithms; of a gradient of weights M rows are added up."""
    source, found = random.Random(seed), list[Case]()

    def extent(most: int) -> int:
        return 8 * round(math.exp(source.uniform(0, math.log(most // 8))))

    while len(found) < count:
        kind = KINDS[len(found) % len(KINDS)]
        batches = round(math.exp(source.uniform(math.log(2), math.log(512))))
        m, n, k = (extent(most) for most in ((16384, 4096, 4096) if kind == "wgrad" else (1024,) * 3))
        if batches * m * n * k < 4e10 and batches * (m + n) * k < 3e8:
            found.append((kind, batches, m, n, k))
    return found


def operands(case: Case) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    kind, batches, m, n, k = case
    made = partial(torch.randn, device="cuda", dtype=torch.bfloat16)
    if kind == "wgrad":
        return made(m, k).T, made(m, n), torch.zeros(k, n, device="cuda")
    out = torch.empty(batches, m, n, device="cuda", dtype=torch.bfloat16)
    if kind == "heads":
        heads = next(heads for heads in (16, 8, 4, 2, 1) if batches % heads == 0)
        left, right = (made(batches // heads, rows, heads, k).transpose(1, 2) for rows in (m, n))
        return left, right.mT, out.view(batches // heads, heads, m, n)
    a = made(m, k).expand(batches, m, k) if kind == "one A" else made(batches, m, k)
    b = made(k, n).expand(batches, k, n) if kind == "one B" else made(batches, k, n)
    return a, b, out


def bytes_of(case: Case) -> int:
    kind, batches, m, n, k = case
    if kind == "wgrad":
        return 2 * m * (k + n) + 8 * k * n
    of_a, of_b = (1 if kind == one else batches for one in ("one A", "one B"))
    return 2 * (of_a * m * k + of_b * n * k + batches * m * n)


def calls_of(kind: str, sets: list[tuple[torch.Tensor, ...]]) -> dict[str, Callable[[int], Any]]:
    """Ours first, then torch's, each of the number of a set."""
    if kind != "wgrad":
        torchs = torch.bmm if kind == "batches" else torch.matmul
        return {"ours": lambda i: gemm(*sets[i]), "torch": lambda i: torchs(sets[i][0], sets[i][1], out=sets[i][2])}

    def ours(i: int) -> Any:
        return gemm(*sets[i], c=sets[i][2])

    def added(i: int) -> Any:
        return sets[i][2].add_(torch.mm(sets[i][0], sets[i][1]))

    def at_once(i: int) -> Any:
        return torch.addmm(sets[i][2], sets[i][0], sets[i][1], out_dtype=torch.float32, out=sets[i][2])

    return {"ours": ours, "torch": at_once, "torch mm, add": added}


def measured(case: Case) -> dict[str, float]:
    """Microseconds by name; a wrong result of ours is printed."""
    kind, batches, m, n, k = case
    sets = [operands(case) for _ in range(cold(bytes_of(case), COLD_BYTES, 24))]
    calls, (a, b, _) = calls_of(kind, sets), sets[0]
    error = off(calls["ours"](0), a.double() @ b.double())
    if not error < 1e-2:
        print(f"WRONG: {case}: relative error {error:.3g}", flush=True)
    each = max(bytes_of(case) / 3e12, (1 if kind == "wgrad" else batches) * 2 * m * n * k / 6e14) + 3e-6
    trials = {name: Replay(call, len(sets), GRAPH_S, each) for name, call in calls.items()}
    return {name: 1e6 * took for name, took in medians(trials, ROUNDS).items()}


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--shapes", type=int, default=40)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--seconds", type=float, default=40.0)
    asked.add_argument("--jobs", type=int, default=0, help="processes that compile ahead")
    asked.add_argument("--compile", type=int, help=argparse.SUPPRESS)
    given, start = asked.parse_args(), time.monotonic()
    cases = cases_of(given.shapes, given.seed)
    if given.compile is not None:
        for case in cases[given.compile :: given.jobs]:
            compile_all([partial(calls_of(case[0], [operands(case)])["ours"], 0)], 1)
        return
    print(machine(), flush=True)
    for each in ahead(given.jobs):
        each.communicate()
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for case in cases:
        if time.monotonic() - start > given.seconds:
            break
        us = measured(case)
        ratio = min(took for name, took in us.items() if name != "ours") / us["ours"]
        found[case[0]].append(ratio)
        print(f"{ratio:.3f} {case}: { ({name: round(took, 2) for name, took in us.items()}) }", flush=True)
    for kind, of in found.items():
        if of:
            print(f"{kind}: {len(of)} sizes, {statistics.geometric_mean(of):.3f} of torch, least {min(of):.3f}")


if __name__ == "__main__":
    main()
