"""`run`: simulate a kernel on the CPU."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import TextIO

import numpy as np

from cutelite.ir.function import Function
from cutelite.sim.events import Observer
from cutelite.sim.launch import Extent, Report, SimLaunch
from cutelite.sim.program import Program
from cutelite.sim.report import state_text
from cutelite.sim.schedule import Scheduler

MAX_OPS = 50_000_000


def run(
    function: Function | Program,
    grid: Extent,
    args: Sequence[object],
    *,
    block: Extent | None = None,
    cluster: Extent | None = None,
    dims: Mapping[str, int] | None = None,
    smem_dynamic: int = 0,
    seed: int = 0,
    max_ops: int = MAX_OPS,
    observer: Observer | None = None,
    stdout: TextIO | None = None,
    sm_count: int = 132,
    sample: int | None = None,
) -> Report:
    """Execute a kernel, at any stage of its compilation, on NumPy memory.

    function      the kernel, or a `Program` made from it, for several runs
    grid          blocks: an int, or up to three as a tuple
    args          for each parameter: a NumPy array (tensors, pointers; written in place), a number, a `SimTensorMap`
                  or the array of one
    block         threads in a block, if the kernel's `attrs` have none; `cluster` likewise
    dims          the extent of each named dim
    smem_dynamic  bytes of dynamic shared memory
    seed          the schedule (see `sim.policy`): the same seed always gives the same run
    max_ops       stop a kernel that executes more; an op counts once for all threads that execute it together
    sample        execute only about this number of blocks, whole clusters of the grid drawn from the seed; None: all
    observer      is called for every memory access, and every event that orders accesses
    stdout        the output of printf goes here when the kernel has ended; None: standard output
    Errors        `SimError` for a mistake of the kernel, with its line; TypeError and ValueError for arguments that do
                  not fit the kernel; `InternalError` for a mistake of the simulator
    """
    started = time.perf_counter()
    step = getattr(observer, "step", None)
    if step is not None and isinstance(function, Program):
        function = function.function  # its steps do not call the observer
    program = function if isinstance(function, Program) else Program(function, step)
    launch = SimLaunch(
        program, grid, args, block=block, cluster=cluster, dims=dims or {}, smem_dynamic=smem_dynamic, seed=seed,
        observer=observer, sm_count=sm_count, max_ops=max_ops, sample=sample,
    )  # fmt: skip
    scheduler = Scheduler(launch)
    try:
        with np.errstate(all="ignore"):
            scheduler.run()
    except KeyboardInterrupt as stop:
        stop.add_note(f"kernel `{launch.kernel}`, {launch.ops} operations executed:\n{state_text(scheduler)}")
        raise
    finally:
        (stdout or sys.stdout).write(launch.stdout())
    return Report(seed, launch.ops, launch.stdout(), time.perf_counter() - started)
