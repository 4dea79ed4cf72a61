"""What type checkers are told is what the package exports."""

import ast
from pathlib import Path

import cutelite

STUB = Path(cutelite.__file__).with_suffix(".pyi")


def test_every_name_in_the_stub_is_defined_there() -> None:
    tree = ast.parse(STUB.read_text())
    defined = {alias.asname or alias.name for n in tree.body if isinstance(n, ast.ImportFrom) for alias in n.names}
    defined |= {n.name for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    defined |= {ast.unparse(n.targets[0]) for n in tree.body if isinstance(n, ast.Assign)}
    defined |= {ast.unparse(n.target) for n in tree.body if isinstance(n, ast.AnnAssign)}
    assert set(cutelite.__all__) <= defined


def test_the_package_says_that_it_is_typed() -> None:
    assert STUB.with_name("py.typed").exists()
