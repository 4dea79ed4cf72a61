"""The file of modules that are imported together: what is taken from it, and when it is written anew."""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from cutelite import together


@pytest.fixture
def manor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package whose `pipeline` imports `parts`, which is one, and its `wheel`."""
    folder = tmp_path / "manor"
    (folder / "parts").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "pipeline.py").write_text("from manor import parts\nfrom manor.parts import wheel\n")
    (folder / "parts" / "__init__.py").write_text("")
    (folder / "parts" / "wheel.py").write_text("spokes = 8\n")
    os.utime(folder / "pipeline.py", (1e9, 1e9))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(together, "PACKAGE", "manor")
    monkeypatch.setattr(together, "HERE", str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    yield folder
    forget()


def forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "manor"]:
        del sys.modules[name]


def pipeline() -> ModuleType:
    """Import the pipeline as a new process does."""
    forget()
    importlib.invalidate_caches()
    with together.together("pipeline"):
        return importlib.import_module("manor.pipeline")


def from_file() -> set[str]:
    """The modules that were taken from the file."""
    names = [name for name in sys.modules if name.startswith("manor.")]
    return {name for name in names if str(sys.modules[name].__spec__.cached).endswith(".pycs")}  # type: ignore[union-attr]


ALL = {"manor.pipeline", "manor.parts", "manor.parts.wheel"}


def test_a_second_process_takes_all_modules_from_the_file(manor: Path) -> None:
    assert pipeline().wheel.spokes == 8
    assert from_file() == set()
    found = pipeline()
    assert from_file() == ALL
    assert found.wheel.spokes == 8
    assert found.wheel.__file__ == str(manor / "parts" / "wheel.py")
    assert found.parts.__path__ == [str(manor / "parts")]
    assert importlib.reload(found.wheel).spokes == 8
    assert not [finder for finder in sys.meta_path if isinstance(finder, together._Finder)]


def test_a_changed_source_is_read(manor: Path) -> None:
    pipeline()
    (manor / "parts" / "wheel.py").write_text("spokes = 12\n")
    assert pipeline().wheel.spokes == 12
    assert from_file() == ALL - {"manor.parts.wheel"}
    assert pipeline().wheel.spokes == 12
    assert from_file() == ALL


def test_modules_that_are_imported_no_more_leave_the_file_and_new_ones_join(manor: Path) -> None:
    pipeline()
    (manor / "hub.py").write_text("")
    (manor / "parts" / "wheel.py").unlink()
    (manor / "pipeline.py").write_text("from manor import hub, parts\n")
    pipeline()
    (file,) = (manor / "__pycache__").glob("*.pycs")
    assert together._read(str(file)).keys() == {"manor.pipeline", "manor.parts", "manor.hub"}
    written = file.stat().st_mtime_ns
    pipeline()
    assert file.stat().st_mtime_ns == written


def test_the_file_of_a_folder_that_was_moved_and_one_that_is_broken_are_not_used(
    manor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline()
    (file,) = (manor / "__pycache__").glob("*.pycs")
    file.write_bytes(file.read_bytes()[:-9])
    assert pipeline().wheel.spokes == 8
    assert from_file() == set()
    pipeline()
    assert from_file() == ALL
    forget()
    moved = manor.parent / "moved"
    moved.mkdir()
    os.rename(manor, moved / "manor")
    monkeypatch.syspath_prepend(str(moved))
    monkeypatch.setattr(together, "HERE", str(moved / "manor"))
    assert pipeline().__file__ == str(moved / "manor" / "pipeline.py")
    assert from_file() == set()


def test_sources_that_all_have_one_time_are_not_told_apart_by_it(manor: Path) -> None:
    for source in manor.rglob("*.py"):
        os.utime(source, (1e9, 1e9))
    assert pipeline().wheel.spokes == 8
    assert not list(manor.rglob("*.pycs"))


def test_nothing_is_written_where_bytecode_is_not(manor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(together, "_held")  # nothing is gathered in vain
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: False)  # a folder of the system's
        assert pipeline().wheel.spokes == 8
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert pipeline().wheel.spokes == 8
    assert not list(manor.rglob("*.pycs"))
