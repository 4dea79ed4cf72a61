"""The fastest of several, found in as few rounds as possible. Knows seconds alone; `timing.py` measures them.

In each round every config that is left is timed once, so that all see the same clocks, power and temperature. Clear
losers drop out early; close ones are timed in all rounds. Medians decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TypeVar

from cutelite.diag.progress import Progress

ROUNDS = 15
LEAST_ROUNDS = 3
"""The number of rounds that are made however long they take."""
BUDGET_S = 5.0
"""Rounds end after this many seconds, or after `ROUNDS`."""

K = TypeVar("K")


def slack(rounds: int) -> float:
    """Return the part by which a config's best time may exceed the best median after `rounds` rounds.

    Replays on a warm GPU agree within 2%, but single ones are far off: after one round, a config drops out only if it
    is three times slower.
    """
    return 0.02 + 2 / rounds**4


def race(trials: Mapping[K, Callable[[], float]], clock: Callable[[], float] = perf_counter) -> dict[K, list[float]]:
    """Return the seconds of each, one number for each round that it took part in. The fastest took part in all."""
    times: dict[K, list[float]] = {name: [] for name in trials}
    running = list(trials)
    end = clock() + BUDGET_S
    with Progress("timing configs", total=ROUNDS) as progress:
        for done in range(1, ROUNDS + 1):
            for name in running:
                times[name].append(trials[name]())
            best = min(median(times[name]) for name in running)
            running = [name for name in running if min(times[name]) <= best * (1 + slack(done))]
            running = running[1:] + running[:1]  # the order changes: no config always follows a slow one
            progress.step(note=f"{len(running)} left")
            if done >= LEAST_ROUNDS and (len(running) == 1 or clock() > end):
                break
    return times


def median(values: Sequence[float]) -> float:
    """Return the median. (`statistics` has it too, and takes 20 ms to import.)"""
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def winner(times: Mapping[K, list[float]]) -> K:
    """Return the one with the lowest median among those that took part to the end; the first of equals."""
    rounds = max(map(len, times.values()))
    return min((name for name in times if len(times[name]) == rounds), key=lambda name: median(times[name]))
