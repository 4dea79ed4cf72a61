"""Who is fastest, in as few rounds as it takes. Knows seconds alone: what is timed, and how, is `timing.py`'s.

In each round every config that is left is timed once, so that all see the same clocks, power and temperature. Clear
losers drop out early, where a second look could not save them; close ones are seen in all rounds. Medians decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TypeVar

ROUNDS = 15
LEAST_ROUNDS = 3
"""However long they take."""
BUDGET_S = 5.0
"""Rounds end after this many seconds, or after `ROUNDS`."""

K = TypeVar("K")


def slack(rounds: int) -> float:
    """How much slower than the best median, of 1, a config's own best time may be after so many rounds.

    A replay is repeated within 2% on a warm GPU, but one look in many is far off: after a single one, nobody goes who
    is not three times slower.
    """
    return 0.02 + 2 / rounds**4


def race(trials: Mapping[K, Callable[[], float]], clock: Callable[[], float] = perf_counter) -> dict[K, list[float]]:
    """Seconds of each, a list as long as the rounds it took part in. Whoever took part in all is of the fastest."""
    times: dict[K, list[float]] = {name: [] for name in trials}
    running = list(trials)
    end = clock() + BUDGET_S
    for done in range(1, ROUNDS + 1):
        for name in running:
            times[name].append(trials[name]())
        best = min(median(times[name]) for name in running)
        running = [name for name in running if min(times[name]) <= best * (1 + slack(done))]
        running = running[1:] + running[:1]  # nobody is always the one after a slow one
        if done >= LEAST_ROUNDS and (len(running) == 1 or clock() > end):
            break
    return times


def median(values: Sequence[float]) -> float:
    """The middle one, or between the two in the middle. (`statistics` has it too, and takes 20 ms to import.)"""
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def winner(times: Mapping[K, list[float]]) -> K:
    """The one of the lowest median among those that took part to the end; the first of equals."""
    rounds = max(map(len, times.values()))
    return min((name for name in times if len(times[name]) == rounds), key=lambda name: median(times[name]))
