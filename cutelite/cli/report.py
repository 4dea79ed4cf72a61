"""REPORT.json of `cutelite compile --out`: files, times, resources, and the lines that launch the kernel."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cutelite.dispatch import Compiled
from cutelite.toolchain import ToolchainError


def write(kernel: Any, compiled: Compiled, folder: Path, files: list[Path]) -> Path:
    """Write the report to the folder of the files that were written. Return its path.

    files         name and size in bytes of each; times: seconds by stage, empty if the kernel came from the cache
    resources     registers, stack frame, shared memory, constant banks, barriers; occupancy of a multiprocessor
    launch_sites  the lines of the kernel's own file that launch, compile or export it
    """
    path = folder / "REPORT.json"
    report = {
        "kernel": kernel.__name__,
        "entry": compiled.name,
        "arch": compiled.arch,
        "options": asdict(kernel._settings.options),
        "cached": compiled.cached,
        "times": compiled.times,
        "resources": _resources(compiled),
        "warnings": compiled.warnings,
        "log": compiled.log,
        "files": {file.name: file.stat().st_size for file in files},
        "launch_sites": [f"{file}:{line}: {text}" for file, line, text in launch_sites(kernel)],
    }
    path.write_text(json.dumps(report, indent=1) + "\n")
    return path


def _resources(compiled: Compiled) -> dict[str, Any]:
    found: dict[str, Any] = {
        "registers": compiled.registers,
        "spills": compiled.spills,
        "stack_frame": compiled.stack_frame,
        "shared_memory": compiled.shared_memory,
        "barriers": compiled.barriers,
        "constant_banks": compiled.constant_banks,
    }
    try:
        found["occupancy"] = compiled.occupancy()._asdict()
    except ToolchainError:
        found["occupancy"] = None
    return found


def launch_sites(kernel: Any) -> Iterator[tuple[str, int, str]]:
    """Yield file, line and text of each place in the kernel's file that launches, compiles or exports it."""
    name, file = kernel.__name__, inspect.getsourcefile(kernel.__cutelite_function__)
    if file is None:
        return
    source = Path(file).read_text(encoding="utf-8")
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _named(node.func) == name:
            yield file, node.lineno, lines[node.lineno - 1].strip()


def _named(function: ast.expr) -> str | None:
    """Return the name of the kernel that is launched by ``name[grid](...)``, ``name.launch(...)`` or the like."""
    match function:
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
        case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=word):
            return name if word in ("launch", "compile", "export", "check", "options") else None
    return None
