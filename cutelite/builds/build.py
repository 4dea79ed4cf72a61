"""The artefacts of one compile."""

from __future__ import annotations

from cutelite.builds.source import Source
from cutelite.ir.function import Function
from cutelite.options import Options
from cutelite.target import Target
from cutelite_rt import Artifact


class Build:
    """The artefact of every stage of one compile.

    front     the IR as the frontend made it; `final` as it was lowered
    passes    IR text after each pass, by number and name, if it was asked for
    ptx       the PTX that was assembled here; `portable_ptx`, which is kept, avoids the bugs of every ptxas
    artifact  the artefact to launch: the cubin, or only PTX if there is no assembler
    times     seconds by stage
    warnings  warnings of passes and tools, as text
    changed   what a hook of the user's made of an artefact, for errors that may come of that
    """

    def __init__(self, source: Source, target: Target, options: Options, front: Function) -> None:
        self.source, self.target, self.options, self.front = source, target, options, front
        self.final: Function | None = None
        self.passes: dict[str, str] = {}
        self.llvm = self.ptx = self.portable_ptx = ""
        self.artifact: Artifact | None = None
        self.times: dict[str, float] = {}
        self.warnings: list[str] = []
        self.changed = ""
