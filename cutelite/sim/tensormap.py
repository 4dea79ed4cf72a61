"""TMA descriptors: the elements of a tensor that a tile has, and their addresses in global and shared memory.

A tile in shared memory is row-major, its last mode contiguous. A swizzle then permutes 16-byte chunks: bits 4, 5 and
6 of the byte address are XORed with bits 7, 8 and 9 (128B), 4 and 5 with 7 and 8 (64B), 4 with 7 (32B). PTX ISA:
tensor copies, swizzling modes. Rows shorter than the span of a swizzle are still that span apart.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from cutelite.ir.types import TensorMap, position_bits, u8
from cutelite.layout import Layout, flatten
from cutelite.layout.expr import evaluate
from cutelite.ops.swizzles import SWIZZLES, span_of
from cutelite.ops.tensormap import MAP_BYTES, WORDS, form_of
from cutelite.ops.tma import ROW_UNIT, TILE_ALIGN, row_pitch
from cutelite.sim.actors import WorkAgent
from cutelite.sim.memory import memory_dtype

Array = Any

CHUNK = 16  # bytes that a swizzle keeps together


class SimTensorMap:
    """A descriptor of type `type` of `array`; implements `ir.simulation.TileMap`.

    array    a NumPy array whose memory holds the tensor, laid out as `type` says with `dims` bound
    extents  extents of the tensor, outermost mode first; `strides`: bytes between neighbours in each mode
    """

    def __init__(self, array: Array, type: TensorMap, dims: Mapping[str, int] | None = None) -> None:
        layout: Layout = evaluate(type.layout, dims or {})
        self.array, self.type = array, type
        self.extents, strides = _modes(layout)
        self.strides = tuple(stride * type.elem.bytes for stride in strides)
        self.address = 0
        self._complete()

    def _complete(self) -> None:
        self._check()
        self._patterns: dict[tuple[int, ...], Array] = {}
        self._lay_out(self.type.box)

    def _lay_out(self, box: tuple[int, ...]) -> None:
        """Compute the offsets of a tile's chunks in shared memory."""
        self.box_bytes = prod(box) * self.type.elem.bytes
        rows = np.arange(prod(box[:-1]))[:, None] * row_pitch(self.row_bytes, self.type.swizzle)
        self._chunk_offsets = (rows + np.arange(0, self.row_bytes, CHUNK)).reshape(-1)
        self._tiles: dict[int, Array] = {}  # by a tile's address: those of its chunks

    @property
    def row_bytes(self) -> int:
        """The bytes of a tile's innermost mode."""
        return self.type.box[-1] * self.type.elem.bytes

    def at(self, address: int) -> SimTensorMap:
        """Return the same descriptor for a tensor at that address."""
        if address % 16:
            raise ValueError(f"a TMA descriptor of memory at {address:#x}, which is no multiple of 16 bytes")
        made = copy.copy(self)
        made.address = address
        return made

    def words(self) -> Array:
        """Return the descriptor as words in memory: `ops.tensormap.WORDS`."""
        words = np.zeros(MAP_BYTES // 8, np.uint64)
        words[WORDS["form"]], words[WORDS["global_address"]] = form_of(self.type), self.address
        for name, held in (("global_dim", self.extents), ("global_stride", self.strides[:-1])):
            words[WORDS[name] : WORDS[name] + len(held)] = held[::-1]
        return words

    @staticmethod
    def of_words(words: Array, type: TensorMap) -> SimTensorMap:
        """Return the descriptor of these words. Errors: ValueError where they are none, or one of another form."""
        if int(words[WORDS["form"]]) != form_of(type):
            raise ValueError("the descriptor there has another box, element type, swizzle or corners, or is none")
        modes = type.modes
        dims, steps = (words[WORDS[name] :].astype(np.int64) for name in ("global_dim", "global_stride"))
        extents, strides = dims[:modes][::-1].tolist(), steps[: modes - 1][::-1].tolist()
        made = object.__new__(SimTensorMap)
        made.array, made.type, made.address = None, type, int(words[WORDS["global_address"]])
        made.extents, made.strides = tuple(extents), (*strides, type.elem.bytes)
        made._complete()
        return made

    def repeated(self, times: int) -> SimTensorMap:
        made, span = copy.copy(self), prod(self.type.box[:-1]) * row_pitch(self.row_bytes, self.type.swizzle)
        made.box_bytes, made._tiles = times * self.box_bytes, {}
        made._chunk_offsets = (np.arange(times)[:, None] * span + self._chunk_offsets).reshape(-1)
        return made

    def read(self, agent: WorkAgent, coord: Sequence[int]) -> Array:
        inside, addresses = self._elements(agent, coord)
        tile = np.zeros(self.type.box, memory_dtype(self.type.elem))
        if addresses.size:
            tile[inside] = agent.load("gmem", addresses, self.type.elem)[..., 0]
        return tile.reshape(-1).view(np.uint8)

    def write(self, agent: WorkAgent, coords: Sequence[Sequence[int]], tile: Array, action: str | None = None) -> None:
        boxes = tile.view(memory_dtype(self.type.elem)).reshape(len(coords), *self.type.box)
        addresses, data = [], []
        for coord, box in zip(coords, boxes, strict=True):
            # On an H200, rows are written in chunks, and none at negative coordinates: docs/lab/measurements.md.
            if min(coord) < 0:
                at = ", ".join(map(str, coord))
                what = f"a TMA store or reduction at ({at}): negative coordinates are for loads alone"
                agent.fail("out-of-bounds", what, place=agent.place("gmem", self.address))
            inside, places = self._elements(agent, coord, whole_chunks=True)
            addresses.append(places.reshape(-1))
            data.append(box[inside].reshape(-1))
        self._put(agent, np.concatenate(addresses), np.concatenate(data), action)

    def _put(self, agent: WorkAgent, addresses: Array, data: Array, action: str | None) -> None:
        """Write elements to global memory, or reduce them into it: one access, whose parts come in any order."""
        if not addresses.size:
            return
        if action is None:
            agent.store("gmem", addresses, self.type.elem, data[:, None])
        else:
            agent.atomic("gmem", addresses, action, self.type.elem, data)

    def with_halo(self, halo: int) -> SimTensorMap:
        made, (pixels, channels) = copy.copy(self), self.type.box
        made._lay_out((pixels + halo * self.type.parts, channels))
        return made

    def read_pixels(self, agent: WorkAgent, coord: Sequence[int], offsets: Sequence[int], halo: int = 0) -> Array:
        inside, addresses = self._pixels(agent, coord, offsets, halo)
        tile = np.zeros(inside.shape, memory_dtype(self.type.elem))
        if np.count_nonzero(inside):
            tile[inside] = agent.load("gmem", addresses[inside], self.type.elem)[..., 0]
        return tile.reshape(-1).view(np.uint8)

    def write_pixels(self, agent: WorkAgent, coord: Sequence[int], tile: Array, action: str | None = None) -> None:
        inside, addresses = self._pixels(agent, coord, (0,) * (len(coord) - 2))
        data = tile.view(memory_dtype(self.type.elem)).reshape(self.type.box)
        self._put(agent, addresses[inside], data[inside], action)

    def _pixels(
        self, agent: WorkAgent, coord: Sequence[int], offsets: Sequence[int], halo: int = 0
    ) -> tuple[Array, Array]:
        """Return which elements of a tile (pixels, channels) lie inside the images, and the addresses of all."""
        self._used(agent)
        whole = self._row(agent, coord, offsets[0], halo) if self.type.wide else self._places(agent, coord, offsets)
        channel = coord[-1] + np.arange(self.type.box[1])
        within = np.all((whole >= 0) & (whole < self.extents[:-1]), axis=1)
        inside = within[:, None] & ((channel >= 0) & (channel < self.extents[-1]))[None, :]
        addresses = self.address + (whole @ np.array(self.strides[:-1]))[:, None] + channel * self.strides[-1]
        return inside, addresses

    def _places(self, agent: WorkAgent, coord: Sequence[int], offsets: Sequence[int]) -> Array:
        """Return the coordinates of the pixels, (pixels, modes but the last), in row-major order within the corners."""
        between, corners = self.extents[1:-1], self.type.corners
        bits = position_bits(len(self.extents))
        if any(offset >> bits for offset in offsets):
            what = f"offsets {tuple(offsets)}, which have {bits} bits each and no sign"
            agent.fail("offset", what, place=agent.place("gmem", self.address))
        if coord[-1] * self.type.elem.bytes % 16:  # on an H200, an illegal instruction: docs/lab/checking.md
            unit = 16 // self.type.elem.bytes
            what = f"pixels from channel {coord[-1]} on, which is no multiple of {unit} (16 bytes)"
            agent.fail("misaligned", what, place=agent.place("gmem", self.address))
        lows, steps = np.array(corners[: len(between)]), np.array(self.type.strides or (1,) * len(between))
        counts = -(-(np.array(between) + corners[len(between) :] - lows) // steps)
        first, uneven = np.divmod(np.array(coord[1:-1]) - lows, steps)
        if np.count_nonzero((first < 0) | (first >= counts) | (uneven != 0)):
            what = f"a row of pixels that begins at {tuple(coord[1:-1])}, outside of the corners of its map"
            what = what if not np.count_nonzero(uneven) else f"{what}, or between its strides"
            agent.fail("out-of-bounds", what, place=agent.place("gmem", self.address))
        number = int(np.ravel_multi_index(tuple(first), tuple(counts))) + np.arange(self.type.box[0])
        image, number = coord[0] + number // int(np.prod(counts)), number % int(np.prod(counts))
        places = np.stack(np.unravel_index(number, tuple(counts)), axis=-1) * steps + lows + offsets
        return np.concatenate([image[:, None], places], axis=1)

    def _row(self, agent: WorkAgent, coord: Sequence[int], offset: int, halo: int) -> Array:
        """Return the coordinates of pixels in one row of each image, with `halo` more after each part of a tile."""
        (low, upper), step = self.type.corners, (self.type.strides or (1,))[0]
        first, low = coord[-2] + offset, low + offset
        end = self.extents[-2] + upper + offset  # after the last pixel
        if first >= end:
            what = f"a row of pixels that begins at {coord[-2]}, behind the corner of its map"
            agent.fail("out-of-bounds", what, place=agent.place("gmem", self.address))
        parts, here = self.type.parts, -(-(end - first) // step)  # pixels of the first image
        each = self.type.box[0] // parts
        number = (np.arange(parts)[:, None] * each + np.arange(each + halo)).reshape(-1)
        later, column = np.divmod(number - here, -(-(end - low) // step))
        image = np.where(number < here, 0, later + 1)
        place = np.where(number < here, first + step * number, low + step * column)
        fixed = [np.full_like(number, c) for c in coord[1:-2]]
        return np.stack([coord[0] + image, *fixed, place], axis=-1)

    def get_smem(self, agent: WorkAgent, address: int) -> Array:
        return agent.load("cluster", self._chunks(agent, address), u8, CHUNK).reshape(-1)

    def put_smem(self, agent: WorkAgent, address: int, tile: Array) -> None:
        agent.store("cluster", self._chunks(agent, address), u8, tile.reshape(-1, CHUNK))

    def _chunks(self, agent: WorkAgent, address: int) -> Array:
        """Return the addresses of the chunks of a tile at this shared address, in the tile's order."""
        if address % TILE_ALIGN:
            place = agent.place("cluster", address)
            agent.fail("misaligned", f"a TMA tile at an address that is no multiple of {TILE_ALIGN}", place=place)
        found = self._tiles.get(address)
        if found is None:
            plain = address + self._chunk_offsets
            pattern = SWIZZLES[self.type.swizzle]
            found = self._tiles[address] = plain if pattern is None else pattern(plain)
        return found

    def _used(self, agent: WorkAgent) -> None:
        """Report a copy by a descriptor that is no longer there: those of parameters always are."""

    def _elements(
        self, agent: WorkAgent, coord: Sequence[int], whole_chunks: bool = False
    ) -> tuple[tuple[slice, ...], Array]:
        """Return the part of the tile that lies inside the tensor, and the addresses of its elements.

        whole_chunks  extend the rows of the tensor to the next multiple of 16 bytes
        """
        self._used(agent)
        if coord[-1] * self.type.elem.bytes % ROW_UNIT:  # an illegal instruction on an H200: docs/lab/measurements.md
            what = (
                f"a TMA tile that starts {coord[-1]} elements of {self.type.elem} into a row: no multiple of 16 bytes"
            )
            agent.fail("misaligned", what, place=agent.place("gmem", self.address))
        inside: list[slice] = []
        address = self.address
        unit = ROW_UNIT // self.type.elem.bytes if whole_chunks else 1
        extents = (*self.extents[:-1], -(-self.extents[-1] // unit) * unit)
        for start, box, extent, stride in zip(coord, self.type.box, extents, self.strides, strict=True):
            first, last = min(max(0, -start), box), max(0, min(box, extent - start))
            inside.append(slice(first, max(first, last)))
            address += (start + first) * stride
        return tuple(inside), address + self._pattern(tuple(part.stop - part.start for part in inside))

    def _pattern(self, shape: tuple[int, ...]) -> Array:
        """Return the distances in bytes of the elements of a part of a tile from its first one."""
        found = self._patterns.get(shape)
        if found is None:
            found = np.zeros((), np.int64)
            for extent, stride in zip(shape, self.strides, strict=True):
                found = found[..., None] + np.arange(extent) * stride
            self._patterns[shape] = found
        return found

    def _check(self) -> None:
        """Check what the driver checks (CUDA driver API: cuTensorMapEncodeTiled). Errors: ValueError."""
        t, elem = self.type, self.type.elem
        if t.corners:
            if not 3 <= len(self.extents) <= 5 or len(t.corners) != (2 if t.wide else 2 * (len(self.extents) - 2)):
                raise ValueError(f"an im2col map of {len(self.extents)} modes with the corners {t.corners}")
        elif len(t.box) != len(self.extents) or not 1 <= len(t.box) <= 5:
            raise ValueError(
                f"a TMA descriptor of {len(self.extents)} modes with a box of {t.box}; it has 1 to 5 modes"
            )
        if self.strides[-1] != elem.bytes:
            raise ValueError(f"TMA needs the last mode contiguous; its stride is {self.strides[-1] // elem.bytes}")
        for mode, (extent, stride) in enumerate(zip(self.extents[:-1], self.strides, strict=False)):
            if extent > 1 and (stride % 16 or not 0 <= stride < 1 << 40):  # else the stride is not used
                raise ValueError(f"the stride of mode {mode} is {stride} bytes; TMA takes multiples of 16 below 2**40")
        if any(not 1 <= n <= (1024 if t.corners and i == 0 else 256) for i, n in enumerate(t.box)):
            raise ValueError(f"a TMA box of {t.box}: each extent must be 1 to 256, or up to 1024 pixels")
        if self.row_bytes % 16:
            raise ValueError(f"a TMA box has rows of {self.row_bytes} bytes; they must be multiples of 16")
        span = span_of(t.swizzle)
        if t.swizzle != "none" and self.row_bytes > span:
            raise ValueError(
                f"a TMA box with swizzle {t.swizzle} has rows of {self.row_bytes} bytes; {span} are possible"
            )


def _modes(layout: Layout) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return extents and strides of a static layout, a number for each mode."""
    shape, stride = layout.shape, layout.stride
    if not isinstance(shape, tuple):
        return (shape,), (stride,)
    return tuple(map(_single, shape)), tuple(map(_single, stride))


def _single(mode: Any) -> int:
    flat = flatten(mode)
    if isinstance(flat, tuple):
        if len(flat) != 1:
            raise ValueError(f"a mode of a TMA tensor is one extent and one stride, not {mode}")
        return int(flat[0])
    return int(flat)
