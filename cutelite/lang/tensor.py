"""Tensors inside kernels: memory in global, shared or register space, seen through a compile-time layout.

    t[i, j]            the element at a coordinate, one index per mode; t[i] counts colexicographically
    t[i, j] = x        writes it
    t[None, j]         a view of the modes that are left when `j` is fixed (``:`` is the same as None)
    t.load(), .store() all elements of a tensor of static layout at once, as a vector value

Indices may be compile-time or run-time integers, and nested as the shape nests. Everything about layouts
happens at compile time; what is emitted is the address arithmetic of the run-time indices.
"""

from __future__ import annotations

import math
from typing import Any

import cutelite.layout as layouts  # a lazy module: imports its functions when they are called
from cutelite.ir.contract import np, numpy_dtype
from cutelite.ir.types import Ptr, Vec, i32, i64
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Tensor as TensorType
from cutelite.ir.types import TensorMap as TensorMapType
from cutelite.lang import whole
from cutelite.lang.address import pointer
from cutelite.lang.annotations import Align
from cutelite.lang.annotations import Tensor as TensorAnnotation
from cutelite.lang.annotations import TmaTensor as TmaTensorAnnotation
from cutelite.lang.emit import Handle, Runtime, describe, emit, mistake, proxy_of
from cutelite.lang.index import Axes
from cutelite.lang.mbarrier import Barrier
from cutelite.lang.promotion import as_value, to_dtype
from cutelite.lang.shaped import Shaped
from cutelite.lang.values import Scalar, Vector
from cutelite.layout import (
    ComposedLayout,
    DimExpr,
    Layout,
    Swizzle,
    cosize,
    is_static,
    known_divisor,
    prove_le,
    prove_lt,
    size,
    static_value,
)
from cutelite.ops import tensor as ops
from cutelite.ops.memory import PtrFromAddress
from cutelite.tuples import NamedTuple

WHOLE = slice(None)


