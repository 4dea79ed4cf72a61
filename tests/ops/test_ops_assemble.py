"""Every spelling of every general op goes through LLVM and is taken by ptxas, on all targets that have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutelite import lower, toolchain
from cutelite.target import Target
from tests.ops.spellings import kernel, spellings
from tests.spelled import check_assembles

FAMILIES = sorted({spelling.name for spelling in spellings()})


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("family", FAMILIES)
def test_assembles(family: str, arch: str, ptxas: str, tmp_path: Path) -> None:
    target = Target.parse(arch)
    chosen = [s for s in spellings() if s.name == family and s.is_there(target)]
    text = toolchain.to_ptx(lower.to_llvm(kernel(chosen, target), target), target)
    check_assembles(text, target, ptxas, tmp_path, "-O1")
