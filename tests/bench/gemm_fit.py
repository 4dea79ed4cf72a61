"""The numbers of `cutelite.kernels.gemm.model`, fitted to what `gemm_any.py --near 1.3` has measured.

    python tests/bench/gemm_fit.py times.jsonl [more.jsonl ...] [--steps 40]     # anywhere: it needs NumPy alone

It prints the numbers, how much longer the picks take than the best measured (the regret), and both over cuBLAS, by
majors too. Every fifth size is kept out of the fit, to be tested on; with `--all` none is. First times are fitted, by
least squares, then times and regret together (`--seconds`): a fit of times alone picks worse, since it does not know
which of them decide. A line names its GPU by "stacks" of memory (`model.LOAD`); without, it is of an H200.
"""

import json
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cutelite.kernels.gemm import Config
from cutelite.kernels.gemm.call import ROWS
from cutelite.kernels.gemm.model import Sizes, Table, Work, costs_of, in_bursts, lasting, lying_of, table_of
from cutelite.kernels.gemm.rates import AT_ONCE, H200, LOAD, NUMBERS, RATES, Numbers, kind_of
from tests.bench.given import parser

HELD, LOOSE = 0.03, 0.015
"""The pull that keeps numbers where they are, those for memory and sharing and those of tiles: for a unit of their
logarithm, in units of a measurement's relative error."""
NONE = 1e-9
"""Microseconds in place of none, whose logarithm is to be fitted."""
OF_KIND = len(next(iter(RATES.values())))
"""Numbers of a kind in `RATES`."""


def majors_of(line: dict[str, Any]) -> tuple[str, str]:
    """Along which mode A and B are contiguous."""
    left, right = {"K": "K K", "MN": "K MN"}.get(line["major"], line["major"]).split()
    return left, right


def brought_of(line: dict[str, Any]) -> tuple[float, float]:
    """The most rows that blocks without a cluster bring of A, and of B for swapped tiles."""
    (m, n, _), majors = line["shape"], majors_of(line)
    few = [
        [r for r in ROWS if extent <= r and major == "K" and "counts" not in line]
        for extent, major in zip((m, n), majors, strict=True)
    ]
    return min(few[0], default=math.inf), min(few[1], default=math.inf)


def aligned(line: dict[str, Any]) -> bool:
    """Tell whether TMA reads all operands as they are: no copies are in the times."""
    m, n, k = line["shape"]
    return not (n % 8 or k % 8 or (line["major"] == "MN MN" and m % 8))


def rival_of(line: dict[str, Any]) -> float:
    """Microseconds of cuBLAS, or of cuBLASLt where that is faster."""
    return float(min(us for text, us in line["us"].items() if text.startswith("cublas")))


def sizes_of(line: dict[str, Any], config: Config) -> Sizes:
    """The sizes of a line, of groups of so many rows ("counts"), or of one product."""
    (m, n, k), high, counts = line["shape"], config.tile[0] * config.cluster[0], np.array(line.get("counts", [1]))
    over = (-counts % high).sum() if "counts" in line else 0
    return Sizes(m, n, k, 1, (counts > 0).sum(), over)


def read(lines: list[dict[str, Any]]) -> tuple[list[tuple[int, Config]], Table, Work, tuple[Any, Any], Any]:
    """Whose each measurement is, all of them as the model reads them, what `in_bursts` takes besides, and the times."""
    whose = [
        (place, eval(text, {"Config": Config})) for place, line in enumerate(lines) for text in line["us"]
        if not text.startswith("cublas")
    ]  # fmt: skip
    configs = [config for _, config in whose]
    at_once = np.array([AT_ONCE.get(config.blocks, 1) for config in configs], np.float64)
    sizes = np.array([sizes_of(lines[place], config) for place, config in whose], np.float64)
    brought, along = (np.array([of(lines[place]) for place, _ in whose]).T for of in (brought_of, majors_of))
    load = np.array([LOAD[lines[place].get("stacks", H200)] for place, _ in whose])
    times = np.array([us for line in lines for text, us in line["us"].items() if not text.startswith("cublas")])
    lying = lying_of(table_of(configs).tiles, along, Sizes(*sizes.T), 2)
    known = ~np.isinf(in_bursts(table_of(configs), Work(Sizes(*sizes.T), *brought), at_once)[0])
    known &= np.array([kind_of(config) in RATES for config in configs])
    whose = [each for each, is_known in zip(whose, known, strict=True) if is_known]
    rows, narrow = brought[:, known]
    work = Work(Sizes(*sizes[known].T), rows, narrow, *(each[known] for each in lying))
    table = table_of([config for _, config in whose])
    return whose, table, work, (at_once[known], load[known]), times[known]


