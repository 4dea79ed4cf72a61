"""d[rows of expert e] = a[rows of expert e] @ b[e].T: the GEMM of a mixture of experts, all experts at once.

The kernel is the library's: `cutelite.kernels.gemm.grouped`. Only the device knows where an expert's rows end.
"""

import numpy as np

from common import array, check, poisoned, random, to_numpy
from cutelite.kernels.gemm import Config, grouped


def main(
    counts: tuple[int, ...] = (70, 0, 129, 64, 1), n: int = 264, k: int = 136, spare: int = 3, dtype: str = "bfloat16",
    config: Config | None = None,
) -> None:  # fmt: skip
    m, ends = sum(counts) + spare, np.cumsum(counts)
    a, b = random(m, k, dtype=dtype, seed=1), random(len(counts), n, k, dtype=dtype, seed=2)
    d = poisoned(m, n, dtype="bfloat16")
    grouped.gemm(a, b, array(ends, "int32"), d, config=config)
    expected = grouped.reference(to_numpy(a), to_numpy(b), ends)
    check(f"grouped gemm {counts} x {n} x {k}", d[: m - spare], expected, 5e-3)
    assert spare == 0 or np.isnan(to_numpy(d[m - spare :])).all(), "rows of nobody were written"


if __name__ == "__main__":
    main()
