"""Every spelling of every Hopper op goes through LLVM and is taken by ptxas for sm_90a."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from cutelite import lower, toolchain
from cutelite.target import Target
from tests.hopper.spellings import Spelling, spellings

GROUPS = ("cp.async", "bulk", "createpolicy", "mbarrier", "fence", "g2s", "s2g", "prefetch", "reduce", "wgmma", "")
"""Spellings are assembled together with others whose names begin alike: starting ptxas takes longer than its work."""


def group_of(spelling: Spelling) -> str:
    return next(group for group in GROUPS if spelling.name.startswith(group))


@pytest.mark.parametrize("group", GROUPS)
def test_assembles(group: str, hopper: Target, ptxas: str, tmp_path: Path) -> None:
    texts = [toolchain.to_ptx(lower.to_llvm(s.function(), hopper), hopper) for s in spellings() if group_of(s) == group]
    assert texts
    head = texts[0][: texts[0].index(".visible .entry")]
    entries = [text[text.index(".visible .entry") :] for text in texts]
    module = head + "\n".join(re.sub(r"\bspelling\b", f"spelling{i}", e) for i, e in enumerate(entries))
    module = re.sub(r"\bspelling_param", "spelling_param", module)
    source = tmp_path / "all.ptx"
    source.write_text(module)
    command = [ptxas, f"-arch={hopper.arch}", str(source), "-o", str(tmp_path / "all.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
