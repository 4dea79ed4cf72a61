"""GEMMs on Hopper: dense ones of every type, major, batch and epilogue, and special ones.

call.py        `gemm` on arrays, and its reference
dense.py       its kernel: persistent, TMA, wgmma
configs.py     problems and configurations                 fits.py        which of these fit which of those
plan.py        what the kernel's threads do                tiling.py      the tiles that blocks take, and their order
operators.py   GEMMs as operators of torch                 sums.py        adds up tiles that several blocks share
operators_special.py   groups, block scales and narrow weights as operators; on_jax_special.py within `jax.jit`
fp8_block.py   fp8 with block scales                        grouped.py     groups: of rows, padded, along K
fp8_configs.py its configurations, and a model of the time  picks.py       the config that a GEMM takes
mixed.py       bf16 times weights of 4 and 8 bits          pointers.py    groups anywhere, of sizes the device knows
vectors.py     at most 8 rows times a matrix that TMA cannot read
few.py         few rows by a small matrix, as in decoding   gated.py   gradients of a gate, in a GEMM
prepare.py     a kernel that makes A ahead of a GEMM        pitch.py       copies of rows that TMA cannot read
rotated.py     rotary embedding, in a GEMM                  appended.py    the same of new tokens, into a cache
normed.py      RMSNorm, in the GEMMs beside it              on_jax.py      GEMMs within `jax.jit`
model.py       a model of the time, for the default config   rates.py    its numbers
laid.py        operands as TMA reads them, or copies        odd.py         those that it cannot: the fastest way
loads.py       tiles that threads load, where TMA cannot   products.py  the products of a tile

    from cutelite.kernels.gemm import gemm

    d = gemm(a, b, bias=bias, activation=lambda x: max(x, 0.0))
"""

from cutelite import Finish, Prepare
from cutelite.kernels.gemm.call import chosen, gemm, reference
from cutelite.kernels.gemm.configs import CONFIGS, Config

__all__ = ["CONFIGS", "Config", "Finish", "Prepare", "chosen", "gemm", "reference"]
