"""Events that a kernel records (`cl.profile`), and their form in the trace-event format.

The simulator's timeline and profiles of a GPU have the same form: blocks are processes; rows from `MARKS` on are warps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cutelite.tuples import NamedTuple

MARKS = 500
"""The row of a warp's events is this plus the warp's number: after the rows of warps, before those of barriers."""

CYCLES_IN_A_MICROSECOND = 1000
"""The file's times are in microseconds; a cycle is shown as a nanosecond."""

COMMITS = {"commit": "wait", "acquire": "wait"}
"""Range that fills a pipeline's buffer -> range that waits for it. `commit` is used where a kernel has it."""


class Mark(NamedTuple):
    """An event.

    block  its index in the grid, x fastest; `warp` is the number in the block, `lane` the lane that recorded the event
    sm     the multiprocessor; -1 in the simulator
    cycle  cycles since the first warp of the kernel started
    phase  'mark', or 'begin' and 'end' of a range
    value  the value given; None without one. Profiles of a GPU have 0 instead
    """

    block: int
    warp: int
    lane: int
    sm: int
    cycle: float
    phase: str
    name: str
    value: int | None


class Range(NamedTuple):
    """A range of a warp, from its begin to its end; an instant has the same mark for both."""

    begin: Mark
    end: Mark


def ranges(marks: Iterable[Mark]) -> Iterator[Range]:
    """Yield instants, and ranges as they end. A begin or end whose counterpart was lost is left out."""
    opened: dict[tuple[int, int, int, str], list[Mark]] = defaultdict(list)
    for mark in sorted(marks, key=lambda mark: mark.cycle):
        key = (mark.block, mark.warp, mark.lane, mark.name)
        if mark.phase == "mark":
            yield Range(mark, mark)
        elif mark.phase == "begin":
            opened[key].append(mark)
        elif opened[key]:
            yield Range(opened[key].pop(), mark)


def trace_events(marks: Iterable[Mark]) -> list[dict[str, Any]]:
    """Return the events in the trace-event format: slices, instants, and flows from a buffer's filling to its waits."""
    found, events = list(ranges(marks)), []
    for begin, end in found:
        value = {} if begin.value is None else {"value": begin.value}
        name = begin.name if begin.value is None else f"{begin.name} {begin.value}"
        row = {"pid": begin.block, "tid": MARKS + begin.warp, "ts": begin.cycle / CYCLES_IN_A_MICROSECOND}
        event = {"name": name, **row, "args": {"sm": begin.sm, "lane": begin.lane, **value}}
        if begin is end:
            events.append({**event, "ph": "i", "s": "t"})
        else:
            events.append({**event, "ph": "X", "dur": (end.cycle - begin.cycle) / CYCLES_IN_A_MICROSECOND})
    return [*events, *_flows(found)]


def _flows(found: list[Range]) -> Iterator[dict[str, Any]]:
    """Yield an arrow from the n-th filling of a buffer to the n-th wait of each warp for it."""
    names = {each.begin.name for each in found}
    filling = next((name for name in COMMITS if name in names), None)
    filled: dict[tuple[int, int | None], list[Mark]] = defaultdict(list)
    waited: dict[tuple[int, int | None, int], int] = defaultdict(int)
    for each in found:
        if each.begin.name == filling:
            filled[each.end.block, each.end.value].append(each.end)
    number = 0
    for each in found if filling else ():
        at = each.end
        if at.name != COMMITS[filling or ""] or (at.block, at.value) not in filled:
            continue
        turn = waited[at.block, at.value, at.warp]
        waited[at.block, at.value, at.warp] += 1
        sources = filled[at.block, at.value]
        if turn < len(sources):
            number += 1
            yield _arrow("s", number, sources[turn])
            yield {**_arrow("f", number, at), "bp": "e"}


def _arrow(phase: str, number: int, at: Mark) -> dict[str, Any]:
    return {"name": "buffer", "cat": "buffer", "ph": phase, "id": number, "pid": at.block, "tid": MARKS + at.warp,
            "ts": at.cycle / CYCLES_IN_A_MICROSECOND}  # fmt: skip


def row_names(kernel: str, rows: Mapping[tuple[int, int], str]) -> Iterator[dict[str, Any]]:
    """Yield the names of blocks, and of their rows by (block, row); rows are shown in the order of their numbers."""

    def meta(kind: str, block: int, row: int, **args: Any) -> dict[str, Any]:
        return {"name": kind, "ph": "M", "pid": block, "tid": row, "ts": 0, "args": args}

    for block in sorted({block for block, _ in rows}):
        yield meta("process_name", block, 0, name=f"{kernel}, block {block}")
    for (block, row), name in sorted(rows.items()):
        yield meta("thread_name", block, row, name=name)
        yield meta("thread_sort_index", block, row, sort_index=row)


def order(marks: Iterable[Mark], block: int, warp: int) -> list[tuple[str, str, int]]:
    """Return (phase, name, value) of a warp's events, in the order of time; 0 for no value."""
    mine = [mark for mark in marks if (mark.block, mark.warp) == (block, warp)]
    return [(mark.phase, mark.name, mark.value or 0) for mark in sorted(mine, key=lambda mark: mark.cycle)]
