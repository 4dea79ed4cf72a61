"""LLVM IR text -> PTX, by NVIDIA's libNVVM instead of LLVM's own backend.

libNVVM reads current LLVM IR for sm_100 and later targets. For earlier ones it reads the IR of LLVM 7, to which `nvvm7`
translates.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from cutelite.target import Target
from cutelite.toolchain import bindings, find, nvvm7
from cutelite.toolchain.errors import ToolchainError, excerpt


def available() -> bool:
    """Tell whether the library and a Python binding for it are installed."""
    return not missing()


def missing() -> str:
    """Return why libNVVM cannot be used; '' if it can."""
    return find.unusable("nvvm", "libNVVM", version)


def check() -> None:
    """Check that libNVVM can be used. Errors: `ToolchainError`."""
    if why := missing():
        raise ToolchainError("find", why)


def version() -> str:
    """Return the version of NVVM IR that libNVVM reads, such as `2.0`; the library reports no version of its own."""
    return ".".join(map(str, bindings.cuda("nvvm").ir_version()[:2]))


def to_ptx(llvm_text: str, target: Target, *, opt_level: int = 3, bitcode: Sequence[str] = ()) -> str:
    """Return PTX for `target`; see `backend.write_ptx`. libNVVM knows two levels: 0, and all others."""
    check()
    if bitcode:
        raise ToolchainError("link", f"{bitcode[0]} is LLVM bitcode, which backend='llvm' links")
    nvvm = bindings.cuda("nvvm")
    text = _dialect(llvm_text, target)
    # Only ops marked `contract` may be fused, as in LLVM. libNVVM's verifier is not called: it refuses predicates and
    # 16-bit floats as operands of inline PTX, which its compiler accepts.
    options = [f"-arch=compute_{target.ptx_arch[3:]}", f"-opt={3 if opt_level else 0}", "-fma=0"]
    if "!dbg" in text:
        options.append("-generate-line-info")
    source = text.encode()
    program = nvvm.create_program()
    try:
        nvvm.add_module_to_program(program, source, len(source), "kernel.ll")
        nvvm.compile_program(program, len(options), options)
        ptx = _buffer(nvvm.get_compiled_result_size, nvvm.get_compiled_result, program)
    except nvvm.nvvmError as error:
        log = _buffer(nvvm.get_program_log_size, nvvm.get_program_log, program).strip()
        raise ToolchainError("nvvm", log or str(error), excerpt(text, log, r"\((\d+), \d+\)")) from None
    finally:
        nvvm.destroy_program(program)
    return _finished(ptx, target)


def _dialect(text: str, target: Target) -> str:
    version = ", ".join(f"i32 {part}" for part in bindings.cuda("nvvm").ir_version())
    if target.capability < (10, 0):
        return nvvm7.translate(text, target, version)
    numbers = [int(number) for number in re.findall(r"^!(\d+) =", text, re.MULTILINE)]
    node = max(numbers, default=-1) + 1
    layout = f'target datalayout = "{nvvm7.DATA_LAYOUT}"\n'
    return f"{layout}{text}\n!nvvmir.version = !{{!{node}}}\n!{node} = !{{{version}}}\n"


def _finished(ptx: str, target: Target) -> str:
    unknown = re.search(r"\bllvm\.[a-z][\w.]*", ptx)  # for an intrinsic that it lacks, libNVVM writes a call
    if unknown is not None:
        raise ToolchainError("nvvm", f"libNVVM has no intrinsic {unknown[0]} for {target}")
    # libNVVM writes the PTX ISA of its own release, which an assembler of another release may not read.
    return re.sub(r"^\.version .*", f".version {target.ptx_isa // 10}.{target.ptx_isa % 10}", ptx, flags=re.MULTILINE)


def _buffer(size: Any, fill: Any, program: Any) -> str:
    buffer = bytearray(size(program))
    if buffer:
        fill(program, buffer)
    return bytes(buffer).rstrip(b"\0").decode()
