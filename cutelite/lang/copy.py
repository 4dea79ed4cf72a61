"""Copy atoms and tiled copies: the elements that each thread moves. `copy` itself is in `cutelite.lib.copy`.

    atom = cl.make_copy_atom(cl.CopyUniversalOp(bits=128), cl.f16)
    tiled = cl.make_tiled_copy_tv(atom, cl.Layout((32, 8), (8, 1)), cl.Layout((1, 8)))
    mine = tiled.get_slice(cl.thread_idx.x)
    cl.copy(tiled, mine.partition_S(gmem_tile), mine.partition_D(smem_tile))

All of this happens at compile time; a thread's slice costs the arithmetic of its offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Any

from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import boolean
from cutelite.lang.algebra import check_reach, is_tensor
from cutelite.lang.copy_ops import CopyOp, TileOp, TmemOp
from cutelite.lang.emit import describe, emit, mistake
from cutelite.lang.promotion import as_value
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import Scalar, Vector
from cutelite.layout import (
    Layout,
    LayoutError,
    coalesce,
    composition,
    cosize,
    filter_zeros,
    is_static,
    known_divisor,
    logical_divide,
    make_layout,
    make_layout_tv,
    right_inverse,
    size,
    static_value,
    zipped_divide,
)
from cutelite.ops.tensor import TensorView
from cutelite.records import dataclass


@dataclass(frozen=True)
class CopyAtom:
    """A copy operation on elements of `dtype`."""

    op: CopyOp
    dtype: DType

    @property
    def threads(self) -> int:
        """The number of threads that execute it together."""
        return self.op.threads

    @property
    def layout_src_tv(self) -> Layout:
        """(thread, value) to an index into the moved elements: those that each thread reads."""
        return self.op.source(self.dtype)

    @property
    def layout_dst_tv(self) -> Layout:
        """(thread, value) to an index into the moved elements: those that each thread writes."""
        return self.op.target(self.dtype)

    @property
    def layout_ref_tv(self) -> Layout:
        """The one of the two layouts by which a tiled copy counts its values."""
        return self.op.reference(self.dtype)

    @property
    def values(self) -> int:
        """The number of a thread's values that one instruction moves."""
        return extent(self.layout_ref_tv, 1)

    def __str__(self) -> str:
        return f"{self.op} of {self.dtype}"


def make_copy_atom(op: CopyOp, dtype: DType) -> CopyAtom:
    """Return a copy atom: the operation `op` on elements of `dtype`."""
    if not isinstance(op, CopyOp):
        raise mistake(
            "copy-atom", f"make_copy_atom takes a copy operation, not {describe(op)}", help="`cl.CopyUniversalOp()`"
        )
    if not isinstance(dtype, DType):
        raise mistake("copy-atom", f"make_copy_atom takes a dtype, not {describe(dtype)}")
    atom = CopyAtom(op, dtype)
    _ = atom.layout_src_tv, atom.layout_dst_tv  # refuse a dtype that the operation does not move
    return atom


