"""The numbers of `cutelite.kernels.gemm.model`: times of many configurations for random sizes, and what fits them.

    python tests/bench/gemm_model.py collect times.jsonl --shapes 300 --seed 1 --seconds 170   # on a GPU
    python tests/bench/gemm_model.py fit times.jsonl [more.jsonl ...]                          # anywhere

`collect` times, in graphs over rotating operands and in turns with cuBLAS, all configurations that are not hopeless.
A third of the sizes has few rows, a third any, a third those of models. `fit` prints the numbers, how much longer the
picks take than the best measured (the regret), and both over cuBLAS. It keeps every fifth size out, to be tested on.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import random
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

import cutelite as cl
from cutelite.kernels.gemm import CONFIGS, Config, dense
from cutelite.kernels.gemm.call import arguments, fused_of
from cutelite.kernels.gemm.configs import Problem, made_for
from cutelite.kernels.gemm.model import (
    AGAIN_DRAM,
    AT_ONCE,
    DRAM,
    HIDDEN,
    L2,
    L2_CLUSTERED,
    LINES,
    MEETING,
    MEETING_BYTE,
    OUTGROWN,
    RATES,
    RESTART,
    SECOND,
    SECOND_BYTE,
    START,
    P,
    Sizes,
    microseconds,
    narrowest,
)
from cutelite.tune.compile import compile_all
from tests.bench.timing import timed

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


def operands(m: int, n: int, k: int, major: str) -> tuple[Any, ...]:
    made = partial(torch.randn, device="cuda", dtype=torch.bfloat16)
    a = made(k, m).T if major == "MN MN" else made(m, k)
    b = made(n, k).T if major == "K" else made(k, n)
    return a, b, torch.empty(m, n, device="cuda", dtype=torch.bfloat16)


def majors_of(major: str) -> tuple[str, str]:
    """The majors of A and B, as `Problem` has them."""
    return ("MN", "MN") if major == "MN MN" else ("K", major)


def worth(problem: Problem, sizes: Sizes, near: float) -> list[Config]:
    """Configurations that are expected to take at most NEAR times as long as the best."""
    able = [c for c in CONFIGS if narrowest(c, problem, sizes.m) and made_for(c, problem)]
    times = {c: microseconds(c, problem, sizes, AT_ONCE[c.blocks]) for c in able}
    return [c for c in able if times[c] <= near * min(times.values())]


def measured(m: int, n: int, k: int, major: str, near: float = NEAR) -> dict[str, Any]:
    """A line: microseconds by configuration, and of cuBLAS."""
    bytes = 2 * (m * k + n * k + m * n)
    sets = [operands(m, n, k, major) for _ in range(max(2, min(24, -(-COLD_BYTES // bytes))))]
    given = [arguments(a, b, d, fused_of()) for a, b, d in sets]
    configs = worth(given[0][0], Sizes(m, n, k, 1), near)

    def ours(config: Config, given: Any, i: int) -> None:
        dense.run(config, *given[i])

    calls: dict[str, Any] = {repr(c): partial(ours, c, given) for c in configs}
    calls["cublas"] = lambda i: torch.mm(sets[i][0], sets[i][1], out=sets[i][2])
    compile_all([partial(call, 0) for name, call in calls.items() if name != "cublas"])
    repeats = max(len(sets), min(300, int(GRAPH_S / (max(bytes / 4e12, 2 * m * n * k / 7e14) + 3e-6))))
    right = torch.mm(*sets[0][:2]).float()
    graphs: dict[str, Any] = {}
    times: dict[str, list[float]] = {}
    for name, call in calls.items():
        sets[0][2].fill_(math.nan)
        call(0)
        error = float((sets[0][2].float() - right).norm() / right.norm())
        if not error < 1e-2:
            raise ValueError(f"{name} at {m} x {n} x {k}, {major}: relative error {error:.3g}")
        graphs[name], times[name] = torch.cuda.CUDAGraph(), []
        with torch.cuda.graph(graphs[name], capture_error_mode="relaxed"):
            for i in range(repeats):
                call(i % len(sets))
    order = list(graphs)
    for turn in range(ROUNDS):
        random.shuffle(order)
        for name in order:
            seconds = timed(graphs[name], repeats)
            if turn:
                times[name].append(seconds * 1e6)
    return {
        "shape": [m, n, k], "major": major, "rows": given[0][0].rows,
        "us": {name: round(statistics.median(found), 3) for name, found in times.items()},
    }  # fmt: skip


def collect(path: Path, sizes: list[tuple[int, int, int, str]], limit: float, near: float) -> None:
    start = time.monotonic()
    with path.open("w") as file:
        for number, shape in enumerate(sizes):
            if time.monotonic() - start > limit:
                break
            try:
                file.write(json.dumps(measured(*shape, near)) + "\n")
            except ValueError as error:
                print(error, flush=True)
            if number % 20 == 0:
                gc.collect()


# The fit: `microseconds` again, of all measurements at once.

NUMBERS = {
    "START": START, "P - 1": P - 1, "L2": L2, "L2_CLUSTERED": L2_CLUSTERED, "DRAM": DRAM, "AGAIN_DRAM": AGAIN_DRAM,
    "OUTGROWN": OUTGROWN / 1e6, "HIDDEN": HIDDEN, "SECOND": SECOND, "SECOND_BYTE": SECOND_BYTE, "MEETING": MEETING,
    "MEETING_BYTE": MEETING_BYTE, "RESTART": RESTART,
}  # fmt: skip


def features(lines: list[dict[str, Any]]) -> tuple[list[tuple[int, Config]], Any, Any]:
    """Whose each measurement is, its numbers, and its time."""
    whose, numbers, times = [], [], []
    for place, line in enumerate(lines):
        m, n, k = line["shape"]
        problem = Problem(cl.bf16, cl.bf16, cl.f32, cl.bf16, None, majors_of(line["major"]), False, line["rows"])
        for text, us in line["us"].items():
            if text == "cublas":
                continue
            config = eval(text, {"Config": Config})
            (bm, bn), (cm, cn), together = config.tile, config.cluster, config.together
            shape: tuple[int, int, int] = line["shape"]
            at_once, (m, n, k) = AT_ONCE[config.blocks], shape
            if config.swapped:
                m, n = n, m
            units = -(-m // (bm * cm)) * -(-n // (bn * cn)) * config.splits
            rounds, parts = -(-units // at_once), config.splits * together
            if math.isinf(microseconds(config, problem, Sizes(*shape, 1), at_once)):
                continue
            steps = -(-k // 64)
            each = -(-steps // parts)
            few = min(bm, problem.rows or bm) if cm * cn == 1 and not config.swapped else bm
            wide = min(config.swizzle, -(-n // bn))
            high = max(1.0, min(at_once * cm * cn / wide, -(-m // bm)))
            whose.append((place, config))
            times.append(us)
            numbers.append([
                rounds, each, config.pingpong, config.blocks > 1,
                units * cm * cn * together * each * 128 * (few / cn + bn / cm),
                2 * (m * k + n * k + m * n), max(1.0, units / at_once), (high * min(bm, m) + wide * bn) * k * 2,
                config.splits > 1, config.splits * m * n * 4, together > 1, 4 * bn * (64 if config.pingpong else bm),
                bn,
            ])  # fmt: skip
    return whose, torch.tensor(numbers, dtype=torch.float64).T, torch.tensor(times, dtype=torch.float64)


def kind_of(config: Config) -> Any:
    """The key of its rates in the model: swapped tiles of all widths share a line."""
    if config.swapped:
        return config.tile[0], config.pingpong, config.cluster[0]
    return config.tile, config.pingpong, config.cluster


def known(kind: Any) -> tuple[float, float, float, float, float]:
    """The model's present rates as a line."""
    if kind in LINES:
        return LINES[kind]
    step, tile = RATES[kind]
    return step, 1e-12, 1e-12, tile, 1e-12


