"""The command line of a program that measures: its docstring is its help."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is the docstring as it is written."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


def words(doc: str | None, name: str, kind: Callable[[str], Any] = int) -> list[Any]:
    """Return the words of the command line, each converted by `kind`; `name`: what the help calls one."""
    asked = parser(doc)
    asked.add_argument("words", nargs="*", type=kind, metavar=name)
    found: list[Any] = asked.parse_args().words
    return found
