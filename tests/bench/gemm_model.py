"""Times of many configurations of the GEMM for random sizes, beside cuBLAS: what `gemm_fit.py` fits its model to.

    python tests/bench/gemm_model.py times.jsonl --shapes 300 --seed 1 --seconds 170

In graphs over rotating operands, in turns with cuBLAS, all configurations that are not hopeless. A third of the sizes
has few rows, a third any, a third those of models.
"""

import gc
import json
import math
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cutelite.kernels.gemm import CONFIGS, Config, dense
from cutelite.kernels.gemm.call import arguments, fused_of
from cutelite.kernels.gemm.configs import Problem
from cutelite.kernels.gemm.fits import made_for
from cutelite.kernels.gemm.model import Sizes, microseconds, table_of, worth
from cutelite.kernels.gemm.rates import AT_ONCE
from cutelite.tune.compile import compile_all
from tests.bench.given import parser
from tests.bench.timing import cold, graph, medians, off, timed

MODELS = (256, 512, 768, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 7168, 8192, 11008, 14336, 16384)
MAJORS = "K", "MN", "MN MN"
LARGEST, ROUNDS, NEAR = 1.1e12, 5, 1.3
GRAPH_S, COLD_BYTES = 1.2e-3, 100 << 20


def shapes(count: int, seed: int) -> list[tuple[int, int, int, str]]:
    """Random (M, N, K) and the majors of A and B, of B alone where A's is K; N and K multiples of 8."""
    source, found = random.Random(seed), []

    def between(low: int, high: int) -> int:
        return round(math.exp(source.uniform(math.log(low), math.log(high))))

    for i in range(count):
        if i % 3 == 0:
            m, n, k = between(1, 128), between(512, 16384), between(512, 16384)
        elif i % 3 == 1:
            m, n, k = between(64, 16384), between(64, 16384), between(64, 16384)
        else:
            m, n, k = (source.choice(MODELS) for _ in range(3))
        k = min(k, max(64, int(LARGEST / m / n)))
        major = "MN MN" if i % 8 == 5 else "MN" if i % 4 == 3 else "K"
        found.append((-(-m // 8) * 8 if major == "MN MN" else m, -(-n // 8) * 8, -(-k // 8) * 8, major))
    return found


def operands(m: int, n: int, k: int, major: str, make: Callable[..., Any] = torch.randn) -> tuple[Any, ...]:
    made = partial(make, device="cuda", dtype=torch.bfloat16)
    a = made(k, m).T if major == "MN MN" else made(m, k)
    b = made(n, k).T if major == "K" else made(k, n)
    return a, b, torch.empty(m, n, device="cuda", dtype=torch.bfloat16)


def sets_of(
    size: tuple[int, int, int, str], count: int | None = None, make: Callable[..., Any] = torch.randn
) -> list[Any]:
    """Rotating operands, as `make` fills them, and results: so many that no cache holds them, or `count`."""
    m, n, k, _ = size
    return [operands(*size, make) for _ in range(count or cold(2 * (m * k + n * k + m * n), COLD_BYTES, 24))]


def near_to(problem: Problem, sizes: Sizes, near: float, configs: list[Config]) -> list[Config]:
    """Configurations that are expected to take at most NEAR times as long as the best."""
    able = [config for config in configs if made_for(config, problem)]
    table = table_of(able)
    times = microseconds(table, problem, sizes, np.array([AT_ONCE[config.blocks] for config in able]))
    times[~worth(table, problem, sizes)] = math.inf
    return [config for config, time in zip(able, times, strict=True) if time <= near * times.min()]


def said(config: Config) -> str:
    """The configuration as Python, without what is by default."""
    fields = ((name, getattr(config, name)) for name in Config.__dataclass_fields__)
    return f"Config({', '.join(f'{name}={value!r}' for name, value in fields if value != getattr(Config, name))})"


def measured(m: int, n: int, k: int, major: str, near: float = NEAR) -> dict[str, Any]:
    """A line: microseconds by configuration, and of cuBLAS."""
    sets = sets_of((m, n, k, major))
    given = [arguments(a, b, d, fused_of()) for a, b, d in sets]
    configs = near_to(given[0][0], Sizes(m, n, k, 1), near, CONFIGS)

    def ours(config: Config, given: Any, i: int) -> None:
        dense.run(config, *given[i])

    calls: dict[str, Any] = {said(c): partial(ours, c, given) for c in configs}
    calls["cublas"] = lambda i: torch.mm(sets[i][0], sets[i][1], out=sets[i][2])
    compile_all([partial(call, 0) for name, call in calls.items() if name != "cublas"])
    us = timed_in_turns((m, n, k, major), calls, sets)
    return {"shape": [m, n, k], "major": major, "rows": given[0][0].rows, "us": us}


def settled(captured: Any, repeats: int) -> float:
    """Seconds of a call in the second of two replays: in the first the neighbour's power is in the clocks."""
    captured.replay()
    return timed(captured, repeats)


def timed_in_turns(
    size: tuple[int, int, int, str], calls: dict[str, Any], sets: list[Any], strict: bool = True, times: int = 1
) -> dict[str, float]:
    """Microseconds of each of `calls`, which take the number of a set (A, B, result): medians of graphs in turns.

    strict  a wrong result is a ValueError; otherwise it is printed, and timed all the same
    times   how many times as long graphs are; beyond one, each is timed behind a replay that does not count
    """
    gc.collect()  # graphs of sizes before
    gc.freeze()  # else each graph of `timing` would look through all configurations again: a third of a second
    m, n, k, major = size
    bytes = 2 * (m * k + n * k + m * n)
    repeats = max(len(sets), min(300 * times, int(times * GRAPH_S / (max(bytes / 4e12, 2 * m * n * k / 7e14) + 3e-6))))
    right = torch.mm(*sets[0][:2])
    trials: dict[str, Callable[[], float]] = {}
    for name, call in calls.items():
        sets[0][2].fill_(math.nan)
        call(0)
        error = off(sets[0][2], right)
        if not error < 1e-2:
            wrong = f"{name} at {m} x {n} x {k}, {major}: relative error {error:.3g}"
            if strict:
                raise ValueError(wrong)
            print(f"WRONG: {wrong}", flush=True)
        captured = graph(call, len(sets), repeats)
        trials[name] = partial(timed if times == 1 else settled, captured, repeats)
    return {name: round(1e6 * took, 3) for name, took in medians(trials, ROUNDS).items()}


def collect(path: Path, sizes: list[tuple[int, int, int, str]], limit: float, *how: Any) -> None:
    start = time.monotonic()
    with path.open("w") as file:
        for shape in sizes:
            if time.monotonic() - start > limit:
                break
            try:
                file.write(json.dumps(measured(*shape, *how)) + "\n")
                file.flush()
            except ValueError as error:
                print(error, flush=True)


if __name__ == "__main__":
    asked = parser(__doc__)
    asked.add_argument("path", type=Path)
    asked.add_argument("--shapes", type=int, default=300)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--seconds", type=float, default=170.0)
    asked.add_argument("--majors", nargs="+", default=list(MAJORS), choices=MAJORS, help="of A and B, or of B alone")
    asked.add_argument("--sizes", nargs="+", default=[], help="these instead: 6144x4096x16384, of each of the majors")
    asked.add_argument("--near", type=float, default=NEAR, help="times what the model expects of the best, at most")
    given = asked.parse_args()
    sizes = [shape for shape in shapes(given.shapes, given.seed) if shape[3] in given.majors]
    if given.sizes:
        wanted = [[int(extent) for extent in text.split("x")] for text in given.sizes]
        sizes = [(m, n, k, major) for m, n, k in wanted for major in given.majors]
    collect(given.path, sizes, given.seconds, given.near)
