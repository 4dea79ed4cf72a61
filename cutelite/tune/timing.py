"""Seconds on the GPU, measured fairly: with a cold cache, without the host's time, under the same conditions for all.

In    a call for each config, and their arguments
Out   for each call that runs, a function that times it once more; for the others, the error

A CUDA graph holds many calls, so that the host's time does not count; each uses the next of several copies
of the arguments, so that L2 does not hold them. Calls that cannot be captured (for example because they wait for a
result), or whose arrays cannot be copied, are timed one by one between two events. L2 is overwritten before each, which
takes the GPU longer than the host takes to launch.

The rest of this room only uses the protocol `Timer`: anything that returns seconds can take its place.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import cycle
from time import perf_counter
from typing import Any, Protocol

import cutelite_rt as rt
from cutelite.dispatch.divert import diverted
from cutelite.dispatch.kernel import Kernel
from cutelite.dispatch.launch import Launch
from cutelite.tune.problem import Call
from cutelite.tune.race import median
from cutelite.tune.sets import Sets
from cutelite.tuples import NamedTuple
from cutelite_rt import CudaError
from cutelite_rt.arrays import stream as streams
from cutelite_rt.gpu.clock import Graph, TimedStream
from cutelite_rt.gpu.driver import STICKY

GRAPH_S = 3e-3
"""The least time that is timed at once, so that the resolution of events is a small part of it, and kernels follow each
other at the clocks of a busy GPU."""
LONGEST_GRAPH_S = 20e-3
MOST_CALLS = 64
"""The most calls in one graph, and sets: the host captures each call, which takes it some tenths of a millisecond."""
MOST_REPLAYS = 100
"""The most replays of a graph that are timed at once."""
WARM_UP_S = 0.3
"""Time of work before anything is measured, in which clocks and power settle."""
AHEAD_S, LONGEST_AHEAD_S = 0.5e-3, 20e-3
"""The time of what keeps the GPU busy while the host launches a single call that is timed; and the longest of it, where
the host takes longer and the call is timed again."""
TRIES = 3
"""How often a call is timed whose launch takes longer than what is ahead of it: one that waits always does."""
FILLS = 8
"""How many fills in a row tell how long one takes, without the host's time."""
HOPELESS, HOPELESS_S = 5.0, 1e-3
"""A config whose first call takes this many times the fastest one is not captured, and not timed again; unless it takes
less than so many seconds, which may be the host's: where others use its cores, 80 us have been seen for 1.6."""


class Trials(NamedTuple):
    """Functions that time a call once more, by config; and the errors of configs that do not run."""

    seconds: dict[int, Callable[[], float]]
    failed: dict[int, Exception]


class Timer(Protocol):
    """A way to time calls. The default is `on_gpu`; tests pass others to `autotune(timer=...)`.

    calls     config number -> the function to time, which is called with the arguments of a set
    sets      the sets of arguments; `args, kwargs = sets.sets[0]` are the caller's own
    restored  whether to call `sets.refresh()` before each timing
    """

    def __call__(
        self, calls: Mapping[int, Call], sets: Sets, stream: TimedStream, restored: bool
    ) -> AbstractContextManager[Trials]: ...


@lru_cache(maxsize=64)
def _timed_stream(ordinal: int, context: int) -> TimedStream:
    """Return the stream of a context. It has only one: libraries keep memory for every stream that they see."""
    return TimedStream(rt.device(ordinal))


def timed_stream_on(ordinal: int) -> TimedStream:
    """Return the stream in which calls are timed, in the current context of a GPU."""
    device = rt.device(ordinal)
    with device.active() as context:
        return _timed_stream(ordinal, int(device.driver.call("cuCtxGetId", context)))


def libraries_here() -> set[str]:
    """Return the array libraries with a current stream that this process has loaded."""
    return {"torch", "cupy"} & sys.modules.keys()


@contextmanager
def in_timed_stream(stream: TimedStream, sets: Sets) -> Iterator[None]:
    """Put all work of this thread into the stream, after the work that makes the arrays of `sets`."""
    with stream.device.active():
        stream.follow(streams.current(sets.views))  # the arrays may still be being made
    with working_in(stream, {view.library for view in sets.views}):
        yield


