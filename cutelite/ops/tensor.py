"""Tensors: memory with a layout. `passes.lower_tensors` turns these into pointers, loads and stores.

A coordinate is one integer for each top-level mode of the layout, or a single one for the whole
(colexicographic, as CuTe counts). Views with nested coordinates are flattened first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from math import gcd
from operator import add, floordiv, mod, mul
from typing import TYPE_CHECKING, Any, ClassVar

from cutelite import layout as layouts
from cutelite.ir.contract import Effect, Llvm, Problem, np
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.types import LOCAL_BYTES, Ptr, Tensor, Type, Vec, i32, i64
from cutelite.layout import DimExpr, Layout, cosize, flatten_to_tuple, is_static, rank, size, static_value
from cutelite.layout.layout import images
from cutelite.ops.memory import LOAD_CACHES, MAX_VECTOR_BYTES, STORE_CACHES, hint_problems, written_problems

if TYPE_CHECKING:
    from cutelite.ir.simulation import Array, Lanes

INDEX_TYPES = (i32, i64)


def tensor_type(value: Value) -> Tensor:
    """Return the tensor type of an operand that `verify` has found to be a tensor."""
    assert isinstance(value.type, Tensor)
    return value.type


@op("smem.alloc", effects=Effect.UNMERGEABLE, source="PTX ISA: .shared")
class SmemAlloc(Op):
    """Shared memory of this CTA, undefined at first; `passes.allocate_smem` gives it its byte `offset`.

    dynamic  it lies behind all static memory, and its extent is set by the launch
    """

    type: Tensor
    dynamic: bool = False
    offset: int = -1
    gives = "type"
    as_llvm = Llvm("$out = getelementptr i8, ptr addrspace(3) @smem, i32 ${offset}")

    def verify(self) -> Iterator[Problem]:
        if self.type.space != "smem":
            yield Problem("type", f"smem.alloc makes a tensor in smem, not in {self.type.space}")
        elif not is_static(self.type.layout):
            yield Problem("type", f"shared memory needs a layout known at compile time, not {self.type.layout}")

    @property
    def bytes(self) -> int:
        """The size in bytes; rounded up to the blocks within which a swizzle may move the last elements."""
        if self.dynamic:
            return 0
        whole = 1 if self.type.swizzle is None else self.type.swizzle.reach
        return -(-static_cosize(self.type.layout) * self.type.elem.bytes // whole) * whole

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(lanes.machine.smem_address(self, lanes))


@op("const.array", source="PTX ISA: .const")
class ConstArray(Op):
    """An array in constant memory, with its bytes as hexadecimal digits. Nothing can be written to it."""

    type: Tensor
    data: str
    gives = "type"

    def verify(self) -> Iterator[Problem]:
        t = self.type
        if t.space != "const":
            yield Problem("type", f"const.array makes a tensor in const, not in {t.space}")
        elif not is_static(t.layout) or static_cosize(t.layout) * t.elem.bytes != len(self.data) // 2:
            yield Problem("data", f"{len(self.data) // 2} bytes are not the elements of {t}")
        elif len(self.data) > 2 * CONSTANT_BYTES:
            yield Problem("data", f"constant memory has {CONSTANT_BYTES} bytes, and this array {len(self.data) // 2}")

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(lanes.machine.const_address(self, lanes))


CONSTANT_BYTES = 1 << 16
"""Constant memory of a kernel (CUDA C++ Programming Guide, compute capabilities)."""

SMEM_ALIGN = 1024
"""Alignment of the start of shared memory, in bytes: what the 128-byte swizzle needs."""


@op("rmem.alloc", effects=Effect.UNMERGEABLE, source="cutelite: register tensors")
class RmemAlloc(Op):
    """A tensor in the registers of each thread, undefined at first.

    It becomes SSA values if every index is static; else it stays in local memory, with a warning.
    """

    type: Tensor
    gives = "type"

    def verify(self) -> Iterator[Problem]:
        if self.type.space != "rmem":
            yield Problem("type", f"rmem.alloc makes a tensor in rmem, not in {self.type.space}")
        elif not is_static(self.type.layout):
            yield Problem("type", f"a register tensor needs a layout known at compile time, not {self.type.layout}")
        elif (size := static_cosize(self.type.layout) * self.type.elem.bytes) > LOCAL_BYTES:
            yield Problem("type", f"a thread has {LOCAL_BYTES} bytes of local memory, and this tensor {size}")

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(lanes.machine.rmem_address(self, lanes))


@op("tensor.make", source="cutelite: make_tensor")
class TensorMake(Op):
    """The memory at pointer `p` as a tensor of `type`."""

    p: Value
    type: Tensor
    gives = "type"
    as_llvm = Llvm("$out = $p")

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.p.type, Ptr):
            yield Problem("p", f"make_tensor takes a pointer, not {self.p.type}")
        elif self.p.type.space != self.type.space:
            yield Problem("type", f"the pointer is to {self.p.type.space}, the tensor in {self.type.space}")
        elif self.p.type.align % self.type.align:
            yield Problem("type", f"the pointer is aligned to {self.p.type.align} bytes, not to {self.type.align}")

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(lanes.get(self.p))


@op("tensor.address", source="cutelite: tensors")
class TensorAddress(Op):
    """The address of the element at offset 0 of `t`, before any swizzle."""

    t: Value
    as_llvm = Llvm("$out = $t")

    def result_types(self) -> tuple[Type, ...]:
        t = tensor_type(self.t)
        return (Ptr(t.space, t.align),)

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.t.type, Tensor):
            yield Problem("t", f"tensor.address takes a tensor, not {self.t.type}")

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(lanes.get(self.t))


def reach_problems(t: Value) -> Iterator[Problem]:
    """Find problems of accessing `t`: loads and stores of single threads do not reach tensor memory."""
    if tensor_type(t).space == "tmem":
        help = "`cl.tcgen05.load(t)` and `cl.tcgen05.wait_load`, by whole warps; `cl.tcgen05.store`"
        yield Problem("t", "tensor memory has no loads and stores of single threads", help)


class ElementAccess(Op):
    """An access to, or the address of, one element of a tensor."""

    reaches: ClassVar[bool] = True
    """Whether the element is accessed. If not, the first one's address may be taken where there are no elements."""

    t: Value
    coord: tuple[Value, ...]

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.t.type, Tensor):
            yield Problem("t", f"{self.name} takes a tensor, not {self.t.type}")
            return
        yield from reach_problems(self.t)
        modes = rank(self.t.type.layout)
        if len(self.coord) not in (min(modes, 1), modes):
            text = f"{len(self.coord)} indices into a tensor of {modes} modes, {self.t.type.layout}"
            yield Problem("coord", text)
        for index in self.coord:
            if index.type not in INDEX_TYPES:
                yield Problem("coord", f"an index is an i32 or an i64, not {index.type}")

    def address(self, lanes: Lanes) -> Array:
        """Return the byte address of the element, per lane; faults where the coordinate is out of bounds."""
        found = self._inside(lanes)
        if found is not None:
            return found
        coord = [lanes.get(index).astype(np.int64, copy=False) for index in self.coord]
        for mode in self._constant[0]:
            extent, index = self._extents[mode], coord[mode]
            bound = lanes.dim(extent)
            outside = index.view(np.uint64) >= bound  # unsigned: negative ones are huge
            if np.count_nonzero(outside):
                first = int(np.argmax(outside & lanes.mask))
                known = "" if isinstance(extent, int) else f" = {np.broadcast_to(bound, outside.shape)[first]}"
                which = f"index {mode}" if len(self.coord) > 1 else "the index"
                text = f"{which} is {index[first]}, but the extent is {extent}{known}"
                lanes.fault(outside, text, "out-of-bounds")
        return element_address(lanes, self.t, coord)

    def _inside(self, lanes: Lanes) -> Array | None:
        """Return the byte address, per lane; None if a coordinate is out of bounds, or `_leaves` does not tell."""
        if self._leaves is None:
            return None
        t, address = tensor_type(self.t), lanes.get(self.t)
        for value, extent, leaves in self._leaves:
            index = lanes.get(value).astype(np.int64, copy=False)
            bound = lanes.dim(extent)
            unsigned = index.view(np.uint64)  # negative ones are huge
            if unsigned.max() >= bound if isinstance(bound, int) else np.count_nonzero(unsigned >= bound):
                return None
            for shape, stride in leaves[:-1]:
                address = address + index % shape * (lanes.dim(stride) * t.elem.bytes)
                index = index // shape
            address = address + index * (lanes.dim(leaves[-1][1]) * t.elem.bytes)
        address = address + self._constant[1] if self._constant[1] else address
        return t.swizzle(address) if t.swizzle is not None else address

    @cached_property
    def _constant(self) -> tuple[tuple[int, ...], int]:
        """Return the modes whose indices are checked, and the bytes that the other modes add to the address.

        The other indices are constants inside a known extent, in a mode of known stride.
        """
        offset, modes = 0, []
        for mode, index in enumerate(self.coord):
            at = getattr(index.op, "value", None) if index.op is not None and index.op.name == "const" else None
            extent = self._extents[mode]
            stride = None if self._strides is None else self._strides[mode]
            if at == 0 and not self.reaches:
                continue
            if isinstance(at, int) and isinstance(extent, int) and isinstance(stride, int) and 0 <= at < extent:
                offset += at * stride
            else:
                modes.append(mode)
        return tuple(modes), offset * tensor_type(self.t).elem.bytes

    @cached_property
    def _leaves(self) -> tuple[tuple[Value, Any, tuple[tuple[Any, Any], ...]], ...] | None:
        """Return each index that is checked, its extent, and extent and stride of each leaf of its mode.

        None if an index into leaves of extents that the launch tells would have to be taken apart, and for F2.
        """
        layout = tensor_type(self.t).layout
        steps = []
        for mode in self._constant[0]:
            part = layout if len(self.coord) == 1 else layout[mode]
            part = layouts.coalesce(part) if is_static(part) else part
            leaves = tuple(zip(flatten_to_tuple(part.shape), flatten_to_tuple(part.stride), strict=True))
            if not all(isinstance(shape, int) for shape, _ in leaves[:-1]):
                return None
            if not all(isinstance(stride, (int, DimExpr)) for _, stride in leaves):
                return None
            steps.append((self.coord[mode], self._extents[mode], leaves))
        return tuple(steps)

    @cached_property
    def _extents(self) -> tuple[Any, ...]:
        layout = tensor_type(self.t).layout
        return (size(layout),) if len(self.coord) == 1 else tuple(size(layout, mode) for mode in range(rank(layout)))

    @cached_property
    def _strides(self) -> tuple[Any, ...] | None:
        """Return a stride for each index if each mode has a single one; else None."""
        strides = tensor_type(self.t).layout.stride
        strides = strides if isinstance(strides, tuple) else (strides,)
        simple = len(strides) == len(self.coord) and not any(isinstance(stride, tuple) for stride in strides)
        return strides if simple else None


