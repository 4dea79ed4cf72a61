"""Modules that are imported together, read from one file: that takes two thirds of the time.

Python takes 0.08 ms to find, read and check even an empty module. The file lies among the bytecode files, one for all
that an import statement loads, and is used and written as these are: a module is taken from it if its source has the
size and the time of change that it had, and another one is imported as ever, whereupon the file is written anew.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source
from threading import get_ident
from types import CodeType
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = __name__.partition(".")[0]

_Held = tuple[str, int, int, CodeType]
"""A module's source file, the time when that was changed (ns), its size, and its code."""


@contextmanager
def together(name: str) -> Iterator[None]:
    """Have the module `name` of ours, and all that it imports, imported from one file, as far as that is up to date."""
    if f"{PACKAGE}.{name}" in sys.modules or sys.implementation.cache_tag is None:  # then Python keeps no bytecode
        yield
        return
    file = cache_from_source(os.path.join(HERE, f"{name}.py")) + "s"
    held = _read(file)
    finder = _Finder(file, held)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
    unused, missed = held.keys() - sys.modules, finder.missed & sys.modules.keys()
    wanted = {*held, *missed} - unused
    allowed = not sys.dont_write_bytecode and os.access(os.path.dirname(file), os.W_OK)
    if (unused or missed) and allowed and _times_tell(wanted):
        _write(file, {name: now for name in wanted if (now := _held(name)) is not None})


class _Finder:
    """Finds modules in `held`, which `file` holds; `missed` are those that are not in it, or have changed since."""

    def __init__(self, file: str, held: dict[str, _Held]) -> None:
        self.file, self.held = file, held
        self.missed: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(f"{PACKAGE}."):
            return None
        if name not in self.held or _stamp(self.held[name][0]) != self.held[name][1:3]:
            self.missed.add(name)
            return None
        source, _, _, code = self.held[name]
        folder, base = os.path.split(source)
        spec = ModuleSpec(name, _Loader(name, source, code), origin=source, is_package=base == "__init__.py")
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(folder)
        spec.has_location, spec.cached = True, self.file
        return spec


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


def _read(file: str) -> dict[str, _Held]:
    """Return the modules in a file: none if it is missing, or another folder's, or of another Python."""
    try:
        with open(file, "rb") as opened:
            magic, here, held = marshal.loads(opened.read())
    except (OSError, EOFError, ValueError, TypeError):
        return {}
    return held if (magic, here) == (MAGIC_NUMBER, HERE) else {}


def _write(file: str, held: dict[str, _Held]) -> None:
    """Write a file as a whole, whatever other threads and processes do meanwhile."""
    unfinished = f"{file}.{os.getpid()}.{get_ident()}"
    try:
        with open(unfinished, "wb") as opened:
            opened.write(marshal.dumps((MAGIC_NUMBER, HERE, held)))
        os.replace(unfinished, file)
    except OSError:  # no space is left: what was imported is imported
        os.unlink(unfinished)
