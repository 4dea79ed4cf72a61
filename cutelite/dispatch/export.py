"""Export a kernel as a `Bundle`: code for several architectures and signatures, and the rules for its arguments.

Signatures are data (`cutelite_rt.signature`), so neither the compiler nor Python is needed to check arguments:
`cutelite_rt.load_kernel` launches an exported kernel, and `cutelite_rt.export.cstub` writes C that does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import cutelite_rt as rt
from cutelite import config
from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.signature import Signature
from cutelite.target import Target
from cutelite.toolchain import host
from cutelite_rt.export.bundle import HostCode
from cutelite_rt.launcher.image import INTERPRETERS, Machine, digest, launcher_ir
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
    settings: Mapping[str, Any],
    arch: str | Sequence[str] | None,
    ptx: str | None,
    grid: Any,
    method: bool,
    cpus: str | Sequence[str],
) -> rt.Bundle:
    """Compile `kernel` for each of `signatures` and each architecture. Other arguments are as for `Kernel.export`.

    settings  block, cluster, `wide_dims` and options
    method    the kernel is a method: its first parameter, the object, is left out
    Errors    as `Kernel.compile`; `ToolchainError` if there is no assembler
    """
    default = config.read().arch or kernel.default_arch
    names = (None,) if arch is None else _several(kernel, "architecture", arch)
    if not names or not signatures:
        what = "signature" if names else "architecture"
        raise ArgumentError(f"{kernel.__name__}(): an export has at least one {what}")
    archs = [Target.parse(name or default).arch for name in names]
    plain = [name for name in archs if not name.endswith(("a", "f"))]  # later GPUs run the PTX of these alone
    highest = max(plain, key=lambda name: int(name.removeprefix("sm_")), default=None)
    forward = highest if ptx is None else Target.parse(ptx).arch
    blocks = grid if grid is None or isinstance(grid, tuple | list) else (grid,)
    if blocks is not None and not 1 <= len(blocks) <= 3:
        raise ArgumentError(f"{kernel.__name__}(): the grid to export is {grid!r}, but has one to three extents")
    variants = []
    for given in signatures:
        bound = kernel.signature.ahead(examples, dict(given), settings["wide_dims"])
        said, artifacts = {**given, **settings}, []
        for name in dict.fromkeys(archs):
            compiled = kernel.compile(*examples, arch=name, **said)
            artifacts.append(compiled.artifact._replace(cubin=compiled.cubin, ptx="", signature=None))
        if forward is not None:
            compiled = kernel.compile(*examples, arch=forward, **said)
            artifacts.append(compiled.artifact._replace(cubin=b"", ptx=compiled.ptx, signature=None))
        variants.append(rt.Variant(kernel.signature.settled(bound, int(method), blocks), tuple(artifacts)))
    wanted = _several(kernel, "CPU", cpus)
    code = host_code(kernel.signature, int(method), blocks, variants, wanted) if wanted else None
    return rt.Bundle(kernel.__name__, tuple(variants), code)


def _several(kernel: Kernel, what: str, given: Any) -> Sequence[str]:
    if isinstance(given, str | tuple | list):
        return (given,) if isinstance(given, str) else given
    raise ArgumentError(f"{kernel.__name__}(): an export takes names of {what}s, not {given!r}")


def host_code(
    signature: Signature, skip: int, grid: Sequence[Any] | None, variants: Sequence[rt.Variant], cpus: Sequence[str]
) -> HostCode:
    """Return the launcher as machine code for `cpus`, which runs without a compiler.

    Its tables differ from a live kernel's in two ways: a struct may be of any class that has its fields, and the grid
    may be computed from the dims. `cutelite_rt.signature.settled` decides the outcome of a launch.

    skip      how many parameters to leave out at the front
    grid      blocks: ints and expressions over dims; None: each launch says them
    variants  the variants of the kernel to be launched
    Errors    `ArgumentError` for a CPU that has none, or a signature that no launcher can take;
              `ToolchainError`
    """
    known = {f"{cpu}{end}": (cpu, each) for end, each in INTERPRETERS.items() for cpu in host.BASELINES}
    for cpu in cpus:
        if cpu not in known:
            raise ArgumentError(f"{signature.kernel}(): launchers are for the CPUs {', '.join(known)}, not for {cpu!r}")
    try:
        said = signature.data(skip, grid)
        told = {leaf.dtype for leaf in said.leaves() if isinstance(leaf, kinds.Array)}
        for leaf in said.leaves():
            if isinstance(leaf, kinds.Number) and isinstance(leaf.dtype, Variable) and leaf.dtype not in told:
                # The launcher's key does not contain values of numbers.
                raise Unsupported(f"no array tells the dtype of `{leaf.name}`")
        table = Table(said)
        for variant in variants:
            slots_of(table, variant.signature)
    except Unsupported as error:
        raise ArgumentError(f"{signature.kernel}() has no launcher to export: {error}") from None
    wanted = {name: known[name] for name in cpus}
    images = {name: host.to_image(launcher_ir(its), Machine._fields, cpu) for name, (cpu, its) in wanted.items()}
    return HostCode(digest(), said, images)
