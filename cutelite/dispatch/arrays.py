"""Parameters that are arrays: which ones fit `Tensor[...]` and `TmaTensor[...]`, and the type they have then."""

from __future__ import annotations

import math
from typing import Any

from cutelite.dispatch.arguments import MISSING, Call, MapRequest, scalar_of
from cutelite.ir.types import Scalar, Tensor, TensorMap
from cutelite.lang.annotations import DTypeVar, TensorSpec, TmaSpec, default_swizzle
from cutelite.layout import DimExpr, dims_of
from cutelite_rt import ArrayView

VECTOR_BYTES = 16
"""Tensors whose address is a multiple of this are specialised for it: the widest vector access."""


class _Extents:
    """How extents and strides of an array must be, and which dims they tell."""

    def __init__(self, name: str, spec: TensorSpec) -> None:
        self.name, self.spec = name, spec
        self.layout = spec.layout(name)
        shape, stride = self.layout.shape, self.layout.stride
        self.shape: tuple[Any, ...] = shape if isinstance(shape, tuple) else (shape,)
        self.stride: tuple[Any, ...] = stride if isinstance(stride, tuple) else (stride,)
        self.nested = any(isinstance(extent, tuple) for extent in self.shape)
        self.dims = sorted(dim.name for dim in dims_of(shape) | dims_of(stride))

    def match(self, call: Call, view: ArrayView) -> None:
        """Learn dims from the array, and check what is known of them."""
        if self.nested:
            self._match_nested(call, view)
            return
        if len(view.shape) != len(self.shape):
            raise call.error(self.name, f"has shape {view.shape}, but {self.spec!r} has {len(self.shape)} modes")
        for mode, wanted in enumerate(self.shape):
            call.extent(self.name, wanted, view.shape, mode, "extent")
        if self.spec.stride is None:
            self._match_compact(call, view)
        else:
            for mode, wanted in enumerate(self.stride):
                sure = view.shape[mode] > 1 and view.size > 0
                call.extent(self.name, wanted, view.strides, mode, "stride", sure)

    def _match_compact(self, call: Call, view: ArrayView) -> None:
        strides = compact(view.shape, self.spec.order)
        if view.strides != strides and view.size:
            for extent, found, wanted in zip(view.shape, view.strides, strides, strict=True):
                if extent > 1 and found != wanted:
                    order = {"row": "row-major", "col": "column-major"}[self.spec.order]
                    raise call.error(
                        self.name,
                        f"has strides {view.strides} for its shape {view.shape}, but must be {order}, {strides}; make "
                        "it contiguous, or annotate its strides: Tensor[dtype, shape, strides], with None for any",
                    )

    def _match_nested(self, call: Call, view: ArrayView) -> None:
        """A layout of nested modes describes flat, compact memory of at least its cosize."""
        need = self.layout.cosize
        if isinstance(need, DimExpr):
            raise call.error(self.name, f"has the nested layout {self.layout}, whose extents must be compile-time")
        if view.size > 1 and view.strides != compact(view.shape, "row"):
            raise call.error(self.name, f"must be contiguous to be seen through the layout {self.layout}")
        if view.size < need:
            raise call.error(self.name, f"has {view.size} elements, but the layout {self.layout} reaches {need}")

    def match_shape(self, call: Call, shape: tuple[int, ...]) -> None:
        """As `match`, for an array of which only the shape is given."""
        self.match(call, ArrayView(0, shape, compact(shape, self.spec.order), "u8", ("cpu", 0), None, "", False))


def compact(shape: tuple[int, ...], order: str) -> tuple[int, ...]:
    strides = []
    step = 1
    for extent in shape[::-1] if order == "row" else shape:
        strides.append(step)
        step *= extent
    return tuple(strides[::-1] if order == "row" else strides)


