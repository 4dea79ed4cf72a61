"""Modules that are imported together, read from one file: that takes two thirds of the time.

Python takes 0.08 ms to find, read and check even an empty module. The file lies among the bytecode files, one for all
that an import statement loads, and is used and written as these are: a module is taken from it if its source has the
size and the time of change that it had, and another one is imported as ever, whereupon the file is written anew.
"""

from __future__ import annotations

import importlib
import marshal
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source
from threading import Lock, get_ident
from types import CodeType
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = __name__.partition(".")[0]

_Held = tuple[str, int, int, CodeType]
"""A module's source file, the time when that was changed (ns), its size, and its code."""

_Placed = tuple[str, int, int, int, int]
"""The same, and where the code lies in the file: its beginning, counted from the end of the head, and its length."""


@contextmanager
def together(name: str) -> Iterator[Any]:
    """Import the module `name` of ours, and yield it. Modules whose source has not changed come from one file.

    So do modules that are imported for the first time within the block, one by one, since these differ from process to
    process: the file holds all that were ever imported so.
    """
    whole = f"{PACKAGE}.{name}"
    if whole in sys.modules or sys.implementation.cache_tag is None:  # then Python keeps no bytecode
        yield importlib.import_module(whole)
        return
    finder = _Finder(cache_from_source(os.path.join(HERE, f"{name}.py")) + "s")
    sys.meta_path.insert(0, finder)
    try:
        module = importlib.import_module(whole)
        first, changed = finder.first_are_imported()
        yield module
        finder.keep(first, changed)
    finally:
        sys.meta_path.remove(finder)
        finder.close()


class _Finder:
    """Finds modules in a file. `missed` are those that are not in it, or have changed since."""

    def __init__(self, file: str) -> None:
        self.file, self._lock = file, Lock()
        self.missed: set[str] = set()
        self.first: dict[str, _Held] = {}
        self.later: dict[str, _Placed] = {}
        try:
            self._opened: int | None = os.open(file, os.O_RDONLY)
        except OSError:
            self._opened = None
        else:
            self._head, self.first, self.later = _read(self._opened)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(f"{PACKAGE}."):
            return None
        held = self.first.get(name) or self._from_later(name)
        if held is None or _stamp(held[0]) != held[1:3]:
            self.missed.add(name)
            return None
        source, _, _, code = held
        folder, base = os.path.split(source)
        spec = ModuleSpec(name, _Loader(name, source, code), origin=source, is_package=base == "__init__.py")
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(folder)
        spec.has_location, spec.cached = True, self.file
        return spec

    def _from_later(self, name: str) -> _Held | None:
        if name not in self.later:
            return None
        *known, start, size = self.later[name]
        with self._lock:  # another thread may close the file
            read = b"" if self._opened is None else os.pread(self._opened, size, self._head + start)
        try:
            return *known, marshal.loads(read)
        except (EOFError, ValueError, TypeError):
            return None

    def first_are_imported(self) -> tuple[set[str], bool]:
        """Return the modules that were imported, and whether the file must be written; begin with later ones."""
        unused, missed = {name for name in self.first if name not in sys.modules}, self._missed()
        for name in unused:
            del self.first[name]
        self.missed = set()
        return {*self.first, *missed}, bool(unused or missed)

    def _missed(self) -> set[str]:
        return {name for name in {*self.missed} if name in sys.modules}  # other threads import meanwhile

    def keep(self, first: set[str], changed: bool) -> None:
        """Write the file if it misses something, where Python would write bytecode."""
        missed = self._missed()
        allowed = not sys.dont_write_bytecode and os.access(os.path.dirname(self.file), os.W_OK)
        if not (changed or missed) or not allowed or not _times_tell(first | missed):
            return
        others = {name: self._from_later(name) for name in self.later.keys() - missed}
        held = {name: _held(name) for name in first | missed}
        _write(
            self.file,
            {name: now for name in first if (now := held[name]) is not None},
            {name: now for name, now in {**others, **{name: held[name] for name in missed}}.items() if now is not None},
        )

    def close(self) -> None:
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            os.close(opened)


class _Loader(SourceFileLoader):
    """Executes code that has been read already."""

    def __init__(self, name: str, source: str, code: CodeType) -> None:
        super().__init__(name, source)
        self._code: CodeType | None = code

    def get_code(self, fullname: str) -> CodeType | None:
        code, self._code = self._code, None
        return super().get_code(fullname) if code is None else code


def _stamp(source: str) -> tuple[int, int] | None:
    try:
        now = os.stat(source)
    except OSError:  # it was moved, as Python then finds too
        return None
    return now.st_mtime_ns, now.st_size


def _times_tell(modules: Iterable[str]) -> bool:
    """Tell whether sources have times of their own. In reproducible builds all have the same, whatever they hold."""
    origins = (spec.origin for module in modules if (spec := sys.modules[module].__spec__) is not None)
    return len({stamp[0] for origin in origins if (stamp := _stamp(origin or "")) is not None}) > 1


def _held(module: str) -> _Held | None:
    """Return what the file says of an imported module; None if that did not come from a source file of its own."""
    spec = sys.modules[module].__spec__
    if spec is None or type(spec.loader) not in (SourceFileLoader, _Loader) or spec.origin is None:
        return None
    stamp = _stamp(spec.origin)  # before the source is read: if that changes, the stamp is out of date
    code = spec.loader.get_code(module)  # type: ignore[union-attr]  # these have it
    return None if stamp is None or code is None else (spec.origin, *stamp, code)


def _read(file: int) -> tuple[int, dict[str, _Held], dict[str, _Placed]]:
    """Return the length of a file's head, and what that says of modules: nothing in another folder or Python."""
    try:
        size = int.from_bytes(os.read(file, 8), "little")
        magic, here, first, later = marshal.loads(os.read(file, size))
    except (OSError, EOFError, ValueError, TypeError, OverflowError):
        return 0, {}, {}
    return (8 + size, first, later) if (magic, here) == (MAGIC_NUMBER, HERE) else (0, {}, {})


def _write(file: str, first: dict[str, _Held], later: dict[str, _Held]) -> None:
    """Write a file as a whole, whatever other threads and processes do meanwhile."""
    placed, codes, start = {}, [], 0
    for name, (*known, code) in later.items():
        codes.append(marshal.dumps(code))
        placed[name] = (*known, start, len(codes[-1]))
        start += len(codes[-1])
    head = marshal.dumps((MAGIC_NUMBER, HERE, first, placed))
    unfinished = f"{file}.{os.getpid()}.{get_ident()}"
    try:
        with open(unfinished, "wb") as opened:
            opened.write(len(head).to_bytes(8, "little") + head + b"".join(codes))
        os.replace(unfinished, file)
    except OSError:  # no space is left: what was imported is imported
        os.unlink(unfinished)
