"""ldmatrix, stmatrix, movmatrix: a warp moves 8 x 8 matrices of 16-bit elements between shared memory and registers.

A matrix is 8 rows of 16 bytes, anywhere in shared memory: each row's address comes from a thread of its own. In
registers, thread t has 4 bytes of row t // 4 (`fragment`), which is how mma.sync wants its operands. Elements of 8 bits
travel as pairs, elements of 32 bits as two halves, so their rows have 16 or 4 elements, and cannot be transposed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from cutelite.ir.contract import Effect, Problem, Ptx, np
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.types import Scalar, Type, Vec, elem_of, u16
from cutelite.layout import Layout
from cutelite.ops.address import address
from cutelite.ops.wgmma_layouts import places
from cutelite.target.targets import WARP

if TYPE_CHECKING:
    from cutelite.ir.simulation import Array, Lanes

ROW_BYTES = 16
ROWS = 8
COUNTS = (1, 2, 4)


@lru_cache
def rows(elem: Scalar, count: int) -> Layout:
    """Return the layout from (thread, element of its row) to an index in `count` matrices, row by row.

    Thread t gives the address of row t % 8 of matrix t // 8; threads beyond those needed repeat them.
    """
    each, owners = ROW_BYTES // elem.bytes, ROWS * count
    return Layout(((owners, WARP // owners), each), ((each, 0), 1))


@lru_cache
def fragment(elem: Scalar, count: int, transpose: bool) -> Layout:
    """Return the layout from (thread, value) to an index in `count` matrices, row by row: one register of each."""
    each = 4 // elem.bytes
    if transpose:  # thread t has column t // 4, and of it rows 2 (t % 4) and the next
        return Layout(((4, 8), (2, count)), ((16, 1), (8, 64)))
    return Layout(((4, 8), (each, count)), ((each, 4 * each), (1, 32 * each)))


@lru_cache
def _bytes(elem: Scalar, count: int, transpose: bool) -> Array:
    """Return the places of each thread's bytes in the matrices, (32, values, bytes of an element)."""
    return places(fragment(elem, count, transpose))[..., None] * elem.bytes + np.arange(elem.bytes)


