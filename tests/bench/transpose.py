"""The TMA transpose example against copies of the same bytes, in one run: GB/s, read and written counted.

python tests/bench/transpose.py [M N ...]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import torch

import tma_transpose as example
from tests.bench.timing import L2_BYTES, medians

SHAPES = [(8192, 8192), (16384, 16384), (4096, 32768)]


def compare(m: int, n: int) -> dict[str, Any]:
    """Rates of the transpose, of an elementwise copy (``torch.add(x, 1)``) and of torch's own transposing copy."""
    buffers = max(2, -(-3 * L2_BYTES // (8 * m * n)))
    x = [torch.randn(m, n, device="cuda") for _ in range(buffers)]
    turned, same = torch.full((n, m), float("nan"), device="cuda"), torch.empty(m, n, device="cuda")
    launch = example.transpose[example.grid(m, n), example.THREADS]
    competitors: dict[str, Callable[[int], Any]] = {
        "cutelite transpose": lambda i: launch(x[i], turned),
        "torch.add(x, 1)": lambda i: torch.add(x[i], 1, out=same),
        "torch x.T.contiguous": lambda i: turned.copy_(x[i].T),
    }
    repeats = max(buffers, int(8e-3 / (8 * m * n / 4e12)))
    seconds = medians(competitors, buffers, repeats)
    turned.fill_(float("nan"))
    competitors["cutelite transpose"](0)
    assert torch.equal(turned, x[0].T)
    rates = {name: 8 * m * n / t / 1e9 for name, t in seconds.items()}
    return {"shape": [m, n], **rates, "of the copy": rates["cutelite transpose"] / rates["torch.add(x, 1)"]}


def main() -> None:
    given = [int(x) for x in sys.argv[1:]]
    print(f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    for m, n in [(given[i], given[i + 1]) for i in range(0, len(given), 2)] or SHAPES:
        print(json.dumps({key: round(v, 4) if isinstance(v, float) else v for key, v in compare(m, n).items()}))


if __name__ == "__main__":
    main()