@dataclass(frozen=True)
class TiledCopy:
    """An atom, repeated over a tile by many threads.

    layout_tv  (thread, value) to an index in the tile, first mode fastest
    tiler      extents of the tile, or a layout for each mode
    fragment   if made from a tiled MMA: the number of values of its atom, and how often these repeat along each mode
               of the tile; else None
    """

    atom: CopyAtom
    layout_tv: Layout
    tiler: Any
    fragment: tuple[int, int, int] | None = None

    @property
    def size(self) -> int:
        """The number of threads that take part."""
        return extent(self.layout_tv, 0)

    def get_slice(self, thread: Any) -> ThrCopy:
        """Return the part of one thread, 0 to `size` - 1: a compile-time or run-time number."""
        return ThrCopy(self, thread)

    def _repr_html_(self) -> str:
        from cutelite.layout import viz  # only notebooks need it

        extents = tuple(item if isinstance(item, int) else item.size for item in self.tiler)
        return viz.html(viz.owners(self.layout_tv, extents, f"{self.atom} by {self.layout_tv}"))

    def retile(self, fragment: Any) -> Any:
        """Return a fragment of this copy's tiled MMA as a partition of the copy: (values, rest, rest)."""
        values, *repeats = self.fragment or (extent(self.layout_tv, 1), 1, 1)
        layout = fragment.layout
        if layout.rank < 3 or extent(layout, 0) != values:
            raise mistake(
                "retile",
                f"retile takes a fragment whose first mode has {values} values, not {layout}",
                help="make it with the tiled MMA that this copy was made from",
            )
        inner, outer = [layout[0]], []
        for mode, count in zip(list(layout)[1:3], repeats, strict=True):
            if known_divisor(mode.size) % count:
                raise mistake("retile", f"{layout} repeats {mode.size} times, which is no multiple of {count}")
            divided = logical_divide(mode, Layout(count))
            inner.append(divided[0])
            outer.append(divided[1])
        grouped = logical_divide(coalesce(make_layout(*inner)), Layout(self.atom.values))
        return fragment._retyped(make_layout(grouped, *outer, *list(layout)[3:]))

    def thread_layout(self, layout: Layout, side: Layout) -> tuple[Layout, Layout, list[Layout]]:
        """Return (threads, values, rests) of a tensor of that layout, for the atom's side `side`."""
        try:
            divided = zipped_divide(layout, self.tiler)
        except LayoutError as why:
            raise mistake("partition", f"{layout} cannot be cut into tiles of {self.tiler}: {why}") from None
        atom_tv = zipped_divide(self.layout_tv, (self.atom.threads, self.atom.values))
        part = composition(atom_tv[0], composition(right_inverse(self.atom.layout_ref_tv), side))
        try:
            threads = composition(divided[0], make_layout(part[0], atom_tv[1][0]))
            values = composition(divided[0], make_layout(part[1], atom_tv[1][1]))
        except LayoutError as why:
            op, count = self.atom.op, self.atom.threads * self.atom.values
            raise mistake(
                "partition",
                f"{op} takes {count} elements at once, which run over the end of a mode of the tile {self.tiler} in "
                f"a tensor {layout}",
                str(why),
                help=f"a tile whose extents are multiples of what the instruction takes{_narrower(op)}",
            ) from None
        rests = list(divided[1]) if isinstance(divided[1].shape, tuple) else [divided[1]]
        return threads, values, rests


@dataclass(frozen=True)
class ThrCopy:
    """One thread's part of a tiled copy."""

    tiled: TiledCopy
    thread: Any

    def partition_S(self, tensor: Any) -> Any:
        """Return the part of a source tensor that this thread reads: ((values of an atom, atoms), rest modes...)."""
        return self._partition(tensor, self.tiled.atom.layout_src_tv)

    def partition_D(self, tensor: Any) -> Any:
        """Return the part of a target tensor that this thread writes."""
        return self._partition(tensor, self.tiled.atom.layout_dst_tv)

    def retile(self, fragment: Any) -> Any:
        """As `TiledCopy.retile`."""
        return self.tiled.retile(fragment)

    retile_S = retile_D = retile

    def _partition(self, tensor: Any, side: Layout) -> Any:
        if not is_tensor(tensor):
            raise mistake("partition", f"a tensor is needed here, not {describe(tensor)}")
        threads, values, rests = self.tiled.thread_layout(tensor.layout, side)
        check_reach("partition", tensor, self.tiled.tiler)
        return tensor._moved(make_layout(values, *rests), [(self.thread, threads)])


