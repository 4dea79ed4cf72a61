"""The pages: links lead somewhere, and the list of pages has them all."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
MENTION = re.compile(r"(?<![\w/.-])((?:docs|examples|tests|cutelite|cutelite_rt)/[\w/.-]+\.(?:md|py|svg|json))")


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
    assert {page for page in (ROOT / "docs").rglob("*.md") if page != index} == listed
