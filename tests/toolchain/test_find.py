"""The places where programs are looked for, and their order."""

import os
import sys
from pathlib import Path

import pytest

from cutelite.diag.span import short_path
from cutelite.toolchain import find

pytestmark = pytest.mark.skipif(os.name == "nt", reason="makes programs out of shell scripts")


def program(path: Path) -> str:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """One program of the same name in each place, and an environment that points at all of them."""
    found = {
        "wheel": program(tmp_path / "site" / "nvidia" / "cu13" / "bin" / "nvtool"),
        "older wheel": program(tmp_path / "site" / "nvidia" / "cuda_nvtool" / "bin" / "nvtool"),
        "toolkit": program(tmp_path / "toolkit" / "bin" / "nvtool"),
        "path": program(tmp_path / "bin" / "nvtool"),
    }
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    find._program.cache_clear()
    return found


def test_the_order(places: dict[str, str]) -> None:
    for where in places:
        assert find.program("nvtool") == places[where], where
        os.unlink(places[where])
        find._program.cache_clear()
    assert find.program("nvtool") is None


@pytest.mark.parametrize("entry", ["", ".", "sub/..", "here"])
def test_nothing_is_run_because_it_lies_in_the_current_folder(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / "downloads"
    program(planted / "nvidia" / "cu13" / "bin" / "nvplanted")
    (planted / "sub").mkdir()
    program(planted / "bin" / "nvplanted")
    monkeypatch.chdir(planted)
    monkeypatch.syspath_prepend(str(planted) if entry == "here" else entry)
    monkeypatch.setenv("PATH", os.pathsep.join(("", "bin", "./bin")))
    assert find.program("nvplanted") is None
    monkeypatch.chdir(tmp_path)
    if entry == "here":  # a folder of packages, as `pip install --target` makes them
        assert find.program("nvplanted") == str(planted / "nvidia" / "cu13" / "bin" / "nvplanted")


def test_the_environment_names_ptxas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = program(tmp_path / "mine" / "ptxas-of-mine")
    monkeypatch.setenv("CUTELITE_PTXAS", mine)
    assert find.ptxas() == mine


def test_a_library_that_is_nowhere_is_none() -> None:
    assert find.library("nvJitLink") is find.library("nvJitLink")  # looked for once


@pytest.mark.parametrize("entry", ["", ".", "sub", "{here}"])
def test_programs_of_the_current_folder_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    for folder in (tmp_path, tmp_path / "sub"):
        program(folder / "nvidia" / "cu13" / "bin" / "nvtool")
    monkeypatch.chdir(tmp_path)
    named = entry.format(here=tmp_path)
    monkeypatch.setattr(sys, "path", [named])
    monkeypatch.setenv("PATH", os.path.join(named, "nvidia", "cu13", "bin") if named != str(tmp_path) else ".")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    assert find.program("nvtool") is None


def test_a_current_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find.program("ptxas") == find.ptxas()
    assert short_path(__file__) == __file__
