"""Export a program as C: its launches, compiled for several architectures, for arguments shaped like the examples.

In    a `Program`, and an argument for each of its parameters
Out   `CStub`, written by `cutelite_rt.export.cprogram`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import cutelite_rt as rt
from cutelite.dispatch import programs
from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.launch import PERSISTENT, extents
from cutelite_rt.arrays.memory import is_array
from cutelite_rt.dtype import DTYPES
from cutelite_rt.export.cprogram import Step, c_program
from cutelite_rt.gpu.attributes import ways_of
from cutelite_rt.gpu.params import TENSORMAP_BYTES, ParameterLayout
from cutelite_rt.shapes import whole
from cutelite_rt.signature import data, kinds


def exported(
    program: programs.Program, arguments: Mapping[str, Any], archs: Sequence[str], name: str | None
) -> rt.CStub:
    """Return the program in C. Errors: as `Program.export`."""
    where = SimpleNamespace(ordinal=0)  # there need be no GPU
    views = {parameter: rt.read(x) for parameter, x in arguments.items() if is_array(x)}
    if not programs.are_apart(views):
        raise ArgumentError(f"{program.__name__}(): the examples have to have elements, and not to overlap")
    spans = [view.span for view in views.values()]
    calling, recorded = program.traced(arguments, where)
    values = [each.kernel.signature.bound(each.arguments(), 0).values for each in recorded]
    aligned = max((each.aligned() for each in recorded), default=1)
    rows = [_row(parameter, view, aligned) for parameter, view in views.items()]
    total, offsets = program.offsets(calling, values)
    spaces = [
        (made.pointer, made.pointer + max(made.nbytes, 1), offset)
        for made, offset in zip(calling.workspaces, offsets, strict=True)
    ]
    steps = []
    for each, its in zip(recorded, values, strict=True):
        launch = each.launch.resolved(each.arguments())
        if launch.grid == PERSISTENT:
            raise ArgumentError(f"{program.__name__}(): a persistent grid is of a GPU that is there: give a number")
        grid = extents(launch.grid, "grid", least=0)
        if 0 in grid:
            continue
        compiled = [
            each.kernel.compile(*each.args, block=launch.block, cluster=launch.cluster, arch=arch, **each.kwargs)
            for arch in archs
        ]
        artifacts = tuple(c.artifact._replace(cubin=c.cubin, ptx="", signature=None) for c in compiled)
        moved = tuple(program.moved(each, its, spans, spaces))
        empty = {move.parameter: bytes(TENSORMAP_BYTES) if move.form else 0 for move in moved}
        packed = ParameterLayout(artifacts[0].params).pack([empty.get(i, value) for i, value in enumerate(its)])
        smem = whole(launch.smem, "smem")
        if launch.launched is not None or launch.triggered is not None:
            raise ArgumentError(f"{program.__name__}(): an event is of this process, and is not exported")
        steps.append(Step(artifacts, grid, smem, *ways_of(launch), packed.data(), moved))
    if not steps:
        raise ArgumentError(f"{program.__name__}(): nothing is launched for these examples, and nothing exported")
    signature = kinds.Signature(program.__name__, tuple(rows), len(rows))
    return c_program(name or program.__name__, signature, steps, total)


def _row(name: str, view: rt.ArrayView, aligned: int) -> kinds.Array:
    """Return what is required of an argument: the shape of its example, and the alignment that the kernels expect."""
    align = next((n for n in (aligned, 16) if n >= 16 and view.place % n == 0), DTYPES[view.dtype].bytes)
    return kinds.Array(name, f"{view.dtype} {view.shape}", view.dtype, data.Strided(view.shape, view.strides), align)
