"""A kernel's launches in the simulator: runs, checks and timelines.

In    a kernel and a launch whose arguments have been checked
Out   the arrays, written as by the launch; reports of a check, timelines

The simulator works on NumPy arrays. Of arrays on a GPU it takes copies, which are written back.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from cutelite import sim
from cutelite.dispatch.arguments import Bound, as_declared
from cutelite.dispatch.device import host_array
from cutelite.dispatch.launch import Launch
from cutelite.dispatch.mirrors import Mirrors
from cutelite.layout import dims_of
from cutelite.passes.written import written_parameters
from cutelite_rt.arrays.memory import check_writable
from cutelite_rt.launcher import asked
from cutelite_rt.signature.bind import simulable

if TYPE_CHECKING:
    from cutelite.dispatch.kernel import Checked, Kernel
    from cutelite.dispatch.specialise import Specialisation
    from cutelite.ir.function import Function


def mirrored(launch: Launch, bound: Bound) -> Mirrors | None:
    """Return host copies of the arrays that are on a GPU; None where there are none."""
    views = [view for _, view in bound.arrays if view.device[0] == "cuda"]
    return Mirrors(views, asked.given_stream(launch)) if views else None


def simulation(
    kernel: Kernel, spec: Specialisation, bound: Bound, mirrors: Mirrors | None = None
) -> tuple[Function, list[Any], dict[str, int]]:
    """Return the simulator's input: the IR, the arguments as NumPy arrays or mirrors, the extents of the dims.

    Errors  `ArgumentError` for a read-only array that the kernel writes, as on a GPU
    """
    host = host_array if mirrors is None else mirrors.array
    values = [simulable(kernel.__name__, value, host) for value in bound.values]
    count = len(values) - len(bound.dims)
    function = kernel._made.simulation(spec)
    if any(view.readonly for _, view in bound.arrays):  # the simulator sees memory, of which another may be a view too
        check_writable(kernel.__name__, bound.arrays, written_parameters(function))
    known = {dim.name: dim for p in function.params for dim in dims_of(getattr(p.type, "layout", ()))}
    dims = zip(bound.dims, values[count:], strict=True)
    return function, values[:count], {name: as_declared(known.get(name), value) for name, value in dims}


def simulate(
    kernel: Kernel, how: str, launch: Launch, checked: Checked, mirrors: Mirrors | None = None, **options: Any
) -> Any:
    """Make the simulator 'run', 'check' or 'trace' a launch, on its arrays or on the mirrors given."""
    made = mirrored(launch, checked.bound) if mirrors is None else None
    function, values, dims = simulation(kernel, checked.spec, checked.bound, mirrors or made)
    program = function if how == "trace" else kernel._made.prepared(checked.spec, sim.Program)
    try:
        return getattr(sim, how)(program, checked.grid, values, dims=dims, smem_dynamic=launch.smem, **options)
    finally:
        if made is not None:
            made.write_back()


def launch_simulated(kernel: Kernel, launch: Launch, checked: Checked) -> None:
    """Run a launch; under CUTELITE_CHECK check it. Errors: `SimError`, `CheckFailed`."""
    environment = kernel._settings.environment
    seed = environment.sim_seed if launch.seed is None else launch.seed
    if not environment.check:
        simulate(kernel, "run", launch, checked, seed=seed)
        return
    seeds = range(seed, seed + environment.check)
    report = simulate(kernel, "check", launch, checked, stdout=sys.stdout, seeds=seeds, pdl=launch.pdl or None)
    if report.error is not None and len(report.findings) == 1:
        raise report.error  # as without a check
    report.raise_if_wrong()


def check(kernel: Kernel, launch: Launch, checked: Checked, seeds: Any, notes: bool, **options: Any) -> sim.CheckReport:
    """Check a launch under several schedules: `Kernel.check`."""
    if launch.seed is not None:
        options["seeds"] = [launch.seed]
    elif seeds is not None:
        options["seeds"] = seeds
    options["absent"] = [name for name, argument in checked.arguments.items() if argument is None]
    options["compiled"] = kernel._made.costs(checked.spec) if notes else None
    report: sim.CheckReport = simulate(kernel, "check", launch, checked, pdl=launch.pdl or None, **options)
    return report


def trace(kernel: Kernel, launch: Launch, checked: Checked) -> sim.Timeline:
    """Return the timeline of a launch: `Kernel.trace_launch`."""
    seed = kernel._settings.environment.sim_seed if launch.seed is None else launch.seed
    checked = checked._replace(spec=checked.spec.under(profile=True))
    timeline: sim.Timeline = simulate(kernel, "trace", launch, checked, seed=seed)
    return timeline


def tally(kernel: Kernel, launch: Launch, checked: Checked | None) -> sim.Tally:
    """Run a launch, if it has blocks, and count its work: `Kernel.tally_launch`."""
    counted = sim.Tally()
    if checked is not None:
        simulate(kernel, "run", launch, checked, observer=counted)
    return counted