@op("tensor.load", effects=Effect.READS, source="cutelite: tensors")
class TensorLoad(ElementAccess):
    """The element of `t` at `coord`. `cache`, `evict` and `prefetch` as for `ld`."""

    cache: str = ""
    evict: str = ""
    prefetch: int = 0

    def result_types(self) -> tuple[Type, ...]:
        return (tensor_type(self.t).elem,)

    def verify(self) -> Iterator[Problem]:
        yield from super().verify()
        if self.cache or self.evict or self.prefetch:
            elem = tensor_type(self.t).elem
            yield from hint_problems(self.t, elem, self.cache, self.evict, LOAD_CACHES, self.prefetch)

    def simulate(self, lanes: Lanes) -> None:
        t = tensor_type(self.t)
        lanes.define(lanes.load(t.space, self.address(lanes), t.elem)[:, 0])


@op("tensor.store", effects=Effect.WRITES, source="cutelite: tensors")
class TensorStore(ElementAccess):
    """Write `a` to `t` at `coord`. `cache` and `evict` as for `st`."""

    a: Value
    cache: str = ""
    evict: str = ""

    def verify(self) -> Iterator[Problem]:
        yield from super().verify()
        if isinstance(self.t.type, Tensor) and self.a.type != self.t.type.elem:
            yield Problem("a", f"cannot store {self.a.type} into a tensor of {self.t.type.elem}")
        yield from written_problems(self.t)
        if self.cache or self.evict:
            yield from hint_problems(self.t, self.a.type, self.cache, self.evict, STORE_CACHES)

    def simulate(self, lanes: Lanes) -> None:
        t = tensor_type(self.t)
        lanes.store(t.space, self.address(lanes), t.elem, lanes.get(self.a)[:, None])


