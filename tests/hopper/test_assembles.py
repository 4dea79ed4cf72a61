"""Every spelling of every Hopper op goes through LLVM and is taken by ptxas, for each target that has the op."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cutelite import lower, toolchain
from cutelite.target import Target
from tests.hopper.spellings import spellings
from tests.spelled import Spelling, check_assembles

GROUPS = ("cp.async", "bulk", "createpolicy", "mbarrier", "fence", "g2s", "s2g", "prefetch", "reduce", "wgmma", "")
"""Spellings are assembled together with others whose names begin alike: starting ptxas takes longer than its work."""


def group_of(spelling: Spelling) -> str:
    return next(group for group in GROUPS if spelling.name.startswith(group))


def assemble(chosen: list[Spelling], target: Target, ptxas: str, folder: Path) -> None:
    """All of them as kernels of one module."""
    assert chosen
    texts = [toolchain.to_ptx(lower.to_llvm(s.function(), target), target) for s in chosen]
    head = texts[0][: texts[0].index(".visible .entry")]
    entries = [text[text.index(".visible .entry") :] for text in texts]
    together = "\n".join(re.sub(r"\bspelling\b", f"spelling{i}", entry) for i, entry in enumerate(entries))
    check_assembles(head + together, target, ptxas, folder)


@pytest.mark.parametrize("group", GROUPS)
def test_assembles(group: str, hopper: Target, ptxas: str, tmp_path: Path) -> None:
    assemble([s for s in spellings() if group_of(s) == group], hopper, ptxas, tmp_path)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100a", "sm_120a"])
def test_other_targets_take_what_they_are_said_to_have(arch: str, ptxas: str, tmp_path: Path) -> None:
    target = Target.parse(arch)
    assemble([s for s in spellings() if s.is_there(target)], target, ptxas, tmp_path)
