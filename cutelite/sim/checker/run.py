"""`check`: simulate a kernel under several schedules, observed by the checker of the memory model."""

from __future__ import annotations

import operator
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from io import StringIO
from numbers import Integral
from typing import Any, TextIO

import numpy as np

from cutelite.diag.nearest import did_you_mean
from cutelite.diag.progress import Progress
from cutelite.ir.function import Function
from cutelite.ir.types import Scalar
from cutelite.ops.cluster import GridWait
from cutelite.records import dataclass
from cutelite.sim.checker.ahead import Ahead
from cutelite.sim.checker.costs import Costs
from cutelite.sim.checker.findings import CheckReport, Finding
from cutelite.sim.checker.limits import check_size
from cutelite.sim.checker.model import Checker
from cutelite.sim.checker.reporter import Reporter
from cutelite.sim.checker.results import Results
from cutelite.sim.checker.updates import Orders
from cutelite.sim.error import SimError, TooLarge
from cutelite.sim.launch import Extent
from cutelite.sim.memory import is_part
from cutelite.sim.program import Program
from cutelite.sim.run import MAX_OPS, run
from cutelite.sim.tensormap import SimTensorMap

SEEDS = 4
"""The default number of schedules: one in lockstep, one warp by warp, one with short turns, and one drawn."""


class SettingError(ValueError, TypeError):
    """A wrong setting of a check, such as `seeds`; arguments of the kernel are refused in `dispatch`."""


def _schedules(seeds: int | Iterable[int]) -> Sequence[int]:
    """Return the schedules of `seeds`. Errors: `SettingError` for what is no integer, and for too many to count."""
    try:
        numbers = range(seeds) if isinstance(seeds, int) else seeds  # a range of any length takes no memory
        return numbers[: len(numbers)] if isinstance(numbers, range) else tuple(map(operator.index, numbers))
    except (TypeError, OverflowError):
        raise SettingError(f"seeds={seeds!r}: seeds are a number of schedules, or the numbers of some") from None


def check(
    kernel: Function | Program,
    grid: Extent,
    args: Sequence[object],
    *,
    block: Extent | None = None,
    cluster: Extent | None = None,
    dims: Mapping[str, int] | None = None,
    smem_dynamic: int = 0,
    seeds: int | Iterable[int] = SEEDS,
    blocks: int | None = None,
    compiled: Function | None = None,
    max_ops: int = MAX_OPS,
    sm_count: int = 132,
    stdout: TextIO | None = None,
    pdl: bool | None = None,
    untouched: Iterable[str] | None = None,
    ordered: Iterable[str] = (),
    absent: Collection[str] = (),
) -> CheckReport:
    """Simulate a kernel under each of `seeds`, and report what the memory model of PTX forbids in it.

    kernel    its IR, or a `Program` made from it, for several checks
    seeds     the number of schedules (0, 1, 2, ...), or the schedules themselves (see `sim.policy`)
    blocks    simulate only this number of blocks, drawn from the grid anew for each schedule; for kernels whose blocks
              do not wait for each other. None: all of them
    compiled  the same kernel as the passes leave it, with the accesses that the GPU makes: to note what they cost
    pdl       launched so that the kernel ahead may still run: global memory is accessed behind `griddepcontrol.wait`
              alone. None: if it has that instruction
    untouched names of arguments that may be accessed before it: no kernel ahead writes them, or reads what this one
              writes. None: those that a thread reads before that instruction and then executes it
    ordered   names of arguments in which atomic updates that do not commute, such as sums of floats, come in one order,
              so that results are the same bits each time: something orders any two of a number, in all schedules alike.
              They hold the same after each schedule
    absent    names of arguments that are left out: `untouched` and `ordered` may have them all the same
    stdout    where printf of the first schedule writes; nowhere if None
    others    as for `sim.run`. The arrays among `args` are as before for each schedule, and afterwards as the last one
              left them
    Errors    `SettingError` for settings that do not fit the kernel; `TooLarge`; what a kernel does wrong is no
              exception but a finding
    """
    started = time.perf_counter()
    program = kernel if isinstance(kernel, Program) else Program(kernel)
    function = program.function
    numbers = _schedules(seeds)
    if not numbers or not (blocks is None or (isinstance(blocks, Integral) and blocks >= 1)):
        raise SettingError(f"seeds={seeds!r} and blocks={blocks!r} check nothing: both are whole numbers from 1 on")
    facts = {"block": block, "cluster": cluster, "dims": dims, "smem_dynamic": smem_dynamic, "max_ops": max_ops,
             "sm_count": sm_count, "sample": blocks}  # fmt: skip
    if pdl is None:
        pdl = any(isinstance(op, GridWait) for op in function.ops())
    ahead = Ahead(None if untouched is None else _arguments(function, "untouched", untouched, absent))
    orders = Orders(names) if (names := _arguments(function, "ordered", ordered, absent)) else None
    checking = _Checking(program, grid, args, facts, ahead if pdl else None, orders)
    notes = () if compiled is None else checking.costs(compiled, numbers[0])
    with Progress(f"checking {function.name}", total=len(numbers)) as progress:
        for seed in numbers:
            checking.under(seed, stdout if seed == numbers[0] else None)
            progress.step(note=f"schedule {seed}")
    return checking.report(tuple(numbers), notes, time.perf_counter() - started)


