"""Calls a second of the layout algebra on typical operands: the table of docs/lab/measurements.md.

    python tests/bench/layouts.py

Needs nothing but Python. Each is the best of many short rounds in one thread.
"""

import platform
import time
from collections.abc import Callable
from typing import Any

from cutelite.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    blocked_product,
    complement,
    composition,
    dims,
    local_partition,
    local_tile,
    logical_divide,
    logical_product,
    make_layout_tv,
    raked_product,
    right_inverse,
    row_major,
    tile_to_shape,
    zipped_divide,
)
from tests.bench.given import parser

BAR = 20_000
M, K = dims("M K:8")
MATRIX = row_major((128, 64))
DYNAMIC = row_major((M, K))
SWIZZLED = ComposedLayout(Swizzle(3, 4, 3), 0, MATRIX)
TILE = row_major((8, 4))
ACCUMULATOR = Layout(((4, 8, 4), (2, 2, 16)), ((128, 1, 16), (64, 8, 512)))

ROWS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "composition of two layouts": (composition, (MATRIX, Layout((8, 4), (128, 2)))),
    "composition of an accumulator": (composition, (ACCUMULATOR, Layout((32, 4), (1, 128)))),
    "composition by a tiler": (composition, (MATRIX, (16, 8))),
    "composition by a tiler, over dims": (composition, (DYNAMIC, (128, 64))),
    "logical_divide by a layout": (logical_divide, (MATRIX, Layout((4, 2), (1, 128)))),
    "zipped_divide": (zipped_divide, (MATRIX, (16, 8))),
    "zipped_divide, swizzled": (zipped_divide, (SWIZZLED, (16, 8))),
    "zipped_divide, over dims": (zipped_divide, (DYNAMIC, (128, 64))),
    "logical_product": (logical_product, (TILE, Layout((2, 4)))),
    "blocked_product": (blocked_product, (TILE, Layout((2, 4)))),
    "raked_product": (raked_product, (TILE, Layout((2, 4)))),
    "tile_to_shape": (tile_to_shape, (row_major((8, 64)), (128, 64, 4))),
    "make_layout_tv": (make_layout_tv, (Layout((4, 8), (8, 1)), Layout((2, 4), (4, 1)))),
    "complement": (complement, (TILE, 1024)),
    "right_inverse": (right_inverse, (MATRIX,)),
    "local_tile, over dims": (local_tile, (DYNAMIC, (128, 64), (1, None))),
    "local_partition": (local_partition, (MATRIX, Layout((16, 8)), 5)),
}


def rate(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int = 50) -> float:
    best = 0.0
    for _ in range(200):  # short ones: some are not interrupted
        start = time.perf_counter()
        for _ in range(calls):
            function(*arguments)
        best = max(best, calls / (time.perf_counter() - start))
    return best


def main() -> None:
    parser(__doc__).parse_args()
    print(f"Python {platform.python_version()}, {platform.machine()}; the bar is {BAR} calls a second\n")
    print(f"| {'what':34} | calls/s |\n|{'-' * 36}|---------|")
    for name, (function, arguments) in ROWS.items():
        print(f"| {name:34} | {rate(function, arguments):7.0f} |", flush=True)


if __name__ == "__main__":
    main()