@proxy_of(TensorType)
class Tensor(Shaped, Runtime, TensorAnnotation):
    """A tensor of one memory space. `Tensor[dtype, shape]` is the annotation: see `lang.annotations`."""

    __slots__ = ()
    __hash__ = Runtime.__hash__

    @property
    def _type(self) -> TensorType:
        assert isinstance(self.value.type, TensorType)
        return self.value.type

    @property
    def layout(self) -> Layout:
        return self._type.layout

    @property
    def dtype(self) -> DType:
        return self._type.elem

    @property
    def space(self) -> str:
        """'gmem', 'smem', 'rmem' or 'cluster'."""
        return self._type.space

    @property
    def nbytes(self) -> Any:
        return self.size * self.dtype.bytes

    def __getitem__(self, key: Any) -> Any:
        if _slices(key):
            return self._sliced(key)
        tensor, coord = self._located(key)
        if self.dtype.kind == "barrier":
            pointer = emit(ops.TensorPtr(tensor.value, coord, align=self.dtype.bytes))
            return Barrier(pointer.value)
        return emit(ops.TensorLoad(tensor.value, coord))

    def __setitem__(self, key: Any, x: Any) -> None:
        if _slices(key):
            view = self._sliced(key)
            view.store(x.load() if isinstance(x, Tensor) else x)
            return
        tensor, coord = self._located(key)
        emit(ops.TensorStore(tensor.value, coord, as_value(x, self.dtype)))

    def load(self, key: Any = None, *, cache: str = "", evict: str = "", prefetch: int = 0) -> Any:
        """Return all elements as a vector (static shape only); with `key`, the element there, with PTX cache hints.

        prefetch  64, 128 or 256: L2 may also fetch that many bytes around the element
        """
        if key is None:
            _no_hints(cache, evict, prefetch)
            return whole.load(self)
        tensor, coord = self._located(key)
        return emit(ops.TensorLoad(tensor.value, coord, cache, evict, prefetch))

    def store(self, x: Any, key: Any = None, *, cache: str = "", evict: str = "") -> None:
        """Write the vector `x` (a scalar fills) to all elements; with `key`, to the element there."""
        if key is None:
            _no_hints(cache, evict)
            count = static_value(self.size)
            if count is None:
                title = f"store() needs a layout known at compile time, not {self.layout}"
                raise mistake("static-layout", title, help="store to a tile, `t.tile(...)`, or element by element")
            whole.store(self, as_value(x, Vec(self.dtype, count)))
            return
        tensor, coord = self._located(key)
        emit(ops.TensorStore(tensor.value, coord, as_value(x, self.dtype), cache, evict))

    def fill(self, x: Any) -> None:
        """Set every element to the scalar `x`."""
        self.store(x)

    @property
    def ptr(self) -> Handle:
        """The address of the element at offset 0."""
        return Handle(pointer(self.value, (as_value(0),) if self.ndim else ()))

    def at(self, *key: Any) -> Handle:
        """Return the address of the element at a coordinate.

        Its alignment follows from what is known of the indices. If nothing is known of an index along contiguous
        elements, the address is assumed to be as aligned as the instruction needs; the simulator checks that.
        """
        tensor, coord = self._located(key[0] if len(key) == 1 else key)
        return Handle(pointer(tensor.value, coord))

    def pointee(self, key: Any, to: TensorType) -> Tensor | None:
        """Return the tensor of type `to` whose address in global memory is the element at `key`; None for slices."""
        if _slices(key):
            return None
        place = emit(PtrFromAddress(self[key].value, to.align))
        found: Tensor = emit(ops.TensorMake(place.value, to))
        return found

    def view(self, layout: Any, dtype: DType | None = None) -> Tensor:
        """Return the same memory with another layout, from the same first element on. A ComposedLayout has its swizzle.

        layout  or row-major extents
        Errors  `view` if the layout certainly reaches beyond this tensor. If that depends on extents known at launch,
                the simulator reports it
        """
        own, elem = self._type, dtype or self.dtype
        swizzle = own.swizzle
        if isinstance(layout, ComposedLayout):
            layout, swizzle = _unswizzled("view", layout, elem, own.align)
        else:
            layout = _layout(layout)
            _check_swizzle(swizzle, elem)
        reach, inside = cosize(layout) * elem.bytes, cosize(self.layout) * self.dtype.bytes
        if prove_lt(inside, reach):
            have = f"{cosize(self.layout)}" if elem is self.dtype else f"{cosize(self.layout)} of {self.dtype}"
            raise mistake(
                "view", f"the layout {layout} reaches {cosize(layout)} elements, but {self.layout} has {have}"
            )
        seen = TensorType(elem, own.space, layout, own.align, swizzle)
        return self if seen == own else emit(ops.TensorView(self.value, seen, None, not prove_le(reach, inside)))

    def recast(self, dtype: DType) -> Tensor:
        """Return the same bytes as elements of another width (`recast_tensor`)."""
        if not isinstance(dtype, DType):
            raise mistake("dtype", f"a dtype is needed here, not {describe(dtype)}", help=PACKED)
        _check_swizzle(self._type.swizzle, dtype)
        return self._retyped(layouts.recast_layout(8 * dtype.bytes, 8 * self.dtype.bytes, self.layout), dtype=dtype)

    def tile(self, tiler: Any, coord: Any) -> Tensor:
        """Return the tile of shape `tiler` at tile coordinate `coord` (`local_tile`); None keeps that mode of tiles."""
        check_tiler(tiler)
        divided = layouts.zipped_divide(self.layout, tiler)
        key = coord if isinstance(coord, tuple) else (coord,)
        kept, fixed = _split(key, divided[1])
        layout = layouts.make_layout(*divided[0], *kept)
        return self._moved(layout, fixed)

    # The implementation of indexing.

    def _located(self, key: Any) -> tuple[Tensor, tuple[Any, ...]]:
        """Return the tensor (flattened where `key` nests) and one index value per mode of it."""
        coord = key if isinstance(key, tuple) else (key,)
        if len(coord) not in (1, self.ndim):
            of = f"a tensor of {self.ndim} mode{'s' if self.ndim != 1 else ''}"
            raise mistake("rank", f"{len(coord)} indices into {of}", f"its layout is {self.layout}")
        tensor = self
        if any(isinstance(index, tuple) for index in coord):
            modes, leaves = _flattened(coord, self.layout)
            tensor, coord = self._retyped(layouts.make_layout(*modes)), tuple(leaves)
        elif len(coord) == 1 and self.ndim == 0:
            tensor = self._retyped(Layout(1, 0))
        extents = [tensor.size] if len(coord) == 1 else [size(tensor.layout, i) for i in range(len(coord))]
        for mode, (index, extent) in enumerate(zip(coord, extents, strict=True)):
            _check_bounds(mode, index, extent, self.layout)
        return tensor, tuple(_index(index).value for index in coord)

    def _sliced(self, key: Any) -> Tensor:
        kept, fixed = _split(key, self.layout)
        return self._moved(layouts.make_layout(*kept) if kept else Layout((), ()), fixed)

    def _moved(self, layout: Layout, fixed: list[tuple[Any, Layout]]) -> Tensor:
        """Return a view that starts at the offset of the fixed coordinates."""
        for coord, mode in fixed:
            if not isinstance(coord, tuple):
                _check_bounds(None, coord, size(mode), self.layout)
        wide = self._type.is_far
        offset: Any = 0
        align = self._type.align
        for coord, mode in fixed:
            offset = offset + mode(_widened(coord, wide))
            align = math.gcd(align, _granularity(coord, mode) * self.dtype.bytes)
        moved = self._retyped_type(layout, align=align)
        value = None if type(offset) is int and offset == 0 else as_value(offset)
        return emit(ops.TensorView(self.value, moved, value))  # type: ignore[no-any-return]

    def _retyped(self, layout: Layout, dtype: DType | None = None) -> Tensor:
        moved = self._retyped_type(layout, dtype=dtype)
        return self if moved == self._type else emit(ops.TensorView(self.value, moved, None))

    def _retyped_type(self, layout: Layout, *, align: int | None = None, dtype: DType | None = None) -> TensorType:
        t = self._type
        return TensorType(dtype or t.elem, t.space, layout, t.align if align is None else align, t.swizzle)


