"""The tools used to compile: `cutelite doctor` prints a line for each."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

from cutelite.config import ConfigError
from cutelite.toolchain import bindings, driver, find, llvm, nvjitlink, nvvm, ptxas
from cutelite.toolchain.errors import ToolchainError
from cutelite.tuples import NamedTuple


class Tool(NamedTuple):
    """One tool: its purpose, path and version, or the reason why it cannot be used."""

    name: str
    purpose: str
    path: str
    version: str
    usable: bool
    why: str


def tools() -> list[Tool]:
    """Return every tool that this room can use, found or not, in the order of preference."""
    return [
        _tool("llvmlite", "LLVM IR to PTX", _llvmlite),
        _tool("libNVVM", "LLVM IR to PTX", _libnvvm),
        _tool("ptxas", "PTX to cubin", _ptxas),
        _tool("nvJitLink", "PTX to cubin", _nvjitlink),
        _tool("driver", "PTX to cubin", _driver),
        _tool("nvdisasm", "cubin to SASS", _nvdisasm),
    ]


def _tool(name: str, purpose: str, probe: Callable[[], tuple[str, str]]) -> Tool:
    try:
        path, version = probe()
    except ToolchainError as error:
        return Tool(name, purpose, "", "", False, error.message)
    except ConfigError as error:
        return Tool(name, purpose, "", "", False, str(error))
    return Tool(name, purpose, path, version, True, "")


def _llvmlite() -> tuple[str, str]:
    version, llvmlite = llvm.version(), bindings.llvmlite()
    return os.path.dirname(llvmlite.__file__), f"{llvmlite.__version__} (LLVM {version})"


def _libnvvm() -> tuple[str, str]:
    nvvm.check()
    return str(find.library("nvvm").abs_path), f"NVVM IR {nvvm.version()}"  # type: ignore[union-attr]


def _ptxas() -> tuple[str, str]:
    program = find.ptxas()
    if program is None:
        raise _missing("ptxas", "`pip install cutelite[cuda]` brings it")
    return program, ptxas.version(program)


def _nvjitlink() -> tuple[str, str]:
    if why := nvjitlink.missing():
        raise ToolchainError("find", why)
    return str(find.library("nvJitLink").abs_path), nvjitlink.version()  # type: ignore[union-attr]


def _driver() -> tuple[str, str]:
    if not driver.available():
        raise _missing("a driver with a GPU", "there is nothing to launch on; the simulator needs none")
    return str(find.library("cuda").abs_path), driver.version()  # type: ignore[union-attr]


def _nvdisasm() -> tuple[str, str]:
    program = find.program("nvdisasm")
    if program is None:
        raise _missing("nvdisasm", "`pip install cutelite[cuda]` brings it")
    run = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise ToolchainError("nvdisasm", f"{program} does not run: {run.stderr.strip()}")
    return program, run.stdout.strip().rsplit("V", 1)[-1].split()[0]


def _missing(what: str, remedy: str) -> ToolchainError:
    return ToolchainError("find", f"{what} is not found; {remedy}")
