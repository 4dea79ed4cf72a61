"""Loads and stores through pointers. Tensor accesses become these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cutelite.ir.contract import Effect, Llvm, Problem, Ptx, np
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.types import Ptr, Tensor, Type, Vec, boolean, elem_of, i32, i64
from cutelite.layout import Swizzle

if TYPE_CHECKING:
    from cutelite.ir.simulation import Lanes

LOAD_CACHES = ("", "ca", "cg", "cs", "lu", "cv", "nc")
STORE_CACHES = ("", "wb", "cg", "cs", "wt")
PREFETCHES = (0, 64, 128, 256)
EVICTIONS = ("", "evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate")
PTX_SPACE = {
    "gmem": ".global", "smem": ".shared::cta", "cluster": ".shared::cluster", "rmem": ".local", "const": ".const",
}  # fmt: skip
MAX_VECTOR_BYTES = 16


@op("ptr.add", source="PTX ISA: addresses as operands")
class PtrAdd(Op):
    """`p` moved by `bytes`; the result is known to be a multiple of `align` bytes."""

    p: Value
    bytes: Value
    align: int
    as_llvm = Llvm("$out = getelementptr i8, $p:type $p, $bytes:type $bytes")

    def result_types(self) -> tuple[Type, ...]:
        assert isinstance(self.p.type, Ptr)
        return (Ptr(self.p.type.space, self.align),)

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.p.type, Ptr):
            yield Problem("p", f"ptr.add takes a pointer, not {self.p.type}")
        elif self.bytes.type not in (i32, i64):
            yield Problem("bytes", f"the distance is an i32 or an i64, not {self.bytes.type}")

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(lanes.get(self.p) + lanes.get(self.bytes).astype(np.int64))


@op("ptr.from_address", source="cutelite: arrays of pointers")
class PtrFromAddress(Op):
    """The pointer to global memory at `address`, an i64 that is a multiple of `align`.

    In the simulator, `address` is a host address inside an array of the launch; any other gives a pointer that no
    access can use.
    """

    address: Value
    align: int
    as_llvm = Llvm("$out = inttoptr i64 $address to $out:type")

    def result_types(self) -> tuple[Type, ...]:
        return (Ptr("gmem", self.align),)

    def verify(self) -> Iterator[Problem]:
        if self.address.type is not i64:
            yield Problem("address", f"an address is an i64, not {self.address.type}")

    def simulate(self, lanes: Lanes) -> None:
        place = lanes.machine.from_host(lanes.get(self.address))
        lanes.fault(place % self.align != 0, f"the address is no multiple of {self.align}", "misaligned")
        lanes.define(place)


@op("ptr.rest", source="cutelite: views from an aligned address on")
class PtrRest(Op):
    """The address `p` modulo `divisor` bytes, a power of two, as an i32."""

    p: Value
    divisor: int
    gives = i32

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.p.type, Ptr):
            yield Problem("p", f"ptr.rest takes a pointer, not {self.p.type}")
        if self.divisor < 1 or self.divisor & (self.divisor - 1):
            yield Problem("divisor", f"the divisor is a power of two, not {self.divisor}")

    def llvm(self) -> Llvm:
        return Llvm(f"$.address = ptrtoint $p:type $p to i32\n$out = and i32 $.address, {self.divisor - 1}")

    def simulate(self, lanes: Lanes) -> None:
        lanes.define((lanes.get(self.p) & (self.divisor - 1)).astype(np.int32))


@op("ptr.swizzle", source="cutelite: swizzled tensors")
class PtrSwizzle(Op):
    """The pointer `p` to shared memory with `swizzle` applied to its address; a multiple of `align` bytes."""

    p: Value
    swizzle: Swizzle
    align: int

    def result_types(self) -> tuple[Type, ...]:
        assert isinstance(self.p.type, Ptr)
        return (Ptr(self.p.type.space, self.align),)

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.p.type, Ptr) or self.p.type.space not in ("smem", "cluster"):
            yield Problem("p", f"ptr.swizzle takes a pointer to shared memory, not {self.p.type}")

    def llvm(self) -> Llvm:
        shift = self.swizzle.shift
        return Llvm(
            "$.address = ptrtoint $p:type $p to i32\n"
            f"$.source = and i32 $.address, {self.swizzle.source_mask}\n"
            f"$.moved = {'lshr' if shift > 0 else 'shl'} i32 $.source, {abs(shift)}\n"
            "$.result = xor i32 $.address, $.moved\n"
            "$out = inttoptr i32 $.result to $out:type"
        )

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(self.swizzle(lanes.get(self.p)))


def access_problems(p: Value, t: Type, what: str) -> Iterator[Problem]:
    """Find problems of an access to a scalar or vector `t` at pointer `p`."""
    if not isinstance(p.type, Ptr):
        yield Problem("p", f"{what} takes a pointer, not {p.type}")
        return
    count = t.n if isinstance(t, Vec) else 1
    size = elem_of(t).bytes * count
    if count & (count - 1) or (count > 1 and size > MAX_VECTOR_BYTES):
        yield Problem("type", f"{what} of {t}: a vector access is 2, 4, 8 or 16 bytes", "split it, or use copy")
    elif p.type.align < size:
        yield Problem("p", f"{what} of {size} bytes at an address known to be a multiple of {p.type.align} only")


def written_problems(p: Value) -> Iterator[Problem]:
    """Find problems of writing to `p`, an address or tensor: constant memory cannot be written."""
    if isinstance(p.type, (Ptr, Tensor)) and p.type.space == "const":
        yield Problem("p", "constant memory cannot be written to", "copy the array to shared memory, or registers")


def hint_problems(
    p: Value, t: Type, cache: str, evict: str, caches: tuple[str, ...], prefetch: int = 0
) -> Iterator[Problem]:
    """Find problems of the hints of an access to a `t` at `p`, an address or a tensor."""
    space = p.type.space if isinstance(p.type, (Ptr, Tensor)) else "gmem"
    if cache not in caches:
        yield Problem("cache", f"{cache!r} is none of {', '.join(filter(None, caches))}")
    elif evict not in EVICTIONS:
        yield Problem("evict", f"{evict!r} is none of {', '.join(filter(None, EVICTIONS))}")
    elif evict and cache not in ("", "nc"):
        yield Problem("evict", f"PTX takes a cache operator or an eviction priority, not both {cache} and {evict}")
    elif (evict or cache == "nc") and space != "gmem":
        yield Problem("cache", f"{evict or cache} is for global memory")
    elif (evict or cache) and isinstance(t, Vec) and t.elem == boolean:
        yield Problem("cache", f"{evict or cache} is not for a vector of bools", "load bytes, and compare")
    if prefetch not in PREFETCHES:
        yield Problem("prefetch", f"{prefetch} is none of {', '.join(map(str, PREFETCHES))} bytes")
    elif prefetch and space != "gmem":
        yield Problem("prefetch", f"{space} does not lie behind L2")


@op("ld", effects=Effect.READS, source="PTX ISA: ld, ld.global.nc")
class Load(Op):
    """Load a scalar or vector of `type`.

    cache     '' or a PTX cache operator; 'nc' promises that nobody writes this memory during the kernel
    evict     '' or an L1 eviction priority (global memory only)
    prefetch  0, 64, 128 or 256: bytes around the access that L2 may also fetch (global memory only)
    """

    p: Value
    type: Type
    cache: str = ""
    evict: str = ""
    prefetch: int = 0
    gives = "type"

    def verify(self) -> Iterator[Problem]:
        yield from access_problems(self.p, self.type, "a load")
        yield from hint_problems(self.p, self.type, self.cache, self.evict, LOAD_CACHES, self.prefetch)

    def llvm(self) -> Llvm | None:
        if self.cache or self.evict or self.prefetch:
            return None
        return Llvm("$out = load $out:type, $p:type $p, align ${align}", group=0)

    @property
    def align(self) -> int:
        assert isinstance(self.p.type, Ptr)
        size = elem_of(self.type).bytes * (self.type.n if isinstance(self.type, Vec) else 1)
        return min(self.p.type.align, size)

    def ptx(self) -> Ptx | None:
        if not (self.cache or self.evict or self.prefetch):
            return None
        assert isinstance(self.p.type, Ptr)
        along = f".L2::{self.prefetch}B" if self.prefetch else ""
        start = f"ld{PTX_SPACE[self.p.type.space]}{hints(self.cache, self.evict)}{along}"
        if self.type == boolean:
            return Ptx(f"{{ .reg .b16 byte; {start}.b8 byte, [$p]; setp.ne.b16 $out, byte, 0; }}")
        suffix, packed = registers(self.type)
        return Ptx(f"{start}{suffix} $out, [$p];", packed=("out",) if packed else ())

    def simulate(self, lanes: Lanes) -> None:
        assert isinstance(self.p.type, Ptr)
        n = self.type.n if isinstance(self.type, Vec) else 1
        data = lanes.load(self.p.type.space, lanes.get(self.p), elem_of(self.type), n)
        lanes.define(data if isinstance(self.type, Vec) else data[:, 0])


@op("st", effects=Effect.WRITES, source="PTX ISA: st")
class Store(Op):
    """Write the scalar or vector `a` to memory. `cache` and `evict` as for `ld`."""

    p: Value
    a: Value
    cache: str = ""
    evict: str = ""

    def verify(self) -> Iterator[Problem]:
        yield from access_problems(self.p, self.a.type, "a store")
        yield from written_problems(self.p)
        yield from hint_problems(self.p, self.a.type, self.cache, self.evict, STORE_CACHES)

    def llvm(self) -> Llvm | None:
        if self.cache or self.evict:
            return None
        return Llvm("store $a:type $a, $p:type $p, align ${align}", group=0)

    @property
    def align(self) -> int:
        assert isinstance(self.p.type, Ptr)
        n = self.a.type.n if isinstance(self.a.type, Vec) else 1
        return min(self.p.type.align, elem_of(self.a.type).bytes * n)

    def ptx(self) -> Ptx | None:
        if not (self.cache or self.evict):
            return None
        assert isinstance(self.p.type, Ptr)
        start = f"st{PTX_SPACE[self.p.type.space]}{hints(self.cache, self.evict)}"
        if self.a.type == boolean:
            return Ptx(f"{{ .reg .b16 byte; selp.b16 byte, 1, 0, $a; {start}.b8 [$p], byte; }}")
        suffix, packed = registers(self.a.type)
        return Ptx(f"{start}{suffix} [$p], $a;", packed=("a",) if packed else ())

    def simulate(self, lanes: Lanes) -> None:
        assert isinstance(self.p.type, Ptr)
        data = lanes.get(self.a)
        data = data if data.ndim == 2 else data[:, None]
        lanes.store(self.p.type.space, lanes.get(self.p), elem_of(self.a.type), data)


def hints(cache: str, evict: str) -> str:
    """Return the cache operator and eviction priority as PTX writes them."""
    return (f".{cache}" if cache else "") + (f".L1::{evict}" if evict else "")


def registers(t: Type) -> tuple[str, bool]:
    """Return PTX's suffix for an access to `t`, `.v4.b32` for vec<f32,4>, and whether elements share registers."""
    elem = elem_of(t)
    if not isinstance(t, Vec):
        return f".b{max(8, elem.bits)}", False
    packed = elem.bits < 32
    width = min(32, elem.bits * t.n) if packed else elem.bits
    count = elem.bits * t.n // width
    return f"{f'.v{count}' if count > 1 else ''}.b{width}", packed
