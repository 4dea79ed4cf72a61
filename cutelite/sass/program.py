"""The machine code of a cubin, as text and as structure."""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import PurePath

from cutelite.diag.paths import decoded
from cutelite.sass.graph import Block, Loop, Mix, blocks_of, loops_of, mix_of
from cutelite.sass.instruction import LABEL_OPERAND, Control, Instruction, Place

PTX_FILE = ".nv_debug_ptx_txt"
"""The file name under which nvdisasm prints lines of PTX."""

_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*([^;]*);")
_LINE = re.compile(r'\s*//## File "([^"]+)", line (\d+)(?: inlined at "([^"]+)", line (\d+))?')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(, function_name)?")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_MMA = re.compile(r"\b(wgmma\.mma_async|mma\.sync|wmma\.mma|tcgen05\.mma)")
_LABEL = re.compile(r"([.$\w]+):\s*(?://.*)?$")
_SECTION = re.compile(r"\s*\.section\s+\.text\.(\S+?),")


class Sass(str):
    """The machine code of a kernel: the string that nvdisasm prints, with its structure as attributes.

    ``sass.loops[0].mix["tensor"]``, ``sass.at("gemm.py", 74)``, ``sass.waits_for(instruction)``. The structure is read
    from the text and the cubin at the first use of such an attribute.
    """

    _image: bytes
    _printed: str
    _ptx: str

    @classmethod
    def of(cls, printed: str, image: bytes, ptx: str = "") -> Sass:
        """Make it from the output of ``nvdisasm --print-code --print-line-info-inline --print-line-info-ptx``.

        ptx  the PTX that the cubin was assembled from, if known: its `.loc` tell two calls of a function apart whose
             instructions are neighbours, for which the cubin has only one entry
        """
        shown = "".join(line for line in printed.splitlines(keepends=True) if f'//## File "{PTX_FILE}"' not in line)
        made = cls(shown)
        made._image, made._printed, made._ptx = image, printed, ptx
        return made

    @property
    def text(self) -> str:
        """Return nvdisasm's text, with its source lines."""
        return str(self)

    @cached_property
    def functions(self) -> dict[str, tuple[Instruction, ...]]:
        """The instructions of each section of code, by its name; each kernel of the cubin has a section."""
        return dict(_functions(self._printed, dict(_texts(self._image)), self._ptx))

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """The instructions that the kernel can reach, by address; without padding."""
        return tuple(each for block in self.blocks for each in block.instructions)

    @cached_property
    def _entries(self) -> dict[str, set[int]]:
        """The addresses, by section, at which the kernel and the functions inside it begin."""
        return {
            name: {0, *(each.target for each in code if each.name == "CALL" and each.target is not None)}
            for name, code in self.functions.items()
        }

    @cached_property
    def _graphs(self) -> list[tuple[list[Block], set[int]]]:
        return [(blocks_of(code, self._entries[name]), self._entries[name]) for name, code in self.functions.items()]

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The basic blocks, by address; `Block.next` gives the control-flow graph."""
        return tuple(block for blocks, _ in self._graphs for block in blocks)

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The loops by address, an outer one before those inside it; also those that only wait."""
        return tuple(loop for blocks, entries in self._graphs for loop in loops_of(blocks, entries))

    @property
    def hot(self) -> Loop | None:
        """The innermost loop (waits apart) with most products, then instructions; None without loops."""
        leaves = [loop for loop in self.loops if not loop.spins and all(inner.spins for inner in loop.inner)]
        return max(leaves, key=lambda loop: (loop.mix["tensor"], len(loop.instructions)), default=None)

    @cached_property
    def _where(self) -> dict[Instruction, tuple[Block, int]]:
        """The block of each instruction, and its index in the block."""
        return {each: (block, i) for block in self.blocks for i, each in enumerate(block.instructions)}

    @property
    def mix(self) -> Mix:
        """The number of instructions of each class."""
        return mix_of(self.instructions)

    @cached_property
    def lines(self) -> dict[tuple[str, int], tuple[Instruction, ...]]:
        """Instructions by (file, line); those of an inlined function also under the lines of its calls."""
        found: dict[tuple[str, int], list[Instruction]] = defaultdict(list)
        for each in self.instructions:
            for line in dict.fromkeys(each.place.lines()) if each.place else ():
                found[line].append(each)
        return {line: tuple(instructions) for line, instructions in found.items()}

    @cached_property
    def spills(self) -> dict[tuple[str, int], tuple[int, int]]:
        """The bytes that a thread stores to and loads from local memory, by line of the kernel, the largest first.

        Each instruction counts once, also in a loop. Lines are (file, line) of the outermost call. Empty without source
        lines. Tensors in registers that are indexed at run time are in local memory too.
        """
        found: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
        for each in self.instructions:
            if each.name in ("STL", "LDL") and each.place is not None:
                width = re.search(r"\.(8|U8|S8|16|U16|S16|64|128)\b", each.opcode)
                bytes = int(width[1].lstrip("US")) // 8 if width else 4
                found[each.place.lines()[-1]][each.name == "LDL"] += bytes
        order = sorted(found.items(), key=lambda item: -sum(item[1]))
        return {line: (stored, loaded) for line, (stored, loaded) in order}

    def at(self, file: str, line: int) -> tuple[Instruction, ...]:
        """Return the instructions of a source line; `file` may be just the end of the path.

        Errors  ValueError where no instruction comes from such a file, as in code compiled without `line_info`
        """
        ends = PurePath(file).parts
        found = {name for name, _ in self.lines if PurePath(name).parts[-len(ends) :] == ends}
        if not found:
            files = ", ".join(sorted({PurePath(name).name for name, _ in self.lines}))
            raise ValueError(f"no instruction comes from {file}, only from {files or 'no file: give line_info=True'}")
        return tuple(dict.fromkeys(each for name in sorted(found) for each in self.lines.get((name, line), ())))

    def waits_for(self, instruction: Instruction) -> tuple[Instruction, ...]:
        """Return the instructions whose results or reads this one waits for, according to its control word."""
        return tuple(each for barrier in instruction.control.waits for each in self._setters(instruction, barrier))

    def _setters(self, instruction: Instruction, barrier: int) -> Iterator[Instruction]:
        """Yield the instructions that set a barrier, on each path back to the last one that waited for it."""
        at, place = self._where[instruction]
        seen: set[Block] = set()
        work: list[tuple[Block, Sequence[Instruction]]] = [(at, at.instructions[:place])]
        while work:
            block, code = work.pop()
            for each in reversed(code):
                if barrier in (each.control.sets_write, each.control.sets_read):
                    yield each
                if barrier in each.control.waits:
                    break
            else:
                for before in block.before:
                    if before not in seen:
                        seen.add(before)
                        work.append((before, before.instructions))


