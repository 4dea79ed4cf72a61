"""Exporting a kernel: compiled for architectures and signatures, with what its arguments must be, as a `Bundle`.

Signatures are data (`cutelite_rt.signature`), so that neither the compiler nor Python is needed to check arguments by
them: `cutelite_rt.load_kernel` launches an exported kernel, and `cutelite_rt.export.cstub` writes C that does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import cutelite_rt as rt
from cutelite.dispatch.compiled import Compiled
from cutelite.dispatch.export_host import host_code
from cutelite.dispatch.signature import Signature


class Compilable(Protocol):
    """A kernel, as far as exporting it needs to know."""

    __name__: str

    @property
    def signature(self) -> Signature: ...

    def compile(self, /, *examples: Any, **given: Any) -> Compiled: ...


def bundle(
    kernel: Compilable,
    examples: Sequence[Any],
    signatures: Sequence[Mapping[str, Any]],
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
    host = host_code(kernel.signature, int(method), grid, variants, cpus) if cpus else None
    return rt.Bundle(kernel.__name__, tuple(variants), host)


def default_ptx(archs: Sequence[str]) -> str | None:
    """The architecture whose PTX later GPUs run: the highest plain one, for PTX of `a` and `f` runs nowhere else."""
    plain = [arch for arch in archs if not arch.endswith(("a", "f"))]
    return max(plain, key=lambda arch: int(arch.removeprefix("sm_")), default=None)
