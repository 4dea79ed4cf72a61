"""The runtime as a room of its own: light to import, and alone."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cutelite_rt

FILES = sorted(Path(inspect.getfile(cutelite_rt)).parent.glob("*.py"))


def test_importing_it_brings_in_nothing_heavy() -> None:
    program = "import cutelite_rt, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "cutelite_rt" in loaded
    assert not loaded & {"cutelite", "llvmlite", "numpy", "cuda", "platformdirs", "torch", "dataclasses", "json"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_of_the_runtime_knows_no_compiler_and_no_environment(file: Path) -> None:
    text = file.read_text()
    assert not re.search(r"^\s*(from|import) cutelite\b", text, re.MULTILINE)
    assert not re.search(r"os\.environ|getenv", text)
    assert (file.name == "driver.py") or "cuda.bindings.driver" not in text


def test_the_public_names_are_there() -> None:
    assert [name for name in cutelite_rt.__all__ if not hasattr(cutelite_rt, name)] == []
    assert cutelite_rt.__all__ == sorted(cutelite_rt.__all__)
