"""Layouts as functions and as values: every kind of coordinate, text, equality, and run-time coordinates."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutelite.layout import (
    ComposedLayout,
    E,
    Layout,
    LayoutError,
    Swizzle,
    coalesce,
    cosize,
    crd2crd,
    crd2idx,
    dims,
    evaluate,
    filter,
    flatten,
    group_modes,
    idx2crd,
    increment_coord,
    is_static,
    leading_dim,
    make_composed_layout,
    make_fragment_like,
    make_identity_layout,
    make_layout,
    make_layout_like,
    make_ordered_layout,
    max_common_layout,
    parse_int_tuple,
    parse_layout,
    recast_layout,
    row_major,
    select,
    size,
    slice_and_offset,
    substitute,
    take,
)
from cutelite.layout.inttuple import append, depth, get, prepend, product_each, rank
from tests.layout import oracle
from tests.layout.strategies import THOROUGH, USUAL, K, M, N, bindings, layouts, swizzles, symbolic_layouts


@THOROUGH
@given(layouts(), st.integers(0, 1000))
def test_all_coordinates_agree(layout: Layout, index: int) -> None:
    expected = oracle.value(layout, index)
    natural = idx2crd(index, layout.shape)
    assert layout(index) == layout(natural) == crd2idx(natural, layout.shape, layout.stride) == expected
    if isinstance(layout.shape, tuple):
        flat = tuple(oracle.leaves(natural))
        assert layout(*natural) == expected
        assert layout(flat) == expected or len(flat) == len(layout.shape)
        assert layout(crd2crd(natural, layout.shape, product_each(layout.shape))) == expected
    assert crd2idx(natural, layout.shape) == (index if oracle.leaves(layout.shape) else 0)
    inside = index % size(layout)
    after = increment_coord(idx2crd(inside, layout.shape), layout.shape)
    assert crd2idx(after, layout.shape) == (inside + 1) % size(layout)


@USUAL
@given(symbolic_layouts(), bindings(), st.integers(0, 50))
def test_expressions_are_coordinates(layout: Layout, values: dict[str, int], index: int) -> None:
    static = evaluate(layout, values)
    assert evaluate(layout(index), values) == oracle.value(static, index)
    assert evaluate(layout(M + index), values) == oracle.value(static, values["M"] + index)
    assert evaluate(layout.size, values) == oracle.size(static)
    assert evaluate(cosize(layout), values) == max(oracle.values(static)) + 1


class Running:
    """A run-time integer: arithmetic is recorded, and nothing can be asked about its value."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    def _op(self, text: str) -> Running:
        self.log.append(text)
        return Running(f"%{len(self.log)}", self.log)

    def __add__(self, other: Any) -> Running:
        return self._op(f"{self} + {other}")

    def __radd__(self, other: Any) -> Running:
        return self._op(f"{other} + {self}")

    def __mul__(self, other: Any) -> Running:
        return self._op(f"{self} * {other}")

    def __floordiv__(self, other: Any) -> Running:
        return self._op(f"{self} // {other}")

    def __mod__(self, other: Any) -> Running:
        return self._op(f"{self} % {other}")

    def __str__(self) -> str:
        return self.name

    def _never(self, *_: object) -> Any:
        raise AssertionError("the value of a run-time coordinate was asked for")

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __index__ = __int__ = _never
    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("layout", "coordinate", "operations"),
    [
        ("(4,8):(1,4)", "ij", ["j * 4", "i + %1"]),
        ("(4,8):(8,1)", "i", ["i % 4", "i // 4", "%1 * 8", "%3 + %2"]),
        ("(4,8):(1,4)", "i", []),  # coalesced: nothing to compute
        ("((2,4),8):((1,2),8)", "i", []),
        ("(4,8):(0,1)", "ij", []),
        ("(4,8):(1,0)", "i", ["i % 4"]),
        ("(4,8,2):(1,0,0)", "i", ["i % 4"]),
        ("(4,1,8):(1,0,100)", "i", ["i % 4", "i // 4", "%2 * 100", "%1 + %3"]),
        ("(M,K{div=8}):(K{div=8},1)", "ij", ["i * K{div=8}", "%1 + j"]),
        ("(4,8):(8,1)", "i3", ["i * 8", "%1 + 3"]),
        ("(4,8):(8,1)", "3j", ["j + 24"]),
        ("(4,(2,M)):(1,(4,8))", "3j", ["j * 4", "%1 + 3"]),
    ],
)
def test_run_time_coordinates_cost_what_they_must(layout: str, coordinate: str, operations: list[str]) -> None:
    log: list[str] = []
    coord = tuple(int(c) if c.isdigit() else Running(c, log) for c in coordinate)
    parse_layout(layout)(*coord)
    assert log == operations


