"""Divides and products: their laws, their normal forms, and what they refuse."""

from typing import Any

import pytest
from hypothesis import given

from cutelite.layout import (
    ComposedLayout,
    E,
    Layout,
    LayoutError,
    Swizzle,
    blocked_product,
    complement,
    dims,
    filter,
    flat_divide,
    flat_product,
    local_partition_and_offset,
    local_tile_and_offset,
    logical_divide,
    logical_product,
    make_layout_tv,
    make_ordered_layout,
    parse_layout,
    raked_product,
    row_major,
    tile_to_shape,
    tiled_divide,
    tiled_product,
    zipped_divide,
    zipped_product,
)
from tests.layout import oracle
from tests.layout.strategies import THOROUGH, USUAL, layouts


@THOROUGH
@given(layouts(), layouts(40))
def test_logical_divide(target: Layout, tiler: Layout) -> None:
    try:
        result = logical_divide(target, tiler)
    except LayoutError:
        pieces = oracle.values(filter(tiler))
        tiling = oracle.tiling(set(pieces), oracle.size(target))
        if len(set(pieces)) == len(pieces) and tiling and oracle.is_layout(tiling.__getitem__, len(tiling)):
            rest = complement(tiler, oracle.size(target))
            both = Layout((tiler.shape, rest.shape), (tiler.stride, rest.stride))
            assert not oracle.composition_exists(target, both)
        return
    assert result.rank == 2
    assert oracle.values(result[0]) == [oracle.value(target, index) for index in oracle.values(tiler)]
    assert set(oracle.values(target)) <= set(oracle.values(result))


@USUAL
@given(layouts(64), layouts(24))
def test_ranked_products_have_the_elements_of_the_product(block: Layout, tiler: Layout) -> None:
    try:
        result = logical_product(block, tiler)
    except LayoutError:
        return
    for product in (blocked_product, raked_product):
        assert sorted(oracle.values(product(block, tiler))) == sorted(oracle.values(result))


@pytest.mark.parametrize(
    ("target", "tiler", "result"),
    [
        ("16:3", "4:1", "(4,4):(3,12)"),
        ("16:3", "4:4", "(4,4):(12,3)"),
        ("16:3", "(2,2):(4,1)", "((2,2),(2,2)):((12,3),(6,24))"),
        ("(4,2,3):(2,1,8)", "4:2", "((2,2),(2,3)):((4,1),(2,8))"),
        ("6:1", "(2,3):(3,1)", "((2,3),1):((3,1),0)"),
        ("10:1", "4:1", "(4,3):(1,4)"),
        ("6:1", "8:1", "(8,1):(1,0)"),
        ("1:1", "2:1", "(2,1):(1,0)"),
        ("(K{div=8},8):(1,K{div=8})", "4:1", "(4,2*K{div=8}):(1,4)"),
        ("M:1", "64:1", "(64,ceil_div(M,64)):(1,64)"),
    ],
)
def test_known_divides(target: str, tiler: str, result: str) -> None:
    assert str(logical_divide(parse_layout(target), parse_layout(tiler))) == result


def test_divides_by_mode() -> None:
    target = Layout((9, (4, 8)), (59, (13, 1)))
    tiler = (Layout(3, 3), Layout((2, 4), (1, 8)))
    assert str(logical_divide(target, tiler)) == "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))"
    assert str(zipped_divide(target, tiler)) == "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))"
    assert str(tiled_divide(target, tiler)) == "((3,(2,4)),3,(2,2)):((177,(13,2)),59,(26,1))"
    assert str(flat_divide(target, tiler)) == "(3,(2,4),3,(2,2)):(177,(13,2),59,(26,1))"
    assert str(zipped_divide(Layout((8, 6, 5)), (4, None))) == "((4,1),(2,6,5)):((1,0),(4,8,48))"
    assert str(zipped_divide(Layout(((4, 6), 5)), ((2, 3), 5))) == "(((2,3),5),((2,2),1)):(((1,4),24),((2,12),0))"


def test_divides_over_dims_keep_factors() -> None:
    K = dims("K:8")
    layout = Layout((K, 8), (1, K))
    assert str(zipped_divide(layout, (4, 2))) == "((4,2),(K{div=8}//4,4)):((1,K{div=8}),(4,2*K{div=8}))"


@pytest.mark.parametrize(
    ("block", "tiler", "result"),
    [
        ("(2,2):(4,1)", "6:1", "((2,2),(2,3)):((4,1),(2,8))"),
        ("(2,2):(4,1)", "(4,2):(2,1)", "((2,2),(4,2)):((4,1),(8,2))"),
        ("4:1", "3:0", "(4,3):(1,0)"),
        ("(8,K{div=8}):(1,8)", "M:1", "((8,K{div=8}),M):((1,8),8*K{div=8})"),
    ],
)
def test_known_products(block: str, tiler: str, result: str) -> None:
    assert str(logical_product(parse_layout(block), parse_layout(tiler))) == result


