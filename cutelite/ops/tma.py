"""TMA: copies of whole tiles between a tensor in global memory, known by its tensor map, and shared memory.

A map describes the tensor in global memory and the box of it that one operation moves. In shared memory the box
is row-major, its last mode contiguous, and then swizzled: 16-byte chunks permuted by an XOR of address bits. Rows of
fewer bytes than a swizzle permutes are still that many bytes apart (docs/lab/measurements.md).

    cp.async.bulk.tensor.g2s     counts its bytes on an mbarrier, in one CTA or (multicast) in several
    cp.async.bulk.tensor.s2g     ends in a bulk group of the thread
    cp.reduce.async.bulk.tensor  the same, combining instead of overwriting

Coordinates are those of the box's first element, outermost mode first as in the layout of the map. They may be too
large, and for loads negative: elements outside of the tensor are read as 0 and not written. The innermost coordinate,
in bytes, is a multiple of 16: any other is an illegal instruction on the hardware, and so is a store or a reduction at
a negative one. If rows of the tensor (its innermost extent) are no multiple of 16 bytes, a store or reduction also
reaches behind each row, up to the next multiple. All this was seen on an H200, and is what the simulator does
(docs/lab/measurements.md). TMA works in the async proxy.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from cutelite.ir.contract import Effect, Problem, Ptx, np
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.types import Tensor, TensorMap, i32, u16, u64
from cutelite.layout import Layout, flatten_to_tuple, rank, static_value
from cutelite.ops.address import address, among, barrier, scalar
from cutelite.ops.cp_async import ASYNC_COPY, TENSOR_REDUCTIONS, Arrivals, arrival_places, modifiers, reduction_problems
from cutelite.ops.swizzles import SWIZZLE_REPEAT, SWIZZLES, span_of
from cutelite.ops.sync import SCOPES

if TYPE_CHECKING:
    from cutelite.ir.simulation import Agent, Array, Lanes, TileMap

TILE_ALIGN = 128  # bytes: of tiles in shared memory (PTX ISA: cp.async.bulk.tensor)
ROW_UNIT = 16  # bytes: the unit of a box's start within a row of the tensor, and of the end of a row that is stored


def tile_align(swizzle: str) -> int:
    """Return the alignment in bytes of a tile in shared memory that begins where the pattern of `swizzle` does."""
    return max(TILE_ALIGN, SWIZZLE_REPEAT[swizzle])


def row_pitch(row_bytes: int, swizzle: str) -> int:
    """Return the distance of rows of a box in shared memory, in bytes."""
    return row_bytes if swizzle == "none" else max(row_bytes, span_of(swizzle))


def is_row_major(layout: Layout, box: tuple[int, ...], pitch: int) -> bool:
    """Tell whether `layout` is that of a box whose rows lie `pitch` elements apart; extents of 1 do not matter."""
    extents: list[int] = []
    expected = 1
    for mode in reversed(range(rank(layout))):
        extent = 1
        for n, step in zip(flatten_to_tuple(layout[mode].shape), flatten_to_tuple(layout[mode].stride), strict=True):
            count = static_value(n)
            if count is None or (count > 1 and step != expected):
                return False
            extent, expected = extent * count, expected * count
        if extent > 1:
            expected = max(expected, pitch)
        extents.append(extent)
    return [e for e in reversed(extents) if e > 1] == [e for e in box if e > 1]


class TileForm(Op):
    """An operation on the box of `map` at `coord` (an i32 for each mode of the tensor, outermost first)."""

    map: Value
    coord: tuple[Value, ...]
    feature = "tma"

    @property
    def tensor_map(self) -> TensorMap:
        assert isinstance(self.map.type, TensorMap)
        return self.map.type

    @property
    def place(self) -> str:
        """The tensor operand in PTX, whose coordinates run from the innermost mode to the outermost."""
        names = ", ".join(f"$coord.{i}" for i in reversed(range(len(self.coord))))
        return f"[$map, {{{names}}}]"

    @property
    def tile_box(self) -> tuple[int, ...]:
        """The extents of the tile in shared memory."""
        return self.tensor_map.box

    def map_problems(self) -> Iterator[Problem]:
        if not isinstance(self.map.type, TensorMap):
            yield Problem("map", f"{self.name} takes a TMA descriptor, not {self.map.type}")
            return
        yield from self.coord_problems(self.map.type)

    def coord_problems(self, map: TensorMap) -> Iterator[Problem]:
        if map.corners:
            yield Problem("map", f"{self.name} moves boxes, and the map is for pixels (im2col)")
        modes = len(map.box)
        if len(self.coord) != modes:
            yield Problem("coord", f"{len(self.coord)} coordinates into a tensor of {modes} modes")
        yield from self.index_problems()

    def index_problems(self) -> Iterator[Problem]:
        for index in self.coord:
            if index.type != i32:
                yield Problem("coord", f"a TMA coordinate is an i32, not {index.type}")

    def tile_problems(self, field: str) -> Iterator[Problem]:
        """Find problems of the shared memory `field` as the place of a box."""
        problems = list(self.map_problems())
        yield from problems
        if problems:
            return
        box, t = self.tensor_map, self[field].type
        yield from address("smem", align=TILE_ALIGN)(self, field)
        if not isinstance(t, Tensor):
            return
        pitch = row_pitch(box.box[-1] * box.elem.bytes, box.swizzle) // box.elem.bytes
        if t.elem.bits != box.elem.bits:
            yield Problem(field, f"the tile holds {t.elem}, the tensor {box.elem}")
        elif t.swizzle != SWIZZLES[box.swizzle]:
            text = f"the tile's swizzle is {t.swizzle or 'none'}, but the tensor map's is {box.swizzle}"
            yield Problem(field, text, "`cl.tma_shared` makes tiles as their tensor map needs them")
        elif not is_row_major(t.layout, self.tile_box, pitch):
            text = f"the tile has the layout {t.layout}, but TMA moves a row-major box of {self.tile_box}"
            yield Problem(field, text, f"give the tile the shape of the box, its rows {pitch} elements apart")

    @property
    def mode(self) -> str:
        """The qualifier that says how global memory is traversed."""
        return "tile"

    @property
    def modes(self) -> int:
        """Modes of the tensor in global memory."""
        return len(self.coord)

    @property
    def info(self) -> str:
        """The operands of a load or prefetch that only im2col forms have."""
        return ""

    def boxes(self, lanes: Lanes) -> Iterator[tuple[int, Box]]:
        """Yield each active lane and its box."""
        held, coord, stored = lanes.get(self.map), [lanes.get(index) for index in self.coord], self.tensor_map.stored
        for lane in lanes.each():
            map = lanes.machine.stored_map(lanes, lane, int(held[lane]), self.tensor_map) if stored else held
            yield lane, Box(map, tuple(int(index[lane]) for index in coord))


class Loaded(TileForm):
    """A load of each active lane's tile to the shared memory `dst`. One thread does it.

    barrier    counts the bytes of the tile, those outside of the tensor included: expect that many
    multicast  a u16: fill `dst`, and count on `barrier`, at the same offsets in each block of the cluster whose
               rank is a set bit; absent: in this block
    policy     an L2 policy
    pair       `barrier` may be in the other block of the pair (``cta_group::2``); with `multicast`, the bytes of each
               block are counted in the block of its pair whose rank is even or odd like that of `barrier`'s block
    """

    dst: Value
    barrier: Value
    multicast: Value | None
    policy: Value | None
    pair: bool = False
    effects = ASYNC_COPY
    takes = {"multicast": scalar(u16), "policy": scalar(u64)}

    @property
    def feature(self) -> str:  # type: ignore[override]
        return "tcgen05" if self.pair else "tma"

    @property
    def space(self) -> str:
        """The space that the tile goes to, as the instruction names it."""
        return "cluster"

    def verify(self) -> Iterator[Problem]:
        yield from self.tile_problems("dst")
        yield from barrier("smem", *["cluster"] * self.pair)(self, "barrier")

    def ptx(self) -> Ptx:
        kinds = (".multicast::cluster" if self.multicast else "") + (".cta_group::2" if self.pair else "")
        kinds += ".L2::cache_hint" if self.policy else ""
        operands = f", [$barrier]{self.info}" + (", $multicast" if self.multicast else "")
        operands += ", $policy" if self.policy else ""
        start = f"cp.async.bulk.tensor.{self.modes}d.shared::{self.space}.global.{self.mode}"
        return Ptx(f"{start}.mbarrier::complete_tx::bytes{kinds} [$dst], {self.place}{operands};")

    def simulate(self, lanes: Lanes) -> None:
        places = lanes.get(self.dst)
        for lane, box in self.boxes(lanes):
            arrivals = arrival_places(lanes, lane, self.barrier, self.multicast, self.pair)
            assert arrivals is not None
            write = partial(box.fill, int(places[lane]), arrivals)
            lanes.machine.engine.start(lanes, "none", box.read, write, lane=lane, barrier=arrivals.first)


class Stored(TileForm):
    """A store of each active lane's tile, at shared `src`, in the open bulk group of the thread.

    policy  an L2 policy
    """

    src: Value
    policy: Value | None
    effects = ASYNC_COPY
    takes = {"policy": scalar(u64)}

    @property
    def mode(self) -> str:
        return super().mode.replace("im2col", "im2col_no_offs")

    @property
    def action(self) -> str | None:
        """The operation of a reduction; None for a store, which overwrites."""
        return None

    def verify(self) -> Iterator[Problem]:
        problems = list(self.tile_problems("src"))
        yield from problems
        if not problems and self.action is not None:
            yield from reduction_problems(self.action, self.tensor_map.elem, TENSOR_REDUCTIONS)

    def ptx(self) -> Ptx:
        kinds, operands = modifiers(None, None, self.policy)
        name = "cp.async.bulk.tensor" if self.action is None else "cp.reduce.async.bulk.tensor"
        action = "" if self.action is None else f".{self.action}"
        start = f"{name}.{self.modes}d.global.shared::cta{action}.{self.mode}.bulk_group"
        return Ptx(f"{start}{kinds} {self.place}, [$src]{operands};")

    def simulate(self, lanes: Lanes) -> None:
        tiles = lanes.get(self.src)
        for lane, box in self.boxes(lanes):
            read, write = partial(box.take, int(tiles[lane])), partial(box.write, self.action)
            lanes.machine.engine.start(lanes, "bulk", read, write, lane=lane)


class Reduced(Stored):
    """A reduction of each active lane's tile, at shared `src`, in the open bulk group of the thread.

    kind  add, min, max, inc, dec, and, or, xor; each element is combined atomically (relaxed, at gpu scope)
    """

    kind: str
    src: Value
    policy: Value | None

    @property
    def action(self) -> str:
        return self.kind

    @property
    def commutes(self) -> bool:
        return not (self.kind == "add" and self.tensor_map.elem.is_float)


class Prefetched(TileForm):
    """A prefetch of each active lane's tile into L2."""

    policy: Value | None
    effects = Effect.READS | Effect.ASYNC
    takes = {"policy": scalar(u64)}

    def verify(self) -> Iterator[Problem]:
        yield from self.map_problems()

    def ptx(self) -> Ptx:
        kinds, operands = modifiers(None, None, self.policy)
        start = f"cp.async.bulk.prefetch.tensor.{self.modes}d.L2.global.{self.mode}"
        return Ptx(f"{start}{kinds} {self.place}{self.info}{operands};")

    def simulate(self, lanes: Lanes) -> None:
        for lane, box in self.boxes(lanes):
            lanes.machine.engine.start(lanes, "none", box.read, lane=lane)


