"""Stream-K on a GPU: results and repeated launches of configurations that share the last rounds of tiles.

    python tests/bench/gemm_stream.py [--every 7] [--shapes 24] [--seed 1] [--launches 1000] [--seconds 60]

Every result is compared with float64; what is not written, and the memory for parts, is NaN before. All launches of one
shape must give the same bits, alone and in a second stream beside another of them, and in a graph.
"""

import math
import random
import time
from functools import partial
from typing import Any
from unittest.mock import patch

import torch

from cutelite import bf16, f32
from cutelite.kernels.gemm import CONFIGS, Config, dense, gemm
from cutelite.kernels.gemm.configs import Problem
from cutelite.kernels.gemm.fits import made_for
from cutelite.tune.compile import compile_all
from tests.bench.gemm_any import MAJORS, operands, said
from tests.bench.given import parser
from tests.bench.timing import off


def poison(like: Any, shape: Any, dtype: str | None = None) -> Any:
    """As `kernels.arrays.empty`, full of NaN."""
    return torch.full(shape, math.nan, dtype=like.dtype if dtype is None else torch.float32, device=like.device)


def sizes(count: int, seed: int) -> list[tuple[int, int, int, str]]:
    """Random (M, N, K), of few tiles and of many, of which some are no multiple of 8 along M, and the majors."""
    source, found = random.Random(seed), []
    for i in range(count):
        m, n, k = (round(math.exp(source.uniform(math.log(low), math.log(6000)))) for low in (65, 64, 64))
        major = MAJORS[i % 3]
        found.append((m if major != "MN MN" and i % 2 else -(-m // 8) * 8, -(-n // 8) * 8, -(-k // 8) * 8, major))
    return found


def error_of(config: Config, size: tuple[int, int, int, str]) -> float:
    """The relative error in the Frobenius norm; with C and an activation."""
    a, b, d = operands(*size)
    c = torch.randn_like(d)
    d.fill_(math.nan)
    gemm(a, b, d, c=c, beta=0.5, activation="relu", config=config)
    right = (a.double() @ b.double() + 0.5 * c.double()).relu()
    return off(d, right)


def alone(config: Config, size: tuple[int, int, int, str]) -> None:
    """Multiply, and nothing else."""
    a, b, d = operands(*size)
    gemm(a, b, d, config=config)


def repeated(config: Config, size: tuple[int, int, int, str], launches: int) -> int:
    """How many of `launches` launches differ from the first, alone, beside another stream's, and in a graph."""
    a, b, d = operands(*size)
    gemm(a, b, d, config=config)
    first, (wrong, aside) = d.clone(), torch.zeros((2, 1), dtype=torch.int64, device="cuda")
    other, beside = torch.cuda.Stream(), torch.empty_like(d)
    for i in range(launches // 2):
        d.fill_(math.nan)
        if i % 4 == 3:
            other.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(other):
                beside.fill_(math.nan)
                gemm(a, b, beside, config=config)
                aside += (beside != first).any()
        gemm(a, b, d, config=config)
        torch.cuda.current_stream().wait_stream(other)
        wrong += (d != first).any()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="relaxed"):
        for _ in range(10):  # one behind the other, each begun while the one before ends
            gemm(a, b, beside, config=config)
            gemm(a, b, d, config=config)
    for _ in range(launches // 40):
        d.fill_(math.nan)
        beside.fill_(math.nan)
        graph.replay()
        wrong += (d != first).any() + (beside != first).any()
    return int(wrong + aside)


def main(every: int, shapes: int, seed: int, launches: int, seconds: float) -> None:
    end, found = time.monotonic() + seconds, sizes(shapes, seed)
    turned = Problem(bf16, bf16, f32, bf16, majors=("MN", "MN"))  # has the fewest tiles
    streamed = [config for config in CONFIGS if config.stream and made_for(config, turned)][::every]
    torch.manual_seed(seed)
    unlike = {size[3]: size for size in found}.values()
    compile_all([partial(call, config, size) for config in streamed for size in unlike for call in (error_of, alone)])
    for config in streamed:
        with patch.object(dense, "empty", poison):
            worst = max((error_of(config, size), size) for size in found)
            differ = repeated(config, (776, 1544, 4104, "K"), launches)
            differ += repeated(config, (4000, 3000, 520, "MN"), launches)
        print(f"{said(config)}: {worst[0]:.2e} at {worst[1]}, {differ} launches differ", flush=True)
        if not worst[0] < 5e-3 or differ:
            raise SystemExit("wrong")
        if time.monotonic() > end:
            print("out of time")
            return


if __name__ == "__main__":
    asked = parser(__doc__)
    asked.add_argument("--every", type=int, default=7, help="of so many configurations one")
    asked.add_argument("--shapes", type=int, default=24)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--launches", type=int, default=1000)
    asked.add_argument("--seconds", type=float, default=60.0)
    given = asked.parse_args()
    main(given.every, given.shapes, given.seed, given.launches, given.seconds)
