"""Docstrings open with an imperative or a noun phrase: a stranger understands the first line at once."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RIDDLE = re.compile(r"(What|Whether|How|Where|Of|Which|Who|Whose|Why|So many|By which|To which|As many|That)\b")
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@pytest.mark.parametrize("package", ["cutelite", "cutelite_rt"])
def test_docstrings_do_not_open_with_a_question(package: str) -> None:
    found = []
    for file in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            text = (ast.get_docstring(node) or "") if isinstance(node, DOCUMENTED) else ""
            if RIDDLE.match(text):
                found.append(f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}: {text.splitlines()[0]}")
    assert found == []
