"""Misuse of layouts, tensors and atoms: one error, at the user's line, that names the function, modes and numbers."""

# mypy: disable-error-code="valid-type, attr-defined, index, type-arg, var-annotated, arg-type"
# (what is wrong here is wrong on purpose)

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Layout, Tensor

M, N = cl.dims("M N")
ROWS = cl.make_tiled_copy_tv(cl.make_copy_atom(cl.CopyUniversalOp(128), cl.f32), Layout((8, 4), (4, 1)), Layout((1, 4)))
MMA = cl.make_tiled_mma(cl.WarpMmaOp(cl.f16, cl.f32), (1, 1, 1))


def incongruent(a: Any) -> None:
    cl.make_layout((4, (2, 8)), stride=(1, 4, 8))


def no_composition(a: Any) -> None:
    cl.composition(Layout((4, 6, 8), (2, 3, 5)), Layout(6, 3))


def too_many_modes(a: Any) -> None:
    cl.local_tile(a, (8, 8, 8), (0, 0, 0))


def mode_out_of_range(a: Any) -> None:
    cl.group_modes(a, 1, 5)


def rank_mismatch(a: Any) -> None:
    cl.domain_offset((1, 2, 3), a)


def too_many_coordinates(a: Any) -> None:
    cl.local_tile(a, (8, 8), (0, 0, 0))


def narrow_tile(a: Any) -> None:
    ROWS.get_slice(cl.thread_idx.x).partition_S(cl.shared(cl.f32, (64,)))


def no_shape_for_a_predicate(a: Any) -> None:
    mine = ROWS.get_slice(cl.thread_idx.x)
    source = mine.partition_S(cl.shared(cl.f32, (8, 64)))
    cl.copy(ROWS, source, cl.make_fragment_like(source), pred=cl.make_rmem_tensor(cl.boolean, (3,)))


def predicates_within_an_instruction(a: Any) -> None:
    mine = ROWS.get_slice(cl.thread_idx.x)
    source = mine.partition_S(cl.shared(cl.f32, (8, 64)))
    inside = cl.make_rmem_tensor(cl.boolean, Layout((4, 1, 4)))
    inside.fill(True)
    cl.copy(ROWS, source, cl.make_fragment_like(source), pred=inside)


def predicates_of_another_size(a: Any) -> None:
    cl.copy(cl.shared(cl.f32, (4, 8)), cl.make_rmem_tensor(cl.f32, (4, 8)), pred=cl.make_rmem_tensor(cl.boolean, (5,)))


def vector_for_a_tensor(a: Any) -> None:
    registers = cl.make_rmem_tensor(cl.f32, (4,))
    cl.copy(registers.load(), registers)


def unwanted_barrier(a: Any) -> None:
    mine = ROWS.get_slice(cl.thread_idx.x)
    source = mine.partition_S(cl.shared(cl.f32, (8, 64)))
    cl.copy(ROWS, source, cl.make_fragment_like(source), barrier=cl.shared(cl.mbarrier, (1,))[0])


def missing_barrier(a: Any) -> None:
    registers = cl.make_rmem_tensor(cl.f32, (4,))
    send = cl.make_copy_atom(cl.CopyDsmemStoreOp(128), cl.f32)
    cl.copy(send, registers, cl.mapa(cl.shared(cl.f32, (4,)), 0))


def tile_larger_than_shared_memory(a: Any) -> None:
    cl.local_tile(cl.shared(cl.f32, (8, 8)), (16, 8), (0, 0))


def tile_over_the_edge(a: Any) -> None:
    cl.local_tile(cl.shared(cl.f32, (8, 12)), (8, 8), (0, cl.thread_idx.x))


def tiles_that_do_not_divide(a: Any) -> None:
    cl.zipped_divide(cl.shared(cl.f32, (8, 12)), (8, 8))


def partition_beyond_shared_memory(a: Any) -> None:
    ROWS.get_slice(0).partition_S(cl.shared(cl.f32, (4, 16)))


