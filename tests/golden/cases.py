"""Golden files: a comment that says what to do, IR, a line ``// ----- <what follows>``, and what came out."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
DIVIDER = "// ----- "


class Case(NamedTuple):
    """One golden file.

    directives  ``// name: value`` lines at its start
    source      all before the divider
    what        what the second half is: 'after', 'error', 'llvm'...
    expected    the second half
    """

    path: Path
    directives: dict[str, str]
    source: str
    what: str
    expected: str

    @classmethod
    def read(cls, path: Path) -> Case:
        source, _, rest = path.read_text().partition(DIVIDER)
        what, _, expected = rest.partition("\n")
        directives = {}
        for line in source.splitlines():
            if not line.startswith("// "):
                break
            name, colon, value = line[3:].partition(": ")
            if colon and name.isidentifier():
                directives[name] = value
        return cls(path, directives, source, what.strip(), expected)

    def check(self, what: str, actual: str, update: bool) -> None:
        """Compare, or with `update` write what came out into the file."""
        if update:
            self.path.write_text(f"{self.source}{DIVIDER}{what}\n{actual}")
        else:
            assert (what, actual) == (self.what, self.expected)


def paths(folder: str, suffix: str = ".cir") -> list[Path]:
    return sorted((HERE / folder).glob(f"*{suffix}"))