class Box:
    """One box under way."""

    def __init__(self, map: TileMap, coord: tuple[int, ...]) -> None:
        self.map, self.coord = map, coord

    def read(self, agent: Agent) -> Array:
        return self.map.read(agent, self.coord)

    def write(self, action: str | None, agent: Agent, tile: Array) -> None:
        self.map.write(agent, [self.coord], tile, action)

    def take(self, address: int, agent: Agent) -> Array:
        return self.map.get_smem(agent, address)

    def fill(self, address: int, arrivals: Arrivals, agent: Agent, tile: Array) -> None:
        for move in arrivals.fills:
            self.map.put_smem(agent, address + move, tile)
        arrivals.complete(agent, self.map.box_bytes)


class RowsForm(TileForm):
    """An operation on four rows, given by number, of the matrix of `map`, whose box is part of one row.

    coord  i32: the first column, and four rows. Rows outside of the matrix are read as 0, and not written
    """

    @property
    def place(self) -> str:
        return f"[$map, {{{', '.join(f'$coord.{i}' for i in range(5))}}}]"

    @property
    def modes(self) -> int:
        return 2

    @property
    def tile_box(self) -> tuple[int, ...]:
        return ROWS_AT_ONCE, self.tensor_map.box[-1]

    def coord_problems(self, map: TensorMap) -> Iterator[Problem]:
        if len(map.box) != 2 or map.box[0] != 1:
            yield Problem("map", f"{self.name} takes a matrix by boxes of one row, not by {map.box}")
        if len(self.coord) != 1 + ROWS_AT_ONCE:
            yield Problem("coord", f"{len(self.coord)} coordinates: a column and four rows are needed")
        yield from self.index_problems()

    def boxes(self, lanes: Lanes) -> Iterator[tuple[int, Box]]:
        for lane, box in super().boxes(lanes):
            yield lane, Rows(box.map.repeated(ROWS_AT_ONCE), box.coord)


