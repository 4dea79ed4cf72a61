"""Every spelling of every general op goes through LLVM and is taken by ptxas, on all targets that have it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cutelite import lower, toolchain
from cutelite.target import Target
from tests.ops.spellings import Spelling, kernel, spellings

FAMILIES = sorted({spelling.family for spelling in spellings()})


def there(spelling: Spelling, target: Target) -> bool:
    feature = spelling.op().feature
    return (feature is None or target.has(feature)) and (target.has("cluster") or "cluster" not in str(spelling.types))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("family", FAMILIES)
def test_assembles(family: str, arch: str, ptxas: str, tmp_path: Path) -> None:
    target = Target.parse(arch)
    chosen = [s for s in spellings() if s.family == family and there(s, target)]
    text = toolchain.to_ptx(lower.to_llvm(kernel(chosen, target), target), target)
    source = tmp_path / "spellings.ptx"
    source.write_text(text)
    command = [ptxas, f"-arch={arch}", "-O1", str(source), "-o", str(tmp_path / "spellings.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
