"""One kernel as data for a page: the lines of every stage, the source place of each, and numbers by source line.

A place is an index into ``places``. Each of these is a list of [file, line]: the line itself, then the calls around it.
Lines of a stage without a place have -1.
"""

from __future__ import annotations

import linecache
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutelite import passes, toolchain
from cutelite.builds.build import Build
from cutelite.diag import Span
from cutelite.explore.attribution import attribution
from cutelite.ir.function import Function
from cutelite.ops.tensor import SmemAlloc
from cutelite.sass import KINDS, Loop, Sass
from cutelite.sass.program import ptx_places
from cutelite.tuples import NamedTuple

if TYPE_CHECKING:
    from cutelite.sim import CheckReport, Timeline

Json = dict[str, Any]


class Facts(NamedTuple):
    """Facts of a compiled kernel that the dispatcher knows but the build does not."""

    title: str
    registers: int
    spills: int
    smem: int
    occupancy: dict[str, Any] | None
    warnings: Sequence[str]


class _Places:
    """The places found so far, each once."""

    def __init__(self) -> None:
        self.table: list[list[tuple[int, int]]] = []
        self.files: list[str] = []
        self._known: dict[tuple[tuple[str, int], ...], int] = {}
        self._spans: dict[Span, int] = {}

    def of(self, lines: tuple[tuple[str, int], ...]) -> int:
        if lines not in self._known:
            self._known[lines] = len(self.table)
            self.table.append([(self.file(name), line) for name, line in lines])
        return self._known[lines]

    def span(self, span: Span | None) -> int:
        if span is None:
            return -1
        if span not in self._spans:
            self._spans[span] = self.of(tuple((each.filename, each.line) for each in (span, *span.callers())))
        return self._spans[span]

    def file(self, name: str) -> int:
        if name not in self.files:
            self.files.append(name)
        return self.files.index(name)


def kernel_data(build: Build, facts: Facts, timeline: Timeline | None, report: CheckReport | None) -> Json:
    """Return a kernel as JSON data. `build` must hold source lines (the option `line_info`)."""
    final = build.final
    assert final is not None, "the passes have run"
    places = _Places()
    code = build.source.function.__code__
    places.file(code.co_filename)
    image = build.artifact.cubin if build.artifact else b""
    sass = toolchain.disassemble(image, build.ptx) if image else None
    data: Json = {
        **facts._asdict(),
        "arch": build.target.arch,
        "block": final.attrs.get("block"),
        "cluster": final.attrs.get("cluster"),
        "options": {
            name: value for name, value in vars(build.options).items() if isinstance(value, bool | int | str | None)
        },
        "times": dict(build.times),
        "shared": _shared(final),
        "smem_limit": build.target.smem_per_block,
        "start": code.co_firstlineno,
        "passes": _passes(build, places),
        "ptx": _ptx(build.ptx, places),
        "sass": _sass(sass, image, places) if sass is not None else None,
        "cycles": round(timeline.cycles) if timeline is not None else None,
        "check": None if report is None else report.summary(),
        "kinds": KINDS,
    }
    lines = _Lines(places)
    if sass is not None:
        lines.of_sass(sass, data["sass"]["live"])
        lines.folded(attribution(final, sass).through)
    if timeline is not None:
        lines.of_timeline(timeline)
    if report is not None:
        lines.of_report(report)
    return {**data, "lines": lines.found(), "places": places.table, "files": _files(places)}


def _shared(final: Function) -> list[Json]:
    """Return the tensors of shared memory, in the order of their offsets."""
    found = [
        {"name": op.result.hint or "?", "type": str(op.type), "offset": op["offset"], "bytes": op.bytes,
         "dynamic": op.dynamic, "line": op.span.line if op.span else 0}
        for op in final.ops()
        if isinstance(op, SmemAlloc)
    ]  # fmt: skip
    return sorted(found, key=lambda each: (each["offset"], each["bytes"]))


def _passes(build: Build, places: _Places) -> list[Json]:
    """Return the IR as the frontend made it, and after each pass that changed it."""
    found: list[Json] = []

    def keep(name: str, function: Function) -> None:
        lines = list(function.text().lines())
        text = [text for text, _ in lines]
        if found and text == found[-1]["text"]:
            found[-1]["same"].append(name)
            return
        at = [-1 if op is None else places.span(op.span) for _, op in lines]
        found.append({"name": name, "same": [], "text": text, "at": at})

    keep("front", build.front)
    passes.run(passes.pipeline(build.options.passes), build.front, passes.Context(build.target), dump=keep)
    return found


def _ptx(ptx: str, places: _Places) -> Json:
    at = ptx_places(ptx)
    lines = ptx.splitlines()
    numbers = [number for number, line in enumerate(lines, 1) if not line.lstrip().startswith((".loc", ".file"))]
    ends = next((i for i, number in enumerate(numbers) if ".debug_" in lines[number - 1]), len(numbers))
    return {
        "text": [lines[number - 1] for number in numbers[:ends]],
        "at": [places.of(at[number].lines()) if number in at else -1 for number in numbers[:ends]],
        "number": numbers[:ends],
    }


