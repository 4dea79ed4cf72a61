"""Some of many parameters, for machines without a GPU: combinations in which each pair of values occurs, or a part.

Most mistakes are of one property or of how two of them meet. Where there is a GPU, tests take all combinations; the
simulator takes those that cover all pairs.

@pytest.mark.parametrize(("shape", "dtype", "center"), in_pairs(SHAPES, DTYPES, (False, True)))
@pytest.mark.parametrize("config", some(CONFIGS, 3))
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def covering(cases: Sequence[T], tried: Callable[[T], set[Any]]) -> list[T]:
    """Return some of the cases that together try all that all of them try."""
    chosen: list[T] = []
    left = set[Any]().union(*map(tried, cases))
    while left:
        chosen.append(max(cases, key=lambda case: len(tried(case) & left)))
        left -= tried(chosen[-1])
    return chosen


def in_pairs(*axes: Sequence[Any]) -> list[Any]:
    """Return all combinations as parameters; those that no pair of values needs are for machines with a GPU."""
    places = list(product(*(range(len(axis)) for axis in axes)))
    chosen = covering(places, lambda place: set(combinations(enumerate(place), 2)))
    cases = zip(places, product(*axes), strict=True)
    return [pytest.param(*case, marks=() if place in chosen else pytest.mark.gpu) for place, case in cases]


def some(cases: Iterable[Any], every: int) -> list[Any]:
    """Return all cases as parameters; of each `every` the first is for machines without a GPU too."""
    several = ((case if isinstance(case, tuple) else (case,)) for case in cases)
    return [pytest.param(*case, marks=pytest.mark.gpu if i % every else ()) for i, case in enumerate(several)]
