"""q = a @ b.T in fp8 with a scale for each row and 128 columns: a function of ours turns its sums into results.

The kernel is the library's, `cutelite.kernels.gemm`; the function is compiled into it. It gets the sums in pieces of 64
rows, held by 128 threads, and stores its results (docs/gemm.md).
"""

from typing import Any

import numpy as np

import cutelite as cl
from common import check, poisoned, random, to_numpy
from cutelite.kernels.gemm import Finish, gemm, reference

BLOCK, LARGEST = 128, 448.0  # columns of a scale; the largest number of e4m3


def quantised(piece: cl.Piece, scales: Any) -> None:
    scale = max(piece.of_rows(abs(piece.sums), "max"), 1e-12) * (1.0 / LARGEST)
    piece.put_rows(scales, scale)
    piece.result(piece.sums / scale)


def main(m: int = 200, n: int = 272, k: int = 136) -> None:
    a, b = random(m, k, dtype="bfloat16", seed=1), random(n, k, dtype="bfloat16", seed=2)
    q = poisoned(m, n, dtype="float8_e4m3fn")
    scales = poisoned(m, -(-n // BLOCK), dtype="float32")
    gemm(a, b.T, q, finish=Finish(quantised, (scales,), columns=BLOCK))
    found = to_numpy(q).astype(np.float64) * to_numpy(scales).repeat(BLOCK, 1)[:, :n]
    check(f"gemm into fp8 {m} x {n} x {k}", found, reference(to_numpy(a), to_numpy(b).T), 5e-2)


if __name__ == "__main__":
    main()