def test_run_time_coordinates_elsewhere() -> None:
    log: list[str] = []
    i = Running("i", log)
    assert str(idx2crd(i, (4, (2, 3)))) and log == ["i % 4", "i // 4", "%2 % 2", "%2 // 2"]
    log.clear()
    sub, offset = slice_and_offset((i, None), Layout((8, 4), (4, 1)))
    assert (str(sub), str(offset), log) == ("(4):(1)", "%1", ["i * 4"])
    log.clear()
    coordinate = make_identity_layout((8, 4))(i, 3)
    assert (str(coordinate[0]), coordinate[1], log) == ("i", 3, [])


def test_construction() -> None:
    assert Layout((4, [2, 8])).shape == (4, (2, 8))
    assert str(Layout((3, (1, 4)))) == "(3,(1,4)):(1,(0,3))"
    assert str(Layout((M, N))) == "(M,N{div=2}):(1,M)"
    assert str(row_major((M, N))) == "(M,N{div=2}):(N{div=2},1)"
    assert Layout(True) == Layout(1)
    assert make_layout((4, 8), (8, 1)) == make_layout((4, 8), stride=(8, 1)) == Layout((4, 8), (8, 1))
    assert make_layout(Layout(4), Layout((2, 3), (12, 4))) == Layout((4, (2, 3)), (1, (12, 4)))
    assert make_ordered_layout((2, (3, 4)), order=(1, 0)) == Layout((2, (3, 4)), (12, (1, 3)))
    assert make_ordered_layout((2, 3, 4), order=(2, 0, 1)) == Layout((2, 3, 4), (12, 1, 3))