def fit(paths: list[Path], steps: int = 2500) -> None:
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    whose, x, times = features(lines)
    names = [kind_of(config) for _, config in whose]
    kinds = sorted(set(names), key=repr)
    kind = torch.tensor([kinds.index(name) for name in names])
    line = torch.tensor([place for place, _ in whose])
    best = torch.full((len(lines),), math.inf, dtype=torch.float64).scatter_reduce(0, line, times, "amin")
    numbers = torch.tensor(list(NUMBERS.values()), dtype=torch.float64).log().requires_grad_()
    first = [[*known(name)] for name in kinds]
    rates = torch.tensor(first, dtype=torch.float64).log().requires_grad_()
    before, start, weight, used = (
        numbers.detach().clone(),
        rates.detach().clone(),
        (best[line] / times) ** 2,
        line % 5 != 4,
    )

    def predicted() -> Any:
        v = dict(zip(NUMBERS, numbers.exp(), strict=True))
        rounds, each, pingpong, clustered, loaded, moved, full, of_round, second, of_second, together, met, width = x
        constant, of_width, of_square, tile, tile_of_width = rates.exp()[kind].T
        step, tile = constant + (of_width + of_square * width) * width, tile + tile_of_width * width
        hidden = tile * torch.where(pingpong > 0, v["HIDDEN"], 1.0)
        work = rounds * (each * step + hidden) + tile - hidden
        again = full * of_round * v["AGAIN_DRAM"] * torch.sigmoid((of_round / 1e6 - v["OUTGROWN"]) / 8)
        memory = loaded * torch.where(clustered > 0, v["L2_CLUSTERED"], v["L2"]) + (moved + again) * v["DRAM"]
        p = 1 + v["P - 1"]
        sharing = torch.where(second > 0, v["SECOND"] + of_second * v["SECOND_BYTE"], 0.0) + torch.where(
            together > 0, v["MEETING"] + met * v["MEETING_BYTE"] + (rounds - 1) * v["RESTART"], 0.0
        )
        return v["START"] + (work**p + memory**p) ** (1 / p) + sharing

    descent = torch.optim.Adam([numbers, rates], lr=0.02)
    for _ in range(steps):
        descent.zero_grad()
        off = (weight * (predicted() / times).log() ** 2)[used].mean()
        (off + 5e-3 * ((rates - start) ** 2).mean() + 5e0 * ((numbers - before) ** 2).mean()).backward()
        descent.step()
    with torch.no_grad():
        told(lines, line, times, predicted(), dict(zip(NUMBERS, numbers.exp().tolist(), strict=True)))
        for key, found in zip(kinds, rates.exp().tolist(), strict=True):
            if isinstance(key[0], tuple):
                print(f"    {key}: ({found[0]:.4f}, {found[3]:.3f}),")
            else:
                step = f"{found[0]:.4f}, {found[1]:.3g}, {found[2]:.3g}"
                print(f"    {key}: ({step}, {found[3]:.3f}, {found[4]:.3g}),")