@lru_cache
def _holders(elem: Scalar, count: int, transpose: bool) -> Array:
    """Return the thread that has each part of each row in registers, (rows, parts): 4 bytes, transposed an element."""
    part = elem.bytes if transpose else 4
    place = _bytes(elem, count, transpose).reshape(WARP, -1) // part
    holders = np.zeros((ROWS * count, ROW_BYTES // part), np.int64)
    holders.reshape(-1)[place] = np.arange(WARP)[:, None]
    return holders


class MatrixAccess(Op):
    """A load or store of `count` matrices, at the row addresses that the threads give in `p`.

    Each thread accesses what it has in registers, not the row whose address it gives (PTX ISA: a group of four threads
    loads, or stores, a row). So that is what a barrier has to order.
    """

    p: Value

    def common_problems(self, elem: Scalar, count: int, transpose: bool) -> Iterator[Problem]:
        yield from address("smem", align=ROW_BYTES)(self, "p")
        if count not in COUNTS:
            yield Problem("count", f"{self.name} moves 1, 2 or 4 matrices, not {count}")
        if elem.bits not in (8, 16, 32) or elem.kind in ("bool", "barrier"):
            yield Problem("elem", f"{self.name} moves elements of 8, 16 or 32 bits, not {elem}")
        elif transpose and elem.bits != 16:
            yield Problem("transpose", f"{self.name} transposes elements of 16 bits, not {elem}")

    def instruction(self, count: int, transpose: bool) -> str:
        return f"{self.name}.sync.aligned.m8n8.x{count}{'.trans' if transpose else ''}.shared.b16"

    def owners(self, lanes: Lanes, count: int) -> Array:
        """Return the threads whose addresses are used, bool (lanes,); faults where a warp is not complete."""
        whole = lanes.warps(lanes.mask).all(axis=1)
        lanes.fault(np.repeat(~whole, WARP), f"{self.name} must be executed by all 32 threads of a warp", "divergence")
        return np.tile(np.arange(WARP) < ROWS * count, len(whole))


@op("ldmatrix", scope="warp", effects=Effect.READS | Effect.CONVERGENT, feature="ldmatrix", source="PTX ISA: ldmatrix")
class LoadMatrix(MatrixAccess):
    """Load `count` matrices: each thread gets the elements that `fragment` gives it, as type `elem`.

    p          address of a row, from the threads that `rows` names; a multiple of 16 bytes
    transpose  16-bit elements only: exchange rows and columns of each matrix
    """

    elem: Scalar
    count: int
    transpose: bool = False
    wide = True

    @property
    def holders(self) -> Array:
        return _holders(self.elem, self.count, self.transpose)

    def result_types(self) -> tuple[Type, ...]:
        return (Vec(self.elem, 4 // self.elem.bytes * self.count),)

    def verify(self) -> Iterator[Problem]:
        yield from self.common_problems(self.elem, self.count, self.transpose)

    def ptx(self) -> Ptx:
        out = "$out" if self.count > 1 else "{$out}"
        return Ptx(f"{self.instruction(self.count, self.transpose)} {out}, [$p];", packed=("out",))

    def simulate(self, lanes: Lanes) -> None:
        owners = self.owners(lanes, self.count)
        data = lanes.load("smem", lanes.get(self.p), self.elem, ROW_BYTES // self.elem.bytes, owners)
        matrices = lanes.warps(np.ascontiguousarray(data).view(np.uint8))[:, : ROWS * self.count]
        index = _bytes(self.elem, self.count, self.transpose)
        spread = matrices.reshape(len(matrices), -1)[:, index.reshape(WARP, -1)]
        lanes.define(np.ascontiguousarray(spread).view(data.dtype).reshape(len(data), -1))


@op("stmatrix", scope="warp", effects=Effect.WRITES | Effect.CONVERGENT, feature="stmatrix", source="PTX ISA: stmatrix")
class StoreMatrix(MatrixAccess):
    """Store `count` matrices: each thread has in `a` the elements that `fragment` gives it. Fields as ldmatrix."""

    a: Value
    count: int
    transpose: bool = False
    wide = True

    @property
    def holders(self) -> Array:
        return _holders(elem_of(self.a.type), self.count, self.transpose)

    def verify(self) -> Iterator[Problem]:
        t = self.a.type
        if not isinstance(t, Vec):
            yield Problem("a", f"stmatrix takes a vector, not {t}")
            return
        problems = list(self.common_problems(t.elem, self.count, self.transpose))
        yield from problems
        if not problems and t.n * t.elem.bytes != 4 * self.count:
            text = f"`a` is {t}, but {self.count} matrices are {4 // t.elem.bytes * self.count} elements a thread"
            yield Problem("a", text)

    def ptx(self) -> Ptx:
        a = "$a" if self.count > 1 else "{$a}"
        return Ptx(f"{self.instruction(self.count, self.transpose)} [$p], {a};", packed=("a",))

    def simulate(self, lanes: Lanes) -> None:
        owners, elem = self.owners(lanes, self.count), elem_of(self.a.type)
        held = np.ascontiguousarray(lanes.warps(lanes.get(self.a)))
        matrices = np.zeros((len(held), WARP, ROW_BYTES), np.uint8)
        index = _bytes(elem, self.count, self.transpose).reshape(-1)
        matrices.reshape(len(held), -1)[:, index] = held.view(np.uint8).reshape(len(held), -1)
        data = matrices.reshape(-1, ROW_BYTES).view(held.dtype)
        lanes.store("smem", lanes.get(self.p), elem, data, owners)


@op("movmatrix", scope="warp", effects=Effect.CONVERGENT, feature="ldmatrix", source="PTX ISA: movmatrix")
class MoveMatrix(Op):
    """Transpose an 8 x 8 matrix of 16-bit elements across the registers of a warp, two elements a thread."""

    a: Value
    wide = True
    gives = "a"

    def verify(self) -> Iterator[Problem]:
        t = self.a.type
        if not isinstance(t, Vec) or t.n != 2 or t.elem.bits != 16:
            yield Problem("a", f"movmatrix takes two elements of 16 bits a thread, not {t}")

    def ptx(self) -> Ptx:
        text = "movmatrix.sync.aligned.m8n8.trans.b16 $out, $a;"
        return Ptx(text, pure=True, memory=False, packed=("a", "out"))

    def simulate(self, lanes: Lanes) -> None:
        held = lanes.warps(lanes.get(self.a))
        matrices = np.empty((len(held), 64), held.dtype)
        rows, columns = (places(fragment(u16, 1, transpose)) for transpose in (False, True))
        matrices[:, rows] = held
        lanes.define(matrices[:, columns].reshape(-1, 2))
