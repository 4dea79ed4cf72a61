"""The code of the pages runs: their Python blocks, in order, and each step of the tutorial.

A page says in HTML comments, which no reader sees, what a block needs to run:

    <!-- run               code of its own, before the next block: imports, arrays
    <!-- around            code in which the line `<block>` stands for the next block
    <!-- needs torch gpu   the next block runs where these modules, a GPU, are; `more`: not here at all
"""

import importlib.util
import itertools
import re
import runpy
import textwrap
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PIECE = re.compile(r"<!-- (run|around|needs)[ \n](.*?)-->|```python\n(.*?)```", re.DOTALL)
PAGES = [
    page
    for page in [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "ARCHITECTURE.md"]
    if "```python\n" in page.read_text(encoding="utf-8") and page.parent.name != "api"
]


def missing(words: str) -> list[str]:
    """Those of the words, names of modules or 'gpu', that are not here."""
    found = [word for word in words.split() if word == "more"]
    found += [word for word in words.split() if word not in ("gpu", *found) and importlib.util.find_spec(word) is None]
    if "gpu" in words.split() and not found:
        import torch

        found += [] if torch.cuda.is_available() else ["a GPU"]
    return found


def pieces(page: Path) -> list[tuple[str, str]]:
    """What a page has to run, in order: its code, and what that needs."""
    made, around, needs = [], "<block>", ""
    text = page.read_text(encoding="utf-8")
    for match in PIECE.finditer(text):
        kind, hidden, block = match.groups()
        lines = "\n" * text.count("\n", 0, match.start(2 if kind else 3))  # errors then name the page's lines
        if kind == "run":
            made.append((lines + hidden, needs))
        elif kind == "around":
            around = hidden
        elif kind == "needs":
            needs = hidden
        elif not block.startswith(">>>"):  # those are tests/layout/test_doctests.py's
            made.append((lines + within(around, block), needs))
            around, needs = "<block>", ""
    return made


def within(around: str, block: str) -> str:
    """A block in the place of the line `<block>`, as far to the right."""
    found = re.search(r"^( *)<block>", around, re.MULTILINE)
    assert found is not None, "no line <block>"
    return around[: found.start()] + textwrap.indent(block, found[1]) + around[found.end() :]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {"__name__": "a_page"}
    for code, needs in pieces(page):
        if not missing(needs):
            exec(compile(code, str(page), "exec", dont_inherit=True), space)


@pytest.mark.parametrize("step", sorted((ROOT / "docs" / "tutorial").glob("*.py")), ids=lambda step: step.stem)
def test_the_tutorial_runs(step: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(step), run_name="__main__")
    assert capsys.readouterr().err == ""


def test_the_pages_of_the_tutorial_follow_each_other() -> None:
    steps = sorted((ROOT / "docs" / "tutorial").glob("*.py"))
    for before, after in itertools.pairwise(steps):
        assert f"]({after.stem})" in before.read_text(encoding="utf-8")
