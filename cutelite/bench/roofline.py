"""The least time that a kernel can take on a GPU, from the work that the simulator counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cutelite.dispatch.divert import diverted
from cutelite.dispatch.kernel import Kernel
from cutelite.dispatch.launch import Launch
from cutelite.tuples import NamedTuple


class Machine(NamedTuple):
    """Peak rates of a GPU: bytes per second of its memory, FLOPs per second by the dtype of operands.

    tensor  FLOPs per second of dense products on the tensor core; `plain`: of ordinary arithmetic
    """

    name: str
    memory: float
    tensor: dict[str, float]
    plain: dict[str, float]


_TENSOR = {"bf16": 989.4e12, "f16": 989.4e12, "tf32": 494.7e12, "f32": 494.7e12, "e4m3": 1978.9e12, "e5m2": 1978.9e12,
           "i8": 1978.9e12, "u8": 1978.9e12, "f64": 66.9e12}  # fmt: skip
_PLAIN = {"f32": 66.9e12, "f16": 133.8e12, "bf16": 133.8e12, "f64": 33.5e12}
MACHINES = {
    "H100": Machine("H100 SXM", 3.35e12, _TENSOR, _PLAIN),
    "H200": Machine("H200 SXM", 4.8e12, _TENSOR, _PLAIN),
}
"""Source: NVIDIA H100 and H200 Tensor Core GPU data sheets, SXM, without sparsity."""


class Roofline(NamedTuple):
    """The work of a launch, and the least time for it.

    bytes    bytes of global memory that are read or written at least once; `requested`: bytes of all accesses
    tensor   FLOPs of products by the dtype of their first operand; `plain`: of ordinary arithmetic
    times    least seconds, by 'memory', 'tensor', 'plain': the work at the machine's peak rate
    """

    kernel: str
    machine: str
    bytes: int
    requested: int
    tensor: dict[str, int]
    plain: dict[str, int]
    times: dict[str, float]

    @property
    def bound(self) -> str:
        """The unit that takes longest: 'memory', 'tensor' or 'plain'."""
        return max(self.times, key=lambda unit: self.times[unit])

    @property
    def seconds(self) -> float:
        """The least time in seconds: that of the unit that takes longest."""
        return max(self.times.values())

    @property
    def intensity(self) -> float:
        """FLOPs per byte of memory."""
        return sum((*self.tensor.values(), *self.plain.values())) / max(1, self.bytes)

    def fraction(self, seconds: float) -> float:
        """Return the part of the peak rate that a measured time in seconds reaches: 1.0 is the peak."""
        return self.seconds / seconds

    def __str__(self) -> str:
        flops = sum((*self.tensor.values(), *self.plain.values()))
        return (
            f"{self.kernel} on {self.machine}: {self.bytes} bytes ({self.requested} requested), {flops} FLOPs, "
            f"{self.intensity:.1f} a byte; bound by {self.bound}: {self.seconds * 1e6:.3g} us at least"
        )


def roofline(call: Callable[[], object], machine: str | Machine = "H200") -> list[Roofline]:
    """Simulate the launches that `call` makes. Return the roofline of each.

    machine  'H100', 'H200', or the peak rates of another GPU
    Errors   TypeError for what cannot be called; ValueError for an unknown machine; errors of launches

    Arrays are written as by the launches; those on a GPU are copied to the host and back.
    """
    if not callable(call):
        raise TypeError(f"roofline() takes a function that makes launches, not {call!r}")
    if isinstance(machine, str) and machine not in MACHINES:
        raise ValueError(
            f"the peak rates of {machine!r} are not known, only of {', '.join(MACHINES)}: give a `Machine`"
        )
    peaks = MACHINES[machine] if isinstance(machine, str) else machine
    found: list[Roofline] = []

    def counted(kernel: Kernel, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        with diverted(None):
            tally = kernel.tally_launch(replace(launch, stream=None), *args, **kwargs)
        nbytes = sum(tally.touched.values())
        times = {
            "memory": nbytes / peaks.memory,
            "tensor": sum(count / peaks.tensor[name] for name, count in tally.products.items()),
            "plain": sum(count / peaks.plain.get(name, peaks.plain["f32"]) for name, count in tally.flops.items()),
        }
        requested = sum(tally.requested.values())
        work = dict(tally.products), dict(tally.flops)
        found.append(Roofline(kernel.__name__, peaks.name, nbytes, requested, *work, times))

    with diverted(counted):
        call()
    return found
