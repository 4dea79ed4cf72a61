"""Array parameters, and the types that they have in the kernel.

In    arrays that fit `Tensor[...]` and `TmaTensor[...]` (`cutelite_rt.signature.kinds` checks them)
Out   `Tensor` and `TensorMap` types
"""

from __future__ import annotations

import math
from typing import Any

from cutelite.dispatch import contract
from cutelite.dispatch.arguments import MISSING, Call, MapRequest
from cutelite.dispatch.parameter import Parameter, takes
from cutelite.front.types import ArgType, Constant, Struct
from cutelite.ir.types import SCALARS, Scalar, Tensor, TensorMap
from cutelite.lang.annotations import DTypeVar, PointerSpec, PointersSpec, TensorSpec, TmaSpec, default_swizzle
from cutelite.lang.pointers import PointerArray
from cutelite.layout import Layout, dims_of, rank
from cutelite_rt import ArrayView
from cutelite_rt.dtype import compact_strides
from cutelite_rt.errors import ArgumentError
from cutelite_rt.gpu.tensormap import Tiling
from cutelite_rt.signature import kinds
from cutelite_rt.signature.data import Box, Nested, Strided

VECTOR_BYTES = 16
"""Kernels are specialised for addresses that are multiples of this, which the widest vector access needs."""


class _ArrayParameter(Parameter):
    """An array parameter. Subclasses say, by `made`, which type it has in the kernel."""

    _data: kinds.Array

    def __init__(self, name: str, spec: TensorSpec, data: kinds.Array, layout: Layout) -> None:
        self.name, self.tensor, self._data, self._layout = name, spec, data, layout
        self._dims = sorted(dim.name for dim in dims_of(layout.shape) | dims_of(layout.stride))
        self._types: dict[tuple[Scalar, int], Any] = {}

    def made(self, dtype: Scalar, align: int) -> Any:
        """Return the type in the kernel; `align` is the alignment of the array's address."""
        raise NotImplementedError

    def type(self, call: Call, dtype: Scalar, align: int = 0) -> ArgType:
        """Return the type in the kernel, and note that the call is specialised for it."""
        t: ArgType | None = self._types.get((dtype, align))
        if t is None:
            t = self._types.setdefault((dtype, align), self.made(dtype, align))
        call.token.append(id(t))  # one type for each dtype and alignment; it lives as long as this parameter
        call.needed.update(dict.fromkeys(self._dims))
        return t

    def bind(self, call: Call, argument: Any) -> ArgType:
        if argument is MISSING:
            return self.without(call, None)
        if not _is_shape(call, argument):
            return self.given(call, argument)
        layout, shape = self._data.layout, tuple(argument)
        order = layout.order if isinstance(layout, Strided) else "row"
        self._data.check_layout(call, ArrayView(0, shape, compact_strides(shape, order), "u8", ("cpu", 0), None, ""))
        return self.without(call, math.prod(shape))

    def given(self, call: Call, argument: Any) -> ArgType:
        """Bind an array that is given."""
        raise NotImplementedError

    def without(self, call: Call, elements: int | None) -> ArgType:
        """Return the type where no array is given, only its number of elements, or not even that (None)."""
        return self.type(call, known_dtype(call, self.name, self.tensor.dtype))


@takes(TensorSpec)
class TensorParameter(_ArrayParameter):
    """A parameter `Tensor[...]`."""

    def __init__(self, name: str, spec: TensorSpec) -> None:
        layout = spec.layout(name)
        taken = contract.dtype(spec.dtype), contract.layout(spec, layout)
        super().__init__(name, spec, kinds.Array(name, repr(spec), *taken, spec.align), layout)

    def made(self, dtype: Scalar, align: int) -> Tensor:
        return Tensor(dtype, "gmem", self._layout, align)

    def settled(self, t: ArgType) -> kinds.Array:
        assert isinstance(t, Tensor)
        return self._data._replace(dtype=t.elem.name, align=t.align)

    def given(self, call: Call, argument: Any) -> ArgType:
        view, found = self._data.found(call, argument)
        call.holds(view.size)
        call.values.append(view)
        dtype = SCALARS[found]
        align = VECTOR_BYTES if view.place % VECTOR_BYTES == 0 else dtype.bytes
        return self.type(call, dtype, self.tensor.align or align)

    def without(self, call: Call, elements: int | None) -> ArgType:
        call.holds(elements)
        call.holds(self._layout.size)
        dtype = known_dtype(call, self.name, self.tensor.dtype)
        return self.type(call, dtype, self.tensor.align or max(VECTOR_BYTES, dtype.bytes))

    def pointed_to(self) -> Tensor:
        """Return the type that the array has when its address comes from memory."""
        dtype = self.tensor.dtype
        assert isinstance(dtype, Scalar)
        return self.made(dtype, self.tensor.align or dtype.bytes)


