"""What a kernel is compiled with, from its decorator first and the environment second."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cutelite import config

from .launch import Dim3


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to compile. None: what the environment says (`docs/environment.md`), else the default.

    fmad           a multiply and an add may fuse into one rounding, as nvcc does by default
    assertions     compile `assert` and bounds checks
    line_info      source lines in the cubin, for profilers
    opt            optimisation level, 0 to 3
    max_registers  cap on registers per thread
    min_blocks     blocks that must fit on one multiprocessor: another way to cap registers
    ptxas_options  more options for ptxas
    backend        'llvm', or 'nvvm' for NVIDIA's libNVVM
    assembler      'auto', 'ptxas', 'nvjitlink' or 'driver'
    """

    fmad: bool = True
    assertions: bool | None = None
    line_info: bool | None = None
    opt: int | None = None
    max_registers: int | None = None
    min_blocks: int | None = None
    ptxas_options: tuple[str, ...] | None = None
    backend: str | None = None
    assembler: str | None = None

    def completed(self, environment: config.Config) -> Options:
        """With the environment's choice for everything that is None."""
        names = ("assertions", "line_info", "opt", "max_registers", "ptxas_options", "backend", "assembler")
        return replace(self, **{n: getattr(environment, n) for n in names if getattr(self, n) is None})

    def attrs(self, block: Dim3, cluster: Dim3 | None) -> dict[str, Any]:
        """The attributes of an IR function compiled so."""
        attrs: dict[str, Any] = {"block": block, "fmad": self.fmad}
        if cluster is not None:
            attrs["cluster"] = cluster
        if self.assertions:
            attrs["assertions"] = True
        for name in ("min_blocks", "max_registers"):
            if getattr(self, name) is not None:
                attrs[name] = getattr(self, name)
        return attrs
