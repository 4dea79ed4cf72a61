"""Compare PTX with its cubin, to find arithmetic before a fence of operands that ptxas moved behind it.

Such a fence is the instruction `pmevent.mask N`, where N is the fence's number (`PMTRIG` in SASS): ptxas moves nothing
across it (seen in 12.4, 12.9, 13.0 and 13.5). In the PTX and in the SASS, floating-point instructions are counted from
each fence forwards to the next matrix product or fence, and backwards to the previous one, along the path that has most
of them. If instructions crossed a fence, the SASS has fewer before it than the PTX and more behind it. One of the two
alone proves nothing, since ptxas may also move instructions across a product. This module decodes the cubin itself: a
"""

from __future__ import annotations

import re
import struct

from cutelite.toolchain.cubin import sections
from cutelite.tuples import NamedTuple


class Step(NamedTuple):
    """A statement of PTX or instruction of SASS: its number of floating-point operations, and possible next steps.

    fence  its number, if it is a fence
    stops  whether it is a matrix product, beyond which nothing is counted
    """

    arithmetic: int = 0
    next: tuple[int, ...] = ()
    fence: int | None = None
    stops: bool = False


Program = dict[int, Step]

_FENCE = re.compile(r"pmevent\.mask\s+(\d+)")
_FLOAT = re.compile(
    r"(ex2|lg2|rcp|rsqrt|sqrt|sin|cos|tanh|div)\.|(add|sub|mul|fma|mad|neg|abs)\.\S*f32|cvt\.\S*(f32|f16|e4m3|e5m2)"
)
_LABEL = re.compile(r"\s*([$%\w]+):")
_END = re.compile(r"(?<!\S)(ret|exit)$")
_BRANCH = re.compile(r"(@!?\S+\s+)?bra(\.uni)?\s+([$%\w]+)")

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
    done: dict[int, int] = {}
    work, seen, nowhere = [(start, False)], {start}, Step()
    while work:
        at, leaving = work.pop()
        step = program.get(at, nowhere)
        over = step.stops or step.fence is not None
        ahead = () if over else step.next if back is None else back.get(at, ())
        if leaving:
            most = 0  # `max` of a generator takes longer
            for near in ahead:
                if done.get(near, 0) > most:
                    most = done[near]
            done[at] = most if over else most + step.arithmetic
            continue
        work.append((at, True))
        for near in ahead:
            if near not in seen:
                seen.add(near)
                work.append((near, False))
    return done[start]


def _of_ptx(ptx: str) -> Program:
    statements = [line.strip() for line in re.split(r"[;\n]", ptx)]
    labels = {found[1]: i for i, text in enumerate(statements) if (found := _LABEL.match(text))}
    program = {}
    for i, text in enumerate(statements):
        after: tuple[int, ...] = (i + 1,)
        if "bra" in text and (found := _BRANCH.search(text)):  # patterns are slower than `in`
            after = (labels.get(found[3], i + 1), *(after if found[1] else ()))
        elif text.endswith(("ret", "exit")) and _END.search(text) and not text.startswith("@"):
            after = ()
        fence = _FENCE.search(text) if "pmevent" in text else None
        program[i] = Step(
            bool(_FLOAT.match(text)), after, int(fence[1]) if fence else None, text.find("wgmma.mma_async") >= 0
        )
    return program


def _of_sass(cubin: bytes) -> Program:
    """Read instructions of 16 bytes, each with its opcode in the lower 9 bits and its predicate in bits 12 to 15."""
    program = {}
    kernels = [(offset, length) for name, offset, length in sections(cubin) if name.startswith(".text.")]
    for i, (start, length) in enumerate(kernels):
        base = i << 32  # keeps their addresses apart
        for at in range(0, length, 16):
            low, high = struct.unpack_from("<QQ", cubin, start + at)
            opcode, guard = low & 0x1FF, low >> 12 & 0xF
            after: tuple[int, ...] = (base + at + 16,)
            if opcode == _BRA:
                words = low >> 34 | (high & 0x3FFFF) << 30  # 48 bits, signed, in units of 1024 bytes
                far = (words - (1 << 48) if words >> 47 else words) << 10 | (low >> 16 & 0xFF) << 2
                always = guard == _ALWAYS and high >> 23 & 0xF == _ALWAYS and low >> 32 & 3 == 0
                after = (base + at + 16 + far, *(() if always else after))
            elif opcode == _EXIT and guard == _ALWAYS:
                after = ()
            fence = low >> 32 & 0xFFFF if opcode == _PMTRIG else None
            counts = opcode in _ARITHMETIC and guard == _ALWAYS
            program[base + at] = Step(counts, after, fence, opcode in _PRODUCTS)
    return program
