"""MMA atoms and tiled MMAs: an instruction that multiplies small matrices, repeated over a tile by many threads.

    mma = cl.make_tiled_mma(cl.WarpMmaOp(cl.f16, cl.f32, k=16), (2, 2, 1), permutation=(None, 32, None))
    mine = mma.get_slice(cl.thread_idx.x)
    acc = mma.make_fragment_C(mine.partition_C(c_tile))
    a, b = mma.make_fragment_A(mine.partition_A(a_tile)), mma.make_fragment_B(mine.partition_B(b_tile))
    ...
    acc = cl.gemm(mma, acc, a, b, acc)

A is (M, K), B (N, K), C (M, N), each possibly with further modes. A partition is (values, repeats, repeats, ...).
An accumulator of wgmma is a value (`Accumulator`), in flight until `acc.wait()`; any other is a register tensor.
"""

from __future__ import annotations

from math import gcd
from typing import Any, Literal

from cutelite import ops
from cutelite.ir.types import InFlight, f32, i32, u32
from cutelite.lang import tcgen05, wgmma
from cutelite.lang.algebra import is_tensor, thread_coordinate
from cutelite.lang.copy import extent
from cutelite.lang.emit import describe, emit, mistake
from cutelite.lang.mma_ops import MODES, MmaOp, MmaUniversalOp, Tcgen05ScaledMmaOp, TensorMmaOp, WarpgroupMmaOp
from cutelite.lang.promotion import as_value
from cutelite.lang.tensor import Tensor, make_rmem_tensor
from cutelite.lang.values import Vector
from cutelite.layout import (
    Layout,
    coalesce,
    composition,
    cosize,
    filter_zeros,
    known_divisor,
    logical_divide,
    make_fragment_like,
    make_layout,
    static_value,
    zipped_divide,
)
from cutelite.ops.tensor import TensorView
from cutelite.records import dataclass

NAMES = "MNK"


