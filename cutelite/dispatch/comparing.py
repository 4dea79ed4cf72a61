"""Launch a kernel on the GPU and in the simulator, and compare the arrays, and the values of its ops, afterwards.

In    a kernel, and a launch on arrays on a GPU whose arguments have been checked
Out   a `GpuComparison`
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from cutelite.dispatch.against import Difference, GpuComparison, Step, Writers, difference
from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.mirrors import Mirrors
from cutelite.dispatch.records import Logs, by_line, check_same, longest, remark
from cutelite.dispatch.simulating import mirrored, simulate

if TYPE_CHECKING:
    from cutelite.dispatch.kernel import Checked, Kernel
    from cutelite.dispatch.launch import Launch


def compare(kernel: Kernel, launch: Launch, checked: Checked, tolerance: float | None, by: str) -> GpuComparison:
    """Compare a launch on the GPU with the simulator's: `Kernel.compare_with_gpu`."""
    mirrors = mirrored(launch, checked.bound)
    if checked.ordinal is None or mirrors is None:
        raise ArgumentError(f"{kernel.__name__}(): a comparison with the GPU takes arrays on a GPU")
    before, writers = mirrors.kept(), Writers()
    seed = kernel._settings.environment.sim_seed
    simulate(kernel, "run", launch, checked, mirrors, observer=writers, seed=seed)
    kernel._run(launch, checked, checked.ordinal)
    found = _differences(launch, checked, mirrors, writers, tolerance)
    names = [name for name, _ in checked.bound.arrays]
    if by == "kernel" or not found:
        return GpuComparison(kernel.__name__, names, found)

    def restore() -> None:
        mirrors.put(before)
        mirrors.write_back()

    steps, said = _first_steps(kernel, launch, checked, mirrors, restore, tolerance)
    return GpuComparison(kernel.__name__, names, found, steps, said)


def _differences(
    launch: Launch, checked: Checked, mirrors: Mirrors, writers: Writers, tolerance: float | None
) -> list[Difference]:
    """Compare the arrays, as the GPU left them, with their mirrors, as the simulator left these."""
    after = mirrored(launch, checked.bound)
    assert after is not None, "there was one before"
    found = [
        difference(name, view, after.array(view), mirrors.array(view), writers, tolerance)
        for name, view in checked.bound.arrays
        if view.size
    ]
    return [each for each in found if each is not None]


def _first_steps(
    kernel: Kernel,
    launch: Launch,
    checked: Checked,
    mirrors: Mirrors,
    restore: Callable[[], None],
    tolerance: float | None,
) -> tuple[list[Step], str]:
    """Run a launch again with the values of its ops recorded; return the ops that differ, and a remark."""
    checked = checked._replace(spec=checked.spec.under(record=True))
    ordinal, grid, seed = checked.ordinal, checked.grid, kernel._settings.environment.sim_seed
    assert ordinal is not None, "it is on a GPU"
    compiled = kernel._compiled(launch, checked.spec)
    function = kernel._made.simulation(checked.spec)
    check_same(kernel.__name__, (compiled.artifact.signature or {})["records"], function)
    logs = Logs(kernel._function(checked.spec, compiled, ordinal), grid, checked.spec.block, longest(function))
    followers = by_line(
        logs,
        lambda: kernel._run(launch, checked, ordinal),
        lambda follower: simulate(kernel, "run", launch, checked, mirrors, observer=follower, seed=seed),
        restore, function, math.prod(grid), tolerance,
    )  # fmt: skip
    last = followers[-1]
    agree = not _differences(launch, checked, mirrors, last, tolerance)
    return list(last.steps.values()), remark(followers, agree)
