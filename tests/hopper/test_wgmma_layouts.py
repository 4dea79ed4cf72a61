"""Where wgmma finds its operands and leaves its results, against formulas written from the PTX ISA's figures."""

from typing import Any

import numpy as np
import pytest

from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import Scalar, Tensor, bf16, e4m3, f16, f32, i8, tf32
from cutelite.layout import Layout, Swizzle
from cutelite.ops.swizzles import SWIZZLES
from cutelite.ops.wgmma_layouts import (
    M,
    Unreadable,
    accumulator,
    from_tile,
    k_of,
    operand_a,
    places,
    read_matrices,
    smem_matrix,
    to_tile,
)


@pytest.mark.parametrize("n", [8, 24, 96, 256])
def test_accumulator_is_the_figure(n: int) -> None:
    layout = accumulator(n)
    for thread in range(0, 128, 5):
        for value in range(n // 2):
            row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (value // 2 % 2)
            column = 8 * (value // 4) + 2 * (thread % 4) + value % 2
            assert layout(thread, value) == row + M * column


@pytest.mark.parametrize("n", range(8, 257, 8))
def test_accumulator_holds_each_element_once(n: int) -> None:
    assert sorted(places(accumulator(n)).reshape(-1).tolist()) == list(range(M * n))


@pytest.mark.parametrize("elem", [bf16, tf32, i8])
def test_operand_a_is_the_figure(elem: Scalar) -> None:
    each = 4 // elem.bytes
    layout = operand_a(elem)
    for thread in range(128):
        for value in range(4 * each):
            register, low = divmod(value, each)
            row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (register % 2)
            k = each * (thread % 4) + low + 4 * each * (register // 2)
            assert layout(thread, value) == row + M * k
    assert sorted(places(layout).reshape(-1).tolist()) == list(range(M * k_of(elem)))


def test_an_accumulator_of_16_columns_is_an_operand_a() -> None:
    """What attention relies on: the scores become the next product's A without moving between threads."""
    whole = places(accumulator(64))
    for step in range(4):
        assert (whole[:, 8 * step : 8 * step + 8] - 16 * M * step == places(operand_a(bf16))).all()


@pytest.mark.parametrize("n", [8, 40, 256])
def test_tiles_and_fragments_are_inverse(n: int) -> None:
    tile = np.arange(M * n, dtype=np.float32).reshape(M, n)
    fragment = from_tile(tile, n)
    assert fragment.shape == (128, n // 2)
    assert (to_tile(fragment, n, f32) == tile).all()


class Memory:
    """Shared memory of one block, with just what `read_matrices` asks of a simulator."""

    rank = 0

    def __init__(self) -> None:
        self.bytes = np.zeros(1 << 18, np.uint8)

    def map_to_rank(self, address: Any, rank: int) -> Any:
        return address

    def load(self, space: str, address: Any, elem: Scalar, n: int = 1) -> Any:
        found = self.bytes[np.asarray(address)[..., None] + np.arange(n * elem.bytes)]
        return np.ascontiguousarray(found).view(numpy_dtype(elem))

    def put(self, address: int, value: Any) -> None:
        data = np.frombuffer(value.tobytes(), np.uint8)
        self.bytes[address : address + len(data)] = data


READABLE = [
    # K-major, as a TMA load leaves it: rows of one swizzled span; wider tiles as such blocks side by side
    (bf16, Layout((64, 64), (64, 1)), "128B", "K"),
    (bf16, Layout((128, (64, 2)), (64, (1, 128 * 64))), "128B", "K"),
    (f16, Layout((256, 32), (32, 1)), "64B", "K"),
    (f16, Layout((64, 16), (16, 1)), "32B", "K"),
    (i8, Layout((64, 128), (128, 1)), "128B", "K"),
    (e4m3, Layout((16, 64), (64, 1)), "64B", "K"),
    (tf32, Layout((64, 32), (32, 1)), "128B", "K"),
    (tf32, Layout((8, 8), (8, 1)), "32B", "K"),
    # without a swizzle: blocks of 8 rows by 16 bytes, in either order
    (bf16, Layout(((8, 8), (8, 2)), ((8, 64), (1, 512))), "none", "K"),
    (bf16, Layout(((8, 8), (8, 4)), ((8, 256), (1, 64))), "none", "K"),
    (i8, Layout(((8, 2), (16, 4)), ((16, 128), (1, 256))), "none", "K"),
    # MN-major: contiguous along the rows
    (bf16, Layout((64, 64), (1, 64)), "128B", "MN"),
    (bf16, Layout(((64, 2), 64), ((1, 64 * 64), 64)), "128B", "MN"),
    (f16, Layout((32, 64), (1, 32)), "64B", "MN"),
    (f16, Layout(((16, 4), 16), ((1, 256), 16)), "32B", "MN"),
    (bf16, Layout(((8, 8), (8, 2)), ((1, 64), (8, 512))), "none", "MN"),
    (f16, Layout(((8, 8), (8, 4)), ((1, 256), (8, 64))), "none", "MN"),
]


@pytest.mark.parametrize(("elem", "layout", "swizzle", "major"), READABLE)
def test_descriptors_read_what_the_layout_says(elem: Scalar, layout: Layout, swizzle: str, major: str) -> None:
    """Each element put where the tensor's layout and swizzle say is found through the descriptor of its step."""
    base = 3072
    matrix = smem_matrix(Tensor(elem, "smem", layout, 1024, SWIZZLES[swizzle]))
    assert (matrix.major, matrix.swizzle) == (major, swizzle)
    rows, ks = matrix.rows, int(layout[1].size)
    expected = (np.arange(rows * ks) % 113 - 56).reshape(rows, ks).astype(numpy_dtype(elem))
    memory = Memory()
    span = 16 if swizzle == "none" else int(swizzle[:-1])
    for r in range(rows):
        for k in range(ks):
            memory.put(swizzled(base + layout(r, k) * elem.bytes, span), expected[r, k])
    per = k_of(elem)
    assert len(matrix.steps) == ks // per
    for i, step in enumerate(matrix.steps):
        descriptor = (matrix.constant + (base + step >> 4)) % (1 << 64)
        (got,) = read_matrices(memory, memory, descriptor, [0], rows, elem, major)  # type: ignore[arg-type]
        assert (got == expected[:, i * per : (i + 1) * per]).all()


def swizzled(address: int, span: int) -> int:
    """PTX ISA, swizzling modes: 16-byte chunk numbers XOR the number of the 128-byte line, within the span."""
    chunk, line = address // 16 % 8, address // 128 % 8
    return address + ((chunk ^ line & span // 16 - 1) - chunk) * 16


def test_descriptor_bits() -> None:
    """PTX ISA, matrix descriptor format: swizzle in bits 62-63, stride from bit 32, leading from bit 16."""
    matrix = smem_matrix(Tensor(bf16, "smem", Layout((128, 64), (64, 1)), 1024, SWIZZLES["128B"]))
    assert matrix.constant == 0x4000_0040_0001_0000
    narrow = smem_matrix(Tensor(bf16, "smem", Layout((64, 16), (16, 1)), 256, SWIZZLES["32B"]))
    assert narrow.constant % (1 << 64) == 0xC000_0010_0001_0000


UNREADABLE = [
    (bf16, Layout((64, 64), (72, 1)), "none", 1024, "row 1 lies 144 bytes from row 0; wgmma looks for it at 16"),
    (bf16, Layout((64, 64), (64, 1)), "64B", 1024, "row 1 lies 128 bytes from row 0; wgmma looks for it at 64"),
    (bf16, Layout((64, 128), (128, 1)), "128B", 1024, "row 1 lies 256 bytes from row 0; wgmma looks for it at 128"),
    (e4m3, Layout((64, 64), (1, 64)), "128B", 1024, "operands of 8 bits must be contiguous along K"),
    (bf16, Layout((64, 64), (64, 2)), "128B", 1024, "neighbours lie 128 bytes apart along the rows and 4 along K"),
    (bf16, Layout((60, 64), (64, 1)), "128B", 1024, "does not consist of blocks of 8 rows by 16 elements"),
    (bf16, Layout((64, 8), (8, 1)), "none", 1024, "does not consist of blocks of 8 rows by 16 elements"),
    (bf16, Layout((96, 64), (1, 96)), "128B", 1024, "96 rows do not fill the swizzle"),
    (
        bf16,
        Layout((64, 64), (64, 1)),
        "128B",
        512,
        "a multiple of 512 bytes, but its swizzle 128B needs a multiple of 1024",
    ),
    (bf16, Layout((64, (16, 4)), (16, (1, 1028))), "32B", 256, "which are not all multiples of 16"),
    (bf16, Layout((64, (8, 2)), (16, (1, 16))), "32B", 256, "k = 8 lies 32 bytes from k = 0"),
]


@pytest.mark.parametrize(("elem", "layout", "swizzle", "align", "why"), UNREADABLE)
def test_what_wgmma_cannot_read_is_named(elem: Scalar, layout: Layout, swizzle: str, align: int, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        smem_matrix(Tensor(elem, "smem", layout, align, SWIZZLES[swizzle]))


def test_a_swizzle_of_ones_own_is_refused() -> None:
    with pytest.raises(Unreadable, match="does not know the swizzle S<3,3,3>"):
        smem_matrix(Tensor(bf16, "smem", Layout((64, 64), (64, 1)), 1024, Swizzle(3, 3, 3)))


def test_a_tile_must_be_shared_memory_of_two_modes() -> None:
    with pytest.raises(Unreadable, match="no \\(rows, k\\) tile of shared memory"):
        smem_matrix(Tensor(bf16, "gmem", Layout((64, 64), (64, 1)), 1024))
    with pytest.raises(Unreadable, match="no \\(rows, k\\) tile of shared memory"):
        smem_matrix(Tensor(bf16, "smem", Layout((2, 64, 64), (4096, 64, 1)), 1024))