@dataclass(frozen=True)
class TiledMma:
    """An MMA operation repeated over a tile.

    op           the operation
    atoms        the layout of its repeats by different threads: coordinates along M, N and K to the number of the warp,
                 thread or warpgroup
    permutation  for each of M, N and K: None for the extent that the atoms cover; a multiple of it, which the same
                 threads repeat; or a layout that permutes the tile
    """

    op: MmaOp
    atoms: Layout
    permutation: tuple[Any, Any, Any] = (None, None, None)

    @property
    def size(self) -> int:
        """The number of threads that take part."""
        return extent(self.atoms) * self.op.threads

    @property
    def thr_layout_vmnk(self) -> Layout:
        """(thread of an atom, atom along M, along N, along K) to a thread."""
        each = self.op.threads
        atoms = Layout(self.atoms.shape, tuple(d * each for d in self.atoms.stride))
        return make_layout(Layout(each), *atoms)

    def tile_size(self, mode: int) -> int:
        """Return the extent of the tile along M (0), N (1) or K (2)."""
        permutation = self.permutation[mode]
        if permutation is None:
            return self.op.shape_mnk[mode] * extent(self.atoms, mode)
        found = permutation if isinstance(permutation, int) else static_value(permutation.size)
        assert found is not None
        return found

    @property
    def tile_shape(self) -> tuple[int, int, int]:
        """(M, N, K) of the tile that all threads cover once."""
        return self.tile_size(0), self.tile_size(1), self.tile_size(2)

    def get_slice(self, thread: Any) -> ThrMma:
        """Return the part of one thread, 0 to `size` - 1: a compile-time or run-time number."""
        return ThrMma(self, thread)

    def parts(self, layout: Layout, operand: str, own: bool = False) -> tuple[list[Layout], list[Layout]]:
        """Divide an operand's layout: [thread of an atom, atoms along its two modes], [values, rest, rest, ...].

        own  the layout is of one block's part of the operand, in a pair of blocks
        """
        blocks = self.op.threads if own else 1
        modes = MODES[operand]
        if layout.rank < 2:
            raise mistake(
                "partition",
                f"operand {operand} has modes {NAMES[modes[0]]} and {NAMES[modes[1]]}: {layout} has {layout.rank}",
            )
        for position, mode in enumerate(modes):
            have, need = layout[position].size, self.tile_size(mode) // self.op.packing(operand, mode)
            need = need // blocks if position == 0 else need
            if known_divisor(have) % need:
                raise mistake(
                    "partition",
                    f"operand {operand} is {have} along {NAMES[mode]}, no multiple of the tiled MMA's {need}",
                    f"its layout is {layout}, the MMA's tile {self.tile_shape}",
                    "take a tile with `cl.local_tile` first; tiles over the edge are predicated",
                )
        permuted = [self._permutation(operand, mode) for mode in modes]
        whole = layout if permuted == [None, None] else logical_divide(layout, tuple(permuted))
        first, second = self.op.extents(operand)
        divided = zipped_divide(whole, (Layout(first // blocks), Layout(second)))
        values_of = Layout((1, (first // blocks, second)), (0, (1, first // blocks)))
        tv = composition(divided[0], values_of if own else self.op.layout_tv(operand))
        threads, values = [tv[0]], [tv[1]]
        for mode, rest in zip(modes, list(divided[1])[:2], strict=True):
            shared = logical_divide(rest, Layout(extent(self.atoms, mode)))
            threads.append(shared[0])
            values.append(coalesce(shared[1]) if static_value(shared[1].size) is not None else shared[1])
        return threads, values + list(divided[1])[2:]

    def _permutation(self, operand: str, mode: int) -> Any:
        """Return the permutation of a mode of an operand, as it lies in memory."""
        given, packing = self.permutation[mode], self.op.packing(operand, mode)
        if packing == 1 or given is None:
            return given
        if isinstance(given, int):
            return given // packing
        raise mistake("tiled-mma", f"K of a sparse MMA has an extent, but cannot be permuted by {given}")

    def tile_tv(self, operand: str) -> tuple[Layout, tuple[int, int], tuple[int, int, int]]:
        """Return for an operand of a tile: (thread, value) to index, extents, (values of an atom, repeats, repeats)."""
        first, second = ((self.tile_size(mode), self.op.packing(operand, mode)) for mode in MODES[operand])
        extents = first[0] // first[1], second[0] // second[1]
        threads, values = self.parts(Layout(extents), operand)
        along = dict(zip((0, 1 + MODES[operand][0], 1 + MODES[operand][1]), threads, strict=True))
        found = [
            (stride_of(mode), along.get(i, Layout(extent(mode), 0))) for i, mode in enumerate(self.thr_layout_vmnk)
        ]
        order = [mode for _, mode in sorted(found, key=lambda pair: pair[0]) if extent(mode) > 1]
        thread = make_layout(*order) if order else Layout(1, 0)
        counts = extent(values[0]), extent(values[1]), extent(values[2])
        return make_layout(thread, make_layout(*values)), extents, counts

    def partition_shape_A(self, shape_mk: tuple[int, int]) -> tuple[Any, ...]:
        """Return the shape of a thread's part of an (M, K) operand A."""
        return self._partition_shape(shape_mk, "A")

    def partition_shape_B(self, shape_nk: tuple[int, int]) -> tuple[Any, ...]:
        """Return the shape of a thread's part of an (N, K) operand B."""
        return self._partition_shape(shape_nk, "B")

    def partition_shape_C(self, shape_mn: tuple[int, int]) -> tuple[Any, ...]:
        """Return the shape of a thread's part of an (M, N) accumulator."""
        return self._partition_shape(shape_mn, "C")

    def _partition_shape(self, shape: tuple[int, int], operand: str) -> tuple[Any, ...]:
        _, values = self.parts(Layout(shape), operand)
        return tuple(mode.shape for mode in values)

    def make_fragment_A(self, partition: Any) -> Any:
        """Return registers for a partition of A; for an A that the instruction reads from memory, the partition."""
        return self._fragment(partition, "A", self.op.a_in_memory)

    def make_fragment_B(self, partition: Any) -> Any:
        """Return registers for a partition of B; for a B that the instruction reads from memory, the partition."""
        return self._fragment(partition, "B", self.op.b_in_memory)

    def make_fragment_E(self, partition: Any) -> Any:
        """Return registers for a partition of the metadata of a sparse A."""
        return make_rmem_tensor(u32, make_fragment_like(_layout_of(partition)))

    def make_fragment_C(self, partition: Any) -> Any:
        """Return an accumulator of zeros for a partition of C (or for a shape, from `partition_shape_C`)."""
        layout = _layout_of(partition)
        self._check_fragment(layout, "C")
        if isinstance(self.op, TensorMmaOp):
            return _in_space(self.op, partition, "C")
        if isinstance(self.op, WarpgroupMmaOp):
            rows, columns = extent(layout, 1), extent(layout, 2)
            zeros = wgmma.zeros_accumulator(self.op.n, self.op.acc_dtype)
            return Accumulator((zeros,) * (rows * columns), rows, columns)
        made = make_rmem_tensor(self.op.dtype_of("C"), make_fragment_like(layout))
        made.fill(0 if self.op.dtype_of("C") == i32 else 0.0)
        return made

    def _fragment(self, partition: Any, operand: str, in_memory: bool) -> Any:
        layout = _layout_of(partition)
        self._check_fragment(layout, operand)
        if isinstance(self.op, TensorMmaOp):
            return _in_space(self.op, partition, operand)
        if in_memory:
            if not isinstance(partition, Tensor) or partition.space != "smem":
                raise mistake(
                    "mma-operand", f"{self.op} reads {operand} from shared memory: {describe(partition)} is not there"
                )
            return partition
        return make_rmem_tensor(self.op.dtype_of(operand), make_fragment_like(layout))

    def _check_fragment(self, layout: Layout, operand: str) -> None:
        need = extent(self.op.layout_tv(operand), 1)
        if layout.rank < 2 or static_value(layout[0].size) != need:
            raise mistake(
                "mma-operand",
                f"a fragment of {operand} has {need} values in its first mode, and this layout is {layout}",
                f"for {self.op}",
                f"make it from `partition_{operand}` of a slice of this tiled MMA",
            )


@dataclass(frozen=True)
class ThrMma:
    """One thread's part of a tiled MMA."""

    tiled: TiledMma
    thread: Any

    def make_fragment_A(self, partition: Any) -> Any:
        """``tiled.make_fragment_A(partition)``."""
        return self.tiled.make_fragment_A(partition)

    def make_fragment_B(self, partition: Any) -> Any:
        """``tiled.make_fragment_B(partition)``."""
        return self.tiled.make_fragment_B(partition)

    def make_fragment_C(self, partition: Any) -> Any:
        """``tiled.make_fragment_C(partition)``."""
        return self.tiled.make_fragment_C(partition)

    def partition_A(self, tensor: Any) -> Any:
        """Return this thread's part of an (M, K, ...) operand A: (values, repeats along M, along K, ...)."""
        return self._partition(tensor, "A")

    def partition_B(self, tensor: Any) -> Any:
        """Return this thread's part of an (N, K, ...) operand B: (values, repeats along N, along K, ...)."""
        return self._partition(tensor, "B")

    def partition_C(self, tensor: Any) -> Any:
        """Return this thread's part of an (M, N, ...) accumulator: (values, repeats along M, along N, ...)."""
        return self._partition(tensor, "C")

    def partition_E(self, tensor: Any) -> Any:
        """Return this thread's words of the metadata of a sparse A: (1, repeats along M, words).

        The metadata is (M / 64, words, 128) for wgmma and (M / 16, words, 32) for mma.sync.
        """
        op = self.tiled.op
        if not op.sparse:
            raise mistake("partition", f"{op} is not sparse: it takes no metadata")
        if not isinstance(tensor, Tensor) or tensor.ndim != 3 or static_value(tensor.layout[2].size) != op.threads:
            text = f"metadata is a tensor (M / {op.shape_mnk[0]}, words, {op.threads}) of u32, not {describe(tensor)}"
            maker = "wgmma.compress_sparse" if isinstance(op, WarpgroupMmaOp) else "compress_sparse"
            raise mistake("partition", text, help=f"`cl.{maker}(a, dtype)` makes it")
        coord = thread_coordinate(self.tiled.thr_layout_vmnk, self.thread)
        shared = logical_divide(tensor.layout[0], Layout(extent(self.tiled.atoms, 0)))
        kept = make_layout(Layout(1, 0), shared[1], tensor.layout[1])
        return tensor._moved(kept, [(coord[1], shared[0]), (coord[0], tensor.layout[2])])

    def _partition(self, tensor: Any, operand: str) -> Any:
        if not is_tensor(tensor):
            raise mistake("partition", f"a tensor is needed here, not {describe(tensor)}")
        pair = isinstance(self.tiled.op, TensorMmaOp) and self.tiled.op.cta_group == 2
        own = pair and isinstance(tensor, Tensor) and tensor.space in ("smem", "tmem")
        threads, values = self.tiled.parts(tensor.layout, operand, own)
        coord = thread_coordinate(self.tiled.thr_layout_vmnk, self.thread)
        at = [coord[0], *(coord[1 + mode] for mode in MODES[operand])]
        fixed = [(c, mode) for c, mode in zip(at, threads, strict=True) if mode.stride != 0 and extent(mode) > 1]
        return tensor._moved(make_layout(*values), fixed)


def make_tiled_mma(op: MmaOp, atoms: Any = (1, 1, 1), permutation: Any = (None, None, None)) -> TiledMma:
    """Return a tiled MMA: an operation repeated over a tile by many threads.

    op           `MmaUniversalOp`, `WarpMmaOp`, `WarpgroupMmaOp`, `Tcgen05MmaOp` or `Tcgen05ScaledMmaOp`
    atoms        its repeats along M, N and K by different threads: extents, or a compact layout
    permutation  for each of M, N and K the extent of the tile or a layout that permutes it: see `TiledMma`
    """
    if not isinstance(op, MmaOp):
        raise mistake("mma-atom", f"make_tiled_mma takes an MMA operation, not {describe(op)}")
    layout = atoms if isinstance(atoms, Layout) else Layout(atoms)
    if layout.rank != 3:
        raise mistake("tiled-mma", f"atoms are repeated along M, N and K: {layout} has {layout.rank} modes, not 3")
    if static_value(cosize(layout)) != extent(layout) or extent(filter_zeros(layout)) != extent(layout):
        raise mistake("tiled-mma", f"the atoms {layout} are {extent(layout)}, and must have the numbers from 0 on")
    entries = (None, None, None) if permutation is None else permutation
    if not isinstance(entries, tuple | list) or len(entries) != 3:
        raise mistake("tiled-mma", f"a permutation has one entry for each of M, N and K, not {describe(permutation)}")
    made = TiledMma(op, layout, tuple(entries))
    for mode, name in enumerate(NAMES):
        entry = made.permutation[mode]
        known = static_value(entry.size) if isinstance(entry, Layout) else entry
        if entry is not None and (not isinstance(known, int) or known <= 0):
            text = f"along {name} the permutation is {describe(entry)}"
            raise mistake("tiled-mma", f"{text}, not an extent or a layout that is known at compile time")
        covered = op.shape_mnk[mode] * extent(layout, mode)
        if made.tile_size(mode) % covered:
            raise mistake(
                "tiled-mma",
                f"the tile is {made.tile_size(mode)} along {name}, no multiple of the {covered} of its atoms",
            )
    return made


@dataclass(frozen=True)
class Accumulator:
    """The accumulators of wgmma: one of (64, n) for each repeat along M and N, M first.

    They are in flight from `gemm` until `wait`. `load()` returns all elements in the order of a partition of C.
    """

    parts: tuple[Any, ...]
    rows: int
    columns: int

    @property
    def in_flight(self) -> bool:
        """True while a product may still write it: `wait` makes it readable."""
        return any(isinstance(part.value.type, InFlight) for part in self.parts)

    def wait(self, pending: int = 0) -> Accumulator:
        """Return the accumulator, readable, once at most `pending` later groups of wgmma are under way."""
        done = wgmma.wait_group(pending, *self.parts)
        return Accumulator(done if isinstance(done, tuple) else (done,), self.rows, self.columns)

    def keep(self, pending: int) -> Accumulator:
        """Return it, still in flight, after a wait for all but `pending` groups; uses of it stay below the wait."""
        kept = wgmma.wait_group(pending, keep=self.parts)
        return Accumulator(kept if isinstance(kept, tuple) else (kept,), self.rows, self.columns)

    def load(self) -> Vector:
        """Return every element that this thread holds, as one vector of the shape ((2, 2, n / 8), rows, columns).

        The first mode is an instruction's: neighbours along N, the rows 8 apart, and every 8 columns.
        """
        each = self._each()
        everything: Vector = emit(ops.arith.VecMake(tuple(part.value for part in self.parts)))
        everything.value.shape = ((2, 2, each // 4), self.rows, self.columns)
        return everything

    def store(self, values: Vector) -> Accumulator:
        """Return the accumulator with these elements in place of its own: ``acc = acc.store(acc.load() * scale)``.

        values   the elements, in the order in which `load` returns them
        """
        each = self._each()
        if not isinstance(values, Vector) or values.n != each * len(self.parts):
            have = f"{len(self.parts)} times {each}"
            raise mistake("mma-operand", f"the accumulator has {have} elements a thread, not {describe(values)}")
        parts = tuple(values[i * each : (i + 1) * each] for i in range(len(self.parts)))
        return Accumulator(parts, self.rows, self.columns)

    def row_reduce(self, operation: Literal["sum", "add", "max", "min", "prod", "mul"]) -> Vector:
        """Combine each row: a vector of shape (2, rows), for this thread's two rows in each repeat along M.

        Cost  two exchanges among the four threads that hold a row
        Who   all threads of the tiled MMA
        """
        return wgmma.over_quad(self._by_rows().reduce(operation, (0, 2, 4)), operation)

    def scale_rows(self, factors: Vector) -> Accumulator:
        """Return the accumulator with each row multiplied by its element of `factors`, as `row_reduce` orders them."""
        if not isinstance(factors, Vector) or factors.n != 2 * self.rows:
            text = f"{2 * self.rows} factors are needed here, such as `row_reduce` gives, not {describe(factors)}"
            raise mistake("mma-operand", text)
        scaled = self._by_rows() * factors.reshape((1, 2, 1, self.rows, 1))
        return self.store(scaled.reshape((scaled.n,)))

    def _by_rows(self) -> Vector:
        """Return all elements by neighbours along N, rows 8 apart, every 8 columns, repeats along M and N."""
        return self.load().reshape((2, 2, self._each() // 4, self.rows, self.columns))

    def _each(self) -> int:
        """Return the number of elements of each part. Errors: `in-flight` while one of them is."""
        for part in self.parts:
            if not isinstance(part, Vector):
                text = "this accumulator is in flight: wgmma may still be writing it"
                raise mistake("in-flight", text, help="wait for it first: `acc = acc.wait()`")
        return len(self.parts[0])


def gemm(
    tiled_mma: TiledMma,
    d: Any,
    a: Any,
    b: Any,
    c: Any = None,
    *,
    accumulate: Any = True,
    commit: bool = True,
    metadata: Any = None,
    scales: tuple[Any, Any] | None = None,
) -> Any:
    """Compute ``d = a @ b.T + c`` on fragments of one thread, and return `d`: ``acc = cl.gemm(mma, acc, a, b)``.

    tiled_mma   the atom and how threads share the tile: `make_tiled_mma`
    a           (values, M, K): registers, or shared memory if the instruction reads it. For wgmma with A in registers
                also a vector of its elements, in the order of an accumulator (64, K) that was converted to 16 bits
    b           (values, N, K)
    c, d        (values, M, N) in registers; `c` is `d` by default. For wgmma an `Accumulator`, which is returned in
                flight, its group committed unless `commit` is False
    metadata    for a sparse A: a fragment in registers (1, M, words), from `make_fragment_E`; for tcgen05 a tensor in
                tensor memory, for one repeat along M
    scales      for tcgen05 with block scales: those of A and of B in tensor memory, for one repeat along M and N
    accumulate  wgmma only: False for ``a @ b.T`` alone; may be a run-time bool, the same in all threads
    Who         all threads of the tiled MMA
    Errors      `gemm-shape` when M, N or K disagree; `mma-operand` for a fragment of another atom or type
    """
    if not isinstance(tiled_mma, TiledMma):
        raise mistake(
            "gemm", f"gemm takes a tiled MMA first, not {describe(tiled_mma)}", help="`cl.make_tiled_mma(op)`"
        )
    c = d if c is None else c
    for name, t in (("A", a), ("B", b)):
        if name == "B" or not _is_vector_a(tiled_mma.op, t):
            _check_operand(tiled_mma, name, t)
    if isinstance(tiled_mma.op, TensorMmaOp):
        return _tensor_gemm(tiled_mma, d, a, b, c, accumulate, metadata, scales)
    if scales is not None:
        raise mistake("gemm", f"{tiled_mma.op} takes no scales", help="`Tcgen05ScaledMmaOp` does")
    if isinstance(tiled_mma.op, WarpgroupMmaOp):
        return _warpgroup_gemm(tiled_mma, a, b, c, accumulate, commit, metadata)
    if accumulate is not True:
        raise mistake("gemm", "`accumulate` is for wgmma", help="fill the accumulator with zeros")
    for t in (c, d):
        _check_operand(tiled_mma, "C", t)
    rows, columns, depth = _agreed(a.layout, b.layout, d.layout)
    words = _metadata(tiled_mma.op, metadata, rows, depth)
    totals = {(m, n): at(c, m, n).load() for n in range(columns) for m in range(rows)}
    for k in range(depth):
        left, right = [at(a, m, k).load() for m in range(rows)], [at(b, n, k).load() for n in range(columns)]
        for n in range(columns):
            for m in range(rows) if n % 2 == 0 else reversed(range(rows)):  # back and forth, to use A again
                totals[m, n] = _product(tiled_mma.op, left[m], right[n], totals[m, n], k, words[m])
    for (m, n), total in totals.items():
        at(d, m, n).store(total)
    return d


def _product(op: Any, a: Vector, b: Vector, c: Vector, step: int, metadata: Any) -> Any:
    """Return ``a @ b.T + c`` by one instruction, the one at `step` along K."""
    if isinstance(op, MmaUniversalOp):
        return emit(ops.arith.Fma(a.value, b.value, c.value))
    operands = a.value, b.value, c.value, op.shape_mnk[2], op.saturate
    if op.sparse:
        word, selector = divmod(step, op.steps_of_word)
        return emit(ops.mma_sparse.MmaSp(*operands, metadata[word].value, selector))
    if op.packed:
        return emit(ops.mma_packed.MmaPacked(*operands, *op.kinds, op.combine))
    return emit(ops.mma.Mma(*operands))


def _warpgroup_gemm(
    tiled: TiledMma, a: Any, b: Any, c: Any, accumulate: Any, commit: bool, metadata: Any
) -> Accumulator:
    if not isinstance(c, Accumulator):
        raise mistake(
            "mma-operand", f"the accumulator of wgmma comes from `make_fragment_C`, and this is {describe(c)}"
        )
    held = _is_vector_a(tiled.op, a)
    a_layout = Layout((1, 1, extent(b.layout, 2) if b.ndim > 2 else 1)) if held else a.layout
    rows, columns, depth = _agreed(a_layout, b.layout, Layout((1, c.rows, c.columns)))
    right = [_whole(b, n) for n in range(columns)]
    in_memory = not held and a.space == "smem"
    left = [a] if held else [_whole(a, m) if in_memory else _register_a(a, m) for m in range(rows)]
    words = _metadata(tiled.op, metadata, rows, depth)
    parts, several = list(c.parts), len(c.parts) > 1
    if several:  # one fence for all of them, so that they are one group to ptxas as well
        fenced = wgmma.fence(*parts, *(() if in_memory else left))
        parts, left = list(fenced[: len(parts)]), list(fenced[len(parts) :]) or left
    for n in range(columns):
        for m in range(rows):
            i = m + rows * n
            how = {"accumulate": accumulate, "fenced": several, "metadata": words[m]}
            parts[i] = wgmma.mma_async(left[m], right[n], parts[i], **how)
    if commit:
        wgmma.commit_group()
    return Accumulator(tuple(parts), c.rows, c.columns)


def _in_space(op: TensorMmaOp, partition: Any, operand: str) -> Tensor:
    """Check that a partition lies in the memory that the instruction reads, and return it."""
    where = {"smem": "shared memory", "tmem": "tensor memory"}[op.space_of(operand)]
    if not isinstance(partition, Tensor) or partition.space != op.space_of(operand):
        raise mistake("mma-operand", f"operand {operand} of {op} is in {where}: {describe(partition)} is not there")
    return partition


def _tensor_gemm(
    tiled: TiledMma, d: Any, a: Any, b: Any, c: Any, accumulate: Any, metadata: Any, scales: Any
) -> Tensor:
    """Start the products into tensor memory. One thread executes it."""
    op = tiled.op
    assert isinstance(op, TensorMmaOp)
    if d is not c:
        raise mistake("gemm", "tcgen05.mma adds to the accumulator that it writes", help="leave `c` out")
    _check_operand(tiled, "C", d)
    rows, columns, _ = _agreed(a.layout, b.layout, d.layout)
    scaled = isinstance(op, Tcgen05ScaledMmaOp)
    if scaled != (scales is not None) or (scaled and (not isinstance(scales, tuple) or len(scales) != 2)):
        raise mistake("gemm", f"{op} takes {'`scales=`, of A and of B' if scaled else 'no scales'}")
    if op.sparse != (metadata is not None):
        raise mistake("gemm", f"{op} {'needs `metadata=`' if op.sparse else 'is not sparse: it takes no metadata'}")
    if (op.sparse and rows > 1) or (scaled and rows * columns > 1):
        text = f"{op} is repeated {rows} times along M and {columns} along N"
        raise mistake("gemm-shape", f"{text}: metadata and scales are those of one", help="call gemm for each of them")
    left, right = [_whole(a, m) for m in range(rows)], [_whole(b, n) for n in range(columns)]
    for n in range(columns):
        for m in range(rows):
            offset = d.layout[1](m) + (d.layout[2](n) if d.ndim > 2 else 0)
            acc, how = _view(d, d.layout[0], offset), {"accumulate": accumulate, "metadata": metadata}
            if isinstance(op, Tcgen05ScaledMmaOp):
                how |= {"kind": op.kind, "block": op.block, "cta_group": op.cta_group, "k": op.k}
                tcgen05.mma_scaled(acc, left[m], right[n], *scales, **how)
            else:
                tcgen05.mma(acc, left[m], right[n], cta_group=op.cta_group, **how)
    return d  # type: ignore[no-any-return]


def _is_vector_a(op: MmaOp, a: Any) -> bool:
    """Tell whether operand A is a vector that wgmma reads from registers."""
    return isinstance(a, Vector) and isinstance(op, WarpgroupMmaOp) and not op.a_in_memory and not op.sparse


def _metadata(op: MmaOp, t: Any, rows: int, depth: int) -> list[Any]:
    """Return the metadata words of a sparse MMA for each repeat along M."""
    if not op.sparse:
        if t is not None:
            raise mistake("gemm", f"{op} is not sparse: it takes no metadata")
        return [None] * rows
    need = -(-depth // op.steps_of_word)
    if not isinstance(t, Tensor) or t.space != "rmem" or t.dtype != u32 or t.ndim != 3:
        text = f"a sparse A needs `metadata=`, a fragment of u32 in registers, not {describe(t)}"
        raise mistake("mma-operand", text, help="`mma.make_fragment_E(mine.partition_E(words))`, and copy it")
    if (extent(t.layout, 1), extent(t.layout, 2)) != (rows, need):
        text = f"A repeats {rows} times along M and {depth} along K"
        raise mistake("gemm-shape", f"the metadata has shape {t.shape}, not (1, {rows}, {need}): {text}")
    return [_view(t, t.layout[2], t.layout[1](m)).load() for m in range(rows)]


def _whole(t: Tensor, i: int) -> Tensor:
    """Return repeat `i` of an operand in shared memory as a tile (rows, all of K)."""
    values = t.layout[0]
    layout = make_layout(values[0], make_layout(values[1], t.layout[2]))
    return _view(t, layout, t.layout[1](i))


def _register_a(t: Tensor, m: int) -> Any:
    layout = make_layout(t.layout[0], t.layout[2])
    return _view(t, layout, t.layout[1](m)).load()


def at(t: Tensor, i: int, j: int) -> Tensor:
    """Return the values of one repeat of a fragment."""
    offset = t.layout[1](i) + (t.layout[2](j) if t.ndim > 2 else 0)
    return _view(t, coalesce(t.layout[0]), offset)


def _view(t: Tensor, layout: Layout, offset: Any) -> Tensor:
    align = gcd(t._type.align, known_divisor(offset) * t.dtype.bytes)
    moved = None if type(offset) is int and offset == 0 else as_value(offset)
    return emit(TensorView(t.value, t._retyped_type(layout, align=align), moved))  # type: ignore[no-any-return]


def _agreed(a: Layout, b: Layout, c: Layout) -> tuple[int, int, int]:
    """Return the repeats along M, N and K. Errors: an error that names the mode in which operands disagree."""
    sizes = {
        "M": (("A", a, 1), ("C", c, 1)),
        "N": (("B", b, 1), ("C", c, 2)),
        "K": (("A", a, 2), ("B", b, 2)),
    }
    found = []
    for name, ((first, x, i), (second, y, j)) in sizes.items():
        here, there = (extent(t, k) if t.rank > k else 1 for t, k in ((x, i), (y, j)))
        if here != there:
            raise mistake(
                "gemm-shape",
                f"operands disagree in {name}: {first} repeats {here} times along it, {second} {there} times",
                f"{first} is {x}, {second} is {y}",
            )
        found.append(here)
    return found[0], found[1], found[2]


def _check_operand(tiled: TiledMma, operand: str, t: Any) -> None:
    op = tiled.op
    in_memory = {"A": op.a_in_memory, "B": op.b_in_memory, "C": False}[operand]
    if isinstance(op, TensorMmaOp):
        _in_space(op, t, operand)
    elif not isinstance(t, Tensor) or t.space != ("smem" if in_memory else "rmem"):
        where = "a partition of shared memory" if in_memory else "a fragment in registers"
        raise mistake("mma-operand", f"operand {operand} of {op} is {where}, not {describe(t)}")
    tiled._check_fragment(t.layout, operand)
    if t.dtype != op.dtype_of(operand):
        raise mistake(
            "mma-operand", f"operand {operand} holds {t.dtype}, but {op} takes {op.dtype_of(operand)}",
            help="recast f32 to tf32, or make the operation for this type" if t.dtype == f32 else "",
        )  # fmt: skip


def _layout_of(partition: Any) -> Layout:
    if isinstance(partition, tuple):
        return Layout(partition)
    if not is_tensor(partition):
        raise mistake("mma-operand", f"a partition is needed here, not {describe(partition)}")
    return partition.layout  # type: ignore[no-any-return]


def stride_of(mode: Layout) -> int:
    """Return the least stride of a mode of a thread layout."""
    found = min(coalesce(mode).stride) if isinstance(coalesce(mode).stride, tuple) else coalesce(mode).stride
    return int(found)
