"""The swizzles of shared memory that TMA and wgmma share."""

from __future__ import annotations

from cutelite.layout import Swizzle

SWIZZLES: dict[str, Swizzle | None] = {
    "none": None,
    "32B": Swizzle(1, 4, 3),
    "64B": Swizzle(2, 4, 3),
    "128B": Swizzle(3, 4, 3),
    "128B_ATOM_32B": Swizzle(2, 5, 2),
}
"""The patterns of TMA and wgmma as XORs of byte-address bits (PTX ISA, swizzling modes); the last is Blackwell's."""

SWIZZLE_REPEAT = {"none": 16, "32B": 256, "64B": 512, "128B": 1024, "128B_ATOM_32B": 512}
"""The period of each pattern in bytes, which is the alignment that tiles need (TMA itself needs 128)."""


def span_of(swizzle: str) -> int:
    """Return the bytes of a row that a pattern permutes; 16 without one."""
    return 16 if swizzle == "none" else int(swizzle.split("B")[0])


def rows_of(swizzle: str) -> int:
    """Return the rows of `span_of` bytes after which a pattern repeats; 8 for 'none', as tensor cores read."""
    return 8 if swizzle == "none" else SWIZZLE_REPEAT[swizzle] // span_of(swizzle)
