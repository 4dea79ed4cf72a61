"""d = max(0.5 * a @ b + 2 * c + bias, 0) by the GEMM of the library: any shape, major, batch and epilogue.

`cutelite.kernels.gemm` has the kernel, its configurations, and how the fastest is found at the first call for a shape.
"""

from typing import Any

from common import check, poisoned, random, to_numpy
from cutelite.kernels.gemm import Config, gemm, reference


def relu(x: Any) -> Any:
    return max(x, 0.0)


def main(m: int = 200, n: int = 520, k: int = 136, config: Config | None = None) -> None:
    a, b = random(m, k, dtype="bfloat16", seed=1), random(n, k, dtype="bfloat16", seed=2).T
    c, d, bias = random(m, n, dtype="bfloat16", seed=3), poisoned(m, n, dtype="bfloat16"), random(n, seed=4)
    gemm(a, b, d, c=c, bias=bias, alpha=0.5, beta=2.0, activation=relu, config=config)
    expected = reference(to_numpy(a), to_numpy(b), c=to_numpy(c), bias=to_numpy(bias), alpha=0.5, beta=2.0)
    check(f"gemm {m} x {n} x {k}", d, expected.clip(0.0), 5e-3)


if __name__ == "__main__":
    main()