class Rows(Box):
    """Four rows under way."""

    def read(self, agent: Agent) -> Array:
        column, *rows = self.coord
        return np.concatenate([self.map.read(agent, (row, column)) for row in rows])

    def write(self, action: str | None, agent: Agent, tile: Array) -> None:
        column, *rows = self.coord
        inside = [i for i, row in enumerate(rows) if row >= 0]
        parts = tile.reshape(len(rows), -1)[inside]
        self.map.write(agent, [(rows[i], column) for i in inside], parts, action)


class PixelsForm(TileForm):
    """An operation on a row of pixels of images, by an im2col map, whose box is (pixels, channels).

    coord  i32: the image, the position of the first pixel, outermost mode first, and the first channel. Further pixels
           follow in row-major order within the corners of the map, and then in the next image
    """

    @property
    def mode(self) -> str:
        return "im2col"

    @property
    def modes(self) -> int:
        return int(rank(self.tensor_map.layout))

    wide = False

    def coord_problems(self, map: TensorMap) -> Iterator[Problem]:
        if not map.corners or bool(map.wide) != self.wide:
            kind = "an im2col map of one row of images" if self.wide else "an im2col map"
            yield Problem("map", f"{self.name} takes {kind}, not {map}", "TmaTensor[dtype, shape, cl.Im2col(...)]")
        elif len(self.coord) != self.modes:
            yield Problem("coord", f"{len(self.coord)} coordinates into a tensor of {self.modes} modes")
        yield from self.index_problems()

    def boxes(self, lanes: Lanes) -> Iterator[tuple[int, Box]]:
        for lane, box in super().boxes(lanes):
            yield lane, Pixels(box.map, box.coord, (0,) * (self.modes - 2))


