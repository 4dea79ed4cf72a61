"""The runtime as a room of its own: light to import, and alone."""

import inspect
import re
from pathlib import Path

import pytest

import cutelite_rt
from tests.processes import printed

ROOT = Path(inspect.getfile(cutelite_rt)).parent
FILES = sorted(ROOT.rglob("*.py"))


def test_importing_it_brings_in_nothing_heavy() -> None:
    program = "import cutelite_rt, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = set(printed(program).split())
    assert "cutelite_rt" in loaded
    assert not loaded & {"cutelite", "llvmlite", "numpy", "cuda", "torch", "dataclasses", "json"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_file_of_the_runtime_knows_no_compiler_and_no_environment(file: Path) -> None:
    text = file.read_text()
    assert not re.search(r"^\s*(from|import) cutelite\b", text, re.MULTILINE)
    assert file.name == "cache.py" or not re.search(r"os\.environ|getenv", text)  # it asks where users' caches are
    assert (file.name == "driver.py") or "cuda.bindings.driver" not in text


def test_the_public_names_are_there() -> None:
    assert [name for name in cutelite_rt.__all__ if not hasattr(cutelite_rt, name)] == []
    assert cutelite_rt.__all__ == sorted(cutelite_rt.__all__)


FOLDERS = ("gpu", "arrays", "signature", "launcher", "export")
"""From below to above; the files beside them are leaves."""


def test_imports_among_its_folders_point_down() -> None:
    bent = []
    for file in FILES:
        parts = file.relative_to(ROOT).parts
        if parts == ("__init__.py",):
            continue
        above = FOLDERS[FOLDERS.index(parts[0]) + 1 :] if len(parts) > 1 else FOLDERS
        found = re.findall(r"^(?:from|import) cutelite_rt\.(\w+)", file.read_text(), re.MULTILINE)
        bent += [f"{'/'.join(parts)} imports {folder}" for folder in found if folder in above]
    assert bent == []