ANYTHING: Any = 3
layout_of: Any = make_layout  # without its types


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Layout((4, 8), (1, 4, 2)), r"shape \(4,8\) and stride \(1,4,2\) do not nest alike"),
        (lambda: Layout((4, 8), 1), "do not nest alike"),
        (lambda: Layout((4, 0)), "an extent is 0"),
        (lambda: Layout((4, -1)), "an extent is -1"),
        (lambda: Layout((4, 1.5)), "holds 1.5"),
        (lambda: Layout(4, "x"), "holds 'x'"),
        (lambda: Layout((4, 8))(1, 2, 3), r"coordinate \(1,2,3\) does not fit shape \(4,8\)"),
        (lambda: Layout((4, 8))((1, (2, 3))), "does not fit shape 8"),
        (lambda: Layout((4, 8))(None, 2), "use slice_"),
        (lambda: Layout((4, 8))[2], r"no mode 2 in \(4,8\)"),
        (lambda: get((4, (2, 3)), [1, 2]), r"no mode 2 in \(2,3\)"),
        (lambda: layout_of(Layout(4), Layout(4), stride=1), "strides of their own"),
        (lambda: layout_of(1, 2, 3), "3 arguments"),
        (lambda: layout_of(Layout(4), 4), "holds 4:1"),
        (lambda: make_ordered_layout((2, 3), (0, 1, 2)), "does not fit shape"),
        (lambda: make_composed_layout(ANYTHING, 0, Layout(4)), "neither a swizzle nor a layout"),
        (lambda: make_composed_layout(Swizzle(1, 0, 1), 0, ANYTHING), "must be a layout"),
        (lambda: Swizzle(3, 4, 2), "needs a shift of 3 or more"),
        (lambda: Swizzle(-1, 4, 2), "two naturals"),
        (lambda: cosize(Layout((4, 8), (1, M - N))), "the sign of stride M-N"),
        (lambda: cosize(make_identity_layout((4, 8))), "gives coordinates"),
        (lambda: group_modes((1, 2), 1, 4), "are not a range"),
        (lambda: take(Layout((1, 2)), 2, 2), "are not a range"),
        (lambda: append((1, 2), 3, up_to_rank=1), "is above 1"),
        (lambda: coalesce(Layout((4, 8)), (1, 1, 1)), "fewer modes than profile"),
        (lambda: idx2crd(3, (4, 4), (1, 2)), "do not give every index one coordinate"),
        (lambda: idx2crd((1, 2), 4), "does not fit shape"),
        (lambda: E(-1), "naturals"),
        (lambda: E(0) + 3, "a coordinate, 3 an offset"),
    ],
)
def test_misuse(make: Any, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        make()


def test_values_not_places() -> None:
    a, b = Layout((4, (2, M)), (1, (4, 8))), Layout((4, (2, M)), (1, (4, 8)))
    assert a == b and hash(a) == hash(b) and len({a, b}) == 1
    assert a != Layout((4, (2, M)), (1, (4, 9)))
    assert Layout(4, 1) != Layout((4,), (1,))
    swizzled = ComposedLayout(Swizzle(2, 1, 3), 8, a)
    for thing in (a, swizzled, Swizzle(1, 2, 3), E(1, 0) * 3):
        assert pickle.loads(pickle.dumps(thing)) == thing
        with pytest.raises(AttributeError, match="immutable"):
            setattr(thing, "shape", 3)  # noqa: B010 (types forbid it as well)
    assert swizzled != a


@USUAL
@given(st.one_of(layouts(), symbolic_layouts()), st.one_of(st.none(), swizzles()), st.integers(0, 9))
def test_text_reads_back(layout: Layout, swizzle: Swizzle | None, offset: int) -> None:
    assert parse_layout(str(layout)) == layout
    assert parse_int_tuple(str(layout).split(":")[0]) == layout.shape or "{" in str(layout)
    if swizzle is not None:
        composed = ComposedLayout(swizzle, offset, layout)
        assert parse_layout(str(composed)) == composed
        assert parse_layout(str(ComposedLayout(layout, offset * M, composed))) == ComposedLayout(
            layout, offset * M, composed
        )


@pytest.mark.parametrize(
    "text",
    [
        "(8,(4,2)):(4,(1,32))",
        "(4):(1)",
        "():()",
        "(M+1):(2)",
        "M*N+N:2",
        "(4,8):(1@0,1@1)",
        "(4,(2,8)):(2@0,(1@0@1,M@1@1))",
        "8:1@0+3@1",
        "4:(8*M)@1",
        "S<3,4,3> o 0 o (8,64):(64,1)",
        "S<2,0,-3>",
        "(4,2):(2,1) o 3 o S<1,0,2> o M o 8:1",
        "K{div=8,min=0,max=512}:1",
        "min(M,64):max(M,N)",
    ],
)
def test_texts(text: str) -> None:
    assert str(parse_layout(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(8,4", "',' or '\\)' expected at position 4|'\\)' expected at position 4"),
        ("(8,4):", "a number, a name or '\\(' expected at position 6"),
        ("(8,4):(1,4) x", "the end expected at position 12"),
        ("(8,,4)", "expected at position 3"),
        ("S<3,4>", "expected at position"),
        ("²:1", "a number, a name or '\\(' expected at position 0"),
        ("9" * 5000, "a number of at most 40 digits expected at position 0"),
        ("(" * 3000 + "4" + ")" * 3000, "at most 100 nested modes expected at position 100"),
        ("S<1,1,1> o 0 o " * 3000 + "4", "at most 100 nested modes expected"),
        ("K{mod=8}", "div, min, max or '}' expected at position 2"),
        ("8//0", "a divisor other than 0"),
        ("(4,8):(1,(2,3))", "do not nest alike"),
        ("ceil_div(4)", "two arguments"),
        ("", "the end"),
        ("8 & 3", "the end expected"),
    ],
)
def test_texts_that_are_none(text: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        parse_layout(text)


def test_names_in_texts() -> None:
    rows, columns = dims("M:16 N")
    assert parse_layout("(M,N):(N,1)", dims=(rows, columns)).shape == (rows, columns)
    assert parse_layout("(M,N)", dims={"M": 4, "N": rows}) == Layout((4, rows))


def test_modes() -> None:
    layout = Layout((2, (3, 4), 5), (1, (2, 6), 24))
    assert layout[1] == Layout((3, 4), (2, 6)) and layout[1, 0] == Layout(3, 2) and layout[-1] == Layout(5, 24)
    assert list(layout) == [layout[0], layout[1], layout[2]]
    assert select(layout, [2, 0]) == Layout((5, 2), (24, 1))
    assert take(layout, 1, 3) == Layout(((3, 4), 5), ((2, 6), 24))
    assert group_modes(layout, 0, 2) == Layout(((2, (3, 4)), 5), ((1, (2, 6)), 24))
    assert flatten(layout) == Layout((2, 3, 4, 5), (1, 2, 6, 24))
    assert append(layout[0], Layout(7, 9)) == Layout((2, 7), (1, 9))
    assert prepend(layout, Layout(7, 9), up_to_rank=5) == Layout((7, 7, 2, (3, 4), 5), (9, 9, 1, (2, 6), 24))
    assert (rank(layout), depth(layout), size(layout), size(layout, [1, 1]), layout.rank) == (3, 2, 120, 4, 3)
    swizzled = ComposedLayout(Swizzle(1, 0, 2), 0, layout)
    assert swizzled[1].outer == layout[1] and flatten(swizzled).outer == flatten(layout)
    assert (swizzled.shape, size(swizzled), rank(swizzled), depth(swizzled)) == (layout.shape, 120, 3, 2)


@USUAL
@given(layouts(), swizzles())
def test_coalesce_and_filter(layout: Layout, swizzle: Swizzle) -> None:
    flat, filtered, swizzled = coalesce(layout), filter(layout), coalesce(ComposedLayout(swizzle, 5, layout))
    assert oracle.values(flat) == oracle.values(layout)
    assert set(oracle.values(filtered)) == set(oracle.values(layout))
    assert swizzled == ComposedLayout(swizzle, 5, flat)
    parts = list(zip(oracle.leaves(flat.shape), oracle.leaves(flat.stride), strict=True))
    assert all(d1 != s0 * d0 for (s0, d0), (_, d1) in pairwise(parts))
    assert len(parts) == 1 or all(s != 1 for s, _ in parts)
    if isinstance(layout.shape, tuple):
        by_mode = coalesce(layout, (1,) * layout.rank)
        assert [mode(i) for mode in by_mode for i in range(size(mode))] == [
            mode(i) for mode in layout for i in range(size(mode))
        ]


@USUAL
@given(swizzles(), st.integers(0, 10_000))
def test_swizzles(swizzle: Swizzle, index: int) -> None:
    assert swizzle(swizzle(index)) == index
    assert swizzle(index) // swizzle.size == index // swizzle.size
    assert swizzle(index) % swizzle.fixed == index % swizzle.fixed or swizzle.bits == 0
    assert sorted(map(swizzle, range(swizzle.size))) == list(range(swizzle.size))


def test_swizzles_of_what_is_known_at_launch() -> None:
    swizzle = Swizzle(3, 0, 3)
    assert swizzle(64 * M) == 64 * M
    assert swizzle(Dim7) == Dim7
    with pytest.raises(LayoutError, match="unless it is a multiple of 64"):
        swizzle(M)


Dim7 = dims("seven") % 8


def test_coordinate_layouts() -> None:
    identity = make_identity_layout((4, (2, 8)))
    assert str(identity) == "(4,(2,8)):(1@0,(1@0@1,1@1@1))"
    assert identity(13) == identity(1, 3) == (1, (1, 1))
    assert identity(0) == (0, (0, 0))
    assert make_identity_layout(8) == Layout(8)
    assert make_identity_layout((1, 8))(0, 3) == (0, 3)
    tile, offset = slice_and_offset((2, None), identity)
    assert (str(tile), offset) == ("((2,8)):((1@0@1,1@1@1))", (2, (0, 0)))
    assert evaluate(Layout((4, M), (2 * E(0), N * E(1))), {"M": 2, "N": 6}) == Layout((4, 2), (2 * E(0), 6 * E(1)))
    nested = ComposedLayout(Layout((4, 16), (16, 1)), (1, 2), Layout((2, 4), (E(0), 2 * E(1))))
    assert nested(1, 3) == Layout((4, 16), (16, 1))(2, 8)


def test_likes() -> None:
    layout = Layout(((2, 2), 3, 4), ((1, 64), 0, 2))
    assert str(make_layout_like(layout)) == "((2,2),3,4):((1,8),0,2)"
    assert str(make_fragment_like(Layout(((2, 2), 3, 4), ((1, 64), 8, 2)))) == "((2,2),3,4):((1,2),16,4)"
    assert make_fragment_like(Layout(((2, 4), 3), ((0, 1), M))) == Layout(((2, 4), 3), ((0, 1), 4))


def test_leading_dim() -> None:
    assert leading_dim(row_major((M, N))) == 1
    assert leading_dim(Layout((1, 8), (1, 1))) == 1
    assert leading_dim(Layout((8, (2, 4)), (8, (4, 1)))) == (1, 1)
    assert leading_dim(Layout(8)) == 0
    assert leading_dim((4, 8), (2, M)) is None


def test_static() -> None:
    assert is_static(Layout((4, 8))) and is_static(ComposedLayout(Swizzle(1, 0, 1), 0, Layout(4)))
    assert not is_static(Layout((4, 8), (1, M)))
    assert not is_static(ComposedLayout(Swizzle(1, 0, 1), M, Layout(4)))
    assert not is_static(Layout(4, M * E(0)))
    assert substitute(Layout((M, K), (K, 1)), {M: 4, "K": 16}) == Layout((4, 16), (16, 1))


def test_recast_of_swizzled_and_dynamic() -> None:
    tile = parse_layout("S<3,5,4> o 64 o (8,256):(256,1)")
    assert str(recast_layout(32, 8, tile)) == "S<3,3,4> o 16 o (8,64):(64,1)"
    assert recast_layout(8, 32, recast_layout(32, 8, tile)) == tile
    assert recast_layout(8, 8, tile) == tile
    assert str(recast_layout(64, 16, parse_layout("(M,K{div=8}):(K{div=8},1)"))) == "(M,K{div=8}//4):(K{div=8}//4,1)"
    for layout, message in (
        ("(M,K{div=2}):(K{div=2},1)", "stride K{div=2} .* is not known to divide 4"),
        ("(8,4):(1,3)", "stride 3 of"),
        ("(2,4):(1,8)", "do not fill whole elements"),
        ("(6,4):(1,8)", "extent 6 with stride 1"),
        ("S<3,1,3> o 0 o 64:1", "permutes within elements"),
        ("S<3,4,3> o 2 o 64:1", "offset 2 is not known to be a multiple of 4"),
        ("(4,8):(1@0,1@1)", "gives coordinates"),
    ):
        with pytest.raises(LayoutError, match=message):
            recast_layout(32, 8, parse_layout(layout))
    with pytest.raises(LayoutError, match="neither of 24 and 16 bits"):
        recast_layout(24, 16, Layout(4))
    with pytest.raises(LayoutError, match="no mode of stride 1"):
        recast_layout(8, 16, Layout((4, 8), (2, 16)))


def test_common_layout_needs_no_order_of_arguments() -> None:
    a, b = Layout((4, 4, 4), (1, 4, 32)), Layout((4, 4, 4), (1, 16, 4))
    assert max_common_layout(a, b) == max_common_layout(b, a) == Layout(4)