def make_tiled_copy(atom: CopyAtom, layout_tv: Layout, tiler: Any) -> TiledCopy:
    """Return a tiled copy with a given (thread, value) layout of a tile.

    layout_tv   (thread, value) to an index in the tile, first mode fastest; multiples of the atom's threads and values
    tiler       extents of the tile
    """
    check_atom(atom)
    tiler = tiler if isinstance(tiler, tuple) else (tiler,)
    if layout_tv.rank != 2:
        raise mistake("tiled-copy", f"a (thread, value) layout has 2 modes, not {layout_tv.rank}: {layout_tv}")
    for mode, need, what in ((0, atom.threads, "threads"), (1, atom.values, "values")):
        if extent(layout_tv, mode) % need:
            raise mistake(
                "tiled-copy",
                f"the tile has {extent(layout_tv, mode)} {what}, but {atom.op} needs a multiple of {need}",
                f"the (thread, value) layout is {layout_tv}",
            )
        try:
            logical_divide(layout_tv[mode], Layout(need))
        except LayoutError:
            raise mistake(
                "tiled-copy",
                f"{atom.op} takes {need} {what} at once, and {what} of shape {layout_tv[mode].shape} do not divide "
                f"into groups of that size",
                f"the (thread, value) layout is {layout_tv}",
                help=f"{what} whose extents, from the first on, multiply to {need}{_narrower(atom.op)}",
            ) from None
    inside, reach = extent(Layout(tiler)), static_value(cosize(layout_tv)) or 0
    covered = static_value(size(filter_zeros(layout_tv))) or 0
    if reach != inside or covered < inside:
        what = f"reaches {reach} elements" if reach != inside else f"has {covered} different elements at most"
        raise mistake("tiled-copy", f"the (thread, value) layout {layout_tv} {what}, and the tile {tiler} {inside}")
    return TiledCopy(atom, layout_tv, tiler)


def make_tiled_copy_tv(atom: CopyAtom, thr_layout: Layout, val_layout: Layout) -> TiledCopy:
    """Return a tiled copy of a tile in which every thread has a block of values, the threads side by side.

    thr_layout   coordinates in the tile, counted in blocks, to a thread
    val_layout   coordinates in a thread's block to a value
    """
    tiler, layout_tv = make_layout_tv(thr_layout, val_layout)
    return make_tiled_copy(atom, layout_tv, tiler)


def make_tmem_copy(atom: CopyAtom) -> TiledCopy:
    """Return a tiled copy by four warps between their registers and all lanes that a tensor memory atom reaches.

    atom  an atom of `TmemLoadOp` or `TmemStoreOp`. The tile has 128 rows (64 for shapes of 16 lanes), and the atom's
          columns
    """
    check_atom(atom)
    if not isinstance(atom.op, TmemOp):
        raise mistake("copy-atom", f"{atom.op} does not move tensor memory", help="`cl.TmemLoadOp(shape, repeats)`")
    layout, tiler = atom.op.of_warps(atom.dtype)
    return make_tiled_copy(atom, layout, tiler)


def make_tiled_copy_A(atom: CopyAtom, tiled_mma: Any) -> TiledCopy:
    """Return a copy that brings operand A into the registers in which `tiled_mma` wants it."""
    return _like_mma(atom, tiled_mma, "A")


def make_tiled_copy_B(atom: CopyAtom, tiled_mma: Any) -> TiledCopy:
    """Return the same as `make_tiled_copy_A`, for operand B of `tiled_mma`."""
    return _like_mma(atom, tiled_mma, "B")


def make_tiled_copy_C(atom: CopyAtom, tiled_mma: Any) -> TiledCopy:
    """Return a copy of the accumulator, from the registers in which `tiled_mma` has it or into them."""
    return _like_mma(atom, tiled_mma, "C")


def make_tiled_copy_S(atom: CopyAtom, tiled: TiledCopy) -> TiledCopy:
    """Return a copy by `atom` in which each thread has the elements that it reads in `tiled`."""
    return _like_copy(atom, tiled, "layout_src_tv")


def make_tiled_copy_D(atom: CopyAtom, tiled: TiledCopy) -> TiledCopy:
    """Return a copy by `atom` in which each thread has the elements that it writes in `tiled`."""
    return _like_copy(atom, tiled, "layout_dst_tv")