@op("tensor.ptr", source="cutelite: tensors")
class TensorPtr(ElementAccess):
    """The address of the element of `t` at `coord`, known to be a multiple of `align` bytes."""

    reaches: ClassVar[bool] = False

    align: int = 1

    def result_types(self) -> tuple[Type, ...]:
        return (Ptr(tensor_type(self.t).space, self.align),)

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(self.address(lanes))


@op("tensor.view", source="cutelite: tensors")
class TensorView(Op):
    """The memory of `t` from `offset` elements on (None: from its start), seen as `type`.

    Slicing, tiling, partitioning and recasting make it: their algebra is done when the op is made.

    inside  check that `type` does not reach beyond `t`: extents of the launch decide that, so the simulator does it
    """

    t: Value
    type: Tensor
    offset: Value | None
    inside: bool = False
    gives = "type"

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.t.type, Tensor):
            yield Problem("t", f"tensor.view takes a tensor, not {self.t.type}")
        elif self.t.type.space != self.type.space:
            yield Problem("type", f"a view cannot move from {self.t.type.space} to {self.type.space}")
        elif self.offset is not None and self.offset.type not in INDEX_TYPES:
            yield Problem("offset", f"the offset is an i32 or an i64, not {self.offset.type}")

    def simulate(self, lanes: Lanes) -> None:
        base = lanes.get(self.t)
        if self.inside:
            own, seen = tensor_type(self.t), self.type
            reach, have = lanes.dim(cosize(seen.layout)), lanes.dim(cosize(own.layout))
            text = (
                f"the view {seen.layout} of {seen.elem} reaches {_least_and_most(reach)} elements, but {own.layout} of "
                f"{own.elem} has {_least_and_most(have)}"
            )
            beyond = np.broadcast_to(
                np.asarray(reach) * seen.elem.bytes > np.asarray(have) * own.elem.bytes, base.shape
            )
            lanes.fault(beyond, text, "out-of-bounds")
        if self.offset is not None:
            base = base + tensor_type(self.t).distance(lanes.get(self.offset).astype(np.int64))
        lanes.define(base)


