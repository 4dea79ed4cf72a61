"""Complements, inverses and common layouts: by their laws, and against exhaustive search."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutelite.layout import (
    ComposedLayout,
    E,
    Layout,
    LayoutError,
    Swizzle,
    complement,
    evaluate,
    filter,
    filter_zeros,
    left_inverse,
    make_identity_layout,
    max_common_layout,
    max_common_vector,
    nullspace,
    parse_layout,
    right_inverse,
)
from tests.layout import oracle
from tests.layout.strategies import THOROUGH, USUAL, bindings, layouts, swizzles, symbolic_layouts


def is_injective(layout: Layout) -> bool:
    images = oracle.values(layout)
    return len(set(images)) == len(images)


@THOROUGH
@given(layouts(64), st.sampled_from((1, 2, 5, 8, 12, 16, 24, 30, 48, 60, 64, 100)))
def test_complement(layout: Layout, target: int) -> None:
    pieces = set(oracle.values(layout))
    try:
        result = complement(layout, target)
    except LayoutError:
        assert not is_injective(filter(layout))
        return
    starts = oracle.values(result)
    assert starts == sorted(set(starts))
    sums = {a + b for a in starts for b in pieces}
    assert len(sums) == len(starts) * len(pieces)
    tiling = oracle.tiling(pieces, target)
    if tiling is not None and not set(range(target)) <= sums:  # it can be covered: then not by a layout
        assert not oracle.is_layout(tiling.__getitem__, len(tiling))


@THOROUGH
@given(layouts(16))
def test_right_inverse_is_the_largest(layout: Layout) -> None:
    result = right_inverse(layout)
    n = oracle.size(result)
    assert [oracle.value(layout, index) for index in oracle.values(result)] == list(range(n))
    longest = oracle.longest_right_inverse(layout)
    if is_injective(filter(layout)):
        assert n == longest
    assert n <= longest


@THOROUGH
@given(layouts(40))
def test_left_inverse(layout: Layout) -> None:
    try:
        result = left_inverse(layout)
    except LayoutError:
        moving = filter_zeros(layout)
        indices = oracle.values(Layout(moving.shape, Layout(layout.shape).stride))
        points = dict(zip(oracle.values(moving), indices, strict=True))
        assert len(points) < oracle.size(moving) or max(points) > 20 or not oracle.layout_through(points)
        return
    for index, image in enumerate(oracle.values(layout)):
        back = oracle.value(result, image)
        assert oracle.value(layout, back) == image
        assert back == index or not is_injective(layout)


def test_left_inverse_that_only_a_search_finds() -> None:
    assert left_inverse(Layout((2, 2), (2, 3))) == Layout((2, 3), (1, 1))
    with pytest.raises(LayoutError, match=r"no layout inverts \(5,4\):\(6,20\)"):
        left_inverse(Layout((5, 4), (6, 20)))


@USUAL
@given(layouts(100))
def test_nullspace(layout: Layout) -> None:
    result = nullspace(layout)
    assert all(oracle.value(layout, index) == 0 for index in oracle.values(result))
    moving = filter_zeros(layout)
    assert oracle.size(result) == oracle.size(layout) // oracle.size(moving)


@USUAL
@given(layouts(64), layouts(64))
def test_max_common_layout(a: Layout, b: Layout) -> None:
    result = max_common_layout(a, b)
    assert max_common_layout(b, a).size == result.size
    indices = oracle.values(result)
    n = len(indices)
    assert [oracle.value(a, i) for i in indices] == [oracle.value(b, i) for i in indices] == list(range(n))
    if is_injective(filter(a)) and is_injective(filter(b)) and is_injective(a) and is_injective(b):
        inverse = {image: index for index, image in enumerate(oracle.values(a))}
        other = {image: index for index, image in enumerate(oracle.values(b))}
        common = next(i for i in range(len(inverse) + 1) if inverse.get(i) is None or inverse[i] != other.get(i))
        longest = max(k for k in range(1, common + 1) if oracle.is_layout(inverse.__getitem__, k))
        assert n == longest


@USUAL
@given(symbolic_layouts(), symbolic_layouts(), bindings())
def test_complement_over_dims(layout: Layout, target: Layout, values: dict[str, int]) -> None:
    try:
        rest = evaluate(complement(layout, target.size), values)
    except LayoutError:
        return
    pieces = oracle.values(evaluate(layout, values))
    covered = {start + piece for start in oracle.values(rest) for piece in pieces}
    assert set(range(evaluate(target.size, values))) <= covered


@pytest.mark.parametrize(
    ("layout", "target", "result"),
    [
        ("4:1", 24, "6:4"),
        ("6:4", 24, "4:1"),
        ("(4,6):(1,4)", 24, "1:0"),
        ("4:2", 24, "(2,3):(1,8)"),
        ("(2,4):(1,6)", 24, "3:2"),
        ("(2,2):(1,6)", 24, "(3,2):(2,12)"),
        ("4:2", 1, "2:1"),
        ("(3,2):(2,3)", 20, "3:8"),
        ("(8,K{div=8}):(1,8)", "16*K{div=8}", "2:8*K{div=8}"),
        ("4:K{div=8}", "M*K{div=8}", "(K{div=8},ceil_div(M,4)):(1,4*K{div=8})"),
    ],
)
def test_known_complements(layout: str, target: int | str, result: str) -> None:
    extent = parse_layout(target).shape if isinstance(target, str) else target
    assert str(complement(parse_layout(layout), extent)) == result


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("(2,2):(1,1)", "overlaps itself"),
        ("(4,4):(1,2)", "stride 2 lies within 4"),
        ("(4,8):(1,M)", "stride M lies within 4"),
        ("(4,8):(1,4*M+1)", "is not known to be a multiple of 4"),
        ("(4,8):(M,N)", "the greater is not known"),
        ("4:-1", "is not positive"),
    ],
)
def test_complements_that_do_not_exist(layout: str, message: str) -> None:
    with pytest.raises(LayoutError, match=f"complement: .*{message}"):
        complement(parse_layout(layout), 64)


@USUAL
@given(swizzles(), st.sampled_from(("64:1", "(8,32):(32,1)", "(4,64):(1,4)", "128:2", "(4,2):(1,8)", "8:1")))
def test_swizzled_inverses(swizzle: Swizzle, outer: str) -> None:
    layout = ComposedLayout(swizzle, 0, parse_layout(outer))
    right, left = right_inverse(layout), left_inverse(layout)
    assert [layout(right(i)) for i in range(right.size)] == list(range(right.size))
    assert [left(layout(i)) for i in range(layout.size)] == list(range(layout.size))


def test_inverses_of_coordinates_take_coordinates() -> None:
    layout = Layout(((2, 4), 8), ((E(1), 2 * E(1)), E(0)))
    inverse, left = right_inverse(layout), left_inverse(layout)
    for row in range(8):
        for column in range(8):
            assert layout(inverse(row, column)) == (row, column)
    assert all(left(layout(i)) == i for i in range(prod((2, 4, 8))))
    assert right_inverse(make_identity_layout((4, (2, 3)))) == Layout((4, (2, 3)))


def test_complement_of_coordinates() -> None:
    rest = complement(Layout((4, 2), (E(0), 2 * E(1))), (8, 8))
    assert rest == Layout((2, (2, 2)), (4 * E(0), (E(1), 4 * E(1))))
    with pytest.raises(LayoutError, match="no coordinate at every path"):
        complement(Layout(4, E(1, 1)), (8, 8))


def test_common_vector_of_swizzled_and_dynamic() -> None:
    plain = Layout((64, 8), (1, 64))
    assert max_common_vector(plain, plain) == 512
    assert max_common_vector(ComposedLayout(Swizzle(3, 3, 3), 0, plain), plain) == 8
    wide = parse_layout("(K{div=8},M):(1,K{div=8}+8)")
    assert str(max_common_vector(wide, plain)) == "8"
    assert str(max_common_vector(wide, wide)) == "K{div=8}"
    with pytest.raises(LayoutError, match="is not a swizzle of a layout"):
        max_common_vector(ComposedLayout(Layout(4, 2), 0, plain), plain)
