"""The places of NVIDIA's programs and libraries. Nothing here runs a program; only `library` loads a library.

A program is searched for in this order: at the path that the environment names, in the wheels beside this Python, in
the CUDA toolkit that the environment names, on PATH, in the usual place of a toolkit, and last wherever cuda.pathfinder
looks: importing that takes 40 ms, longer than assembling most kernels.

The current folder and folders relative to it are not searched: anyone may have put a program there.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from cutelite import config
from cutelite.diag.paths import current_folder
from cutelite.toolchain import bindings


def ptxas() -> str | None:
    """Return the path of ptxas, or None. Errors: `ConfigError` if CUTELITE_PTXAS names no program."""
    settings = config.read()
    if settings.ptxas is None:
        return _program("ptxas", settings.toolkit, tuple(sys.path), current_folder())
    if not _runs(settings.ptxas):
        raise config.ConfigError(f"CUTELITE_PTXAS={settings.ptxas}: takes the path of a program, and none is there")
    return settings.ptxas


def program(name: str) -> str | None:
    """Return the path of the toolkit's program `name`; None if it is not found."""
    return _program(name, config.read().toolkit, tuple(sys.path), current_folder())


@functools.cache
def _program(name: str, toolkit: str | None, import_path: tuple[str, ...], here: str) -> str | None:
    if os.name == "nt":
        name += ".exe"
    wheels, on_path = _wheels(_elsewhere(import_path, here)), _elsewhere(os.get_exec_path(), here)
    for folder in (*wheels, *([os.path.join(toolkit, "bin")] if toolkit else []), *on_path, "/usr/local/cuda/bin"):
        path = os.path.join(folder, name)
        if _runs(path):
            return path
    return _asked_of_pathfinder(name)


def _runs(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _elsewhere(folders: Iterable[str], here: str) -> list[str]:
    """Return the folders that are neither the current one, `here`, nor relative to it."""
    here = here and os.path.realpath(here)  # "" if it has been removed
    return [folder for folder in folders if os.path.isabs(folder) and os.path.realpath(folder) != here]


def _wheels(import_path: list[str]) -> list[str]:
    """Return the folders of programs in wheels: nvidia/cu13 for all of CUDA 13 and up; older wheels have one each."""
    homes = [os.path.join(entry, "nvidia") for entry in import_path]
    packages = [(package, home) for home in homes if os.path.isdir(home) for package in sorted(os.listdir(home))]
    shared = [(package, home) for package, home in packages if package[:2] == "cu" and package[2:3].isdecimal()]
    own = [(package, home) for package, home in packages if package.startswith("cuda_")]
    return [os.path.join(home, package, "bin") for package, home in (*shared, *own)]


def _asked_of_pathfinder(name: str) -> str | None:
    pathfinder = bindings.pathfinder()
    if pathfinder is None or name not in pathfinder.SUPPORTED_BINARY_UTILITIES:
        return None
    found: str | None = pathfinder.find_nvidia_binary_utility(name)
    return found


@functools.cache
def library(name: str) -> Any | None:
    """Load NVIDIA's library `name` (`nvJitLink`, `nvvm`, `cuda`). Return cuda.pathfinder's record of it, or None."""
    pathfinder = bindings.pathfinder()
    if pathfinder is None:
        return None
    try:
        return pathfinder.load_nvidia_dynamic_lib(name)
    except pathfinder.DynamicLibNotFoundError:
        return None


def unusable(name: str, called: str, version: Callable[[], str]) -> str:
    """Return why NVIDIA's library `name`, `called` so in messages, cannot be used; '' if it tells its version."""
    if library(name) is None:
        return f"{called} is not found; `pip install cutelite[cuda]` brings it"
    try:
        version()
    except ImportError as error:
        return f"there is no binding for {called}: {error}"
    except RuntimeError as error:  # cuda-bindings 12 looks for a driver before it loads the library
        return f"cuda.bindings cannot load {called}: {error}"
    return ""