def _like_copy(atom: CopyAtom, tiled: TiledCopy, side: str) -> TiledCopy:
    if not isinstance(tiled, TiledCopy):
        raise mistake("tiled-copy", f"a tiled copy is needed here, not {describe(tiled)}")
    threads, values, _ = tiled.thread_layout(Layout(tiled.tiler), getattr(tiled.atom, side))
    made = make_tiled_copy(atom, make_layout(threads, values), tiled.tiler)
    return TiledCopy(atom, made.layout_tv, made.tiler, tiled.fragment)


def _like_mma(atom: CopyAtom, tiled_mma: Any, operand: str) -> TiledCopy:
    check_atom(atom)
    if not hasattr(tiled_mma, "tile_tv"):
        raise mistake("tiled-copy", f"a tiled MMA is needed here, not {describe(tiled_mma)}")
    layout_tv, tiler, fragment = tiled_mma.tile_tv(operand)
    have = extent(layout_tv, 1)
    if have % atom.values:
        raise mistake(
            "tiled-copy",
            f"a thread has {have} values of {operand} in the MMA's tile {tiler}, but {atom.op} moves {atom.values}",
            help="make the tile of the tiled MMA larger by its `permutation`, or take fewer matrices",
        )
    made = make_tiled_copy(atom, layout_tv, tiler)
    return TiledCopy(atom, made.layout_tv, made.tiler, fragment)


def _narrower(op: CopyOp) -> str:
    return ", or an atom of fewer `bits`" if getattr(op, "bits", 0) else ""


# The plan of a copy, which `copy` executes.


def check_atom(atom: Any) -> None:
    if not isinstance(atom, CopyAtom):
        raise mistake(
            "copy-atom", f"a copy atom is needed here, not {describe(atom)}", help="`cl.make_copy_atom(op, dtype)`"
        )
    if isinstance(atom.op, TileOp):
        raise mistake("copy-atom", f"{atom.op} moves whole tiles, started by one thread: it is not tiled over threads")


@dataclass(frozen=True)
class Plan:
    """A copy, cut into instructions: pairs of (source, target) of one thread each."""

    atom: CopyAtom
    pairs: tuple[tuple[Tensor, Tensor], ...]
    barrier: Any

    def call(self, i: int, pred: Any = None) -> None:
        """Emit instruction `i`."""
        src, dst = self.pairs[i]
        self.atom.op.start(src, dst, pred, self.barrier)


def check_tensors(src: Any, dst: Any) -> None:
    """Refuse a source or target of a copy that is no tensor."""
    for name, t in (("source", src), ("target", dst)):
        if not isinstance(t, Tensor):
            values = "v" if isinstance(t, Vector) else "acc.load()" if hasattr(t, "load") else ""
            help = f"store its elements: `target.store({values})`" if values and name == "source" else ""
            raise mistake("copy", f"the {name} of a copy is a tensor, not {describe(t)}", help=help)


def plan(how: Any, src: Any, dst: Any, barrier: Any = None) -> Plan:
    """Return the instructions by which an atom or tiled copy copies `src` to `dst`, partitions of one thread."""
    atom: CopyAtom = how.atom if isinstance(how, TiledCopy) else how
    check_atom(atom)
    if (barrier is not None) != atom.op.counted:
        needs = "needs `barrier=`, which counts its bytes" if atom.op.counted else "takes no `barrier=`"
        raise mistake("copy-atom", f"{atom.op} {needs}")
    check_tensors(src, dst)
    for name, t in (("source", src), ("target", dst)):
        if t.dtype.bytes != atom.dtype.bytes:
            raise mistake("copy-dtype", f"the {name} holds {t.dtype}, but the atom moves {atom.dtype}", f"it is {atom}")
        if not is_static(t.layout.shape):
            raise mistake("static-layout", f"the {name} of a copy has a shape known at compile time, not {t.shape}")
    if src.dtype != dst.dtype:
        raise mistake(
            "copy-dtype", f"the source holds {src.dtype}, the target {dst.dtype}", help="convert, or recast one"
        )
    given, taken = extent(atom.layout_src_tv, 1), extent(atom.layout_dst_tv, 1)
    sources, targets = list(pieces(src, given, atom)), list(pieces(dst, taken, atom))
    if len(sources) != len(targets):
        raise mistake(
            "copy-sizes",
            f"the source {src.shape} is {len(sources)} times what {atom.op} reads of a thread, the target {dst.shape}"
            f" {len(targets)} times what it writes",
            help="partition both by the same tiled copy",
        )
    atom.op.check(sources[0]._type, targets[0]._type)
    return Plan(atom, tuple(zip(sources, targets, strict=True)), barrier)


