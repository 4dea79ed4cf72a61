"""Functions that are not written in Python, with a meaning in Python for the simulator: linked ones, and PTX."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from cutelite.lang.emit import emit
from cutelite.lang.extern import as_declared, bound, call_linked, declared, inline_ptx_op, refuse, simulated


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
    made = inline_ptx_op(template, out, pure, memory, inputs)
    if meaning is not None and simulated("`inline_ptx`"):
        return as_declared(meaning(**inputs), out, "this PTX")
    return emit(made)


class Extern:
    """A function that is linked to the kernels that call it. Made by `extern`; called as any function is."""

    def __init__(self, function: Callable[..., Any], name: str, libraries: tuple[str, ...], pure: bool) -> None:
        self.parameters, self.out = declared(function, name)
        self.function, self.name, self.pure = function, name, pure
        self.libraries = libraries
        self.empty = function.__code__.co_code == _nothing.__code__.co_code
        self.stamps = tuple(_stamp(path) for path in libraries)  # so that another file is another kernel

    def __call__(self, *args: Any, **named: Any) -> Any:
        simulates = simulated(f"`{self.name}()`")
        given = bound(self.name, self.parameters, args, named)
        if not simulates:
            return call_linked(self.name, given, self.out, self.libraries, self.pure)
        if self.empty:
            refuse(self.name)
        given = [each.pointed(x) for each, x in zip(self.parameters, given, strict=True)]
        return as_declared(self.function(*given), () if self.out is None else self.out, self.name)

    def __repr__(self) -> str:
        return f"<extern {self.name}>"


def extern(
    name: str | None = None,
    *,
    library: str | os.PathLike[str] | tuple[str | os.PathLike[str], ...] = (),
    pure: bool = False,
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
    parameters  numbers by their dtype; `Pointer[...]` and `Tensor[...]` are addresses. C takes them as generic pointers
    Result    what kernels call. A body of `...` has no meaning: a simulation that comes to it is an error
    Errors    TypeError for other names, parameters and results; at the compile `link` for a function that no library
              defines, or with other types; ToolchainError for libraries that cannot be linked
    """
    paths = (library,) if isinstance(library, str | os.PathLike) else library
    if not isinstance(paths, tuple | list) or not all(isinstance(path, str | os.PathLike) for path in paths):
        raise TypeError(f"cl.extern takes the path of a library, or a tuple of paths, not {library!r}")
    files = tuple(os.path.abspath(path) for path in paths)
    if name is not None and not (isinstance(name, str) and name.isascii() and name.isidentifier()):
        raise TypeError(f"cl.extern takes the name of a symbol, not {name!r}: `@cl.extern()` takes the function's")

    def decorate(function: Callable[..., Any]) -> Extern:
        return Extern(function, getattr(function, "__name__", "") if name is None else name, files, pure)

    return decorate


def _nothing() -> None: ...


def _stamp(path: str) -> tuple[int, int]:
    """Return size and time of change of a file; (-1, 0) where it is not there yet."""
    try:
        status = os.stat(path)
    except OSError:
        return -1, 0
    return status.st_size, status.st_mtime_ns
