"""Each file in ops/ is a kernel that uses an op in each of its spellings, and the PTX it becomes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

import cutelite.ops  # noqa: F401  # registers the ops
from cutelite import lower, passes, toolchain
from cutelite.ir.op import REGISTRY
from cutelite.ir.parser import parse_function
from cutelite.ir.verifier import verify
from cutelite.target import Target
from tests.golden.cases import Case, paths
from tests.hopper.spellings import spellings

HOPPER = Target.parse("sm_90a")


@cache
def ptx(path: Path) -> str:
    """The PTX of a case's kernel."""
    function = parse_function(Case.read(path).source, path.name)
    verify(function, "the case")
    final = passes.run(passes.PIPELINE, function, passes.Context(HOPPER))
    return toolchain.to_ptx(lower.to_llvm(final, HOPPER), HOPPER)


def instructions(text: str) -> str:
    """The kernel without declarations and the backend's comments."""
    start = text.index(".visible .entry")
    lines = [line for line in text[start:].splitlines() if not re.match(r"\s*(\.reg|//|\{? ?//|\} ?//|$)", line)]
    return "\n".join(line.split("\t// ")[0].rstrip() for line in lines) + "\n"


@pytest.mark.parametrize("path", paths("ops"), ids=lambda path: path.stem)
def test_spelling(path: Path, update: bool) -> None:
    Case.read(path).check("ptx", instructions(ptx(path)), update)


@pytest.mark.parametrize("path", paths("ops"), ids=lambda path: path.stem)
def test_assembles(path: Path, ptxas: str) -> None:
    toolchain.to_cubin(ptx(path), HOPPER, assembler="ptxas")


def test_every_op_is_here() -> None:
    shown = {op.name for path in paths("ops") for op in parse_function(Case.read(path).source).ops()}
    shown |= {op.name for spelling in spellings() for op in spelling.function().ops()}
    assert set(REGISTRY) - shown == set()
