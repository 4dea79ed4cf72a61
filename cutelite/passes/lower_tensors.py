"""Turn tensor accesses into addresses, loads and stores.

    %x = tensor.load t=%a, coord=(%i, %j)      %p = tensor.address t=%a
    with %a: tensor<f32,gmem,(M,N):(N,1),16>   ->   %o = ... %i * N + %j, in bytes
                                                    %q = ptr.add p=%p, bytes=%o, align=4
                                                    %x = ld p=%q, type=f32

Offsets into global memory have 64 bits, unless the tensor provably ends below 2**31 bytes; those into shared
memory and registers 32. Parts known at compile time are added last, so that neighbouring accesses share an
address and differ in an immediate. `load_all` and `store_all` become the widest vector accesses that layout,
swizzle and alignment allow. With ``attrs["assertions"]``, every index known at run time only is checked first.

Tensors remain as values (`tensor.make`, `tensor.address`) for ops that take one as an address.
Errors: none; `check_indices` has refused constant indices out of bounds.
Needs: verified IR. Keeps: every other op, in order.
"""

from __future__ import annotations

from math import gcd
from typing import Any

from cutelite.ir.function import Function, Jump, Value
from cutelite.ir.types import Ptr, Scalar, Tensor, Vec, i32, i64, u32, u64
from cutelite.layout import Layout, size, transform_leaf
from cutelite.layout.layout import images
from cutelite.ops import tensor
from cutelite.ops.arith import Cmp, Const, VecGather, VecMake
from cutelite.ops.control import AssertFail, CondBr
from cutelite.ops.memory import Load, PtrAdd, PtrSwizzle, Store
from cutelite.passes.algebra import without_known
from cutelite.passes.context import Context
from cutelite.passes.indices import Index, IndexOps
from cutelite.passes.rewrite import Rewrite


def lower_tensors(function: Function, context: Context) -> Function:
    return _Lowering(function).run()