class WrittenPixels(PixelsForm):
    """An operation that writes a row of pixels: an H200 refuses lower corners below 0 there, which loads take."""

    def coord_problems(self, map: TensorMap) -> Iterator[Problem]:
        yield from super().coord_problems(map)
        if any(corner < 0 for corner in map.corners[: len(map.corners) // 2]):
            hint = "declare another im2col map, whose lower corners are 0 or more"
            yield Problem("map", f"lower corners below 0 are for loads alone, and {self.name} writes", hint)


class SeenPixels(PixelsForm):
    """An operation on a row of pixels that is read at an offset, as for one position of a filter.

    offsets  u16, one for each mode of a position: added to the positions of all pixels, which may then lie outside
    """

    offsets: tuple[Value, ...]

    @property
    def info(self) -> str:
        return f", {{{', '.join(f'$offsets.{i}' for i in reversed(range(len(self.offsets))))}}}"

    def coord_problems(self, map: TensorMap) -> Iterator[Problem]:
        problems = list(super().coord_problems(map))
        yield from problems
        if not problems and [v.type for v in self.offsets] != [u16] * (self.modes - 2):
            yield Problem("offsets", f"{self.modes - 2} offsets of u16 are needed, one for each mode of a position")

    def boxes(self, lanes: Lanes) -> Iterator[tuple[int, Box]]:
        offsets = [lanes.get(offset) for offset in self.offsets]
        for lane, box in super().boxes(lanes):
            yield lane, Pixels(box.map, box.coord, tuple(int(offset[lane]) for offset in offsets))


class RowOfPixels(PixelsForm):
    """An operation on pixels that lie in one row of an image, and then in the same row of the next images.

    offset  u16: added to the position of the first pixel along the row, and to the corners
    halo    additional pixels that are read behind those of the map: with 'w128', behind each 32 of them
    """

    offset: Value
    halo: int
    wide = True
    takes = {"offset": scalar(u16), "halo": among(range(513))}

    @property
    def mode(self) -> str:
        return "im2col::w::128" if self.tensor_map.parts > 1 else "im2col::w"

    @property
    def tile_box(self) -> tuple[int, ...]:
        pixels, channels = self.tensor_map.box
        return pixels + self.halo * self.tensor_map.parts, channels

    @property
    def info(self) -> str:
        return f", {{{self.halo}, $offset}}"

    def boxes(self, lanes: Lanes) -> Iterator[tuple[int, Box]]:
        offsets = lanes.get(self.offset)
        for lane, box in super().boxes(lanes):
            yield lane, RowPixels(box.map.with_halo(self.halo), box.coord, (int(offsets[lane]),), self.halo)


class Pixels(Box):
    """A row of pixels under way."""

    def __init__(self, map: TileMap, coord: tuple[int, ...], offsets: tuple[int, ...]) -> None:
        super().__init__(map, coord)
        self.offsets = offsets

    def read(self, agent: Agent) -> Array:
        return self.map.read_pixels(agent, self.coord, self.offsets)

    def write(self, action: str | None, agent: Agent, tile: Array) -> None:
        self.map.write_pixels(agent, self.coord, tile, action)


class RowPixels(Pixels):
    """Pixels of one row under way."""

    def __init__(self, map: TileMap, coord: tuple[int, ...], offsets: tuple[int, ...], halo: int) -> None:
        super().__init__(map, coord, offsets)
        self.halo = halo

    def read(self, agent: Agent) -> Array:
        return self.map.read_pixels(agent, self.coord, self.offsets, self.halo)


@op("cp.async.bulk.tensor.im2col", source="PTX ISA: cp.async.bulk.tensor, im2col")
class TensorIm2col(Loaded, SeenPixels):
    """Start loading a row of pixels into the tile (pixels, channels) at shared `dst`. One thread does it.

    barrier, multicast, policy, pair  as in `cp.async.bulk.tensor.g2s`. Pixels outside of the images are 0
    """


@op("cp.async.bulk.tensor.im2col.s2g", source="PTX ISA: cp.async.bulk.tensor, im2col")
class TensorIm2colStore(Stored, WrittenPixels):
    """Start storing the tile (pixels, channels) at shared `src` to a row of pixels, in the open bulk group.

    Pixels outside of the images are not written.
    """


@op("cp.reduce.async.bulk.tensor.im2col", source="PTX ISA: cp.reduce.async.bulk.tensor, im2col_no_offs")
class TensorIm2colReduce(Reduced, WrittenPixels):
    """Start combining the tile (pixels, channels) at shared `src` into a row of pixels, in the open bulk group.

    kind  as in `cp.reduce.async.bulk.tensor`. Pixels outside of the images are left out
    """


@op("cp.async.bulk.prefetch.tensor.im2col", source="PTX ISA: cp.async.bulk.prefetch.tensor, im2col")
class TensorIm2colPrefetch(Prefetched, SeenPixels):
    """Bring a row of pixels, as `cp.async.bulk.tensor.im2col` reads it, into L2."""


@op("cp.async.bulk.tensor.im2col.w", source="PTX ISA: cp.async.bulk.tensor, im2col::w, im2col::w::128")
class TensorIm2colW(Loaded, RowOfPixels):
    """Start loading pixels of one row of images into the tile (pixels, channels) at shared `dst`. One thread does it.

    barrier, multicast, policy, pair  as in `cp.async.bulk.tensor.g2s`. Pixels outside of the images are 0
    """

    @property
    def feature(self) -> str:  # type: ignore[override]
        more = self.multicast is not None or self.tensor_map.parts > 1
        return "tcgen05" if self.pair else "tma.im2col_w128" if more else "tma.im2col_w"

    @property
    def space(self) -> str:
        return super().space if self.pair or self.multicast is not None else "cta"


@op(
    "cp.async.bulk.prefetch.tensor.im2col.w",
    feature="tma.im2col_w128",
    source="PTX ISA: cp.async.bulk.prefetch.tensor, im2col::w, im2col::w::128",
)
class TensorIm2colWPrefetch(Prefetched, RowOfPixels):
    """Bring pixels of one row, as `cp.async.bulk.tensor.im2col.w` reads them, into L2."""


ROWS_AT_ONCE = 4


@op("cp.async.bulk.tensor.gather4", source="PTX ISA: cp.async.bulk.tensor, tile::gather4")
class TensorGather4(Loaded, RowsForm):
    """Start loading four rows, given by their numbers, into the tile (4, columns) at shared `dst`. One thread does it.

    barrier, multicast, policy, pair  as in `cp.async.bulk.tensor.g2s`; the bytes of four rows are counted
    """

    @property
    def feature(self) -> str:  # type: ignore[override]
        return "tcgen05" if self.pair or self.multicast else "tma.gather4"

    @property
    def space(self) -> str:
        return "cluster" if self.pair or self.multicast else "cta"

    @property
    def mode(self) -> str:
        return "tile::gather4"


@op("cp.async.bulk.tensor.scatter4", feature="tma.scatter4", source="PTX ISA: cp.async.bulk.tensor, tile::scatter4")
class TensorScatter4(Stored, RowsForm):
    """Start storing the tile (4, columns) at shared `src` to four rows, given by number, in the open bulk group."""

    @property
    def mode(self) -> str:
        return "tile::scatter4"


@op(
    "cp.async.bulk.prefetch.tensor.gather4",
    feature="tma.scatter4",
    source="PTX ISA: cp.async.bulk.prefetch.tensor, tile::gather4",
)
class TensorGather4Prefetch(Prefetched, RowsForm):
    """Bring four rows, given by their numbers, into L2."""

    @property
    def mode(self) -> str:
        return "tile::gather4"


@op("cp.async.bulk.tensor.g2s", source="PTX ISA: cp.async.bulk.tensor")
class TensorG2S(Loaded):
    """Start loading the box at `coord` into shared `dst`. One thread does it.

    barrier    counts `map.tile_bytes` bytes, those outside of the tensor included: expect that many
    multicast  a u16: fill `dst`, and count on `barrier`, at the same offsets in each block of the cluster whose
               rank is a set bit; absent: in this block
    policy     an L2 policy
    pair       `barrier` may be in the other block of the pair (``cta_group::2``); with `multicast`, the bytes of each
               block are counted in the block of its pair whose rank is even or odd like that of `barrier`'s block
    """


@op("cp.async.bulk.tensor.s2g", source="PTX ISA: cp.async.bulk.tensor")
class TensorS2G(Stored):
    """Start storing shared `src` to the box at `coord`, in this thread's open bulk group. One thread does it.

    Outside of the tensor, only the rest of each row's last 16 bytes is written.
    """


@op("cp.reduce.async.bulk.tensor", source="PTX ISA: cp.reduce.async.bulk.tensor")
class TensorReduce(Reduced):
    """Start combining shared `src` into the box at `coord`, in this thread's open bulk group.

    kind  add, min, max, inc, dec, and, or, xor; each element is combined atomically (relaxed, at gpu scope)

    The rest of each row's last 16 bytes is combined too.
    """


@op("cp.async.bulk.prefetch.tensor", source="PTX ISA: cp.async.bulk.prefetch.tensor")
class TensorPrefetch(Prefetched):
    """Bring the box at `coord` into L2."""


@op("prefetch.tensormap", effects=Effect.READS, feature="tma", source="PTX ISA: prefetch.tensormap")
class PrefetchTensormap(Op):
    """Bring the descriptor itself into the cache, so that the first copy does not wait for it."""

    map: Value
    as_ptx = Ptx("prefetch.tensormap [$map];")

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.map.type, TensorMap):
            yield Problem("map", f"prefetch.tensormap takes a TMA descriptor, not {self.map.type}")

    def simulate(self, lanes: Lanes) -> None:
        lanes.get(self.map)  # the simulator has no cache, but the operand must be valid


PROXY_SPACES = ("", "global", "shared::cta", "shared::cluster")


@op("fence.proxy.async", effects=Effect.ORDERS, feature="tma", source="PTX ISA: membar, fence.proxy")
class FenceProxyAsync(Op):
    """Order this thread's accesses by ordinary instructions and accesses by the async proxy (TMA, wgmma).

    Each thread that wrote shared memory fences; then a barrier; then one thread may start the copy that reads it.

    space  '' for all memory, 'global', 'shared::cta' or 'shared::cluster'
    """

    space: str = ""
    takes = {"space": among(PROXY_SPACES)}

    def ptx(self) -> Ptx:
        return Ptx(f"fence.proxy.async{'.' if self.space else ''}{self.space};")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.fence(lanes, f"proxy.async{'.' if self.space else ''}{self.space}")


@op("fence.proxy.tensormap", effects=Effect.ORDERS, feature="tma", source="PTX ISA: membar, fence.proxy.tensormap")
class FenceProxyTensormap(Op):
    """Order ordinary writes to a tensor map in global memory and its use by TMA, which reads it by its own proxy.

    map    absent: release, by the thread that wrote the map; a map or its address: acquire, by the thread that will use
           it
    reach  the threads that are ordered: 'cta', 'cluster', 'gpu' or 'sys'
    """

    map: Value | None
    reach: str = "gpu"
    takes = {"reach": among(SCOPES)}

    def verify(self) -> Iterator[Problem]:
        if self.map is not None and not isinstance(self.map.type, TensorMap):
            yield from address("gmem", align=64)(self, "map")

    def ptx(self) -> Ptx:
        if self.map is None:
            return Ptx(f"fence.proxy.tensormap::generic.release.{self.reach};")
        return Ptx(f"fence.proxy.tensormap::generic.acquire.{self.reach} [$map], 128;")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.fence(lanes, f"proxy.tensormap::generic.{'acquire' if self.map else 'release'}.{self.reach}")
        if self.map is not None and not isinstance(self.map.type, TensorMap):
            lanes.machine.acquire_map(lanes, lanes.get(self.map))
