"""The templates of ops, taken apart once into fixed text and holes.

"$out = fadd $contract $a:type $a, $b"   ->   text " = fadd ", contract, type of a, value of a, ...
"""

from __future__ import annotations

import re
from functools import cache

from cutelite.tuples import NamedTuple

_HOLE = re.compile(
    r"\$(?:\$|\{(?P<constant>\w+)\}|\.(?P<temporary>\w+)|(?P<name>\w+)(?::(?P<aspect>\w+)|\.(?P<register>\d+))?)"
)


class Hole(NamedTuple):
    """A place of a template to fill in.

    kind      'value', 'type' or 'suffix' of the operand or result `name`; 'temporary'; 'constant' (a field); 'contract'
    register  the number of one register of an operand; None for all of them
    """

    kind: str
    name: str = ""
    register: int | None = None


Piece = str | Hole


@cache
def pieces(template: str) -> tuple[Piece, ...]:
    """Return the template as pieces of text and holes; ``$$`` is a dollar."""
    found: list[Piece] = []
    end = 0
    for match in _HOLE.finditer(template):
        found.append(template[end : match.start()])
        found.append(_hole(match))
        end = match.end()
    found.append(template[end:])
    return tuple(piece for piece in found if piece != "")


def _hole(match: re.Match[str]) -> Piece:
    if match.group() == "$$":
        return "$"
    if match["constant"]:
        return Hole("constant", match["constant"])
    if match["temporary"]:
        return Hole("temporary", match["temporary"])
    if match.group() == "$contract":
        return Hole("contract")
    aspect = match["aspect"] or "value"
    return Hole(aspect, match["name"], int(match["register"]) if match["register"] else None)
