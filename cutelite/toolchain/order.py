"""Compare PTX with its cubin, to find arithmetic before a fence of operands that ptxas moved behind it.

Such a fence is the instruction `pmevent.mask N`, where N is the fence's number (`PMTRIG` in SASS): ptxas moves nothing
across it (seen in 12.4, 12.9, 13.0 and 13.5). In the PTX and in the SASS, floating-point instructions are counted from
each fence forwards to the next matrix product or fence, and backwards to the previous one, along the path that has most
of them. If instructions crossed a fence, the SASS has fewer before it than the PTX and more behind it. One of the two
alone proves nothing, since ptxas may also move instructions across a product. This module decodes the cubin itself:
a disassembler takes as long as ptxas.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from cutelite import graphs
from cutelite.toolchain.cubin import sections
from cutelite.tuples import NamedTuple


class Step(NamedTuple):
    """A matrix product, a fence, or a run of other instructions that are executed one after the other.

    arithmetic  the number of its floating-point instructions
    next        the steps that may come next
    fence       its number, if it is a fence
    stops       whether it is a matrix product, beyond which nothing is counted
    """

    arithmetic: int = 0
    next: tuple[int, ...] = ()
    fence: int | None = None
    stops: bool = False


Program = dict[int, Step]
"""The steps by the place of their first statement of PTX, or instruction of SASS."""

_FENCE = re.compile(r"pmevent\.mask\s+(\d+)")
_BEFORE = re.compile(r"(?:([{}])|([$%\w]+):|(@\S+))\s*")
_END = re.compile(r"(?:bra(?:\.uni)?\s+([$%\w]+)|ret|exit)\s*$")
_FLOAT = re.compile(
    r"(ex2|lg2|rcp|rsqrt|sqrt|sin|cos|tanh|div)\.|(add|sub|mul|fma|mad|neg|abs)\.\S*f32|cvt\.\S*(f32|f16|e4m3|e5m2)"
)

# The lower nine bits of instructions of sm_90, which do not depend on the forms of operands.
_ARITHMETIC = frozenset({0x020, 0x021, 0x023, 0x03E, 0x105, 0x106, 0x108})  # FMUL FADD FFMA F2FP F2I I2F MUFU
_PRODUCTS = range(0x1F0, 0x1F8)  # HGMMA, QGMMA, IGMMA, BGMMA
_PMTRIG, _BRA, _EXIT = 0x001, 0x147, 0x14D
_ALWAYS = 7  # the predicate PT


def crossed(ptx: str, cubin: bytes) -> dict[int, int]:
    """Return, by fence, how many operations are before it in the PTX but behind it in the machine code.

    A fence is left out if at most an eighth of its operations crossed it: ptxas also sinks values that are used later
    and need not stay before the fence. (Of 64 to 98 operations in the fp8 kernel, it sinks two or four scales.)
    """
    if _FENCE.search(ptx) is None:
        return {}
    meant, found = _around(_of_ptx(ptx)), _around(_of_sass(cubin))
    moved = {
        fence: min(before - found[fence][0], found[fence][1] - behind)
        for fence, (before, behind) in meant.items()
        if fence in found
    }
    return {fence: count for fence, count in moved.items() if count > meant[fence][0] // 8}


def _around(program: Program) -> dict[int, tuple[int, int]]:
    """Return, by fence, the most operations on a path to it and on a path from it; a loop counts once."""
    back: dict[int, list[int]] = {}
    for at, step in program.items():
        for after in step.next:
            back.setdefault(after, []).append(at)
    most: dict[int, tuple[int, int]] = {}
    for at, step in program.items():
        if step.fence is not None:
            before = max((_longest(program, back, near) for near in back.get(at, ())), default=0)
            behind = max((_longest(program, None, near) for near in step.next), default=0)
            others = most.get(step.fence, (0, 0))
            most[step.fence] = max(before, others[0]), max(behind, others[1])
    return most


def _longest(program: Program, back: dict[int, list[int]] | None, start: int) -> int:
    """Return the most operations on a path from `start` to a product or fence; backwards if `back` has predecessors."""
    nowhere = Step()

    def ahead(at: int) -> Sequence[int]:
        step = program.get(at, nowhere)
        return () if step.stops or step.fence is not None else step.next if back is None else back.get(at, ())

    most: dict[int, int] = {}
    for at in graphs.postorder(start, ahead):
        longest = 0  # `max` of a generator takes longer
        for near in ahead(at):
            longest = max(longest, most.get(near, 0))
        most[at] = longest + program.get(at, nowhere).arithmetic  # a product or fence has none
    return most[start]


class _Reading:
    """A program of which a part has been read. `start` and `arithmetic` are of the run that is being read."""

    def __init__(self) -> None:
        self.program: Program = {}
        self.start = self.arithmetic = 0

    def end(self, behind: int, *ahead: int) -> None:
        """End the run, which goes on to `ahead`. The next one starts at `behind`."""
        self.program[self.start] = Step(self.arithmetic, ahead)
        self.start, self.arithmetic = behind, 0

    def begin(self, at: int) -> None:
        """Begin a run at `at`, to which the one before it goes on, unless one has just begun there."""
        if self.start != at:
            self.end(at, at)

    def alone(self, at: int, behind: int, fence: int | None) -> None:
        """Add a fence, or a product: a step of its own."""
        self.begin(at)
        self.program[at] = Step(0, (behind,), fence, fence is None)
        self.start = behind


class _Ptx(_Reading):
    """PTX of which a part has been read. A label is seen in the braces around it, and in those within."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, int] = {}  # what a statement of this first word adds to the arithmetic
        self.braces: tuple[int, ...] = (-1,)
        self.labels: dict[tuple[int, str], int] = {}
        self.branches: list[tuple[int, tuple[int, ...], str]] = []  # the run, the braces around its end, a label

    def other(self, i: int, text: str) -> int:
        """Read a statement whose first word is not `known`. Return what it adds to the arithmetic."""
        guarded, plain = False, text
        while before := _BEFORE.match(text):
            brace, label, _ = before.groups()
            text = text[before.end() :]
            if brace:
                self.braces = (*self.braces, i) if brace == "{" else self.braces[:-1]
            elif label:
                self.begin(i)
                self.labels[self.braces[-1], label] = i
            else:
                guarded = True
        if found := _FENCE.match(text):
            self.alone(i, i + 1, int(found[1]))
        elif text.startswith("wgmma.mma_async"):
            self.alone(i, i + 1, None)
        elif found := _END.match(text):
            if found[1]:
                self.branches.append((self.start, self.braces, found[1]))
            self.end(i + 1, *((i + 1,) if guarded else ()))
        else:
            counts = _FLOAT.match(text) is not None
            if text is plain:
                self.known[text.split(None, 1)[0]] = counts
            return counts and not guarded
        return 0


