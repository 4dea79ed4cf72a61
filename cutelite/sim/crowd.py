"""A crowd: all lanes of some warps or warpgroups, gathered from strands to execute one collective op.

It also has lanes that take no part, which are not active: their threads have exited, do not exist at the end of the
CTA, or are not in `members`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cutelite.ir.function import Value
from cutelite.ir.op import Op
from cutelite.sim.lanes import ThreadLanes
from cutelite.sim.strand import Strand

Array = Any


class Crowd(ThreadLanes):
    """Some units (warps, warpgroups) of `unit` lanes each, whose active lanes are threads of `strands`.

    Where a strand has threads in other units as well, `outputs` collects its results unit by unit.
    """

    __slots__ = ("outputs", "parts")

    def __init__(
        self, op: Op, strands: list[Strand], units: list[int], unit: int, outputs: dict[tuple[Strand, Value], Array]
    ) -> None:
        machine = strands[0].machine
        if unit:
            first = np.array(units, np.int64) * unit
            tid = (first[:, None] + np.arange(unit)).reshape(-1)
        else:
            tid = np.sort(np.concatenate([strand.tid for strand in strands]))
        mask = np.zeros(len(tid), bool)
        self.parts: list[tuple[Strand, Array, Array]] = []
        for strand in strands:
            position = np.minimum(np.searchsorted(tid, strand.tid), len(tid) - 1)
            inside = (tid[position] == strand.tid).nonzero()[0]
            position = position[inside]
            mask[position] = True
            self.parts.append((strand, inside, position))
        self.outputs = outputs
        super().__init__(machine, op, tid, mask, bool(mask.all()))

    def get(self, value: Value) -> Any:
        held = self.parts[0][0].regs[value]
        if not isinstance(held, np.ndarray):
            return held
        gathered = np.zeros((len(self.tid), *held.shape[1:]), held.dtype)
        for strand, lanes, position in self.parts:
            gathered[position] = strand.regs[value][lanes]
        return gathered

    def define(self, *results: Array) -> None:
        for value, result in zip(self.op.results, results, strict=True):
            for strand, lanes, position in self.parts:
                if len(lanes) == len(strand.tid):
                    strand.regs[value] = result[position]
                    continue
                collected = self.outputs.get((strand, value))
                if collected is None:
                    shape = (len(strand.tid), *result.shape[1:])
                    collected = self.outputs[strand, value] = np.zeros(shape, result.dtype)
                    strand.regs[value] = collected
                collected[lanes] = result[position]

    def bound_dim(self, name: str) -> Array:
        gathered = np.zeros(len(self.tid), np.int64)
        for strand, lanes, position in self.parts:
            gathered[position] = strand.regs[name][lanes]
        return gathered
