"""Threads that execute one op, as the op sees them: `ir.simulation.Lanes` without the registers.

`Strand` (threads of a CTA at the same place, all active) and `Crowd` (whole warps, some of whose lanes may take no
part) add the registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from cutelite.diag import Mistake, Note
from cutelite.ir.op import Op
from cutelite.ir.types import Scalar, f32
from cutelite.layout.dims import Dim, DimExpr
from cutelite.layout.expr import Arithmetic, check_facts, dims_of, fold
from cutelite.sim.atomics import atomic
from cutelite.sim.error import Place, SimError
from cutelite.sim.machine import Machine
from cutelite.sim.memory import memory_dtype
from cutelite.sim.stops import stop_at
from cutelite.target.targets import WARP

Array = Any


class ThreadLanes:
    """The base of `Strand` and `Crowd`.

    op    the op that they execute
    mask  bool (lanes,): which lanes are active; `full`: all are
    tid   int64 (lanes,): linear thread index in the CTA
    """

    __slots__ = ("full", "machine", "mask", "op", "tid")

    def __init__(self, machine: Machine, op: Op, tid: Array, mask: Array, full: bool) -> None:
        self.machine = machine
        self.op = op
        self.tid = tid
        self.mask = mask
        self.full = full

    def bound_dim(self, name: str) -> Array:
        """Return the value of a dim that `bind_dim` bound."""
        raise NotImplementedError

    # Memory

    def load(self, space: str, address: Array, elem: Scalar, n: int = 1, mask: Array | None = None) -> Array:
        if mask is None and self.full:
            return self.machine.spaces[space].load(address, elem, n, AccessOf(self, address, None))
        active = self._active(address, mask)
        found = self.machine.spaces[space].load(address[active], elem, n, AccessOf(self, address, active))
        data = np.zeros((*address.shape, n), found.dtype)
        data[active] = found
        return data

    def store(self, space: str, address: Array, elem: Scalar, data: Array, mask: Array | None = None) -> None:
        if mask is None and self.full:
            self.machine.spaces[space].store(address, elem, data, AccessOf(self, address, None))
        else:
            active = self._active(address, mask)
            data = np.broadcast_to(data, (*address.shape, data.shape[-1]))[active]
            self.machine.spaces[space].store(address[active], elem, data, AccessOf(self, address, active))

    def atomic(
        self,
        space: str,
        address: Array,
        action: str,
        elem: Scalar,
        operand: Array,
        compare: Array | None = None,
        mask: Array | None = None,
    ) -> Array:
        old = np.zeros(operand.shape, memory_dtype(elem))
        active = self._active(address, mask)
        expected = compare[active] if compare is not None else None
        who, memory = AccessOf(self, address, active), self.machine.spaces[space]
        flush = space == "gmem" and action == "add" and elem == f32  # PTX ISA: atom; of TMA's sums an H200 flushes none
        old[active] = atomic(memory, address[active], action, elem, operand[active], expected, who, flush)
        return old

    def _active(self, address: Array, mask: Array | None) -> Array:
        """Return which addresses to access, as a mask of their shape."""
        active = self.mask
        if mask is not None and mask.ndim == 1:
            active = active & mask
        active = np.broadcast_to(active.reshape((-1,) + (1,) * (address.ndim - 1)), address.shape)
        return active & mask if mask is not None and mask.ndim > 1 else active

    # Dims and special registers

    def dim(self, expr: object) -> Any:
        if not isinstance(expr, DimExpr):
            return expr
        known = self.machine.launch.dim_values
        value = known.get(expr)
        if value is None:
            value = fold(expr, _DimValues(self))
            if all(dim.name in self.machine.launch.dims for dim in dims_of(expr)):
                known[expr] = value
        return value

    def special(self, name: str) -> Array:
        if name == "activemask":
            lanes = np.zeros(self.machine.warp_count, np.uint32)
            tid = self.tid[self.mask]
            np.bitwise_or.at(lanes, tid // WARP, np.uint32(1) << (tid % WARP).astype(np.uint32))
            return lanes[np.minimum(self.tid // WARP, self.machine.warp_count - 1)]
        return self.machine.special(name, self.tid)

    # What happens to the threads

    def each(self) -> Iterator[int]:
        return iter(self.mask.nonzero()[0].tolist())

    def warps(self, array: Array) -> Array:
        return array.reshape(-1, WARP, *array.shape[1:])

    def print(self, texts: Sequence[str]) -> None:
        for lane in self.each():
            self.machine.launch.output.append((self.machine.index, texts[lane]))

    def stop(self, values: Mapping[str, Array], known: Mapping[str, str]) -> None:
        active = self.mask.nonzero()[0]
        for warp in sorted(set((self.tid[active] // WARP).tolist())):
            mine = active[self.tid[active] // WARP == warp]
            here = {"threads": self.tid[mine], "warp": warp, "block": self.machine.index}
            shown = {name: value[mine[0]] if len(mine) == 1 else value[mine] for name, value in values.items()}
            stop_at(self.op.span, {**self.machine.launch.dims, **here, **known, **shown})

    def fault(self, where: Array, message: str, code: str = "fault", help: str = "") -> None:
        if np.count_nonzero(where):
            wrong = np.broadcast_to(where, self.mask.shape) & self.mask
            if np.count_nonzero(wrong):
                self._raise(Mistake(code, message, help=help), self.tid[wrong])

    def fail(
        self,
        code: str,
        title: str,
        *,
        element: int | None = None,
        place: Place | None = None,
        label: str = "",
        help: str = "",
    ) -> NoReturn:
        """Raise a `SimError` for the lane `element`, or for all active lanes."""
        threads = self.tid[self.mask] if element is None else self.tid[element : element + 1]
        self._raise(Mistake(code, title, label, help), threads, place)

    def _raise(self, mistake: Mistake, threads: Array, place: Place | None = None) -> NoReturn:
        machine = self.machine
        raise SimError(
            mistake,
            kernel=machine.launch.kernel,
            seed=machine.launch.seed,
            op=self.op,
            block=machine.block,
            threads=[machine.thread(tid) for tid in threads.tolist()],
            place=place,
            notes=self._under_way() if mistake.code == "uninitialised" and place and place.space != "rmem" else (),
        )

    def _under_way(self) -> list[Note]:
        """Return notes with the lines of asynchronous copies that are not complete, which may bring the data."""
        ops = dict.fromkeys(work.op for work in self.machine.engine.pending if work.write is not None)
        text = "a copy started here is still under way: if it brings these bytes, wait for it before the read"
        return [Note(text, op.span) for op in ops]


class AccessOf:
    """The `Accuser` of one access by some lanes: it finds the lane of an element of the access."""

    __slots__ = ("active", "address", "lanes")

    def __init__(self, lanes: ThreadLanes, address: Array, active: Array | None) -> None:
        self.lanes, self.address, self.active = lanes, address, active

    def fail(self, code: str, title: str, *, element: int | None = None, **rest: Any) -> NoReturn:
        if element is not None:
            if self.active is not None:
                element = int(np.flatnonzero(self.active)[element])
            element //= max(1, self.address.size // len(self.lanes.tid))
        self.lanes.fail(code, title, element=element, **rest)


class _DimValues(Arithmetic):
    """Operations on ints and lane arrays, for `layout.expr.fold`."""

    def __init__(self, lanes: ThreadLanes) -> None:
        self.lanes = lanes

    def dim(self, dim: Dim) -> Any:
        launch = self.lanes.machine.launch
        if dim.name in launch.dims:
            check_facts("launch", dim, launch.dims[dim.name])
            return launch.dims[dim.name]
        return self.lanes.bound_dim(dim.name)

    def min(self, a: Any, b: Any) -> Any:
        return self._either(min, np.minimum, a, b)

    def max(self, a: Any, b: Any) -> Any:
        return self._either(max, np.maximum, a, b)

    def _either(self, of_ints: Callable[..., Any], of_arrays: Callable[..., Any], a: Any, b: Any) -> Any:
        return of_ints(a, b) if isinstance(a, int) and isinstance(b, int) else of_arrays(a, b)
