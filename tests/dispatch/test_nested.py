"""Arguments that hold arrays, taken apart and put together again."""

from __future__ import annotations

import keyword
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cutelite.dispatch import nested


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass(frozen=True)
class Record:
    x: Any
    y: Any = 3

    def __post_init__(self) -> None:
        assert not hasattr(self, "made")
        object.__setattr__(self, "made", 1)  # no field


ARRAYS = st.builds(lambda n: np.zeros(n), st.integers(0, 3))
CONSTANTS = st.one_of(st.none(), st.integers(), st.text(max_size=3), st.just(len), st.sets(st.integers(), max_size=2))
NAMES = st.text("ab_01", min_size=1, max_size=4).filter(lambda s: s.isidentifier() and not keyword.iskeyword(s))
KEYS = st.one_of(NAMES, st.integers(0, 3), st.text("a. ", max_size=2))


def within(items: Any) -> Any:
    return st.one_of(
        st.lists(items, max_size=3),
        st.lists(items, max_size=3).map(tuple),
        st.dictionaries(KEYS, items, max_size=3),
        st.builds(Pair, items, items),
        st.builds(Record, items, items),
    )


ARGUMENTS = st.dictionaries(NAMES, st.recursive(st.one_of(ARRAYS, CONSTANTS), within, max_leaves=12), max_size=4)


def same(x: Any, y: Any) -> bool:
    """Tell whether two arguments have the same structure, of the same objects."""
    if isinstance(x, list | tuple):
        return type(x) is type(y) and len(x) == len(y) and all(map(same, x, y))
    if isinstance(x, dict):
        return type(y) is dict and [*x] == [*y] and same([*x.values()], [*y.values()])
    if isinstance(x, Record):
        return type(y) is Record and same(x.x, y.x) and same(x.y, y.y)
    return x is y


@given(ARGUMENTS)
def test_what_is_taken_apart_is_put_together_again(arguments: dict[str, Any]) -> None:
    parts, key = nested.parts_of(arguments.values())
    structure = nested.Structure(arguments)
    assert same(arguments, structure.put_together(parts))
    assert len(structure.names) == len(parts)
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in structure.names)
    assert not any(map(nested.is_nested, parts))
    hash(key)


@given(ARGUMENTS, ARGUMENTS)
def test_equal_keys_are_of_equal_structures(one: dict[str, Any], other: dict[str, Any]) -> None:
    parts, key = nested.parts_of(one.values())
    others, its = nested.parts_of(other.values())
    if key == its:
        assert len(parts) == len(others)
        put = nested.Structure(one).put_together(others)
        assert same([*put.values()], [*other.values()])
