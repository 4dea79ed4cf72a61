"""Device functions: a Python function compiled alone, to be linked into kernels of any compiler.

In    a function whose parameters are numbers and pointers, and an architecture
Out   PTX, a cubin that can be linked, and a header for CUDA C++: `DeviceFunction`
"""

from __future__ import annotations

import os
import typing
from types import FunctionType
from typing import Any

from cutelite import lower, passes, toolchain
from cutelite.builds.refusals import stage
from cutelite.diag import CompileError, Mistake
from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.mistakes import without_our_frames
from cutelite.front.build import build
from cutelite.ir.types import Scalar, Tensor
from cutelite.lang.annotations import PointerSpec, seen_beside
from cutelite.layout import Layout
from cutelite.ops.tensor import SmemAlloc
from cutelite.options import Options, checked
from cutelite.target import Target
from cutelite.toolchain import find, ptxas
from cutelite.toolchain.assemble import level_flags
from cutelite.tuples import NamedTuple
from cutelite_rt.export.cstub import C_WORDS, saved

C_NAMES = {
    "i32": "int", "u32": "unsigned int", "i64": "long long", "u64": "unsigned long long", "f32": "float",
    "f64": "double",
}  # fmt: skip
"""Numbers that may be parameters and results. Compilers differ in how they pass narrower ones, so these may not."""

C_BEHIND = {**C_NAMES, "i8": "signed char", "u8": "unsigned char", "i16": "short", "u16": "unsigned short"}
"""C types of what pointers point to; a dtype that is not here, such as bf16, is ``void`` in C."""


class DeviceFunction(NamedTuple):
    """A device function that has been compiled.

    name    the name of the symbol
    arch    the architecture
    ptx     PTX text with the function, `.visible .func`
    cubin   an object that linkers take (`nvlink`, nvJitLink); b"" where there is no ptxas
    header  its declaration for CUDA C++
    """

    name: str
    arch: str
    ptx: str
    cubin: bytes
    header: str

    def save(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write NAME.ptx, NAME.cubin (where there is one) and NAME.h to a folder; return their paths."""
        files = {"ptx": self.ptx.encode(), "cubin": self.cubin, "h": self.header.encode()}
        return saved(folder, {f"{self.name}.{ending}": content for ending, content in files.items() if content})


@without_our_frames
def device_function(
    function: Any, /, *, arch: str = "sm_90a", name: str | None = None, **options: Any
) -> DeviceFunction:
    """Compile a Python function to a device function that kernels link: those of nvcc, or ours by `cl.extern`.

        def scale(x: f32, out: cl.Pointer[f32]) -> f32:
            out[0] = x
            return x * 2

        cl.device_function(scale, arch="sm_90a").save("lib")        # scale.ptx, scale.cubin, scale.h

    function   its parameters are i32, u32, i64, u64, f32, f64, and `cl.Pointer[dtype]`, which points to global memory;
               it returns one of these numbers, or nothing. Kernels of cutelite can call and inline it as it is
    arch       the architecture of the cubin; PTX for a plain one (`sm_90`) also runs on later GPUs
    name       the name of the symbol; default: the function's
    options    options of a compile: docs/options.md
    Errors     `CompileError` for other annotations, for shared memory, which only kernels have, and as for kernels;
               `ToolchainError`
    """
    if not isinstance(function, FunctionType):
        raise ArgumentError(f"device_function takes a Python function, not {function!r}")
    target, chosen = Target.parse(arch), Options(**checked(options, "device_function"))
    types, out = _types(function)
    symbol = function.__name__ if name is None else name
    if not (isinstance(symbol, str) and symbol.isascii() and symbol.isidentifier()) or symbol in C_WORDS:
        raise ArgumentError(f"device_function takes the name of a symbol of C, not {symbol!r}: `name=` gives another")
    attrs: dict[str, Any] = {"fmad": chosen.fmad, "device": "void" if out is None else out.name}
    attrs |= {"name": symbol} | {key: True for key in ("assertions", "debug") if getattr(chosen, key)}
    times: dict[str, float] = {}
    with stage("front", times):
        made = build(function, {key: t for key, (t, _) in types.items()}, {}, attrs, target)
    with stage("passes", times):
        final = passes.run(passes.pipeline(chosen.passes), made, passes.Context(target))
        for op in final.ops():
            if isinstance(op, SmemAlloc):
                what = f"{final.name}() has shared memory of its own, which only kernels have"
                help = "let the kernel that calls it do this"
                raise CompileError(Mistake("device-function", what, help=help), op.span)
    with stage("lower", times):
        text = lower.to_llvm(final, target, line_info=chosen.line_info)
    with stage("llvm", times):
        written = toolchain.write_ptx(text, target, opt_level=chosen.opt, backend=chosen.backend)
    ptx, cubin = toolchain.for_ptxas(written, "ptxas").anywhere, b""
    if (program := find.ptxas()) is not None:
        flags = ["-c", *level_flags(ptx, chosen.opt), *chosen.ptxas_options]
        cubin, _ = ptxas.assemble(program, ptx, target, flags)
    return DeviceFunction(final.name, arch, ptx, cubin, _header(final.name, arch, types, out))


Types = dict[str, tuple[Scalar | Tensor, str]]
"""Parameter -> its type, and its type in C."""


def _types(function: FunctionType) -> tuple[Types, Scalar | None]:
    """Return the parameters' types and the result's. Errors: `CompileError`."""
    hints = typing.get_type_hints(function, localns=dict(seen_beside(function.__annotations__)))
    out = hints.pop("return", None)
    if out is not None and out is not type(None) and not (isinstance(out, Scalar) and out.name in C_NAMES):
        raise _refused(function, f"it returns {out!r}")
    code = function.__code__
    found: Types = {}
    if code.co_flags & 0x0C or code.co_kwonlyargcount:  # *args, **kwargs
        raise _refused(function, "its parameters are not all positional")
    for name in code.co_varnames[: code.co_argcount]:
        of = hints.get(name)
        if isinstance(of, PointerSpec) and isinstance(of.dtype, Scalar):
            behind = C_BEHIND.get(of.dtype.name, "void")
            found[name] = Tensor(of.dtype, "gmem", Layout((1 << 40,), (1,)), of.align), f"{behind} *"
        elif isinstance(of, Scalar) and of.name in C_NAMES:
            found[name] = of, f"{C_NAMES[of.name]} "
        else:
            raise _refused(function, f"`{name}` is {'without an annotation' if of is None else repr(of)}")
    return found, out if isinstance(out, Scalar) else None


def _refused(function: FunctionType, what: str) -> CompileError:
    kinds = f"{', '.join(C_NAMES)} and Pointer[...]"
    text = f"{function.__name__}() is no device function for others: {what}"
    return CompileError(Mistake("device-function", text, help=f"parameters are {kinds}; results are numbers, or None"))


def _header(name: str, arch: str, types: Types, out: Scalar | None) -> str:
    result = "void" if out is None else C_NAMES[out.name]
    taken = ", ".join(f"{c}{named}{'_' * (named in C_WORDS)}" for named, (_, c) in types.items())
    guard = f"{name.upper()}_CUTELITE_H"
    return (
        f"/* The device function `{name}`, compiled by cutelite for {arch}. Pointers lead to global memory. */\n"
        f"#ifndef {guard}\n#define {guard}\n\n"
        f'extern "C" __device__ {result} {name}({taken or "void"});\n\n#endif\n'
    )
