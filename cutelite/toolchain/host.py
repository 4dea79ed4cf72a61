"""LLVM IR text -> machine code of a CPU, for the launcher that Python calls.

In    a module that calls no external function and has no data
Out   its code, as bytes that run at any address; `cutelite_rt.launcher.native` makes Python functions from them

The code is for the oldest CPU of the architecture: it is short, and other machines may read it from a shared disk.
"""

from __future__ import annotations

import functools
import os
import struct
from collections.abc import Iterator

from cutelite.diag import InternalError
from cutelite.toolchain import libllvm
from cutelite.toolchain.undisturbed import alone
from cutelite.tuples import NamedTuple

BASELINES = {"x86_64": "x86-64", "aarch64": "generic"}
"""The oldest CPU of each architecture, as LLVM calls it."""

IMAGE = struct.Struct("<2Q 48x")
"""The head of an image: the places at which its two functions begin, padded to a cache line of the CPU."""


@functools.lru_cache(8)
def to_image(text: str, functions: tuple[str, ...], cpu: str | None = None) -> bytes:
    """Return machine code with `functions` for `cutelite_rt.launcher.Machine`: first the place of each, then the code.

    cpu     a key of `BASELINES`; default: this machine's architecture
    Errors  `ToolchainError`; `InternalError` for code with relocations
    """
    code, starts = alone(_to_code, text, cpu or os.uname().machine)
    return IMAGE.pack(*(IMAGE.size + starts[name] for name in functions)) + code


def _to_code(text: str, cpu: str) -> tuple[bytes, dict[str, int]]:
    """Return the code, and the place at which each of its external functions begins."""
    machine, triple = _machine(cpu)
    with libllvm.module_of(text, triple) as (_, module):
        libllvm.optimise(module, machine)
        return _code(libllvm.emitted(module, machine, libllvm.OBJECT))


@functools.cache
def _machine(cpu: str) -> tuple[int, str]:
    """Return LLVM's target machine for a CPU, and the name of its target."""
    libllvm.register()
    triple = f"{cpu}-unknown-linux-gnu"
    return libllvm.machine_of(triple, BASELINES.get(cpu, "generic"), "", 2, ("pic", "small")), triple


class _Section(NamedTuple):
    """A section header of ELF64 (gABI, sections): the fields that are read here."""

    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int


_HEADER = struct.Struct("<16x 24x Q 10x H H H")  # e_shoff; e_shentsize, e_shnum, e_shstrndx
_ROW = struct.Struct("<4x I Q 8x Q Q I I 16x")
_ALLOCATED, _EXECUTABLE = 2, 4  # SHF_ALLOC, SHF_EXECINSTR
_RELOCATIONS = (4, 9)  # SHT_RELA, SHT_REL
_SYMBOLS = 2  # SHT_SYMTAB
_UNWINDING = 0x70000001  # SHT_X86_64_UNWIND: for debuggers and exceptions, which this code does not need


def _code(data: bytes) -> tuple[bytes, dict[str, int]]:
    """Return the one code section of an ELF object, and the places of the global symbols in it."""
    offset, size, count, _ = _HEADER.unpack_from(data)
    rows = [_Section(*_ROW.unpack_from(data, offset + i * size)) for i in range(count)]
    (code,) = (i for i, row in enumerate(rows) if row.flags & _EXECUTABLE and row.size)
    others = [r for i, r in enumerate(rows) if r.flags & _ALLOCATED and r.size and i != code and r.kind != _UNWINDING]
    if others or any(row.kind in _RELOCATIONS and row.info == code for row in rows):
        raise InternalError("the host code of a launcher has more sections than code, or relocations", stage="host")
    found = rows[code]
    return data[found.offset : found.offset + found.size], dict(_starts(data, rows, code))


def _starts(data: bytes, rows: list[_Section], code: int) -> Iterator[tuple[str, int]]:
    """Yield names and places of the global symbols in the section `code`."""
    (table,) = (row for row in rows if row.kind == _SYMBOLS)
    names = rows[table.link].offset
    symbols = struct.iter_unpack("<I B x H Q 8x", data[table.offset : table.offset + table.size])
    for name, info, section, value in symbols:
        if info >> 4 == 1 and section == code:
            at = names + name
            yield data[at : data.index(b"\0", at)].decode(), value