def _least_and_most(extent: Any) -> str:
    """Return the least and the greatest value of an extent, which may differ between threads."""
    least, most = np.min(extent), np.max(extent)
    return f"{least}" if least == most else f"{least} to {most}"


class WholeTensor(Op):
    """All elements of a tensor of static layout at once, in colexicographic order of its coordinates."""

    t: Value

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.t.type, Tensor):
            yield Problem("t", f"{self.name} takes a tensor, not {self.t.type}")
        elif not is_static(self.t.type.layout):
            yield Problem("t", f"{self.name} needs a layout known at compile time, not {self.t.type.layout}")
        else:
            held = static_size(self.t.type.layout) * self.t.type.elem.bytes
            if held > LOCAL_BYTES:
                text = f"a thread has {LOCAL_BYTES} bytes of local memory, and all elements of this tensor are {held}"
                yield Problem("t", text, "take a tile of it: `t.tile(...)`")
            yield from reach_problems(self.t)

    def addresses(self, lanes: Lanes) -> Array:
        """Return the byte addresses (lanes, elements)."""
        t = tensor_type(self.t)
        address = lanes.get(self.t)[:, None] + self._offsets
        return t.swizzle(address) if t.swizzle is not None else address

    @cached_property
    def _offsets(self) -> Array:
        """Bytes from the tensor's first element to each one, before any swizzle."""
        t = tensor_type(self.t)
        return np.array(images(t.layout), np.int64) * t.elem.bytes


