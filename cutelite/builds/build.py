"""The artefacts of one compile."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutelite.builds.source import Source
from cutelite.ir.function import Function
from cutelite.options import Options
from cutelite.target import Target
from cutelite_rt import Artifact


@dataclass
class Build:
    """The artefact of every stage of one compile.

    front     the IR as the frontend made it; `final` as it was lowered
    passes    IR text after each pass, by number and name, where it was asked for
    ptx       as it was assembled here; `portable_ptx`, which is kept, avoids the bugs of every ptxas
    artifact  what is launched: the cubin, or PTX alone where there is no assembler
    times     seconds by stage
    warnings  of passes and tools, as text
    """

    source: Source
    target: Target
    options: Options
    front: Function
    final: Function | None = None
    passes: dict[str, str] = field(default_factory=dict)
    llvm: str = ""
    ptx: str = ""
    portable_ptx: str = ""
    artifact: Artifact | None = None
    times: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