@proxy_of(TensorMapType)
class TmaTensor(Runtime, TmaTensorAnnotation):
    """A tensor in global memory that TMA copies tiles of: a kernel parameter annotated `TmaTensor[...]`."""

    __slots__ = ()
    __hash__ = Runtime.__hash__

    @property
    def _type(self) -> TensorMapType:
        assert isinstance(self.value.type, TensorMapType)
        return self.value.type

    @property
    def layout(self) -> Layout:
        return self._type.layout

    @property
    def shape(self) -> Any:
        return self._type.layout.shape

    @property
    def dtype(self) -> DType:
        return self._type.elem

    @property
    def tile_shape(self) -> tuple[int, ...]:
        """The extents of the tile that one TMA operation moves."""
        return self._type.box

    @property
    def tile_bytes(self) -> int:
        return self._type.tile_bytes

    @property
    def swizzle(self) -> str:
        """'none', '32B', '64B' or '128B': how tiles lie in shared memory."""
        return self._type.swizzle


# Making tensors.


def shared(
    dtype: DType,
    shape: Any,
    *,
    align: int | None = None,
    swizzle: Swizzle | None = None,
) -> Tensor:
    """Allocate shared memory of this block, uninitialised.

    dtype    the type of the elements
    shape    extents (row-major), or a Layout; compile-time. A ComposedLayout brings its swizzle
    align    bytes; default 16, or the period of the swizzle (1024 for the 128 B one of TMA and wgmma) up to 1024
    swizzle  XOR pattern on byte addresses, as TMA and wgmma apply it
    Who      every thread of the block gets the same memory
    Errors   `shared-memory` when all of a kernel's shared memory exceeds that of the target
    """
    layout, own_swizzle = _static_layout(shape, dtype, "shared memory")
    swizzle = swizzle or own_swizzle
    _check_swizzle(swizzle, dtype)
    least = max(16, _swizzle_align(swizzle))
    t = TensorType(dtype, "smem", layout, max(checked_align(align) or 0, least, dtype.bytes), swizzle)
    return emit(ops.SmemAlloc(t))  # type: ignore[no-any-return]


