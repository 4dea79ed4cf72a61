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


def unwanted_barrier(a: Any) -> None:
    mine = ROWS.get_slice(cl.thread_idx.x)
    source = mine.partition_S(cl.shared(cl.f32, (8, 64)))
    cl.copy(ROWS, source, cl.make_fragment_like(source), barrier=cl.shared(cl.mbarrier, (1,))[0])


def missing_barrier(a: Any) -> None:
    registers = cl.make_rmem_tensor(cl.f32, (4,))
    send = cl.make_copy_atom(cl.CopyDsmemStoreOp(128), cl.f32)
    cl.copy(send, registers, cl.mapa(cl.shared(cl.f32, (4,)), 0))


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
    (unwanted_barrier, "takes no `barrier=`", "cl.copy(ROWS"),
    (missing_barrier, "CopyDsmemStoreOp(bits=128) needs `barrier=`, which counts its bytes", "cl.copy(send"),
    (overlong_fragment, "index 5 is out of bounds", "[5]"),
    (runtime_shape, "needs shapes known at compile time", "cl.copy(a"),
    (different_sizes, "x has shape (4,), y (5,)", "cl.axpby"),
    (two_modes_only, "operand A has modes M and K", "partition_A"),
    (not_an_operand, "operand A of", "cl.gemm(MMA"),
    (not_an_atom, "a copy atom is needed here, not a TiledMma", "cl.copy(MMA"),
    (swizzled_wrongly, "no atom of a K-major tile of f32 divides (12, 60)", "cl.make_smem_layout"),
    (unordered_coordinate, "a coordinate of 2 components and a bound of 1", "cl.elem_less"),
]


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
