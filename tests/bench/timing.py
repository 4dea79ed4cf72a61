"""Timing on a GPU of calls by the hundred: captured in torch's CUDA graphs, replayed in turn with their competitors.

`cl.do_bench` is for all else: it warms up for a third of a second, which sweeps over configurations and sizes would
spend on each of them, and captures for itself, while these share graphs and leave out what fails.
"""

import gc
import random
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from cutelite.tune.race import race, winner

ROUNDS, L2_BYTES = 15, 60 << 20


def machine() -> str:
    """What a table of times begins with: the GPU and the versions."""
    return f"# {torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}"


def cold(size: float, of: int = 3 * L2_BYTES, most: int = 64) -> int:
    """How many sets of arrays, `size` bytes each, take turns so that none is in L2 when it comes again."""
    return int(max(2, min(most, -(-of // size))))


def off(found: Any, right: Any) -> float:
    """The error of a result, relative in the Frobenius norm; NaN where an element was not written."""
    return float((found.double() - right).norm() / right.norm())


def graph(call: Callable[[int], Any], buffers: int, repeats: int) -> Any:
    """So many calls as one CUDA graph, so that the host does not count."""
    for i in range(buffers):
        call(i)
    torch.cuda.synchronize()
    gc.collect()  # graphs of before, which would free their memory in the midst of this one
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured, capture_error_mode="relaxed"):
        for i in range(repeats):
            call(i % buffers)
    return captured


def timed(captured: Any, repeats: int) -> float:
    """Seconds a call takes on the GPU."""
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    captured.replay()
    stop.record()
    stop.synchronize()
    return float(start.elapsed_time(stop)) * 1e-3 / repeats


def lasting(
    call: Callable[[], Any], seconds: float, repeats: int = 1, agreed: Callable[[int], int] = lambda count: count
) -> float:
    """Seconds of one of the `repeats` of a call, in the second half of a window that the call is repeated for.

    The first follows the other side: processes start apart, and clocks are those that its power allows.

    agreed  how many calls all processes make of those that this one would, where calls wait for other processes
    """
    call()
    torch.cuda.synchronize()
    took = time.perf_counter()
    call()
    torch.cuda.synchronize()
    count = agreed(max(1, round(seconds / 2 / (time.perf_counter() - took))))
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for recorded in start, stop:
        for _ in range(count):
            call()
        recorded.record()
    stop.synchronize()
    return float(start.elapsed_time(stop)) * 1e-3 / (repeats * count)


class Replay:
    """A graph of as many calls as take about `target` seconds together, `each` being what a call takes.

    Called, it gives the seconds that a call takes, this time: of the second of two replays, since after a slow
    neighbour, which lets the chip cool, the first is up to a tenth faster than those that follow.
    """

    def __init__(self, call: Callable[[int], Any], buffers: int, target: float, each: float) -> None:
        self.repeats = max(buffers, min(2000, int(target / each)))
        self.graph = graph(call, buffers, self.repeats)

    def __call__(self) -> float:
        self.graph.replay()
        return timed(self.graph, self.repeats)


def best(calls: Mapping[str, Callable[[int], Any]], buffers: int, each: float) -> str:
    """The name of the fastest, raced."""
    return winner(race({name: Replay(call, buffers, 3e-3, each) for name, call in calls.items()}))


def rounds(trials: Mapping[str, Callable[[], float]], count: int = ROUNDS) -> dict[str, list[float]]:
    """Seconds of each, in `count` rounds, after one that does not count; each round in an order of its own."""
    times: dict[str, list[float]] = {name: [] for name in trials}
    names, source = list(trials), random.Random(0)
    for number in range(count + 1):
        source.shuffle(names)
        for name in names:
            seconds = trials[name]()
            if number:
                times[name].append(seconds)
    return times


def medians(trials: Mapping[str, Callable[[], float]], count: int = ROUNDS) -> dict[str, float]:
    """The median seconds of each, in `rounds`."""
    return {name: statistics.median(times) for name, times in rounds(trials, count).items()}


def in_turns(calls: list[Callable[[], Any]], count: int = 5, target: float = 8e-3) -> list[float]:
    """Median seconds of each, for calls that no graph takes: several in a row between two events, in turns."""
    repeats, found = [], []
    for call in calls:
        for _ in range(2):
            call()
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        repeats.append(max(2, int(target / (time.perf_counter() - start))))
        found.append([0.0] * count)
    for i in range(count):
        for call, times, several in zip(calls, found, repeats, strict=True):
            start_event, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start_event.record()
            for _ in range(several):
                call()
            stop.record()
            stop.synchronize()
            times[i] = float(start_event.elapsed_time(stop)) * 1e-3 / several
    return [statistics.median(times) for times in found]
