"""Finding the swizzle that frees a set of shared-memory accesses of bank conflicts, and what Hopper's units accept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cutelite.layout.access import PHASE_BYTES, WARP, BankReport, bank_conflicts, fullest_bank, requests
from cutelite.layout.errors import LayoutError
from cutelite.layout.frozen import Frozen
from cutelite.layout.inttuple import flatten_to_tuple, is_static
from cutelite.layout.layout import ComposedLayout, Layout
from cutelite.layout.swizzle import Swizzle

HOPPER_SPANS = {0: 16, 1: 32, 2: 64, 3: 128}
"""Bits of a swizzle of 16-byte units -> the bytes of a row it permutes (CUtensorMapSwizzle, wgmma descriptors)."""


class SwizzleSearch(Frozen):
    """The result of `synthesize_swizzle`.

    swizzle  the swizzle of element offsets that frees every access of conflicts; None if there is none
    best     the best swizzle there is; equal to `swizzle` if that is not None
    reports  the bank conflicts of every access under `best`
    tried    the number of swizzles compared: all that keep the accesses contiguous and within the tile
    hopper   the name of `best` in TMA and wgmma: "none", "32B", "64B", "128B"; None if they do not have it
    """

    __slots__ = ("swizzle", "best", "reports", "tried", "hopper")  # noqa: RUF023 (what matters most comes first)
    swizzle: Swizzle | None
    best: Swizzle
    reports: tuple[BankReport, ...]
    tried: int
    hopper: str | None

    def __str__(self) -> str:
        unit = f"TMA and wgmma: {self.hopper}" if self.hopper else "not one of TMA's and wgmma's"
        if self.swizzle is not None:
            return f"{self.swizzle} is free of bank conflicts ({unit})"
        ways = ", ".join(f"{report.ways}" for report in self.reports)
        return f"none of {self.tried} swizzles is free of bank conflicts; {self.best} leaves {ways} ways ({unit})"


def synthesize_swizzle(accesses: Sequence[Any], bits: int, *, hopper_only: bool = False) -> SwizzleSearch:
    """Find the swizzle of a tile's element offsets under which no access has bank conflicts, or prove there is none.

    accesses     layouts as for `bank_conflicts`, or (layout, access_bytes) pairs; all into one tile, not swizzled yet
    bits         bits of an element
    hopper_only  consider only the swizzles of TMA and wgmma
    The search is exhaustive over all Swizzle(b, m, s) that keep every access contiguous and stay within the tile (its
    extent rounded up to a power of two). Of several it prefers no swizzle, then Hopper's, then the fewest bits.

    >>> rows, columns = Layout((32, 1), (32, 0)), Layout((32, 1), (1, 0))
    >>> print(synthesize_swizzle([rows, columns], 32))
    S<5,0,5> is free of bank conflicts (not one of TMA's and wgmma's)
    >>> print(synthesize_swizzle([rows, columns], 32, hopper_only=True))
    none of 4 swizzles is free of bank conflicts; S<3,2,3> leaves 4, 1 ways (TMA and wgmma: 128B)
    """
    pairs = [access if isinstance(access, tuple) else (access, None) for access in accesses]
    if not pairs:
        raise LayoutError("synthesize_swizzle", "needs at least one access")
    phases: list[tuple[list[int], int]] = []
    for layout, access_bytes in pairs:
        for _, addresses, width in requests("synthesize_swizzle", layout, bits, access_bytes):
            at_once = min(WARP, PHASE_BYTES // width)
            phases += [(addresses[i : i + at_once], width) for i in range(0, len(addresses), at_once)]
    keep = (max(width for _, width in phases) - 1).bit_length()
    keep = max(keep, (bits // 8 - 1).bit_length())
    top = max(1, max(max(addresses) + width - 1 for addresses, width in phases)).bit_length()
    best, fewest, tried = Swizzle(0, 4, 3), 1 << 30, 0
    for swizzle in _candidates(keep, top, hopper_only):
        tried += 1
        total = 0
        for addresses, width in phases:
            total += fullest_bank([swizzle(address) for address in addresses], width)[0] - 1
            if total >= fewest:
                break
        else:
            best, fewest = swizzle, total
        if fewest == 0:
            break
    of_elements = Swizzle(best.bits, best.base - (bits // 8).bit_length() + 1, best.shift)
    reports = tuple(bank_conflicts(ComposedLayout(of_elements, 0, layout), bits, width) for layout, width in pairs)
    found = of_elements if fewest == 0 else None
    return SwizzleSearch(found, of_elements, reports, tried, hopper_swizzle(of_elements, bits))


def _candidates(keep: int, top: int, hopper_only: bool) -> Iterator[Swizzle]:
    """Yield swizzles of byte addresses below 2**top that keep the low bits, in order of preference."""
    hopper = [Swizzle(bits, 4, 3) for bits in HOPPER_SPANS if bits == 0 or (keep <= 4 and 7 + bits <= top)]
    if hopper_only:
        yield from (Swizzle(bits, 4, 3) for bits in HOPPER_SPANS)
        return
    yield from hopper
    for bits in range(1, top):
        for shift in range(bits, top):
            for base in range(keep, top - bits - shift + 1):
                for signed in (shift, -shift):
                    swizzle = Swizzle(bits, base, signed)
                    if swizzle not in hopper:
                        yield swizzle


def hopper_swizzle(swizzle: Swizzle, bits: int) -> str | None:
    """Return the name of a swizzle of elements in TMA and wgmma: "none", "32B", "64B" or "128B"; None without one.

    Their units permute 16-byte pieces by the bits above the 128-byte line: S<b,4,3> of byte addresses.

    >>> hopper_swizzle(Swizzle(3, 3, 3), 16), hopper_swizzle(Swizzle(3, 0, 3), 16), hopper_swizzle(Swizzle(0, 0, 0), 8)
    ('128B', None, 'none')
    """
    if swizzle.bits == 0:
        return "none"
    base = swizzle.base + (bits // 8).bit_length() - 1
    if (base, swizzle.shift) != (4, 3) or swizzle.bits not in HOPPER_SPANS or bits % 8:
        return None
    return f"{HOPPER_SPANS[swizzle.bits]}B"


def _parts(function: str, layout: Any) -> tuple[Swizzle, Layout]:
    if isinstance(layout, ComposedLayout) and isinstance(layout.inner, Swizzle) and isinstance(layout.outer, Layout):
        if not (isinstance(layout.offset, int) and layout.offset == 0):
            raise LayoutError(function, f"{layout} begins at offset {layout.offset}, not at 0")
        swizzle, outer = layout.inner, layout.outer
    elif isinstance(layout, Layout):
        swizzle, outer = Swizzle(0, 4, 3), layout
    else:
        raise LayoutError(function, f"{layout} is neither a layout nor a swizzle of one")
    if not is_static(outer):
        raise LayoutError(function, f"{layout} is known at launch only")
    if not all(isinstance(d, int) for d in flatten_to_tuple(outer.stride)):
        raise LayoutError(function, f"the strides of {layout} are no plain offsets")
    return swizzle, outer


def _by_stride(layout: Layout) -> list[tuple[int, int]]:
    """Return (extent, stride) of the modes that are not of size 1, by stride."""
    modes = zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True)
    return sorted(((s, d) for s, d in modes if s != 1), key=lambda mode: mode[1])


def tma_problems(layout: Any, bits: int) -> list[str]:
    """Return why TMA cannot fill or read a tile of shared memory of that layout in one box; empty if it can.

    >>> tma_problems(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((64, 64), (64, 1))), 16)
    []
    >>> tma_problems(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((64, 128), (128, 1))), 16)
    ['its rows of 256 bytes are longer than the 128 bytes that the swizzle permutes']
    """
    swizzle, outer = _parts("tma_problems", layout)
    problems = []
    name = hopper_swizzle(swizzle, bits)
    if name is None:
        problems.append(f"{swizzle} of {bits}-bit elements is no swizzle of TMA's")
    modes = _by_stride(outer)
    extents = 1
    for s, d in modes:
        if d != extents:
            problems.append(f"its elements are not dense: stride {d} does not continue the {extents} below it")
            break
        extents *= s
    row = (modes[0][0] if modes else 1) * bits // 8
    if row % 16:
        problems.append(f"its rows of {row} bytes are no multiple of 16")
    if name not in (None, "none") and row > HOPPER_SPANS[swizzle.bits]:
        problems.append(f"its rows of {row} bytes are longer than the {name[:-1]} bytes that the swizzle permutes")
    problems += [f"extent {s} is above 256" for s, _ in modes if s > 256]
    if len(modes) > 5:
        problems.append(f"{len(modes)} modes are more than 5")
    return problems


def wgmma_problems(layout: Any, bits: int) -> list[str]:
    """Return why wgmma cannot read an operand of that shared-memory layout; empty if it can.

    It reads blocks of 8 rows, each as long as the swizzle permutes (16 bytes without one), row behind row.

    >>> wgmma_problems(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((64, 64), (64, 1))), 16)
    []
    >>> wgmma_problems(Layout((64, 64), (64, 1)), 16)
    ['its rows are 128 bytes long, but those of a swizzle "none" are 16']
    """
    swizzle, outer = _parts("wgmma_problems", layout)
    name = hopper_swizzle(swizzle, bits)
    if name is None:
        return [f"{swizzle} of {bits}-bit elements is no swizzle of wgmma's"]
    span = HOPPER_SPANS[swizzle.bits]
    modes = _by_stride(outer)
    problems = []
    row = modes[0][0] * bits // 8 if modes and modes[0][1] == 1 else bits // 8
    if row != span:
        problems.append(f'its rows are {row} bytes long, but those of a swizzle "{name}" are {span}')
    elif len(modes) < 2 or modes[1][1] * bits // 8 != span:
        problems.append(f"its rows do not lie {span} bytes apart")
    elif modes[1][0] % 8:
        problems.append(f"its {modes[1][0]} rows are no multiple of 8")
    problems += [
        f"stride {d} is not a multiple of a block of 8 rows" for _, d in modes[2:] if d * bits // 8 % (8 * span)
    ]
    return problems
