"""Calls of a tuned function that are alike, and calls that are not."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite.tune.problem import quick_key


def key(*args: Any, **kwargs: Any) -> Hashable:
    found = quick_key(args, kwargs)
    hash(found)
    return found


def relu(x: Any) -> Any:
    return max(x, 0.0)


@dataclass(frozen=True)
class Shape:
    dtype: Any
    rows: float | None = None
    activation: Any = None
    more: tuple[Any, ...] = ()
    inner: Any = None

    @cached_property
    def square(self) -> float:
        return (self.rows or 0) ** 2


@dataclass(slots=True)
class Loose:
    names: dict[str, int] = field(default_factory=dict)


SHAPE = Shape(cl.bf16, 8, relu, ("K", "MN"), Shape(cl.f16))


def test_equal_fields_are_equal_calls() -> None:
    assert key(SHAPE) == key(replace(SHAPE, inner=Shape(cl.f16)))
    assert key(SHAPE, a=1) == key(replace(SHAPE), a=1)


@pytest.mark.parametrize(
    "other",
    [
        replace(SHAPE, dtype=cl.f16),
        replace(SHAPE, rows=None),
        replace(SHAPE, activation=None),
        replace(SHAPE, more=("K",)),
        replace(SHAPE, inner=Shape(cl.bf16)),
        replace(SHAPE, inner=cl.f16),
    ],
)
def test_other_fields_are_other_calls(other: Shape) -> None:
    assert key(SHAPE) != key(other)


def test_numbers_of_other_types_are_other_calls() -> None:
    assert len({key(replace(SHAPE, rows=x)) for x in (1, 1.0, True)}) == 3


def test_what_an_instance_was_given_beside_its_fields_counts() -> None:
    """Read it as before instances of its class were known."""
    plain, more = Shape(cl.bf16, 3), Shape(cl.bf16, 3)
    assert key(plain) == key(more)
    assert more.square == 9
    assert key(plain) != key(more)


def test_mutable_fields_are_read_anew() -> None:
    loose = Loose()
    before = key(loose)
    loose.names["x"] = 1
    assert key(loose) != before


def test_arrays_in_fields_are_arrays() -> None:
    def of(*shape: int, dtype: Any = np.float32) -> Hashable:
        return key(replace(SHAPE, inner=np.zeros(shape, dtype)))

    assert of(8, 16) == of(8, 16)
    assert len({of(8, 16), of(16, 8), of(8, 16, dtype=np.float16)}) == 3
