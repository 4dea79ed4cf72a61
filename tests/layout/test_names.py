"""The package's names: imported when first used, and the same as type checkers are told."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

from cutelite import layout

STUB = ast.parse(Path(layout.__file__).with_suffix(".pyi").read_text())
IMPORTS = [node for node in STUB.body if isinstance(node, ast.ImportFrom)]


def test_every_name_is_the_one_that_the_stub_imports() -> None:
    told = {alias.name: node.module for node in IMPORTS for alias in node.names}
    assert sorted(told) == layout.__all__ == sorted(set(layout.__all__) & set(dir(layout)))
    for name, module in told.items():
        assert getattr(layout, name) is getattr(importlib.import_module(str(module)), name), name


def test_the_stub_exports_what_it_imports() -> None:
    (listed,) = (ast.literal_eval(node.value) for node in STUB.body if isinstance(node, ast.Assign))
    assert sorted(listed) == layout.__all__
