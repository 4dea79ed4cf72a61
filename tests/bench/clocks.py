"""How many cycles a call takes, and at which clock: what the chip does to keep to its power is told from the rest."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

import cutelite_rt as rt
from cutelite.bench.machine import Nvml
from tests.bench.timing import graph


class Steady(NamedTuple):
    """seconds that a call takes, replayed for long, and the median clock of the multiprocessors, in MHz."""

    seconds: float
    clock: float

    @property
    def cycles(self) -> float:
        return self.seconds * self.clock * 1e6


def steady(call: Callable[[int], Any], buffers: int, each: float, seconds: float = 0.5) -> Steady:
    """Replay calls that take about `each` seconds for half of `seconds`, and measure for `seconds` more."""
    repeats = max(buffers, int(0.02 / each))
    captured = graph(call, buffers, repeats)
    _replayed(captured, seconds / 2)
    with _clocks() as found:
        count, took = _replayed(captured, seconds)
    return Steady(took / (count * repeats), statistics.median(found))


def _replayed(captured: Any, seconds: float) -> tuple[int, float]:
    """How often a graph was replayed in about `seconds`, and how many seconds these were."""
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        captured.replay()
        captured.replay()
        torch.cuda.synchronize()
        count += 2
    return count, time.perf_counter() - start


@contextmanager
def _clocks() -> Iterator[list[int]]:
    """The clock of the GPU in MHz, a hundred times a second, by NVML; none where that is not there."""
    nvml, found, over = Nvml(rt.device()), list[int](), threading.Event()

    def sample() -> None:
        while not over.wait(0.01):
            if (clock := nvml.sample().clock_mhz) is not None:
                found.append(clock)

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()
