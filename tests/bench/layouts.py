"""Calls a second of the layout algebra on typical operands: the table of docs/lab/measurements.md.

    python tests/bench/layouts.py

Needs nothing but Python. Each is the best of many short rounds in one thread.
"""

import platform
import time
from collections.abc import Callable
from typing import Any

from cutelite import layout as algebra
from tests.bench.given import parser

BAR = 20_000
M, K = algebra.dims("M K:8")
MATRIX = algebra.row_major((128, 64))
DYNAMIC = algebra.row_major((M, K))
SWIZZLED = algebra.ComposedLayout(algebra.Swizzle(3, 4, 3), 0, MATRIX)
TILE = algebra.row_major((8, 4))
ACCUMULATOR = algebra.Layout(((4, 8, 4), (2, 2, 16)), ((128, 1, 16), (64, 8, 512)))

ROWS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "composition of two layouts": (algebra.composition, (MATRIX, algebra.Layout((8, 4), (128, 2)))),
    "composition of an accumulator": (algebra.composition, (ACCUMULATOR, algebra.Layout((32, 4), (1, 128)))),
    "composition by a tiler": (algebra.composition, (MATRIX, (16, 8))),
    "composition by a tiler, over dims": (algebra.composition, (DYNAMIC, (128, 64))),
    "logical_divide by a layout": (algebra.logical_divide, (MATRIX, algebra.Layout((4, 2), (1, 128)))),
    "zipped_divide": (algebra.zipped_divide, (MATRIX, (16, 8))),
    "zipped_divide, swizzled": (algebra.zipped_divide, (SWIZZLED, (16, 8))),
    "zipped_divide, over dims": (algebra.zipped_divide, (DYNAMIC, (128, 64))),
    "logical_product": (algebra.logical_product, (TILE, algebra.Layout((2, 4)))),
    "blocked_product": (algebra.blocked_product, (TILE, algebra.Layout((2, 4)))),
    "raked_product": (algebra.raked_product, (TILE, algebra.Layout((2, 4)))),
    "tile_to_shape": (algebra.tile_to_shape, (algebra.row_major((8, 64)), (128, 64, 4))),
    "make_layout_tv": (algebra.make_layout_tv, (algebra.Layout((4, 8), (8, 1)), algebra.Layout((2, 4), (4, 1)))),
    "complement": (algebra.complement, (TILE, 1024)),
    "right_inverse": (algebra.right_inverse, (MATRIX,)),
    "local_tile, over dims": (algebra.local_tile, (DYNAMIC, (128, 64), (1, None))),
    "local_partition": (algebra.local_partition, (MATRIX, algebra.Layout((16, 8)), 5)),
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