def threads_beyond_shared_memory(a: Any) -> None:
    cl.local_partition(cl.shared(cl.f32, (6, 6)), Layout((4, 4)), 0)


def values_of_no_whole_accesses(a: Any) -> None:
    cl.make_tiled_copy_tv(ROWS.atom, Layout((8, 4)), Layout((3, 8)))


def threads_of_no_whole_warps(a: Any) -> None:
    atom = cl.make_copy_atom(cl.LdMatrix8x8x16bOp(num_matrices=2), cl.f16)
    cl.make_tiled_copy_tv(atom, Layout((16, 12), (12, 1)), Layout((1, 4)))


def accesses_over_the_end_of_a_column(a: Any) -> None:
    tiled = cl.make_tiled_copy_tv(ROWS.atom, Layout((1, 3), (0, 1)), Layout((3, 8)))
    tiled.get_slice(cl.thread_idx.x).partition_S(cl.shared(cl.f32, (3, 24)))


def tile_smaller_than_its_layout(a: Any) -> None:
    cl.make_tiled_copy(cl.make_copy_atom(cl.CopyUniversalOp(), cl.f32), Layout((32, 2)), (8, 7))


def tile_larger_than_its_layout(a: Any) -> None:
    cl.make_tiled_copy(cl.make_copy_atom(cl.CopyUniversalOp(), cl.f32), Layout((32, 2)), (8, 16))


def swizzle_of_unaligned_memory(a: Any) -> None:
    cl.make_tensor(cl.shared(cl.f16, (8, 64)).ptr, cl.make_smem_layout(cl.f16, (8, 64)), cl.f16)


def view_beyond_the_end(a: Any) -> None:
    cl.shared(cl.f32, (4, 4)).view(Layout((5, 5)))


def tile_with_holes(a: Any) -> None:
    cl.make_tiled_copy(cl.make_copy_atom(cl.CopyUniversalOp(), cl.f32), Layout((2, 2), (63, 0)), (8, 8))


def odd_bits(a: Any) -> None:
    cl.make_copy_atom(cl.CopyUniversalOp(48), cl.f32)


def no_such_cache(a: Any) -> None:
    copy = cl.make_tiled_copy_tv(cl.make_copy_atom(cl.CopyUniversalOp(cache="wt"), cl.f32), Layout(32), Layout(1))
    source = copy.get_slice(0).partition_S(cl.local_tile(a, (32, 1), (0, 0))[None, 0])
    cl.copy(copy, source, cl.make_fragment_like(source))


def cache_of_shared_memory(a: Any) -> None:
    copy = cl.make_tiled_copy_tv(
        cl.make_copy_atom(cl.CopyUniversalOp(evict="evict_first"), cl.f32), Layout(32), Layout(1)
    )
    source = copy.get_slice(0).partition_S(cl.shared(cl.f32, (32,)))
    cl.copy(copy, source, cl.make_fragment_like(source))


def no_such_reduction(a: Any) -> None:
    cl.make_copy_atom(cl.CopyReduceBulkTensorTileS2GOp("mul"), cl.f32)


def text_as_predicate(a: Any) -> None:
    cl.copy(cl.shared(cl.f32, (4,)), cl.make_rmem_tensor(cl.f32, (4,)), pred="x")


def other_numbers_of_atoms(a: Any) -> None:
    cl.make_tiled_mma(cl.WarpMmaOp(cl.f16, cl.f32), Layout((2, 2, 1), (4, 4, 1)))


def numbers_as_tensors(a: Any) -> None:
    cl.axpby(1.0, 3, 2.0, 4)


def no_stages(a: Any) -> None:
    cl.PipelineAsync.create(0, 32, 32)


def nested_coordinate_of_another_rank(a: Any) -> None:
    cl.logical_divide(cl.shared(cl.f32, (4, 4)), (2, 2))[(0, 0, 0), (0, 0)]


def mode_that_is_not_there(a: Any) -> None:
    cl.select(a, (0, 2))


def rows_of_odd_length(a: Any) -> None:
    cl.recast_tensor(cl.shared(cl.f32, (5, 5)), cl.f64)


