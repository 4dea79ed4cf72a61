"""Functions that are not written in Python, with a meaning in Python for the simulator: linked ones, and PTX."""

from __future__ import annotations

import os
import typing
from collections.abc import Callable
from types import FunctionType
from typing import Any

from cutelite.ir.types import Scalar as DType
from cutelite.lang.asm import emit_ptx
from cutelite.lang.extern import as_declared, call_linked, refuse, simulated


def inline_ptx(
    template: str,
    out: Any = (),
    *,
    pure: bool = False,
    memory: bool = True,
    meaning: Callable[..., Any] | None = None,
    **inputs: Any,
) -> Any:
    """Execute PTX: ``cl.inline_ptx("prmt.b32 $out, $a, $b, 0x5410;", cl.u32, a=x, b=y, pure=True)``.

    template   `$name` is the register of the input of that name; of a vector, all its registers in braces, and
               `$name.2` its third. `$out` is the result, `$out0` and so on are several; `$$` is a dollar sign.
               Registers and labels of its own go in a scope of their own: ``{ .reg .b32 t; ... }``
    out        the type of the result, or a tuple of types
    pure       it only computes: equal ones may become one, and it may go if the result is not used
    memory     it reads or writes memory: other accesses keep their side of it
    meaning    a function of the inputs, in the language of kernels, that does the same: the simulator executes it in
               place of the PTX, and cannot execute PTX without one
    inputs     numbers, vectors, pointers, and tensors (the address of the first element). 8-bit numbers come in 16-bit
               registers
    Result     that of `out`: a number, a tuple, or None
    Errors     `asm` where template, inputs and results do not fit together; ptxas finds what is wrong with the PTX
    """
    if meaning is not None and simulated():
        return as_declared(meaning(**inputs), out, "this PTX")
    return emit_ptx(template, out, pure, memory, inputs)


class Extern:
    """A function that is linked to the kernels that call it. Made by `extern`; called as any function is."""

    def __init__(self, function: FunctionType, name: str, libraries: tuple[str, ...], pure: bool) -> None:
        hints = typing.get_type_hints(function)
        out = hints.pop("return", None)
        self.out = None if out is type(None) else out
        if self.out is not None and not isinstance(self.out, DType):
            raise TypeError(f"{name}() returns a number of a dtype, or None, not {self.out!r}")
        self.function, self.name, self.pure = function, name, pure
        self.libraries = libraries
        self.parameters = tuple(hints.items())
        self.empty = function.__code__.co_code == _nothing.__code__.co_code
        self.stamps = tuple(_stamp(path) for path in libraries)  # so that another file is another kernel

    def __call__(self, *args: Any) -> Any:
        if simulated():
            if self.empty:
                refuse(self.name)
            return as_declared(self.function(*args), () if self.out is None else self.out, self.name)
        return call_linked(self.name, self.parameters, self.out, self.libraries, self.pure, *args)

    def __repr__(self) -> str:
        return f"<extern {self.name}>"


def extern(
    name: str | None = None, *, library: str | os.PathLike[str] | tuple[str, ...] = (), pure: bool = False
) -> Callable[[Callable[..., Any]], Extern]:
    """Decorator: a function whose code is in a library, with its types, and its meaning for the simulator as body.

        @cl.extern("scale_by_two", library="scale.ptx")
        def scale(x: f32, out: cl.Pointer[f32]) -> f32:
            out[0] = x
            return x * 2

    name      of the symbol; default: the function's
    library   one file or several: LLVM bitcode (.bc), which is inlined; PTX, cubin, fatbin, object, archive (.a), which
              nvJitLink links. The option `link_libraries` names libraries of a whole kernel
    pure      it only computes, and depends on its arguments alone
    parameters  numbers by their dtype; any other annotation is an address: a tensor, or a pointer. C takes it as a
              generic pointer
    Result    what kernels call. A body of `...` has no meaning: a simulation that comes to it is an error
    Errors    TypeError for a result that is no number; ToolchainError at the compile, for what cannot be linked
    """
    paths = (library,) if isinstance(library, str | os.PathLike) else library
    files = tuple(os.path.abspath(path) for path in paths)

    def decorate(function: Callable[..., Any]) -> Extern:
        assert isinstance(function, FunctionType), "a function of Python's"
        return Extern(function, name or function.__name__, files, pure)

    return decorate


def _nothing() -> None: ...


def _stamp(path: str) -> tuple[int, int]:
    """Return size and time of change of a file; (-1, 0) where it is not there yet."""
    try:
        status = os.stat(path)
    except OSError:
        return -1, 0
    return status.st_size, status.st_mtime_ns
