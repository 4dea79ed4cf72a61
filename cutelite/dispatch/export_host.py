"""The launcher of an exported kernel: machine code for CPUs, made here to run where no compiler is.

In    a kernel's signature, and what it is exported for
Out   `bundle.HostCode`

It is the launcher of live kernels with two differences in its tables: a struct may be of any class that has its fields,
and the grid may follow from the dims. The outcome of a launch is told by `cutelite_rt.signature.settled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cutelite_rt as rt
from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.signature import Signature
from cutelite.toolchain import host
from cutelite_rt.export.bundle import HostCode
from cutelite_rt.launcher.image import Machine, digest, launcher_ir
from cutelite_rt.launcher.variants import slots_of
from cutelite_rt.signature import kinds
from cutelite_rt.signature.data import Unsupported, Variable
from cutelite_rt.signature.table import Table


def host_code(
    signature: Signature, skip: int, grid: Sequence[Any] | None, variants: Sequence[rt.Variant], cpus: Sequence[str]
) -> HostCode:
    """Code for `cpus`.

    skip      parameters to leave out at the front
    grid      blocks: ints and expressions over dims; None: each launch says
    variants  what it is exported for
    Errors    `ArgumentError` for a CPU that is none of `host.BASELINES`, and where there can be no launcher;
              `ToolchainError`
    """
    for cpu in cpus:
        if cpu not in host.BASELINES:
            raise ArgumentError(f"{signature.kernel}(): launchers are for the CPUs {', '.join(host.BASELINES)}, "
                                f"not for {cpu!r}")  # fmt: skip
    try:
        said = signature.data(skip, grid)
        _need_dtypes_of_arrays(said)
        table = Table(said)
        for variant in variants:
            slots_of(table, variant.signature)
    except Unsupported as error:
        raise ArgumentError(f"{signature.kernel}() has no launcher to export: {error}") from None
    text = launcher_ir()
    images = {cpu: host.to_image(text, Machine._fields, cpu) for cpu in cpus}
    return HostCode(digest(), said, images)


def _need_dtypes_of_arrays(said: kinds.Signature) -> None:
    """Refuse dtype variables that only numbers tell: the launcher's key says nothing of values."""
    told = {leaf.dtype for leaf in said.leaves() if isinstance(leaf, kinds.Array)}
    for leaf in said.leaves():
        if isinstance(leaf, kinds.Number) and isinstance(leaf.dtype, Variable) and leaf.dtype not in told:
            raise Unsupported(f"no array tells the dtype of `{leaf.name}`")