class TensorParameter:
    """`Tensor[...]`."""

    def __init__(self, name: str, spec: TensorSpec) -> None:
        self.name, self.spec = name, spec
        self._extents = _Extents(name, spec)
        self._types: dict[tuple[Scalar, int], Tensor] = {}

    def bind(self, call: Call, argument: Any) -> Tensor:
        view = call.read(self.name, argument)
        dtype = call.dtype(self.name, self.spec.dtype, scalar_of(view))
        self._extents.match(call, view)
        call.holds(view.size)
        call.arrays.append((self.name, view))
        call.values.append(view)
        return self._type(call, dtype, self._alignment(call, view, dtype))

    def ahead(self, call: Call, example: Any) -> Tensor:
        if example is not MISSING and not _is_shape(example):
            return self.bind(call, example)
        if example is not MISSING:
            self._extents.match_shape(call, tuple(example))
            call.holds(math.prod(example))
        call.holds(self._extents.layout.size)
        dtype = known_dtype(call, self.name, self.spec.dtype)
        return self._type(call, dtype, self.spec.align or max(VECTOR_BYTES, dtype.bytes))

    def _type(self, call: Call, dtype: Scalar, align: int) -> Tensor:
        t = self._types.get((dtype, align))
        if t is None:
            t = self._types.setdefault((dtype, align), Tensor(dtype, "gmem", self._extents.layout, align))
        call.token.append(id(t))  # it lives as long as this parameter, and there is one for each dtype and alignment
        call.needed.update(dict.fromkeys(self._extents.dims))
        return t

    def _alignment(self, call: Call, view: ArrayView, dtype: Scalar) -> int:
        wanted = self.spec.align or dtype.bytes
        if view.pointer % wanted and view.size:
            raise call.error(self.name, f"is at {view.pointer:#x}, but must be at a multiple of {wanted} bytes")
        if self.spec.align:
            return self.spec.align
        return VECTOR_BYTES if view.pointer % VECTOR_BYTES == 0 else dtype.bytes


class TmaParameter:
    """`TmaTensor[...]`. What TMA demands of address and strides is checked when the descriptor is encoded."""

    def __init__(self, name: str, spec: TmaSpec) -> None:
        self.name, self.spec = name, spec
        self._extents = _Extents(name, spec.tensor)
        self._types: dict[Scalar, TensorMap] = {}

    def bind(self, call: Call, argument: Any) -> TensorMap:
        view = call.read(self.name, argument)
        t = self._type(call, call.dtype(self.name, self.spec.tensor.dtype, scalar_of(view)))
        self._extents.match(call, view)
        call.arrays.append((self.name, view))
        call.values.append(MapRequest(self.name, view, t))
        return t

    def ahead(self, call: Call, example: Any) -> TensorMap:
        if example is not MISSING and not _is_shape(example):
            return self.bind(call, example)
        if example is not MISSING:
            self._extents.match_shape(call, tuple(example))
        return self._type(call, known_dtype(call, self.name, self.spec.tensor.dtype))

    def _type(self, call: Call, dtype: Scalar) -> TensorMap:
        t = self._types.get(dtype)
        if t is None:
            spec = self.spec
            swizzle = default_swizzle(spec.tile[-1] * dtype.bytes) if spec.swizzle == "auto" else spec.swizzle
            t = self._types.setdefault(dtype, TensorMap(dtype, self._extents.layout, spec.tile, swizzle))
        call.token.append(id(t))
        call.needed.update(dict.fromkeys(self._extents.dims))
        return t


def known_dtype(call: Call, name: str, dtype: Scalar | DTypeVar) -> Scalar:
    """A dtype that no argument decides. Errors: `ArgumentError` for a variable that is not given."""
    if isinstance(dtype, Scalar):
        return dtype
    if dtype.name in call.dtypes:
        return call.dtypes[dtype.name][0]
    raise call.error(name, f"has the dtype variable {dtype}: say what it is, as in `compile({dtype}=cl.f32)`")


def _is_shape(example: Any) -> bool:
    return isinstance(example, tuple | list) and all(type(extent) is int for extent in example)
