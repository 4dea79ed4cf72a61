"""The TMA transpose example against copies of the same bytes, in one run: GB/s, read and written counted.

python tests/bench/transpose.py [M N ...]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import cutelite as cl
from tests.bench.given import example, words
from tests.bench.timing import machine

SHAPES = [(8192, 8192), (16384, 16384), (4096, 32768)]


def rivals(m: int, n: int) -> dict[str, Callable[[], Any]]:
    """The transpose, an elementwise copy (``torch.add(x, 1)``) and torch's own transposing copy."""
    tma = example("tma_transpose")
    x, same = torch.randn(m, n, device="cuda"), torch.empty(m, n, device="cuda")
    turned = torch.full((n, m), float("nan"), device="cuda")
    launch = tma.transpose[tma.grid(m, n), tma.THREADS]
    launch(x, turned)
    assert torch.equal(turned, x.T)
    return {
        "cutelite transpose": lambda: launch(x, turned),
        "torch.add(x, 1)": lambda: torch.add(x, 1, out=same),
        "torch x.T.contiguous": lambda: turned.copy_(x.T),
    }


def main() -> None:
    given = words(__doc__, "N")
    shapes = [(given[i], given[i + 1]) for i in range(0, len(given), 2)] or SHAPES
    print(machine())
    names = ("cutelite transpose", "torch.add(x, 1)", "torch x.T.contiguous")
    makers = {name: (lambda m, n, name=name: rivals(m, n)[name]) for name in names}
    print(cl.compare(makers, shapes, bytes=lambda m, n: 8 * m * n, title="transpose"))


if __name__ == "__main__":
    main()