SOFT_PICK, OF_TIMES, OF_START, OF_SIZE = 0.03, 3.0, 3.0, 0.85
"""How near to the least a time is picked nearly as often; the weights of squared errors, and of what pulls back; and
the part of a size's mean error that does not count: it tells no configuration from another, and follows the clock."""


LARGE, OF_LARGE = 4e10, 3.0
"""Products of extents above which a size is large, and its weight."""


def least_squares(at: Any, steps: int, off: Callable[[Any], tuple[Any, Any]], slopes: Callable[[Any, Any], Any]) -> Any:
    """The point near `at` where the sum of squares of errors is least, by Levenberg and Marquardt.

    off     at a point: the predictions, and the errors
    slopes  at a point with its predictions: how errors change with each number
    """
    damping, (found, errors) = 1e-2, off(at)
    for _ in range(steps):
        by = slopes(at, found)
        square, gradient = by.T @ by, by.T @ errors
        for _ in range(8):
            tried = at - np.linalg.solve(square + damping * np.diag(np.diag(square) + 1e-9), gradient)
            then, worse = off(tried)
            if (worse**2).sum() < (errors**2).sum():
                at, found, errors, damping = tried, then, worse, damping / 3
                break
            damping *= 4
        else:
            break
    return at


@dataclass
class Fit:
    """What is fitted: logarithms of `Numbers`, then of the rates of each kind, those that a kind has."""

    lines: list[dict[str, Any]]
    every: bool

    def __post_init__(self) -> None:
        self.whose, self.table, self.work, self.gpu, self.times = read(self.lines)
        names = [kind_of(config) for _, config in self.whose]
        self.kinds = sorted(set(names))
        self.kind, self.line = np.array([self.kinds.index(x) for x in names]), np.array([i for i, _ in self.whose])
        self.best = np.full(len(self.lines), np.inf)
        np.minimum.at(self.best, self.line, self.times)
        self.used = np.ones(len(self.line), bool) if self.every else self.line % 5 != 4
        self.counted = np.isin(np.arange(len(self.lines)), self.line[self.used])
        # A size counts by itself, more or less; large ones more, which take the time of training.
        large = np.array([math.prod(line["shape"]) > LARGE for line in self.lines])
        self.counts = np.where(large, OF_LARGE, 1.0)
        self.weight = (self.best[self.line] / self.times) ** 2 / np.sqrt(np.bincount(self.line)[self.line])
        self.weight *= np.sqrt(self.counts[self.line])
        self.first = np.log(np.maximum([RATES[name] for name in self.kinds], NONE))
        self.start = np.concatenate([np.log(NUMBERS), self.first.ravel()])
        pull = np.full(self.first.shape, LOOSE)
        self.stiff = np.concatenate([np.full(len(NUMBERS), HELD), pull.ravel()])

    def predicted(self, at: Any) -> Any:
        """The logarithms of the times of all measurements."""
        numbers, rates = at[: len(NUMBERS)], at[len(NUMBERS) :].reshape(-1, OF_KIND)
        v = Numbers(*np.exp(numbers))
        costs = costs_of(self.table.tiles, np.exp(rates)[self.kind], v)
        made = self.table._replace(costs=costs, numbers=v)
        return np.log(lasting(*in_bursts(made, self.work, *self.gpu)))

    def slopes(self, at: Any, found: Any, step: float = 1e-6) -> Any:
        """How the times change with each number. A rate is one of some, and changes those of its kind alone."""
        made = np.zeros((len(found), len(at)))
        for i in range(len(NUMBERS)):
            made[:, i] = (self.predicted(at + step * (np.arange(len(at)) == i)) - found) / step
        for i in range(OF_KIND):
            moved = at.copy()
            moved[len(NUMBERS) + i :: OF_KIND] += step
            made[np.arange(len(found)), len(NUMBERS) + OF_KIND * self.kind + i] = (self.predicted(moved) - found) / step
        return made

    def apart(self, errors: Any) -> Any:
        """Errors, (measurements, ...), less most of their size's mean."""
        squares = (self.weight**2).reshape(-1, *(1,) * (errors.ndim - 1))
        first = np.flatnonzero(np.diff(self.line, prepend=-1))
        means = np.add.reduceat(squares * errors, first) / np.add.reduceat(squares, first)
        return errors - OF_SIZE * means[np.searchsorted(self.line[first], self.line)]

    def least_squares(self, at: Any, steps: int) -> Any:
        """The point near `at` where the sum of squares of the times' errors is least."""
        log_times, weight = np.log(self.times), self.weight * self.used

        def off(at: Any) -> tuple[Any, Any]:
            found = self.predicted(at)
            return found, np.concatenate([weight * self.apart(found - log_times), self.stiff * (at - self.start)])

        def slopes(at: Any, found: Any) -> Any:
            return np.concatenate([weight[:, None] * self.apart(self.slopes(at, found)), np.diag(self.stiff)])

        return least_squares(at, steps, off, slopes)

    def regret(self, at: Any, found: Any) -> tuple[float, Any]:
        """The regret of picks that are softened, so that it has slopes, and how far times are off; and its slopes."""
        line, count, over = self.line, float(self.counts[self.counted].sum()), np.log(self.times / self.best[self.line])
        least = np.full(len(self.lines), np.inf)
        np.minimum.at(least, line, found)
        share = np.exp((least[line] - found) / SOFT_PICK)
        share /= np.bincount(line, share)[line]
        picked, errors = np.bincount(line, share * over), self.apart(found - np.log(self.times))
        off, counted = np.bincount(line, (self.weight * errors) ** 2), self.counted[: len(picked)]
        pulled = 0.1 * self.stiff * (at - self.start)
        loss = (
            (self.counts[: len(picked)] * picked)[counted].sum() / count
            + OF_TIMES * off[counted].sum() / count
            + OF_START * (pulled**2).sum()
        )
        by_time = (
            (share * (picked[line] - over) / SOFT_PICK + OF_TIMES * 2 * self.weight**2 * errors) * self.used / count
        )
        return float(loss), by_time @ self.slopes(at, found) + OF_START * 2 * pulled * 0.1 * self.stiff

    def descended(self, start: Any, seconds: float) -> Any:
        """The point near `start` where `regret` is least, by Adam."""
        at, best, least, step, until = start.copy(), start, math.inf, 0, time.monotonic() + seconds
        mean, square = np.zeros_like(at), np.zeros_like(at)
        while time.monotonic() < until:
            loss, slope = self.regret(at, self.predicted(at))
            if loss < least:
                best, least = at.copy(), loss
            step += 1
            mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
            at = at - 0.01 * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
        return best

    def told(self, at: Any, what: str) -> None:
        """Print what the picks come to, and with all sizes in the fit the bad ones."""
        found = np.exp(self.predicted(at))
        told(self.lines, self.line, self.times, found, self.every, what)
        if self.every and what == "fitted":
            picks(self.lines, self.whose, self.line, self.times, found)


