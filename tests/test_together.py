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


def pipeline(*later: str) -> ModuleType:
    """Import the pipeline as a new process does, and then others."""
    forget()
    importlib.invalidate_caches()
    with together.together("pipeline") as found:
        assert isinstance(found, ModuleType)
        for each in later:
            importlib.import_module(f"manor.{each}")
    assert not [finder for finder in sys.meta_path if isinstance(finder, together._Finder)]
    return found


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


def test_what_is_imported_later_is_kept_for_all_that_need_it(manor: Path) -> None:
    for name in ("gate", "wall"):
        (manor / f"{name}.py").write_text(f"name = {name!r}\n")
    pipeline("gate")
    pipeline("wall")
    pipeline("gate", "wall")
    assert from_file() == {*ALL, "manor.gate", "manor.wall"}
    assert [sys.modules[f"manor.{name}"].name for name in ("gate", "wall")] == ["gate", "wall"]
    pipeline()
    assert from_file() == ALL
    (manor / "gate.py").write_text("name = 'archway'\n")
    for taken in ({*ALL, "manor.wall"}, {*ALL, "manor.gate", "manor.wall"}):
        pipeline("wall", "gate")
        assert sys.modules["manor.gate"].name == "archway"
        assert from_file() == taken
    (manor / "gate.py").unlink()
    with pytest.raises(ModuleNotFoundError):
        pipeline("gate")


def test_code_that_the_file_has_lost_is_imported_as_ever(manor: Path) -> None:
    (manor / "gate.py").write_text("name = 'gate'\n")
    pipeline("gate")
    (file,) = (manor / "__pycache__").glob("*.pycs")
    file.write_bytes(file.read_bytes()[:-9])
    pipeline("gate")
    assert from_file() == ALL
    pipeline("gate")
    assert from_file() == {*ALL, "manor.gate"}


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
    finder = together._Finder(str(file))
    assert finder.first.keys() == {"manor.pipeline", "manor.parts", "manor.hub"}
    finder.close()
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