def checked_align(align: Any) -> int | None:
    """Return an alignment in bytes, of an int or `cl.align(...)`, or None for none. Errors: `alignment`."""
    if isinstance(align, Align):
        return align.bytes
    if align is not None and (not isinstance(align, int) or align < 1 or align & (align - 1)):
        raise mistake("alignment", f"an alignment is a power of two, in bytes, not {describe(align)}")
    return align


def dynamic_shared(dtype: DType, *, align: int = 16) -> Tensor:
    """Return the shared memory asked for at launch (`Launch(smem=bytes)`), behind all static shared memory.

    The result is a one-dimensional tensor of `dtype`, aligned to `align` bytes. The compiler does not know its extent:
    index it only within the bytes of the launch.
    """
    t = TensorType(dtype, "smem", Layout((1 << 18,), (1,)), max(checked_align(align) or 1, dtype.bytes))
    return emit(ops.SmemAlloc(t, dynamic=True))  # type: ignore[no-any-return]


def constant(values: Any, dtype: DType) -> Tensor:
    """Return a compile-time array in constant memory: fast where all threads of a warp read the same element.

    values  numbers, nested like the shape, row-major; or a NumPy array
    dtype   the type of the elements
    Result  a tensor that can be read and indexed at run time; equal arrays of a kernel share memory
    Errors  `constant` for values that are no array of numbers, or of more than 64 KB; a store to it is refused
    Source  PTX ISA: .const
    """
    if not isinstance(dtype, DType) or dtype.kind == "barrier":
        raise mistake("dtype", f"an array in constant memory has numbers of a dtype, not {describe(dtype)}")
    made_of = "a constant array is made of numbers known at compile time"
    try:
        given = np.asarray(values)
        if given.dtype.kind in "SUMmcO":
            for x in given.ravel().tolist():
                if not isinstance(x, (int, float)):
                    raise TypeError(f"one is {describe(x)}")
        elif given is not values and given.dtype.kind == "f" and not dtype.is_float:
            given = np.asarray(values, object)  # NumPy makes floats of integers that no type of its own holds together
        with np.errstate(over="ignore", invalid="ignore"):
            array = given.astype(numpy_dtype(dtype), order="C")
    except (TypeError, ValueError) as error:
        raise mistake("constant", f"{made_of}: {error}") from None
    except OverflowError as error:
        raise mistake("constant", f"a number does not fit {dtype}: {error}") from None
    if not given.ndim:
        raise mistake("constant", f"{values!r} is no array", help="write `cl.constant((1, 2, 3), cl.f32)`")
    if not dtype.is_float and not (array == given).all():
        raise mistake("constant", f"not all of these numbers are whole numbers that fit {dtype}")
    numbers = given.astype(np.float64) if dtype.is_float else array
    if dtype.is_float and not (np.isfinite(array.astype(np.float64)) | ~np.isfinite(numbers)).all():
        raise mistake("constant", f"not all of these numbers fit {dtype}")
    if not array.size:
        raise mistake("constant", "an array in constant memory has at least one element")
    layout = row_major(array.shape)
    return emit(ops.ConstArray(TensorType(dtype, "const", layout, 16), array.tobytes().hex()))  # type: ignore[no-any-return]


def make_rmem_tensor(dtype: DType, shape: Any) -> Tensor:
    """Return an uninitialised tensor of `dtype` in this thread's registers; `shape` is compile-time, or a Layout.

    Index it with compile-time integers (`cl.static_range`): a run-time index moves it to local memory, which is
    slow and reported.
    """
    layout, _ = _static_layout(shape, dtype, "a register tensor")
    return emit(ops.RmemAlloc(TensorType(dtype, "rmem", layout, 16)))  # type: ignore[no-any-return]


