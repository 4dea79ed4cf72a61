"""The numbers of `cutelite.kernels.gemm.model`, fitted to what `gemm_model.py` has measured.

    python tests/bench/gemm_fit.py times.jsonl [more.jsonl ...] [--steps 40]     # anywhere: it needs NumPy alone

It prints the numbers, how much longer the picks take than the best measured (the regret), and both over cuBLAS, by
majors too. Every fifth size is kept out of the fit, to be tested on; with `--all` none is. First times are fitted, by
least squares, then times and regret together (`--seconds`): a fit of times alone picks worse, since it does not know
which of them decide.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import cutelite as cl
from cutelite.kernels.gemm import Config
from cutelite.kernels.gemm.configs import Problem
from cutelite.kernels.gemm.model import (
    AGAIN_DRAM,
    AT_LEAST,
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
    STREAM,
    STREAM_CLUSTERED,
    P,
    Sizes,
    microseconds,
)

NUMBERS = {
    "START": START, "P - 1": P - 1, "L2": L2, "L2_CLUSTERED": L2_CLUSTERED, "DRAM": DRAM, "AGAIN_DRAM": AGAIN_DRAM,
    "OUTGROWN": OUTGROWN / 1e6, "STREAM": STREAM, "STREAM_CLUSTERED": STREAM_CLUSTERED, "HIDDEN": HIDDEN,
    "SECOND": SECOND, "SECOND_BYTE": SECOND_BYTE, "MEETING": MEETING, "MEETING_BYTE": MEETING_BYTE, "RESTART": RESTART,
}  # fmt: skip
HELD, LOOSE = 3.0, 0.4
"""The pull that keeps numbers where they are, those for memory and sharing and those of tiles: for a unit of their
logarithm, in units of a measurement's relative error."""


def majors_of(major: str) -> tuple[str, str]:
    """The majors of A and B, as `Problem` has them."""
    return ("MN", "MN") if major == "MN MN" else ("K", major)


