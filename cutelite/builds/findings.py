"""Warnings about a build: the assembler's own, spilled registers, instructions that the assembler moved."""

from __future__ import annotations

import os
import re

from cutelite import toolchain
from cutelite.builds.build import Build
from cutelite.diag import Mistake, Span, render
from cutelite.ir.function import Function

LINES = 4  # the most lines with spills that a warning names


def findings(build: Build, cubin: toolchain.Cubin | None) -> list[str]:
    """Return the assembler's warnings, spills and moved instructions as texts. The passes must have run."""
    assert build.final is not None, "the passes have run"
    if cubin is None or build.options.debug:  # they are all about speed
        return []
    said = [_tool_warning(warning, build.final) for warning in cubin.warnings]
    return said + _spills(build, cubin) + _crossings(build, build.final, cubin)


def _tool_warning(warning: toolchain.ToolWarning, final: Function) -> str:
    """Place a warning, which names no line, at the kernel's first instruction of the kind that it is about."""
    kind = re.search(r"\b(wgmma|setmaxnreg)\b", warning.message)
    mistake = Mistake(warning.code or "assembler", warning.message, severity="warning")
    return render(mistake, first_of(final, kind[1]) if kind else None)


def _spills(build: Build, cubin: toolchain.Cubin) -> list[str]:
    """Return a warning at the kernel, of the bytes that each thread stores and loads because registers ran out."""
    usage = cubin.usage
    if not usage.spill_stores + usage.spill_loads:
        return []
    code = build.source.function.__code__
    stored, loaded = usage.spill_stores, usage.spill_loads
    mistake = Mistake(
        "spills",
        f"registers ran out in `{build.front.name}`: each thread stores {stored} bytes and loads {loaded} instead",
        f"it may use {usage.registers} registers per thread" + _where(build, cubin),
        "keep fewer values at a time, take smaller tiles or blocks, or allow more registers: `max_registers=`, "
        "`min_blocks=`",
        severity="warning",
    )
    return [render(mistake, Span.of_code(code))]


def _where(build: Build, cubin: toolchain.Cubin) -> str:
    """Return a text with the lines that spill most; '' if the cubin has no lines, or there is no disassembler."""
    sass = toolchain.disassemble(cubin.image, build.ptx) if ".loc" in build.ptx else None
    if sass is None or not sass.spills:
        return ""
    told = [f"{os.path.basename(file)}:{line} ({sum(both)} bytes)" for (file, line), both in sass.spills.items()]
    return "; most of it at " + ", ".join(told[:LINES])


def _crossings(build: Build, final: Function, cubin: toolchain.Cubin) -> list[str]:
    """Return a warning for each fence of operands that the assembler moved operations behind."""
    fences = {op["number"]: op.span for op in final.ops() if op.name == "wgmma.fence_operand" and op["held"]}
    if not fences:
        return []
    found = []
    for number, count in toolchain.crossed(build.ptx, cubin.image).items():
        mistake = Mistake(
            "wgmma-order",
            f"the assembler moved {count} operations behind this fence",
            "the operations that compute these values should stay above it",
            "a product or a wait after it does not overlap with them: keep less in registers, or put a branch between",
            severity="warning",
        )
        found.append(render(mistake, fences[number]))
    return found


def first_of(final: Function, kind: str) -> Span | None:
    """Return the place of the kernel's first op of a kind, which is the name before the dot, such as 'wgmma'."""
    return next((op.span for op in final.ops() if op.name.split(".")[0] == kind and op.span), None)