@contextmanager
def working_in(stream: TimedStream, libraries: Iterable[str]) -> Iterator[None]:
    """Put all work of this thread into the stream: cutelite's kernels, and libraries' work in their current stream."""

    def launched(kernel: Kernel, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        with diverted(None):
            kernel.launch(replace(launch, stream=stream.handle), *args, **kwargs)

    current = streams.made_current(stream.handle, stream.device.ordinal, libraries)
    with stream.device.active(), diverted(launched), current:
        try:
            yield
        finally:
            stream.wait()


@contextmanager
def on_gpu(calls: Mapping[int, Call], sets: Sets, stream: TimedStream, restored: bool) -> Iterator[Trials]:
    """Time calls on the GPU: the default `Timer`. Errors: `CudaError` if a kernel has broken the context."""
    with in_timed_stream(stream, sets), ExitStack() as opened:
        first, failed = _first(calls, sets, stream)
        sets.refresh()
        most = max(HOPELESS_S, HOPELESS * min(first.values(), default=0.0))
        fast = {i: seconds for i, seconds in first.items() if seconds <= most}
        running = {i: calls[i] for i in fast}
        restore = sets.refresh if restored else None
        captured = _captured(running, fast, sets, stream, opened, restore) if sets.movable else None
        seconds = _open(running, sets, stream, restore) if captured is None else captured
        _warm(list(seconds.values()))
        slow = {i: _constantly(first[i]) for i in first if i not in fast}
        yield Trials(seconds | slow, failed)


def _first(calls: Mapping[int, Call], sets: Sets, stream: TimedStream) -> tuple[dict[int, float], dict[int, Exception]]:
    """Return the seconds of a call, the faster of two after one that loads it; and errors.

    The host's time is left out, which for the first calls of a config may be a hundred times that of its kernel.
    """
    first: dict[int, float] = {}
    failed: dict[int, Exception] = {}
    (args, kwargs), once = sets.sets[0], _once(sets, stream)
    for i, call in calls.items():
        try:
            call(*args, **kwargs)
            stream.wait()
            first[i] = min(once(call) for _ in range(2))
        except Exception as error:
            if isinstance(error, CudaError) and error.number in STICKY:
                error.add_note("while a config was timed for the first time; the context is lost")
                raise
            failed[i] = error
    return first, failed


def _once(sets: Sets, stream: TimedStream, restore: Callable[[], object] | None = None) -> Callable[[Call], float]:
    """Return a function that times a single call, behind work that overwrites L2 and takes longer than the host does.

    How long that is is not known before: the host may launch a kernel for the first or second time, or have others to
    serve. So a call that took it longer is timed again, behind more.
    """
    (args, kwargs), nbytes = sets.sets[0], 2 * stream.device.limits.l2_bytes
    other = rt.empty((nbytes,), "u8", stream.device)

    def fill(times: int) -> None:
        for _ in range(times):
            stream.fill(other.pointer, nbytes)

    each = max(min(stream.timed(lambda: fill(FILLS)) for _ in range(TRIES)) / FILLS, 1e-5)

    def once(call: Call) -> float:
        ahead, spent, found = AHEAD_S, 0.0, math.inf

        def launch() -> None:
            nonlocal spent
            started = perf_counter()
            call(*args, **kwargs)
            spent = perf_counter() - started

        for _ in range(TRIES):
            if restore:
                restore()
            fill(math.ceil(ahead / each))
            found = min(found, stream.timed(launch))
            if spent < ahead:
                break
            ahead = min(LONGEST_AHEAD_S, 2 * spent)
        return found

    return once


def _captured(
    calls: Mapping[int, Call], first: Mapping[int, float], sets: Sets, stream: TimedStream, opened: ExitStack,
    restore: Callable[[], object] | None,
) -> dict[int, Callable[[], float]] | None:  # fmt: skip
    """Return functions that time a graph of each call; None if one cannot be captured: all must be timed alike."""
    if not calls:
        return {}
    sets.grow(_at_most(LONGEST_GRAPH_S, min(first.values())))
    counts = {}
    for i, seconds in first.items():
        counts[i] = min(_at_most(LONGEST_GRAPH_S, seconds), max(len(sets.sets), _at_most(GRAPH_S, seconds)))
    graphs = stream.all_captured({i: _in_a_row(call, counts[i], sets) for i, call in calls.items()}, opened)
    if graphs is None:
        return None
    return {i: _of_graph(graph, counts[i], stream, restore) for i, graph in graphs.items()}


def _at_most(seconds: float, each: float) -> int:
    return max(1, min(MOST_CALLS, int(seconds / max(each, 1e-7))))


def _in_a_row(call: Call, count: int, sets: Sets) -> Callable[[], None]:
    def work() -> None:
        for i in range(count):
            args, kwargs = sets.sets[i % len(sets.sets)]
            call(*args, **kwargs)

    return work


def _of_graph(
    graph: Graph, count: int, stream: TimedStream, restore: Callable[[], object] | None
) -> Callable[[], float]:  # fmt: skip
    """Return a function that times as many replays as take `GRAPH_S`, one where arrays are to be restored before each.

    Each time replays that do not count come first: behind another config, a replay takes up to a tenth less or more, by
    how that has left the clocks.
    """
    times = 1
    if restore is None:
        graph.replay()  # the first one is slow
        times = max(1, min(MOST_REPLAYS, round(GRAPH_S / max(stream.timed(graph.replay), 1e-7))))

    def replays() -> None:
        for _ in range(times):
            graph.replay()

    def settled() -> float:
        for _ in range(2):
            if restore:
                restore()
            found = stream.timed(replays)
        return found / (count * times)

    return settled


def _open(
    calls: Mapping[int, Call], sets: Sets, stream: TimedStream, restore: Callable[[], object] | None
) -> dict[int, Callable[[], float]]:  # fmt: skip
    """Return functions that time single calls, each after all of L2 has been overwritten."""
    once = _once(sets, stream, restore)

    def trial(call: Call) -> Callable[[], float]:
        return lambda: median([once(call) for _ in range(5)])

    return {i: trial(call) for i, call in calls.items()}


def _warm(trials: Iterable[Callable[[], float]]) -> None:
    end = perf_counter() + WARM_UP_S
    for trial in cycle(trials):
        trial()
        if perf_counter() > end:
            return


def _constantly(seconds: float) -> Callable[[], float]:
    return lambda: seconds
