"""The race: medians decide, losers drop out early, close ones are seen often."""

import functools
import itertools
import random
import statistics
from collections.abc import Callable, Iterator

import pytest

from cutelite.tune import race as races
from cutelite.tune.race import LEAST_ROUNDS, ROUNDS, median, race, winner


def steady(*seconds: float) -> dict[int, Callable[[], float]]:
    return {i: (lambda s=s: s) for i, s in enumerate(seconds)}  # type: ignore[misc]


def of(values: Iterator[float]) -> Callable[[], float]:
    return lambda: next(values)


def test_the_fastest_wins_and_losers_drop_out() -> None:
    times = race(steady(3.1, 1.0, 1.3, 1.1, 1.005))
    assert winner(times) == 1
    assert [len(times[i]) for i in range(5)] == [1, ROUNDS, 2, 3, ROUNDS]


def test_one_that_is_left_alone_is_not_timed_for_ever() -> None:
    assert {i: len(found) for i, found in race(steady(5.0, 1.0)).items()} == {0: 1, 1: LEAST_ROUNDS}
    assert len(race(steady(1.0))[0]) == LEAST_ROUNDS


def test_one_bad_round_loses_nothing() -> None:
    trials = steady(1.0, 1.1)
    trials[0] = of(itertools.chain([9.0], itertools.repeat(1.0)))
    assert winner(race(trials)) == 1  # a look three times slower than others is enough
    for before in ([2.5], [1.0, 9.0], [1.0, 1.0, 9.0]):
        trials[0] = of(itertools.chain(before, itertools.repeat(1.0)))
        assert winner(race(trials)) == 0


def test_a_lucky_round_wins_nothing() -> None:
    trials = steady(1.0, 1.0)
    trials[1] = of(itertools.chain([1.01, 0.9], itertools.repeat(1.01)))
    assert winner(race(trials)) == 0


def test_noise_of_some_percent_seldom_misleads() -> None:
    wrong = 0
    for seed in range(100):
        noise = random.Random(seed)
        seconds = [1.0 + 0.03 * i for i in range(20)]
        noise.shuffle(seconds)
        trials = {i: functools.partial(noise.gauss, s, 0.01 * s) for i, s in enumerate(seconds)}
        wrong += seconds[winner(race(trials))] > 1.0
    assert wrong == 0


def test_every_round_times_each_that_is_left_once_and_in_turn() -> None:
    order = orders(3)
    assert len(order) == ROUNDS
    assert order[:3] == [[0, 1, 2], [1, 0, 2], [2, 0, 1]]


@pytest.mark.parametrize("count", [2, 3, 7, 20])
def test_each_follows_another_one_in_each_round(count: int) -> None:
    before = [{rounds[i]: rounds[i - 1] for i in range(1, count)} for rounds in orders(count)]
    for name in range(count):
        followed = [each[name] for each in before if name in each]
        assert len(set(followed)) >= min(count, ROUNDS) / 2


def orders(count: int) -> list[list[int]]:
    """The order of each round, of equals."""
    order: list[int] = []

    def trial(i: int) -> float:
        order.append(i)
        return 1.0

    race({i: functools.partial(trial, i) for i in range(count)})
    return [order[i : i + count] for i in range(0, len(order), count)]


def test_a_neighbour_that_cools_the_gpu_is_no_advantage() -> None:
    """What follows an idle one is 5% faster: of two that are alike otherwise the faster one wins."""
    seconds, last = {**dict.fromkeys(range(10), 1.0), 3: 0.99, 4: 1.002, 5: 1.009}, [0]

    def trial(i: int) -> float:
        before, last[0] = last[0], i
        return seconds[i] * (0.95 if before == 5 else 1.0)

    assert winner(race({i: functools.partial(trial, i) for i in seconds})) == 3


def test_long_rounds_end_early_but_not_before_the_third() -> None:
    now = itertools.count(0.0, races.BUDGET_S + 1)
    times = race(steady(1.0, 1.0), clock=lambda: next(now))
    assert {len(found) for found in times.values()} == {LEAST_ROUNDS}


def test_of_equals_the_first_wins() -> None:
    assert winner(race(steady(2.0, 1.0, 1.0))) == 1


def test_who_dropped_out_cannot_win() -> None:
    assert winner({0: [0.5], 1: [1.0, 1.0, 1.0]}) == 1


@pytest.mark.parametrize("rounds", range(1, ROUNDS))
def test_median(rounds: int) -> None:
    values = [random.random() for _ in range(rounds)]
    assert median(values) == statistics.median(values)


@pytest.mark.parametrize("rounds", range(1, ROUNDS))
def test_slack_shrinks(rounds: int) -> None:
    assert races.slack(rounds) > races.slack(rounds + 1) > 0.02
