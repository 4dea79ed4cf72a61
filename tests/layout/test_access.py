"""Bank conflicts, sectors, swizzle synthesis and vector widths, against what is known and against brute force."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutelite.layout import (
    ComposedLayout,
    Layout,
    LayoutError,
    Swizzle,
    bank_conflicts,
    composition,
    copy_vector,
    dims,
    evaluate,
    hopper_swizzle,
    parse_layout,
    row_major,
    sectors,
    synthesize_swizzle,
    tile_to_shape,
    tma_problems,
    wgmma_problems,
)
from tests.layout import oracle
from tests.layout.strategies import USUAL, bindings, layouts, symbolic_layouts


@pytest.mark.parametrize(
    ("layout", "bits", "access_bytes", "phases"),
    [
        ("32:1", 32, None, (1,)),
        ("32:2", 32, None, (2,)),
        ("32:33", 32, None, (1,)),
        ("32:32", 32, None, (32,)),
        ("32:0", 32, None, (1,)),  # the same word to all
        ("(8,4):(0,1)", 32, None, None),  # (thread, value): 4 contiguous values
        ("32:1", 16, None, (1,)),  # two threads share a word
        ("32:1", 8, None, (1,)),
        ("32:1", 64, None, (1, 1)),  # half warps
        ("32:2", 64, None, (2, 2)),
        ("(32,4):(4,1)", 32, 16, (1, 1, 1, 1)),  # quarter warps
        ("(32,8):(64,1)", 16, 16, (8, 8, 8, 8)),  # rows of 128 bytes
        ("(8,8):(64,1)", 16, 16, (8,)),  # one ldmatrix of such rows
        ("8:64", 16, 16, (8,)),  # its row addresses alone
        ("8:72", 16, 16, (1,)),  # padded rows
        ("S<3,3,3> o 0 o 8:64", 16, 16, (1,)),  # swizzled rows
        ("64:1", 32, None, (1, 1)),  # two warps
        ("(32,8):(8,1)", 16, 8, None),
    ],
)
def test_bank_conflicts(layout: str, bits: int, access_bytes: int | None, phases: Any) -> None:
    report = bank_conflicts(parse_layout(layout), bits, access_bytes)
    if phases is None:  # by definition
        assert report.wavefronts >= len(report.phases)
    else:
        assert report.phases == phases
    assert report.ways == max(report.phases)


def test_a_report_names_who_meets_where() -> None:
    report = bank_conflicts(Layout(32, 16), 32)
    assert report.ways == 16
    assert report.worst[:3] == ((0, 0), (2, 128), (4, 256))
    assert "16-way bank conflicts: 16 wavefronts for 1 phases; bank 0 has thread 0 at byte 0, thread 2" in str(report)
    assert str(bank_conflicts(Layout(32), 32)) == "no bank conflicts in 1 phases"


@USUAL
@given(st.integers(0, 50), st.integers(0, 200), st.sampled_from((8, 16, 32)))
def test_bank_conflicts_by_definition(inner: int, outer: int, bits: int) -> None:
    layout = Layout(((4, 8),), ((inner, outer),))
    words: dict[int, set[int]] = {}
    for thread in range(32):
        word = layout(thread) * bits // 8 // 4
        words.setdefault(word % 32, set()).add(word)
    assert bank_conflicts(layout, bits).ways == max(map(len, words.values()))


@pytest.mark.parametrize(
    ("layout", "bits", "access_bytes", "offset", "counts"),
    [
        ("32:1", 32, None, 0, (4,)),
        ("32:1", 32, None, 1, (5,)),  # shifted by an element
        ("32:2", 32, None, 0, (8,)),
        ("32:8", 32, None, 0, (32,)),
        ("32:0", 32, None, 0, (1,)),
        ("(32,4):(4,1)", 32, 16, 0, (16,)),
        ("(32,4):(4,1)", 32, 4, 0, (16, 16, 16, 16)),
        ("(8,4):(1024,4)", 16, 8, 0, (8,)),
        ("32:1", 16, None, 0, (2,)),
    ],
)
def test_sectors(layout: str, bits: int, access_bytes: int | None, offset: int, counts: tuple[int, ...]) -> None:
    parsed = parse_layout(layout)
    report = sectors(parsed if "8,4" not in layout else Layout(((8, 4), 4), ((1024, 4), 1)), bits, access_bytes, offset)
    assert report.sectors == counts
    assert 0 < report.efficiency <= 1
    assert f"{sum(counts) / len(counts):g} sectors per request" in str(report)


def test_sectors_tell_how_much_was_needed() -> None:
    assert sectors(Layout(32, 2), 32).efficiency == 0.5
    assert sectors(Layout(32), 32).lines == (1,)
    assert sectors(Layout(32, 32), 32).lines == (32,)


@pytest.mark.parametrize(
    ("layout", "bits", "access_bytes", "message"),
    [
        (Layout((32, 4), (4, 2)), 16, 8, "not contiguous"),
        (Layout((32, 4), (5, 1)), 16, 8, "misaligned"),
        (Layout((32, 3), (3, 1)), 32, 8, "whole accesses of 2"),
        (Layout((32, 4, 2)), 32, 4, "must map"),
        (Layout(32), 32, 3, "an access has 1, 2, 4, 8 or 16 bytes of whole elements, not 3"),
        (Layout(32), 64, 4, "an access has 1, 2, 4, 8 or 16 bytes of whole elements, not 4"),
        (Layout(dims("T")), 32, None, "known at launch only"),
    ],
)
def test_accesses_that_are_none(layout: Layout, bits: int, access_bytes: int | None, message: str) -> None:
    for function in (bank_conflicts, sectors):
        with pytest.raises(LayoutError, match=message) as caught:
            function(layout, bits, access_bytes)
        assert caught.value.function == function.__name__


# -------------------------------------------------------------------------------------------------- synthesis

ROWS, COLUMNS = Layout((32, 1), (1, 0)), Layout((32, 1), (32, 0))


def test_transpose_of_words() -> None:
    found = synthesize_swizzle([ROWS, COLUMNS], 32)
    assert found.swizzle == Swizzle(5, 0, 5)
    assert all(report.ways == 1 for report in found.reports)
    assert found.hopper is None


@pytest.mark.parametrize(
    ("width", "swizzle", "hopper"),
    [(64, Swizzle(3, 3, 3), "128B"), (32, Swizzle(2, 3, 3), "64B"), (16, Swizzle(1, 3, 3), "32B")],
)
def test_matrix_rows_of_half_words_take_tmas_own(width: int, swizzle: Swizzle, hopper: str) -> None:
    """ldmatrix reads 8 rows of 16 bytes; TMA wrote rows of `width` elements."""
    found = synthesize_swizzle([(Layout(8, width), 16), (Layout((32, 8), (8, 1)), 16)], 16)
    assert (found.swizzle, found.hopper) == (swizzle, hopper)
    assert hopper_swizzle(swizzle, 16) == hopper
    tile = tile_to_shape(composition(swizzle, row_major((8, width))), (64, width))
    assert tma_problems(tile, 16) == [] == wgmma_problems(tile, 16)


def test_no_swizzle_where_none_is_needed() -> None:
    found = synthesize_swizzle([ROWS], 32)
    assert found.swizzle is not None
    assert (found.swizzle.bits, found.tried, found.hopper) == (0, 1, "none")


def test_proof_that_none_is_free() -> None:
    found = synthesize_swizzle([ROWS, COLUMNS], 32, hopper_only=True)
    assert found.swizzle is None
    assert found.tried == 4
    assert max(report.ways for report in found.reports) == 4
    diagonal = [Layout((32, 1), (d, 0)) for d in (1, 31, 32, 33, 64)]
    hopeless = synthesize_swizzle(diagonal, 32)
    assert hopeless.swizzle is None
    assert f"none of {hopeless.tried} swizzles is free" in str(hopeless)
    best = sum(sum(report.phases) for report in hopeless.reports)
    for bits in range(1, 6):  # by trying: nothing in elements is better
        for shift in range(bits, 12):
            for base in range(12 - bits - shift):
                for signed in (shift, -shift):
                    swizzle = Swizzle(bits, base, signed)
                    assert sum(sum(bank_conflicts(composition(swizzle, d), 32).phases) for d in diagonal) >= best


@given(st.lists(st.tuples(st.integers(0, 64), st.integers(0, 64)), min_size=1, max_size=2))
@USUAL
def test_synthesis_does_no_harm(strides: list[tuple[int, int]]) -> None:
    accesses = [Layout(((8, 4), 1), (pair, 0)) for pair in strides]
    found = synthesize_swizzle(accesses, 32)
    plain = sum(bank_conflicts(access, 32).wavefronts for access in accesses)
    assert sum(report.wavefronts for report in found.reports) <= plain
    assert (found.swizzle is None) == any(report.ways > 1 for report in found.reports)


def test_what_tma_and_wgmma_refuse() -> None:
    half = 16
    for layout, tma, wgmma in (
        ("(64,64):(64,1)", None, "its rows are 128 bytes long"),
        ("S<3,3,3> o 0 o (64,128):(128,1)", "rows of 256 bytes are longer", "its rows are 256 bytes long"),
        ("S<2,3,3> o 0 o (64,64):(64,1)", "rows of 128 bytes are longer than the 64", "are 64"),
        ("S<3,0,3> o 0 o (64,64):(64,1)", "no swizzle of TMA's", "no swizzle of wgmma's"),
        ("S<3,3,3> o 0 o (64,64):(72,1)", "not dense: stride 72", "do not lie 128 bytes apart"),
        ("S<3,3,3> o 0 o (12,64):(64,1)", None, "12 rows are no multiple of 8"),
        ("(64,12):(12,1)", "rows of 24 bytes are no multiple of 16", "24 bytes long"),
        ("(512,8):(8,1)", "extent 512 is above 256", None),
        ("(8,8,2):(8,1,100)", "stride 100", "stride 100 is not a multiple of a block"),
    ):
        for problems, expected in ((tma_problems, tma), (wgmma_problems, wgmma)):
            found = problems(parse_layout(layout), half)
            assert bool(found) == (expected is not None), (layout, found)
            assert expected is None or expected in " ".join(found)
    with pytest.raises(LayoutError, match="begins at offset 8"):
        tma_problems(parse_layout("S<3,3,3> o 8 o (8,64):(64,1)"), half)


# ---------------------------------------------------------------------------------------------------- vectors


@pytest.mark.parametrize(
    ("src", "dst", "elements", "limit"),
    [
        ("(M,K{div=8}):(K{div=8},1)", "(M,K{div=8}):(K{div=8},1)", 8, "wider than 128 bits"),
        ("(M,K{div=4}):(K{div=4},1)", "(M,K{div=4}):(K{div=4},1)", 4, "not known to be a multiple of 8"),
        (
            "(M,K):(K,1)",
            "(M,K):(K,1)",
            1,
            "K*M elements are contiguous in both, which is not known to be a multiple of 2",
        ),
        ("(8,64):(64,1)", "(8,64):(1,8)", 1, "only 1 elements"),
        ("(8,64):(1,8)", "(8,64):(1,64)", 8, "wider than 128 bits"),
        ("(8,64):(68,1)", "(8,64):(64,1)", 4, "stride 68 of src"),
        ("(8,64):(64,1)", "S<3,2,3> o 0 o (8,64):(64,1)", 4, "S<3,2,3> of dst keeps 4 elements together"),
        ("(8,64):(64,1)", "S<3,3,3> o 2 o (8,64):(64,1)", 2, "offset 2 of dst"),
        ("(4,2,8):(1,4,8)", "(4,2,8):(1,32,4)", 4, "only 4 elements"),
        ("12:1", "12:1", 4, "size 12 is not known to be a multiple of 8"),
    ],
)
def test_copy_vectors(src: str, dst: str, elements: int, limit: str) -> None:
    found = copy_vector(parse_layout(src), parse_layout(dst), 16)
    assert (found.elements, found.bits, found.layout.size) == (elements, 16 * elements, elements)
    assert limit in found.limit


def test_alignment_and_width_limit_vectors() -> None:
    tile = row_major((8, 64))
    assert copy_vector(tile, tile, 16, dst_align=4).elements == 2
    assert "dst is aligned to 4 bytes" in copy_vector(tile, tile, 16, dst_align=4).limit
    assert copy_vector(tile, tile, 16, src_align=24).elements == 4
    assert copy_vector(tile, tile, 32, max_bits=64).elements == 2
    assert copy_vector(tile, tile, 4).elements == 32
    with pytest.raises(LayoutError, match=r"has 512 elements, .* has 64"):
        copy_vector(tile, Layout(64), 16)


@USUAL
@given(layouts(128, broadcast=False), layouts(128, broadcast=False))
def test_vectors_are_contiguous_and_aligned_throughout(a: Layout, b: Layout) -> None:
    for src, dst in ((a, a), (a, Layout(a.shape)), (b, Layout(b.shape)), (Layout(a.size), Layout(a.size, 1))):
        found = copy_vector(src, dst, 8)
        indices = oracle.values(found.layout)
        for layout in (src, dst):
            images = oracle.values(layout)
            starts = [image for image in images if image % found.elements == 0]
            assert len(starts) * found.elements >= len(images)
            assert [images[i] for i in indices] == list(range(found.elements))


@USUAL
@given(symbolic_layouts(), bindings())
def test_vectors_over_dims_hold_for_all_values(layout: Layout, values: dict[str, int]) -> None:
    found = copy_vector(layout, layout, 8)
    static = evaluate(layout, values)
    assert copy_vector(static, static, 8).elements >= found.elements


def test_swizzled_copies_stay_within_the_swizzle() -> None:
    tile = row_major((64, 64))
    for base in range(5):
        swizzled = ComposedLayout(Swizzle(2, base, 3), 0, tile)
        assert copy_vector(tile, swizzled, 16).elements == min(1 << base, 8)
