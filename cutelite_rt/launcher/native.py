"""Make builtin functions of Python from machine code, without a compiler.

In    bytes of position-independent code without relocations, as `cutelite.toolchain.host` makes them
Out   builtins that call them (`METH_FASTCALL | METH_KEYWORDS`)

The code contains no addresses, so it can be stored on disk and shared by all kernels; a builtin's `self` has its data.

The launcher's code relies on exported functions of CPython, and on the layout of objects: types, tuples, bytes, floats.
`unsupported` checks this layout. `one_digit` finds out the layout of small ints.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import struct
import sys
import types
from collections.abc import Callable
from typing import Any

from cutelite_rt import forks
from cutelite_rt.arrays.dlpack import api

FREE_THREADED = "t" in getattr(sys, "abiflags", "")
"""Whether this Python has no interpreter lock (PEP 703), or may do without it."""

HEAD = object.__basicsize__
"""Bytes of an object before its content: 16, and 32 in a free-threaded Python."""

TYPE_OFFSET = HEAD - 8
"""Bytes from an object's address to the pointer to its type, which is last in the head."""

DIGITS_OFFSET, DIGIT_OFFSET = HEAD, HEAD + 8
"""Bytes from an int's address to the word with its sign and number of digits, and to its lowest 32 bits."""

COUNT_OFFSET, ITEMS_OFFSET = HEAD, tuple.__basicsize__
"""Bytes from a tuple's address to the number of its items, and to the first; since 3.14 there is a hash in between."""

BYTES_OFFSET, FLOAT_OFFSET, CELL_OFFSET = bytes.__basicsize__ - 1, float.__basicsize__ - 8, HEAD
"""Bytes from the address of `bytes` to their content, from a float's to its value, from a cell's to its object."""

SIZE_OFFSET = HEAD + 16
"""Bytes from a type's address to its `__basicsize__`."""

COUNTS_NONE = sys.version_info < (3, 12)
"""True where references to None are counted: since 3.12 they are not (PEP 683)."""

