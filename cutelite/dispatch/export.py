"""Exporting a kernel: compiled for architectures and signatures, with what its arguments must be, as a `Bundle`.

Signatures are data (`cutelite_rt.signature`), so that neither the compiler nor Python is needed to check arguments by
them: `cutelite_rt.load_kernel` launches an exported kernel, and `cutelite_rt.export.cstub` writes C that does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import cutelite_rt as rt
from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.signature import Signature
from cutelite.toolchain import host
from cutelite_rt.export.bundle import HostCode
from cutelite_rt.launcher.image import Machine, digest, launcher_ir
from cutelite_rt.launcher.outcomes import slots_of
from cutelite_rt.signature import kinds
from cutelite_rt.signature.data import Unsupported, Variable
from cutelite_rt.signature.table import Table

if TYPE_CHECKING:
    from cutelite.dispatch.kernel import Kernel


def bundle(
    kernel: Kernel,
    examples: Sequence[Any],
    signatures: Sequence[Mapping[str, Any]],
    *,
    archs: Sequence[str],
    ptx: str | None,
    grid: Sequence[Any] | None,
    wide_dims: bool,
    shapes: Mapping[str, Any],
    method: bool,
    cpus: Sequence[str] = (),
) -> rt.Bundle:
    """`kernel` compiled for each of `signatures` and each of `archs`; the rest as `Kernel.export` has it.

    shapes   block and cluster
    method   the first parameter is the object that the kernel is a method of, and no parameter any more
    Errors   as `Kernel.compile`; `ToolchainError` where there is no assembler
    """
    variants = []
    for given in signatures:
        bound = kernel.signature.ahead(examples, dict(given), wide_dims)
        settings = {**given, **shapes, "wide_dims": wide_dims}
        artifacts = []
        for arch in dict.fromkeys(archs):
            compiled = kernel.compile(*examples, arch=arch, **settings)
            artifacts.append(compiled.artifact._replace(cubin=compiled.cubin, ptx="", signature=None))
        if ptx is not None:
            compiled = kernel.compile(*examples, arch=ptx, **settings)
            artifacts.append(compiled.artifact._replace(cubin=b"", ptx=compiled.ptx, signature=None))
        variants.append(rt.Variant(kernel.signature.settled(bound, int(method), grid), tuple(artifacts)))
    code = host_code(kernel.signature, int(method), grid, variants, cpus) if cpus else None
    return rt.Bundle(kernel.__name__, tuple(variants), code)


def default_ptx(archs: Sequence[str]) -> str | None:
    """The architecture whose PTX later GPUs run: the highest plain one, for PTX of `a` and `f` runs nowhere else."""
    plain = [arch for arch in archs if not arch.endswith(("a", "f"))]
    return max(plain, key=lambda arch: int(arch.removeprefix("sm_")), default=None)


def host_code(
    signature: Signature, skip: int, grid: Sequence[Any] | None, variants: Sequence[rt.Variant], cpus: Sequence[str]
) -> HostCode:
    """The launcher as machine code for `cpus`, to run where no compiler is.

    Its tables differ from a live kernel's in two things: a struct may be of any class that has its fields, and the grid
    may follow from the dims. `cutelite_rt.signature.settled` tells the outcome of a launch.

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
