"""Competing functions timed at several shapes: a table, CSV, SVG."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from cutelite.bench.chart import bars
from cutelite.bench.measure import Cache, Timing, Work, do_bench
from cutelite.diag.progress import Progress
from cutelite.tuples import NamedTuple
from cutelite_rt import CudaError
from cutelite_rt.gpu.driver import STICKY

Shape = tuple[Any, ...]
Bench = Callable[..., Mapping[str, Timing]]


class Row(NamedTuple):
    """The timings of one shape; `failed` has the competitors that cannot run it, and why."""

    shape: Shape
    work: float | None
    timings: Mapping[str, Timing]
    failed: Mapping[str, str]


class Comparison:
    """Timings of competitors at several shapes. ``print(comparison)`` shows a table; `save` writes .csv, .svg or .txt.

    unit  of the numbers: 'us', or 'TFLOPS' or 'GB/s' for the `work` done in a second
    """

    def __init__(self, title: str, unit: str, scale: float, rows: list[Row]) -> None:
        self.title, self.unit, self.scale, self.rows = title, unit, scale, rows
        self.rivals = list(dict.fromkeys(name for row in rows for name in (*row.timings, *row.failed)))

    def figure(self, row: Row, rival: str) -> float | None:
        """Return a competitor's number in the table's unit; None if it cannot run that shape."""
        timing = row.timings.get(rival)
        if timing is None:
            return None
        return timing.us if row.work is None else timing.rate(row.work) / self.scale

    def table(self) -> str:
        """Return the table as text; in each row the best number has a star."""
        cells = [["shape", *(f"{rival} ({self.unit})" for rival in self.rivals)]]
        for row in self.rows:
            figures = {rival: self.figure(row, rival) for rival in self.rivals}
            known = [figure for figure in figures.values() if figure is not None]
            best = (min if row.work is None else max)(known, default=None)
            shown = [
                "failed" if figure is None else f"{figure:.1f}{'*' if figure == best else ' '}"
                for figure in figures.values()
            ]
            cells.append([_name(row.shape), *shown])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])
            for line in cells
        ]
        reasons = [f"{name} of {_name(row.shape)}: {why}" for row in self.rows for name, why in row.failed.items()]
        return "\n".join([self.title, *(line.rstrip() for line in lines), *reasons])

    def csv(self) -> str:
        """Return the CSV, a line for each shape and competitor: seconds, quartiles, clock, power."""
        text = StringIO()
        writer = csv.writer(text, lineterminator="\n")
        facts = ("cache", "graph", "clock_mhz", "power_w")
        writer.writerow(["shape", "rival", "seconds", "low", "high", self.unit, *facts])
        for row in self.rows:
            for rival, timing in row.timings.items():
                times = timing.seconds, timing.low, timing.high, self.figure(row, rival)
                writer.writerow([_name(row.shape), rival, *times, *(getattr(timing, fact) for fact in facts)])
        return text.getvalue()

    def svg(self) -> str:
        """Return a bar chart as SVG, with a group of bars for each shape."""
        groups = []
        for row in self.rows:
            figures = {rival: self.figure(row, rival) for rival in self.rivals}
            groups.append((_name(row.shape), {name: x for name, x in figures.items() if x is not None}))
        return bars(self.title, self.unit, groups)

    def save(self, path: str | Path) -> Path:
        """Write it to `path`, in the form that its suffix names: .csv, .svg, .txt. Errors: ValueError for another."""
        forms = {".csv": self.csv, ".svg": self.svg, ".txt": self.table}
        to = Path(path)
        if to.suffix not in forms:
            raise ValueError(f"{to.name} must end in one of {', '.join(forms)}")
        to.write_text(forms[to.suffix]())
        return to

    def __str__(self) -> str:
        return self.table()


def compare(
    rivals: Mapping[str, Callable[..., Work]],
    shapes: Iterable[Any],
    *,
    flops: Callable[..., float] | None = None,
    bytes: Callable[..., float] | None = None,
    title: str = "",
    cache: Cache = "cold",
    graph: bool | None = None,
    bench: Bench = do_bench,
    **options: Any,
) -> Comparison:
    """Time competing functions at several shapes. At each shape they are called in turns.

    rivals  name -> a function of a shape, ``make(*shape)``, which makes inputs and returns the call to time
    shapes  tuples, or single numbers
    flops   a function of a shape: the FLOPs of a call. The table is in TFLOPS; with `bytes`, alike, in GB/s. With
            neither it is in microseconds
    title   title of the table and the chart
    bench   times the calls in turns; default: `do_bench`, which takes `cache`, `graph` and the `options`
    Result  ``print(...)``, ``.save("out.svg")``, ``.rows``. A competitor whose `make` or first call raises is reported
            as failed
    Errors  TypeError for other rivals, or both flops and bytes; `CudaError`
    """
    if flops is not None and bytes is not None:
        raise TypeError("compare() takes flops= or bytes=, not both")
    if not isinstance(rivals, Mapping) or not rivals or not all(map(callable, rivals.values())):
        raise TypeError(f"compare() takes a dict of functions of a shape by name, not {rivals!r}")
    work = flops or bytes
    unit, scale = ("us", 1.0) if work is None else ("TFLOPS", 1e12) if flops else ("GB/s", 1e9)
    rows = []
    wanted = [shape if isinstance(shape, tuple) else (shape,) for shape in shapes]
    with Progress(title or "comparing", total=len(wanted)) as progress:
        for shape in wanted:
            calls: dict[str, Work] = {}
            failed: dict[str, str] = {}
            for name, make in rivals.items():
                try:
                    calls[name] = make(*shape)
                    calls[name]()
                except Exception as error:  # of the competitor's code: the table shows it
                    if isinstance(error, CudaError) and error.number in STICKY:
                        raise
                    calls.pop(name, None)
                    failed[name] = f"{type(error).__name__}: {error}"
            timings = bench(calls, cache=cache, graph=graph, **options) if calls else {}
            rows.append(Row(shape, None if work is None else work(*shape), timings, failed))
            progress.step(note=_name(shape))
    return Comparison(title or " and ".join(rivals), unit, scale, rows)


def _name(shape: Shape) -> str:
    return " x ".join(map(str, shape))