@op("tensor.load_all", effects=Effect.READS, source="cutelite: tensors")
class TensorLoadAll(WholeTensor):
    """Load every element of `t` as a vector: ``frag.load()``."""

    def result_types(self) -> tuple[Type, ...]:
        t = tensor_type(self.t)
        return (Vec(t.elem, static_size(t.layout)),)

    def simulate(self, lanes: Lanes) -> None:
        t = tensor_type(self.t)
        lanes.define(lanes.load(t.space, self.addresses(lanes), t.elem)[..., 0])


@op("tensor.store_all", effects=Effect.WRITES, source="cutelite: tensors")
class TensorStoreAll(WholeTensor):
    """Write the vector `a` to the elements of `t`: ``frag.store(v)``."""

    a: Value

    def verify(self) -> Iterator[Problem]:
        problems = list(super().verify())
        yield from problems
        if not problems:
            t = tensor_type(self.t)
            if self.a.type != Vec(t.elem, static_size(t.layout)):
                yield Problem("a", f"cannot store {self.a.type} into {static_size(t.layout)} elements of {t.elem}")
            yield from written_problems(self.t)

    def simulate(self, lanes: Lanes) -> None:
        t = tensor_type(self.t)
        lanes.store(t.space, self.addresses(lanes), t.elem, lanes.get(self.a)[..., None])


def static_size(layout: Layout) -> int:
    count = static_value(size(layout))
    assert count is not None
    return count


def static_cosize(layout: Layout) -> int:
    extent = static_value(cosize(layout))
    assert extent is not None
    return extent


def accesses(t: Tensor) -> list[tuple[int, int]]:
    """Return the accesses (offset, width), both in elements, that cover a tensor of static layout, widest first.

    Each is a power of two of neighbouring elements, 16 bytes at most, at a multiple of its own size, and no wider than
    the elements that a swizzle keeps together.
    """
    bytes = t.elem.bytes
    most = MAX_VECTOR_BYTES if t.swizzle is None or not t.swizzle.bits else min(MAX_VECTOR_BYTES, 1 << t.swizzle.base)
    offsets = sorted(set(images(t.layout)))
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


def element_address(lanes: Lanes, tensor: Value, coord: list[Any]) -> Array:
    """Return the byte address, per lane, of the element at `coord`: base + layout(coord), then the swizzle."""
    t = tensor_type(tensor)
    offset = t.layout(*(_Lane(lanes, index) for index in coord))
    moved = _Lane(lanes, np.int64(0)) + offset
    address = lanes.get(tensor) + moved.array * t.elem.bytes
    return t.swizzle(address) if t.swizzle is not None else address


def _on_lanes(function: Callable[[Array, Array], Array]) -> Callable[[_Lane, Any], _Lane]:
    def made(a: _Lane, b: Any) -> _Lane:
        return _Lane(a.lanes, function(a.array, b.array if isinstance(b, _Lane) else a.lanes.dim(b)))

    return made


class _Lane:
    """An integer of each lane, to which a layout can be applied; dim expressions become their values."""

    __slots__ = ("array", "lanes")

    def __init__(self, lanes: Lanes, array: Array) -> None:
        self.lanes, self.array = lanes, array

    __add__, __mul__, __floordiv__, __mod__ = map(_on_lanes, (add, mul, floordiv, mod))

    __radd__, __rmul__ = __add__, __mul__