@takes(TmaSpec)
class TmaParameter(_ArrayParameter):
    """A parameter `TmaTensor[...]`. Address and strides are checked when the descriptor is encoded."""

    def __init__(self, name: str, spec: TmaSpec) -> None:
        self.spec = spec
        layout = spec.tensor.layout(name)
        taken = contract.dtype(spec.tensor.dtype), contract.layout(spec.tensor, layout)
        how = spec.pixels
        corners = () if how is None or how.wide else (*how.lower, *how.upper)
        data = kinds.Array(name, repr(spec), *taken, box=Box(spec.tile, spec.swizzle, corners))
        super().__init__(name, spec.tensor, data, layout)

    def made(self, dtype: Scalar, align: int) -> TensorMap:
        spec = self.spec
        swizzle = default_swizzle(spec.tile[-1] * dtype.bytes) if spec.swizzle == "auto" else spec.swizzle
        how: dict[str, Any] = {}
        if (pixels := spec.pixels) is not None:
            strides = pixels.strides if any(step != 1 for step in pixels.strides) else ()
            how = {"corners": (*pixels.lower, *pixels.upper), "strides": strides, "wide": pixels.wide}
        return TensorMap(dtype, self._layout, spec.tile, swizzle, **how)

    def settled(self, t: ArgType) -> kinds.Array:
        assert isinstance(t, TensorMap)
        if t.strides or t.wide:
            text = "is for pixels that lie apart, or along one row of images"
            raise ArgumentError(f"argument `{self.name}` {text}: such kernels are not exported")
        return self._data._replace(dtype=t.elem.name, box=Box(t.box, t.swizzle, t.corners))

    def given(self, call: Call, argument: Any) -> ArgType:
        view, found = self._data.found(call, argument)
        t = self.type(call, SCALARS[found])
        assert isinstance(t, TensorMap)
        steps = None
        if t.strides:  # for the modes that have corners, which come before the last mode
            steps = (*(1,) * (rank(t.layout) - 1 - len(t.strides)), *t.strides, 1)
        tiling = Tiling(t.box, steps, t.swizzle, corners=t.corners, wide=t.wide)
        call.values.append(MapRequest(self.name, view, found, tiling))
        return t


@takes(PointerSpec)
class PointerParameter(Parameter):
    """A parameter `Pointer[...]`: in the kernel a one-mode tensor without bounds."""

    _data: kinds.Pointer

    def __init__(self, name: str, spec: PointerSpec) -> None:
        self.name = name
        self._data = kinds.Pointer(name, repr(spec), spec.dtype.name, spec.align)
        self._type = Tensor(spec.dtype, "gmem", Layout((1 << 40,), (1,)), spec.align)

    def bind(self, call: Call, argument: Any) -> Tensor:
        if argument is not MISSING and not _is_shape(call, argument):
            self._data.fit(call, argument)
        return self._type

    def pointed_to(self) -> Tensor:
        """Return the type that the array has when its address comes from memory."""
        return self._type


def _memory(name: str, spec: TensorSpec | PointerSpec) -> TensorParameter | PointerParameter:
    return TensorParameter(name, spec) if isinstance(spec, TensorSpec) else PointerParameter(name, spec)


@takes(PointersSpec)
class PointersParameter(Parameter):
    """`Tensor[Pointer[f32], (N,)]` and `Pointer[Pointer[f32]]`: addresses in memory, each of a tensor of one type.

    Launchers take the array of addresses like any other array. Where the arrays behind the addresses are known (made by
    `pointers`), Python checks them as it binds; the simulator checks every access.
    """

    def __init__(self, name: str, spec: PointersSpec) -> None:
        self.name = name
        self._of = _memory(name, spec.addresses)
        self._says = repr(spec)
        self._data = self._of._data._replace(says=self._says)
        pointee = _memory(f"{name}[...]", spec.to)
        self._to, self._pointee = pointee.pointed_to(), pointee._data
        if isinstance(self._pointee, kinds.Array) and isinstance(nested := self._pointee.layout, Nested):
            self._pointee = self._pointee._replace(layout=nested._replace(cosize=nested.cosize or 0))
        layout = self._to.layout
        self._dims = [contract.dim(dim) for dim in sorted(dims_of((layout.shape, layout.stride)), key=str)]

    def settled(self, t: ArgType) -> kinds.Parameter:
        assert isinstance(t, Struct)
        its: Any = self._of.settled(t.fields[0][1])
        return its._replace(says=self._says)  # type: ignore[no-any-return]

    def bind(self, call: Call, argument: Any) -> Struct:
        addresses = self._of.bind(call, argument)
        for i, pointee in enumerate(getattr(argument, "pointees", ())):
            call.behind.append((self._pointee._replace(name=f"{self.name}[{i}]"), pointee))
        for dim in self._dims:
            call.states(self.name, dim)
        call.needed.update(dict.fromkeys(dim.name for dim in self._dims))
        return Struct(PointerArray, (("addresses", addresses), ("to", Constant(self._to))))


def known_dtype(call: Call, name: str, dtype: Scalar | DTypeVar) -> Scalar:
    """Return the dtype where no argument is given. Errors: `ArgumentError` for a dtype variable without a value."""
    if isinstance(dtype, Scalar):
        return dtype
    if dtype.name in call.dtypes:
        return SCALARS[call.dtypes[dtype.name][0]]
    raise call.error(name, f"has the dtype variable {dtype}: say what it is, as in `compile({dtype}=cl.f32)`")


def _is_shape(call: Call, argument: Any) -> bool:
    return call.ahead and isinstance(argument, tuple | list) and all(type(extent) is int for extent in argument)
