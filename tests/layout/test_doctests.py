"""The examples in the docstrings of the layout algebra are true."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
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


def test_every_public_function_has_an_example() -> None:
    bare = [
        name
        for name in cutelite.layout.__all__
        if inspect.isfunction(thing := getattr(cutelite.layout, name)) and ">>>" not in (thing.__doc__ or "")
    ]
    assert bare == []