def _arguments(function: Function, option: str, names: Iterable[str], absent: Collection[str]) -> frozenset[str]:
    """Return those `names` that are not `absent`: each of an argument in memory, or of a list or structure of some.

    Errors  `SettingError` for a name of none, and for what is no name
    """
    listed = tuple(names) if isinstance(names, Iterable) and not isinstance(names, str) else (names,)
    if not all(isinstance(name, str) for name in listed):
        raise SettingError(f"{option}={names!r}: names of arguments are texts, in a list")
    given = [name for name in listed if name not in absent]
    known = {param.hint: None for param in function.params if not isinstance(param.type, Scalar)}
    for name in given:
        if not any(is_part(hint, (name, f"{name.partition('[')[0]}.addresses")) for hint in known):
            text = f"{option}: {name} is no argument of {function.name} in memory"
            raise SettingError(f"{text}; {hint}" if (hint := did_you_mean(name, known)) else text)
    return frozenset(given)


def _without_echoes(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Leave out reads of unwritten memory where a race with its writer is reported as well."""
    found = tuple(findings)
    racing = {
        span for finding in found if finding.kind in ("race", "proxy-fence") for span in (finding.span, finding.other)
    }
    return tuple(finding for finding in found if finding.kind != "uninitialised" or finding.span not in racing)


@dataclass
class _Checking:
    """One launch that is checked.

    written    names of arguments known to be written in it: only their reads are recorded
    looked_at  names of memory of which strong accesses are known to get values: only there relaxed updates tell
    """

    program: Program
    grid: Extent
    args: Sequence[object]
    facts: dict[str, Any]
    ahead: Ahead | None
    orders: Orders | None
    found: dict[object, Finding] = field(default_factory=dict)
    errors: list[SimError] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    looked_at: set[str] = field(default_factory=set)
    ops: int = 0

    def __post_init__(self) -> None:
        arrays = [arg.array if isinstance(arg, SimTensorMap) else arg for arg in self.args]
        self.arrays = [array for array in arrays if isinstance(array, np.ndarray)]
        self.function = self.program.function
        check_size(self.function.name, self.arrays)
        self._before = [(array, array.copy()) for array in self.arrays if array.flags.writeable]
        self._fresh = True
        self._results = Results() if self.facts["sample"] is None else None

    def under(self, seed: int, stdout: TextIO | None) -> None:
        """Check one schedule; run it again if an argument turned out to matter after it had been read or updated."""
        while True:
            found, errors = dict(self.found), list(self.errors)
            reporter = Reporter(self.function.name, seed, found)
            checker = Checker(reporter, self.written, self.looked_at, self.ahead, self.orders, self._results)
            try:
                self._run(self.program, seed, checker, stdout)
                if not checker.incomplete:
                    checker.finish()
            except TooLarge:
                raise
            except SimError as error:
                errors.append(error)
                checker.report.error(error, checker.more_about(error))
            if not checker.incomplete:
                self.found, self.errors = found, errors
                return
            stdout = None

    def report(self, numbers: tuple[int, ...], notes: tuple[Finding, ...], seconds: float) -> CheckReport:
        """Return the report of all schedules."""
        total, sample = int(np.prod(self.grid)), self.facts["sample"]
        checked = total if sample is None else min(sample, total)
        wrong = [finding for finding in self.found.values() if finding.severity == "error"]
        notes += tuple(finding for finding in self.found.values() if finding.severity == "note")
        return CheckReport(
            self.function.name, _without_echoes(wrong), notes, numbers, (checked, total), self.ops,
            seconds, self.errors[0] if self.errors else None,
        )  # fmt: skip

    def costs(self, compiled: Function, seed: int) -> tuple[Finding, ...]:
        """Return findings about the costs of accesses in the compiled kernel."""
        costs = Costs(self.function.name)
        try:
            self._run(compiled, seed, costs, None)
        except TooLarge:
            raise
        except SimError:  # the check itself reports it
            pass
        return costs.findings()

    def _run(self, function: Function | Program, seed: int, observer: Checker | Costs, stdout: TextIO | None) -> None:
        if not self._fresh:
            for array, content in self._before:
                array[...] = content
        self._fresh = False
        self.ops += run(
            function, self.grid, self.args, seed=seed, observer=observer, stdout=stdout or StringIO(), **self.facts
        ).ops
