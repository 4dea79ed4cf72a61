"""The cost of a warp's accesses through a layout: bank conflicts in shared memory, sectors in global memory.

In: a layout from (thread, value), or thread alone, to element offsets; the width of an element; the bytes that one
instruction moves per thread. Out: reports with the numbers of the hardware's counters, which print as text.

Shared memory has 32 banks of 4 bytes: successive words lie in successive banks, and a bank gives one word at a time
(the same word to any number of threads). A warp's request is served in phases of at most 128 bytes: all 32 threads
together up to 4 bytes each, halves of the warp for 8, quarters for 16; ldmatrix and stmatrix in phases of 8 rows of 16
bytes. Global memory moves in sectors of 32 bytes, four to a cache line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cutelite.layout.errors import LayoutError
from cutelite.layout.frozen import Frozen
from cutelite.layout.inttuple import is_static, rank, size

WARP = 32  # as `target.targets` has it: a leaf imports nothing of ours
BANKS = 32
BANK_BYTES = 4
PHASE_BYTES = BANKS * BANK_BYTES
SECTOR_BYTES = 32
LINE_BYTES = 128


class BankReport(Frozen):
    """The bank conflicts of accesses: the most words that one bank gives, phase by phase.

    phases   per phase the most words that one bank must give: 1 is free of conflicts
    worst    (thread, byte address) of the threads that meet in the fullest bank of the worst phase
    """

    __slots__ = ("phases", "worst")
    phases: tuple[int, ...]
    worst: tuple[tuple[int, int], ...]

    @property
    def ways(self) -> int:
        """The worst phase: 1 where there is no conflict, 8 for an 8-way conflict."""
        return max(self.phases)

    @property
    def wavefronts(self) -> int:
        """The passes through shared memory of all phases together; `len(phases)` of them without conflicts."""
        return sum(self.phases)

    def __str__(self) -> str:
        if self.ways == 1:
            return f"no bank conflicts in {len(self.phases)} phases"
        who = ", ".join(f"thread {t} at byte {a}" for t, a in self.worst[:4]) + (", ..." if len(self.worst) > 4 else "")
        return (
            f"{self.ways}-way bank conflicts: {self.wavefronts} wavefronts for {len(self.phases)} phases; "
            f"bank {self.worst[0][1] // BANK_BYTES % BANKS} has {who}"
        )


class SectorReport(Frozen):
    """The traffic of global memory for a warp's accesses.

    sectors   per request, the number of sectors of 32 bytes that it touches
    needed    per request, the number of sectors that would hold its bytes
    lines     per request, the number of cache lines of 128 bytes that it touches
    """

    __slots__ = ("lines", "needed", "sectors")
    lines: tuple[int, ...]
    needed: tuple[int, ...]
    sectors: tuple[int, ...]

    @property
    def per_request(self) -> float:
        """Sectors per request, as profilers show it."""
        return sum(self.sectors) / len(self.sectors)

    @property
    def efficiency(self) -> float:
        """The fraction of the moved sectors that the requests need."""
        return sum(self.needed) / sum(self.sectors)

    def __str__(self) -> str:
        return (
            f"{self.per_request:g} sectors per request in {len(self.sectors)} requests, "
            f"{100 * self.efficiency:.0f}% of them needed"
        )


def requests(function: str, layout: Any, bits: int, access_bytes: int | None) -> Iterator[tuple[int, list[int], int]]:
    """Yield (first thread, byte address of every thread, bytes each) for every instruction that a warp executes."""
    if not is_static(layout):
        raise LayoutError(function, f"{layout} is known at launch only")
    if isinstance(layout(0), tuple):
        raise LayoutError(function, f"{layout} gives coordinates, not offsets")
    threads = int(size(layout, 0)) if rank(layout) > 1 else int(size(layout))
    values = int(size(layout)) // threads
    if access_bytes is None:
        own = max(1, values * bits // 8)
        access_bytes = min(16, own & -own)
    elements = access_bytes * 8 // bits
    if access_bytes not in (1, 2, 4, 8, 16) or elements * bits != access_bytes * 8:
        message = f"an access has 1, 2, 4, 8 or 16 bytes of whole elements, not {access_bytes}"
        raise LayoutError(function, message, access_bytes=access_bytes)
    if rank(layout) > 2 or (rank(layout) == 2 and values % elements):
        message = f"{layout} must map (thread, value) with values in whole accesses of {elements} elements"
        raise LayoutError(function, message, values=values, elements=elements)
    for first in range(0, threads, WARP):
        for value in range(0, values, elements):
            addresses = []
            for thread in range(first, min(first + WARP, threads)):
                offset = _vector(function, layout, thread, value, elements)
                if offset * bits % (access_bytes * 8):
                    message = f"thread {thread} accesses {access_bytes} bytes at byte {offset * bits // 8}: misaligned"
                    raise LayoutError(function, message, thread=thread, address=offset * bits // 8)
                addresses.append(offset * bits // 8)
            yield first, addresses, access_bytes


def _vector(function: str, layout: Any, thread: int, value: int, elements: int) -> int:
    """Return the offset of a thread's vector; its elements must be contiguous."""
    if rank(layout) < 2:
        return int(layout(thread))
    offset = int(layout(thread, value))
    for k in range(1, elements):
        if layout(thread, value + k) != offset + k:
            message = f"values {value} to {value + elements - 1} of thread {thread} in {layout} are not contiguous"
            raise LayoutError(function, message, thread=thread, value=value + k)
    return offset


