"""The command line of a program that measures, whose docstring is its help, and what it starts and imports.

Programs are called in the repository's folder with `PYTHONPATH=.`, as the Makefile does.
"""

import argparse
import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is the docstring as it is written."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


def words(doc: str | None, name: str, kind: Callable[[str], Any] = int) -> list[Any]:
    """Return the words of the command line, each converted by `kind`; `name`: what the help calls one."""
    asked = parser(doc)
    asked.add_argument("words", nargs="*", type=kind, metavar=name)
    found: list[Any] = asked.parse_args().words
    return found


def example(name: str) -> Any:
    """Return a module of examples/, which import each other by name: not this folder's, which has a gemm too."""
    if sys.path[0] != str(EXAMPLES):
        sys.path.insert(0, str(EXAMPLES))
    return importlib.import_module(name)


def ahead(jobs: int) -> list[subprocess.Popen[bytes]]:
    """Start this program in so many processes more, to compile ahead: with `--compile 0`, `--compile 1` and so on."""
    again = [sys.executable, *sys.argv, "--compile"]
    return [subprocess.Popen([*again, str(i)], stdout=subprocess.PIPE) for i in range(jobs)]