def ptx_places(ptx: str) -> dict[int, Place]:
    """Return the source places of lines of PTX, by line number from 1: a line's place is in the `.loc` before it."""
    files = {int(number): decoded(name) for number, name in _FILE.findall(ptx)}
    found: dict[int, Place] = {}
    chain: list[tuple[str, int]] = []  # the calls, outermost first, then the place
    for number, line in enumerate(ptx.splitlines(), 1):
        if told := _LOC.match(line):
            here = (files.get(int(told[1]), ""), int(told[2]))
            chain = [*chain, here] if told[3] else [here]
        elif chain and chain[-1][1]:
            found[number] = Place(*chain[-1], tuple(reversed(chain[:-1])))
    return found


def _functions(printed: str, code: dict[str, bytes], ptx: str) -> Iterator[tuple[str, tuple[Instruction, ...]]]:
    """Yield the instructions of each section of code."""
    of_ptx = ptx_places(ptx)
    products = {number for number, line in enumerate(ptx.splitlines(), 1) if _MMA.search(line)}
    for name, lines in _sections(printed):
        labels, found = _labels(lines), []
        place: Place | None = None
        ptx_line: int | None = None
        chain: list[tuple[str, int, str, int]] = []
        for line in lines:
            if told := _LINE.match(line):
                if told[1] == PTX_FILE:
                    ptx_line = int(told[2])
                    continue
                chain.append((decoded(told[1]), int(told[2]), decoded(told[3] or ""), int(told[4] or 0)))
            elif read := _INSTRUCTION.match(line):
                if chain:
                    place = _place(chain)
                    chain = []
                found.append(_instruction(read, code[name], labels, of_ptx.get(ptx_line or 0, place), ptx_line))
        yield name, tuple(_with_products(found, products, of_ptx))


def _with_products(code: list[Instruction], products: set[int], of_ptx: dict[int, Place]) -> Iterator[Instruction]:
    """Give each product its neighbour's line of PTX, if ptxas gives it a line that is no product.

    In a row of wgmmas, ptxas (13.5) gives every second one the line of some scalar instruction of the loop.
    """
    right = [i for i, each in enumerate(code) if each.kind == "tensor" and each.ptx_line in products]
    for i, each in enumerate(code):
        if right and each.kind == "tensor" and each.ptx_line not in products:
            line = code[max((j for j in right if j < i), default=right[0])].ptx_line
            yield replace(each, ptx_line=line, place=of_ptx.get(line or 0, each.place))
        else:
            yield each


def _place(chain: list[tuple[str, int, str, int]]) -> Place | None:
    file, line = chain[0][:2]
    return Place(file, line, tuple((name, number) for _, _, name, number in chain if name)) if line else None


def _instruction(
    read: re.Match[str], code: bytes, labels: dict[str, int], place: Place | None, ptx_line: int | None
) -> Instruction:
    address, operands = int(read[1], 16), _operands(read[4])
    named = [found[1] for operand in operands if (found := LABEL_OPERAND.search(operand))]
    target = labels.get(named[-1]) if named else None
    word = int.from_bytes(code[address : address + 16], "little")
    return Instruction(address, read[2] or "", read[3], operands, Control.of(word), place, ptx_line, target)


def _operands(text: str) -> tuple[str, ...]:
    """Split the text of operands at commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "[({") - (c in "])}")
        if c == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return (*parts, *([last] if last else []))


def _sections(printed: str) -> Iterator[tuple[str, list[str]]]:
    name, lines = "", list[str]()
    for line in printed.splitlines():
        if (found := _SECTION.match(line)) or line.startswith("//-----"):
            if name:
                yield name, lines
            name, lines = (found[1] if found else ""), []
        lines.append(line)
    if name:
        yield name, lines


def _labels(lines: list[str]) -> dict[str, int]:
    """Return the address of each label, which is that of the next instruction."""
    labels: dict[str, int] = {}
    waiting: list[str] = []
    for line in lines:
        if found := _LABEL.match(line):
            waiting.append(found[1])
        elif waiting and (read := _INSTRUCTION.match(line)):
            labels.update(dict.fromkeys(waiting, int(read[1], 16)))
            waiting = []
    return labels


def _texts(image: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of each section of code of an ELF file."""
    (table,) = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    sections = [struct.unpack_from("<IIQQQQ", image, table + i * size) for i in range(count)]
    start = sections[names][4]
    for name, _, _, _, offset, length in sections:
        text = image[start + name : image.index(0, start + name)].decode()
        if text.startswith(".text."):
            yield text.removeprefix(".text."), image[offset : offset + length]
