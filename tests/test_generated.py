"""Files that are made from declarations are as these have them now; `make update` writes them anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cutelite import config
from docs.tools.ops_page import markdown
from docs.tools.stub import stub

ROOT = Path(__file__).resolve().parents[1]
MADE: dict[str, Callable[[str], str]] = {
    "cutelite/__init__.pyi": stub,
    "docs/ops.md": lambda text: markdown(),
    "docs/environment.md": lambda text: config.markdown(),
}
"""What each file is to hold, of what it holds."""


@pytest.mark.parametrize("path", MADE)
def test_it_is_current(path: str, update: bool) -> None:
    file = ROOT / path
    made = MADE[path](file.read_text(encoding="utf-8"))
    if update:
        file.write_text(made, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == made, "`make update` writes it anew"
