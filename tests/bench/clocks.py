"""How many cycles a call takes, and at which clock: what the chip does to keep to its power is told from the rest."""

from __future__ import annotations

import ctypes
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from tests.bench.timing import graph

_SM = 1  # NVML_CLOCK_SM


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
    """The clock of the first GPU in MHz, a hundred times a second, by NVML. Errors: OSError where that is not there."""
    nvml, device, value = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), ctypes.c_uint()
    if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)):
        raise OSError("NVML knows no GPU")
    found: list[int] = []
    over = threading.Event()

    def sample() -> None:
        while not over.wait(0.01):
            if nvml.nvmlDeviceGetClockInfo(device, _SM, ctypes.byref(value)) == 0:
                found.append(value.value)

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()
