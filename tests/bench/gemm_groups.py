"""Grouped GEMMs of small groups against torch's, and against a product for each group whose rows the host knows.

    python tests/bench/gemm_groups.py [--seconds 60] [--jobs 8] [--near 1.3]

Microseconds in graphs over rotating operands, in turns, medians. Rows are dealt out to groups unevenly: a group may
have none. "pick" is what `grouped.gemm` takes by itself.
"""

import argparse
import math
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from cutelite.kernels.gemm import grouped
from cutelite.tune.compile import compile_all
from tests.bench.gemm_any import said
from tests.bench.given import ahead, parser
from tests.bench.timing import cold, graph, machine, medians, off, timed

CASES = [
    (groups, rows, n, k)
    for groups, n, k in ((8, 4096, 4096), (16, 2048, 1024), (64, 1408, 2048), (128, 1536, 2048), (32, 768, 2880))
    for rows in (16, 128, 512, 2048, 8192)
] + [
    (4, 256, 512, 512),
    (4, 2048, 4096, 7168),
    (8, 2048, 4096, 7168),
    (4, 8192, 4096, 7168),
    (2, 512, 4096, 7168),
    (3, 100, 256, 128),
    (256, 256, 2048, 7168),
    (8, 32768, 4096, 7168),
    (8, 32768, 7168, 2048),
    (8, 512, 4096, 7168),
    (8, 128, 2048, 4096),
    (8, 1024, 1536, 2048),
]
ALL = False  # print the times of all configurations
COLD_BYTES, ROUNDS, GRAPH_S = 100 << 20, 6, 4e-3


def counts_of(groups: int, rows: int) -> list[int]:
    source = random.Random(groups)
    weights = [source.random() + 0.1 for _ in range(groups)]
    drawn = source.choices(range(groups), weights, k=rows)
    return [drawn.count(group) for group in range(groups)]


def measured(case: tuple[int, int, int, int], near: float, compiles: bool) -> None:
    groups, rows, n, k = case
    counts = counts_of(groups, rows)
    read = sum(count > 0 for count in counts)
    bytes = 2 * (rows * (n + k) + read * n * k)
    buffers = 1 if compiles else cold(bytes, COLD_BYTES, 24)
    ends = torch.tensor(counts).cumsum(0).to("cuda", torch.int32)
    made = partial(torch.randn, device="cuda", dtype=torch.bfloat16)
    a, b = [made(rows, k) for _ in range(buffers)], [made(groups, n, k) for _ in range(buffers)]
    out = torch.full((rows, n), math.nan, device="cuda", dtype=torch.bfloat16)
    setattr(grouped, "NEAR", near)  # noqa: B010
    given: dict[str, Any] = {}
    kept, grouped.launched = grouped.launched, lambda choice, *args: given.update(args=args)
    grouped.gemm(a[0], b[0], ends, out)
    grouped.launched = kept
    problem, left, right, *rest = given["args"]
    configs = grouped.fitting(grouped.CONFIGS, problem, left, right, *rest)
    calls: dict[str, Callable[[int], Any]] = {
        said(c): partial(lambda c, i: grouped.gemm(a[i], b[i], ends, out, config=c), c) for c in configs
    }
    compile_all([partial(call, 0) for call in calls.values()], 2 if compiles else None)
    if compiles:
        return

    def loop(i: int) -> None:
        lefts, results = a[i].split(counts), out.split(counts)
        for e in range(groups):
            if counts[e]:
                torch.mm(lefts[e], b[i][e].T, out=results[e])

    calls["torch"] = lambda i: torch._grouped_mm(a[i], b[i].transpose(1, 2), offs=ends)
    calls["torch loop"] = loop
    exact = torch.cat([x @ b[0][e].T for e, x in enumerate(a[0].split(counts))])
    repeats = max(buffers, min(200, int(GRAPH_S / (max(bytes / 4e12, 2 * rows * n * k / 7e14) + 4e-6))))
    trials: dict[str, Callable[[], float]] = {}
    for name, call in list(calls.items()):
        several = max(buffers, min(repeats, 2000 // read)) if name == "torch loop" else repeats
        if not name.startswith("torch"):
            out.fill_(math.nan)
            call(0)
            if not off(out, exact) < 1e-2:
                print(f"WRONG: {case} {name}: {off(out, exact):.3g}", flush=True)
        trials[name] = partial(timed, graph(call, buffers, several), several)
    us = {name: 1e6 * took for name, took in medians(trials, ROUNDS).items()}
    rivals = {name: us.pop(name) for name in ("torch", "torch loop")}
    rival, pick = min(rivals.values()), next(iter(us.values()))
    name, best = min(us.items(), key=lambda each: each[1])
    print(f"{case}: torch {rivals['torch']:.1f}, loop {rivals['torch loop']:.1f}, pick {pick:.1f}"
          f" ({rival / pick:.3f}) {next(iter(us))}, best {best:.1f} ({rival / best:.3f}) {name};"
          f" {bytes / best * 1e-6:.2f} TB/s", flush=True)  # fmt: skip
    for name in sorted(us, key=us.__getitem__) if ALL else ():
        print(f"    {us[name]:.1f} {name}", flush=True)


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--seconds", type=float, default=60.0)
    asked.add_argument("--jobs", type=int, default=0, help="processes that compile ahead")
    asked.add_argument("--near", type=float, default=1.3, help="times what the model expects of the best, at most")
    asked.add_argument("--all", action="store_true", help="print the times of all configurations")
    asked.add_argument("--k", type=int, nargs="+", help="the cases with these K alone")
    asked.add_argument("--compile", type=int, help=argparse.SUPPRESS)
    given, start = asked.parse_args(), time.monotonic()
    cases = [case for case in CASES if given.k is None or case[3] in given.k]
    globals()["ALL"] = given.all
    if given.compile is not None:
        for case in cases[given.compile :: given.jobs]:
            measured(case, given.near, True)
        return
    for each in ahead(given.jobs):
        each.communicate()
    print(f"{machine()}; compiled in {time.monotonic() - start:.1f} s")
    for case in cases:
        if time.monotonic() - start > given.seconds:
            break
        measured(case, given.near, False)


if __name__ == "__main__":
    main()