def fit(paths: list[Path], steps: int, every: bool, seconds: float) -> None:
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    of = Fit([line for line in lines if aligned(line)], every)
    of.told(of.start, "as it is")
    at = of.descended(of.least_squares(of.start, steps), seconds)
    of.told(at, "fitted")
    for name, value in zip(Numbers._fields, np.exp(at), strict=False):
        print(f"    {name}: float = {value:.4g}")
    for key, found in zip(of.kinds, np.exp(at[len(NUMBERS) :]).reshape(-1, OF_KIND), strict=True):
        print(f"    {key}: ({found[0]:.4f}, {found[1]:.3g}, {found[2]:.3f}, {found[3]:.3g}),")


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
            picked, rival = times[of_line[found[of_line].argmin()]], rival_of(lines[place])
            regret.append(math.log(picked / times[of_line].min()))
            over.append(math.log(rival / picked))
            most.append(math.log(rival / times[of_line].min()))
        if regret:
            means = [math.exp(statistics.mean(each)) for each in (regret, over, most)]
            few = sum(each < math.log(0.97) for each in over), sum(each < math.log(0.97) for each in most)
            print(f"{what}, {name} ({len(regret)} sizes): regret {means[0]:.4f}, over cuBLAS {means[1]:.4f}, best"
                  f" {means[2]:.4f}; below 0.97: {few[0]} as picked, {few[1]} at best")  # fmt: skip


def picks(lines: list[dict[str, Any]], whose: list[tuple[int, Config]], line: Any, times: Any, found: Any) -> None:
    """Print each size where the pick takes 1.03 times as long as the best, and what both are."""
    for place in sorted(set(line.tolist())):
        of, mine = lines[place], np.flatnonzero(line == place)
        pick, best = mine[found[mine].argmin()], mine[times[mine].argmin()]
        if times[pick] > 1.03 * times[best]:
            shown = [f"{c.tile} {c.pingpong:d} {c.cluster} {c.together} {c.splits} {'swapped ' * c.swapped}"
                     f"{times[i]:.1f} ({found[i]:.1f})" for i in (pick, best) for c in (whose[i][1],)]  # fmt: skip
            print(f"    {of['shape']} {of['major']}: picked {shown[0]}, best {shown[1]}, cuBLAS {rival_of(of)}")


if __name__ == "__main__":
    asked = parser(__doc__)
    asked.add_argument("paths", type=Path, nargs="+")
    asked.add_argument("--steps", type=int, default=40)
    asked.add_argument("--seconds", type=float, default=40.0, help="for the second part of the fit")
    asked.add_argument("--all", action="store_true", help="keep no size out of the fit")
    given = asked.parse_args()
    fit(given.paths, given.steps, given.all, given.seconds)
