"""d = a @ b.T in fp8, with a scale for each 1 x 128 of A and each 128 x 128 of B: DeepSeek's recipe.

The kernel is the library's: `cutelite.kernels.gemm.fp8_block`.
"""

import numpy as np

from common import array, check, poisoned, to_numpy
from cutelite.kernels.gemm import fp8_block


def main(m: int = 200, n: int = 264, k: int = 272, config: fp8_block.Config | None = None) -> None:
    numbers, blocks = np.random.default_rng(1), -(-k // fp8_block.BLOCK)
    a, b = (array(numbers.standard_normal((x, k), dtype=np.float32), "float8_e4m3fn") for x in (m, n))
    shapes = (blocks, m), (-(-n // fp8_block.BLOCK), blocks)
    scales = [numbers.uniform(0.25, 4.0, shape).astype(np.float32) for shape in shapes]
    scale_a, scale_b, d = array(scales[0], "float32").T, array(scales[1], "float32"), poisoned(m, n, dtype="bfloat16")
    fp8_block.gemm(a, b, scale_a, scale_b, d, config=config)
    expected = fp8_block.reference(to_numpy(a), to_numpy(b), scales[0].T, scales[1])
    check(f"fp8 gemm with block scales {m} x {n} x {k}", d, expected, 5e-3)


if __name__ == "__main__":
    main()
