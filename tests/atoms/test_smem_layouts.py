"""Layouts of tiles in shared memory: what wgmma, TMA and ldmatrix make of them."""

from typing import Any

import pytest

import cutelite as cl
from cutelite import CompileError, Layout
from cutelite.ir.types import SCALARS
from cutelite.ir.types import Tensor as TensorType
from cutelite.lang.tensor import byte_swizzle
from cutelite.layout import ComposedLayout, bank_conflicts, composition, cosize
from cutelite.layout.synthesis import tma_problems, wgmma_problems
from cutelite.ops.wgmma_layouts import smem_matrix

SWIZZLES = ("128B", "64B", "32B", "none")
CASES = [(name, major, swizzle) for name in ("bf16", "tf32", "i8") for major in ("K", "MN") for swizzle in SWIZZLES]


def tile(name: str, major: str, swizzle: str) -> Any:
    atom = cl.make_smem_layout_atom(SCALARS[name], major, swizzle)
    return cl.tile_to_shape(atom, (128, 128), (0, 1) if major == "K" else (1, 0))


@pytest.mark.parametrize(("name", "major", "swizzle"), CASES)
def test_rows_of_matrices_are_free_of_bank_conflicts(name: str, major: str, swizzle: str) -> None:
    """8 rows of 16 bytes, as a phase of ldmatrix and stmatrix takes them, wherever in the tile."""
    elem = SCALARS[name]
    layout, chunk = tile(name, major, swizzle), 16 // elem.bytes
    shape = (128, 128)
    for row, column in ((0, 0), (8, chunk), (64, 3 * chunk), (120, 128 - chunk)):
        start, threads = (row + shape[0] * column, 1) if major == "K" else (column + shape[0] * row, shape[0])
        values = shape[0] if major == "K" else 1
        phase = ComposedLayout(layout, start, Layout((8, chunk), (threads, values)))
        assert bank_conflicts(phase, elem.bits, 16).ways == 1


@pytest.mark.parametrize(("name", "major", "swizzle"), [c for c in CASES if c[1] == "K" or c[0] == "bf16"])
def test_wgmma_reads_them(name: str, major: str, swizzle: str) -> None:
    """Both the description that the compiler makes and the leaf's own check agree."""
    elem, layout = SCALARS[name], tile(name, major, swizzle)
    composed = isinstance(layout, ComposedLayout)
    pattern = byte_swizzle(layout, elem) if composed else None
    plain = layout.outer if composed else layout
    matrix = smem_matrix(TensorType(elem, "smem", plain, 1024, pattern))
    assert (matrix.major, matrix.swizzle, matrix.rows) == (major, swizzle, 128)
    assert wgmma_problems(layout, elem.bits) == []


def test_tma_fills_them() -> None:
    assert tma_problems(cl.make_smem_layout(cl.bf16, (128, 64)), 16) == []


def test_the_widest_swizzle_that_fits() -> None:
    for columns, swizzle in ((64, "128B"), (32, "64B"), (16, "32B"), (8, "none"), (96, "64B")):
        atom = cl.make_smem_layout_atom(cl.bf16, "K", swizzle)
        assert cl.make_smem_layout(cl.bf16, (64, columns)) == cl.tile_to_shape(atom, (64, columns), (0, 1))
    stages = cl.make_smem_layout(cl.bf16, (64, 64, 3))
    assert cosize(stages) == 3 * 64 * 64
    assert composition(stages, (64, 64, 1)).size == 64 * 64


def test_refusals() -> None:
    with pytest.raises(CompileError, match="no atom of a K-major tile of bf16 divides"):
        cl.make_smem_layout(cl.bf16, (64, 60))
    with pytest.raises(CompileError, match="a major mode is K or MN"):
        cl.make_smem_layout_atom(cl.bf16, "N")
    with pytest.raises(CompileError, match="8 to 64 bits"):
        cl.make_smem_layout_atom(cl.boolean)
