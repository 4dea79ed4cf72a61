"""TMA descriptors: a tensor in global memory and the box that one copy moves, as 128 bytes for the hardware.

Shapes, strides and boxes here begin with the outermost dimension, as those of arrays do. CUDA numbers dimensions from
the innermost; `TensorMaps.encode` and `MapForm.words` reverse them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import lru_cache
from typing import Any, NamedTuple

from cutelite_rt.dtype import DTYPES
from cutelite_rt.gpu import driver as cuda
from cutelite_rt.gpu.device import device

# Values of the driver's enums (cuda.h).
INTERLEAVES = {"none": 0, "16B": 1, "32B": 2}
_SWIZZLES = "none", "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B"
SWIZZLES = {name: i for i, name in enumerate(_SWIZZLES)}
L2_PROMOTIONS = {"none": 0, "64B": 1, "128B": 2, "256B": 3}
OOB_FILLS = {"zero": 0, "nan": 1}
WIDE = {"w": 0, "w128": 1}

_SPANS = {name: int(name.split("B")[0]) for name in SWIZZLES if name != "none"}  # bytes of one swizzled row


class Tiling(NamedTuple):
    """The part of a tensor map that depends on the kernel, not on the tensor.

    box              elements of each dimension in one tile
    element_strides  step in each dimension; None: 1. With a step, a box of n elements loads ceil(n / step)
    corners          for an im2col map, whose box is (pixels, channels): for each dimension between the first and the
                     last the first pixel, then for each the last one, relative to the end; empty for tiled maps
    wide             'w' or 'w128' for an im2col map whose pixels lie along the last but one dimension; only that one
                     has corners then
    swizzle, interleave, l2_promotion, oob_fill   names in the tables above. By default L2 fetches whole lines of 128
                     bytes, which makes loads from DRAM faster (docs/lab/gemm.md)
    """

    box: tuple[int, ...]
    element_strides: tuple[int, ...] | None = None
    swizzle: str = "none"
    interleave: str = "none"
    l2_promotion: str = "128B"
    oob_fill: str = "zero"
    corners: tuple[int, ...] = ()
    wide: str = ""

    @property
    def by_launchers(self) -> bool:
        """True where the compiled launcher can encode such maps: no `element_strides`, and not `wide`."""
        return not self.wide and self.element_strides is None


class MapForm(NamedTuple):
    """The part of a tensor map besides its tensor: dtype, box (outermost extent first), swizzle, im2col corners."""

    dtype: str
    box: tuple[int, ...]
    swizzle: str
    corners: tuple[int, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.corners) // 2 + 2 if self.corners else len(self.box)

    @property
    def words(self) -> tuple[tuple[int, ...], ...]:
        """The structure `map_form` of launcher/tables.h: its five numbers, its box, its corners."""
        row = DTYPES[self.dtype]
        half = len(self.corners) // 2
        rows = (self.box, 5), (self.corners[:half], 3), (self.corners[half:], 3)
        arrays = ((*reversed(row), *[0] * (room - len(row))) for row, room in rows)
        return (row.tensormap, SWIZZLES[self.swizzle], row.bytes, self.rank, int(half > 0)), *arrays


class TensorMapError(ValueError):
    """Raised for a tensor that TMA cannot describe, with the `rule` that it breaks."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(f"{sentence} [{rule}]")
        self.rule = rule
        self.sentence = sentence

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.rule, self.sentence)


ALIGNMENT = 16
"""Bytes of which the address of a tensor, and its strides but the last, are multiples."""


def tma_aligned(address: int, bytes: int, strides: Iterable[int]) -> bool:
    """Tell whether TMA can address a tensor at `address` whose elements have `bytes` bytes.

    strides  those but that of the contiguous dimension, in elements
    """
    return address % ALIGNMENT == 0 and all(stride * bytes % ALIGNMENT == 0 for stride in strides)


def check_tensormap(address: int, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...], tiling: Tiling) -> None:
    """Check that a tensor map can be made. Errors: `TensorMapError` for the first rule that is broken.

    address     of element 0, in bytes
    shape       extents, outermost dimension first; `strides` likewise, in elements
    Source      CUDA driver API: cuTensorMapEncodeTiled
    """
    for rule, sentence in _broken(address, dtype, shape, strides, tiling):
        raise TensorMapError(rule, sentence)


