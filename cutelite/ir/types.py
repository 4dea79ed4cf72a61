"""The types of IR values: scalars, vectors, pointers, tensors with layouts, TMA descriptors, accumulators in flight.

In: nothing but the layout leaf. Out: frozen values that print the way the IR shows them.

A type says everything that is known at compile time. `Tensor` includes its layout, whose leaves are ints or
expressions over named dims, so layouts never exist at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Union

from cutelite.records import dataclass

if TYPE_CHECKING:
    from cutelite.layout import Layout, Swizzle


class Type:
    """Base of all IR types. Types are immutable, hashable and compared by value."""

    __slots__ = ()

    @property
    def feature(self) -> str | None:
        """The feature that a target must have for parameters of this type (`Target.features`), if any."""
        return None


@dataclass(frozen=True, slots=True)
class Scalar(Type):
    """One number: `kind` is 'bool', 'int', 'uint', 'float' or 'barrier'; `bits` its width in memory.

    Only 16, 32 and 64 bit floats take part in arithmetic (`arithmetic`); tf32, e4m3 and e5m2 are formats to
    convert to and from, and `mbarrier` is an opaque 64-bit object in shared memory.
    """

    name: str
    kind: str
    bits: int

    @property
    def bytes(self) -> int:
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_int(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def signed(self) -> bool:
        return self.kind in ("int", "float")

    @property
    def arithmetic(self) -> bool:
        return self.is_int or self.name in ("f16", "bf16", "f32", "f64")

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and largest integer of an integer type (0 and 1 for bool)."""
        if self.kind == "int":
            return -(1 << self.bits - 1), (1 << self.bits - 1) - 1
        return 0, (1 << self.bits) - 1

    def __call__(self, x: Any) -> bool | int | float:
        """Return the Python number `x`. In a kernel, where the frontend sees the call, ``f32(x)`` converts.

        So ``def k(x: Tensor[f32, (N,)], by: f32 = f32(2))`` has a default of the type that it states.
        Errors  ValueError for an integer that the type cannot hold
        """
        if self.is_float:
            return float(x)
        if self.kind == "bool":
            return bool(x)
        low, high = self.range
        if not low <= int(x) <= high:
            raise ValueError(f"{x} is no {self.name}: it holds {low} to {high}")
        return int(x)

    def __or__(self, other: None) -> Any:
        """Return, for annotations, the type of a number that may be left out."""
        if isinstance(other, Scalar):
            some = f"{self}, {other}"
            raise TypeError(f"{self} | {other} is no dtype: one of several is a TypeVar, T = TypeVar('T', {some})")
        return Union[self, None] if other is None else NotImplemented  # noqa: UP007  # of an object, not a type

    __ror__ = __or__

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> str:
        """Return the variable of this module that holds the type: copies and pickles of it are the same object."""
        return "boolean" if self.name == "bool" else self.name


boolean = Scalar("bool", "bool", 1)
i8, i16, i32, i64 = (Scalar(f"i{bits}", "int", bits) for bits in (8, 16, 32, 64))
u8, u16, u32, u64 = (Scalar(f"u{bits}", "uint", bits) for bits in (8, 16, 32, 64))
f16, bf16, f32, f64 = (Scalar(n, "float", b) for n, b in (("f16", 16), ("bf16", 16), ("f32", 32), ("f64", 64)))
tf32, e4m3, e5m2 = (Scalar(n, "float", b) for n, b in (("tf32", 32), ("e4m3", 8), ("e5m2", 8)))
mbarrier = Scalar("mbarrier", "barrier", 64)

SCALARS: dict[str, Scalar] = {
    s.name: s for s in (boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, tf32, e4m3, e5m2, mbarrier)
}

I32_DIM_LIMIT = (1 << 31) - (1 << 16)
"""The largest extent of a dim that is an i32; larger ones are i64. Small sums (`M + 63`) then stay i32 too."""
I32_SIZE_LIMIT = 1 << 30
"""The most elements of a tensor that a kernel takes; launches with larger ones are wide."""

SPACES = ("gmem", "smem", "rmem", "cluster", "const", "tmem")
"""Address spaces: global; this CTA's shared; registers; the cluster's shared (shared::cluster); constant; tensor
memory, whose addresses are ``lane << 16 | column``."""


LOCAL_BYTES = 512 * 1024
"""Of each thread, and so the most that a vector has: the CUDA programming guide's technical specifications."""


@dataclass(frozen=True, slots=True)
class Vec(Type):
    """`n` scalars in registers of one thread, an immutable value. A packed pair of 16-bit numbers is `vec<f16,2>`."""

    elem: Scalar
    n: int

    def __str__(self) -> str:
        return f"vec<{self.elem},{self.n}>"


@dataclass(frozen=True, slots=True)
class Ptr(Type):
    """An address in `space`, known to be a multiple of `align` bytes. 32 bits in smem, cluster and tmem, else 64."""

    space: str
    align: int = 1

    def __str__(self) -> str:
        return f"ptr<{self.space},{self.align}>"


