"""Finding the fastest of several in few rounds. This module only compares seconds, which `timing.py` measures.

In each round, every config that is left is timed once, so that all are timed at the same clocks, power and temperature.
Each follows another one in each round: what ran before, and how warm it left the GPU, is in a time by some percent.
Clear losers drop out early; close ones are timed in all rounds. The lowest median wins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TypeVar

from cutelite.diag.progress import Progress

ROUNDS = 15
LEAST_ROUNDS = 3
"""The least number of rounds, however long they take."""
BUDGET_S = 5.0
"""Rounds end after this many seconds, or after `ROUNDS`."""

K = TypeVar("K")


def slack(rounds: int) -> float:
    """Return by which part of the best median a config's best time may exceed it after `rounds` rounds.

    Replays on a warm GPU agree within 2%, but single ones may be far off: after one round, a config drops out only if
    it takes three times as long.
    """
    return 0.02 + 2 / rounds**4


def race(trials: Mapping[K, Callable[[], float]], clock: Callable[[], float] = perf_counter) -> dict[K, list[float]]:
    """Return the seconds of each trial, a number for each round it took part in. The fastest took part in all."""
    times: dict[K, list[float]] = {name: [] for name in trials}
    running = list(trials)
    end = clock() + BUDGET_S
    with Progress("timing configs", total=ROUNDS) as progress:
        for done in range(1, ROUNDS + 1):
            for name in in_strides(running, done):
                times[name].append(trials[name]())
            best = min(median(times[name]) for name in running)
            running = [name for name in running if min(times[name]) <= best * (1 + slack(done))]
            running = running[1:] + running[:1]
            progress.step(note=f"{len(running)} left")
            if done >= LEAST_ROUNDS and (len(running) == 1 or clock() > end):
                break
    return times


def in_strides(names: Sequence[K], number: int) -> list[K]:
    """Return all of `names` in an order in which each follows another one, by the number of a round from 1 on."""
    stride = 1 + (number - 1) % max(1, len(names) - 1)
    return [name for first in range(stride) for name in names[first::stride]]


def median(values: Sequence[float]) -> float:
    """Return the median. (Importing `statistics` for it would take 20 ms.)"""
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def winner(times: Mapping[K, list[float]]) -> K:
    """Return the name with the lowest median, among those that took part in all rounds; of equal ones the first."""
    rounds = max(map(len, times.values()))
    return min((name for name in times if len(times[name]) == rounds), key=lambda name: median(times[name]))
