"""Memory: address spaces made of regions, and accesses that check every address.

A region is a contiguous range of bytes: the memory of a kernel argument, the shared memory of a CTA, the local memory
of its threads. Regions of global memory are far apart, so that an address beyond the end of one argument is not in
another. An access that is misaligned, or not within one region, is an error.

For each byte of shared and local memory there is a state: unwritten, written, part of a live mbarrier, or of no
allocation.

Accesses are vectorised: addresses are int64 arrays, and one gather or scatter handles all of them. A *unit* is the data
at one address of a gather: 1, 2, 4, 8 or 16 bytes, aligned to its size.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NoReturn, Protocol

import numpy as np

from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import Scalar
from cutelite.sim.actors import Accuser
from cutelite.sim.error import Place, SimError

Array = Any

UNWRITTEN, WRITTEN, BARRIER, NOBODYS = 0, 1, 2, 4
"""States of a byte of shared or local memory; NOBODYS: it belongs to no allocation."""

GLOBAL_BASE = 1 << 40
GUARD = 1 << 20  # bytes between two regions of global memory, at least

UNITS: dict[int, Any] = {
    1: np.dtype("u1"),
    2: np.dtype("u2"),
    4: np.dtype("u4"),
    8: np.dtype("u8"),
    16: np.dtype("V16"),
}
_SHIFTS = {size: np.uint64(size.bit_length() - 1) for size in UNITS}
_LOW_BITS = {size: np.int64(size - 1) for size in UNITS}
_largest: Any = np.maximum.reduce  # one pass over memory; comparing and counting are two
_bits: Any = np.bitwise_or.reduce
_FLAGS = {size: np.dtype(f"u{min(size, 8)}") for size in UNITS}  # for units of 16 bytes two numbers of 8 are compared
_PATTERN = {  # the same state in every byte of a unit
    state: {size: np.array(int.from_bytes(bytes([state] * min(size, 8))), _FLAGS[size]) for size in UNITS}
    for state in (WRITTEN, BARRIER | NOBODYS)
}
_WRITTEN = {size: np.full(size, WRITTEN, np.uint8).view(unit)[0] for size, unit in UNITS.items()}


class Observer(Protocol):
    """An observer of accesses, called for each valid one. The checker of the memory model is one."""

    def access(
        self, who: Accuser, region: Region, offset: Array, unit: int, kind: str, data: Array | None
    ) -> Array | None:
        """Observe an access to units of `unit` bytes at offsets `offset` in `region`: a 'read', 'write' or 'atomic'.

        data    the units that a write is about to store, or that an atomic operation has found; None for a read
        Result  for a read the units that it returns instead of those in memory, or None
        """

    def tolerates(self, error: SimError) -> bool:
        """Tell whether to go on after a read of unwritten memory, to find further mistakes."""


class Region:
    """Bytes at addresses from `base` on.

    names   offset -> name of the allocation that begins there; if `period` is not 0, these repeat with that period
    state   the state of each byte, `UNWRITTEN` and so on; None where it is not tracked (global memory)
    tensor  whether it is tensor memory
    """

    __slots__ = ("_flags", "_views", "base", "bytes", "dead", "names", "period", "read_only", "size", "state", "tensor")

    def __init__(self, base: int, bytes: Array, names: dict[int, str], *, tracked: bool = False, period: int = 0):
        self.base, self.bytes, self.names, self.period = base, bytes, names, period
        self.size = len(bytes)
        self.state: Array | None = np.zeros(self.size, np.uint8) if tracked else None
        self.read_only = False
        self.dead = False
        self.tensor = False
        self._views: dict[int, tuple[Any, Array]] = {}
        self._flags: dict[int, Array] = {}

    def view(self, unit: int) -> tuple[Any, Array]:
        """Return the address of the first aligned unit, and the bytes as aligned units."""
        found = self._views.get(unit)
        if found is None:
            lead = -self.base % unit
            whole = max(0, self.size - lead) // unit * unit
            units = self.bytes[lead : lead + whole].view(UNITS[unit]) if not self.dead else np.zeros(0, UNITS[unit])
            found = self._views[unit] = (np.int64(self.base + lead), units)
        return found

    def flags(self, unit: int) -> Array:
        """Return the states of the bytes, as a number for each unit; as 16 bytes (V16) for units of 16."""
        found = self._flags.get(unit)
        if found is None:
            assert self.state is not None
            found = self._flags[unit] = self.state[: self.size // unit * unit].view(UNITS[unit])
        return found

    def kill(self) -> None:
        """Make every further access an error: the CTA that the region belongs to has exited."""
        self.dead = True
        self._views.clear()

    def place(self, space: str, address: int) -> Place:
        offset = address - self.base
        within = offset % self.period if self.period and 0 <= offset < self.size else offset
        starts = sorted(self.names)
        at = max(0, bisect_right(starts, within) - 1)
        return Place(space, address, self.names[starts[at]], within - starts[at]) if starts else Place(space, address)


@lru_cache(maxsize=256)
def is_part(name: str, names: Iterable[str]) -> bool:
    """Tell whether the argument `name` is one of `names`, or in a list, structure or array of pointers that is."""
    return any(name == each or name.startswith((f"{each}.", f"{each}[")) for each in names)


class Writes:
    """The number of writes so far to memory that others may look at."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Space:
    """The regions of one address space, as one CTA sees them."""

    def __init__(
        self, name: str, regions: list[Region], observer: Observer | None = None, writes: Writes | None = None
    ) -> None:
        self.name = name
        self.regions = sorted(regions, key=lambda region: region.base) or [Region(0, np.zeros(0, np.uint8), {})]
        self.bases = np.array([region.base for region in self.regions], np.int64)
        self.observer = observer
        self.writes = writes or Writes()
        self.recent = self.regions[0]

    def load(self, address: Array, elem: Scalar, n: int, who: Accuser, tell: bool = True) -> Array:
        """Return `n` elements from each address, ``address.shape + (n,)``. `tell`: report it to the observer."""
        dtype = memory_dtype(elem)
        flat, unit = _units(address, dtype.itemsize * n)
        data = self._gather(flat, unit, who, flat.size // (address.size or 1), tell)
        data = data.view(dtype).reshape((*address.shape, n))
        return data.astype(bool) if elem.kind == "bool" else data

    def store(self, address: Array, elem: Scalar, data: Array, who: Accuser) -> None:
        """Write data, of the shape ``address.shape + (n,)``. Of equal addresses, the last one's data stays."""
        data = np.ascontiguousarray(data, memory_dtype(elem))
        flat, unit = _units(address, data.itemsize * data.shape[-1])
        self._scatter(flat, unit, data.reshape(-1).view(UNITS[unit]), who, flat.size // (address.size or 1))
        self.writes.count += 1

    def region_at(self, address: int) -> Region:
        """Return the last region that begins at or below `address`; else the first one."""
        return self.regions[max(0, bisect_right(self.bases.tolist(), address) - 1)]

    def place(self, address: int) -> Place:
        return self.region_at(address).place(self.name, address)

    def locate(self, flat: Array, unit: int, who: Accuser, pieces: int = 1) -> tuple[Region, Array] | None:
        """Return the region that contains all these units, and their indices in it; None if they are in several."""
        region = self.recent
        origin, units = region.view(unit)
        index = (flat - origin).view(np.uint64) >> _SHIFTS[unit]  # unsigned: an address below becomes huge
        if not index.size or _largest(index) < len(units):
            return region, index.view(np.int64)
        if len(self.regions) > 1:
            other = self.region_at(int(flat[0]))
            if other is not region:
                self.recent = other
                return self.locate(flat, unit, who, pieces)
            if self.region_at(int(flat.min())) is not self.region_at(int(flat.max())):
                return None
        return self._refuse(int(np.argmax(index >= len(units))), flat, unit, who, pieces)

    def _gather(self, flat: Array, unit: int, who: Accuser, pieces: int, tell: bool) -> Array:
        found = self.locate(flat, unit, who, pieces)
        if found is None:
            data = np.zeros(flat.size, UNITS[unit])
            for part in self._parts(flat):
                data[part] = self._gather(flat[part], unit, Selected(who, part, pieces), 1, tell)
            return data
        region, index = found
        if unit > 1 and _bits(flat) & _LOW_BITS[unit]:
            self._misaligned(flat, unit, who, pieces)
        if region.state is not None:
            flags = region.flags(unit)[index].view(_FLAGS[unit])
            if np.count_nonzero(flags != _PATTERN[WRITTEN][unit]):
                try:
                    self._unreadable(region, flat, unit, who, pieces)
                except SimError as error:
                    if self.observer is None or not self.observer.tolerates(error):
                        raise
        if tell and self.observer is not None:
            seen = self.observer.access(who, region, flat - region.base, unit, "read", None)
            if seen is not None:
                return seen
        return region.view(unit)[1][index]

    def _scatter(self, flat: Array, unit: int, data: Array, who: Accuser, pieces: int, kind: str = "write") -> None:
        found = self.locate(flat, unit, who, pieces)
        if found is None:
            for part in self._parts(flat):
                self._scatter(flat[part], unit, data[part], Selected(who, part, pieces), 1, kind)
            return
        region, index = found
        if unit > 1 and _bits(flat) & _LOW_BITS[unit]:
            self._misaligned(flat, unit, who, pieces)
        if region.read_only:
            name = region.place(self.name, int(flat[0]))
            who.fail("read-only", f"a write to `{name.name}`, which is read-only", element=0, place=name)
        if region.state is not None:
            flags = region.flags(unit)
            if np.count_nonzero(flags[index].view(_FLAGS[unit]) & _PATTERN[BARRIER | NOBODYS][unit]):
                self._unwritable(region, flat, unit, who, pieces)
            flags[index] = _WRITTEN[unit]
        if kind == "write" and self.observer is not None:
            self.observer.access(who, region, flat - region.base, unit, kind, data)
        region.view(unit)[1][index] = data

    def update(self, flat: Array, old: Array, new: Array, who: Accuser) -> None:
        """Write `new` at distinct addresses where `old` was just read: the second half of an atomic operation."""
        self._scatter(flat, old.itemsize, new.view(UNITS[old.itemsize]), who, 1, "atomic")
        self.writes.count += old.tobytes() != new.tobytes()

    def tell(self, flat: Array, unit: int, who: Accuser, kind: str, data: Array) -> None:
        """Report a valid access at each of these addresses to the observer, if there is one."""
        if self.observer is None:
            return
        found = self.locate(flat, unit, who)
        if found is not None:
            self.observer.access(who, found[0], flat - found[0].base, unit, kind, data.view(UNITS[unit]))
            return
        for part in self._parts(flat):
            self.tell(flat[part], unit, Selected(who, part, 1), kind, data[part])

    def _parts(self, flat: Array) -> list[Array]:
        which = np.searchsorted(self.bases, flat, "right")
        return [(which == i).nonzero()[0] for i in sorted(set(which.tolist()))]

    # Errors of accesses. `at` is the first position at fault.

    def _refuse(self, at: int, flat: Array, unit: int, who: Accuser, pieces: int) -> NoReturn:
        address = int(flat[at])
        region = self.region_at(address)
        place = region.place(self.name, address)
        if address % unit and not region.dead:
            self._misaligned(flat, unit, who, pieces)
        if region.dead:
            title = "an access to the shared memory of a block that has exited"
            help = (
                "let the block wait before it ends: for its own copies, and on an mbarrier or at a cluster barrier for "
                "what others send it"
            )
            who.fail("exited-block", title, element=at // pieces, place=place, help=help)
        beyond = address + unit - region.base - region.size
        before = region.base - address
        near = 0 < beyond < GUARD or 0 < before < GUARD
        if not place.name or not near:
            title = f"an access to {self.name} memory that is not allocated"
            who.fail("out-of-bounds", title, element=at // pieces, place=Place(self.name, address))
        where = f"ends {beyond} bytes behind" if beyond > 0 else f"begins {before} bytes before"
        size = (region.period or region.size) - (address - region.base - place.offset)
        title, label = f"an access that {where} `{place.name}`", f"{unit} bytes; `{place.name}` has {size}"
        help = "" if size else "ask for dynamic memory in the launch: `kernel[grid, block, stream, bytes]`, stream None"
        who.fail("out-of-bounds", title, element=at // pieces, place=place, label=label, help=help)

    def _misaligned(self, flat: Array, unit: int, who: Accuser, pieces: int) -> NoReturn:
        at = int(np.argmax(flat & _LOW_BITS[unit] != 0))
        title = f"an access of {unit} bytes at an address that is no multiple of {unit}"
        who.fail("misaligned", title, element=at // pieces, place=self.place(int(flat[at])))

    def _worst(self, region: Region, flat: Array, unit: int) -> tuple[int, int, Array]:
        """Return position, address and state of the first byte that is not `WRITTEN`."""
        assert region.state is not None
        states = region.state[(flat - region.base)[:, None] + np.arange(unit)]
        at, byte = divmod(int(np.argmax(states != WRITTEN)), unit)
        return at, int(flat[at]) + byte, states[at, byte]

    def _unreadable(self, region: Region, flat: Array, unit: int, who: Accuser, pieces: int) -> NoReturn:
        at, address, state = self._worst(region, flat, unit)
        if state != UNWRITTEN:
            self._not_data(state, at, address, who, pieces, "read")
        where = "shared memory" if self.name != "rmem" else "a register tensor"
        title = f"a read of {where} that nothing was written to"
        who.fail("uninitialised", title, element=at // pieces, place=self.place(address))

    def _unwritable(self, region: Region, flat: Array, unit: int, who: Accuser, pieces: int) -> NoReturn:
        assert region.state is not None
        states = region.state[(flat - region.base)[:, None] + np.arange(unit)]
        at, byte = divmod(int(np.argmax(states & (BARRIER | NOBODYS) != 0)), unit)
        self._not_data(states[at, byte], at, int(flat[at]) + byte, who, pieces, "write")

    def _not_data(self, state: int, at: int, address: int, who: Accuser, pieces: int, verb: str) -> NoReturn:
        if state == BARRIER:
            title = f"an ordinary {verb} of a live mbarrier"
            help = "use the mbarrier operations, or `inval` it before its memory is used for something else"
            who.fail("mbarrier-bytes", title, element=at // pieces, place=self.place(address), help=help)
        title = f"a {verb} of {self.name} memory that belongs to no tensor"
        who.fail("out-of-bounds", title, element=at // pieces, place=self.place(address))


class Selected:
    """The `Accuser` for some of the addresses of an access: it translates their positions to those among all."""

    def __init__(self, who: Accuser, positions: Array, pieces: int) -> None:
        self.who, self.positions, self.pieces = who, positions, pieces

    def fail(self, code: str, title: str, *, element: int | None = None, **rest: Any) -> NoReturn:
        if element is not None:
            element = int(self.positions[element]) // self.pieces
        self.who.fail(code, title, element=element, **rest)


def memory_dtype(elem: Scalar) -> Any:
    """Return the NumPy dtype of `elem` in memory: as in registers, but a bool is a u8."""
    found = _MEMORY_DTYPES.get(elem.name)
    if found is None:
        found = _MEMORY_DTYPES[elem.name] = np.dtype(np.uint8) if elem.kind == "bool" else numpy_dtype(elem)
    return found


_MEMORY_DTYPES: dict[str, Any] = {}


def _units(address: Array, bytes: int) -> tuple[Array, int]:
    """Return the addresses of the units for accesses of `bytes` bytes at each address, and the size of a unit."""
    unit = min(bytes & -bytes, 16)
    flat = np.asarray(address, np.int64).reshape(-1)
    if unit == bytes:
        return flat, unit
    return (flat[:, None] + np.arange(0, bytes, unit)).reshape(-1), unit
