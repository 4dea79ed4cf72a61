"""What type checkers and editors see of cutelite."""

from cutelite import passes as passes, target as target
from cutelite.bench.compare import compare as compare
from cutelite.bench.measure import do_bench as do_bench
from cutelite.bench.roofline import roofline as roofline
from cutelite.builds.hooks import (
    StageEvent as StageEvent, after_stage as after_stage, before_stage as before_stage, remove_hook as remove_hook
)
from cutelite.by_hand import (
    Constexpr as Constexpr, MmaUniversalOp as MmaUniversalOp, Pointer as Pointer, Smem as Smem, SmemUnion as SmemUnion,
    Tensor as Tensor, TmaTensor as TmaTensor, WarpMmaOp as WarpMmaOp, WarpgroupMmaOp as WarpgroupMmaOp, bf16 as bf16,
    bitcast as bitcast, boolean as boolean, constant as constant, convert as convert, dims as dims,
    dynamic_shared as dynamic_shared, e4m3 as e4m3, e5m2 as e5m2, f16 as f16, f32 as f32, f64 as f64, full as full,
    full_like as full_like, i16 as i16, i32 as i32, i64 as i64, i8 as i8, local_tile as local_tile,
    make_copy_atom as make_copy_atom, make_rmem_tensor as make_rmem_tensor,
    make_rmem_tensor_like as make_rmem_tensor_like, make_smem_layout as make_smem_layout,
    make_smem_layout_atom as make_smem_layout_atom, make_tensor as make_tensor, make_tiled_mma as make_tiled_mma,
    mbarrier as mbarrier, ones as ones, ones_like as ones_like, recast_tensor as recast_tensor, shared as shared,
    tf32 as tf32, tma_shared as tma_shared, u16 as u16, u32 as u32, u64 as u64, u8 as u8, vector as vector,
    where as where, zeros as zeros, zeros_like as zeros_like
)
from cutelite.diag import CompileError as CompileError, InternalError as InternalError
from cutelite.dispatch import (
    ArgumentError as ArgumentError, CompileEvent as CompileEvent, CompileForbidden as CompileForbidden,
    Compiled as Compiled, Kernel as Kernel, Launch as Launch, LaunchError as LaunchError, OptionError as OptionError,
    kernel as kernel, off_compile as off_compile, on_compile as on_compile
)
from cutelite.dispatch.device_functions import DeviceFunction as DeviceFunction, device_function as device_function
from cutelite.dispatch.pointers import pointers as pointers
from cutelite.dispatch.programs import Program as Program, program as program, workspace as workspace
from cutelite.dispatch.ranges import LaunchEvent as LaunchEvent, around_launches as around_launches
from cutelite.lang import math as math, profile as profile, tcgen05 as tcgen05, wgmma as wgmma
from cutelite.lang.algebra import (
    aligned_down as aligned_down, append as append, append_ones as append_ones, coalesce as coalesce,
    composition as composition, cosize as cosize, depth as depth, domain_offset as domain_offset,
    filter_zeros as filter_zeros, flat_divide as flat_divide, flatten as flatten, group_modes as group_modes,
    leading_dim as leading_dim, local_partition as local_partition, logical_divide as logical_divide,
    make_fragment_like as make_fragment_like, max_common_vector as max_common_vector, prepend as prepend,
    prepend_ones as prepend_ones, rank as rank, select as select, size as size, slice_ as slice_, take as take,
    tiled_divide as tiled_divide, with_layout as with_layout, zipped_divide as zipped_divide
)
from cutelite.lang.annotations import Im2col as Im2col, align as align, col_major as col_major
from cutelite.lang.atomics import (
    atomic_add as atomic_add, atomic_and as atomic_and, atomic_cas as atomic_cas, atomic_dec as atomic_dec,
    atomic_exch as atomic_exch, atomic_inc as atomic_inc, atomic_max as atomic_max, atomic_min as atomic_min,
    atomic_or as atomic_or, atomic_sub as atomic_sub, atomic_xor as atomic_xor, load_acquire as load_acquire,
    load_relaxed as load_relaxed, load_volatile as load_volatile, prefetch as prefetch, red as red,
    store_relaxed as store_relaxed, store_release as store_release, store_volatile as store_volatile
)
from cutelite.lang.bits import (
    add_sat as add_sat, bfe as bfe, bfi as bfi, bmsk as bmsk, brev as brev, clz as clz, ctz as ctz, dp2a as dp2a,
    dp4a as dp4a, ffs as ffs, funnel_left as funnel_left, funnel_right as funnel_right, lop3 as lop3, mad24 as mad24,
    mul24 as mul24, mul_hi as mul_hi, mul_wide as mul_wide, popc as popc, prmt as prmt, sad as sad, sub_sat as sub_sat,
    szext as szext
)
from cutelite.lang.cluster import (
    cluster_arrive as cluster_arrive, cluster_sync as cluster_sync, cluster_wait as cluster_wait,
    clusterlaunchcontrol_get_first_ctaid as clusterlaunchcontrol_get_first_ctaid,
    clusterlaunchcontrol_is_canceled as clusterlaunchcontrol_is_canceled,
    clusterlaunchcontrol_try_cancel as clusterlaunchcontrol_try_cancel, getctarank as getctarank,
    griddepcontrol_launch_dependents as griddepcontrol_launch_dependents, griddepcontrol_wait as griddepcontrol_wait,
    mapa as mapa, red_async as red_async, st_async as st_async
)
from cutelite.lang.coord import (
    CoordTensor as CoordTensor, coordinates as coordinates, elem_less as elem_less,
    make_identity_tensor as make_identity_tensor
)
from cutelite.lang.copy import (
    CopyAtom as CopyAtom, TiledCopy as TiledCopy, make_tiled_copy as make_tiled_copy,
    make_tiled_copy_A as make_tiled_copy_A, make_tiled_copy_B as make_tiled_copy_B,
    make_tiled_copy_C as make_tiled_copy_C, make_tiled_copy_D as make_tiled_copy_D,
    make_tiled_copy_S as make_tiled_copy_S, make_tiled_copy_tv as make_tiled_copy_tv, make_tmem_copy as make_tmem_copy
)
from cutelite.lang.copy_ops import (
    CopyBulkG2SOp as CopyBulkG2SOp, CopyBulkS2DsmemOp as CopyBulkS2DsmemOp, CopyBulkS2GOp as CopyBulkS2GOp,
    CopyBulkTensorTileG2SMulticastOp as CopyBulkTensorTileG2SMulticastOp,
    CopyBulkTensorTileG2SOp as CopyBulkTensorTileG2SOp, CopyBulkTensorTileS2GOp as CopyBulkTensorTileS2GOp,
    CopyDsmemStoreOp as CopyDsmemStoreOp, CopyG2SOp as CopyG2SOp,
    CopyReduceBulkTensorTileS2GOp as CopyReduceBulkTensorTileS2GOp, CopyUniversalOp as CopyUniversalOp,
    LdMatrix8x8x16bOp as LdMatrix8x8x16bOp, StMatrix8x8x16bOp as StMatrix8x8x16bOp, TmemLoadOp as TmemLoadOp,
    TmemStoreOp as TmemStoreOp
)
from cutelite.lang.cp_async import (
    cp_async as cp_async, cp_async_bulk as cp_async_bulk, cp_async_bulk_commit_group as cp_async_bulk_commit_group,
    cp_async_bulk_prefetch as cp_async_bulk_prefetch, cp_async_bulk_wait_group as cp_async_bulk_wait_group,
    cp_async_commit_group as cp_async_commit_group, cp_async_wait_all as cp_async_wait_all,
    cp_async_wait_group as cp_async_wait_group, cp_reduce_async_bulk as cp_reduce_async_bulk,
    createpolicy as createpolicy, createpolicy_cvt as createpolicy_cvt, createpolicy_range as createpolicy_range
)
from cutelite.lang.debug import (
    assert_ as assert_, brkpt as brkpt, clock as clock, clock64 as clock64, globaltimer as globaltimer,
    printf as printf, trap as trap
)
from cutelite.lang.dims import dim as dim
from cutelite.lang.f32x2 import (
    add_packed_f32x2 as add_packed_f32x2, fma_packed_f32x2 as fma_packed_f32x2, mul_packed_f32x2 as mul_packed_f32x2,
    sub_packed_f32x2 as sub_packed_f32x2
)
from cutelite.lang.index import (
    block_dim as block_dim, block_idx as block_idx, block_in_cluster as block_in_cluster,
    block_rank_in_cluster as block_rank_in_cluster, blocks_in_cluster as blocks_in_cluster,
    cluster_count as cluster_count, cluster_dim as cluster_dim, cluster_idx as cluster_idx, grid_dim as grid_dim,
    gridid as gridid, lane_idx as lane_idx, lanemask as lanemask, linear_thread_idx as linear_thread_idx,
    nsmid as nsmid, nwarpid as nwarpid, smid as smid, thread_idx as thread_idx, warp_idx as warp_idx, warpid as warpid
)
from cutelite.lang.loops import range as range, static_range as static_range
from cutelite.lang.matrix import (
    compress_sparse as compress_sparse, ldmatrix as ldmatrix, mma_scaled as mma_scaled, mma_sync as mma_sync,
    movmatrix as movmatrix, stmatrix as stmatrix
)
from cutelite.lang.mbarrier import (
    Barrier as Barrier, fence_mbarrier_init as fence_mbarrier_init, mbarrier_pending_count as mbarrier_pending_count
)
from cutelite.lang.mma import Accumulator as Accumulator, TiledMma as TiledMma, gemm as gemm
from cutelite.lang.mma_ops import Tcgen05MmaOp as Tcgen05MmaOp, Tcgen05ScaledMmaOp as Tcgen05ScaledMmaOp
from cutelite.lang.multimem import (
    multimem_ld_reduce as multimem_ld_reduce, multimem_red as multimem_red, multimem_st as multimem_st
)
from cutelite.lang.packed import (
    b1 as b1, e2m1 as e2m1, e2m3 as e2m3, e3m2 as e3m2, e8m0 as e8m0, i4 as i4, u4 as u4, ue4m3 as ue4m3
)
from cutelite.lang.pipeline_state import PipelineState as PipelineState
from cutelite.lang.plain_copy import explain_copy as explain_copy
from cutelite.lang.registers import (
    elect_one as elect_one, elect_sync as elect_sync, setmaxnreg_dec as setmaxnreg_dec, setmaxnreg_inc as setmaxnreg_inc
)
from cutelite.lang.storage import SharedStorage as SharedStorage
from cutelite.lang.sync import (
    barrier_arrive as barrier_arrive, barrier_sync as barrier_sync, fence as fence, nanosleep as nanosleep,
    syncthreads as syncthreads, syncthreads_and as syncthreads_and, syncthreads_count as syncthreads_count,
    syncthreads_or as syncthreads_or
)
from cutelite.lang.tensor import row_major as row_major
from cutelite.lang.tensormap import (
    tensormap_acquire as tensormap_acquire, tensormap_copy as tensormap_copy, tensormap_publish as tensormap_publish,
    tensormap_replace as tensormap_replace, tensormap_shared as tensormap_shared
)
from cutelite.lang.tma import (
    fence_proxy_async as fence_proxy_async, prefetch_tensormap as prefetch_tensormap, tma_gather4 as tma_gather4,
    tma_gather4_prefetch as tma_gather4_prefetch, tma_im2col as tma_im2col, tma_im2col_prefetch as tma_im2col_prefetch,
    tma_im2col_reduce as tma_im2col_reduce, tma_im2col_store as tma_im2col_store, tma_im2col_w as tma_im2col_w,
    tma_im2col_w_prefetch as tma_im2col_w_prefetch, tma_load as tma_load, tma_prefetch as tma_prefetch,
    tma_reduce as tma_reduce, tma_scatter4 as tma_scatter4, tma_store as tma_store
)
from cutelite.lang.values import Scalar as Scalar, Vector as Vector
from cutelite.lang.warp import (
    active_mask as active_mask, ballot as ballot, make_warp_uniform as make_warp_uniform, match_all as match_all,
    match_any as match_any, redux as redux, shuffle as shuffle, shuffle_down as shuffle_down, shuffle_up as shuffle_up,
    shuffle_xor as shuffle_xor, syncwarp as syncwarp, vote_all as vote_all, vote_any as vote_any,
    vote_uniform as vote_uniform, warpgroup_idx as warpgroup_idx
)
from cutelite.lang.whole import axpby as axpby, clear as clear, fill as fill
from cutelite.layout import (
    ComposedLayout as ComposedLayout, Dim as Dim, E as E, Layout as Layout, ScaledBasis as ScaledBasis,
    Swizzle as Swizzle, assume as assume, blocked_product as blocked_product, ceil_div as ceil_div,
    complement as complement, crd2crd as crd2crd, crd2idx as crd2idx, filter_tuple as filter_tuple, find as find,
    find_if as find_if, flatten_to_tuple as flatten_to_tuple, get as get, get_divisibility as get_divisibility,
    get_flat_coord as get_flat_coord, get_hier_coord as get_hier_coord, get_leaves as get_leaves,
    get_nonswizzle_portion as get_nonswizzle_portion, get_swizzle_portion as get_swizzle_portion,
    has_scaled_basis as has_scaled_basis, has_underscore as has_underscore, idx2crd as idx2crd,
    is_congruent as is_congruent, is_int_tuple as is_int_tuple, is_integer as is_integer, is_major as is_major,
    is_static as is_static, is_weakly_congruent as is_weakly_congruent, left_inverse as left_inverse,
    logical_product as logical_product, make_composed_layout as make_composed_layout,
    make_identity_layout as make_identity_layout, make_layout as make_layout,
    make_layout_image_mask as make_layout_image_mask, make_layout_like as make_layout_like,
    make_layout_tv as make_layout_tv, make_ordered_layout as make_ordered_layout, make_swizzle as make_swizzle,
    pretty_str as pretty_str, product as product, product_each as product_each, product_like as product_like,
    raked_product as raked_product, recast_layout as recast_layout, repeat as repeat,
    repeat_as_tuple as repeat_as_tuple, repeat_like as repeat_like, right_inverse as right_inverse,
    round_up as round_up, shape_div as shape_div, size_in_bytes as size_in_bytes, tile_to_shape as tile_to_shape,
    transform_apply as transform_apply, transform_leaf as transform_leaf, tuple_cat as tuple_cat,
    unflatten as unflatten, unwrap as unwrap, with_shape as with_shape, wrap as wrap
)
from cutelite.lib.chunk import Chunk as Chunk, Prepare as Prepare
from cutelite.lib.copy import cooperative_clear as cooperative_clear, copy as copy
from cutelite.lib.derivative import value_and_derivative as value_and_derivative
from cutelite.lib.divmod import FastDivmod as FastDivmod
from cutelite.lib.epilogue import (
    Epilogue as Epilogue, Fetch as Fetch, Fused as Fused, ResultRing as ResultRing, Scales as Scales
)
from cutelite.lib.extern import extern as extern, inline_ptx as inline_ptx
from cutelite.lib.grouped import (
    GroupedTileScheduler as GroupedTileScheduler, ProblemTileScheduler as ProblemTileScheduler
)
from cutelite.lib.multicast import OperandTile as OperandTile, multicast_peers as multicast_peers
from cutelite.lib.narrow import bf16_of as bf16_of, narrow_place as narrow_place
from cutelite.lib.packed import pack as pack, unpack as unpack
from cutelite.lib.participants import PipelineConsumer as PipelineConsumer, PipelineProducer as PipelineProducer
from cutelite.lib.piece import Finish as Finish, Piece as Piece, RowPiece as RowPiece
from cutelite.lib.pipelines import (
    NamedBarrier as NamedBarrier, PipelineAsync as PipelineAsync, PipelineCpAsync as PipelineCpAsync,
    PipelineOrder as PipelineOrder, PipelineTmaAsync as PipelineTmaAsync, PipelineTmaStore as PipelineTmaStore,
    multicast_mask as multicast_mask, pipeline_init_arrive as pipeline_init_arrive,
    pipeline_init_sync as pipeline_init_sync, pipeline_init_wait as pipeline_init_wait
)
from cutelite.lib.reduce import (
    Team as Team, block_reduce as block_reduce, block_scan as block_scan, cluster_reduce as cluster_reduce,
    warp_reduce as warp_reduce, warp_scan as warp_scan
)
from cutelite.lib.row_ends import neighbours as neighbours
from cutelite.lib.row_stream import RowStream as RowStream
from cutelite.lib.row_tile import RowTile as RowTile
from cutelite.lib.rows import RowPart as RowPart, RowPartition as RowPartition, RowVectors as RowVectors
from cutelite.lib.scan import look_back as look_back, next_tile as next_tile
from cutelite.lib.scheduler import (
    ClcTileScheduler as ClcTileScheduler, PipelineClcFetchAsync as PipelineClcFetchAsync,
    StaticPersistentTileScheduler as StaticPersistentTileScheduler
)
from cutelite.lib.softmax import (
    OnlineSoftmax as OnlineSoftmax, row_reduce as row_reduce, scale_rows as scale_rows, store_row as store_row
)
from cutelite.lib.stream_k import StreamKTileScheduler as StreamKTileScheduler, TileParts as TileParts
from cutelite.lib.tensormaps import DeviceTensorMap as DeviceTensorMap
from cutelite.lib.tensors import (
    all_ as all_, any_ as any_, gather as gather, print_tensor as print_tensor, scatter as scatter
)
from cutelite.lib.tile_queue import TileQueue as TileQueue, longest_first as longest_first
from cutelite.lib.tmem import TmemAllocator as TmemAllocator
from cutelite.lib.umma import (
    PipelineAsyncUmma as PipelineAsyncUmma, PipelineTmaUmma as PipelineTmaUmma, PipelineUmmaAsync as PipelineUmmaAsync,
    RowRing as RowRing
)
from cutelite.sim import SimError as SimError
from cutelite.toolchain import ToolchainError as ToolchainError
from cutelite.tune import (
    AutotuneError as AutotuneError, Config as Config, Warmed as Warmed, autotune as autotune, warm as warm
)
from cutelite_rt import CudaError as CudaError, DeviceArray as DeviceArray, to_device as to_device

__version__: str
