"""Seconds that work takes on the GPU, by a method that does not flatter; rivals under the same conditions, in turns.

In    functions without arguments that put work into the current stream
Out   a `Timing` of each
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import Any, Literal, NamedTuple, overload

import cutelite_rt as rt
from cutelite.bench.machine import Nvml, Sample
from cutelite.diag.progress import Progress
from cutelite.tune.race import median
from cutelite.tune.timing import libraries_here, timed_stream_on, working_in
from cutelite_rt.gpu.clock import TimedStream

Work = Callable[[], object]
Cache = Literal["cold", "warm"]

ROUNDS = 15
WARM_UP_S = 0.3
"""Work before anything counts, for clocks and power to settle."""
GRAPH_S = 3e-3
"""The time that calls in a row should take, so that the resolution of events is a small part of it."""
MOST_CALLS = 512
COLD_CALLS = 5
"""Calls of each round, each after the cache has been overwritten."""


class Timing(NamedTuple):
    """The time of a call on the GPU.

    seconds    the median of the rounds; `low` and `high` are their quartiles
    rounds     seconds of a call in each round, in their order
    cache      'cold': L2 was overwritten before each call; 'warm': calls followed each other
    graph      whether calls were captured, so that the host does not count
    clock_mhz  median clock of the multiprocessors between rounds; `power_w` likewise. None without NVML
    """

    name: str
    seconds: float
    low: float
    high: float
    rounds: tuple[float, ...]
    cache: Cache
    graph: bool
    clock_mhz: float | None
    power_w: float | None

    @property
    def us(self) -> float:
        """The median in microseconds."""
        return self.seconds * 1e6

    def rate(self, work: float) -> float:
        """Return `work` (FLOPs, bytes) in a second."""
        return work / self.seconds

    def __str__(self) -> str:
        spread = (self.high - self.low) / self.seconds / 2
        facts = [f"{self.cache} L2", *([] if self.graph else ["no graph"])]
        facts += [] if self.clock_mhz is None else [f"{self.clock_mhz:.0f} MHz"]
        facts += [] if self.power_w is None else [f"{self.power_w:.0f} W"]
        return f"{self.name}: {self.us:.2f} us +- {spread:.1%} ({', '.join(facts)})"


@overload
def do_bench(
    fn: Work, *, cache: Cache = ..., graph: bool | None = ..., rounds: int = ..., device: int | None = ...
) -> Timing: ...
@overload
def do_bench(
    fn: Mapping[str, Work], *, cache: Cache = ..., graph: bool | None = ..., rounds: int = ..., device: int | None = ...
) -> dict[str, Timing]: ...
def do_bench(
    fn: Work | Mapping[str, Work],
    *,
    cache: Cache = "cold",
    graph: bool | None = None,
    rounds: int = ROUNDS,
    device: int | None = None,
) -> Timing | dict[str, Timing]:
    """Time work on the GPU, in seconds of a call; several, by name, in turns under the same conditions.

    fn      a function that puts work into the current stream of torch or CuPy, or launches kernels; or rivals by name
    cache   'cold': all of L2 is overwritten before each call; 'warm': calls follow each other, on the same input
    graph   True: capture calls in a CUDA graph, so that the host does not count; False: launch them; None: capture what
            can be captured, all alike
    rounds  each times every rival once, in an order of its own
    device  ordinal of the GPU; default: the current one
    Errors  ValueError; `CudaError`; what `fn` raises, when it is first called or, with ``graph=True``, captured
    """
    if cache not in ("cold", "warm"):
        raise ValueError(f"a cache is 'cold' or 'warm', not {cache!r}")
    if rounds < 1:
        raise ValueError(f"{rounds} rounds measure nothing")
    rivals = fn if isinstance(fn, Mapping) else {getattr(fn, "__name__", "call"): fn}
    stream = timed_stream_on(rt.device().ordinal if device is None else device)
    with stream.device.active():
        stream.device.driver.call("cuCtxSynchronize")  # what makes inputs is in other streams
    with working_in(stream, libraries_here()), _trials(rivals, cache, graph, stream) as (trials, captured):
        times, samples = measured(trials, rounds, Nvml(stream.device).sample)
    found = {name: _timing(name, times[name], cache, captured, samples[name]) for name in rivals}
    return found if isinstance(fn, Mapping) else next(iter(found.values()))


def measured(
    trials: Mapping[str, Callable[[], float]], rounds: int, sample: Callable[[], Sample], warm_up: float | None = None
) -> tuple[dict[str, list[float]], dict[str, list[Sample]]]:
    """Return seconds and samples of each trial by round: warmed up, then in turns, each round in its own order."""
    end = perf_counter() + (WARM_UP_S if warm_up is None else warm_up)
    times: dict[str, list[float]] = {name: [] for name in trials}
    samples: dict[str, list[Sample]] = {name: [] for name in trials}
    names, source = list(trials), random.Random(0)
    with Progress("measuring", total=rounds) as progress:
        while perf_counter() < end:
            for name in names:
                trials[name]()
        for _ in range(rounds):
            source.shuffle(names)
            for name in names:
                times[name].append(trials[name]())
                samples[name].append(sample())
            progress.step()
    return times, samples


def _timing(name: str, times: list[float], cache: Cache, graph: bool, samples: list[Sample]) -> Timing:
    ordered = sorted(times)
    low, high = ordered[len(ordered) // 4], ordered[-1 - len(ordered) // 4]
    clock, power = (_median_known(values) for values in zip(*samples, strict=True))
    return Timing(name, median(times), low, high, tuple(times), cache, graph, clock, power)


def _median_known(values: tuple[Any, ...]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


@contextmanager
def _trials(
    rivals: Mapping[str, Work], cache: Cache, graph: bool | None, stream: TimedStream
) -> Iterator[tuple[dict[str, Callable[[], float]], bool]]:
    """Give functions that time a call of each rival once more, and whether calls are captured."""
    counts = {}
    for name, work in rivals.items():
        work()  # compiles, loads
        stream.wait()
        seconds = min(stream.timed(lambda: work()) for _ in range(2))  # noqa: B023  (called here)
        counts[name] = 1 if cache == "cold" else max(1, min(MOST_CALLS, int(GRAPH_S / max(seconds, 1e-7))))
    with ExitStack() as opened:
        rows = {name: _in_a_row(work, counts[name]) for name, work in rivals.items()}
        graphs = None if graph is False else stream.all_captured(rows, opened, must=bool(graph))
        batches = rows if graphs is None else {name: captured.replay for name, captured in graphs.items()}
        nbytes = 2 * stream.device.limits.l2_bytes if cache == "cold" else 0
        other = rt.empty((nbytes,), "u8", stream.device) if nbytes else None

        def trial(name: str) -> Callable[[], float]:
            batch, count = batches[name], counts[name]

            def once() -> float:
                if other is not None:
                    stream.fill(other.pointer, nbytes)
                else:  # after a slow neighbour, which lets the chip cool, the first is up to a tenth faster than others
                    batch()
                return stream.timed(batch) / count

            def several() -> float:
                return median([once() for _ in range(COLD_CALLS)])

            return several if cache == "cold" else once

        yield {name: trial(name) for name in rivals}, graphs is not None


def _in_a_row(work: Work, count: int) -> Work:
    def row() -> None:
        for _ in range(count):
            work()

    return row
