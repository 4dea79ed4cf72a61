"""cutelite: kernels for Hopper-class GPUs, written in annotated Python. The public names, and nothing else.

Names are imported when first used, so that `import cutelite` costs next to nothing.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import PathFinder
from typing import Any

_WHERE = {
    "cutelite.dispatch": "kernel Kernel Launch LaunchError ArgumentError OptionError Compiled on_compile off_compile"
    " CompileEvent CompileForbidden",
    "cutelite.dispatch.programs": "Program program workspace",
    "cutelite.dispatch.ranges": "LaunchEvent around_launches",
    "cutelite.builds.hooks": "after_stage before_stage remove_hook StageEvent",
    "cutelite.tune": "autotune AutotuneError Config Warmed warm",
    "cutelite.diag": "CompileError InternalError",
    "cutelite.toolchain": "ToolchainError",
    "cutelite.sim": "SimError",
    "cutelite_rt": "CudaError DeviceArray to_device",
    "cutelite.layout": "dims Dim Layout ComposedLayout Swizzle E make_layout make_ordered_layout make_layout_like"
    " make_layout_tv make_identity_layout make_composed_layout ceil_div round_up complement logical_product"
    " blocked_product raked_product tile_to_shape right_inverse left_inverse recast_layout crd2idx idx2crd"
    " ScaledBasis assume crd2crd filter_tuple find find_if flatten_to_tuple get"
    " get_divisibility get_flat_coord get_hier_coord get_leaves get_nonswizzle_portion get_swizzle_portion"
    " has_scaled_basis has_underscore is_congruent is_int_tuple is_integer is_major is_static is_weakly_congruent"
    " make_layout_image_mask make_swizzle pretty_str product product_each product_like repeat repeat_as_tuple"
    " repeat_like shape_div size_in_bytes transform_apply transform_leaf tuple_cat unflatten unwrap with_shape"
    " wrap",
    "cutelite.lang.algebra": "size cosize rank depth leading_dim composition coalesce flatten filter_zeros group_modes"
    " select take append prepend append_ones prepend_ones logical_divide zipped_divide tiled_divide"
    " flat_divide with_layout domain_offset aligned_down max_common_vector slice_"
    " make_fragment_like local_tile local_partition recast_tensor",
    "cutelite.dispatch.pointers": "pointers",
    "cutelite.lang.annotations": "Constexpr Im2col Pointer Tensor TmaTensor align col_major",
    "cutelite.lang.tensor": "constant shared dynamic_shared make_rmem_tensor make_rmem_tensor_like make_tensor"
    " row_major",
    "cutelite.lib.pipelines": "PipelineAsync PipelineCpAsync PipelineTmaAsync PipelineTmaStore PipelineOrder"
    " NamedBarrier pipeline_init_sync pipeline_init_arrive pipeline_init_wait multicast_mask",
    "cutelite.lib.multicast": "OperandTile multicast_peers",
    "cutelite.lib.epilogue": "ResultRing Fetch Scales Fused Epilogue",
    "cutelite.lib.piece": "Finish Piece RowPiece",
    "cutelite.lib.chunk": "Prepare Chunk",
    "cutelite.lib.participants": "PipelineProducer PipelineConsumer",
    "cutelite.dispatch.device_functions": "DeviceFunction device_function",
    "cutelite.lib.grouped": "GroupedTileScheduler ProblemTileScheduler",
    "cutelite.lib.narrow": "bf16_of narrow_place",
    "cutelite.lang.packed": "b1 e2m1 e2m3 e3m2 e8m0 i4 u4 ue4m3",
    "cutelite.lib.packed": "pack unpack",
    "cutelite.lib.row_ends": "neighbours",
    "cutelite.lib.rows": "RowPart RowPartition RowVectors",
    "cutelite.lib.row_stream": "RowStream",
    "cutelite.lib.row_tile": "RowTile",
    "cutelite.lib.derivative": "value_and_derivative",
    "cutelite.lib.reduce": "Team warp_reduce warp_scan block_reduce block_scan cluster_reduce",
    "cutelite.lib.scan": "look_back next_tile",
    "cutelite.lib.scheduler": "StaticPersistentTileScheduler ClcTileScheduler PipelineClcFetchAsync",
    "cutelite.lib.softmax": "OnlineSoftmax row_reduce scale_rows store_row",
    "cutelite.lib.extern": "extern inline_ptx",
    "cutelite.lib.divmod": "FastDivmod",
    "cutelite.lib.tmem": "TmemAllocator",
    "cutelite.lib.umma": "PipelineTmaUmma PipelineUmmaAsync PipelineAsyncUmma RowRing",
    "cutelite.lib.tensors": "all_ any_ gather print_tensor scatter",
    "cutelite.lib.tensormaps": "DeviceTensorMap",
    "cutelite.lib.stream_k": "StreamKTileScheduler TileParts",
    "cutelite.lib.tile_queue": "TileQueue longest_first",
    "cutelite.lang.storage": "SharedStorage Smem SmemUnion",
    "cutelite.lang.whole": "fill clear axpby",
    "cutelite.lang.coord": "CoordTensor make_identity_tensor coordinates elem_less",
    "cutelite.lang.copy_ops": "CopyUniversalOp CopyG2SOp TmemLoadOp TmemStoreOp"
    " LdMatrix8x8x16bOp StMatrix8x8x16bOp CopyBulkTensorTileG2SOp"
    " CopyBulkTensorTileG2SMulticastOp CopyBulkTensorTileS2GOp CopyReduceBulkTensorTileS2GOp CopyBulkG2SOp"
    " CopyBulkS2GOp CopyBulkS2DsmemOp CopyDsmemStoreOp",
    "cutelite.lang.copy": "CopyAtom TiledCopy make_copy_atom make_tiled_copy make_tiled_copy_tv make_tmem_copy"
    " make_tiled_copy_A"
    " make_tiled_copy_B make_tiled_copy_C make_tiled_copy_S make_tiled_copy_D",
    "cutelite.lang.plain_copy": "explain_copy",
    "cutelite.lang.mma_ops": "MmaUniversalOp WarpMmaOp WarpgroupMmaOp Tcgen05MmaOp Tcgen05ScaledMmaOp",
    "cutelite.lang.mma": "TiledMma Accumulator make_tiled_mma gemm",
    "cutelite.lang.matrix": "mma_scaled compress_sparse mma_sync ldmatrix stmatrix movmatrix",
    "cutelite.lang.smem_layouts": "make_smem_layout_atom make_smem_layout",
    "cutelite.lib.copy": "copy cooperative_clear",
    "cutelite.lang.values": "where Scalar Vector vector full full_like ones ones_like zeros zeros_like",
    "cutelite.lang.index": "thread_idx block_idx block_dim grid_dim cluster_idx cluster_dim block_in_cluster lane_idx"
    " warp_idx linear_thread_idx block_rank_in_cluster blocks_in_cluster cluster_count lanemask smid nsmid warpid"
    " nwarpid gridid",
    "cutelite.lang.atomics": "atomic_add atomic_sub atomic_min atomic_max atomic_and atomic_or atomic_xor atomic_exch"
    " atomic_inc atomic_dec atomic_cas red load_acquire load_relaxed load_volatile store_release store_relaxed"
    " store_volatile prefetch",
    "cutelite.lang.bits": "popc clz ctz ffs brev bfe bfi bmsk szext prmt lop3 funnel_left funnel_right mul_hi mul_wide"
    " mul24 mad24 sad dp4a dp2a add_sat sub_sat",
    "cutelite.lang.convert": "convert bitcast",
    "cutelite.lang.debug": "printf assert_ trap brkpt clock clock64 globaltimer",
    "cutelite.lang.sync": "syncthreads syncthreads_count syncthreads_and syncthreads_or barrier_sync barrier_arrive"
    " fence nanosleep",
    "cutelite.lang.warp": "shuffle shuffle_up shuffle_down shuffle_xor make_warp_uniform warpgroup_idx vote_all"
    " vote_any vote_uniform ballot match_any match_all redux active_mask syncwarp",
    "cutelite.lang.cluster": "cluster_arrive cluster_wait cluster_sync mapa getctarank st_async red_async"
    " griddepcontrol_wait griddepcontrol_launch_dependents"
    " clusterlaunchcontrol_try_cancel clusterlaunchcontrol_is_canceled clusterlaunchcontrol_get_first_ctaid",
    "cutelite.lang.f32x2": "add_packed_f32x2 sub_packed_f32x2 mul_packed_f32x2 fma_packed_f32x2",
    "cutelite.lang.cp_async": "createpolicy createpolicy_range createpolicy_cvt"
    " cp_async cp_async_commit_group cp_async_wait_group cp_async_wait_all"
    " cp_async_bulk cp_reduce_async_bulk cp_async_bulk_prefetch cp_async_bulk_commit_group cp_async_bulk_wait_group",
    "cutelite.bench.compare": "compare",
    "cutelite.bench.measure": "do_bench",
    "cutelite.bench.roofline": "roofline",
    "cutelite.lang.multimem": "multimem_ld_reduce multimem_red multimem_st",
    "cutelite.lang.dims": "dim",
    "cutelite.lang.loops": "range static_range",
    "cutelite.lang.mbarrier": "Barrier fence_mbarrier_init mbarrier_pending_count",
    "cutelite.lang.pipeline_state": "PipelineState",
    "cutelite.lang.registers": "setmaxnreg_inc setmaxnreg_dec elect_sync elect_one",
    "cutelite.lang.tma": "tma_shared tma_load tma_store tma_gather4 tma_scatter4 tma_im2col tma_im2col_store "
    "tma_im2col_reduce tma_im2col_prefetch tma_im2col_w tma_im2col_w_prefetch tma_gather4_prefetch "
    "tma_reduce tma_prefetch prefetch_tensormap fence_proxy_async",
    "cutelite.lang.tensormap": "tensormap_shared tensormap_copy tensormap_replace tensormap_publish tensormap_acquire",
    "cutelite.ir.types": "boolean i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 tf32 e4m3 e5m2 mbarrier",
}
_HOME = {name: module for module, names in _WHERE.items() for name in names.split()}
_MODULES = {
    "math": "cutelite.lang.math",
    "tcgen05": "cutelite.lang.tcgen05",
    "wgmma": "cutelite.lang.wgmma",
    "target": "cutelite.target",
    "passes": "cutelite.passes",
    "profile": "cutelite.lang.profile",
}
"""Groups of names under one of their own: ``cl.math.exp2``, ``cl.wgmma.mma_async``, ``cl.target.arch``."""

__version__ = "0.1.0"
__all__ = sorted([*_HOME, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = importlib.import_module(_MODULES[name])
    elif name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    else:
        text = f"module 'cutelite' has no attribute {name!r}"
        error = AttributeError(text, name=name, obj=sys.modules[__name__])  # Python adds "Did you mean"
        # `from cutelite import lower` asks for the attribute before it imports the module.
        if not name.startswith("_") and PathFinder.find_spec(f"{__name__}.{name}", __path__) is None:
            from cutelite.lang.foreign import meant

            if help := meant(name):
                error.add_note(f"help: {help}")
        raise error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
