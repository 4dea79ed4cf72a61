"""LLVM IR text -> PTX, by the NVPTX backend in llvmlite. Measurements: docs/lab/compile-time.md.

LLVM is asked for little work. Layouts and constants are folded before it, and ptxas allocates registers and schedules
after it. So instead of the default pipeline, which takes longer than all other stages together, four function passes
tidy the text; then comes code generation, whose own passes for NVPTX split constant offsets off addresses
and share common expressions. Two of those are switched off, because their time grows with the square of the code's
size.

The text should state the following itself, since LLVM is not asked to find it out:

  nsw      on index arithmetic, otherwise LLVM splits no constant off a 32-bit index
  widths   each load or store is translated as wide as it is; neighbours are not joined
  loops    `llvm.loop.unroll.disable` on the back edge, which the PTX passes on to ptxas (`.pragma "nounroll"`): ptxas
           would unroll a loop of 4 wgmma fourfold, and take 5 times as long for it

Two kinds of mistake make LLVM end the process: an instruction that it cannot select, and a `$n` in inline
asm without an operand. The text must have neither; to check that, the tests compile every op once.
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
    # Strength reduction of straight-line code takes 0.03 s for 500 ops of unrolled loads and stores, 3 s for 5000, 110
    # s for 20000, since LLVM 22. Only GPU backends run it, so other users of llvmlite in this process are not affected.
    "-opt-disable=slsr",
    # Joining neighbouring loads and stores takes 18 ms for 166 of them, and joins none unless their stated alignment is
    # larger than their size. cutelite's own passes choose widths, from layouts.
    "-disable-nvptx-load-store-vectorizer",
)


def to_ptx(llvm_text: str, target: Target, *, opt_level: int = 3, bitcode: Sequence[str] = ()) -> str:
    """Return PTX for `target`; see `backend.write_ptx`. Levels 2 and 3 give the same."""
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
        return libllvm.emitted(module, machine, libllvm.ASSEMBLY).decode()


def version() -> str:
    """Return the version of LLVM in llvmlite, such as `22.1.0`."""
    return ".".join(map(str, undisturbed(libllvm.version)))


_started = False
_idle: dict[tuple[str, int, int], list[int]] = {}  # target machines that no thread is using


def _start() -> None:
    """Register the targets, and switch off what takes long, once."""
    global _started
    if _started:
        return
    libllvm.register()
    if libllvm.version()[0] == 22:  # LLVM ends the process if it does not know an option
        for option in SWITCHED_OFF:
            libllvm.library().LLVMPY_SetCommandLine(b"cutelite", option.encode())
    _started = True


@contextmanager
def _machine(arch: str, ptx_isa: int, opt_level: int) -> Iterator[int]:
    """Lend this thread an LLVM target machine that no other thread uses: an idle one, or a new one."""
    # Level 3 of LLVM's code generation uses GVN instead of early CSE: that takes a quarter longer, for the same SASS.
    # Level 0 leaves out register coalescing, and ptxas then puts a wait after every wgmma (its warning C7517); but it
    # is the only level that keeps variables in memory.
    idle = _idle.setdefault((arch, ptx_isa, opt_level), [])
    try:
        machine = idle.pop()
    except IndexError:
        level = 0 if opt_level < 0 else min(max(opt_level, 1), 2)
        machine = libllvm.machine_of(TRIPLE, arch, f"+ptx{ptx_isa}", level, ("default", "jitdefault"))
    try:
        yield machine
    finally:
        idle.append(machine)
