"""Layouts of all kinds through the algebra: nested, broadcast, of extent 1, of coordinates, added by XOR, composed.

Where a layout exists none is refused; a layout of coordinates gives coordinates, also where nothing moves.
"""

from itertools import product
from typing import Any

import pytest

import cutelite.layout as algebra
from cutelite.layout import (
    F2,
    ComposedLayout,
    E,
    Layout,
    LayoutError,
    Swizzle,
    ceil_div,
    coalesce,
    complement,
    composition,
    cosize,
    dims,
    downcast,
    filter,
    logical_divide,
    logical_product,
    make_identity_layout,
    right_inverse,
    round_up,
    tile_to_shape,
    upcast,
    zipped_divide,
)
from tests.layout import oracle
from tests.layout.laws import check
from tests.layout.test_laws import POINTWISE

I = make_identity_layout  # noqa: E741 (the identity)
M, N = dims("M N")


@pytest.mark.parametrize(
    "rhs", [Layout((1, 1), (1, 1)), Layout(1), Layout(3, 0), Layout((1, 3), (1, 0)), Layout((2, 2), (0, 0)), 1]
)
@pytest.mark.parametrize("shape", [(8, 8), (4, (2, 4)), (2, 2, 2), (M, N)])
def test_composition_keeps_the_coordinate(shape: Any, rhs: Any) -> None:
    identity = I(shape)
    result = composition(identity, rhs)
    zero = identity(0)
    assert isinstance(zero, tuple)
    assert [result(i) for i in range(result.size)] == [zero] * result.size


def test_coordinates_are_kept_where_nothing_moves() -> None:
    one = Layout((1, 1), (E(0), E(1)))
    for layout in (coalesce(one), filter(one), complement(I((3, 4))), zipped_divide(I((8, 8)), (1, 1))[0]):
        assert layout(0) == (0, 0)
    assert logical_divide(I((8, 8)), Layout(2, 0))[0](1) == (0, 0)


PLAIN = [
    Layout(8),
    Layout((1, 8), (1, 1)),
    Layout((8, 1)),
    Layout((4, 2), (2, 1)),
    Layout((1, 1), (3, 5)),
    Layout(1, 6),
]


@pytest.mark.parametrize("layout", [*PLAIN, Layout((1, 4), (0, 1)), Layout((4, 1), (2, 6)), Layout(1, 0), Layout(1)])
def test_downcast_keeps_modes_of_one_element_apart(layout: Layout) -> None:
    for n in (2, 4):
        try:
            result = downcast(layout, n)
        except LayoutError:
            assert 1 not in (*oracle.leaves(layout.shape), *oracle.leaves(layout.stride))
            continue
        parts = [layout(i) * n + part for i in range(layout.size) for part in range(n)]
        assert sorted(result(i) for i in range(result.size)) == sorted(parts)
        if 1 in [d for s, d in zip(oracle.leaves(layout.shape), oracle.leaves(layout.stride), strict=True) if s > 1]:
            grown = [a == b for a, b in zip(oracle.leaves(layout.shape), oracle.leaves(result.shape), strict=True)]
            assert all(same for same, s in zip(grown, oracle.leaves(layout.shape), strict=True) if s == 1)
        assert upcast(result, n)(0) == layout(0)
    assert downcast(Layout(1, 5), 2)(2) == 10  # the next old element


def test_upcast_goes_on_beyond_one_wide_element() -> None:
    assert upcast(Layout(8), 8) == Layout(1, 1)
    assert [upcast(Layout(size), 8)(i) for size in (8, 16) for i in range(4)] == [0, 1, 2, 3] * 2
    assert downcast(upcast(Layout((8, 4), (1, 16)), 8), 8) == Layout((8, 4), (1, 16))
    for layout in (I((2, 2)), Layout(4, F2(1)), Layout(3, 5)):
        assert upcast(layout, 1) == layout == downcast(layout, 1)


