"""Turn tensor accesses into addresses, loads and stores.

    %x = tensor.load t=%a, coord=(%i, %j)      %p = tensor.address t=%a
    with %a: tensor<f32,gmem,(M,N):(N,1),16>   ->   %o = ... %i * N + %j, in bytes
                                                    %q = ptr.add p=%p, bytes=%o, align=4
                                                    %x = ld p=%q, type=f32

Offsets into global memory have 64 bits, unless the tensor provably ends below 2**31 bytes; those into shared
memory and registers 32. What is known at compile time is added last, so that neighbouring accesses share an
address and differ in an immediate. `load_all` and `store_all` become the widest vector accesses that layout,
swizzle and alignment allow. With ``attrs["assertions"]``, every index known at run time only is checked first.

Tensors remain as values (`tensor.make`, `tensor.address`) for ops that take one as an address.
Errors: none; `check_indices` has seen to constant indices.
Needs: verified IR. Keeps: every other op, in order.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from cutelite.ir.function import Function, Jump, Value
from cutelite.ir.op import Op
from cutelite.ir.types import Ptr, Scalar, Tensor, Vec, i32, i64, u32, u64
from cutelite.layout import (
    ComposedLayout,
    Dim,
    DimExpr,
    Int,
    Layout,
    cosize,
    dims_of,
    size,
    substitute,
    transform_leaf,
    upper_bound,
)
from cutelite.ops.arith import (
    Add,
    And,
    Cmp,
    Const,
    FloorDiv,
    Mod,
    Mul,
    Shl,
    Shr,
    Sub,
    VecGather,
    VecMake,
    Xor,
)
from cutelite.ops.control import AssertFail, CondBr
from cutelite.ops.convert import Convert
from cutelite.ops.index import Dim as DimOp
from cutelite.ops.index import DimBind
from cutelite.ops.memory import MAX_VECTOR_BYTES, Load, PtrAdd, PtrSwizzle, Store
from cutelite.ops.tensor import (
    Access,
    TensorAddress,
    TensorLoad,
    TensorLoadAll,
    TensorMake,
    TensorPtr,
    TensorStore,
    TensorStoreAll,
    TensorView,
    static_size,
    tensor_type,
)
from cutelite.passes.context import Context
from cutelite.passes.rewrite import Rewrite

Emit = Callable[[Op], Any]
SMALL = 1 << 31
"""Bytes below which 32-bit offsets do."""
I32_DIM_LIMIT = (1 << 31) - (1 << 16)
"""The launcher passes a dim as i32 only up to this."""


def lower_tensors(function: Function, context: Context) -> Function:
    return _Lowering(function).run()


class _Lowering:
    def __init__(self, function: Function) -> None:
        self.rewrite = Rewrite(function)
        self.emit: Emit = self.rewrite.emit
        self.widths = DimWidths(function)
        self.checked = bool(function.attrs.get("assertions"))
        self.pointers: dict[Value, Value] = {}  # of each tensor value of the new function: where it begins

    def run(self) -> Function:
        rewrite = self.rewrite
        for block in rewrite.blocks():
            for param in block.params:
                self._point(param)
            for op in rewrite.ops(block):
                self._op(op)
        return rewrite.function

    def _op(self, op: Op) -> None:
        match op:
            case TensorLoad():
                t, p = tensor_type(op.t), self._element(op)
                self.rewrite.replace(op.result, self.emit(Load(p, t.elem, op.cache, op.evict)))
            case TensorStore():
                self.emit(Store(self._element(op), self.rewrite.value(op.a), op.cache, op.evict))
            case TensorPtr():
                self.rewrite.replace(op.result, self._element(op))
            case TensorView():
                self._view(op)
            case TensorLoadAll():
                self.rewrite.replace(op.result, self._load_all(op))
            case TensorStoreAll():
                self._store_all(op)
            case _:
                for value in self.rewrite.keep(op).results:
                    self._point(value)

    def _point(self, value: Value) -> None:
        """Note where the tensor `value`, defined just now, begins."""
        if isinstance(value.type, Tensor):
            self.pointers[value] = self.emit(TensorAddress(value))

    def _view(self, op: TensorView) -> None:
        t = tensor_type(op.t)
        p = self.pointers[self.rewrite.value(op.t)]
        width = self._width(t)
        offset = self._number(0, width) if op.offset is None else self._index(op.offset, width)
        p = self._move(p, offset * t.elem.bytes, op.type.align)
        view = self.emit(TensorMake(p, op.type))
        view.hint = op.result.hint
        self.pointers[view] = p
        self.rewrite.replace(op.result, view)

    # One element.

    def _element(self, op: Access) -> Value:
        """The address of the element that `op` accesses."""
        t = tensor_type(op.t)
        if self.checked:
            self._check(op, t)
        scaled = bytewise(t)
        coord = [self._index(index, self._width(t)) for index in op.coord]
        distance = scaled(*(index.number if index.value is None else index for index in coord))
        if scaled is t.layout:
            distance = distance * t.elem.bytes
        p = self.pointers[self.rewrite.value(op.t)]
        align = op.align if isinstance(op, TensorPtr) else gcd(t.align, t.elem.bytes)
        return self._address(p, t, distance, align)

    def _address(self, p: Value, t: Tensor, distance: Any, align: int) -> Value:
        """The address `distance` bytes (a number, an expression over dims, or an `Index`) into the tensor."""
        moved = self._number(0, self._width(t)) + distance
        if t.swizzle is None or not t.swizzle.bits:
            return self._move(p, moved, align)
        block = t.swizzle.size
        if t.align % block:
            return self.emit(PtrSwizzle(self._moved(p, moved, 1), t.swizzle, align))  # type: ignore[no-any-return]
        # The base has none of the bits that change, so it is enough to swizzle the distance, and of that what does
        # not move whole blocks.
        aside = moved.number // block * block
        within: Any = moved + -aside
        return self._move(p, self._number(0, moved.type) + t.swizzle(within.known()) + aside, align)

    def _move(self, p: Value, distance: Index, align: int) -> Value:
        """`p` moved by so many bytes, and then known to be a multiple of `align` exactly."""
        p = self._moved(p, distance, align)
        assert isinstance(p.type, Ptr)
        return p if p.type.align == align else self.emit(PtrAdd(p, self.emit(Const(0, i32)), align))

    def _moved(self, p: Value, distance: Index, align: int) -> Value:
        """`p` moved by so many bytes, what is known at compile time last."""
        parts = distance.run_time()
        for i, value in enumerate(parts):
            p = self.emit(PtrAdd(p, value, gcd(align, distance.number) if i == len(parts) - 1 else 1))
        if distance.number:
            p = self.emit(PtrAdd(p, self.emit(Const(distance.number, distance.type)), align))
        return p

    def _index(self, value: Value, width: Scalar) -> Index:
        """An index as what is known of it and what is not: ``i + 4`` is 4 and i.

        That the sum did not wrap follows from the access being in bounds.
        """
        new = self.rewrite.value(value)
        if isinstance(new.op, Const):
            return self._number(int(new.op.value), width)
        if isinstance(new.op, Add | Sub) and isinstance(new.op.b.op, Const):
            number = int(new.op.b.op.value) * (1 if isinstance(new.op, Add) else -1)
            return Index(self.emit, self.widths, width, new.op.a, 0, number, new)
        return Index(self.emit, self.widths, width, new, whole=new)

    def _number(self, number: int, width: Scalar) -> Index:
        return Index(self.emit, self.widths, width, number=number)

    def _width(self, t: Tensor) -> Scalar:
        if t.space != "gmem":
            return i32
        extent = cosize(t.layout)
        return i32 if isinstance(extent, int) and extent * t.elem.bytes < SMALL else i64

    def _check(self, op: Access, t: Tensor) -> None:
        """Stop the kernel unless every index is within its mode."""
        for mode, index in enumerate(op.coord):
            now = self.rewrite.value(index)
            if isinstance(now.op, Const):
                continue
            extent = size(t.layout) if len(op.coord) == 1 else size(t.layout, mode)
            narrow = now.type == i32 and self.widths(extent) == i32
            signed, unsigned = (i32, u32) if narrow else (i64, u64)  # a negative index is beyond every extent
            limit = (self._number(0, signed) + extent).materialise(signed)
            wide = now if now.type == signed else self.emit(Convert(now, signed))
            ok = self.emit(Cmp("lt", self.emit(Convert(wide, unsigned)), self.emit(Convert(limit, unsigned))))
            builder = self.rewrite.builder
            start, fail, rest = builder.block, builder.new_block(), builder.new_block()
            builder.block = fail
            name = f"`{op.t.hint}`, {t.layout}" if op.t.hint else str(t.layout)
            self.emit(AssertFail(f"index {mode} of {name} is outside 0..{extent}"))
            builder.block = start
            self.emit(CondBr(ok, Jump(rest), Jump(fail)))
            builder.block = rest

    # All elements.

    def _load_all(self, op: TensorLoadAll) -> Value:
        t = tensor_type(op.t)
        base = self.pointers[self.rewrite.value(op.t)]
        pieces = vectors(t)
        parts = []
        for offset, width in pieces:
            elem = Vec(t.elem, width) if width > 1 else t.elem
            p = self._address(base, t, offset * t.elem.bytes, t.elem.bytes * width)
            parts.append(self.emit(Load(p, elem)))
        everything = self.emit(VecMake(tuple(parts)))
        place = {offset: i for i, offset in enumerate(o + j for o, width in pieces for j in range(width))}
        picks = tuple(place[t.layout(i)] for i in range(static_size(t.layout)))
        if picks == tuple(range(len(place))):
            return everything  # type: ignore[no-any-return]
        return self.emit(VecGather(everything, picks))  # type: ignore[no-any-return]

    def _store_all(self, op: TensorStoreAll) -> None:
        t = tensor_type(op.t)
        base, data = self.pointers[self.rewrite.value(op.t)], self.rewrite.value(op.a)
        element = {t.layout(i): i for i in range(static_size(t.layout))}  # the last of several at one offset
        for offset, width in vectors(t):
            picks = tuple(element[offset + i] for i in range(width))
            part = self.emit(VecGather(data, picks, scalar=width == 1))
            p = self._address(base, t, offset * t.elem.bytes, t.elem.bytes * width)
            self.emit(Store(p, part))


def vectors(t: Tensor) -> list[tuple[int, int]]:
    """The accesses (offset, width), both in elements, that cover a tensor of static layout: widest first come.

    Each is a power of two of neighbouring elements, 16 bytes at most, at a multiple of its own size, and within
    what a swizzle leaves together.
    """
    bytes = t.elem.bytes
    most = MAX_VECTOR_BYTES if t.swizzle is None or not t.swizzle.bits else min(MAX_VECTOR_BYTES, 1 << t.swizzle.base)
    offsets = sorted({t.layout(i) for i in range(static_size(t.layout))})
    present = set(offsets)
    pieces: list[tuple[int, int]] = []
    covered = offsets[0] if offsets else 0
    for offset in offsets:
        if pieces and offset < covered:
            continue
        width = max(1, most // bytes)
        while width > 1 and not (
            gcd(t.align, offset * bytes or t.align) % (width * bytes) == 0
            and all(offset + i in present for i in range(1, width))
        ):
            width //= 2
        pieces.append((offset, width))
        covered = offset + width
    return pieces


def bytewise(t: Tensor) -> Layout | ComposedLayout:
    """The layout with strides in bytes, so that no product is left to scale; a composed one stays as it is."""
    layout, bytes = t.layout, t.elem.bytes
    if bytes == 1 or not isinstance(layout, Layout):
        return layout
    return Layout(layout.shape, transform_leaf(lambda stride: stride * bytes, layout.stride))


class DimWidths:
    """Which type holds an expression over dims: i32 where it cannot get larger."""

    def __init__(self, function: Function) -> None:
        self.limits = {name: I32_DIM_LIMIT if value.type == i32 else None for name, value in function.dims.items()}
        for op in function.ops():
            if isinstance(op, DimBind) and isinstance(op.dim, DimExpr):
                (dim,) = dims_of(op.dim)
                self.limits[dim.name] = i32.range[1] if op.a.type == i32 else None

    def __call__(self, x: Int) -> Scalar:
        limited = {}
        for dim in dims_of(x):
            limit = self.limits.get(dim.name)
            if limit is None and dim.max is None:
                return i64
            most = min(m for m in (limit, dim.max) if m is not None)
            limited[dim] = Dim(dim.name, dim.divisible_by, min=min(dim.min, most), max=most)
        most_of_all = upper_bound(substitute(x, limited))
        return i32 if most_of_all is not None and most_of_all <= i32.range[1] else i64


class Index:
    """An integer of the kernel that a layout can be applied to: ``value + dims + number``.

    type    what products and sums are computed in
    value   the part known at run time only, of 32 or 64 bits; None if there is none
    dims    the part that is an expression over dims; 0 if there is none
    number  the part known now
    whole   the sum as a value, if there is one: quotients and remainders need it
    """

    __slots__ = ("dims", "emit", "number", "type", "value", "whole", "widths")

    def __init__(
        self,
        emit: Emit,
        widths: DimWidths,
        type: Scalar,
        value: Value | None = None,
        dims: Int = 0,
        number: int = 0,
        whole: Value | None = None,
    ) -> None:
        self.emit, self.widths, self.type = emit, widths, type
        self.value, self.dims, self.number, self.whole = value, dims, number, whole

    def _like(self, value: Value | None, dims: Int = 0, number: int = 0) -> Index:
        if isinstance(dims, int):
            dims, number = 0, number + dims
        return Index(self.emit, self.widths, self.type, value, dims, number)

    def known(self) -> Any:
        """Itself, or just the number if it is nothing else."""
        return self if self.value is not None or isinstance(self.dims, DimExpr) else self.number

    def run_time(self) -> list[Value]:
        """The parts that are not known now, of type `type`: their sum and the number make the whole."""
        dims = [self._literal(self.dims)] if isinstance(self.dims, DimExpr) else []
        return dims if self.value is None else [*dims, self._wide(self.value)]

    def materialise(self, t: Scalar | None = None) -> Value:
        """The sum as one value: of type `t`, or of the type its run-time part has."""
        if self.whole is None:
            t = t or (self.value.type if self.value is not None else self.type)  # type: ignore[assignment]
            parts = [] if self.value is None else [self._cast(self.value, t)]
            rest = self.dims + self.number
            if isinstance(rest, DimExpr) or rest or not parts:
                parts.append(self._literal(rest, t))
            self.whole = parts[0] if len(parts) == 1 else self.emit(Add(*parts))
        assert self.whole is not None
        return self._cast(self.whole, t)

    def _literal(self, x: Int, t: Scalar | None = None) -> Value:
        return self.emit((DimOp if isinstance(x, DimExpr) else Const)(x, t or self.type))  # type: ignore[no-any-return]

    def _cast(self, value: Value, t: Scalar | None) -> Value:
        return value if t in (None, value.type) else self.emit(Convert(value, t))

    def _wide(self, value: Value) -> Value:
        return self._cast(value, self.type)

    def __add__(self, other: Any) -> Index:
        if isinstance(other, DimExpr):
            return self._like(self.value, self.dims + other, self.number)
        if isinstance(other, int):
            return self._like(self.value, self.dims, self.number + other)
        dims, number = self.dims + other.dims, self.number + other.number
        if self.value is None or other.value is None:
            return self._like(self.value or other.value, dims, number)
        return self._like(self.emit(Add(self._wide(self.value), self._wide(other.value))), dims, number)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Index:
        if isinstance(other, Index):
            return self._like(self.emit(Mul(self.materialise(self.type), other.materialise(self.type))))
        dims, number = self.dims * other, self.number * other
        if self.value is None or (isinstance(other, int) and other in (0, 1)):
            return self._like(None if isinstance(other, int) and other == 0 else self.value, dims + number)
        return self._like(self.emit(Mul(self._wide(self.value), self._literal(other))), dims + number)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Index:
        """In bounds, an index is not negative."""
        return self._divided(FloorDiv, other)

    def __mod__(self, other: Any) -> Index:
        return self._divided(Mod, other)

    def _divided(self, op: type[FloorDiv] | type[Mod], other: Any) -> Index:
        value = self.materialise()
        t = value.type if isinstance(other, Index) or self.widths(other) == i32 else i64
        assert isinstance(t, Scalar)
        divisor = other.materialise(t) if isinstance(other, Index) else self._literal(other, t)
        return self._like(self.emit(op(self._cast(value, t), divisor, natural=True)))

    def _bits(self, op: type[Op], other: Any) -> Index:
        value = self.materialise(self.type)
        right = other.materialise(self.type) if isinstance(other, Index) else self._literal(other)
        return self._like(self.emit(op(value, right)))

    def __and__(self, other: Any) -> Index:
        return self._bits(And, other)

    def __xor__(self, other: Any) -> Index:
        return self._bits(Xor, other)

    def __rshift__(self, other: Any) -> Index:
        return self._bits(Shr, other)

    def __lshift__(self, other: Any) -> Index:
        return self._bits(Shl, other)