def told(lines: list[dict[str, Any]], line: Any, times: Any, found: Any, numbers: dict[str, float]) -> None:
    print({name: float(f"{value:.4g}") for name, value in numbers.items()})
    for name, mine in (("fitted", lambda place: place % 5 != 4), ("kept out", lambda place: place % 5 == 4)):
        regret, over = [], []
        for place in filter(mine, set(line.tolist())):
            of_line = (line == place).nonzero()[:, 0]
            picked = times[of_line[found[of_line].argmin()]].item()
            regret.append(math.log(picked / times[of_line].min().item()))
            over.append(math.log(lines[place]["us"]["cublas"] / picked))
        print(
            f"{name}: regret {math.exp(statistics.mean(regret)):.4f}, over cuBLAS {math.exp(statistics.mean(over)):.4f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["collect", "fit"])
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--shapes", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=170.0)
    parser.add_argument("--majors", nargs="+", default=list(MAJORS), choices=MAJORS, help="of A and B, or of B alone")
    parser.add_argument("--sizes", nargs="+", default=[], help="these instead: 6144x4096x16384, of each of the majors")
    parser.add_argument("--near", type=float, default=NEAR, help="times what the model expects of the best, at most")
    given = parser.parse_args()
    sizes = [shape for shape in shapes(given.shapes, given.seed) if shape[3] in given.majors]
    if given.sizes:
        wanted = [[int(extent) for extent in text.split("x")] for text in given.sizes]
        sizes = [(m, n, k, major) for m, n, k in wanted for major in given.majors]
    if given.what == "collect":
        collect(given.paths[0], sizes, given.seconds, given.near)
    else:
        fit(given.paths)
