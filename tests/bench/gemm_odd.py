"""Rows that TMA cannot read, in each of the ways that `gemm` has for them, against cuBLAS.

    python tests/bench/gemm_odd.py times.jsonl --sizes 40x9348x5920:MN 58x11716x4854:K --best 4

The ways: copies for TMA and the GEMM; threads that load (`loads.py`), by the `--best` configurations of different
kinds; vectors for few rows (`vectors.py`). `gemm` takes the first one in each line.
"""

from __future__ import annotations

import json
import math
import statistics
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from cutelite.kernels.gemm import CONFIGS, gemm, vectors
from cutelite.kernels.gemm.call import arguments, fused_of
from cutelite.kernels.gemm.dense import pick, ranked, run
from cutelite.kernels.gemm.odd import by_vectors
from cutelite.tune.compile import compile_all
from tests.bench.gemm_any import Size, firsts, library
from tests.bench.gemm_model import said, sets_of, timed_in_turns
from tests.bench.given import parser

ALONG_N = (
    "40x9348x5920 43x2990x6480 9x4716x7987 5x9238x1756 13x717x2312 76x1166x542 106x5005x6480 302x5537x7648 1x8125x1079 "
    "194x92x8956 1071x115x4567 11842x119x89 45x750x1348 19x12144x7001 12123x6867x465 1769x4030x7301"
)
ALONG_K = (
    "58x11716x4854 48x4831x9870 57x12249x123 55x13084x1795 36x11621x10918 24x3444x10717 7x1358x4745 13x940x2420 "
    "58x2096x2295 100x9596x4259 148x6174x5174 3350x147x203 107x673x893 896x105x53 671x54x153 1449x8204x191 "
    "3006x1394x262 73x1657x3912"
)
SIZES = [f"{text}:{major}" for texts, major in ((ALONG_N, "MN"), (ALONG_K, "K")) for text in texts.split(" ")]


def calls_of(sets: list[Any], best: int) -> dict[str, Any]:
    """The calls, by their names."""
    fused = fused_of()

    def given(i: int, loads: bool) -> Any:
        a, b, out = sets[i]
        return arguments(a, b, out, fused, loads=loads)

    def copied(i: int) -> None:
        of = given(i, False)
        run(pick(*of), *of)

    def loaded(config: Any, i: int) -> None:
        run(config, *given(i, True))

    def by_threads(i: int) -> None:
        a, b, out = sets[i]
        by_vectors(a, b, out, fused)

    calls: dict[str, Any] = {"gemm": lambda i: gemm(*sets[i]), "copies": copied}
    problem, a, b, d, *_ = given(0, True)
    if problem.loaded:
        able = firsts(config for _, config in ranked(CONFIGS, problem, a, b, d))
        calls |= {f"loads {said(config)}": partial(loaded, config) for config in islice(able, best)}
    a, b, out = sets[0]
    few = (a, b) if out.shape[0] <= out.shape[1] else (b.T, a.T)
    if vectors.takes(*few):
        calls["vectors"] = by_threads
    return calls


def measured(size: Size, best: int) -> dict[str, float]:
    """Microseconds of each way."""
    sets = sets_of(size)
    calls = calls_of(sets, best)
    compile_all([partial(call, 0) for call in calls.values()])
    for name in ("cublas", "cublaslt"):
        calls[name] = partial(library, name, sets)
    return timed_in_turns(size, calls, sets, strict=False)


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("path", type=Path)
    asked.add_argument("--sizes", nargs="+", default=SIZES, help="M x N x K, and the majors of B: 40x9348x5920:MN")
    asked.add_argument("--best", type=int, default=4)
    given, found = asked.parse_args(), []
    with given.path.open("w") as file:
        for text in given.sizes:
            extents, major = text.split(":")
            m, n, k = map(int, extents.split("x"))
            us = measured((m, n, k, major), given.best)
            file.write(json.dumps({"shape": [m, n, k], "major": major, "us": us}) + "\n")
            file.flush()
            rival = min(us.pop("cublas"), us.pop("cublaslt"))
            found.append(rival / us["gemm"])
            ways = ", ".join(f"{name} {time:.1f}" for name, time in us.items())
            print(f"{text}: {rival / us['gemm']:.3f} of cuBLAS {rival:.1f}; {ways}", flush=True)
    mean = math.exp(statistics.mean(map(math.log, found)))
    print(f"geometric mean {mean:.3f}, {sum(x < 0.97 for x in found)} below 0.97, least {min(found):.3f}")


if __name__ == "__main__":
    main()