def make_rmem_tensor_like(like: Any, dtype: DType | None = None) -> Tensor:
    """Return a register tensor of the shape of `like`, a tensor of static shape; `dtype` is by default its own."""
    return make_rmem_tensor(dtype or like.dtype, like.shape)


def make_tensor(pointer: Handle | Tensor, layout: Any, dtype: DType | None = None) -> Tensor:
    """Return the memory at `pointer` as a tensor of `dtype`.

    pointer  an address, or a tensor or `Pointer[...]` parameter: that of its first element
    layout   a Layout, row-major extents, or a ComposedLayout whose swizzle the pointer's alignment allows: a swizzle
             permutes bits of the address itself
    dtype    default: that of the tensor; an address alone has none
    """
    if isinstance(pointer, Tensor):
        dtype, pointer = dtype or pointer.dtype, pointer.ptr
    if not isinstance(pointer, Runtime) or not isinstance(pointer.value.type, Ptr):
        raise mistake(
            "make-tensor", f"make_tensor takes a pointer, not {describe(pointer)}", help="use `t.ptr` or `t.at(i)`"
        )
    if dtype is None:
        raise mistake("make-tensor", "an address alone does not say what is there", help="give the dtype: `cl.f32`")
    p, swizzle = pointer.value.type, None
    if isinstance(layout, ComposedLayout):
        layout, swizzle = _unswizzled("make_tensor", layout, dtype, p.align)
    t = TensorType(dtype, p.space, _layout(layout), math.gcd(p.align, 1024), swizzle)
    return emit(ops.TensorMake(pointer.value, t))  # type: ignore[no-any-return]


def local_tile(tensor: Tensor, tiler: Any, coord: Any) -> Tensor:
    """Return the tile of shape `tiler` at tile coordinate `coord`; None in `coord` keeps that mode of tiles."""
    return tensor.tile(tiler, coord)


def recast_tensor(tensor: Tensor, dtype: DType) -> Tensor:
    """Return the same bytes as elements of another width."""
    return tensor.recast(dtype)


def row_major(shape: Any) -> Layout:
    """Return the compact layout whose last mode is contiguous, as NumPy and torch have it.

    >>> row_major((4, 8))
    (4,8):(8,1)
    """
    extents = shape if isinstance(shape, tuple) else (shape,)
    strides: list[Any] = []
    step: Any = 1
    for extent in reversed(extents):
        strides.append(_compact(extent, step))
        step = step * size(extent)
    return Layout(extents, tuple(reversed(strides)))


def _compact(extent: Any, step: Any) -> Any:
    """Return row-major strides inside a nested mode."""
    if not isinstance(extent, tuple):
        return step
    strides: list[Any] = []
    for part in reversed(extent):
        strides.append(_compact(part, step))
        step = step * size(part)
    return tuple(reversed(strides))


def _layout(shape: Any) -> Layout:
    return shape if isinstance(shape, Layout) else row_major(shape)


PACKED = "numbers of 4 and 6 bits, and e8m0, lie packed in elements of `cl.u32`: `cl.unpack(words, cl.e2m1)`"
_STATIC = "make its extents Constexprs, or variables of a function that makes the kernel"


def _static_layout(shape: Any, dtype: DType, what: str) -> tuple[Layout, Swizzle | None]:
    if not isinstance(dtype, DType):
        called = "shared" if what == "shared memory" else "make_rmem_tensor"
        help = (f"write `cl.{called}(cl.f32, (64, 64))`", *[PACKED] * hasattr(dtype, "per_word"))
        raise mistake("dtype", f"a dtype is needed first, not {describe(dtype)}", help=help)
    swizzle = None
    if isinstance(shape, ComposedLayout):
        swizzle, shape = byte_swizzle(shape, dtype), shape.outer
    layout = _layout(shape)
    if not is_static(layout):
        raise mistake("static-layout", f"{what} needs a shape known at compile time, not {layout.shape}", help=_STATIC)
    return layout, swizzle


