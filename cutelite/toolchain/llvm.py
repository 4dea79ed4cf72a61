"""LLVM IR text -> PTX, through the NVPTX backend that llvmlite brings. Measurements: docs/compile-time.md.

LLVM is told to do little. Layouts and constants are folded before it, register allocation and scheduling come
after it, in ptxas. So instead of the default pipeline, which costs more than all the rest of a compile, four
function passes tidy what the frontend wrote; then code generation, whose own passes for NVPTX split constant
offsets off addresses, share common expressions and join neighbouring loads.

LLVM reports two kinds of mistake by ending the process: an instruction it cannot select, and a `$n` in inline
asm with no operand. Text that comes here must have neither; every op is compiled once in the tests for that.
"""

from __future__ import annotations

import functools
import re
import threading
from typing import Any

from cutelite.target import Target
from cutelite.toolchain.errors import ToolchainError, excerpt

TRIPLE = "nvptx64-nvidia-cuda"

# Joining loads and stores takes time quadratic in their number within a block: 5 ms for 250, 200 ms for 1250.
MOST_ACCESSES_TO_JOIN = 512

_codegen_lock = threading.Lock()


def to_ptx(llvm_text: str, target: Target, *, opt_level: int = 3) -> str:
    """PTX for `target` from LLVM IR text, whose kernels are `define ptx_kernel void`.

    opt_level  0 and 1: as written, tidied by code generation only; 2 and 3: with the function passes
    Threads    any number at once; LLVM itself runs one at a time (llvmlite holds a lock around each call)
    Errors     `ToolchainError` for text that does not parse or breaks LLVM's rules
    """
    llvm = _llvm()
    machine = _machine(target.arch, target.ptx_isa, opt_level)
    module = _parse(llvm, llvm_text)
    if opt_level >= 2:
        _tidy(llvm, module, machine)
    accesses = len(re.findall(r"\b(?:load|store) ", llvm_text))
    with _codegen_lock:  # the option is the process's own, so it holds from setting it to the end of the emission
        _join_accesses(llvm, accesses <= MOST_ACCESSES_TO_JOIN)
        try:
            return str(machine.emit_assembly(module))
        except RuntimeError as error:
            raise ToolchainError("llvm", str(error)) from None


def version() -> str:
    """The LLVM within llvmlite, `22.1.0`. Part of the key of anything kept from it."""
    return ".".join(map(str, _llvm().llvm_version_info))


@functools.cache
def _llvm() -> Any:
    """llvmlite's bindings, with all targets registered: 40 ms, once."""
    try:
        import llvmlite.binding as llvm
    except ImportError as error:
        raise ToolchainError("find", f"llvmlite is needed to compile, and cannot be imported: {error}") from error
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    if llvm.llvm_version_info[0] == 22:  # LLVM ends the process over an option it does not know
        # Strength reduction of straight-line code is new in LLVM 22 and quadratic or worse: 0.03 s for 500 ops
        # of unrolled loads and stores, 3 s for 5000, 110 s for 20000. Index arithmetic marked `nsw` gets the same
        # code without it. Only GPU backends run it, so other users of llvmlite in the process are not touched.
        llvm.set_option("cutelite", "-opt-disable=slsr")
    return llvm


@functools.cache
def _machine(arch: str, ptx_isa: int, opt_level: int) -> Any:
    # Level 3 of LLVM's code generation has GVN for early CSE: a quarter slower, for the same SASS. Level 0 leaves
    # out register coalescing, and ptxas then puts a wait after every wgmma (its warning C7517).
    level = min(max(opt_level, 1), 2)
    return _llvm().Target.from_triple(TRIPLE).create_target_machine(cpu=arch, features=f"+ptx{ptx_isa}", opt=level)


def _parse(llvm: Any, text: str) -> Any:
    try:
        module = llvm.parse_assembly(text, llvm.create_context())  # a context of its own: threads share nothing
        module.triple = TRIPLE
        module.verify()
    except RuntimeError as error:
        raise ToolchainError("llvm", str(error), excerpt(text, str(error), r"<string>:(\d+):")) from None
    return module


def _tidy(llvm: Any, module: Any, machine: Any) -> None:
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


def _join_accesses(llvm: Any, join: bool) -> None:
    global _joins
    if join != _joins and llvm.llvm_version_info[0] == 22:
        llvm.set_option("cutelite", f"-disable-nvptx-load-store-vectorizer={str(not join).lower()}")
        _joins = join


_joins = True
