"""Replace the numbers of places in the `.loc` directives of PTX by source lines and chains of inlined calls.

`lower/debug.py` numbers the places and writes their table into comments of the LLVM IR; backends copy the numbers.
ptxas carries chains (`function_name`, `inlined_at`; PTX ISA 7.2, debugging directives: .loc) into the cubin, where
`nvdisasm --print-line-info-inline` and Nsight Compute find them.
"""

from __future__ import annotations

import re

from cutelite.diag.paths import coded
from cutelite.tuples import NamedTuple

# Kept as strings, so that `re` compiles them only for kernels with source lines.
_PLACE = r'(?m)^; place (\d+) in (\d+): (\d+) (\d+) ("(?:[^"\\]|\\.)*") ("(?:[^"\\]|\\.)*")$'
_LOC = r"(?m)^[ \t]*\.loc[ \t]+\d+[ \t]+(\d+)\b[^\n]*$"
_FILE = r'(?m)^[ \t]*\.file[ \t]+\d+[ \t]+"[^\n]*\n?'
_ISA = r"(?m)^[ \t]*\.version[ \t]+(\d+)\.(\d+)"


VARIABLES = "emissionKind: FullDebug"
"""Words that occur in LLVM IR with variables for debuggers (`lower/variables.py`), whose lines are real lines."""


def has_variables(ptx: str) -> bool:
    """Tell whether PTX describes variables for debuggers: its target says so."""
    return "debug" in ptx.partition("\n.target ")[2].partition("\n")[0].split(", ")


class Place(NamedTuple):
    """A place in the source. `caller` is the number of the call that inlined it; 0 in the kernel itself."""

    caller: int
    line: int
    column: int
    file: str
    function: str


def places(llvm_text: str) -> dict[int, Place]:
    """Return the table of places in the comments of LLVM IR, by number; {} if it was lowered without source lines."""
    found = re.findall(_PLACE, llvm_text) if "; place " in llvm_text else ()
    if not found:
        return {}
    import json  # here: kernels without source lines do not need it

    return {
        int(number): Place(int(caller), int(line), int(column), json.loads(file), json.loads(function))
        for number, caller, line, column, file, function in found
    }


def with_places(ptx: str, llvm_text: str) -> str:
    """Return the PTX with source lines instead of numbers of places; the table of places is in `llvm_text`."""
    table = places(llvm_text)
    if not table:
        return ptx
    isa = re.search(_ISA, ptx)
    chains = isa is not None and (int(isa[1]), int(isa[2])) >= (7, 2)
    writer = _Writer(table, chains)
    text = re.sub(_LOC, writer.loc, re.sub(_FILE, "", ptx))
    return text.rstrip("\n") + "\n" + writer.ending()


class _Writer:
    def __init__(self, table: dict[int, Place], chains: bool) -> None:
        self.table, self.chains = table, chains
        self.files: dict[str, int] = {}
        self.names: dict[str, int] = {}

    def loc(self, found: re.Match[str]) -> str:
        """Return the directives for a `.loc`: its calls come first, since `inlined_at` refers to earlier directives."""
        place = self.table.get(int(found[1]))
        if place is None:
            return f"\t.loc\t{self._file(next(iter(self.table.values())).file)} 0 0"
        chain = [place]
        while chain[-1].caller:
            chain.append(self.table[chain[-1].caller])
        lines, outer = [], ""
        for each in reversed(chain):
            here = f"{self._file(each.file)} {each.line} {each.column}"
            name = self.names.setdefault(each.function, len(self.names)) if outer else 0
            called = f", function_name $L__info_string{name}, inlined_at {outer}" if outer else ""
            lines.append(f"\t.loc\t{here}{called}")
            outer = here
        return "\n".join(lines) if self.chains else f"\t.loc\t{outer}"

    def ending(self) -> str:
        """Return the tables of files and names, which stand at the end."""
        paths = {number: coded(file).replace("\\", "\\\\") for file, number in self.files.items()}
        lines = [f'\t.file\t{number} "{path}"' for number, path in paths.items()]
        if self.names and self.chains:
            lines += ["\t.section\t.debug_str", "\t{"]
            for name, number in self.names.items():
                lines += [f"$L__info_string{number}:", f"\t.b8 {','.join(map(str, (*name.encode(), 0)))}"]
            lines.append("\t}")
        return "\n".join(lines) + "\n"

    def _file(self, name: str) -> int:
        return self.files.setdefault(name, len(self.files) + 1)