MACHINE = os.uname().machine if hasattr(os, "uname") else ""
"""The system's name of this CPU's architecture."""
_FASTCALL, _KEYWORDS = 0x80, 0x02  # METH_FASTCALL, METH_KEYWORDS (methodobject.h)


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@functools.cache
def unsupported() -> str | None:
    """Return the reason why this process cannot run the launcher's code; None where it can."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return "it is for CPython on 64-bit little-endian machines"
    if sys.platform != "linux" or MACHINE not in ("x86_64", "aarch64"):
        return "it is for Linux on x86_64 and aarch64"
    for sample in (0, 1.5, True, None, "", (), {}, object(), unsupported):
        if ctypes.c_void_p.from_address(id(sample) + TYPE_OFFSET).value != id(type(sample)):
            return "objects of this Python have their type in another place"
    if (BYTES_OFFSET, FLOAT_OFFSET) != (HEAD + 16, HEAD):  # as launcher.c has them
        return "bytes and floats of this Python have their content in another place"
    item, content, number = (object(), 7), b"12345678", 1.5
    cell, empty = types.CellType(item), types.CellType()
    places = {
        id(item) + ITEMS_OFFSET: id(item[0]),
        id(item) + COUNT_OFFSET: len(item),
        id(tuple) + SIZE_OFFSET: ITEMS_OFFSET,
        id(content) + BYTES_OFFSET: int.from_bytes(content, "little"),
        id(number) + FLOAT_OFFSET: int.from_bytes(struct.pack("<d", number), "little"),
        id(cell) + CELL_OFFSET: id(item),
        id(empty) + CELL_OFFSET: 0,
    }
    if any(ctypes.c_uint64.from_address(at).value != word for at, word in places.items()):
        return "objects of this Python have their content in another place"
    count = ctypes.c_uint32.from_address(id(item[0]))
    before, more = count.value, [item[0]] * 3
    if not FREE_THREADED and count.value != before + len(more):  # else CPython's own functions count
        return "objects of this Python count their references in another place"
    return None


@functools.cache
def one_digit() -> int:
    """Return the word at `DIGITS_OFFSET` of positive ints of one digit; all ones if it does not distinguish these.

    Bits of `digit_flags` may also be set in it.
    """
    for tag, flags in _TAGS.items():
        if all(_digits(n) in ((tag, n), (tag | flags, n)) for n in (1, 2, 1000, 12345678, (1 << 30) - 1)):
            others = (0, -1, -1000, 1 << 30, 1 << 31, (1 << 32) + 5, 1 << 60, 1 << 64, -(1 << 62), 10**100)
            return (1 << 64) - 1 if any(_digits(n)[0] & ~flags == tag for n in others) else tag
    return (1 << 64) - 1


def digit_flags() -> int:
    """Return the bits that may or may not be set in ints of one digit, besides `one_digit`."""
    return _TAGS.get(one_digit(), 0)


_TAGS = {8: 4, 1: 0}
"""Word of a positive int of one digit -> its other flags. 3.12 and later: digits << 3, sign in the low bits, and since
3.14 a flag of immortal ints. 3.11: the number of digits, negated for negative ints."""


def _digits(n: int) -> tuple[int, int]:
    tag = ctypes.c_uint64.from_address(id(n) + DIGITS_OFFSET).value
    return tag, ctypes.c_uint32.from_address(id(n) + DIGIT_OFFSET).value


_lock = forks.lock()
_loaded: dict[bytes, int] = {}


def executable(code: bytes) -> int:
    """Return the address of `code` in executable memory; equal code is loaded once and never freed. Errors: OSError."""
    with _lock:
        if code not in _loaded:
            _loaded[code] = _mapped(code)
        return _loaded[code]


def _mapped(code: bytes) -> int:
    """Copy code to new pages, make them executable and read-only, and return their address. Errors: OSError."""
    memory = mmap.mmap(-1, len(code), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    if libc.mprotect(address, len(code), mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "memory cannot be made executable")
    if MACHINE == "aarch64":  # its instruction cache does not see stores
        clear = ctypes.CDLL("libgcc_s.so.1").__clear_cache
        clear.argtypes = ctypes.c_void_p, ctypes.c_void_p
        clear(address, address + len(code))
    api("Py_IncRef", None, ctypes.py_object)(memory)  # a builtin may still use it when Python ends
    return address


@functools.cache
def _storing() -> Callable[[int, int], None]:
    """Return machine code that stores a word (its second argument) so that what was stored before is seen before it."""
    if MACHINE == "aarch64":  # stlr x1, [x0]; dmb ish; ret
        code = struct.pack("<3I", 0xC89FFC01, 0xD5033BBF, 0xD65F03C0)
    else:  # xchg [rdi], rsi; ret
        code = b"\x48\x87\x37\xc3"
    return ctypes.PYFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint64)(executable(code))


def publish(address: int, word: int) -> None:
    """Store a word that machine code reads: whatever was stored before, all threads see before it."""
    if FREE_THREADED:
        _storing()(address, word)
    else:
        ctypes.c_uint64.from_address(address).value = word


def address_of(function: str) -> int:
    """Return the address of a function of CPython; 0 where this Python has none of that name."""
    found = getattr(ctypes.pythonapi, function, None)
    return 0 if found is None else ctypes.cast(found, ctypes.c_void_p).value or 0


_new = api("PyCFunction_NewEx", ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)


def method(name: str, address: int, doc: str) -> ctypes.Structure:
    """Return the definition of a builtin whose code is at `address`."""
    return _MethodDef(name.encode(), address, _FASTCALL | _KEYWORDS, doc.encode())


def builtin(method: ctypes.Structure, self: tuple[object, ...]) -> Callable[..., Any]:
    """Return a builtin with that definition and `self`.

    Put the definition into `self`: a function drops its `self` last, so the definition lives as long as the function.
    """
    made: Callable[..., Any] = _new(ctypes.addressof(method), self, None)
    return made
