"""Compare the values of all ops of a launch on a GPU with the simulator's, and find the first op that differs.

In    logs that a kernel compiled with the option `record` writes on a GPU (`lower/records.py` describes them)
Out   `Step`s that differ, in the order in which the simulator executes them

The simulator executes the same ops, and each value is compared as it is computed. Its order is one that the kernel may
take, in which an op's operands come before it. So at the first difference in this order the operands still agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import cutelite_rt as rt
from cutelite.diag.progress import Progress
from cutelite.dispatch.against import Step, Writers, beyond
from cutelite.dispatch.launch import LaunchError
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.function import Function
from cutelite.ir.op import Op
from cutelite.ir.types import Type, elem_of
from cutelite.ops.debug import record_words, recorded_ops

Array = Any

MOST_BYTES = 1 << 28
"""Logs take at most this much memory."""

LEAST_WORDS = 1 << 10
"""Each thread's log has at least this many words. Where memory is too small for that, the last blocks have no logs."""


class Log:
    """The records of a launch: `words` (threads, words of a log), which begin at word `first` of each thread's records.

    end  records that begin at this word or later are not in the log
    """

    def __init__(self, words: Array, first: int, end: int) -> None:
        self.words, self.first, self.end = words, first, end


class Logs:
    """The logs of a kernel in a GPU's memory, for several launches."""

    def __init__(self, function: rt.Function, grid: tuple[int, ...], block: tuple[int, ...], longest: int) -> None:
        self.function, self.threads = function, math.prod(block)
        total = math.prod(grid)
        self.window = max(LEAST_WORDS, MOST_BYTES // 4 // (self.threads * total) - longest)
        self.stride = self.window + longest  # a record that begins in the window may end after it
        self.blocks = min(total, max(1, MOST_BYTES // 4 // (self.threads * self.stride)))

    def launched(self, number: int, launch: Any) -> Log:
        """Call `launch`, and return window `number` of what it recorded."""
        device, first = self.function.device, number * self.window
        memory = rt.to_device(np.zeros(self.blocks * self.threads * self.stride, np.uint32), device)
        sizes = 4 * first, 4 * self.window, 4 * self.stride
        rt.write_global(self.function, "cutelite_records", memory.pointer, self.blocks, *sizes)
        launch()
        words = rt.from_device(memory).reshape(self.blocks * self.threads, self.stride)
        rt.write_global(self.function, "cutelite_records", 0, 0, 0, 0, 0)
        return Log(words, first, first + self.window)


class Follower(Writers):
    """An observer of a simulation that compares each recorded value with a `Log`.

    steps     differences, at most one for each op, in order
    compared  number of records compared; `beyond`: of records outside this window; `further`: whether some come later
    """

    def __init__(self, log: Log, texts: Mapping[int, str], threads: int, blocks: int, tolerance: float | None) -> None:
        super().__init__()
        self.log, self.texts, self.threads, self.tolerance = log, texts, threads, tolerance
        self.steps: dict[int, Step] = {}
        self.compared = self.beyond = 0
        self._at = np.zeros(blocks * threads, np.int64)  # words that each thread has recorded
        self._lost = np.zeros(blocks * threads, bool)  # threads that took another path on the GPU
        self._visits: dict[int, Array] = {}
        self._latest: dict[int, Any] = {}  # by row: the record that a thread made last

    @property
    def further(self) -> bool:
        """True where threads of blocks with a log have recorded more than the window holds."""
        return bool((self._at[: len(self.log.words)] > self.log.end).any())

    def step(self, op: Op, lanes: Any) -> None:
        if op.name != "record":
            return
        record: Any = op
        rows = lanes.machine.index * self.threads + lanes.tid[lanes.mask]
        value = np.asarray(lanes.get(record.value))[lanes.mask].reshape(len(rows), -1)
        visits = self._visits.setdefault(record.number, np.zeros(len(self._at), np.int64))
        at = self._at[rows]
        logged = (rows < len(self.log.words)) & (at >= self.log.first) & (at < self.log.end)
        inside = logged & ~self._lost[rows]
        self.beyond += int(np.count_nonzero(~logged))
        if inside.any():
            kept = np.flatnonzero(inside)
            self._compare(record, rows[kept], at[kept] - self.log.first, value[kept], visits)
        self._at[rows] += record_words(record.value.type)
        visits[rows] += 1

    def _compare(self, record: Any, rows: Array, at: Array, value: Array, visits: Array) -> None:
        self.compared += len(rows)
        size = record_words(record.value.type)
        words = self.log.words[rows[:, None], at[:, None] + np.arange(size)]
        other = words[:, 0] != record.number + 1
        for row in rows[~other].tolist():
            self._latest[row] = record
        gpu = decoded(words[:, 1:], record.value.type)
        apart = differing(gpu, value, record.value.type, self.tolerance) & ~other[:, None]
        self._lost[rows[other]] = True
        if not (other.any() or apart.any()) or record.number in self.steps:
            return
        wrong = other | apart.any(axis=1)
        i = int(np.flatnonzero(wrong)[0])
        row = int(rows[i])
        facts = self._facts(record, row, int(visits[row]))
        count = (int(wrong.sum()), len(rows))
        if other[i]:
            number = int(words[i, 0]) - 1
            found = self.texts.get(number, "another op") if number >= 0 else ""
            self.steps[record.number] = Step("path", *facts, None, found, 0.0, *count)
            return
        j = int(np.flatnonzero(apart[i])[0])
        element = j if value.shape[1] > 1 else None
        self.steps[record.number] = Step("value", *facts, element, float(gpu[i, j]), float(value[i, j]), *count)

    def _facts(self, record: Any, row: int, visit: int) -> tuple[Any, str, str, int, int, int]:
        """Return a `Step`'s span, op, name, block, thread and visit."""
        made, name = record.value.op.name, record.value.hint or ""
        return record.span, made, name, row // self.threads, row % self.threads, visit

    def finish(self) -> None:
        """After the simulation, look for threads that recorded more ops on the GPU."""
        rows = np.flatnonzero(~self._lost[: len(self.log.words)])
        at = self._at[rows]
        inside = (at >= self.log.first) & (at < self.log.end)
        rows, at = rows[inside], at[inside] - self.log.first
        more = rows[self.log.words[rows, at] != 0]
        if not len(more):
            return
        row = int(more[0])
        last = self._latest.get(row)
        number = int(self.log.words[row, self._at[row] - self.log.first]) - 1
        if last is not None and last.number not in self.steps:
            facts = self._facts(last, row, int(self._visits[last.number][row]) - 1)
            text = self.texts.get(number, "another op")
            self.steps[last.number] = Step("path", *facts, None, f"{text} behind this", 0.0, len(more), len(rows))


def decoded(words: Array, t: Type) -> Array:
    """Return the elements, as NumPy has them, whose bits are in `words`."""
    elem = elem_of(t)
    if elem.kind == "bool":
        return words != 0
    if elem.bits == 64:
        return np.ascontiguousarray(words).view(np.uint64).view(numpy_dtype(elem))
    return np.ascontiguousarray(words.astype(f"u{elem.bits // 8}")).view(numpy_dtype(elem))


def differing(gpu: Array, simulator: Array, t: Type, tolerance: float | None) -> Array:
    """Return which elements differ by more than rounding, relative to the largest element of all the threads."""
    elem = elem_of(t)
    simulator = simulator.astype(gpu.dtype, copy=False)
    if not elem.is_float:
        return gpu != simulator
    return beyond(gpu.astype(np.float64), simulator.astype(np.float64), elem.name, tolerance)[0]


def by_line(
    logs: Logs,
    launch: Callable[[], Any],
    simulate: Callable[[Follower], Any],
    restore: Callable[[], None],
    function: Function,
    blocks: int,
    tolerance: float | None,
) -> list[Follower]:
    """Compare a launch's values with the simulator's, window by window, until some differ or there are no more.

    launch    launches on the GPU; `simulate` runs the simulator; `restore` makes all arrays what they were before both
    function  what the simulator runs
    """  # fmt: skip
    texts = {number: op["what"] for number, op in recorded_ops(function.ops()).items()}
    found: list[Follower] = []
    with Progress("comparing by line") as progress:
        while not found or (found[-1].further and not found[-1].steps):
            restore()
            log = logs.launched(len(found), launch)
            found.append(Follower(log, texts, logs.threads, blocks, tolerance))
            simulate(found[-1])
            found[-1].finish()
            progress.step()
    return found


def longest(function: Function) -> int:
    """Return the number of words of the longest record of a kernel."""
    return max((record_words(op["value"].type) for op in recorded_ops(function.ops()).values()), default=1)


def check_same(kernel: str, compiled: Mapping[str, str], function: Function) -> None:
    """Check that the GPU's and the simulator's code have the same recorded ops. Errors: `LaunchError`."""
    simulated = {number: op["what"] for number, op in recorded_ops(function.ops()).items()}
    for number, text in compiled.items():
        if simulated.get(int(number)) != text:
            raise LaunchError(
                f"{kernel} runs other code on a GPU than in the simulator, from {text} on: where a function of "
                "`cl.extern` stands for another, ops cannot be compared; compare by='kernel'"
            )


def remark(followers: list[Follower], agree: bool) -> str:
    """Return a sentence to print with the steps; `agree`: the arrays agree now that values are recorded."""
    last = followers[-1]
    if last.steps:
        return (
            f"{last.beyond} values were not compared, for want of room" if last.beyond and len(followers) == 1 else ""
        )
    count = sum(follower.compared for follower in followers)
    if agree:
        return (
            f"With values recorded GPU and simulator agree, on arrays and on {count} values: the difference depends on "
            "times, as one of a race does; `kernel.check` looks for races"
        )
    return (
        f"All {count} values that were compared agree: the difference is in what threads do not hold in registers, "
        "such as copies and stores, or depends on atomics, clocks or polls, whose values are not compared"
    )
