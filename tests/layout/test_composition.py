"""composition: exact or an error, and an error only where no layout exists."""

from typing import Any

import pytest
from hypothesis import given

from cutelite.layout import (
    ComposedLayout,
    E,
    Layout,
    LayoutError,
    Swizzle,
    composition,
    get,
    is_compatible,
    make_identity_layout,
    parse_layout,
)
from tests.layout import oracle
from tests.layout.strategies import THOROUGH, USUAL, layouts, swizzles


@THOROUGH
@given(layouts(), layouts(100))
def test_exact_or_impossible(lhs: Layout, rhs: Layout) -> None:
    try:
        result = composition(lhs, rhs)
    except LayoutError:
        assert not oracle.composition_exists(lhs, rhs)
    else:
        assert is_compatible(rhs.shape, result.shape)
        assert oracle.values(result) == [oracle.value(lhs, index) for index in oracle.values(rhs)]


@USUAL
@given(layouts(64, broadcast=False), layouts(24), layouts(12))
def test_associative_within_the_domain(a: Layout, b: Layout, c: Layout) -> None:
    if max(oracle.values(c)) >= oracle.size(b) or max(oracle.values(b)) >= oracle.size(a):
        return
    try:
        left, right = composition(composition(a, b), c), composition(a, composition(b, c))
    except LayoutError:
        return
    assert oracle.values(left) == oracle.values(right)


@pytest.mark.parametrize(
    ("lhs", "rhs", "result"),
    [
        # what other implementations refuse although it exists
        ("(4,2,8):(3,12,97)", "3:3", "3:9"),
        ("(23,5):(2,120)", "7:3", "7:6"),
        ("(5,3):(7,1)", "2:3", "2:21"),
        ("1:1", "2:1", "2:1"),
        ("(4,1):(1,100)", "2:4", "2:100"),
        # the normal form
        ("(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"),
        ("20:2", "(5,4):(4,1)", "(5,4):(8,2)"),
        ("(10,2):(16,4)", "(5,4):(1,5)", "(5,(2,2)):(16,(80,4))"),
        ("(8,8):(8,1)", "1:5", "1:0"),
        ("(8,8):(8,1)", "(3,1):(0,7)", "(3,1):(0,0)"),
        ("(K{div=8},8):(1,K{div=8})", "4:1", "4:1"),
        ("(M,N):(N,1)", "M*N:1", "(M,N):(N,1)"),
        ("(4,M):(1,4)", "(2,2*M):(1,2)", "(2,2*M):(1,2)"),
    ],
)
def test_known_results(lhs: str, rhs: str, result: str) -> None:
    assert str(composition(parse_layout(lhs), parse_layout(rhs))) == result


@pytest.mark.parametrize(
    ("lhs", "rhs", "mode", "message"),
    [
        # what other implementations answer, and answer wrongly
        ("(4,6,8):(2,3,5)", "6:3", 0, "of its stride 3 and extent 4 of (4,6,8):(2,3,5) neither divides the other"),
        ("(8,9):(9,1)", "8:5", 0, "stride 5 and extent 8"),
        ("(3,5):(5,1)", "(2,12):(0,2)", 1, "mode 1 of (2,12):(0,2): of its stride 2 and extent 3"),
        (
            "(12,5):(5,1)",
            "30:1",
            0,
            "leaves extent 12 of (12,5):(5,1) after 12 elements, which does not divide its size",
        ),
        ("(2,2):(1,10)", "(2,2):(1,1)", None, "together overflow extent 2"),
        # what nothing is known about
        ("(M,N):(N,1)", "4:1", 0, "is not known to be a layout"),
        ("(8,8):(8,1)", "(2,M):(1,2)", 1, "4 elements, which is not known to divide its size M"),
        ("(8,8):(8,1)", "(2,(2,2)):(1,(2,-4))", (1, 1), "stride -4"),
    ],
)
def test_refusals_name_mode_and_numbers(lhs: str, rhs: str, mode: Any, message: str) -> None:
    with pytest.raises(LayoutError) as caught:
        composition(parse_layout(lhs), parse_layout(rhs))
    assert caught.value.function == "composition"
    assert caught.value.mode == mode
    assert message in str(caught.value)
    assert caught.value.numbers


def test_refusals_have_numbers_as_attributes() -> None:
    with pytest.raises(LayoutError) as caught:
        composition(Layout((12, 5), (5, 1)), Layout(30))
    assert caught.value.numbers == {"size": 30, "divisor": 12, "extent": 12}


def test_by_mode() -> None:
    layout = Layout((8, (4, 4), 3), (16, (1, 4), 128))
    result = composition(layout, (4, Layout((2, 4), (4, 1))))
    assert composition(layout, (None, 8)) == Layout((8, 8, 3), (16, 1, 128))
    assert result == Layout((4, (2, 4), 3), (16, (4, 1), 128))
    with pytest.raises(LayoutError, match="more modes"):
        composition(layout, (1, 2, 3, 4))


def test_tilers_are_layouts_of_coordinates() -> None:
    layout = Layout((8, (4, 4)), (16, (1, 4)))
    tiler = Layout((4, (2, 4)), (2 * E(0), (4 * E(1), E(1))))
    assert composition(layout, tiler) == Layout((4, (2, 4)), (32, (4, 1)))
    assert composition(layout, Layout(4, E(1, 0) + E(0))) == Layout(4, 17)
    assert composition(make_identity_layout((8, 16)), tiler) == tiler
    with pytest.raises(LayoutError, match="is no layout"):
        composition(Layout((8, (4, 4)), (16, (4, 1))), Layout(6, E(1) + E(0)))


@USUAL
@given(swizzles(), layouts(), layouts(48))
def test_swizzled(swizzle: Swizzle, lhs: Layout, rhs: Layout) -> None:
    tile = composition(swizzle, lhs)
    assert [tile(i) for i in range(oracle.size(lhs))] == [swizzle(v) for v in oracle.values(lhs)]
    try:
        result = composition(tile, rhs)
    except LayoutError:
        assert not oracle.composition_exists(lhs, rhs)
    else:
        assert isinstance(result, ComposedLayout)
        assert (get(result, 0) if rhs.shape else result).inner == swizzle
