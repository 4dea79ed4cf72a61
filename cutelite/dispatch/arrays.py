"""Parameters that are arrays: the types that they have in the kernel.

In    arrays that fit `Tensor[...]` and `TmaTensor[...]` (`cutelite_rt.signature.bind` says which do)
Out   `Tensor` and `TensorMap` types
"""

from __future__ import annotations

import math
from typing import Any

from cutelite.dispatch import contract
from cutelite.dispatch.arguments import MISSING, Call, MapRequest
from cutelite.ir.types import SCALARS, Scalar, Tensor, TensorMap
from cutelite.lang.annotations import DTypeVar, PointerSpec, TensorSpec, TmaSpec, default_swizzle
from cutelite.layout import Layout, dims_of
from cutelite_rt import ArrayView
from cutelite_rt.gpu.tensormap import Tiling
from cutelite_rt.signature.bind import compact
from cutelite_rt.signature.data import Array, Strided

VECTOR_BYTES = 16
"""Tensors whose address is a multiple of this are specialised for it: the widest vector access."""


class TensorParameter:
    """`Tensor[...]`."""

    def __init__(self, name: str, spec: TensorSpec) -> None:
        self.name, self.spec = name, spec
        self._layout = spec.layout(name)
        self.data = contract.tensor(name, spec, self._layout)
        self._dims = sorted(dim.name for dim in dims_of(self._layout.shape) | dims_of(self._layout.stride))
        self._types: dict[tuple[Scalar, int], Tensor] = {}

    def bind(self, call: Call, argument: Any) -> Tensor:
        view, found = call.array(self.data, argument)
        dtype = SCALARS[found]
        call.holds(view.size)
        call.values.append(view)
        align = VECTOR_BYTES if view.pointer % VECTOR_BYTES == 0 else dtype.bytes
        return self._type(call, dtype, self.spec.align or align)

    def ahead(self, call: Call, example: Any) -> Tensor:
        if example is not MISSING and not _is_shape(example):
            return self.bind(call, example)
        if example is not MISSING:
            match_shape(call, self.data, tuple(example))
            call.holds(math.prod(example))
        call.holds(self._layout.size)
        dtype = known_dtype(call, self.name, self.spec.dtype)
        return self._type(call, dtype, self.spec.align or max(VECTOR_BYTES, dtype.bytes))

    def _type(self, call: Call, dtype: Scalar, align: int) -> Tensor:
        t = self._types.get((dtype, align))
        if t is None:
            t = self._types.setdefault((dtype, align), Tensor(dtype, "gmem", self._layout, align))
        call.token.append(id(t))  # it lives as long as this parameter, and there is one for each dtype and alignment
        call.needed.update(dict.fromkeys(self._dims))
        return t


class TmaParameter:
    """`TmaTensor[...]`. What TMA demands of address and strides is checked when the descriptor is encoded."""

    def __init__(self, name: str, spec: TmaSpec) -> None:
        self.name, self.spec = name, spec
        self._layout = spec.tensor.layout(name)
        self.data = contract.tma_tensor(name, spec, self._layout)
        self._dims = sorted(dim.name for dim in dims_of(self._layout.shape) | dims_of(self._layout.stride))
        self._types: dict[Scalar, TensorMap] = {}

    def bind(self, call: Call, argument: Any) -> TensorMap:
        view, found = call.array(self.data, argument)
        t = self._type(call, SCALARS[found])
        call.values.append(MapRequest(self.name, view, found, Tiling(t.box, swizzle=t.swizzle)))
        return t

    def ahead(self, call: Call, example: Any) -> TensorMap:
        if example is not MISSING and not _is_shape(example):
            return self.bind(call, example)
        if example is not MISSING:
            match_shape(call, self.data, tuple(example))
        return self._type(call, known_dtype(call, self.name, self.spec.tensor.dtype))

    def _type(self, call: Call, dtype: Scalar) -> TensorMap:
        t = self._types.get(dtype)
        if t is None:
            spec = self.spec
            swizzle = default_swizzle(spec.tile[-1] * dtype.bytes) if spec.swizzle == "auto" else spec.swizzle
            t = self._types.setdefault(dtype, TensorMap(dtype, self._layout, spec.tile, swizzle))
        call.token.append(id(t))
        call.needed.update(dict.fromkeys(self._dims))
        return t


class PointerParameter:
    """`Pointer[...]`: in the kernel a tensor of one mode that has no end."""

    def __init__(self, name: str, spec: PointerSpec) -> None:
        self.name = name
        self.data = contract.pointer(name, spec)
        self._type = Tensor(spec.dtype, "gmem", Layout((1 << 40,), (1,)), spec.align)

    def bind(self, call: Call, argument: Any) -> Tensor:
        call.values.append(call.pointer(self.data, argument))
        return self._type

    def ahead(self, call: Call, example: Any) -> Tensor:
        return self._type if example is MISSING or _is_shape(example) else self.bind(call, example)


def match_shape(call: Call, wanted: Array, shape: tuple[int, ...]) -> None:
    """Check and learn from the shape of an array that is not there."""
    order = wanted.layout.order if isinstance(wanted.layout, Strided) else "row"
    call.layout(wanted, ArrayView(0, shape, compact(shape, order), "u8", ("cpu", 0), None, ""))


def known_dtype(call: Call, name: str, dtype: Scalar | DTypeVar) -> Scalar:
    """A dtype that no argument decides. Errors: `ArgumentError` for a variable that is not given."""
    if isinstance(dtype, Scalar):
        return dtype
    if dtype.name in call.dtypes:
        return SCALARS[call.dtypes[dtype.name][0]]
    raise call.error(name, f"has the dtype variable {dtype}: say what it is, as in `compile({dtype}=cl.f32)`")


def _is_shape(example: Any) -> bool:
    return isinstance(example, tuple | list) and all(type(extent) is int for extent in example)
