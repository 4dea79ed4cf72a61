"""Count the work of a simulated launch: floating-point operations by unit, and bytes of global memory."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from cutelite.ir.op import Op
from cutelite.ir.types import Vec, elem_of
from cutelite.sim.error import SimError
from cutelite.sim.memory import Region
from cutelite.target.targets import WARP, WARPGROUP

Array = Any

_SCALAR = {"add": 1, "sub": 1, "mul": 1, "div": 1, "fma": 2}


class Tally:
    """An observer of `sim.run` that counts work.

    flops      FLOPs of ordinary arithmetic, by dtype; a fused multiply-add counts as two
    products   FLOPs of products on the tensor core, by the dtype of their first operand
    requested  bytes of global memory that threads and copies ask for, by 'read', 'write', 'atomic'
    touched    bytes of global memory that are read or written at least once: the traffic with a perfect cache
    """

    def __init__(self) -> None:
        self.flops: Counter[str] = Counter()
        self.products: Counter[str] = Counter()
        self.requested: Counter[str] = Counter()
        self._touched: dict[str, dict[Region, Array]] = {"read": {}, "write": {}}

    @property
    def touched(self) -> dict[str, int]:
        """Bytes that are read at least once, and bytes that are written at least once."""
        return {kind: sum(int(seen.sum()) for seen in found.values()) for kind, found in self._touched.items()}

    def access(self, who: Any, region: Region, offset: Array, unit: int, kind: str, data: Array | None) -> None:
        if region.state is not None or region.period:
            return  # shared or local memory
        self.requested[kind] += len(offset) * unit
        for what in ("read", "write") if kind == "atomic" else (kind,):
            seen = self._touched[what].setdefault(region, np.zeros(region.size, bool))
            for i in range(unit):
                seen[np.asarray(offset) + i] = True

    def tolerates(self, error: SimError) -> bool:
        return False

    def event(self, machine: Any, event: Any) -> None:
        """Ignore events: those that order accesses are no work."""

    def step(self, op: Op, lanes: Any) -> None:
        threads = int(np.count_nonzero(lanes.mask))
        if op.name.startswith("wgmma.mma_async"):
            product: Any = op
            depth = 256 // product.elem_a.bits * (2 if product.sparse else 1) * max(1, len(product.steps))
            self.products[product.elem_a.name] += 2 * 64 * product.n * depth * (threads // WARPGROUP)
        elif op.name.startswith("mma.sync"):
            tile: Any = op
            self.products[elem_of(tile.a.type).name] += 2 * 16 * 8 * tile.k * (threads // WARP)
        elif op.name in _SCALAR and op.results and elem_of(op.result.type).is_float:
            length = op.result.type.n if isinstance(op.result.type, Vec) else 1
            self.flops[elem_of(op.result.type).name] += _SCALAR[op.name] * length * threads
