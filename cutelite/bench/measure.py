"""Seconds that work takes on the GPU, measured fairly; competitors in turns, under the same conditions.

In    functions without arguments that put work into the current stream
Out   a `Timing` of each
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import Any, Literal, overload

import cutelite_rt as rt
from cutelite.bench.machine import Nvml, Sample
from cutelite.diag.progress import Progress
from cutelite.tune.race import median
from cutelite.tune.timing import GRAPH_S, WARM_UP_S, libraries_here, timed_stream_on, working_in
from cutelite.tuples import NamedTuple
from cutelite_rt.gpu.clock import TimedStream

Work = Callable[[], object]
Cache = Literal["cold", "warm"]

ROUNDS = 15
MOST_CALLS = 512
COLD_CALLS = 5
"""Calls in each round if the cache is cold; it is overwritten before each."""


class Timing(NamedTuple):
    """The time of a call on the GPU.

    seconds    the median of the rounds; `low` and `high` are their quartiles
    rounds     seconds of a call in each round, in order
    cache      'cold': L2 was overwritten before each call; 'warm': calls followed each other
    graph      whether calls were captured in a graph, so that the host's time does not count
    clock_mhz  median clock of the multiprocessors after each round; `power_w` likewise. None without NVML
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
        """Return the rate: `work` (FLOPs or bytes of a call) in a second."""
        return work / self.seconds

    def __str__(self) -> str:
        spread = (self.high - self.low) / self.seconds / 2
        facts = [f"{self.cache} L2", *([] if self.graph else ["no graph"])]
        facts += [] if self.clock_mhz is None else [f"{self.clock_mhz:.0f} MHz"]
        facts += [] if self.power_w is None else [f"{self.power_w:.0f} W"]
        return f"{self.name}: {self.us:.2f} us +- {spread:.1%} ({', '.join(facts)})"

    def __repr__(self) -> str:
        return f"<{self}>"  # as in a dict of rivals


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
    """Time work on the GPU, in seconds per call; several functions, by name, in turns under the same conditions.

    fn      a function that puts work into the current stream of torch or CuPy, or launches kernels; or several of them
            by name
    cache   'cold': all of L2 is overwritten before each call; 'warm': calls follow each other, on the same input
    graph   True: capture calls in a CUDA graph, so that the host's time does not count; False: launch them; None:
            capture if all of them can be captured
    rounds  number of rounds; each times every function once, in a random order
    device  ordinal of the GPU; default: the current one
    Errors  TypeError, ValueError; `CudaError`; what `fn` raises in its first call or, with ``graph=True``, in a capture
    """
    if cache not in ("cold", "warm"):
        raise ValueError(f"a cache is 'cold' or 'warm', not {cache!r}")
    if rounds < 1:
        raise ValueError(f"rounds must be 1 or more, not {rounds}")
    rivals = fn if isinstance(fn, Mapping) else {getattr(fn, "__name__", "call"): fn}
    if not rivals or not all(map(callable, rivals.values())):
        raise TypeError(f"a function, or a dict of functions by name, is to be timed, not {fn!r}")
    stream = timed_stream_on(rt.device().ordinal if device is None else device)
    with stream.device.active():
        stream.device.driver.call("cuCtxSynchronize")  # the work that makes inputs may be in other streams
    with working_in(stream, libraries_here()), _trials(rivals, cache, graph, stream) as (trials, captured):
        times, samples = measured(trials, rounds, Nvml(stream.device).sample)
    found = {name: _timing(name, times[name], cache, captured, samples[name]) for name in rivals}
    return found if isinstance(fn, Mapping) else next(iter(found.values()))


def measured(
    trials: Mapping[str, Callable[[], float]], rounds: int, sample: Callable[[], Sample], warm_up: float | None = None
) -> tuple[dict[str, list[float]], dict[str, list[Sample]]]:
    """Return seconds and samples of each trial by round. First warm up; then time in turns, in a random order."""
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
    """Yield, by name, functions that time a call once more, and whether the calls are captured."""
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
                else:  # after a slow neighbour, in which the chip cools, the first batch is up to a tenth faster
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