def _broken(
    address: int, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...], tiling: Tiling
) -> Iterator[tuple[str, str]]:
    yield from _names(dtype, tiling)
    rank = len(shape)
    lowest = 3 if tiling.interleave != "none" or tiling.corners else 1
    if not lowest <= rank <= 5:
        mode = f" with interleave {tiling.interleave}" if lowest == 3 else ""
        yield "rank", f"the tensor has {rank} dimensions; TMA takes {lowest} to 5{mode}"
    steps = tiling.element_strides or (1,) * rank
    boxes = () if tiling.corners else (("box", tiling.box),)
    for what, entries in (("strides", strides), *boxes, ("element_strides", steps)):
        if len(entries) != rank:
            yield "rank", f"{what} {entries} has {len(entries)} entries for a tensor of {rank} dimensions"
    alignment = 32 if tiling.interleave == "32B" else ALIGNMENT
    if address % alignment:
        yield "base-alignment", f"the tensor starts at {address:#x}; TMA needs a multiple of {alignment} bytes"
    yield from _extents(dtype, shape, strides, alignment)
    if tiling.corners:
        yield from _pixels(rank, tiling)
    yield from _box(dtype, tiling, steps)


def _names(dtype: str, tiling: Tiling) -> Iterator[tuple[str, str]]:
    for rule, name, table in (
        ("dtype", dtype, DTYPES),
        ("swizzle", tiling.swizzle, SWIZZLES),
        ("interleave", tiling.interleave, INTERLEAVES),
        ("l2-promotion", tiling.l2_promotion, L2_PROMOTIONS),
        ("oob-fill", tiling.oob_fill, OOB_FILLS),
    ):
        if name not in table:
            yield rule, f"{rule} {name!r} is none of {', '.join(table)}"
    if tiling.interleave == "32B" and tiling.swizzle != "32B":
        yield "swizzle", f"interleave 32B needs swizzle 32B, not {tiling.swizzle}"
    if tiling.oob_fill == "nan" and (DTYPES[dtype].kind != "float" or DTYPES[dtype].bytes == 1):
        yield "oob-fill", f"elements outside a tensor of {dtype} cannot be filled with NaN, only with zero"


def _extents(dtype: str, shape: tuple[int, ...], strides: tuple[int, ...], alignment: int) -> Iterator[tuple[str, str]]:
    element = DTYPES[dtype].bytes
    last = len(shape) - 1
    for i, extent in enumerate(shape):  # first: the strides of an array without elements are any
        if not 1 <= extent <= 1 << 32:
            yield "extent", f"dimension {i} has {extent} elements; TMA takes 1 to 2^32"
    if strides[last] != 1 and shape[last] != 1:
        yield "inner-stride", f"the last dimension has stride {strides[last]}; TMA needs its elements side by side"
    for i, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
        if extent == 1 or i == last:
            continue  # its stride is not used
        bytes_ = stride * element
        if bytes_ % alignment:
            given = f"dimension {i} has a stride of {stride} elements, {bytes_} bytes"
            yield "stride-alignment", f"{given}; TMA needs a multiple of {alignment} bytes"
        if not 0 <= bytes_ < 1 << 40:
            yield "stride-range", f"dimension {i} has a stride of {bytes_} bytes; TMA takes 0 to 2^40 - 1"


CORNERS = {3: 1 << 15, 4: 1 << 7, 5: 1 << 4}
"""Rank -> bound of the corners of im2col maps: from -bound to bound - 1 (cuTensorMapEncodeIm2col)."""


def _pixels(rank: int, tiling: Tiling) -> Iterator[tuple[str, str]]:
    bound, count = (CORNERS[3], 2) if tiling.wide else (CORNERS[rank], 2 * rank - 4)
    if len(tiling.corners) != count or any(not -bound <= corner < bound for corner in tiling.corners):
        yield "corners", f"corners {tiling.corners}; a tensor of {rank} dimensions has {count}, below {bound}"
    if tiling.wide and (tiling.wide not in WIDE or tiling.interleave != "none" or tiling.swizzle == "none"):
        yield "wide", f"wide={tiling.wide!r} is 'w' or 'w128', with a swizzle and without interleave"
    pixels, channels = tiling.box
    if not 1 <= pixels <= 1024 or not 1 <= channels <= 256:
        yield "box", f"{pixels} pixels of {channels} channels; TMA takes 1 to 1024 of 1 to 256"


