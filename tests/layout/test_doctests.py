"""The examples in the docstrings of the layout algebra are true."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import cutelite.layout

MODULES = [
    importlib.import_module(f"cutelite.layout.{info.name}") for info in pkgutil.iter_modules(cutelite.layout.__path__)
]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples(module: ModuleType) -> None:
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_the_page_of_layouts() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "layouts.md"
    flags = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    result = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert result.attempted > 15
    assert result.failed == 0
    table = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    named = {word for line in table for chunk in re.findall("`([^`]+)`", line) for word in chunk.split()}
    assert {name for name in named if name.isidentifier()} - {"o", "offset", "layout"} <= {
        *dir(cutelite.layout), "swizzle"
    }  # fmt: skip
