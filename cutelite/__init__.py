"""cutelite: kernels for Hopper-class GPUs, written in annotated Python. The public names, and nothing else.

Names are imported when first used, so that `import cutelite` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutelite._typing import *  # noqa: F403

_WHERE = {
    "cutelite.dispatch": "kernel Kernel Launch LaunchError ArgumentError Compiled",
    "cutelite.diag": "CompileError InternalError",
    "cutelite.layout": "dims Dim Layout ComposedLayout Swizzle make_layout ceil_div size cosize composition complement"
    " coalesce logical_divide zipped_divide tiled_divide flat_divide logical_product",
    "cutelite.lang.annotations": "Constexpr align",
    "cutelite.lang.tensor": "Tensor TmaTensor shared dynamic_shared make_rmem_tensor make_rmem_tensor_like make_tensor"
    " local_tile recast_tensor row_major",
    "cutelite.lang.values": "where Scalar Vector",
    "cutelite.lang.index": "thread_idx block_idx block_dim grid_dim cluster_idx cluster_dim block_in_cluster lane_idx"
    " warp_idx linear_thread_idx block_rank_in_cluster",
    "cutelite.lang.cluster": "cluster_arrive cluster_wait cluster_sync mapa getctarank st_async red_async"
    " griddepcontrol_wait griddepcontrol_launch_dependents",
    "cutelite.lang.cp_async": "createpolicy cp_async cp_async_commit_group cp_async_wait_group cp_async_wait_all"
    " cp_async_bulk cp_reduce_async_bulk cp_async_bulk_prefetch cp_async_bulk_commit_group cp_async_bulk_wait_group",
    "cutelite.lang.loops": "static_range",
    "cutelite.lang.mbarrier": "Barrier fence_mbarrier_init mbarrier_pending_count",
    "cutelite.lang.pipeline": "PipelineState",
    "cutelite.lang.registers": "setmaxnreg_inc setmaxnreg_dec elect_sync elect_one",
    "cutelite.lang.tma": "tma_shared tma_load tma_store tma_reduce tma_prefetch prefetch_tensormap fence_proxy_async",
    "cutelite.ir.types": "boolean i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 tf32 e4m3 e5m2 mbarrier",
}
_HOME = {name: module for module, names in _WHERE.items() for name in names.split()}
_MODULES = {"math": "cutelite.lang.math", "wgmma": "cutelite.lang.wgmma"}
"""Groups of intrinsics under a name of their own: ``cl.math.exp2``, ``cl.wgmma.mma_async``."""

__version__ = "0.1.0"
__all__ = sorted([*_HOME, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = importlib.import_module(_MODULES[name])
    elif name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'cutelite' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