def bank_conflicts(layout: Any, bits: int, access_bytes: int | None = None) -> BankReport:
    """Return the bank conflicts of all threads that access shared memory through a layout.

    layout        (thread, value), or thread, -> element offset; may be swizzled. For ldmatrix and stmatrix the layout
                  of the row addresses, threads being rows, with access_bytes=16
    bits          bits of an element
    access_bytes  bytes per thread and instruction: 1, 2, 4, 8 or 16. Default: the most that a thread's values fill; for
                  a layout of threads alone, one element (with more, an access also takes the elements that follow)
    Errors        for accesses that are misaligned or not contiguous

    >>> from cutelite.layout import Layout, Swizzle, composition
    >>> print(bank_conflicts(Layout(32, 32), 32))
    32-way bank conflicts: 32 wavefronts for 1 phases; bank 0 has thread 0 at byte 0, thread 1 at byte 128, \
thread 2 at byte 256, thread 3 at byte 384, ...
    >>> print(bank_conflicts(composition(Swizzle(5, 0, 5), Layout(32, 32)), 32))
    no bank conflicts in 1 phases
    """
    phases: list[int] = []
    worst: tuple[tuple[int, int], ...] = ()
    for first, addresses, width in requests("bank_conflicts", layout, bits, access_bytes):
        at_once = min(WARP, PHASE_BYTES // width)
        for start in range(0, len(addresses), at_once):
            phase = addresses[start : start + at_once]
            ways, bank = fullest_bank(phase, width)
            if ways > max(phases, default=1):
                words = {
                    a // BANK_BYTES + k: (first + start + i, a) for i, a in enumerate(phase) for k in _words(width)
                }
                worst = tuple(who for word, who in sorted(words.items()) if word % BANKS == bank)
            phases.append(ways)
    return BankReport(tuple(phases), worst)


def _words(width: int) -> range:
    return range(-(-width // BANK_BYTES))


def fullest_bank(addresses: Sequence[int], width: int) -> tuple[int, int]:
    """Return the most words that one bank must give for accesses of `width` bytes, and that bank."""
    words = {address // BANK_BYTES + k for address in addresses for k in _words(width)}
    counts = [0] * BANKS
    for word in words:
        counts[word % BANKS] += 1
    most = max(counts)
    return most, counts.index(most)


def sectors(layout: Any, bits: int, access_bytes: int | None = None, offset: int = 0) -> SectorReport:
    """Return the sectors of global memory that all threads touch through a layout: whether their accesses coalesce.

    layout        (thread, value), or thread, -> element offset from a pointer aligned to 128 bytes
    bits          bits of an element
    access_bytes  as for `bank_conflicts`
    offset        the tensor's distance from such a pointer, in elements

    >>> from cutelite.layout import Layout
    >>> print(sectors(Layout(32), 32))
    4 sectors per request in 1 requests, 100% of them needed
    >>> print(sectors(Layout(32, 8), 32))
    32 sectors per request in 1 requests, 12% of them needed
    """
    counts: list[tuple[int, int, int]] = []
    for _, addresses, width in requests("sectors", layout, bits, access_bytes):
        starts = [address + offset * bits // 8 for address in addresses]
        touched = {(start + k) // SECTOR_BYTES for start in starts for k in range(0, width, min(width, SECTOR_BYTES))}
        asked = len(set(starts)) * width
        counts.append((len({s * SECTOR_BYTES // LINE_BYTES for s in touched}), -(-asked // SECTOR_BYTES), len(touched)))
    lines, needed, moved = zip(*counts, strict=True)
    return SectorReport(lines, needed, moved)