def misaligned_rows_of_matrices(a: Any) -> None:
    load = cl.make_tiled_copy_A(cl.make_copy_atom(cl.LdMatrix8x8x16bOp(), cl.f16), MMA)
    tile = cl.shared(cl.f16, Layout((16, 16), (17, 1)))
    held = MMA.make_fragment_A(MMA.get_slice(0).partition_A(tile))
    cl.copy(load, load.get_slice(cl.thread_idx.x).partition_S(tile), load.retile(held))


def not_in_registers(a: Any) -> None:
    tile, mine = cl.shared(cl.f16, (16, 16)), MMA.get_slice(0)
    cl.gemm(MMA, MMA.make_fragment_C((4, 1, 1)), mine.partition_A(tile), mine.partition_B(tile))


def overlong_fragment(a: Any) -> None:
    cl.fill(cl.make_rmem_tensor(cl.f32, (4,))[5], 0.0)


def runtime_shape(a: Any) -> None:
    cl.copy(a, cl.make_rmem_tensor(cl.f32, (4,)))


def different_sizes(a: Any) -> None:
    cl.axpby(1.0, cl.make_rmem_tensor(cl.f32, (4,)), 1.0, cl.make_rmem_tensor(cl.f32, (5,)))


def two_modes_only(a: Any) -> None:
    MMA.get_slice(0).partition_A(cl.shared(cl.f16, (64,)))


def not_an_operand(a: Any) -> None:
    cl.gemm(MMA, 1.0, 2.0, 3.0)


def not_an_atom(a: Any) -> None:
    cl.copy(MMA, a, a)


def swizzled_wrongly(a: Any) -> None:
    cl.make_smem_layout(cl.f32, (12, 60))


def unordered_coordinate(a: Any) -> None:
    cl.elem_less((1, 2), (3,))


def unaligned_elements_of_16_bits(a: Any) -> None:
    copy = cl.make_tiled_copy_tv(cl.make_copy_atom(cl.CopyG2SOp(32), cl.f16), Layout(32), Layout(2))
    source = copy.get_slice(0).partition_S(cl.make_tensor(a.ptr, Layout(64), cl.f16).view(Layout(64)))
    cl.copy(copy, cl.domain_offset(1, source), copy.get_slice(0).partition_D(cl.shared(cl.f16, (64,))))


def no_extent(a: Any) -> None:
    cl.make_tiled_mma(MMA.op, (1, 1, 1), (None, 0, None))


def one_extent_for_all(a: Any) -> None:
    cl.make_tiled_mma(MMA.op, (1, 1, 1), 32)


def operation_for_an_atom(a: Any) -> None:
    cl.make_tiled_copy_A(cl.LdMatrix8x8x16bOp(), MMA)


def atom_for_a_tiled_mma(a: Any) -> None:
    cl.make_tiled_copy_B(ROWS.atom, MMA.op)


def atom_for_a_tiled_copy(a: Any) -> None:
    cl.make_tiled_copy_S(ROWS.atom, ROWS.atom)


def runtime_swizzle(a: Any) -> None:
    cl.make_swizzle(cl.thread_idx.x, 3, 3)


def runtime_width(a: Any) -> None:
    cl.warp_reduce(a[0, 0], "add", width=cl.thread_idx.x)


def odd_width(a: Any) -> None:
    cl.warp_scan(a[0, 0], width=3)


def nothing_combined(a: Any) -> None:
    cl.block_scan(a[0, 0], 0.0, lambda x, y: None)


def all_at_once(a: Any) -> None:
    cl.make_tensor(a.ptr, Layout(1 << 40), cl.f32).load()


def filled_at_once(a: Any) -> None:
    cl.make_tensor(a.ptr, Layout(1 << 40), cl.f32).fill(0.0)


def copied_by_one_thread(a: Any) -> None:
    every = cl.make_tensor(a.ptr, Layout(1 << 40), cl.f32)
    cl.copy(every, every)