@dataclass(frozen=True, slots=True)
class Tensor(Type):
    """Memory seen through a layout. The run-time value is the address of the element at offset 0.

    layout   coordinates to offsets, in elements; leaves are ints or expressions over dims
    swizzle  for smem: XOR applied to the *byte address* of each access, as TMA and wgmma apply it, or None
    align    the base address is a multiple of this many bytes
    """

    elem: Scalar
    space: str
    layout: Layout
    align: int
    swizzle: Swizzle | None = None

    def distance(self, offset: Any) -> Any:
        """Return how far the element at an offset lies from the first one: in bytes, in tensor memory in columns."""
        return offset * self.elem.bytes if self.space != "tmem" else offset * self.elem.bits // 32

    @property
    def is_far(self) -> bool:
        """Tell whether offsets into it need 64 bits: global memory that does not provably end below 2**31 bytes."""
        if self.space != "gmem":
            return False
        extent = self.layout.cosize
        return not isinstance(extent, int) or extent * self.elem.bytes >= 1 << 31

    def __str__(self) -> str:
        swizzle = f",{self.swizzle}" if self.swizzle is not None else ""
        return f"tensor<{self.elem},{self.space},{self.layout},{self.align}{swizzle}>"


@dataclass(frozen=True, slots=True)
class TensorMap(Type):
    """A TMA descriptor (a 128-byte kernel parameter) of a tensor in global memory, rank 1 to 5.

    layout   the layout of the whole tensor in global memory, outermost mode first as in row-major code
    box      elements one TMA operation moves, one extent per mode, in the layout's order
    swizzle  'none', '32B', '64B', '128B' or '128B_ATOM_32B': the pattern of tiles in shared memory
    stored   the descriptor lies in global memory, where the GPU has put it, and has the extents and strides
    corners  for an im2col map, whose tensor is (images, ..., channels) and whose box (pixels, channels): for each mode
             between the first and the last the first pixel, from the mode's start, then for each the last one, from its
             end
    strides  for an im2col map, the distance of pixels along each of these modes; empty: 1
    wide     'w' or 'w128' for a map whose pixels lie in one row of images, along the mode before the last (which alone
             has corners and a stride); with 'w128' they are 128, in four parts
    """

    elem: Scalar
    layout: Layout
    box: tuple[int, ...]
    swizzle: str
    stored: bool = False
    corners: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    wide: str = ""

    @property
    def feature(self) -> str | None:
        if self.swizzle == "128B_ATOM_32B":
            return "tma.atom_32"
        return None

    @property
    def modes(self) -> int:
        """The number of modes of the tensor; a box of an im2col map has fewer."""
        return self.layout.rank

    @property
    def parts(self) -> int:
        """The parts of a row of pixels, each of which a halo may follow."""
        return 4 if self.wide == "w128" else 1

    @property
    def tile_bytes(self) -> int:
        """The bytes of one load, which its mbarrier must expect."""
        count = self.elem.bytes
        for extent in self.box:
            count *= extent
        return count

    def __str__(self) -> str:
        pixels = [f",({','.join(map(str, given))})" for given in (self.corners, self.strides) if given]
        more = "".join([",stored" * self.stored, *pixels, f",{self.wide}" if self.wide else ""])
        return f"tensormap<{self.elem},{self.layout},({','.join(map(str, self.box))}),{self.swizzle}{more}>"


def meet(types: Sequence[Type]) -> Type | None:
    """Return the type that tensors of memory, or addresses, have in common if they differ in alignment alone."""
    first = types[0]
    if not isinstance(first, (Tensor, Ptr)) or (isinstance(first, Tensor) and first.space == "rmem"):
        return None
    least = replace(first, align=min(getattr(t, "align", first.align) for t in types))
    return least if all(type(t) is type(first) and replace(t, align=least.align) == least for t in types) else None


def position_bits(modes: int) -> int:
    """Return the bits that an im2col map of this many modes has for an offset, or a corner, along each mode between.

    Source   PTX ISA: im2col mode; CUDA driver API: cuTensorMapEncodeIm2col
    """
    return 16 // (modes - 2)


@dataclass(frozen=True, slots=True)
class InFlight(Type):
    """A value that an asynchronous operation still reads or writes: only its wait makes it `inner`.

    A vector stays in the registers that the operation was given, with several elements of 8 or 16 bits in each. A
    tensor is an accumulator in tensor memory.
    """

    inner: Vec | Tensor

    def __str__(self) -> str:
        return f"inflight<{self.inner}>"


def elem_of(t: Type) -> Scalar:
    """Return the scalar a scalar, vector, tensor or descriptor is made of."""
    match t:
        case Scalar():
            return t
        case Vec() | Tensor() | TensorMap():
            return t.elem
        case InFlight():
            return t.inner.elem
    raise TypeError(f"{t} has no element type")


def with_elem(t: Type, elem: Scalar) -> Type:
    """Return `t` (scalar or vector) with another element type: the type of an elementwise conversion or comparison."""
    return Vec(elem, t.n) if isinstance(t, Vec) else elem