def pieces(t: Tensor, count: int, atom: CopyAtom) -> Iterator[Tensor]:
    """Return the parts of `t` with `count` values of the first mode each, in the order of the modes."""
    first = t.layout[0] if t.ndim > 1 or isinstance(t.layout.shape, tuple) else t.layout
    if extent(first) % count:
        raise mistake(
            "copy-sizes",
            f"the first mode of {t.layout} has {extent(first)} values, no multiple of the {count} of {atom.op}",
            help="the first mode holds a thread's values: `tiled.get_slice(t).partition_S(tensor)` makes it so",
        )
    own = logical_divide(first, Layout(count))
    part, rest = coalesce(own[0]), make_layout(own[1], *list(t.layout)[1:])
    return views(t, part, [rest(i) for i in range(extent(rest))])


def views(t: Tensor, part: Layout, offsets: list[Any]) -> Iterator[Tensor]:
    """Yield the elements of `t` in `part`, from each offset on."""
    kind = t._retyped_type(part, align=gcd(t._type.align, *(known_divisor(o) * t.dtype.bytes for o in offsets)))
    for offset in offsets:
        moved = None if type(offset) is int and offset == 0 else as_value(offset)
        yield emit(TensorView(t.value, kind, moved))


def predicates(pred: Any, count: int, values: int) -> list[Any]:
    """Return a predicate for each of `count` instructions of `values` elements: from one bool, or from a tensor.

    The tensor has a bool for each instruction (or for a divisor of their number, repeated), or for each element, then
    with a stride of 0 along the elements of an instruction.
    """
    if not isinstance(pred, Tensor):
        return [decision(pred)] * count
    have = extent(pred.layout)
    if pred.dtype.kind != "bool" or (count % have and have != count * values):
        raise mistake(
            "copy-pred",
            f"the predicate is {have} elements of {pred.dtype}, but the copy is {count} instructions",
            help="make a bool for each: `cl.make_rmem_tensor(cl.boolean, ...)`, of the shape of the rest modes",
        )
    told = pred.load()
    if count % have == 0:
        return [told[i % have] for i in range(count)]
    for i in range(have):
        if pred.layout(i) != pred.layout(i - i % values):
            raise mistake(
                "copy-pred",
                f"an instruction moves {values} elements, but elements {i - i % values} and {i} have predicates each",
                f"the predicate's layout is {pred.layout}",
                help="give it a stride of 0 along them, or copy without an atom, which keeps to predicates",
            )
    return [told[i * values] for i in range(count)]


def decision(pred: Any) -> Any:
    """Return a predicate, a bool, that is for the whole copy."""
    if isinstance(pred, bool) or (isinstance(pred, Scalar) and pred.dtype == boolean):
        return pred
    raise mistake("copy-pred", f"a predicate is a bool or a tensor of bools, not {describe(pred)}")


def extent(layout: Layout, mode: int | None = None) -> int:
    """Return a size that is known at compile time."""
    found = static_value((layout if mode is None else layout[mode]).size)
    if found is None:
        raise mistake("static-layout", f"a size must be known at compile time here, not that of {layout}")
    return found