def features(lines: list[dict[str, Any]]) -> tuple[list[tuple[int, Config]], Any, Any]:
    """Whose each measurement is, its numbers, and its time: `microseconds` again, of all measurements at once."""
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
            try:
                if math.isinf(microseconds(config, problem, Sizes(*shape, 1), at_once)):
                    continue
            except KeyError:
                continue
            each = math.ceil(math.ceil(k / 64) / parts)
            few = min(bm, problem.rows or bm) if cm * cn == 1 and not config.swapped else bm
            wide = min(config.swizzle, -(-n // bn))
            high = max(1.0, min(at_once * cm * cn / wide, -(-m // bm)))
            whose.append((place, config))
            times.append(us)
            numbers.append([
                rounds, each, config.pingpong, cm * cn * together > 1, cm * cn > 1,
                units * cm * cn * together * each * 128 * (few / cn + bn / cm),
                2 * (m * k + n * k + m * n), max(1.0, units / at_once) * (n > wide * bn),
                (high * min(bm, m) + wide * bn) * k * 2,
                2 * (m * k + n * k + m * n) * rounds / (units * cm * cn * together),
                config.splits > 1, config.splits * m * n * 4, together > 1, 4 * bn * (64 if config.pingpong else bm),
                bn,
            ])  # fmt: skip
    return whose, np.array(numbers, np.float64).T, np.array(times)


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


def predicted(numbers: Any, rates: Any, kind: Any, x: Any) -> Any:
    """Microseconds of all measurements; `numbers` and `rates` are logarithms."""
    v = dict(zip(NUMBERS, np.exp(numbers), strict=True))
    (
        rounds,
        each,
        pingpong,
        clustered,
        shared,
        loaded,
        moved,
        full,
        of_round,
        streamed,
        second,
        of_second,
        together,
        met,
        width,
    ) = x
    constant, of_width, of_square, tile, tile_of_width = np.exp(rates)[kind].T
    step, tile = constant + (of_width + of_square * width) * width, tile + tile_of_width * width
    hidden = tile * np.where(pingpong > 0, v["HIDDEN"], 1.0)
    work = rounds * (each * step + hidden) + tile - hidden
    again = full * of_round * v["AGAIN_DRAM"] / (1 + np.exp((v["OUTGROWN"] - of_round / 1e6) / 8))
    memory = loaded * np.where(clustered > 0, v["L2_CLUSTERED"], v["L2"]) + (moved + again) * v["DRAM"]
    stream = np.where(shared > 0, v["STREAM_CLUSTERED"], v["STREAM"])
    memory = np.maximum(np.maximum(memory, (moved + again) * AT_LEAST), streamed * stream)
    p = 1 + v["P - 1"]
    sharing = np.where(second > 0, v["SECOND"] + of_second * v["SECOND_BYTE"], 0.0)
    met_for = v["MEETING"] + met * v["MEETING_BYTE"] + (rounds - 1) * v["RESTART"]
    return v["START"] + (work**p + memory**p) ** (1 / p) + sharing + np.where(together > 0, met_for, 0.0)


def least_squares(off: Callable[[Any], Any], start: Any, steps: int) -> Any:
    """The point near `start` where the sum of squares of `off` is least, by Levenberg and Marquardt."""
    at, damping = start.copy(), 1e-2
    errors = off(at)
    for _ in range(steps):
        slopes = np.stack([(off(at + 1e-4 * unit) - errors) * 1e4 for unit in np.eye(len(at))], 1)
        square, gradient = slopes.T @ slopes, slopes.T @ errors
        for _ in range(8):
            tried = at - np.linalg.solve(square + damping * np.diag(np.diag(square) + 1e-9), gradient)
            found = off(tried)
            if (found**2).sum() < (errors**2).sum():
                at, errors, damping = tried, found, damping / 3
                break
            damping *= 4
        else:
            break
    return at


def descended(loss: Callable[[Any], float], start: Any, seconds: float) -> Any:
    """The point near `start` where `loss` is least, by Adam with slopes of small steps."""
    at, best, least = start.copy(), start, loss(start)
    mean, square, step, until = np.zeros_like(at), np.zeros_like(at), 0, time.monotonic() + seconds
    while time.monotonic() < until:
        now, step = loss(at), step + 1
        slope = np.array([(loss(at + 1e-3 * unit) - now) * 1e3 for unit in np.eye(len(at))])
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        at = at - 0.02 * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
        if loss(at) < least:
            best, least = at.copy(), loss(at)
    return best


SOFT_PICK, OF_TIMES, OF_START = 0.03, 0.6, 0.02
"""How near to the least a time is picked nearly as often; the weights of squared errors, and of what pulls back."""


def fit(paths: list[Path], steps: int, every: bool, seconds: float) -> None:
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    whose, x, times = features(lines)
    names = [kind_of(config) for _, config in whose]
    kinds = sorted(set(names), key=repr)
    kind, line = np.array([kinds.index(name) for name in names]), np.array([place for place, _ in whose])
    best = np.full(len(lines), np.inf)
    np.minimum.at(best, line, times)
    used = np.ones(len(line), bool) if every else line % 5 != 4
    weight = (best[line] / times) ** 2 / np.sqrt(np.bincount(line)[line])  # a size counts by itself, more or less
    first = np.log([*NUMBERS.values()]), np.log([known(name) for name in kinds])
    free = first[1] > math.log(1e-11)  # what is no part of a kind stays none
    start = np.concatenate([first[0], first[1][free]])
    stiff = np.concatenate([np.full(len(first[0]), HELD), np.full(int(free.sum()), LOOSE)])

    def parts(at: Any) -> tuple[Any, Any]:
        rates = first[1].copy()
        rates[free] = at[len(NUMBERS) :]
        return at[: len(NUMBERS)], rates

    def off(at: Any) -> Any:
        errors = weight * np.log(predicted(*parts(at), kind, x) / times)
        return np.concatenate([errors[used], stiff * (at - start)])

    told(lines, line, times, predicted(*first, kind, x), every, "as it is")
    count, over = np.bincount(line), np.log(times / best[line])
    counted = np.unique(line[used])

    def regret(at: Any) -> float:
        """The regret of picks that are softened, so that it has slopes; and how far times are off."""
        found = np.log(predicted(*parts(at), kind, x))
        least = np.full(len(lines), np.inf)
        np.minimum.at(least, line, found)
        share = np.exp((least[line] - found) / SOFT_PICK)
        picked = np.bincount(line, share * over) / np.maximum(np.bincount(line, share), 1e-30)
        errors = np.bincount(line, (weight * (found - np.log(times))) ** 2, len(count))
        pulled = float(((0.1 * stiff * (at - start)) ** 2).sum())
        return float(picked[counted].mean() + OF_TIMES * errors[counted].mean()) + OF_START * pulled

    at = descended(regret, least_squares(off, start, steps), seconds)
    numbers, rates = parts(at)
    told(lines, line, times, predicted(numbers, rates, kind, x), every, "fitted")
    if every:
        picks(lines, whose, line, times, predicted(numbers, rates, kind, x))
    print({name: float(f"{value:.4g}") for name, value in zip(NUMBERS, np.exp(numbers), strict=True)})
    for key, found in zip(kinds, np.exp(rates), strict=True):
        if isinstance(key[0], tuple):
            print(f"    {key}: ({found[0]:.4f}, {found[3]:.3f}),")
        else:
            step = f"{found[0]:.4f}, {found[1]:.3g}, {found[2]:.3g}"
            print(f"    {key}: ({step}, {found[3]:.3f}, {found[4]:.3g}),")


def told(lines: list[dict[str, Any]], line: Any, times: Any, found: Any, every: bool, what: str) -> None:
    """Print what the picks come to: of sizes that were fitted, of those kept out, and by majors."""
    groups: dict[str, Callable[[int], bool]] = {"all": lambda place: True}
    if not every:
        groups |= {"used": lambda place: place % 5 != 4, "kept out": lambda place: place % 5 == 4}
    for major in ("K", "MN", "MN MN"):
        groups[major] = lambda place, major=major: lines[place]["major"] == major  # type: ignore[misc]
    for name, mine in groups.items():
        regret, over, most = [], [], []
        for place in filter(mine, sorted(set(line.tolist()))):
            of_line = np.flatnonzero(line == place)
            picked = times[of_line[found[of_line].argmin()]]
            regret.append(math.log(picked / times[of_line].min()))
            over.append(math.log(lines[place]["us"]["cublas"] / picked))
            most.append(math.log(lines[place]["us"]["cublas"] / times[of_line].min()))
        if regret:
            means = [math.exp(statistics.mean(each)) for each in (regret, over, most)]
            few = sum(each < math.log(0.97) for each in over), sum(each < math.log(0.97) for each in most)
            print(f"{what}, {name} ({len(regret)} sizes): regret {means[0]:.4f}, over cuBLAS {means[1]:.4f}, best"
                  f" {means[2]:.4f}; below 0.97: {few[0]} as picked, {few[1]} at best")  # fmt: skip


def picks(lines: list[dict[str, Any]], whose: list[tuple[int, Config]], line: Any, times: Any, found: Any) -> None:
    """Print each size where the pick takes 1.03 times as long as the best, and what both are."""
    for place, of in enumerate(lines):
        mine = np.flatnonzero(line == place)
        pick, best = mine[found[mine].argmin()], mine[times[mine].argmin()]
        if times[pick] > 1.03 * times[best]:
            shown = [f"{c.tile} {c.pingpong:d} {c.cluster} {c.together} {c.splits} {'swapped ' * c.swapped}"
                     f"{times[i]:.1f} ({found[i]:.1f})" for i in (pick, best) for c in (whose[i][1],)]  # fmt: skip
            print(f"    {of['shape']} {of['major']}: picked {shown[0]}, best {shown[1]}, cuBLAS {of['us']['cublas']}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=40.0, help="for the second part of the fit")
    parser.add_argument("--all", action="store_true", help="keep no size out of the fit")
    given = parser.parse_args()
    fit(given.paths, given.steps, given.all, given.seconds)