def _box(dtype: str, tiling: Tiling, steps: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    for i, extent in enumerate(() if tiling.corners else tiling.box):
        if not 1 <= extent <= 256:
            yield "box", f"dimension {i} of the box has {extent} elements; TMA takes 1 to 256"
    for i, step in enumerate(steps):
        if not 1 <= step <= 8:
            yield "element-stride", f"dimension {i} has element stride {step}; TMA takes 1 to 8"
    if tiling.interleave != "none":
        return
    if steps[-1] != 1:  # the hardware would ignore it
        yield "element-stride", f"the last dimension has element stride {steps[-1]}; without interleave TMA takes 1"
    inner = tiling.box[-1] * DTYPES[dtype].bytes
    if inner % 16:
        yield "inner-box", f"the last dimension of the box is {inner} bytes; TMA needs a multiple of 16"
    span = _SPANS.get(tiling.swizzle, inner)
    if inner > span:
        yield "swizzle-span", f"the last dimension of the box is {inner} bytes; swizzle {tiling.swizzle} takes {span}"


_FORMS: dict[str, tuple[list[Any], int, tuple[int, int]]] = {
    "Tiled": ([ctypes.POINTER(ctypes.c_uint32)], 4, (12, 0)),
    "Im2col": ([*[ctypes.POINTER(ctypes.c_int)] * 2, *[ctypes.c_uint32] * 2], 4, (12, 0)),
    "Im2colWide": ([*[ctypes.c_int] * 2, *[ctypes.c_uint32] * 2], 5, (12, 8)),
}
"""The driver's encoding functions: types of the box arguments, number of settings after them, first CUDA version."""


class TensorMaps:
    """Encodes tensor maps, once for each tensor and tiling; the `maxsize` most recently used ones are kept."""

    def __init__(self, maxsize: int = 4096) -> None:
        # (address, dtype, shape, strides, tiling) -> the 128 bytes; safe to call from many threads
        self.encode = lru_cache(maxsize)(self._encode)

        self._function = lru_cache(None)(self._looked_up)

    def _looked_up(self, form: str) -> Callable[..., int]:
        """Return the driver's function that encodes tensor maps of this form: 'Tiled', 'Im2col', 'Im2colWide'."""
        box, settings, version = _FORMS[form]
        # Called by address, since cuda.bindings' wrapper passes an object aligned to 16 bytes, but CUtensorMap must be
        # aligned to 64 (CUDA 12) or 128 (CUDA 13).
        tensor: Any = ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p, *[ctypes.POINTER(ctypes.c_uint64)] * 2
        rest: Any = ctypes.POINTER(ctypes.c_uint32), *[ctypes.c_int] * settings
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *tensor, *box, *rest)
        return prototype(cuda.get().address_of(f"cuTensorMapEncode{form}", version))

    def _encode(
        self, address: int, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...], tiling: Tiling
    ) -> bytes:
        """Return the tensor map of a tensor. Arguments and errors are as for `check_tensormap`."""
        check_tensormap(address, dtype, shape, strides, tiling)
        rank = len(shape)
        longs, ints = ctypes.c_uint64 * rank, ctypes.c_uint32 * rank
        storage = (ctypes.c_char * 256)()
        target = ctypes.addressof(storage)
        target += -target % 128
        half = len(tiling.corners) // 2
        corners = ctypes.c_int * half
        lower, upper = (corners(*reversed(part)) for part in (tiling.corners[:half], tiling.corners[half:]))
        box: tuple[object, ...] = (ints(*reversed(tiling.box)),)
        form = "Tiled" if not tiling.corners else "Im2colWide" if tiling.wide else "Im2col"
        if tiling.corners:
            ends = tiling.corners if tiling.wide else (lower, upper)
            box = (*ends, *reversed(tiling.box))
        # The driver requires a current context; which one makes no difference to the map.
        with nullcontext() if int(cuda.get().call("cuCtxGetCurrent")) else device(0).active():
            status = self._function(form)(
                target,
                DTYPES[dtype].tensormap,
                rank,
                address,
                longs(*reversed(shape)),
                longs(*_byte_strides(dtype, shape, strides)),
                *box,
                ints(*reversed(tiling.element_strides or (1,) * rank)),
                INTERLEAVES[tiling.interleave],
                *([WIDE[tiling.wide]] if tiling.wide else []),
                SWIZZLES[tiling.swizzle],
                L2_PROMOTIONS[tiling.l2_promotion],
                OOB_FILLS[tiling.oob_fill],
            )
        if status:
            tensor = f"{dtype} {shape} with strides {strides} at {address:#x}"
            raise cuda.get().error(status, f"encoding a tensor map of {tensor} for {tiling}")
        return ctypes.string_at(target, 128)


def _byte_strides(dtype: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """Return the strides of all dimensions but the innermost, in bytes, innermost first.

    A dimension of one element may have any stride in the array; here it gets one that the hardware accepts.
    """
    element = DTYPES[dtype].bytes
    within = -(-shape[-1] * element // 32) * 32  # bytes from this dimension's first element past the last one
    result = []
    for extent, stride in zip(shape[-2::-1], strides[-2::-1], strict=True):
        result.append(stride * element if extent > 1 else within)
        within = min(max(within, result[-1] * extent), (1 << 40) - 32)
    return result


encode = TensorMaps().encode  # by this machine's driver
