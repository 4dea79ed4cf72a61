"""Strides added by XOR: swizzled layouts as plain ones, under the same algorithms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutelite.layout import (
    F2,
    ComposedLayout,
    Layout,
    LayoutError,
    Swizzle,
    as_f2,
    coalesce,
    complement,
    composition,
    cosize,
    dims,
    left_inverse,
    logical_divide,
    logical_product,
    make_ordered_layout,
    max_common_vector,
    parse_layout,
    recast_layout,
    right_inverse,
    size,
    slice_and_offset,
    unflatten,
    zipped_divide,
)
from tests.layout.strategies import PROFILES, USUAL, swizzles


@st.composite
def bit_layouts(draw: st.DrawFn) -> Layout:
    """Compact layouts of powers of two, in any order, of at most 256 elements."""
    exponents: list[int] = []
    for exponent in draw(st.lists(st.integers(0, 3), min_size=1, max_size=4)):
        exponents.append(exponent if sum(exponents) + exponent <= 8 else 0)
    extents = [1 << exponent for exponent in exponents]
    shape = unflatten(extents, draw(st.sampled_from(PROFILES[len(extents)])))
    order = unflatten(draw(st.permutations(range(len(extents)))), shape)
    return make_ordered_layout(shape, order)


def image(layout: Layout | ComposedLayout) -> list[int]:
    return [int(layout(i)) for i in range(int(size(layout)))]


@USUAL
@given(bit_layouts(), swizzles())
def test_a_swizzled_layout_is_a_layout(outer: Layout, swizzle: Swizzle) -> None:
    swizzled = composition(swizzle, outer)
    layout = as_f2(swizzled)
    assert image(layout) == image(swizzled)
    assert parse_layout(str(layout)) == layout
    assert max(image(layout)) < cosize(layout)
    assert image(coalesce(layout)) == image(layout)
    right, left = right_inverse(layout), left_inverse(layout)
    missing = complement(layout, 512)
    assert [layout(right(i)) for i in range(size(right))] == list(range(size(right)))
    assert [left(value) for value in image(layout)] == list(range(size(layout)))
    assert sorted(a ^ b for a in image(layout) for b in image(missing)) == list(range(512))


@USUAL
@given(bit_layouts(), swizzles(), bit_layouts())
def test_composition(outer: Layout, swizzle: Swizzle, rhs: Layout) -> None:
    layout = as_f2(composition(swizzle, outer))
    if size(rhs) > size(outer):
        return
    result = composition(layout, rhs)
    assert image(result) == [layout(index) for index in image(rhs)]
    if size(rhs) % swizzle.size == 0:  # else it moves indices out of rhs
        again = composition(rhs, as_f2(composition(swizzle, Layout(size(rhs)))))
        assert image(again) == [rhs(swizzle(i)) for i in range(size(rhs))]


@USUAL
@given(bit_layouts(), swizzles(), st.integers(0, 3))
def test_divide_and_product(outer: Layout, swizzle: Swizzle, bits: int) -> None:
    layout = as_f2(composition(swizzle, outer))
    tile = min(1 << bits, size(layout))
    divided, product = logical_divide(layout, tile), logical_product(layout, 4)
    assert image(divided[0]) == image(layout)[:tile]
    assert sorted(image(divided)) == sorted(image(layout))
    assert len(set(image(product))) == len(set(image(layout))) * 4


def test_slices_are_exact() -> None:
    layout = as_f2(composition(Swizzle(3, 0, 3), Layout((8, 8), (8, 1))))
    assert str(layout) == "(8,8):(^9,^1)"
    for row in range(8):
        part, offset = slice_and_offset((row, None), layout)
        assert [part(column) + offset for column in range(8)] == [layout(row, column) for column in range(8)]
    tiles = zipped_divide(layout, (4, 4))
    assert sorted(image(tiles)) == list(range(64))


class Bits:
    """A run-time value of which only the text of the computation is known."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __mul__(self, other: int) -> Bits:
        return Bits(f"({self.text}*{other})")

    def __xor__(self, other: Bits | int) -> Bits:
        return Bits(f"({self.text}^{other.text if isinstance(other, Bits) else other})")


def test_run_time_coordinates_are_joined_by_xor() -> None:
    layout = Layout((8, 8), (F2(9), F2(1)))
    i, j = Bits("i"), Bits("j")
    assert layout(i, j).text == "((i^(i*8))^j)"
    assert layout(i, 3).text == "((i^(i*8))^3)"
    assert layout(2, j).text == "(j^18)"
    assert layout(2, 3) == 18 ^ 3


def test_arithmetic() -> None:
    assert F2(5) + F2(3) == F2(6) == 2 * F2(3)
    assert 3 * F2(3) == F2(5)
    assert Layout((2, 2), (F2(3), 1)) == Layout((2, 2), (F2(3), F2(1)))
    assert Layout((2, 2), (F2(3), 0)).stride == (F2(3), 0)
    assert cosize(Layout((4, 2), (F2(6), F2(1)))) == 16


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: F2(-1), "is no natural"),
        (lambda: Layout((4, dims("M")), (F2(1), F2(4))), "must be static"),
        (lambda: Layout((4, 4), (F2(1), dims("M"))), "does not go with strides that are added by XOR"),
        (lambda: as_f2(Layout((3, 4))), "stride 3 .* carries into others"),
        (lambda: as_f2(Layout((4, 4), (1, 3))), "carries into others"),
        (lambda: as_f2(ComposedLayout(Swizzle(1, 0, 1), 4, Layout(8))), "without offset"),
        (lambda: left_inverse(Layout((2, 2), (F2(3), F2(3)))), "repeat"),
        (lambda: complement(Layout((2, 2, 2), (F2(1), F2(2), F2(3))), 16), "repeat"),
        (lambda: recast_layout(8, 16, Layout(4, F2(1))), "no mode of stride 1"),
        (lambda: recast_layout(16, 8, Layout(4, F2(1))), "added by XOR"),
        (lambda: max_common_vector(Layout(4, F2(1)), Layout(dims("M"))), "added by XOR: both must be known"),
        (lambda: composition(Layout((3, 4), (F2(1), F2(4))), Layout(4, 2)), "is no layout"),
        (lambda: composition(Swizzle(1, 0, 1), Swizzle(1, 0, 2)), "is no swizzle"),
    ],
)
def test_misuse(make: object, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        make()  # type: ignore[operator]


@USUAL
@given(swizzles(), swizzles())
def test_swizzles_compose(a: Swizzle, b: Swizzle) -> None:
    try:
        both = composition(a, b)
    except LayoutError:
        assert (a.base, a.shift) != (b.base, b.shift)
    else:
        assert all(both(i) == a(b(i)) for i in range(512))


def test_modes_of_a_tiler_that_carry_into_each_other() -> None:
    bits = Layout((2, 2), (F2(3), F2(2)))
    assert str(composition(Layout((4, 4)), (bits, None))) == "((2,2),4):((^3,^2),^4)"
    with pytest.raises(LayoutError, match="carry into each other"):
        composition(Layout((4, 4), (1, 3)), (bits, None))