def _sass(sass: Sass, image: bytes, places: _Places) -> Json:
    code = sass.instructions
    live = toolchain.live_registers(image) or {}
    index = {each: i for i, each in enumerate(code)}
    depth = dict.fromkeys(code, 0)
    for loop in sass.loops:
        for each in loop.instructions:
            depth[each] += 1
    hot = sass.hot

    def loop_data(loop: Loop) -> Json:
        count, first = len(loop.instructions), index[loop.instructions[0]]
        facts = {"depth": loop.depth, "spins": loop.spins, "stalls": loop.stalls}
        return {"first": first, "count": count, "mix": dict(loop.mix), **facts}

    return {
        "text": [each.text for each in code],
        "address": [each.address for each in code],
        "kind": [each.kind for each in code],
        "control": [str(each.control) for each in code],
        "waits": [[index[other] for other in sass.waits_for(each) if other in index] for each in code],
        "live": [live.get(each.address, 0) for each in code],
        "depth": [depth[each] for each in code],
        "target": [-1 if each.target is None else each.target for each in code],
        "ptx": [each.ptx_line or 0 for each in code],
        "at": [-1 if each.place is None else places.of(each.place.lines()) for each in code],
        "mix": dict(sass.mix),
        "hot": None if hot is None else loop_data(hot),
        "loops": [loop_data(loop) for loop in sass.loops],
    }


class _Lines:
    """Numbers by source line."""

    def __init__(self, places: _Places) -> None:
        self.places = places
        self._by_name: dict[str, list[int]] = defaultdict(list)  # numbers of files, by the last part of their name
        self._found: dict[tuple[int, int], Json] = defaultdict(dict)

    def found(self) -> list[Json]:
        return [{"file": file, "line": line, **figures} for (file, line), figures in sorted(self._found.items())]

    def of_sass(self, sass: Sass, live: list[int]) -> None:
        registers = dict(zip(sass.instructions, live, strict=True))
        for (name, line), code in sass.lines.items():
            figures = self._found[self.places.file(name), line]
            figures["mix"] = dict(Counter(each.kind for each in code))
            figures["live"] = max(registers[each] for each in code)

    def folded(self, through: dict[tuple[str, int], tuple[tuple[str, int], ...]]) -> None:
        for (name, line), others in through.items():
            lines = [[self.places.file(other), number] for other, number in others]
            self._found[self.places.file(name), line]["through"] = lines

    def of_timeline(self, timeline: Timeline) -> None:
        """Add the cycles that the warps of all blocks spend at each line, and those in which they wait there."""
        for i, name in enumerate(self.places.files):
            self._by_name[Path(name).name].append(i)
        for event in timeline.of_warps():
            name, _, line = event.get("args", {}).get("line", "").rpartition(":")
            if not name:
                continue
            cycles = round(event["dur"] * 1000)
            for file in self._by_name[name][:1]:
                figures = self._found[file, int(line)]
                figures["cycles"] = figures.get("cycles", 0) + cycles
                if event["name"].startswith("wait"):
                    figures["wait"] = figures.get("wait", 0) + cycles

    def of_report(self, report: CheckReport) -> None:
        for finding in (*report.findings, *report.notes):
            if finding.span is not None:
                figures = self._found[self.places.file(finding.span.filename), finding.span.line]
                told = {"severity": finding.severity, "kind": finding.kind, "text": finding.message,
                        "whole": finding.render()}  # fmt: skip
                figures.setdefault("findings", []).append(told)


def _files(places: _Places) -> list[Json]:
    """Return the source files; of a file that the kernel only calls into, the lines near those that are used."""
    used: dict[int, set[int]] = defaultdict(set)
    for place in places.table:
        for file, line in place:
            used[file].add(line)
    return [
        {"name": name, "text": _kept([line.rstrip("\n") for line in linecache.getlines(name)], used[i], whole=not i)}
        for i, name in enumerate(places.files)
    ]


MARGIN = 12
"""Number of lines that are shown around a used line of another file."""


def _kept(lines: list[str], used: Iterable[int], whole: bool) -> list[tuple[int, str]]:
    """Return (number, text) of the lines to show: all, or those near `used` ones with (0, '...') for gaps."""
    if whole:
        return list(enumerate(lines, 1))
    near = {line for each in used for line in range(each - MARGIN, each + MARGIN + 1)}
    shown = [(number, text) for number, text in enumerate(lines, 1) if number in near]
    gaps = [i for i, (before, after) in enumerate(pairwise(shown), 1) if after[0] != before[0] + 1]
    for i in reversed(gaps):
        shown.insert(i, (0, "..."))
    return shown
