"""The swizzles of shared memory that TMA and wgmma share."""

from __future__ import annotations

from cutelite.layout import Swizzle

SWIZZLES: dict[str, Swizzle | None] = {
    "none": None,
    "32B": Swizzle(1, 4, 3),
    "64B": Swizzle(2, 4, 3),
    "128B": Swizzle(3, 4, 3),
}
"""The patterns of TMA and wgmma as XORs of byte-address bits (PTX ISA, swizzling modes)."""

SWIZZLE_REPEAT = {"none": 16, "32B": 256, "64B": 512, "128B": 1024}
"""The period of each pattern in bytes, which is the alignment that tiles need (TMA itself needs 128)."""
