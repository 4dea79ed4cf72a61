"""The register file of a CTA, which setmaxnreg redistributes between warps (PTX ISA: setmaxnreg)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cutelite.ir.simulation import Wait
from cutelite.sim.actors import Executing
from cutelite.target.targets import MOST_REGISTERS, WARP, registers_at_launch

Array = Any


class RegisterPool:
    """The registers that each warp of a CTA holds, and the free ones. Every thread starts with the same number."""

    def __init__(self, warps: int, attrs: Mapping[str, Any], changed: Callable[[], None]) -> None:
        self._changed = changed
        start = min(
            registers_at_launch(warps * WARP, attrs.get("min_blocks")), attrs.get("max_registers") or MOST_REGISTERS
        )
        self.held = np.full(warps, start, np.int64)
        self.free = 0  # only registers that warps of the CTA have released

    def set(self, lanes: Executing, count: int) -> Wait | None:
        """Let each warp of `lanes` release registers or take more; return a `Wait` if there are not enough."""
        warps = np.array(sorted(set((lanes.tid[lanes.mask] // WARP).tolist())))  # np.unique loads numpy.ma: 20 ms
        if not 24 <= count <= 256 or count % 8:
            lanes.fault(lanes.mask, f"{count} registers: setmaxnreg takes multiples of 8 from 24 to 256", "registers")
        needed = int((count - self.held[warps]).sum()) * WARP
        if needed <= 0:
            self._take(warps, count, needed)
            return None
        claimed = False

        def ready() -> bool:
            nonlocal claimed
            if not claimed and self.free >= needed:
                claimed = True
                self._take(warps, count, needed)
            return claimed

        return Wait(ready, lambda: f"{needed} registers: {self.free} are free; other warps must give theirs back first")

    def _take(self, warps: Array, count: int, registers: int) -> None:
        self.held[warps] = count
        self.free -= registers
        self._changed()
