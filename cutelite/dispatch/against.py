"""Compare a launch on the GPU with the same launch in the simulator: elements that differ, and the lines at fault.

In    copies of the arrays, as the GPU and the simulator left them
Out   a `GpuComparison`, true where they agree
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import cutelite_rt as rt
from cutelite.diag import Mistake, Note, Span, render
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import SCALARS
from cutelite.records import dataclass
from cutelite.sim.checker.lanes import lanes_of
from cutelite.sim.error import SimError
from cutelite.sim.machine import Agent
from cutelite.sim.memory import Region

Array = Any

TOLERANCES = {"f64": 1e-9, "f32": 1e-4, "f16": 4e-3, "bf16": 3e-2, "e4m3": 0.25, "e5m2": 0.5}
"""By dtype: the difference that passes as rounding, relative to the largest element. Integers must be equal."""


@dataclass(frozen=True)
class Difference:
    """An argument whose elements differ.

    index  index of the first such element in row-major order; `gpu` and `simulator` are its values
    count  number of elements that differ by more than the tolerance; `worst` is the largest difference
    span   the line of the kernel that wrote that element last in the simulator; None where nothing wrote it
    """

    argument: str
    index: tuple[int, ...]
    gpu: float
    simulator: float
    count: int
    worst: float
    span: Span | None


@dataclass(frozen=True)
class Step:
    """The first execution of an op at which the GPU's value is not the simulator's.

    what       'value'; or 'path': the GPU recorded another op there, or none
    span       the line; `op` is the op's name, `name` the variable's, where it has one
    block      linear index of the block, and `thread` of the thread in it: the first that differs
    visit      how often this thread had executed the op before
    element    index of the element of a vector; `gpu` and `simulator` are its values. For a path, `gpu` is the op that
               the GPU recorded
    threads    how many threads differ, of the `together` threads that executed the op together
    """

    what: str
    span: Span
    op: str
    name: str
    block: int
    thread: int
    visit: int
    element: int | None
    gpu: float | str
    simulator: float
    threads: int
    together: int

    def __str__(self) -> str:
        subject = f"`{self.name}`" if self.name else f"the value of `{self.op}`"
        who = f"thread {self.thread} of block {self.block}, at visit {self.visit} of this op"
        if self.what == "path":
            there = f"the GPU came to {self.gpu}" if self.gpu else "the GPU recorded nothing more"
            mistake = Mistake("gpu-differs", "the GPU goes another way than the simulator", there, f"It is {who}.")
            return render(mistake, self.span, ())
        at = "" if self.element is None else f"[{self.element}]"
        assert isinstance(self.gpu, float)
        gpu, simulator = told_apart(self.gpu, self.simulator)
        mistake = Mistake(
            "gpu-differs",
            f"{subject}{at} is {gpu} on the GPU and {simulator} in the simulator",
            f"{who}; {self.threads} of {self.together} threads differ",
            "All that was recorded before, in the order of the simulator, agrees.",
        )
        return render(mistake, self.span, [Note(f"the op is `{self.op}`", None)])


@dataclass(frozen=True, repr=False, eq=False)
class GpuComparison:
    """The result of `kernel.compare_with_gpu`; true where all arguments agree. ``print`` shows the lines at fault.

    differences  arguments that differ after the launch
    steps        with ``by="line"``, where arguments differ: ops whose values differ, in the simulator's order
    remark       a sentence where no such op was found, or values were not compared; else ''
    """

    kernel: str
    compared: Sequence[str]
    differences: Sequence[Difference]
    steps: Sequence[Step] = ()
    remark: str = ""

    def __bool__(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        if not self.differences:
            return f"{self.kernel}: GPU and simulator agree on {', '.join(self.compared) or 'nothing that is written'}"
        parts = [str(step) for step in self.steps[:1]]
        later = [f"{Path(step.span.filename).name}:{step.span.line}" for step in self.steps[1:]]
        if later:
            parts.append(f"Values differ later at {', '.join(dict.fromkeys(later))}")
        return "\n\n".join([*parts, *([self.remark] if self.remark else []), *map(self._shown, self.differences)])

    def _shown(self, found: Difference) -> str:
        where = f"`{found.argument}`[{', '.join(map(str, found.index))}]"
        gpu, simulator = told_apart(found.gpu, found.simulator)
        mistake = Mistake(
            "gpu-differs",
            f"{where} is {gpu} on the GPU and {simulator} in the simulator",
            "the simulator wrote it here last" if found.span else "",
            f"{found.count} elements of `{found.argument}` differ, by up to {found.worst:g}",
        )
        notes = [] if found.span else [Note("the simulator never wrote it", None)]
        return render(mistake, found.span, notes)


class Writers:
    """An observer of a simulation that keeps, for each byte of global memory, the line that wrote it last."""

    def __init__(self) -> None:
        self.spans: list[Span | None] = [None]
        self._numbers: dict[Span, int] = {}
        self._last: dict[int, Array] = {}  # by the address of a region's bytes on the host

    def access(self, who: Any, region: Region, offset: Array, unit: int, kind: str, data: Array | None) -> None:
        if kind == "read" or region.state is not None or region.period:
            return
        maker = lanes_of(who, len(offset))[0]
        span = (maker.work.op if isinstance(maker, Agent) else maker.op).span
        if span is None:
            return
        if span not in self._numbers:
            self._numbers[span] = len(self.spans)
            self.spans.append(span)
        last = self._last.setdefault(region.bytes.ctypes.data, np.zeros(region.size, np.int32))
        for i in range(unit):
            last[np.asarray(offset) + i] = self._numbers[span]

    def tolerates(self, error: SimError) -> bool:
        return False

    def event(self, machine: Any, event: Any) -> None:
        """Ignore events that order accesses: they write nothing."""

    def of(self, address: int) -> Span | None:
        """Return the line that wrote the byte at a host address last; None where no line did."""
        for base, last in self._last.items():
            if base <= address < base + len(last):
                return self.spans[int(last[address - base])]
        return None


def difference(
    name: str, view: rt.ArrayView, gpu: Array, simulator: Array, writers: Writers, tolerance: float | None
) -> Difference | None:
    """Compare the GPU's and the simulator's copies of an argument; None where they agree."""
    address = simulator.ctypes.data
    real, simulated = (memory.view(numpy_dtype(SCALARS[view.dtype])).astype(np.float64) for memory in (gpu, simulator))
    wrong, apart = beyond(real, simulated, view.dtype, tolerance)
    if not wrong.any():
        return None
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    at = address + sum(i * stride for i, stride in zip(index, simulator.strides, strict=True))
    worst = apart[wrong & np.isfinite(apart)]
    far = float(worst.max()) if worst.size else float("inf")
    return Difference(name, index, float(real[index]), float(simulated[index]), int(wrong.sum()), far, writers.of(at))


def told_apart(a: float, b: float) -> tuple[str, str]:
    """Return both numbers in decimal, with as many digits as it takes to tell them apart."""
    for digits in (6, 9, 17):
        texts = f"{a:.{digits}g}", f"{b:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


def beyond(real: Array, simulated: Array, dtype: str, tolerance: float | None) -> tuple[Array, Array]:
    """Return which numbers differ by more than the tolerance, relative to the largest, and by how much all differ."""
    with np.errstate(all="ignore"):
        apart = np.abs(real - simulated)
    same = (real == simulated) | (np.isnan(real) & np.isnan(simulated))
    allowed = TOLERANCES.get(dtype, 0.0) if tolerance is None else tolerance
    finite = np.abs(simulated[np.isfinite(simulated)])
    return ~same & ~(apart <= allowed * (finite.max() if finite.size else 0.0)), apart