def _of_ptx(ptx: str) -> Program:
    reading = _Ptx()
    for i, text in enumerate(re.findall(r"[^;\s][^;\n]*", ptx)):
        counts = reading.known.get(text.split(None, 1)[0])
        if counts is None:
            counts = reading.other(i, text)
        reading.arithmetic += counts
    reading.end(0)
    for run, braces, label in reading.branches:
        step = reading.program[run]
        targets = (reading.labels[each, label] for each in reversed(braces) if (each, label) in reading.labels)
        reading.program[run] = step._replace(next=(*targets, *step.next))
    return reading.program


def _of_sass(cubin: bytes) -> Program:
    """Read instructions of 16 bytes, each with its opcode in the lower 9 bits and its predicate in bits 12 to 15."""
    reading = _Reading()
    kernels = [(offset, length) for name, offset, length in sections(cubin) if name.startswith(".text.")]
    for kernel, (start, length) in enumerate(kernels):
        code = list(struct.iter_unpack("<QQ", cubin[start : start + length]))
        reading.start = base = kernel << 32  # keeps their addresses apart
        branches = {base + 16 * i: _branch(*words) for i, words in enumerate(code) if words[0] & 0x1FF == _BRA}
        targets = {at + 16 + far for at, (far, _) in branches.items()}
        for at, (low, _) in enumerate(code, base >> 4):
            at, opcode, guard = at << 4, low & 0x1FF, low >> 12 & 0xF
            if at in targets:
                reading.begin(at)
            if opcode in _ARITHMETIC:
                reading.arithmetic += guard == _ALWAYS
            elif opcode == _BRA:
                far, always = branches[at]
                reading.end(at + 16, at + 16 + far, *(() if always else (at + 16,)))
            elif opcode == _EXIT and guard == _ALWAYS:
                reading.end(at + 16)
            elif opcode == _PMTRIG:
                reading.alone(at, at + 16, low >> 32 & 0xFFFF)
            elif opcode in _PRODUCTS:
                reading.alone(at, at + 16, None)
        reading.end(0)
    return reading.program


def _branch(low: int, high: int) -> tuple[int, bool]:
    """Return how many bytes behind itself a branch goes, and whether it always does."""
    words = low >> 34 | (high & 0x3FFFF) << 30  # 48 bits, signed, in units of 1024 bytes
    far = (words - (1 << 48) if words >> 47 else words) << 10 | (low >> 16 & 0xFF) << 2
    return far, low >> 12 & 0xF == _ALWAYS and high >> 23 & 0xF == _ALWAYS and low >> 32 & 3 == 0