CASES = [
    (incongruent, "do not nest alike", "cl.make_layout((4"),
    (no_composition, "is no layout", "cl.composition(Layout"),
    (too_many_modes, "more modes than", "cl.local_tile(a"),
    (mode_out_of_range, "group_modes", "cl.group_modes(a"),
    (rank_mismatch, "3 indices into a tensor of 2 modes", "cl.domain_offset"),
    (too_many_coordinates, "3 tile coordinates into a grid of 2 modes", "cl.local_tile(a"),
    (narrow_tile, "cannot be cut into tiles of (8, 16)", "partition_S(cl.shared"),
    (no_shape_for_a_predicate, "the predicate is 3 elements of bool, but the copy is 4 instructions", "cl.copy(ROWS"),
    (predicates_within_an_instruction, "moves 4 elements, but elements 0 and 1 have predicates each", "cl.copy(ROWS"),
    (
        predicates_of_another_size,
        "the predicate is 5 elements of bool, but the source has 32 elements",
        "cl.copy(cl.sh",
    ),
    (vector_for_a_tensor, "store its elements: `target.store(v)`", "cl.copy(registers"),
    (unwanted_barrier, "takes no `barrier=`", "cl.copy(ROWS"),
    (missing_barrier, "CopyDsmemStoreOp(bits=128) needs `barrier=`, which counts its bytes", "cl.copy(send"),
    (
        tile_larger_than_shared_memory,
        "local_tile: mode 0 of the smem tensor (8,8):(8,1) is 8, no multiple of the 16 of the tile (16, 8)",
        "cl.local_tile(cl",
    ),
    (tile_over_the_edge, "mode 1 of the smem tensor (8,12):(12,1) is 12, no multiple of the 8", "cl.local_tile(cl"),
    (tiles_that_do_not_divide, "zipped_divide: mode 1 of the smem tensor (8,12):(12,1) is 12", "cl.zipped_divide"),
    (partition_beyond_shared_memory, "partition: mode 0 of the smem tensor (4,16):(16,1) is 4", "partition_S"),
    (threads_beyond_shared_memory, "local_partition: mode 0 of the smem tensor (6,6):(6,1) is 6", "local_partition"),
    (
        values_of_no_whole_accesses,
        "CopyUniversalOp(bits=128) takes 4 values at once, and values of shape (3, 8) do not divide into groups",
        "make_tiled_copy_tv",
    ),
    (
        threads_of_no_whole_warps,
        "LdMatrix8x8x16bOp(num_matrices=2) takes 32 threads at once, and threads of shape (12, 16) do not",
        "make_tiled_copy_tv",
    ),
    (
        accesses_over_the_end_of_a_column,
        "CopyUniversalOp(bits=128) takes 4 elements at once, which run over the end of a mode of the tile (3, 24)",
        "partition_S",
    ),
    (tile_smaller_than_its_layout, "(32,2):(1,32) reaches 64 elements, and the tile (8, 7) 56", "make_tiled_copy(cl"),
    (tile_larger_than_its_layout, "(32,2):(1,32) reaches 64 elements, and the tile (8, 16) 128", "make_tiled_copy(cl"),
    (
        swizzle_of_unaligned_memory,
        "takes memory aligned to 1024 bytes, but the address is known to be a multiple of 16",
        "make_te",
    ),
    (view_beyond_the_end, "the layout (5,5):(1,5) reaches 25 elements, but (4,4):(4,1) has 16", ".view(Layout"),
    (tile_with_holes, "(2,2):(63,0) has 2 different elements at most, and the tile (8, 8) 64", "make_tiled_copy(cl"),
    (odd_bits, "moves 48 bits, which is no whole number of f32 elements", "cl.make_copy_atom"),
    (no_such_cache, "from gmem to rmem, the cache of CopyUniversalOp", "cl.copy(copy, source"),
    (cache_of_shared_memory, "from smem to rmem, the eviction of CopyUniversalOp", "cl.copy(copy, source"),
    (no_such_reduction, "TMA does not mul f32", "cl.make_copy_atom"),
    (text_as_predicate, "a predicate is a bool or a tensor of bools, not 'x'", "cl.copy(cl.shared"),
    (other_numbers_of_atoms, "the atoms (2,2,1):(4,4,1) are 4, and must have the numbers from 0 on", "make_tiled_mma"),
    (numbers_as_tensors, "axpby takes tensors, not 3", "cl.axpby"),
    (no_stages, "a pipeline has 1 stage or more, known at compile time, not 0", "PipelineAsync.create"),
    (nested_coordinate_of_another_rank, "3 indices into the 2 modes of (2,2):(4,8)", "[(0, 0, 0)"),
    (mode_that_is_not_there, "no mode 2 in (M,N), which has 2 modes", "cl.select"),
    (rows_of_odd_length, "recast_layout: stride 5 of (5,5):(5,1)", "cl.recast_tensor"),
    (
        misaligned_rows_of_matrices,
        "must lie at a multiple of 16 bytes, but is only known to lie at one of 2",
        "cl.copy(load",
    ),
    (not_in_registers, "is a fragment in registers, not a run-time tensor<f16,smem", "cl.gemm(MMA"),
    (overlong_fragment, "index 5 is out of bounds", "[5]"),
    (runtime_shape, "needs shapes known at compile time", "cl.copy(a"),
    (different_sizes, "x has shape (4,), y (5,)", "cl.axpby"),
    (two_modes_only, "operand A has modes M and K", "partition_A"),
    (not_an_operand, "operand A of", "cl.gemm(MMA"),
    (not_an_atom, "a copy atom is needed here, not a TiledMma", "cl.copy(MMA"),
    (swizzled_wrongly, "no atom of a K-major tile of f32 divides (12, 60)", "cl.make_smem_layout"),
    (unaligned_elements_of_16_bits, "a `cl.CopyUniversalOp` of 16 bits can move it", "cl.copy(copy"),
    (no_extent, "along N the permutation is 0, not an extent", "cl.make_tiled_mma"),
    (one_extent_for_all, "one entry for each of M, N and K, not 32", "cl.make_tiled_mma"),
    (operation_for_an_atom, "a copy atom is needed here, not a LdMatrix8x8x16bOp", "cl.make_tiled_copy_A"),
    (atom_for_a_tiled_mma, "a tiled MMA is needed here, not a WarpMmaOp", "cl.make_tiled_copy_B"),
    (atom_for_a_tiled_copy, "a tiled copy is needed here, not a CopyAtom", "cl.make_tiled_copy_S"),
    (runtime_swizzle, "`bits` of `make_swizzle` must be known at compile time, but is a run-time", "cl.make_swizzle"),
    (runtime_width, "a power of two up to 32, not a run-time", "cl.warp_reduce"),
    (odd_width, "a power of two up to 32, not 3", "cl.warp_scan"),
    (nothing_combined, "two of f32 are combined to None", "cl.block_scan"),
    (all_at_once, "524288 bytes of local memory, and all elements of this tensor are 4398046511104", ".load()"),
    (filled_at_once, "524288 bytes of local memory, too few for 1099511627776 elements", ".fill("),
    (copied_by_one_thread, "a thread would copy all 1099511627776 elements by itself", "cl.copy(every"),
    (unordered_coordinate, "a coordinate of 2 components and a bound of 1", "cl.elem_less"),
]


def test_no_permutation_is_none() -> None:
    assert cl.make_tiled_mma(MMA.op, (2, 1, 1), None) == cl.make_tiled_mma(MMA.op, (2, 1, 1))


@pytest.mark.parametrize(("body", "text", "line"), CASES, ids=[case[0].__name__ for case in CASES])
def test_refusals(body: Any, text: str, line: str) -> None:
    @cl.kernel(block=32)
    def kernel(a: Tensor[cl.f32, (M, N)]) -> None:
        body(a)

    with pytest.raises(CompileError) as caught:
        kernel[1, 32](np.zeros((16, 16), np.float32))
    told = str(caught.value)
    assert text in told
    assert line in told
    assert "test_bad_input.py" in told.split("-->")[1].splitlines()[0]
