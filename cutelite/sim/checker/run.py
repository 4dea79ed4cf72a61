"""Checking one kernel: the simulator under several schedules, with the model of memory watching."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import TextIO

import numpy as np

from cutelite.ir.function import Function
from cutelite.sim.checker.findings import CheckReport, Finding, of_error
from cutelite.sim.checker.model import Checker
from cutelite.sim.checker.reporter import Reporter
from cutelite.sim.error import SimError
from cutelite.sim.launch import Extent
from cutelite.sim.run import MAX_OPS, run
from cutelite.sim.tensormap import SimTensorMap

SEEDS = 4  # schedules, where no number is given: lockstep and late, warp by warp and early, and two that are drawn


class TooLarge(ValueError):
    """A launch that cannot be checked here: how large it is, and what would fit."""


def check(
    function: Function,
    grid: Extent,
    args: Sequence[object],
    *,
    block: Extent | None = None,
    cluster: Extent | None = None,
    dims: Mapping[str, int] | None = None,
    smem_dynamic: int = 0,
    seeds: int | Iterable[int] = SEEDS,
    max_ops: int = MAX_OPS,
    sm_count: int = 132,
    stdout: TextIO | None = None,
) -> CheckReport:
    """Simulate a kernel under each of `seeds`, and report what the memory model of PTX forbids in it.

    seeds    how many schedules (0, 1, 2, ...), or which ones (see `sim.policy`)
    stdout   where printf of the first schedule writes; nowhere if None
    others   as for `sim.run`. The arrays among `args` are as before for each schedule, and afterwards as the last one
             left them
    Errors   TypeError, ValueError for arguments that do not fit the kernel; `TooLarge`; what a kernel does wrong is
             no exception but a finding
    """
    started = time.perf_counter()
    numbers = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
    arrays = [arg.array if isinstance(arg, SimTensorMap) else arg for arg in args]
    before = [(array, array.copy()) for array in arrays if isinstance(array, np.ndarray) and array.flags.writeable]
    found: dict[object, Finding] = {}
    ops = 0
    written: set[str] = set()
    restore = False
    errors: list[SimError] = []
    for seed in numbers:
        again = True
        while again:
            for array, content in before if restore else ():
                array[...] = content
            restore = True
            observer = Checker(Reporter(function.name, seed, found), written)
            try:
                ops += run(
                    function, grid, args, block=block, cluster=cluster, dims=dims, smem_dynamic=smem_dynamic, seed=seed,
                    max_ops=max_ops, sm_count=sm_count, stdout=(stdout if seed == numbers[0] else None) or StringIO(), observer=observer,
                ).ops  # fmt: skip
            except SimError as error:
                errors.append(error)
                finding = of_error(error)
                found.setdefault((finding.kind, finding.span, finding.other), finding)
            again = observer.incomplete
    total = int(np.prod(grid))
    seconds = time.perf_counter() - started
    error = errors[0] if errors else None
    return CheckReport(function.name, tuple(found.values()), (), numbers, (total, total), ops, seconds, error)
