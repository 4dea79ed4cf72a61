"""d = x @ (w * scales).T: activations in bf16, weights in 4 or 8 bits with a scale for each 128 along K.

The kernel, and the packing of the weights, are the library's: `cutelite.kernels.gemm.mixed`.
"""

import ml_dtypes
import numpy as np

from common import array, check, poisoned, random, to_numpy
from cutelite.kernels.gemm import mixed


def main(t: int = 40, n: int = 200, k: int = 328, kind: str = "i4", config: mixed.Config | None = None) -> None:
    numbers, blocks = np.random.default_rng(1), -(-k // mixed.DEPTH)
    x, d = random(t, k, dtype="bfloat16", seed=2), poisoned(t, n, dtype="bfloat16")
    scales = to_numpy(array(numbers.uniform(0.5, 2.0, (n, blocks)).astype(np.float32), "bfloat16"))
    if kind == "e4m3":
        values = numbers.integers(0, 127, (n, k)) + 128 * numbers.integers(0, 2, (n, k))  # 127 and 255 are NaN
        weights = values.astype(np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    else:
        limit = 1 << mixed.KINDS[kind][0] - 1
        values = numbers.integers(-limit, limit, (n, k))
        weights = values.astype(np.float64)
    mixed.gemm(x, array(mixed.pack(values, scales, kind), "int32"), kind, d, config=config)
    expected = to_numpy(x) @ (weights * scales.repeat(mixed.DEPTH, 1)[:, :k]).T
    check(f"bf16 x {kind} gemm {t} x {n} x {k}", d, expected, 5e-3)


if __name__ == "__main__":
    main()
