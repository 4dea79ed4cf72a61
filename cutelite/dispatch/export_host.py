"""The launcher of an exported kernel: machine code for CPUs, made where the compiler is, to run where it is not.

In    a kernel's signature, and what it is exported for
Out   `bundle.HostCode`

It is the launcher of live kernels with two differences in its tables: a struct may be of any class that has its fields,
and the grid may follow from the dims. The outcome of a launch is told by `cutelite_rt.signature.settled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cutelite.dispatch.arguments import ArgumentError, Bound, Parameter
from cutelite.dispatch.arrays import TensorParameter, TmaParameter
from cutelite.dispatch.parameters import ScalarParameter, leaves
from cutelite.dispatch.signature import Signature
from cutelite.dispatch.slots import slots_of
from cutelite.lang.annotations import DTypeVar
from cutelite.toolchain import host
from cutelite_rt.export.bundle import HostCode
from cutelite_rt.launcher.image import Machine, digest, launcher_ir
from cutelite_rt.signature.data import Unsupported, plain
from cutelite_rt.signature.table import Table


def host_code(
    signature: Signature, skip: int, grid: Sequence[Any] | None, bounds: Sequence[Bound], cpus: Sequence[str]
) -> HostCode:
    """Code for `cpus`.

    skip    parameters to leave out at the front
    grid    blocks: ints and expressions over dims; None: each launch says
    bounds  what each variant is compiled for
    Errors  `ArgumentError` for a CPU that is none of `host.BASELINES`, and where there can be no launcher;
            `ToolchainError`
    """
    for cpu in cpus:
        if cpu not in host.BASELINES:
            raise ArgumentError(f"{signature.kernel}(): launchers are for the CPUs {', '.join(host.BASELINES)}, "
                                f"not for {cpu!r}")  # fmt: skip
    parameters = signature.parameters[skip:]
    try:
        _need_dtypes_of_arrays(parameters)
        said = signature.data(skip, grid)
        table = Table(said)
        variants = [slots_of(parameters, bound.types, bound.dims, table.dims) for bound in bounds]
        if any(len(each.slots) != len(table.places.at) for each in variants):
            raise Unsupported("its signatures have tuples or lists of different lengths")
    except Unsupported as error:
        raise ArgumentError(f"{signature.kernel}() has no launcher to export: {error}") from None
    program = {
        "signature": plain(said),
        "variants": [{"slots": each.slots, "maps": [form and [*form] for form in each.maps]} for each in variants],
    }
    text = launcher_ir()
    images = {cpu: host.to_image(text, Machine._fields, cpu) for cpu in cpus}
    return HostCode(digest(), _plain(program), images)


def _need_dtypes_of_arrays(parameters: Sequence[Parameter]) -> None:
    """Refuse dtype variables that only numbers tell: the launcher's key says nothing of values."""
    dtypes = [p.spec.dtype for p in parameters if isinstance(p, TensorParameter)]
    dtypes += [p.spec.tensor.dtype for p in parameters if isinstance(p, TmaParameter)]
    told = {dtype.name for dtype in dtypes}
    for leaf in (leaf for p in parameters for leaf in leaves(p)):
        if isinstance(leaf, ScalarParameter) and isinstance(leaf.wanted, DTypeVar) and leaf.wanted.name not in told:
            raise Unsupported(f"no array tells the dtype of `{leaf.name}`")


def _plain(x: Any) -> Any:
    """As it comes back from JSON."""
    if isinstance(x, dict):
        return {name: _plain(value) for name, value in x.items()}
    return [_plain(item) for item in x] if isinstance(x, tuple | list) else x
