"""The result of a tuning: a table for people, and data for the disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cutelite.tune.compile import Compilation
from cutelite.tune.race import median
from cutelite.tuples import NamedTuple

FORMAT = 1


class AutotuneError(RuntimeError):
    """No config runs; the text says why, for each."""


class Row(NamedTuple):
    """The result for one config.

    seconds   median over the rounds it took part in; None if it never ran
    rounds    number of rounds it took part in
    relative  its time divided by the winner's in the same rounds. Clocks fall while the GPU warms up, so a config that
              was only timed in the first rounds would seem faster by its seconds
    """

    config: str
    seconds: float | None
    rounds: int
    note: str
    relative: float = 0.0


def json() -> Any:
    """Import and return Python's module `json`."""
    import json as module  # imported here: programs that tune nothing need not load it

    return module


class Report(NamedTuple):
    """The result of one tuning.

    name                             name of the tuned function
    winner                           number of the config, in the order given
    rows                             one for each config
    compile_seconds, timing_seconds  how long it took
    """

    name: str
    winner: int
    rows: tuple[Row, ...]
    compile_seconds: float
    timing_seconds: float

    def __str__(self) -> str:
        """Return a table: configs from the fastest to the slowest, then those that did not run."""
        ran = sorted((row for row in self.rows if row.seconds is not None), key=lambda row: row.relative)
        best = self.rows[self.winner]
        spent = f"compiled in {self.compile_seconds:.2f} s, timed in {self.timing_seconds:.2f} s"
        lines = [f"{self.name}: {len(ran)} of {len(self.rows)} configs timed, {spent}"]
        for row in ran:
            mark = "->" if row is best else "  "
            times = f"{(row.seconds or 0.0) * 1e6:10.2f} us  {row.relative:5.3f}x  {row.rounds:2} rounds"
            lines.append(f"{mark} {times}  {row.config}{'; ' * bool(row.note)}{row.note}")
        lines += [f"   not run: {row.config}: {row.note}" for row in self.rows if row.seconds is None]
        return "\n".join(lines)

    def to_bytes(self) -> bytes:
        """Return the report as JSON."""
        text: str = json().dumps({"format": FORMAT, **self._asdict()}, separators=(",", ":"))
        return text.encode()

    @classmethod
    def from_bytes(cls, data: bytes, configs: int) -> Report | None:
        """Return the report that `to_bytes` wrote of a tuning of `configs` configs; None for other bytes."""
        try:
            plain: dict[str, Any] = json().loads(data)
            if plain.pop("format") != FORMAT:
                return None
            rows = tuple(Row(*row) for row in plain.pop("rows"))
            report = cls(rows=rows, **plain)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None
        whole = type(report.winner) is int and 0 <= report.winner < configs == len(rows)
        return report if whole and rows[report.winner].seconds is not None else None


def rows_of(
    configs: Sequence[Any],
    outcomes: dict[int, Compilation],
    failed: dict[int, Exception],
    times: dict[int, list[float]],
    best: list[float],
) -> tuple[Row, ...]:
    """Return a row for each config; `best` are the winner's times."""
    numbers = range(len(configs))
    return tuple(_row(configs[i], outcomes.get(i), failed.get(i), times.get(i), best) for i in numbers)


def _row(
    config: Any, outcome: Compilation | None, failure: Exception | None, times: list[float] | None, best: list[float]
) -> Row:
    if outcome is None:
        return Row(str(config), None, 0, "pruned")
    error = outcome.error or failure
    if error is not None or times is None:
        return Row(str(config), None, 0, f"{type(error).__name__}: {error}".partition("\n")[0])
    relative = median([seconds / least for seconds, least in zip(times, best, strict=False)])
    return Row(str(config), median(times), len(times), _resources(outcome), relative)


def _resources(outcome: Compilation) -> str:
    """Return registers and spills in words, which often explain a time."""
    registers = "+".join(str(kernel.registers) for kernel in outcome.kernels)
    spilled = sum(max(kernel.spills, 0) for kernel in outcome.kernels)
    words = [f"{registers} registers"] if registers else []
    return ", ".join(words + [f"{spilled} bytes spilled"] * bool(spilled))


def none_runs(name: str, configs: Sequence[Any], errors: dict[int, Exception]) -> AutotuneError:
    """Return the error for the case that every config failed: each reason once, with its configs."""
    reasons: dict[str, list[str]] = {}
    for i, error in sorted(errors.items()):
        reasons.setdefault(f"{type(error).__name__}: {error}", []).append(str(configs[i]))
    lines = [f"{name}: none of {len(errors)} configs runs"]
    for reason, which in reasons.items():
        lines.append(f"{'all of them' if len(reasons) == 1 else ', '.join(which)}: {reason}")
    return AutotuneError("\n".join(lines))
