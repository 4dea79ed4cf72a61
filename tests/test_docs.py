"""The pages: links lead somewhere, and the list of pages has them all."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

import cutelite
from docs.tools.api_facts import facts, said

ROOT = Path(__file__).resolve().parents[1]
MADE = (ROOT / "docs" / "api", ROOT / "docs" / "_build")  # by `make docs`
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])
PAGES = [page for page in PAGES if not any(folder in page.parents for folder in MADE)]
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
MENTION = re.compile(r"(?<![\w/.-])((?:docs|examples|tests|cutelite|cutelite_rt)/[\w/.-]+\.(?:md|py|svg|jsonl?)\b)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in LINK.findall(CODE.sub("", text)) if "://" not in link]
    missing = [link for link in links if not (page.parent / link).exists()]
    missing += [place for place in MENTION.findall(text) if not (ROOT / place).exists()]
    assert missing == []


def test_the_list_has_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / link).resolve() for link in LINK.findall(index.read_text(encoding="utf-8"))}
    site = index.with_name("index.md")  # the same list, for the site
    assert {page for page in PAGES if ROOT / "docs" in page.parents and page not in (index, site)} == listed


def test_the_site_has_every_page() -> None:
    """Pages of the tutorial and the lab are found by their folders' lists."""
    folder = ROOT / "docs"
    trees = "\n".join(
        re.findall(r"```{toctree}\n(.*?)```", (folder / "index.md").read_text(encoding="utf-8"), re.DOTALL)
    )
    pages = {page.relative_to(folder).with_suffix("").as_posix() for page in PAGES if folder in page.parents}
    named = {line for line in trees.splitlines() if line and not line.startswith(":")}
    top = {page for page in pages if "/" not in page} - {"README", "index"}
    assert top | {"tutorial/index", "lab/index"} == {name for name in named if not name.startswith("api/")}
    steps = (folder / "tutorial" / "index.md").read_text(encoding="utf-8")
    assert all(f"\n{step.stem}\n" in steps and f"({step.name})" in steps for step in (folder / "tutorial").glob("*.py"))


def words(thing: Any, name: str) -> Iterator[tuple[str, FunctionType]]:
    """The functions behind a public name: its own, or those of the module or class that it is."""
    if isinstance(thing, FunctionType):
        yield name, thing
    elif isinstance(thing, ModuleType):
        for each in getattr(thing, "__all__", ()):
            yield from words(getattr(thing, each), f"{name}.{each}")
    elif inspect.isclass(thing):
        for each, held in vars(thing).items():
            found = held.fget if isinstance(held, property) else getattr(held, "__func__", held)
            if isinstance(found, FunctionType) and not each.startswith("_"):
                yield f"{name}.{each}", found


def test_the_reference_says_who_executes_a_word_and_where_it_is_defined() -> None:
    """By the docstring or by the ops that it becomes; a word whose errors have codes says these."""
    told = {}
    for name in dir(cutelite):
        for word, function in words(getattr(cutelite, name), name):
            ops, codes = said(function)
            if function.__module__.startswith("cutelite.lang") and ops:
                doc = inspect.getdoc(function) or ""
                told[word] = doc + "".join(f"\n{row}  {text}" for row, text in facts(function, doc))
                assert re.search(r"^\s*Who\b", told[word], re.MULTILINE), word
                assert re.search(r"Source|PTX", told[word]), word
                assert not codes or "Error" in told[word], word
    assert len(told) > 150
    assert "Errors  `shuffle`, `shfl-sync`, `members`" in told["shuffle_up"]
    assert "Who  a warp together" in told["shuffle_up"]
    assert "semantic  the memory order" in told["atomic_add"] and "PTX ISA: atom" in told["atomic_add"]