class Extent(NamedTuple):
    """The bytes of a tensor of static layout, and the alignment of its address."""

    bytes: int
    align: int


def whole_layout(shape: Any, dtype: DType) -> Extent:
    """Return the bytes and the alignment of the memory that `shared(dtype, shape)` allocates. Errors: as `shared`."""
    layout, swizzle = _static_layout(shape, dtype, "shared memory")
    size = static_value(cosize(layout)) or 0
    whole = 1 if swizzle is None else swizzle.reach
    return Extent(-(-size * dtype.bytes // whole) * whole, max(16, _swizzle_align(swizzle), dtype.bytes))


def _swizzle_align(swizzle: Swizzle | None) -> int:
    """Return the alignment of memory that a swizzle of byte addresses maps onto itself, with its pattern at the start.

    Shared memory can be aligned to `ops.SMEM_ALIGN`. Beyond that only the blocks that are mapped onto themselves count,
    and the pattern may start elsewhere.
    """
    return 1 if swizzle is None else max(swizzle.reach, min(swizzle.size, ops.SMEM_ALIGN))


def _check_swizzle(swizzle: Swizzle | None, dtype: DType) -> None:
    """Check that a swizzle of byte addresses keeps elements whole. Errors: `swizzle`."""
    if swizzle is not None and swizzle.fixed % dtype.bytes:
        whole = f"Swizzle({swizzle.bits}, {swizzle.base + dtype.bytes.bit_length() - 1}, {swizzle.shift})"
        raise mistake(
            "swizzle",
            f"{swizzle} of byte addresses takes the {dtype.bytes} bytes of a {dtype} apart",
            help=f"`{whole}` moves whole elements; a swizzle in a layout, `composition(swizzle, layout)`, counts them",
        )


def _unswizzled(function: str, layout: ComposedLayout, dtype: DType, align: int) -> tuple[Layout, Swizzle]:
    """Return the layout and the swizzle of byte addresses. Errors: `alignment` if the swizzle needs a larger one."""
    swizzle = byte_swizzle(layout, dtype)
    needed = _swizzle_align(swizzle)
    if align % needed:
        raise mistake(
            "alignment",
            f"{function}: {layout} takes memory aligned to {needed} bytes, but the address is known to be a multiple of"
            f" {align} only",
            help=f"make the memory with `align={needed}`",
        )
    assert isinstance(layout.outer, Layout)
    return layout.outer, swizzle


def byte_swizzle(layout: ComposedLayout, dtype: DType) -> Swizzle:
    """Return a swizzle of element offsets as one of byte addresses."""
    swizzle = layout.inner
    if not isinstance(swizzle, Swizzle) or static_value(layout.offset) != 0:
        raise mistake("swizzle", f"{layout} is not a swizzle of a layout")
    return Swizzle(swizzle.bits, swizzle.base + dtype.bytes.bit_length() - 1, swizzle.shift)


def _slices(key: Any) -> bool:
    if isinstance(key, tuple):
        found = [_slices(each) for each in key]  # of all, since each is checked
        return any(found)
    if isinstance(key, slice) and key != WHOLE:
        raise mistake(
            "slice", "only whole modes can be sliced", help="write `:` or None, or take a tile: `t.tile(...)`"
        )
    return key is None or key is Ellipsis or isinstance(key, slice)


def check_tiler(tiler: Any) -> None:
    """Check that no extent of a tile is a run-time number. Errors: `runtime-index`."""
    for extent in tiler if isinstance(tiler, tuple) else (tiler,):
        if isinstance(extent, tuple):
            check_tiler(extent)
        elif isinstance(extent, Runtime):
            text = f"a tile has extents known at compile time, not {describe(extent)}"
            raise mistake("runtime-index", text, help="`cl.dim(n)` makes an extent of a run-time number")


def _split(key: Any, layout: Layout) -> tuple[list[Layout], list[tuple[Any, Layout]]]:
    """Return the modes that a key keeps, and (coordinate, mode) of those it fixes."""
    kept: list[Layout] = []
    fixed: list[tuple[Any, Layout]] = []
    key = key if isinstance(key, tuple) else (key,)
    if Ellipsis in key:
        at = key.index(Ellipsis)
        key = (*key[:at], *(None,) * (layout.rank - len(key) + 1), *key[at + 1 :])
    if len(key) != layout.rank:
        raise mistake("rank", f"{len(key)} indices into {layout.rank} mode{'s' * (layout.rank != 1)}, {layout}")
    for index, mode in zip(key, layout, strict=True):
        if index is None or isinstance(index, slice):
            kept.append(mode)
        elif isinstance(index, tuple):
            inner_kept, inner_fixed = _split(index, mode)
            kept += inner_kept
            fixed += inner_fixed
        else:
            fixed.append((index, mode))
    return kept, fixed


def _flattened(coord: tuple[Any, ...], layout: Layout) -> tuple[list[Layout], list[Any]]:
    """Return the modes and indices with every nested coordinate opened up."""
    modes: list[Layout] = []
    leaves: list[Any] = []
    for index, mode in zip(coord, layout, strict=True):
        if isinstance(index, tuple):
            if len(index) != mode.rank:
                raise mistake("rank", f"{len(index)} indices into the {mode.rank} modes of {mode}")
            inner_modes, inner_leaves = _flattened(index, mode)
            modes += inner_modes
            leaves += inner_leaves
        else:
            modes.append(mode)
            leaves.append(index)
    return modes, leaves


def _check_bounds(mode: int | None, index: Any, extent: Any, layout: Layout) -> None:
    """Refuse an index, an int or an expression over dims, that certainly lies outside."""
    if not isinstance(index, (int, DimExpr)) or isinstance(index, bool):
        return
    below = prove_lt(index, 0)
    if below or prove_le(extent, index):
        where = "" if mode is None else f" of mode {mode}"
        raise mistake(
            "out-of-bounds",
            f"index {index} is out of bounds{where}: the extent is {extent}",
            f"the layout is {layout}",
            "indices do not count from the end" if below else "",
        )


def _no_hints(*hints: Any) -> None:
    if any(hints):
        help = "name an element, `t.load(key, ...)`, or copy with an atom: `cl.CopyUniversalOp(cache=...)`"
        raise mistake("cache", f"hints such as {next(filter(None, hints))!r} are for one element", help=help)


def _index(x: Any) -> Any:
    """Return an index as an i32 or i64 proxy."""
    if (isinstance(x, int) and not isinstance(x, bool)) or isinstance(x, DimExpr):
        return Handle(as_value(x))
    if not isinstance(x, Scalar) or not x.dtype.is_int:
        help = "`//` divides integers; `x.to(cl.i32)` converts" if isinstance(x, Scalar) and x.dtype.is_float else ""
        help = f"did you mean `{describe(x)}.x`?" if isinstance(x, Axes) else help
        raise mistake("index", f"an index is an integer, not {describe(x)}", help=help)
    if x.dtype in (i32, i64):
        return x
    return to_dtype(x, i32 if x.dtype.bits < 32 else i64)


def _widened(coord: Any, wide: bool) -> Any:
    """Return a coordinate for offset arithmetic: in 64 bits where the offset may need them."""
    if isinstance(coord, tuple):
        return tuple(_widened(part, wide) for part in coord)
    if isinstance(coord, Scalar):
        index: Scalar = _index(coord)
        return to_dtype(index, i64) if wide else index
    if isinstance(coord, (Vector, float)):
        raise mistake("index", f"an index is an integer, not {describe(coord)}")
    return coord


def _granularity(coord: Any, mode: Layout) -> int:
    """Return a number that divides the offset that `coord` leads to."""
    if not isinstance(coord, tuple) and not isinstance(coord, Scalar):
        return known_divisor(mode(coord))
    strides: list[int] = []
    _collect(mode.stride, strides)
    return math.gcd(*strides)


def _collect(stride: Any, into: list[int]) -> None:
    if isinstance(stride, tuple):
        for part in stride:
            _collect(part, into)
    else:
        into.append(known_divisor(stride))
