"""One instruction: its opcode, operands, control word and source places."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from cutelite.sass.kinds import kind_of
from cutelite.tuples import NamedTuple


class Place(NamedTuple):
    """A source line, and the lines of the calls through which it was inlined, innermost first."""

    file: str
    line: int
    callers: tuple[tuple[str, int], ...] = ()

    def lines(self) -> tuple[tuple[str, int], ...]:
        """Return (file, line) of the place and of every call around it."""
        return ((self.file, self.line), *self.callers)


class Control(NamedTuple):
    """A control word, which says how the scheduler treats an instruction.

    stall        the fewest cycles until the next instruction of the warp may issue
    yields       whether another warp is preferred for the next cycle
    sets_write   barrier, 0 to 5, that is released when the results are written; None if the latency is fixed
    sets_read    barrier that is released when the operands have been read
    waits        barriers that must be released before this instruction issues
    Source       Jia et al., Dissecting the NVIDIA Volta GPU architecture via microbenchmarking, 2018, section 2
    """

    stall: int
    yields: bool
    sets_write: int | None
    sets_read: int | None
    waits: tuple[int, ...]

    @classmethod
    def of(cls, word: int) -> Control:
        """Read the control word of an instruction, whose 128 bits are `word`."""
        bits = word >> 105
        write, read = bits >> 5 & 7, bits >> 8 & 7
        return cls(
            stall=bits & 15,
            yields=not bits >> 4 & 1,
            sets_write=None if write == 7 else write,
            sets_read=None if read == 7 else read,
            waits=tuple(i for i in range(6) if bits >> (11 + i) & 1),
        )

    def __str__(self) -> str:
        """Return it as ``B0.2 R1 W3 Y S4``: wait for 0 and 2, release 1 when read, 3 when written, yield, stall 4."""
        parts = ["B" + ".".join(map(str, self.waits))] if self.waits else []
        parts += [f"R{self.sets_read}"] if self.sets_read is not None else []
        parts += [f"W{self.sets_write}"] if self.sets_write is not None else []
        return " ".join([*parts, *(["Y"] if self.yields else []), f"S{self.stall}"])


@dataclass(frozen=True, eq=False)
class Instruction:
    """An instruction of machine code.

    address    bytes from the start of its function's section
    guard      the predicate under which it is executed: '@!P0'; '' for none
    opcode     the opcode with its modifiers: 'LDG.E.128'
    operands   the operands as nvdisasm prints them
    place      its source line; None if it has none, or the cubin has no source lines
    ptx_line   its line of the PTX, from 1; None as for `place`
    target     the address that a branch or call names
    """

    address: int
    guard: str
    opcode: str
    operands: tuple[str, ...]
    control: Control
    place: Place | None = None
    ptx_line: int | None = None
    target: int | None = None
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", kind_of(self.opcode))

    @property
    def name(self) -> str:
        """The opcode without modifiers: 'LDG'."""
        return self.opcode.partition(".")[0]

    @property
    def text(self) -> str:
        """The instruction as nvdisasm prints it, without address."""
        return " ".join([*([self.guard] if self.guard else []), self.opcode, ", ".join(self.operands)]).rstrip()

    @property
    def falls_through(self) -> bool:
        """Tell whether the next instruction may be executed after this one."""
        if self.name in ("EXIT", "RET", "BRX", "BRXU", "JMX", "JMXU", "KILL"):
            return bool(self.guard)
        if self.name not in ("BRA", "JMP"):
            return True
        # `BRA P1, L`, `BRA.U !UP0, L` and `BRA.DIV UR4, L` have a condition before the label.
        return bool(self.guard) or len(self.operands) > 1

    @property
    def branches_to(self) -> int | None:
        """The address that this instruction may jump to; None for calls, since they return."""
        return self.target if self.name in ("BRA", "JMP") else None

    def __repr__(self) -> str:
        return f"<{self.address:#06x} {self.text}>"


LABEL_OPERAND = re.compile(r"`\(([^()]+)\)")
