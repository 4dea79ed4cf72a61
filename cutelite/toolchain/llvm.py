"""LLVM IR text -> PTX, through the NVPTX backend that llvmlite brings. Measurements: docs/lab/compile-time.md.

LLVM is told to do little. Layouts and constants are folded before it, register allocation and scheduling come
after it, in ptxas. So instead of the default pipeline, which costs more than all the rest, four function passes
tidy what the frontend wrote; then code generation, whose own passes for NVPTX split constant offsets off addresses
and share common expressions. Two of those are switched off, because their time grows with the square of the code.

What the text that comes here should say for itself, since LLVM is not asked to find out:

  nsw      on index arithmetic, without which no constant is split off a 32-bit index
  widths   a load or store is as wide as it is written; neighbours are not joined
  loops    `llvm.loop.unroll.disable` on the back edge, which PTX carries on to ptxas (`.pragma "nounroll"`): ptxas
           unrolls a loop of 4 wgmma fourfold otherwise, and takes 5 times as long over it

LLVM reports two kinds of mistake by ending the process: an instruction it cannot select, and a `$n` in inline
asm with no operand. The text must have neither; every op is compiled once in the tests for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cutelite.target import Target
from cutelite.toolchain import libllvm
from cutelite.toolchain.places import VARIABLES
from cutelite.toolchain.undisturbed import alone, undisturbed

TRIPLE = "nvptx64-nvidia-cuda"

SWITCHED_OFF = (
    # Strength reduction of straight-line code: 0.03 s for 500 ops of unrolled loads and stores, 3 s for 5000, 110 s
    # for 20000, since LLVM 22. Only GPU backends run it, so other users of llvmlite are not touched.
    "-opt-disable=slsr",
    # Joining of neighbouring loads and stores: 18 ms for 166 of them, and nothing to join unless they state more than
    # their own alignment. Our own passes choose widths, from layouts.
    "-disable-nvptx-load-store-vectorizer",
)


def to_ptx(llvm_text: str, target: Target, *, opt_level: int = 3, bitcode: Sequence[str] = ()) -> str:
    """Return PTX for `target`; see `backend.write_ptx`. Levels 2 and 3 are the same."""
    if not _started:
        alone(_start)
    return undisturbed(_to_ptx, llvm_text, target, opt_level, tuple(bitcode))


def _to_ptx(llvm_text: str, target: Target, opt_level: int, bitcode: tuple[str, ...]) -> str:
    if VARIABLES in llvm_text:
        opt_level = -1
    with (
        _machine(target.ptx_arch, target.ptx_isa, opt_level) as machine,
        libllvm.module_of(llvm_text, TRIPLE) as (context, module),
    ):
        if bitcode:
            libllvm.link(context, module, machine, bitcode)
        if opt_level >= 2:
            libllvm.tidy(module, machine)
        return libllvm.assembly(module, machine)


def version() -> str:
    """Return the version of the LLVM in llvmlite, `22.1.0`."""
    return ".".join(map(str, undisturbed(libllvm.version)))


_started = False
_idle: dict[tuple[str, int, int], list[int]] = {}  # target machines that no thread uses


def _start() -> None:
    """Register the targets, once: 1 ms."""
    global _started
    if _started:
        return
    llvm = libllvm.library()
    for part in ("TargetInfos", "Targets", "TargetMCs", "AsmPrinters"):
        getattr(llvm, f"LLVMPY_InitializeAll{part}")()
    if libllvm.version()[0] == 22:  # LLVM ends the process over an option it does not know
        for option in SWITCHED_OFF:
            llvm.LLVMPY_SetCommandLine(b"cutelite", option.encode())
    _started = True


@contextmanager
def _machine(arch: str, ptx_isa: int, opt_level: int) -> Iterator[int]:
    """Lend an LLVM target machine to this thread alone: an idle one, or a new one."""
    # Level 3 of LLVM's code generation has GVN for early CSE: a quarter slower, for the same SASS. Level 0 leaves
    # out register coalescing, and ptxas then puts a wait after every wgmma (its warning C7517); no other level keeps
    # variables in memory.
    idle = _idle.setdefault((arch, ptx_isa, opt_level), [])
    try:
        machine = idle.pop()
    except IndexError:
        machine = libllvm.machine_of(TRIPLE, arch, f"+ptx{ptx_isa}", 0 if opt_level < 0 else min(max(opt_level, 1), 2))
    try:
        yield machine
    finally:
        idle.append(machine)
