"""Types that asynchronous instructions work on: addresses, barriers, tiles and their tensor maps."""

from cutelite.ir.types import Ptr, Scalar, Tensor, TensorMap, bf16, mbarrier
from cutelite.layout import Layout
from cutelite.ops.swizzles import SWIZZLES

SMEM, GMEM, REMOTE = Ptr("smem", 128), Ptr("gmem", 128), Ptr("cluster", 128)
BAR = Tensor(mbarrier, "smem", Layout(1, 1), 8)
TILE = Tensor(bf16, "smem", Layout((64, 64), (64, 1)), 1024, SWIZZLES["128B"])
MAP = TensorMap(bf16, Layout((512, 512), (512, 1)), (64, 64), "128B")


def tensor_map(rank: int, elem: Scalar = bf16) -> TensorMap:
    box = (1,) * (rank - 2) + (64, 64) if rank > 1 else (64,)
    shape = (256,) * rank
    return TensorMap(elem, Layout(shape, tuple(256**i for i in reversed(range(rank)))), box, "128B")


def tile(rank: int, elem: Scalar = bf16) -> Tensor:
    layout = Layout((64, 64), (64, 1)) if rank > 1 else Layout(64, 1)
    return Tensor(elem, "smem", layout, 1024, SWIZZLES["128B"])
