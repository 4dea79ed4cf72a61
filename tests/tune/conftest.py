"""Fixtures of the tests of tuning: a clean environment, a driver in Python, and a timer of given numbers."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from cutelite.tune.problem import Call
from cutelite.tune.sets import Sets
from cutelite.tune.timing import Trials
from cutelite_rt.gpu.clock import TimedStream
from tests.dispatch.conftest import environment as environment
from tests.dispatch.conftest import on_gpu as on_gpu
from tests.rt.conftest import cuda as cuda


class Stopwatch:
    """A timer of given numbers: seconds by config number; for those that are exceptions, why they do not run.

    asked   numbers of the configs in each tuning
    called  how often each config was timed
    """

    def __init__(self, *seconds: float | Exception) -> None:
        self.seconds = seconds
        self.asked: list[list[int]] = []
        self.called: dict[int, int] = {}

    @contextmanager
    def __call__(self, calls: Mapping[int, Call], sets: Sets, stream: TimedStream, restored: bool) -> Iterator[Trials]:
        self.asked.append(list(calls))
        seconds, failed = {}, {}
        for i in calls:
            found = self.seconds[i]
            if isinstance(found, Exception):
                failed[i] = found
            else:
                seconds[i] = self._trial(i, found)
        yield Trials(seconds, failed)

    def _trial(self, i: int, seconds: float) -> Any:
        def trial() -> float:
            self.called[i] = self.called.get(i, 0) + 1
            return seconds

        return trial


@pytest.fixture
def fastest_last() -> Stopwatch:
    """Return a tuned function of three configs."""
    return Stopwatch(3e-6, 2e-6, 1e-6)
