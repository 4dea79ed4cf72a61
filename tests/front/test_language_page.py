"""docs/language.md says what the compiler does: its examples run, and its table is the compiler's."""

import re
from pathlib import Path
from typing import Any

import pytest

from cutelite.diag import CompileError
from cutelite.front import bytecode
from cutelite.front.instructions import UnsupportedSyntax
from cutelite.front.loops.run_time import RunTimeLoop
from cutelite.ir.types import bf16, boolean, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from cutelite.lang.promotion import common_type

PAGE = Path(__file__).resolve().parents[2] / "docs" / "language.md"
TYPES = (boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64)


def table() -> str:
    """The types in which two run-time numbers meet."""
    lines = ["| | " + " | ".join(map(str, TYPES)) + " |", "|---" * (len(TYPES) + 1) + "|"]
    for a in TYPES:
        cells = []
        for b in TYPES:
            try:
                cells.append(str(common_type(a, b)))
            except CompileError:
                cells.append("-")
        lines.append(f"| **{a}** | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def test_the_table_is_the_compilers(update: bool) -> None:
    before, _, rest = PAGE.read_text().partition("<!-- promotion -->\n")
    _, end, after = rest.partition("<!-- end -->")
    expected = f"{before}<!-- promotion -->\n{table()}{end}{after}"
    if update:
        PAGE.write_text(expected)
    assert PAGE.read_text() == expected


@pytest.mark.filterwarnings("error")
def test_the_examples_run() -> None:
    space: dict[str, Any] = {"__name__": "language_page"}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert len(blocks) >= 3
    for block in blocks:
        exec(compile(block, str(PAGE), "exec", dont_inherit=True), space)


def test_the_page_about_a_loop_shows_what_the_compiler_does(monkeypatch: pytest.MonkeyPatch) -> None:
    page = PAGE.with_name("how-a-loop-is-compiled.md").read_text()
    shown = dict(re.findall(r"```(\w+)\n(.*?)```", page, re.S))
    attempts = []
    closed = RunTimeLoop._closed

    def recorded(self: RunTimeLoop, *states: Any) -> bool:
        attempts.append(str(self.regions.builder.function))
        return closed(self, *states)

    monkeypatch.setattr(RunTimeLoop, "_closed", recorded)
    space: dict[str, Any] = {"__name__": "loop_page"}
    exec(compile(shown["python"], "loop_page", "exec", dont_inherit=True), space)
    made = space["row_sum"].compile(block=32)
    assert made.stage("cfg")["cfg"].strip() == shown["cfg"].strip()
    assert made.ir.strip() == shown["cir"].strip()
    assert len(attempts) == 2
    assert shown["first"] in attempts[0]


def test_all_that_is_refused_is_told() -> None:
    text = PAGE.read_text()
    refused = [x for x in vars(bytecode).values() if isinstance(x, UnsupportedSyntax)]
    assert len(refused) >= 12
    words = {word for entry in refused for word in re.findall(r"`([^`]+)`", entry.syntax)} - {"from .. import *"}
    assert {word for word in words if word not in text} == set()
