"""The types that wgmma multiplies, the elements of each thread, and the tiles in shared memory that it can read.

`FORMS` is the table of types; `accumulator` and `operand_a` say where each register's element lies; `smem_matrix`
says how a tile in shared memory is described to the hardware, or why it cannot be. Verifier, lowering, simulator and
the intrinsics all read these.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cutelite.ir.contract import np, numpy_dtype
from cutelite.ir.types import Scalar, Tensor, Vec
from cutelite.layout import Layout, flatten_to_tuple, is_static, rank
from cutelite.layout.layout import images
from cutelite.ops.swizzles import SWIZZLE_REPEAT, SWIZZLES, rows_of, span_of
from cutelite.tuples import NamedTuple

if TYPE_CHECKING:
    from cutelite.ir.simulation import Agent, Array

M = 64
THREADS = 128
STEP_BYTES = 32  # along K, of one instruction, for every type of operand


class Form(NamedTuple):
    """The types that one type of A can be multiplied with.

    b, d        types of B, and of the accumulator
    any_major   A and B in shared memory may also be contiguous along M or N, not only along K
    negate      A and B can be negated at no cost
    wide_steps  above n = 32, n is a multiple of 16 instead of 8
    """

    b: tuple[str, ...]
    d: tuple[str, ...]
    any_major: bool = False
    negate: bool = True
    wide_steps: bool = False


FORMS: dict[str, Form] = {
    "f16": Form(("f16",), ("f32", "f16"), any_major=True),
    "bf16": Form(("bf16",), ("f32",), any_major=True),
    "tf32": Form(("tf32",), ("f32",)),
    "e4m3": Form(("e4m3", "e5m2"), ("f32", "f16")),
    "e5m2": Form(("e4m3", "e5m2"), ("f32", "f16")),
    "i8": Form(("i8", "u8"), ("i32",), negate=False, wide_steps=True),
    "u8": Form(("i8", "u8"), ("i32",), negate=False, wide_steps=True),
}
"""The forms of wgmma, by the type of A (PTX ISA, wgmma.mma_async)."""


def legal_n(form: Form, n: int) -> bool:
    """Tell whether an instruction of this form can have B of `n` rows."""
    return 8 <= n <= 256 and n % (16 if form.wide_steps and n > 32 else 8) == 0


def k_of(elem: Scalar, sparse: bool = False) -> int:
    """Return the extent along K of one instruction on operands of type `elem`; twice as much where A is sparse."""
    return STEP_BYTES * (2 if sparse else 1) // elem.bytes


# The elements of each thread (PTX ISA, register fragments of wgmma: figures for D and for A).


@lru_cache
def accumulator(n: int) -> Layout:
    """Return the layout of the (64, n) accumulator: (thread, value) to m + 64 n.

    A thread holds pairs along n, in rows 8 apart, every 8 columns. Warp w of the warpgroup has rows 16 w to 16 w + 15.
    """
    return Layout(((4, 8, 4), (2, 2, n // 8)), ((128, 1, 16), (64, 8, 512)))


@lru_cache
def operand_a(elem: Scalar) -> Layout:
    """Return the layout of the (64, k) operand A of one instruction in registers: (thread, value) to m + 64 k.

    The shape is that of 8 bytes of the accumulator: 32-bit registers, each with neighbours along k.
    """
    each = 4 // elem.bytes
    return Layout(((4, 8, 4), (each, 2, 2)), ((64 * each, 1, 16), (64, 8, 256 * each)))


def accumulator_type(d: Scalar, n: int) -> Vec:
    """Return the type of one thread's elements, in the order of `accumulator(n)`."""
    return Vec(d, M * n // THREADS)


# Matrices in shared memory, and their descriptors.

MODES = {"none": 0, "128B": 1, "64B": 2, "32B": 3}
"""Bits 62 and 63 of a descriptor, by swizzle."""


class Unreadable(Exception):
    """A tile that wgmma cannot read: `what` is wrong, and `help` to mend it."""

    def __init__(self, what: str, help: str = "") -> None:
        super().__init__(what)
        self.what, self.help = what, help


class SmemMatrix(NamedTuple):
    """A tile in shared memory as wgmma finds its elements.

    major    'K' if neighbours along K are contiguous, 'MN' if those along M (of A) or N (of B) are
    swizzle  'none', '32B', '64B' or '128B'
    leading  the leading dimension byte offset, and `stride` the stride dimension byte offset: see `smem_matrix`
    steps    the start of each instruction's operand, in bytes from the tile's start: one for each 32 bytes along K
    rows     extent along M or N
    """

    major: str
    swizzle: str
    leading: int
    stride: int
    steps: tuple[int, ...]
    rows: int

    @property
    def constant(self) -> int:
        """The descriptor without the address, as a signed 64-bit number."""
        bits = (self.leading >> 4) << 16 | (self.stride >> 4) << 32 | MODES[self.swizzle] << 62
        return bits - (1 << 64) if bits >> 63 else bits


IN_32 = "128B_ATOM_32B"
"""The swizzle with which tcgen05 reads elements of 32 bits that are contiguous along the rows."""


@lru_cache
def smem_matrix(t: Tensor, sparse: bool = False, octets: bool = False) -> SmemMatrix:
    """Return the (rows, k) tile `t` of shared memory as an operand of wgmma. Raises `Unreadable` if it cannot be read.

    sparse   the tile is B of products with a sparse A: each step is 64 bytes along K instead of 32
    octets   for tcgen05: elements of 8 bits may also be contiguous along the rows, and elements of 32 bits with the
             swizzle of 128 bytes in units of 32

    With chunks of 16 bytes and W the span of the swizzle (16 without one), wgmma reads (PTX ISA, canonical layouts):

        K-major   rows W apart, groups of 8 rows `stride` apart; the chunks of a step are neighbours,
                  or `leading` apart if there is no swizzle
        MN-major  W bytes along M or N are contiguous, `leading` to the next W; k by k W apart, groups of 8
                  along k `stride` apart (of 4, in units of 32 bytes). Without a swizzle the two are exchanged.

    Swizzles are XORs of absolute address bits, so the tile may consist of any number of such blocks along K: each
    instruction takes one step along K, which begins where `steps` says.
    """
    if t.space != "smem" or rank(t.layout) != 2 or not is_static(t.layout):
        raise Unreadable(f"{t.layout} in {t.space} is no (rows, k) tile of shared memory known at compile time")
    swizzle = next((name for name, s in SWIZZLES.items() if s == t.swizzle), None)
    if swizzle is None or (swizzle == IN_32 and not octets):
        raise Unreadable(f"wgmma does not know the swizzle {t.swizzle}", "it takes those of 32, 64 and 128 bytes")
    if t.align % SWIZZLE_REPEAT[swizzle]:
        known = f"the tile starts at a multiple of {t.align} bytes"
        raise Unreadable(f"{known}, but its swizzle {swizzle} needs a multiple of {SWIZZLE_REPEAT[swizzle]}")
    size, per = t.elem.bytes, k_of(t.elem, sparse)
    rows, ks = _offsets(t.layout[0], size), _offsets(t.layout[1], size)
    if len(rows) % 8 or len(ks) % per:
        shape = f"{len(rows)} rows of {len(ks)} {t.elem}"
        raise Unreadable(f"a tile of {shape} does not consist of blocks of 8 rows by {per} elements")
    span = span_of(swizzle)
    if ks[1] == size and swizzle != IN_32:
        return _k_major(swizzle, span, size, rows, ks, per)
    if rows[1] == size:
        return _mn_major(swizzle, span, size, rows, ks, per, octets)
    raise Unreadable(
        f"neighbours lie {rows[1]} bytes apart along the rows and {ks[1]} along K",
        "one of the two modes must be contiguous",
    )


def _offsets(mode: Layout, size: int) -> list[int]:
    """Return the byte offset of each index of one mode."""
    return [offset * size for offset in images(mode)]


def _k_major(swizzle: str, span: int, size: int, rows: list[int], ks: list[int], per: int) -> SmemMatrix:
    stride = _blocks(rows, 8, span, "row")
    chunk = 16 // size
    steps = tuple(ks[::per])
    leading = 16 if swizzle != "none" else ks[chunk] - ks[0]  # swizzled: not used, 1 by convention
    _same_steps(ks, [i % chunk * size + i // chunk * leading for i in range(per)], steps)
    _check_distance(leading)
    return SmemMatrix("K", swizzle, leading, stride, steps, len(rows))


def _mn_major(swizzle: str, span: int, size: int, rows: list[int], ks: list[int], per: int, octets: bool) -> SmemMatrix:
    if size != 2 and not (octets and size == (4 if swizzle == IN_32 else 1)):
        raise Unreadable(
            f"operands of {size * 8} bits must be contiguous along K, not along the rows", "only f16 and bf16 may be"
        )
    if len(rows) % (span // size):
        whole = f"the {span} contiguous bytes that a swizzle of {swizzle} permutes are {span // size} rows"
        raise Unreadable(f"{len(rows)} rows do not fill the swizzle: {whole}", "take a narrower swizzle")
    far = _blocks(rows, span // size, size, "row")
    near = _blocks(ks[:per], rows_of(swizzle), span, "k")
    steps = tuple(ks[::per])
    _same_steps(ks, ks[:per], steps)
    leading, stride = (near, far) if swizzle == "none" else (far, near)
    return SmemMatrix("MN", swizzle, leading, stride, steps, len(rows))


def _blocks(offsets: list[int], group: int, pitch: int, what: str) -> int:
    """Return the distance of groups of `group` offsets, which lie `pitch` apart inside; 0 for one group."""
    distance = offsets[group] if len(offsets) > group else 0
    for i, offset in enumerate(offsets):
        expected = i % group * pitch + i // group * distance
        if offset != expected:
            text = f"{what} {i} lies {offset} bytes from {what} 0; wgmma looks for it at {expected}"
            raise Unreadable(text, f"{group} neighbours {pitch} bytes apart, and blocks of these at one distance")
    _check_distance(distance)
    return distance


def _check_distance(distance: int) -> None:
    if distance % 16 or not 0 <= distance < 1 << 18:
        raise Unreadable(f"blocks lie {distance} bytes apart; a descriptor holds multiples of 16 below 256 KiB")


def _same_steps(ks: list[int], within: list[int], steps: tuple[int, ...]) -> None:
    """Check that each step along K looks like the first one and begins at a multiple of 16 bytes."""
    for i, offset in enumerate(ks):
        expected = steps[i // len(within)] + within[i % len(within)]
        if offset != expected:
            raise Unreadable(f"k = {i} lies {offset} bytes from k = 0; wgmma looks for it at {expected}")
    if any(step % 16 for step in steps):
        raise Unreadable(f"the steps along K begin at {steps} bytes, which are not all multiples of 16")


# For the simulator: registers as tiles, and descriptors read back.


@lru_cache
def places(layout: Layout) -> Array:
    """Return the image of a static (thread, value) layout as an array (threads, values)."""
    return np.add.outer(images(layout[0]), images(layout[1]))


def to_tile(fragment: Array, n: int, d: Scalar) -> Array:
    """Return the accumulators of 128 threads (128, values) as the (64, n) matrix they are."""
    tile = np.empty((n, M), numpy_dtype(d))
    shape, strides = _axes(accumulator(n))
    view = np.ndarray(shape, tile.dtype, tile, strides=[stride * tile.itemsize for stride in strides])
    view[...] = fragment.reshape(shape)  # faster than by `places`
    return tile.T


@lru_cache
def _axes(layout: Layout) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes of a static (thread, value) layout as NumPy orders them, the last mode of the threads first."""
    modes = [mode for part in (layout[0], layout[1]) for mode in reversed(flatten_to_tuple(part.shape))]
    steps = [step for part in (layout[0], layout[1]) for step in reversed(flatten_to_tuple(part.stride))]
    return tuple(modes), tuple(steps)


def from_tile(tile: Array, n: int) -> Array:
    """Return the inverse of `to_tile`."""
    return np.ascontiguousarray(tile.T).reshape(-1)[places(accumulator(n))]


def read_matrices(
    agent: Agent, machine: Any, descriptor: int, moves: Sequence[int], rows: int, elem: Scalar, major: str,
    k_bytes: int = STEP_BYTES,
) -> Array:  # fmt: skip
    """Return the operands (moves, rows, k) that `descriptor`, moved by each number of bytes, finds in shared memory."""
    swizzle = next(name for name, mode in MODES.items() if mode == descriptor >> 62)
    leading, stride = ((descriptor >> bit & 0x3FFF) << 4 for bit in (16, 32))
    starts = np.array([(descriptor + (move >> 4) & 0x3FFF) << 4 for move in moves])
    starts = machine.map_to_rank(starts, machine.rank)
    return read_blocks(agent, starts, rows, elem, major, swizzle, leading, stride, k_bytes)


def read_blocks(
    agent: Agent, starts: Array, rows: int, elem: Scalar, major: str, swizzle: str, leading: int, stride: int,
    k_bytes: int = STEP_BYTES, space: str = "smem",
) -> Array:  # fmt: skip
    """Return the operands (starts, rows, k) that begin at these addresses, in blocks as `smem_matrix` has them."""
    begins = tuple(starts.tolist())
    where = _chunks_at(begins, rows, major, swizzle, leading, stride, k_bytes, elem.bytes)
    data = agent.load(space, where, elem, 16 // elem.bytes)
    if major == "K":  # (starts, rows, chunks, chunk)
        return data.reshape(len(starts), rows, -1)
    return data.transpose(0, 1, 3, 2).reshape(len(starts), rows, -1)  # from (starts, rows / chunk, k, chunk)


@lru_cache(maxsize=256)
def _chunks_at(
    starts: tuple[int, ...], rows: int, major: str, swizzle: str, leading: int, stride: int, k_bytes: int, size: int
) -> Array:
    """Return the addresses of the 16-byte chunks of operands, (starts, ...) as `_chunks` has them."""
    plain = np.array(starts)[:, None, None] + _chunks(rows, major, swizzle, leading, stride, k_bytes, size)
    pattern = SWIZZLES[swizzle]
    found = plain if pattern is None else pattern(plain)
    found.flags.writeable = False
    return found


@lru_cache(maxsize=256)
def _chunks(rows: int, major: str, swizzle: str, leading: int, stride: int, k_bytes: int, size: int) -> Array:
    """Byte offsets of the 16-byte chunks of an operand: (rows, k_bytes / 16) if K-major, else those of MN."""
    span = span_of(swizzle)
    if major == "K":
        r, c = np.arange(rows)[:, None], np.arange(k_bytes // 16)
        return r % 8 * span + r // 8 * stride + c * (leading if swizzle == "none" else 16)
    per = span // 16
    m, k = np.arange(rows * size // 16)[:, None], np.arange(k_bytes // size)
    far, near = (stride, leading) if swizzle == "none" else (leading, stride)
    group = rows_of(swizzle)
    return m % per * 16 + m // per * far + k % group * span + k // group * near