@pytest.mark.parametrize("a", [(4, 8), (3, 5), (2, (3, 4)), (6,), (1, 7, 2), 12])
def test_ceil_div_by_a_number_goes_through_the_modes(a: Any) -> None:
    """The tiles of b elements of a shape, where b divides the modes or they divide it."""
    for b in (1, 2, 3, 4, 6, 8, 24):
        result, left = oracle.leaves(ceil_div(a, b)), b
        for before, after in zip(oracle.leaves(a), result, strict=True):
            assert after == -(-before // left)
            left = -(-left // before)
    assert ceil_div((M, 8), 1) == (M, 8)
    with pytest.raises(LayoutError, match="give a number for each mode"):
        round_up((4, 8), 2)


EXIST: list[tuple[Any, ...]] = [
    ("complement", Layout(3, E(0))),
    ("complement", Layout(3, E(0)), 12),
    ("complement", Layout(3, 2 * E(1))),
    ("complement", I((3, 4))),
    ("complement", I((2, 2)), I((4, 6))),
    ("complement", Layout(3, F2(1)), 8),
    ("complement", Layout((3, 2), (F2(1), F2(12))), 32),
    ("logical_divide", I((8, 8)), I((2, 4))),
    ("logical_divide", I((8, 8)), Layout(4, E(1))),
    ("logical_divide", Layout((8, 8)), Layout(4, E(1))),
    ("logical_divide", I((8, (2, 4))), Layout(2, E(1, 1))),
    ("logical_product", I((2, 2)), 4),
    ("logical_product", I((2, 2)), Layout((3, 2), (2, 1))),
    ("logical_product", I((3,)), 4),
    ("logical_product", I((2, M)), 4),
    ("logical_product", Layout(4), I((3,))),
    ("logical_product", Layout((2, 2), (1, 4)), I((2, 2))),
    ("logical_product", I((3,)), I((2, 2))),
    ("logical_product", I((2, 3)), I((2, (2, 2)))),
    ("logical_product", I((2, (2, 2))), I((2, 3))),
    ("blocked_product", I((2, 2)), Layout((2, 2))),
    ("tile_to_shape", I((2, 2)), (4, 6)),
    ("right_inverse", Layout(3, F2(1))),
    ("right_inverse", Layout((2, 3), (F2(1), F2(2)))),
    ("right_inverse", Layout((3, 2), (F2(1), F2(3)))),
    ("left_inverse", Layout((3, 2), (F2(1), F2(4)))),
    ("left_inverse", Layout((2, 2), (E(0) + E(1), E(1)))),
    ("left_inverse", Layout((4, 2), (E(0) + 2 * E(1, 1), E(1, 1)))),
    ("complement", ComposedLayout(Swizzle(1, 0, 1), 0, Layout(3)), 16),
    ("complement", ComposedLayout(Swizzle(1, 0, 1), 4, Layout(4)), 16),
    ("as_f2", Layout(6, 4)),
    ("as_f2", ComposedLayout(Swizzle(1, 0, 2), 0, Layout(3))),
    ("composition", Layout((1, 1), (0, F2(2))), Layout(4, 3)),
    ("max_common_layout", Layout((4, 2), (F2(1), F2(5))), Layout(8)),
]


@pytest.mark.parametrize("case", EXIST)
def test_what_exists_is_given(case: tuple[Any, ...]) -> None:
    given(*case)


def given(name: str, *arguments: Any) -> None:
    """Call a function, and hold its result against its law for some values of the dims."""
    result = getattr(algebra, name)(*arguments)
    for values in ({"M": 1, "N": 3}, {"M": 4, "N": 2}):
        check(POINTWISE[name][1], (result, *arguments), values, most=256)


def test_values_of_what_was_refused() -> None:
    assert logical_divide(I((8, 8)), I((2, 4))) == Layout(((2, 4), (4, 2)), ((E(0), E(1)), (2 * E(0), 4 * E(1))))
    assert complement(I((2, 2)), I((4, 6))) == Layout((2, 3), (2 * E(0), 2 * E(1)))
    assert cosize(ComposedLayout(Layout((2, 2), (2, 1)), 0, Layout((2, 2)))) == 4
    whole = tile_to_shape(I((2, 2)), (4, 6))
    assert [whole(i, j) for i, j in product(range(4), range(6))] == list(product(range(4), range(6)))
    assert right_inverse(Layout((2, 3), (F2(1), F2(2)))) == Layout(6)
    assert right_inverse(Layout((3, 4), (F2(4), F2(1)))) == Layout((4, 3), (3, 1))
    assert tile_to_shape(I((2, 2)), (4, 6), order=(1, 0)) == whole
    by_xor = right_inverse(Layout((4, 3), (F2(1), F2(5))))
    assert [by_xor(i) for i in range(12)] == [0, 1, 2, 3, 5, 4, 7, 6, 10, 11, 8, 9]
    grown = logical_product(I((2, 3)), I((2, (2, 2))))
    assert len({grown(i) for i in range(grown.size)}) == grown.size == 48


KINDS: list[Any] = [
    *(
        Layout(1),
        Layout((3, 2), (0, 1)),
        Layout((2, 2), (2, 1)),
        Layout((1, 4), (1, 1)),
        Layout((2, (2, 2)), (1, (4, 2))),
    ),
    *(I((2, 3)), I((2, (2, 2))), Layout(3, E(1)), Layout((1, 1), (E(0), E(1))), Layout((2, 2), (E(0), 2 * E(0)))),
    *(Layout(3, F2(1)), Layout((2, 2), (F2(1), F2(3))), Layout((2, 3), (F2(1), F2(2)))),
    *(ComposedLayout(Swizzle(1, 0, 1), 0, Layout((2, 2), (2, 1))), ComposedLayout(Swizzle(1, 0, 1), 4, Layout(3))),
    *(Layout((M, 2)), Layout((2, M), (M, 1)), Layout((M, N), (E(0), E(1)))),
]
BY_ONE = ["coalesce", "filter", "right_inverse", "left_inverse", "nullspace", "as_f2", "make_layout_like"]
BY_TWO = ["composition", "logical_divide", "logical_product", "blocked_product", "max_common_layout", "complement"]


def test_every_kind_with_every_other() -> None:
    """Right by the law, or refused in words."""
    cases: list[tuple[Any, ...]] = [(name, x) for name in BY_ONE for x in KINDS]
    cases += [(name, x, y) for name in BY_TWO for x in KINDS for y in KINDS]
    cases += [(name, x, y) for name in BY_TWO[:3] for x in KINDS for y in (1, 3, (1, 2), (2, None))]
    cases += [(name, x, n) for name in ("upcast", "downcast") for x in KINDS for n in (1, 2, 3, 4)]
    refused = 0
    for case in cases:
        try:
            given(*case)
        except LayoutError as error:
            assert error.function == case[0], case
            refused += 1
    assert refused < len(cases) // 2
