"""LLVM IR text -> machine code of this machine's CPU: launchers, which Python calls.

In    a module with one external function, that calls nothing by name and has no data
Out   its code as bytes that run at any address; `cutelite_rt.native` makes a Python function of them

For the oldest CPU of the architecture: the code is short, and is kept for whoever shares the disk.
"""

from __future__ import annotations

import functools
import struct
from typing import Any, NamedTuple

from cutelite.diag import InternalError
from cutelite.toolchain.errors import ToolchainError
from cutelite.toolchain.undisturbed import parsed, undisturbed

BASELINES = {"x86_64": "x86-64", "aarch64": "generic"}
"""The oldest CPU of each architecture, as LLVM calls it."""


def to_code(text: str, function: str, cpu: str | None = None) -> bytes:
    """Machine code that begins with `function`.

    cpu     of `BASELINES`: for another architecture than this machine's
    Errors  `ToolchainError`; `InternalError` for code with relocations
    """
    return undisturbed(_to_code, text, function, cpu)


def _to_code(text: str, function: str, cpu: str | None) -> bytes:
    llvm, machine = _tools(cpu)
    if cpu is not None:
        text = f'target triple = "{machine.triple}"\n{text}'
    with parsed(llvm, text) as module:
        module.verify()
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
        builder.getModulePassManager().run(module, builder)
        return _code(machine.emit_object(module), function)


@functools.cache
def _tools(cpu: str | None = None) -> tuple[Any, Any]:
    """llvmlite's bindings, and its machine for that CPU, or for this one."""
    try:
        import llvmlite.binding as llvm
    except ImportError as error:
        raise ToolchainError("find", f"llvmlite is needed to compile, and cannot be imported: {error}") from error
    if cpu is None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        triple = llvm.get_default_triple()
    else:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        triple = f"{cpu}-unknown-linux-gnu"
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise ToolchainError("find", f"this llvmlite makes no code for {triple}: {error}") from None
    oldest = BASELINES.get(triple.partition("-")[0], "generic")
    return llvm, target.create_target_machine(cpu=oldest, opt=2, reloc="pic", codemodel="small")


class _Section(NamedTuple):
    """A section header of ELF64 (gABI, sections), as far as it is read."""

    kind: int
    flags: int
    offset: int
    size: int
    info: int


_HEADER = struct.Struct("<16x 24x Q 10x H H H")  # e_shoff; e_shentsize, e_shnum, e_shstrndx
_ROW = struct.Struct("<4x I Q 8x Q Q 4x I 16x")
_ALLOCATED, _EXECUTABLE = 2, 4  # SHF_ALLOC, SHF_EXECINSTR
_RELOCATIONS = (4, 9)  # SHT_RELA, SHT_REL
_SYMBOLS = 2  # SHT_SYMTAB
_UNWINDING = 0x70000001  # SHT_X86_64_UNWIND: for debuggers and exceptions; there are none


def _code(data: bytes, function: str) -> bytes:
    """The one section of code of an ELF object."""
    offset, size, count, _ = _HEADER.unpack_from(data)
    rows = [_Section(*_ROW.unpack_from(data, offset + i * size)) for i in range(count)]
    (code,) = (i for i, row in enumerate(rows) if row.flags & _EXECUTABLE and row.size)
    others = [r for i, r in enumerate(rows) if r.flags & _ALLOCATED and r.size and i != code and r.kind != _UNWINDING]
    if others or any(row.kind in _RELOCATIONS and row.info == code for row in rows):
        raise InternalError("the host code of a launcher is not whole in itself", stage="host")
    found = rows[code]
    if _start_of(data, rows, code):
        raise InternalError(f"{function} is not the first of a launcher's functions", stage="host")
    return data[found.offset : found.offset + found.size]


def _start_of(data: bytes, rows: list[_Section], code: int) -> int:
    """Where in the section `code` the one global symbol is."""
    (table,) = (row for row in rows if row.kind == _SYMBOLS)
    symbols = struct.iter_unpack("<4x B x H Q 8x", data[table.offset : table.offset + table.size])
    (start,) = (value for info, section, value in symbols if info >> 4 == 1 and section == code)
    return int(start)
