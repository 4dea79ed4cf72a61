"""The vocabulary by rows: `ROWS` has one for each instruction, in the file of its family."""

from importlib import import_module

from cutelite import ops
from tests.vocabulary.row import Row, Spelling

FAMILIES: dict[str, list[Row]] = {name: import_module(f"tests.vocabulary.{name}").ROWS for name in ops.__all__}
ROWS = [row for rows in FAMILIES.values() for row in rows]


def spellings(alone: bool) -> list[Spelling]:
    """Every form of every instruction that is assembled alone, or together with others."""
    return [spelling for row in ROWS if row.alone == alone for spelling in row.spellings]