def test_ranked_products() -> None:
    block, tiler = Layout((2, 5), (5, 1)), Layout((3, 4))
    assert str(zipped_product(block, tiler)) == "((2,5),(3,4)):((5,1),(10,30))"
    assert str(tiled_product(block, tiler)) == "((2,5),3,4):((5,1),10,30)"
    assert str(flat_product(block, tiler)) == "(2,5,3,4):(5,1,10,30)"
    assert str(blocked_product(block, tiler)) == "((2,3),(5,4)):((5,10),(1,30))"
    assert str(raked_product(block, tiler)) == "((3,2),(4,5)):((10,5),(30,1))"
    assert str(blocked_product(block, Layout((3, 4), (4, 1)))) == "((2,3),(5,4)):((5,40),(1,10))"


def test_tile_to_shape() -> None:
    atom = ComposedLayout(Swizzle(3, 4, 3), 0, row_major((8, 64)))
    tiled = tile_to_shape(atom, (128, 64, 4), order=(0, 1, 2))
    assert str(tiled) == "S<3,4,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))"
    assert str(tile_to_shape(row_major((8, 4)), (16, 8), order=(1, 0))) == "((8,2),(4,2)):((4,64),(1,32))"
    with pytest.raises(LayoutError, match=r"mode 1: 64 of .* is not known to divide 96"):
        tile_to_shape(atom, (128, 96))
    with pytest.raises(LayoutError, match="has more modes than"):
        tile_to_shape(atom, (128,))


@pytest.mark.parametrize("proj", [(1, None, 1), (None, 1, 1), (1, 1, None)])
def test_local_tile_with_projection(proj: Any) -> None:
    tiler, coord = (32, 16, 8), (2, 1, 3)
    kept = [i for i, p in enumerate(proj) if p is not None]
    extents = tuple((128, 64, 32)[i] for i in kept)
    layout = row_major(extents)
    tile, offset = local_tile_and_offset(layout, tiler, coord, proj=proj)
    assert tile.shape == tuple(tiler[i] for i in kept)
    assert offset == layout(*(tiler[i] * coord[i] for i in kept))


def test_local_tile_keeps_open_modes() -> None:
    M, K = dims("M K:8")
    tile, offset = local_tile_and_offset(row_major((M, K)), (128, 64, 32), (3, 5, None), proj=(1, None, 1))
    assert str(tile) == "(128,32,ceil_div(K{div=8},32)):(K{div=8},1,32)"
    assert offset == 384 * K


def test_local_partition_deals_elements_out() -> None:
    layout, threads = row_major((16, 8)), Layout((4, 8), (8, 1))
    seen = []
    for thread in range(32):
        part, offset = local_partition_and_offset(layout, threads, thread)
        seen += [offset + value for value in oracle.values(part)]
        assert offset == layout(thread // 8, thread % 8)
    assert sorted(seen) == list(range(128))
    part, offset = local_partition_and_offset(layout, Layout((4, 2, 4), (1, 16, 4)), 21, proj=(1, None, 1))
    assert (part.shape, offset) == ((4, 2), layout(1, 1))


def test_thread_value_layouts() -> None:
    tiler, tv = make_layout_tv(Layout((4, 8), (8, 1)), make_ordered_layout((2, 4), (1, 0)))
    assert tiler == (8, 32)
    tile = Layout(tiler)
    for thread in range(32):
        for value in range(8):
            row, column = thread // 8 * 2 + value // 4, thread % 8 * 4 + value % 4
            assert tv(thread, value) == tile(row, column)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (logical_divide, (Layout((8, 8)), (2, 2, 2)), "has more modes than"),
        (logical_divide, (Layout(16), Layout((2, 2), (1, 1))), "overlaps itself"),
        (logical_divide, (Layout(16), Layout((2, 2), (1, 3))), "cover only the first 2 elements"),
        (logical_divide, (Layout((6, 4), (4, 1)), 4), "is no layout"),
        (logical_divide, (Layout((2, 2)), Layout(2, E(0) + E(1))), "moves along several coordinates"),
        (zipped_divide, (Layout(8), Layout(2, -1)), "is not positive"),
        (logical_product, (Layout((8, 8)), (2, 2, 2)), "has more modes than"),
        (logical_product, (Layout((2, 2), (1, 1)), 4), "overlaps itself"),
        (blocked_product, (Layout(4), ComposedLayout(Swizzle(1, 0, 1), 0, Layout(4))), "composed"),
    ],
)
def test_refusals(function: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        function(*arguments)
