"""Kernels and values that the command line names."""

from __future__ import annotations

import ast
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

from cutelite.cli.errors import UsageError
from cutelite.dispatch import BoundKernel, Kernel, checking
from cutelite.ir.types import SCALARS


def find_kernel(where: str) -> Kernel | BoundKernel:
    """Return the kernel that ``FILE:KERNEL`` or ``FILE`` names. Errors: `UsageError`.

    KERNEL may be a path: ``FILE:Class.kernel``, or ``FILE:instance.kernel`` for a method.
    """
    path, name = parted(where)
    return the_kernel(load(Path(path)), name, path)


def the_kernel(module: ModuleType, name: str, path: str) -> Kernel | BoundKernel:
    """Return the kernel `name` of a file's module, or its only one if that is ''. Errors: `UsageError`."""
    if name:
        return kernel_in(module, name, path)
    kernels = {k: v for k, v in vars(module).items() if isinstance(v, Kernel | BoundKernel)}
    own = {k: v for k, v in kernels.items() if v.__module__ == module.__name__} or kernels
    if len(own) != 1:
        what = f"{len(own)} kernels: say which by {path}:KERNEL; they are {', '.join(own)}"
        none = "no kernel, and no check() or main() that launches one"
        raise UsageError(f"{path} holds {what if own else none}")
    return next(iter(own.values()))


def parted(where: str) -> tuple[str, str]:
    """Split ``FILE:KERNEL``; KERNEL is '' if it is left out. Errors: `UsageError` if there is no such file."""
    path, name = where, ""
    if not Path(where).exists() and ":" in where:
        path, _, name = where.rpartition(":")
    if not Path(path).is_file():
        raise UsageError(f"there is no file {path}")
    return path, name


def kernel_in(module: ModuleType, name: str, path: str) -> Kernel | BoundKernel:
    """Return the kernel `name` of `module`; `name` may have dots. Errors: `UsageError`, which names `path`."""
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if isinstance(found, Kernel | BoundKernel):
        return found
    kernels = [k for k, v in vars(module).items() if isinstance(v, Kernel | BoundKernel)]
    other = "" if found is None else f", which is a {type(found).__name__}"
    raise UsageError(f"{path} has no kernel {name}{other}; it has {', '.join(kernels) or 'none'}")


def first_launch(module: ModuleType, kernel: Kernel | BoundKernel | None) -> checking.Call:
    """Return the first launch of `kernel`, or of any if that is None, by the file's check() or main().

    Errors  `checking.NoEntry` if there is neither; `UsageError` if it makes none
    """
    with running(f"{module.__file__} stopped", module.__file__):
        call = checking.first_launch(module, kernel)
    if call is None:
        raise UsageError(f"{module.__name__} makes no launch{f' of {kernel.__name__}' if kernel else ''}")
    return call


def load(path: Path) -> ModuleType:
    """Import the file as a module of its package, else as if from its folder. Return it. Errors: `UsageError`."""
    path, file = path.resolve(), path
    packages = [*takewhile(lambda folder: (folder / "__init__.py").is_file(), path.parents)]
    if packages:
        sys.path.insert(0, str(packages[-1].parent))
        with running(f"{file} cannot be imported", str(path)):
            name = ".".join([*(folder.name for folder in reversed(packages)), path.stem])
            return importlib.import_module(name)
    name = path.stem if path.stem not in sys.stdlib_module_names | sys.modules.keys() else f"cutelite file {path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    with running(f"{file} cannot be imported", spec.origin):
        spec.loader.exec_module(module)
    return module


@contextmanager
def running(what: str, file: str | None) -> Iterator[None]:
    """Run the user's `file` in the block, as the program that was started.

    Errors  cutelite's own; any other, its exit too, as a `UsageError` with the file's lines
    """
    arguments, sys.argv = sys.argv, [file or ""]
    try:
        yield
    except (Exception, SystemExit) as error:
        if type(error).__module__.partition(".")[0] in ("cutelite", "cutelite_rt"):
            raise
        frames = traceback.extract_tb(error.__traceback__)
        inside = [frame for frame in frames if frame.filename == file]
        said = "".join([*traceback.format_list(inside[-1:]), *traceback.format_exception_only(error)]).rstrip()
        raise UsageError(f"{what}:\n{said}") from error
    finally:
        sys.argv = arguments


def setting(text: str, flag: str = "--set") -> tuple[str, Any]:
    """Return the name and the value of NAME=VALUE; the value is a dtype or a Python literal. Errors: `UsageError`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{flag} takes NAME=VALUE, not {text!r}")
    if value in SCALARS:
        return name, SCALARS[value]
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        raise UsageError(f"{flag} {name}: {value!r} is neither a Python literal nor a dtype") from None