class _Lowering:
    def __init__(self, function: Function) -> None:
        self.rewrite = Rewrite(function)
        self.emit = self.rewrite.emit
        self.index_ops = IndexOps(self.rewrite, function)
        self.make = self.index_ops.make
        self.checked = bool(function.attrs.get("assertions"))
        self.pointers: dict[Value, Value] = {}  # the start of each tensor value of the new function
        self.shapes: dict[Value, _Shape] = {}

    def run(self) -> Function:
        rewrite = self.rewrite
        expand = {
            tensor.TensorLoad: self._load,
            tensor.TensorStore: self._store,
            tensor.TensorPtr: self._ptr,
            tensor.TensorView: self._view,
            tensor.TensorLoadAll: self._load_all,
            tensor.TensorStoreAll: self._store_all,
        }
        for block in rewrite.blocks():
            for param in block.params:
                self._point(param)
            for op in rewrite.ops(block):
                if (expanded := expand.get(type(op))) is not None:
                    expanded(op)
                    continue
                for value in rewrite.keep(op).results:
                    self._point(value)
        return rewrite.function

    def _point(self, value: Value) -> None:
        """Note the start of the tensor `value`, defined just now."""
        if isinstance(value.type, Tensor):
            self.pointers[value] = self.emit(tensor.TensorAddress(value))

    def _shape(self, value: Value) -> _Shape:
        if value not in self.shapes:
            self.shapes[value] = _Shape(tensor.tensor_type(value))
        return self.shapes[value]

    def _view(self, op: Any) -> None:
        shape = self._shape(op.t)
        width = shape.width
        offset = self.index_ops.number(0, width) if op.offset is None else self._index(op.offset, width)
        p = self._move(self.pointers[self.rewrite.value(op.t)], _apart(shape.type, offset), op.type.align)
        view = self.emit(tensor.TensorMake(p, op.type))
        self.pointers[view] = p
        self.rewrite.replace(op.result, view)

    # One element.

    def _load(self, op: Any) -> None:
        t = tensor.tensor_type(op.t)
        self.rewrite.replace(op.result, self.emit(Load(self._element(op), t.elem, op.cache, op.evict, op.prefetch)))

    def _store(self, op: Any) -> None:
        self.emit(Store(self._element(op), self.rewrite.value(op.a), op.cache, op.evict))

    def _ptr(self, op: Any) -> None:
        self.rewrite.replace(op.result, self._element(op))

    def _element(self, op: tensor.ElementAccess) -> Value:
        """Return the address of the element that `op` accesses."""
        shape = self._shape(op.t)
        t = shape.type
        if self.checked:
            self._check(op, t)
        coord = [self._index(index, shape.width).known() for index in op.coord]
        distance = shape.scaled(*coord) * shape.scale
        align = op.align if isinstance(op, tensor.TensorPtr) else gcd(t.align, t.elem.bytes)
        return self._address(self.pointers[self.rewrite.value(op.t)], shape, distance, align)

    def _index(self, value: Value, width: Scalar) -> Index:
        return self.index_ops.index(self.rewrite.value(value), width)

    def _address(self, p: Value, shape: _Shape, distance: Any, align: int) -> Value:
        """Return the address `distance` bytes (a number, an expression over dims, or an `Index`) into the tensor."""
        t, moved = shape.type, self.index_ops.number(0, shape.width) + distance
        if t.swizzle is None or not t.swizzle.bits:
            return self._move(p, moved, align)
        block = t.swizzle.size
        if t.align % block:  # whole blocks are added after the swizzle, so that far addresses share it
            p, known = without_known(p)
            aside = (known + moved.number) // block * block
            near = self._moved(p, moved + (known - aside), 1)
            swizzled = self.make(PtrSwizzle, near, t.swizzle, gcd(align, block))
            return self._move(swizzled, self.index_ops.number(aside, i32), align)
        # The base has none of the bits that change: swizzle only the distance, and of that only the part that does
        # not move whole blocks.
        aside = moved.number // block * block
        within = t.swizzle((moved + -aside).known())
        return self._move(p, self.index_ops.number(aside, moved.type) + within, align)

    def _move(self, p: Value, distance: Index, align: int) -> Value:
        """Return `p` moved by `distance` bytes, known to be a multiple of `align` and no more."""
        p = self._moved(p, distance, align)
        assert isinstance(p.type, Ptr)
        return p if p.type.align == align else self.make(PtrAdd, p, self.make(Const, 0, i32), align)

    def _moved(self, p: Value, distance: Index, align: int) -> Value:
        """Return `p` moved by `distance` bytes, the part known at compile time last."""
        parts = distance.run_time()
        for i, value in enumerate(parts):
            p = self.make(PtrAdd, p, value, gcd(align, distance.number) if i == len(parts) - 1 else 1)
        if distance.number:
            p = self.make(PtrAdd, p, self.make(Const, distance.number, distance.type), align)
        return p

    def _check(self, op: tensor.ElementAccess, t: Tensor) -> None:
        """Stop the kernel unless every index is within its mode."""
        for mode, index in enumerate(op.coord):
            now = self.rewrite.value(index)
            if isinstance(now.op, Const):
                continue
            extent = size(t.layout) if len(op.coord) == 1 else size(t.layout, mode)
            narrow = now.type == i32 and self.index_ops.widths(extent) == i32
            signed, unsigned = (i32, u32) if narrow else (i64, u64)  # a negative index is beyond every extent
            limit = self.index_ops.literal(extent, signed)
            wide = self.index_ops.cast(self.index_ops.cast(now, signed), unsigned)
            ok = self.make(Cmp, "lt", wide, self.index_ops.cast(limit, unsigned))
            builder = self.rewrite.builder
            start, fail, rest = builder.block, builder.new_block(), builder.new_block()
            builder.block = fail
            name = f"`{op.t.hint}`, {t.layout}" if op.t.hint else str(t.layout)
            self.emit(AssertFail(f"index {mode} of {name} is outside 0..{extent}"))
            builder.block = start
            self.emit(CondBr(ok, Jump(rest), Jump(fail)))
            builder.block = rest

    # All elements.

    def _load_all(self, op: Any) -> None:
        shape, base = self._shape(op.t), self.pointers[self.rewrite.value(op.t)]
        t = shape.type
        pieces = tensor.accesses(t)
        parts = []
        for offset, width in pieces:
            elem = Vec(t.elem, width) if width > 1 else t.elem
            p = self._address(base, shape, offset * t.elem.bytes, t.elem.bytes * width)
            parts.append(self.emit(Load(p, elem)))
        everything = self.emit(VecMake(tuple(parts)))
        place = {offset: i for i, offset in enumerate(o + j for o, width in pieces for j in range(width))}
        picks = tuple(place[offset] for offset in images(t.layout))
        in_order = picks == tuple(range(len(place)))
        self.rewrite.replace(op.result, everything if in_order else self.emit(VecGather(everything, picks)))

    def _store_all(self, op: Any) -> None:
        shape, base, data = self._shape(op.t), self.pointers[self.rewrite.value(op.t)], self.rewrite.value(op.a)
        t = shape.type
        element = {offset: i for i, offset in enumerate(images(t.layout))}  # at a shared offset, the last element
        for offset, width in tensor.accesses(t):
            picks = tuple(element[offset + i] for i in range(width))
            part = self.emit(VecGather(data, picks, scalar=width == 1))
            p = self._address(base, shape, offset * t.elem.bytes, t.elem.bytes * width)
            self.emit(Store(p, part))


def _apart(t: Tensor, offset: Index) -> Index:
    """Return how far the element at `offset` is from the first, in the units of addresses: bytes or columns."""
    return (
        offset * t.elem.bytes if t.space != "tmem" else offset if t.elem.bits == 32 else offset // (32 // t.elem.bits)
    )


class _Shape:
    """Facts about a tensor type, computed once.

    width           the type of offsets in bytes: i32, or i64 for global memory that may reach beyond 2**31 bytes
    scaled, scale   the layout with strides in bytes, and 1, which saves a product; for a composed layout the layout as
                    it is, and the bytes of an element
    """

    def __init__(self, t: Tensor) -> None:
        self.type = t
        self.width = i64 if t.is_far else i32
        layout, self.scale = t.layout, 1
        if isinstance(layout, Layout):
            layout = Layout(layout.shape, transform_leaf(lambda stride: stride * t.elem.bytes, layout.stride))
        else:
            self.scale = t.elem.bytes
        self.scaled: Any = layout
