"""What machine code for launches has in it of this runtime: offsets in its structures, and other numbers.

`cutelite.dispatch.launcher_ir` writes them as ``<group.name>``. Code that comes from elsewhere (`cutelite_rt.bundle`)
runs only where `digest` is what it was where the code was made.
"""

from __future__ import annotations

import hashlib
from functools import cache

from cutelite_rt import exchange, launcher, native, subscript, torch_layout
from cutelite_rt.launcher import WORD

REVISION = 2
"""Another one when code and runtime come to mean something else by the same numbers."""

_CONSTANTS = {
    "tensor_bytes": exchange.TENSOR_BYTES,
    "digits": native.DIGITS_OFFSET,
    "digit": native.DIGIT_OFFSET,
    "float": native.FLOAT_OFFSET,
    "count": native.ITEMS_OFFSET - WORD,
    "items": native.ITEMS_OFFSET,
    "second": native.ITEMS_OFFSET + WORD,
    "third": native.ITEMS_OFFSET + 2 * WORD,
    "bytes": native.BYTES_OFFSET,
    "no_blocks": launcher.NO_BLOCKS,
    "stream": launcher.STREAM,
    "unresolved": launcher.UNRESOLVED,
    "odd": launcher.ODD,
    "by_dims": launcher.BY_DIMS,
    "exchange": exchange.EXCHANGE,
    "torch": exchange.EXCHANGE_UNLESS_NEGATED,
    "own": exchange.OWN,
    "by_python": exchange.BY_PYTHON,
    "direct": exchange.DIRECT,
    **{f"torch_{name}": 8 * i for i, name in enumerate(torch_layout.Layout._fields)},
    "torch_dtypes": torch_layout.DTYPES_AT,
    "torch_rank": torch_layout.MOST_RANK,
    "torch_numbers": torch_layout.MOST_NUMBERS,
    "torch_strides": WORD * torch_layout.MOST_RANK,
    "places": launcher.CONSTANTS - 1,
    "map_places": launcher.MAP_ENTRIES - 1,
    "map_bytes": launcher.MAP_ENTRY_BYTES,
    "map_header": launcher.MAP_HEADER_BYTES,
    "multiplier": launcher.MULTIPLIER - (1 << 64),
    "subscript_bytes": subscript.ENTRY_BYTES,
    **launcher.KIND,
}

GROUPS = {
    "env": launcher.ENVIRONMENT,
    "state": launcher.STATE,
    "variant": launcher.HEAD,
    "table": launcher.TABLE,
    "c": _CONSTANTS,
    "subscript": subscript.STATE,
}


@cache
def digest() -> str:
    """Of all of it, and of the types of the functions that code calls."""
    said = repr((REVISION, GROUPS, launcher.PYTHON, launcher.DRIVER, launcher.FACTS.format))
    return hashlib.sha256(said.encode()).hexdigest()[:32]
