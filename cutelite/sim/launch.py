"""One launch of one kernel: its arguments in memory, checked, and the state that all its CTAs share."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

import numpy as np

from cutelite.ir.contract import numpy_dtype
from cutelite.ir.function import Function, Value
from cutelite.ir.types import Ptr, Scalar, Tensor, TensorMap
from cutelite.layout.expr import check_facts, dims_of
from cutelite.records import dataclass
from cutelite.sim.buffers import Buffers
from cutelite.sim.descriptors import Descriptors
from cutelite.sim.events import Observer
from cutelite.sim.memory import Space, Writes
from cutelite.sim.policy import Policy
from cutelite.sim.program import Program
from cutelite.sim.tensormap import SimTensorMap
from cutelite.target.targets import MOST_THREADS

Array = Any
Index = tuple[int, int, int]
Extent = int | Sequence[int]


@dataclass(frozen=True)
class Report:
    """The result of a simulation.

    seed     the seed of its schedule
    ops      number of ops executed; an op counts once for all threads that execute it together
    stdout   the text that printf wrote, block by block
    seconds  how long the simulation took
    """

    seed: int
    ops: int
    stdout: str
    seconds: float


class SimLaunch:
    """A kernel, its arguments in memory, and the counters of one simulation of it."""

    def __init__(
        self,
        program: Program,
        grid: Extent,
        args: Sequence[object],
        *,
        block: Extent | None,
        cluster: Extent | None,
        dims: Mapping[str, int],
        smem_dynamic: int,
        seed: int,
        observer: Observer | None,
        sm_count: int,
        max_ops: int,
        sample: int | None,
    ) -> None:
        function = program.function
        attrs = function.attrs
        self.kernel = function.name
        self.program = program
        self.block = _index("block", block if block is not None else attrs.get("block", ()))
        self.cluster = _index("cluster", cluster if cluster is not None else attrs.get("cluster") or 1)
        self.grid = _index("grid", grid)
        for n, c in zip(self.grid, self.cluster, strict=True):
            if n % c:
                raise ValueError(f"a grid of {self.grid} blocks is no whole number of clusters of {self.cluster}")
        self.threads = self.block[0] * self.block[1] * self.block[2]
        if self.threads > MOST_THREADS:
            raise ValueError(f"a block of {self.block} has {self.threads} threads; it can have {MOST_THREADS}")
        self.smem_dynamic = smem_dynamic
        self.observer, self.sm_count = observer, sm_count
        self.max_ops = max_ops
        self.sample = sample
        total = self.grid[0] * self.grid[1] * self.grid[2]
        self.blocks = total if sample is None else min(max(1, sample), total)  # about how many are simulated
        self.seed = index(seed)
        self.policy = Policy(self.seed)
        self.dims = {name: int(value) for name, value in dims.items()}
        self.dim_values: dict[object, int] = {}
        tid = np.arange(self.threads, dtype=np.int64)
        x, y, _ = self.block
        self.thread_index = (tid % x, tid // x % y, tid // (x * y))
        self.buffers = buffers = Buffers()
        self.values = self._bind(function, args, buffers)
        self.fixed: dict[int, dict[Value, Array]] = {}  # by a number of threads
        self.fixed_of_threads: dict[bytes, dict[Value, Array]] = {}  # by their indices
        self.writes = Writes()
        self.descriptors = Descriptors()
        self.gmem = Space("gmem", buffers.regions(), observer, self.writes)
        self.output: list[tuple[int, str]] = []
        self.ops = 0
        self.changes = 0  # number of changes that threads can see
        self.wakes = 0  # number of those after which waiting threads may go on
        self.waiting: deque[int] = deque()  # numbers of the clusters that have not started

    def changed(self) -> None:
        """Count a change that threads may wait for."""
        self.changes += 1
        self.wakes += 1

    def stirred(self) -> None:
        """Count a change that only polling threads can see."""
        self.changes += 1

    def cancel_cluster(self) -> Index | None:
        """Cancel a cluster that has not started, and return its first block; None if the request fails."""
        return self.next_cluster() if self.waiting and not self.policy.refuses() else None

    def next_cluster(self) -> Index:
        """Take the next of the clusters that have not started, and return its first block."""
        (x, y, _), (i, j, k) = self.grid, self.cluster
        row, column = divmod(self.waiting.popleft(), x // i)
        return column * i, row % (y // j) * j, row // (y // j) * k

    def thread(self, tid: int) -> Index:
        """Return threadIdx of a thread of a block."""
        x, y, _ = self.block
        return tid % x, tid // x % y, tid // (x * y)

    def stdout(self) -> str:
        return "".join(text for _, text in sorted(self.output, key=lambda line: line[0]))

    def _bind(self, function: Function, args: Sequence[object], buffers: Buffers) -> dict[Value, Any]:
        """Return the parameters' values in the threads of a CTA. Errors: TypeError, ValueError."""
        if len(args) != len(function.params):
            raise TypeError(f"{function.name} takes {len(function.params)} arguments, not {len(args)}")
        for param, arg in zip(function.params, args, strict=True):
            array = arg.array if isinstance(arg, SimTensorMap) else arg
            if isinstance(array, np.ndarray):
                name = param.hint or f"argument {function.params.index(param)}"
                buffers.add(name, array, isinstance(param.type, TensorMap))
                for i, behind in enumerate(getattr(array, "behind", ())):  # the arrays whose addresses it has
                    buffers.add(f"{name.removesuffix('.addresses')}[{i}]", behind)
        buffers.place()
        for param in function.params:
            if isinstance(param.type, Tensor | TensorMap):
                self._check_dims(function.name, param.type)
        values = {p: self._value(p, arg, buffers) for p, arg in zip(function.params, args, strict=True)}
        for name, value in function.dims.items():
            if name not in self.dims:
                raise TypeError(f"{function.name} needs the extent of the dim {name}")
            assert isinstance(value.type, Scalar)
            values[value] = self._full(self.dims[name], value.type, f"the dim {name}")
        return values

    def _check_dims(self, kernel: str, t: Tensor | TensorMap) -> None:
        """Check that the dims of a type are given, and have values that it allows. Errors: TypeError, ValueError."""
        for dim in sorted(dims_of(t.layout), key=str):
            if dim.name not in self.dims:
                raise TypeError(f"{kernel} needs the extent of the dim {dim.name}")
            check_facts(kernel, dim, self.dims[dim.name])

    def _value(self, param: Value, arg: object, buffers: Buffers) -> Any:
        name = param.hint or "an argument"
        match param.type:
            case TensorMap():
                tile_map = (
                    arg if isinstance(arg, SimTensorMap) else SimTensorMap(_array(name, arg), param.type, self.dims)
                )
                return tile_map.at(buffers.address(tile_map.array))
            case Tensor(elem=elem):
                array = _array(name, arg)
                if array.dtype.itemsize != elem.bytes:
                    raise TypeError(f"{name} is an array of {array.dtype}, not of {elem}")
                return np.full(self.threads, buffers.address(array), np.int64)
            case Ptr():
                address = arg if isinstance(arg, int) else buffers.address(_array(name, arg))
                return np.full(self.threads, address, np.int64)
            case Scalar():
                return self._full(arg, param.type, name)
        raise TypeError(f"{name} is of type {param.type}, which no argument can have")

    def _full(self, arg: Any, t: Scalar, name: str) -> Array:
        if t.is_int and not t.range[0] <= int(arg) <= t.range[1]:
            raise ValueError(f"{name} is {arg}, which does not fit in {t}")
        return np.full(self.threads, arg, numpy_dtype(t))


def _array(name: str, arg: object) -> Array:
    if not isinstance(arg, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array, not {type(arg).__name__}")
    return arg


def _index(what: str, extent: Extent) -> Index:
    """Return one to three extents as (x, y, z)."""
    given = (extent,) if isinstance(extent, int) else tuple(extent)
    if not 1 <= len(given) <= 3 or any(n < 1 for n in given):
        raise ValueError(f"{what} is {extent}, but must be 1 to 3 numbers from 1 on")
    x, y, z = (*given, 1, 1)[:3]
    return int(x), int(y), int(z)
