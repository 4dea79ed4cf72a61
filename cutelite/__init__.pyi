"""What type checkers and editors see of cutelite.

To a checker a dtype is a class: ``Tensor[f32, (M, N)]`` means `f32`, and so does the parameter ``x: f32``, since an
element, a tensor and a vector of f32 are used alike (``x[i, j]``, ``x + y``, ``x.shape``). Run-time values convert to
each other where kernels convert them, so the classes below also stand for what no checker can follow. They are
numbers of Python too: for ``1.0 - x`` a checker then asks `x` first, and ``max(x, 0.0)`` has a type to go on with.
`docs/tools/stub.py` makes the imports and `__all__` of what the package exports; what is between is written by hand.
"""

from typing import Annotated as Smem
from typing import Annotated as Tensor
from typing import Annotated as TmaTensor
from typing import Any, Self, TypeAlias, TypeVar, overload
from typing import Union as SmemUnion

from cutelite import passes as passes
from cutelite import target as target
from cutelite.bench.compare import compare as compare
from cutelite.bench.measure import do_bench as do_bench
from cutelite.bench.roofline import roofline as roofline
from cutelite.builds.hooks import StageEvent as StageEvent
from cutelite.builds.hooks import after_stage as after_stage
from cutelite.builds.hooks import before_stage as before_stage
from cutelite.builds.hooks import remove_hook as remove_hook
from cutelite.diag import CompileError as CompileError
from cutelite.diag import InternalError as InternalError
from cutelite.dispatch import ArgumentError as ArgumentError
from cutelite.dispatch import Compiled as Compiled
from cutelite.dispatch import CompileEvent as CompileEvent
from cutelite.dispatch import CompileForbidden as CompileForbidden
from cutelite.dispatch import Kernel as Kernel
from cutelite.dispatch import Launch as Launch
from cutelite.dispatch import LaunchError as LaunchError
from cutelite.dispatch import OptionError as OptionError
from cutelite.dispatch import kernel as kernel
from cutelite.dispatch import off_compile as off_compile
from cutelite.dispatch import on_compile as on_compile
from cutelite.dispatch.device_functions import DeviceFunction as DeviceFunction
from cutelite.dispatch.device_functions import device_function as device_function
from cutelite.dispatch.pointers import pointers as pointers
from cutelite.dispatch.programs import Program as Program
from cutelite.dispatch.programs import program as program
from cutelite.dispatch.programs import workspace as workspace
from cutelite.dispatch.ranges import LaunchEvent as LaunchEvent
from cutelite.dispatch.ranges import around_launches as around_launches
from cutelite.lang import math as math
from cutelite.lang import profile as profile
from cutelite.lang import tcgen05 as tcgen05
from cutelite.lang import wgmma as wgmma
from cutelite.lang.algebra import aligned_down as aligned_down
from cutelite.lang.algebra import append as append
from cutelite.lang.algebra import append_ones as append_ones
from cutelite.lang.algebra import coalesce as coalesce
from cutelite.lang.algebra import composition as composition
from cutelite.lang.algebra import cosize as cosize
from cutelite.lang.algebra import depth as depth
from cutelite.lang.algebra import domain_offset as domain_offset
from cutelite.lang.algebra import filter_zeros as filter_zeros
from cutelite.lang.algebra import flat_divide as flat_divide
from cutelite.lang.algebra import flatten as flatten
from cutelite.lang.algebra import group_modes as group_modes
from cutelite.lang.algebra import leading_dim as leading_dim
from cutelite.lang.algebra import local_partition as local_partition
from cutelite.lang.algebra import logical_divide as logical_divide
from cutelite.lang.algebra import make_fragment_like as make_fragment_like
from cutelite.lang.algebra import max_common_vector as max_common_vector
from cutelite.lang.algebra import prepend as prepend
from cutelite.lang.algebra import prepend_ones as prepend_ones
from cutelite.lang.algebra import rank as rank
from cutelite.lang.algebra import select as select
from cutelite.lang.algebra import size as size
from cutelite.lang.algebra import slice_ as slice_
from cutelite.lang.algebra import take as take
from cutelite.lang.algebra import tiled_divide as tiled_divide
from cutelite.lang.algebra import with_layout as with_layout
from cutelite.lang.algebra import zipped_divide as zipped_divide
from cutelite.lang.annotations import Im2col as Im2col
from cutelite.lang.annotations import align as align
from cutelite.lang.annotations import col_major as col_major
from cutelite.lang.atomics import atomic_add as atomic_add
from cutelite.lang.atomics import atomic_and as atomic_and
from cutelite.lang.atomics import atomic_cas as atomic_cas
from cutelite.lang.atomics import atomic_dec as atomic_dec
from cutelite.lang.atomics import atomic_exch as atomic_exch
from cutelite.lang.atomics import atomic_inc as atomic_inc
from cutelite.lang.atomics import atomic_max as atomic_max
from cutelite.lang.atomics import atomic_min as atomic_min
from cutelite.lang.atomics import atomic_or as atomic_or
from cutelite.lang.atomics import atomic_sub as atomic_sub
from cutelite.lang.atomics import atomic_xor as atomic_xor
from cutelite.lang.atomics import load_acquire as load_acquire
from cutelite.lang.atomics import load_relaxed as load_relaxed
from cutelite.lang.atomics import load_volatile as load_volatile
from cutelite.lang.atomics import prefetch as prefetch
from cutelite.lang.atomics import red as red
from cutelite.lang.atomics import store_relaxed as store_relaxed
from cutelite.lang.atomics import store_release as store_release
from cutelite.lang.atomics import store_volatile as store_volatile
from cutelite.lang.bits import add_sat as add_sat
from cutelite.lang.bits import bfe as bfe
from cutelite.lang.bits import bfi as bfi
from cutelite.lang.bits import bmsk as bmsk
from cutelite.lang.bits import brev as brev
from cutelite.lang.bits import clz as clz
from cutelite.lang.bits import ctz as ctz
from cutelite.lang.bits import dp2a as dp2a
from cutelite.lang.bits import dp4a as dp4a
from cutelite.lang.bits import ffs as ffs
from cutelite.lang.bits import funnel_left as funnel_left
from cutelite.lang.bits import funnel_right as funnel_right
from cutelite.lang.bits import lop3 as lop3
from cutelite.lang.bits import mad24 as mad24
from cutelite.lang.bits import mul24 as mul24
from cutelite.lang.bits import mul_hi as mul_hi
from cutelite.lang.bits import mul_wide as mul_wide
from cutelite.lang.bits import popc as popc
from cutelite.lang.bits import prmt as prmt
from cutelite.lang.bits import sad as sad
from cutelite.lang.bits import sub_sat as sub_sat
from cutelite.lang.bits import szext as szext
from cutelite.lang.cluster import cluster_arrive as cluster_arrive
from cutelite.lang.cluster import cluster_sync as cluster_sync
from cutelite.lang.cluster import cluster_wait as cluster_wait
from cutelite.lang.cluster import clusterlaunchcontrol_get_first_ctaid as clusterlaunchcontrol_get_first_ctaid
from cutelite.lang.cluster import clusterlaunchcontrol_is_canceled as clusterlaunchcontrol_is_canceled
from cutelite.lang.cluster import clusterlaunchcontrol_try_cancel as clusterlaunchcontrol_try_cancel
from cutelite.lang.cluster import getctarank as getctarank
from cutelite.lang.cluster import griddepcontrol_launch_dependents as griddepcontrol_launch_dependents
from cutelite.lang.cluster import griddepcontrol_wait as griddepcontrol_wait
from cutelite.lang.cluster import mapa as mapa
from cutelite.lang.cluster import red_async as red_async
from cutelite.lang.cluster import st_async as st_async
from cutelite.lang.coord import CoordTensor as CoordTensor
from cutelite.lang.coord import coordinates as coordinates
from cutelite.lang.coord import elem_less as elem_less
from cutelite.lang.coord import make_identity_tensor as make_identity_tensor
from cutelite.lang.copy import CopyAtom as CopyAtom
from cutelite.lang.copy import TiledCopy as TiledCopy
from cutelite.lang.copy import make_tiled_copy as make_tiled_copy
from cutelite.lang.copy import make_tiled_copy_A as make_tiled_copy_A
from cutelite.lang.copy import make_tiled_copy_B as make_tiled_copy_B
from cutelite.lang.copy import make_tiled_copy_C as make_tiled_copy_C
from cutelite.lang.copy import make_tiled_copy_D as make_tiled_copy_D
from cutelite.lang.copy import make_tiled_copy_S as make_tiled_copy_S
from cutelite.lang.copy import make_tiled_copy_tv as make_tiled_copy_tv
from cutelite.lang.copy import make_tmem_copy as make_tmem_copy
from cutelite.lang.copy_ops import CopyBulkG2SOp as CopyBulkG2SOp
from cutelite.lang.copy_ops import CopyBulkS2DsmemOp as CopyBulkS2DsmemOp
from cutelite.lang.copy_ops import CopyBulkS2GOp as CopyBulkS2GOp
from cutelite.lang.copy_ops import CopyBulkTensorTileG2SMulticastOp as CopyBulkTensorTileG2SMulticastOp
from cutelite.lang.copy_ops import CopyBulkTensorTileG2SOp as CopyBulkTensorTileG2SOp
from cutelite.lang.copy_ops import CopyBulkTensorTileS2GOp as CopyBulkTensorTileS2GOp
from cutelite.lang.copy_ops import CopyDsmemStoreOp as CopyDsmemStoreOp
from cutelite.lang.copy_ops import CopyG2SOp as CopyG2SOp
from cutelite.lang.copy_ops import CopyReduceBulkTensorTileS2GOp as CopyReduceBulkTensorTileS2GOp
from cutelite.lang.copy_ops import CopyUniversalOp as CopyUniversalOp
from cutelite.lang.copy_ops import LdMatrix8x8x16bOp as LdMatrix8x8x16bOp
from cutelite.lang.copy_ops import StMatrix8x8x16bOp as StMatrix8x8x16bOp
from cutelite.lang.copy_ops import TmemLoadOp as TmemLoadOp
from cutelite.lang.copy_ops import TmemStoreOp as TmemStoreOp
from cutelite.lang.cp_async import cp_async as cp_async
from cutelite.lang.cp_async import cp_async_bulk as cp_async_bulk
from cutelite.lang.cp_async import cp_async_bulk_commit_group as cp_async_bulk_commit_group
from cutelite.lang.cp_async import cp_async_bulk_prefetch as cp_async_bulk_prefetch
from cutelite.lang.cp_async import cp_async_bulk_wait_group as cp_async_bulk_wait_group
from cutelite.lang.cp_async import cp_async_commit_group as cp_async_commit_group
from cutelite.lang.cp_async import cp_async_wait_all as cp_async_wait_all
from cutelite.lang.cp_async import cp_async_wait_group as cp_async_wait_group
from cutelite.lang.cp_async import cp_reduce_async_bulk as cp_reduce_async_bulk
from cutelite.lang.cp_async import createpolicy as createpolicy
from cutelite.lang.cp_async import createpolicy_cvt as createpolicy_cvt
from cutelite.lang.cp_async import createpolicy_range as createpolicy_range
from cutelite.lang.debug import assert_ as assert_
from cutelite.lang.debug import brkpt as brkpt
from cutelite.lang.debug import clock as clock
from cutelite.lang.debug import clock64 as clock64
from cutelite.lang.debug import globaltimer as globaltimer
from cutelite.lang.debug import printf as printf
from cutelite.lang.debug import trap as trap
from cutelite.lang.dims import dim as dim
from cutelite.lang.f32x2 import add_packed_f32x2 as add_packed_f32x2
from cutelite.lang.f32x2 import fma_packed_f32x2 as fma_packed_f32x2
from cutelite.lang.f32x2 import mul_packed_f32x2 as mul_packed_f32x2
from cutelite.lang.f32x2 import sub_packed_f32x2 as sub_packed_f32x2
from cutelite.lang.index import block_dim as block_dim
from cutelite.lang.index import block_idx as block_idx
from cutelite.lang.index import block_in_cluster as block_in_cluster
from cutelite.lang.index import block_rank_in_cluster as block_rank_in_cluster
from cutelite.lang.index import blocks_in_cluster as blocks_in_cluster
from cutelite.lang.index import cluster_count as cluster_count
from cutelite.lang.index import cluster_dim as cluster_dim
from cutelite.lang.index import cluster_idx as cluster_idx
from cutelite.lang.index import grid_dim as grid_dim
from cutelite.lang.index import gridid as gridid
from cutelite.lang.index import lane_idx as lane_idx
from cutelite.lang.index import lanemask as lanemask
from cutelite.lang.index import linear_thread_idx as linear_thread_idx
from cutelite.lang.index import nsmid as nsmid
from cutelite.lang.index import nwarpid as nwarpid
from cutelite.lang.index import smid as smid
from cutelite.lang.index import thread_idx as thread_idx
from cutelite.lang.index import warp_idx as warp_idx
from cutelite.lang.index import warpid as warpid
from cutelite.lang.loops import range as range
from cutelite.lang.loops import static_range as static_range
from cutelite.lang.matrix import compress_sparse as compress_sparse
from cutelite.lang.matrix import ldmatrix as ldmatrix
from cutelite.lang.matrix import mma_scaled as mma_scaled
from cutelite.lang.matrix import mma_sync as mma_sync
from cutelite.lang.matrix import movmatrix as movmatrix
from cutelite.lang.matrix import stmatrix as stmatrix
from cutelite.lang.mbarrier import Barrier as Barrier
from cutelite.lang.mbarrier import fence_mbarrier_init as fence_mbarrier_init
from cutelite.lang.mbarrier import mbarrier_pending_count as mbarrier_pending_count
from cutelite.lang.mma import Accumulator as Accumulator
from cutelite.lang.mma import TiledMma as TiledMma
from cutelite.lang.mma import gemm as gemm
from cutelite.lang.mma_ops import Tcgen05MmaOp as Tcgen05MmaOp
from cutelite.lang.mma_ops import Tcgen05ScaledMmaOp as Tcgen05ScaledMmaOp
from cutelite.lang.multimem import multimem_ld_reduce as multimem_ld_reduce
from cutelite.lang.multimem import multimem_red as multimem_red
from cutelite.lang.multimem import multimem_st as multimem_st
from cutelite.lang.packed import b1 as b1
from cutelite.lang.packed import e2m1 as e2m1
from cutelite.lang.packed import e2m3 as e2m3
from cutelite.lang.packed import e3m2 as e3m2
from cutelite.lang.packed import e8m0 as e8m0
from cutelite.lang.packed import i4 as i4
from cutelite.lang.packed import u4 as u4
from cutelite.lang.packed import ue4m3 as ue4m3
from cutelite.lang.pipeline_state import PipelineState as PipelineState
from cutelite.lang.plain_copy import explain_copy as explain_copy
from cutelite.lang.registers import elect_one as elect_one
from cutelite.lang.registers import elect_sync as elect_sync
from cutelite.lang.registers import setmaxnreg_dec as setmaxnreg_dec
from cutelite.lang.registers import setmaxnreg_inc as setmaxnreg_inc
from cutelite.lang.storage import SharedStorage as SharedStorage
from cutelite.lang.sync import barrier_arrive as barrier_arrive
from cutelite.lang.sync import barrier_sync as barrier_sync
from cutelite.lang.sync import fence as fence
from cutelite.lang.sync import nanosleep as nanosleep
from cutelite.lang.sync import syncthreads as syncthreads
from cutelite.lang.sync import syncthreads_and as syncthreads_and
from cutelite.lang.sync import syncthreads_count as syncthreads_count
from cutelite.lang.sync import syncthreads_or as syncthreads_or
from cutelite.lang.tensor import row_major as row_major
from cutelite.lang.tensormap import tensormap_acquire as tensormap_acquire
from cutelite.lang.tensormap import tensormap_copy as tensormap_copy
from cutelite.lang.tensormap import tensormap_publish as tensormap_publish
from cutelite.lang.tensormap import tensormap_replace as tensormap_replace
from cutelite.lang.tensormap import tensormap_shared as tensormap_shared
from cutelite.lang.tma import fence_proxy_async as fence_proxy_async
from cutelite.lang.tma import prefetch_tensormap as prefetch_tensormap
from cutelite.lang.tma import tma_gather4 as tma_gather4
from cutelite.lang.tma import tma_gather4_prefetch as tma_gather4_prefetch
from cutelite.lang.tma import tma_im2col as tma_im2col
from cutelite.lang.tma import tma_im2col_prefetch as tma_im2col_prefetch
from cutelite.lang.tma import tma_im2col_reduce as tma_im2col_reduce
from cutelite.lang.tma import tma_im2col_store as tma_im2col_store
from cutelite.lang.tma import tma_im2col_w as tma_im2col_w
from cutelite.lang.tma import tma_im2col_w_prefetch as tma_im2col_w_prefetch
from cutelite.lang.tma import tma_load as tma_load
from cutelite.lang.tma import tma_prefetch as tma_prefetch
from cutelite.lang.tma import tma_reduce as tma_reduce
from cutelite.lang.tma import tma_scatter4 as tma_scatter4
from cutelite.lang.tma import tma_store as tma_store
from cutelite.lang.values import Scalar as Scalar
from cutelite.lang.values import Vector as Vector
from cutelite.lang.warp import active_mask as active_mask
from cutelite.lang.warp import ballot as ballot
from cutelite.lang.warp import make_warp_uniform as make_warp_uniform
from cutelite.lang.warp import match_all as match_all
from cutelite.lang.warp import match_any as match_any
from cutelite.lang.warp import redux as redux
from cutelite.lang.warp import shuffle as shuffle
from cutelite.lang.warp import shuffle_down as shuffle_down
from cutelite.lang.warp import shuffle_up as shuffle_up
from cutelite.lang.warp import shuffle_xor as shuffle_xor
from cutelite.lang.warp import syncwarp as syncwarp
from cutelite.lang.warp import vote_all as vote_all
from cutelite.lang.warp import vote_any as vote_any
from cutelite.lang.warp import vote_uniform as vote_uniform
from cutelite.lang.warp import warpgroup_idx as warpgroup_idx
from cutelite.lang.whole import axpby as axpby
from cutelite.lang.whole import clear as clear
from cutelite.lang.whole import fill as fill
from cutelite.layout import ComposedLayout as ComposedLayout
from cutelite.layout import Dim as Dim
from cutelite.layout import E as E
from cutelite.layout import Layout as Layout
from cutelite.layout import ScaledBasis as ScaledBasis
from cutelite.layout import Swizzle as Swizzle
from cutelite.layout import assume as assume
from cutelite.layout import blocked_product as blocked_product
from cutelite.layout import ceil_div as ceil_div
from cutelite.layout import complement as complement
from cutelite.layout import crd2crd as crd2crd
from cutelite.layout import crd2idx as crd2idx
from cutelite.layout import filter_tuple as filter_tuple
from cutelite.layout import find as find
from cutelite.layout import find_if as find_if
from cutelite.layout import flatten_to_tuple as flatten_to_tuple
from cutelite.layout import get as get
from cutelite.layout import get_divisibility as get_divisibility
from cutelite.layout import get_flat_coord as get_flat_coord
from cutelite.layout import get_hier_coord as get_hier_coord
from cutelite.layout import get_leaves as get_leaves
from cutelite.layout import get_nonswizzle_portion as get_nonswizzle_portion
from cutelite.layout import get_swizzle_portion as get_swizzle_portion
from cutelite.layout import has_scaled_basis as has_scaled_basis
from cutelite.layout import has_underscore as has_underscore
from cutelite.layout import idx2crd as idx2crd
from cutelite.layout import is_congruent as is_congruent
from cutelite.layout import is_int_tuple as is_int_tuple
from cutelite.layout import is_integer as is_integer
from cutelite.layout import is_major as is_major
from cutelite.layout import is_static as is_static
from cutelite.layout import is_weakly_congruent as is_weakly_congruent
from cutelite.layout import left_inverse as left_inverse
from cutelite.layout import logical_product as logical_product
from cutelite.layout import make_composed_layout as make_composed_layout
from cutelite.layout import make_identity_layout as make_identity_layout
from cutelite.layout import make_layout as make_layout
from cutelite.layout import make_layout_image_mask as make_layout_image_mask
from cutelite.layout import make_layout_like as make_layout_like
from cutelite.layout import make_layout_tv as make_layout_tv
from cutelite.layout import make_ordered_layout as make_ordered_layout
from cutelite.layout import make_swizzle as make_swizzle
from cutelite.layout import pretty_str as pretty_str
from cutelite.layout import product as product
from cutelite.layout import product_each as product_each
from cutelite.layout import product_like as product_like
from cutelite.layout import raked_product as raked_product
from cutelite.layout import recast_layout as recast_layout
from cutelite.layout import repeat as repeat
from cutelite.layout import repeat_as_tuple as repeat_as_tuple
from cutelite.layout import repeat_like as repeat_like
from cutelite.layout import right_inverse as right_inverse
from cutelite.layout import round_up as round_up
from cutelite.layout import shape_div as shape_div
from cutelite.layout import size_in_bytes as size_in_bytes
from cutelite.layout import tile_to_shape as tile_to_shape
from cutelite.layout import transform_apply as transform_apply
from cutelite.layout import transform_leaf as transform_leaf
from cutelite.layout import tuple_cat as tuple_cat
from cutelite.layout import unflatten as unflatten
from cutelite.layout import unwrap as unwrap
from cutelite.layout import with_shape as with_shape
from cutelite.layout import wrap as wrap
from cutelite.lib.chunk import Chunk as Chunk
from cutelite.lib.chunk import Prepare as Prepare
from cutelite.lib.copy import cooperative_clear as cooperative_clear
from cutelite.lib.copy import copy as copy
from cutelite.lib.derivative import value_and_derivative as value_and_derivative
from cutelite.lib.divmod import FastDivmod as FastDivmod
from cutelite.lib.epilogue import Epilogue as Epilogue
from cutelite.lib.epilogue import Fetch as Fetch
from cutelite.lib.epilogue import Fused as Fused
from cutelite.lib.epilogue import ResultRing as ResultRing
from cutelite.lib.epilogue import Scales as Scales
from cutelite.lib.extern import extern as extern
from cutelite.lib.extern import inline_ptx as inline_ptx
from cutelite.lib.grouped import GroupedTileScheduler as GroupedTileScheduler
from cutelite.lib.grouped import ProblemTileScheduler as ProblemTileScheduler
from cutelite.lib.multicast import OperandTile as OperandTile
from cutelite.lib.multicast import multicast_peers as multicast_peers
from cutelite.lib.narrow import bf16_of as bf16_of
from cutelite.lib.narrow import narrow_place as narrow_place
from cutelite.lib.packed import pack as pack
from cutelite.lib.packed import unpack as unpack
from cutelite.lib.participants import PipelineConsumer as PipelineConsumer
from cutelite.lib.participants import PipelineProducer as PipelineProducer
from cutelite.lib.piece import Finish as Finish
from cutelite.lib.piece import Piece as Piece
from cutelite.lib.piece import RowPiece as RowPiece
from cutelite.lib.pipelines import NamedBarrier as NamedBarrier
from cutelite.lib.pipelines import PipelineAsync as PipelineAsync
from cutelite.lib.pipelines import PipelineCpAsync as PipelineCpAsync
from cutelite.lib.pipelines import PipelineOrder as PipelineOrder
from cutelite.lib.pipelines import PipelineTmaAsync as PipelineTmaAsync
from cutelite.lib.pipelines import PipelineTmaStore as PipelineTmaStore
from cutelite.lib.pipelines import multicast_mask as multicast_mask
from cutelite.lib.pipelines import pipeline_init_arrive as pipeline_init_arrive
from cutelite.lib.pipelines import pipeline_init_sync as pipeline_init_sync
from cutelite.lib.pipelines import pipeline_init_wait as pipeline_init_wait
from cutelite.lib.reduce import Team as Team
from cutelite.lib.reduce import block_reduce as block_reduce
from cutelite.lib.reduce import block_scan as block_scan
from cutelite.lib.reduce import cluster_reduce as cluster_reduce
from cutelite.lib.reduce import warp_reduce as warp_reduce
from cutelite.lib.reduce import warp_scan as warp_scan
from cutelite.lib.row_ends import neighbours as neighbours
from cutelite.lib.row_stream import RowStream as RowStream
from cutelite.lib.row_tile import RowTile as RowTile
from cutelite.lib.rows import RowPart as RowPart
from cutelite.lib.rows import RowPartition as RowPartition
from cutelite.lib.rows import RowVectors as RowVectors
from cutelite.lib.scan import look_back as look_back
from cutelite.lib.scan import next_tile as next_tile
from cutelite.lib.scheduler import ClcTileScheduler as ClcTileScheduler
from cutelite.lib.scheduler import PipelineClcFetchAsync as PipelineClcFetchAsync
from cutelite.lib.scheduler import StaticPersistentTileScheduler as StaticPersistentTileScheduler
from cutelite.lib.softmax import OnlineSoftmax as OnlineSoftmax
from cutelite.lib.softmax import row_reduce as row_reduce
from cutelite.lib.softmax import scale_rows as scale_rows
from cutelite.lib.softmax import store_row as store_row
from cutelite.lib.stream_k import StreamKTileScheduler as StreamKTileScheduler
from cutelite.lib.stream_k import TileParts as TileParts
from cutelite.lib.tensormaps import DeviceTensorMap as DeviceTensorMap
from cutelite.lib.tensors import all_ as all_
from cutelite.lib.tensors import any_ as any_
from cutelite.lib.tensors import gather as gather
from cutelite.lib.tensors import print_tensor as print_tensor
from cutelite.lib.tensors import scatter as scatter
from cutelite.lib.tile_queue import TileQueue as TileQueue
from cutelite.lib.tile_queue import longest_first as longest_first
from cutelite.lib.tmem import TmemAllocator as TmemAllocator
from cutelite.lib.umma import PipelineAsyncUmma as PipelineAsyncUmma
from cutelite.lib.umma import PipelineTmaUmma as PipelineTmaUmma
from cutelite.lib.umma import PipelineUmmaAsync as PipelineUmmaAsync
from cutelite.lib.umma import RowRing as RowRing
from cutelite.sim import SimError as SimError
from cutelite.toolchain import ToolchainError as ToolchainError
from cutelite.tune import AutotuneError as AutotuneError
from cutelite.tune import Config as Config
from cutelite.tune import Warmed as Warmed
from cutelite.tune import autotune as autotune
from cutelite.tune import warm as warm
from cutelite_rt import CudaError as CudaError
from cutelite_rt import DeviceArray as DeviceArray
from cutelite_rt import to_device as to_device

__version__: str

from cutelite.lang.mma_ops import MmaOp as _MmaOp
from cutelite.layout.dims import DimExpr as _DimExpr

_T = TypeVar("_T")
Constexpr = Tensor[_T, "known at compile time"]
Pointer = Tensor[_T, "behind an address"]

_Number: TypeAlias = _Value | float | _DimExpr

class _Value(float, int, Any):  # type: ignore[misc]
    """A number, a vector or a tensor of one dtype."""

    def __init__(self, x: Any, /) -> None: ...
    def __getitem__(self, key: Any) -> Self: ...
    def __setitem__(self, key: Any, x: _Number) -> None: ...
    def __len__(self) -> int: ...
    def __add__(self, other: _Number) -> Self: ...
    def __sub__(self, other: _Number) -> Self: ...
    def __mul__(self, other: _Number) -> Self: ...
    def __truediv__(self, other: _Number) -> Any: ...
    def __floordiv__(self, other: _Number) -> Self: ...
    def __mod__(self, other: _Number) -> Self: ...
    def __pow__(self, other: _Number) -> Self: ...  # type: ignore[override]
    def __and__(self, other: _Number) -> Self: ...
    def __or__(self, other: _Number) -> Self: ...
    def __xor__(self, other: _Number) -> Self: ...
    def __lshift__(self, other: _Number) -> Self: ...
    def __rshift__(self, other: _Number) -> Self: ...
    def __radd__(self, other: _Number) -> Any: ...
    def __rsub__(self, other: _Number) -> Any: ...
    def __rmul__(self, other: _Number) -> Any: ...
    def __rtruediv__(self, other: _Number) -> Any: ...
    def __rfloordiv__(self, other: _Number) -> Any: ...
    def __rmod__(self, other: _Number) -> Any: ...
    def __rpow__(self, other: _Number) -> Any: ...  # type: ignore[override]
    def __rand__(self, other: _Number) -> Any: ...
    def __ror__(self, other: _Number) -> Any: ...
    def __rxor__(self, other: _Number) -> Any: ...
    def __rlshift__(self, other: _Number) -> Any: ...
    def __rrshift__(self, other: _Number) -> Any: ...
    def __neg__(self) -> Self: ...
    def __pos__(self) -> Self: ...
    def __invert__(self) -> Self: ...
    def __abs__(self) -> Self: ...
    def __lt__(self, other: _Number) -> Any: ...
    def __le__(self, other: _Number) -> Any: ...
    def __gt__(self, other: _Number) -> Any: ...
    def __ge__(self, other: _Number) -> Any: ...
    def __eq__(self, other: object) -> Any: ...
    def __ne__(self, other: object) -> Any: ...
    def __hash__(self) -> int: ...
    def to(self, dtype: type[_V], /) -> _V: ...
    @property
    def dtype(self) -> type[Self]: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def shape(self) -> Any: ...
    @property
    def stride(self) -> Any: ...
    @property
    def size(self) -> Any: ...
    @property
    def ndim(self) -> int: ...
    @property
    def nbytes(self) -> Any: ...
    @property
    def ptr(self) -> Any: ...
    def at(self, *key: Any) -> Any: ...
    def load(self, key: Any = None, *, cache: str = "", evict: str = "", prefetch: int = 0) -> Self: ...
    def store(self, x: _Number, key: Any = None, *, cache: str = "", evict: str = "") -> None: ...
    def fill(self, x: _Number) -> None: ...
    def view(self, layout: Layout, dtype: type[_V] = ...) -> Any: ...
    def recast(self, dtype: type[_V]) -> _V: ...
    def tile(self, tiler: Any, coord: Any) -> Self: ...
    @property
    def tile_shape(self) -> tuple[int, ...]: ...
    @property
    def tile_bytes(self) -> int: ...

_V = TypeVar("_V", bound=_Value)

class boolean(_Value): ...
class i8(_Value): ...
class i16(_Value): ...
class i32(_Value): ...
class i64(_Value): ...
class u8(_Value): ...
class u16(_Value): ...
class u32(_Value): ...
class u64(_Value): ...
class f16(_Value): ...
class bf16(_Value): ...
class f32(_Value): ...
class f64(_Value): ...
class tf32(_Value): ...
class e4m3(_Value): ...
class e5m2(_Value): ...

class mbarrier(Any):  # type: ignore[misc]
    """One barrier, or a tensor of them: `Barrier` has the operations."""

    def __getitem__(self, key: Any) -> Barrier: ...

_D = TypeVar("_D")

def dims(names: str, divisible_by: int = 1) -> Any: ...
def where(cond: Any, a: Any, b: Any) -> Any: ...
def convert(x: Any, dtype: type[_V], *, rounding: str = ..., saturate: bool = ...) -> _V: ...
def bitcast(x: Any, dtype: type[_V]) -> _V: ...
def constant(values: Any, dtype: type[_D]) -> _D: ...
def shared(dtype: type[_D], shape: Any, *, align: int | None = None, swizzle: Swizzle | None = None) -> _D: ...
def dynamic_shared(dtype: type[_D], *, align: int = 16) -> _D: ...
def tma_shared(like: _D, stages: int | None = None, halo: int = 0) -> _D: ...
def make_rmem_tensor(dtype: type[_D], shape: Any) -> _D: ...
@overload
def make_rmem_tensor_like(like: _D) -> _D: ...
@overload
def make_rmem_tensor_like(like: Any, dtype: type[_D]) -> _D: ...
@overload
def make_tensor(pointer: Any, layout: Any, dtype: type[_D]) -> _D: ...
@overload
def make_tensor(pointer: Any, layout: Any, dtype: None = None) -> Any: ...

class MmaUniversalOp(_MmaOp):
    def __init__(self, dtype: Any = ...) -> None: ...

class WarpMmaOp(_MmaOp):
    def __init__(
        self,
        a_dtype: Any,
        acc_dtype: Any,
        k: int | None = None,
        b_dtype: Any = None,
        saturate: bool = False,
        m: int | None = None,
        sparse: bool = False,
        combine: str = "",
    ) -> None: ...

class WarpgroupMmaOp(_MmaOp):
    def __init__(
        self,
        a_dtype: Any,
        acc_dtype: Any,
        n: int,
        b_dtype: Any = None,
        a_source: str = "smem",
        sparse: bool = False,
    ) -> None: ...

def make_tiled_mma(op: Any, atoms: Any = (1, 1, 1), permutation: Any = (None, None, None)) -> TiledMma: ...
def make_copy_atom(op: Any, dtype: Any) -> CopyAtom: ...
def make_smem_layout_atom(dtype: Any, major: str = "K", swizzle: str = "128B") -> Any: ...
def make_smem_layout(dtype: Any, shape: tuple[int, ...], major: str = "K", order: Any = None) -> Any: ...
def vector(*items: Any, dtype: Any = None) -> Any: ...
def full(shape: Any, x: Any, dtype: type[_D]) -> _D: ...
def full_like(v: Any, x: Any, dtype: Any = None) -> Any: ...
def zeros_like(v: Any, dtype: Any = None) -> Any: ...
def ones_like(v: Any, dtype: Any = None) -> Any: ...
def zeros(shape: Any, dtype: type[_D]) -> _D: ...
def ones(shape: Any, dtype: type[_D]) -> _D: ...
def recast_tensor(tensor: Any, dtype: type[_D]) -> _D: ...
def local_tile(tensor: _D, tiler: Any, coord: Any, proj: Any = None) -> _D: ...

__all__ = [
    "Accumulator",
    "ArgumentError",
    "AutotuneError",
    "Barrier",
    "Chunk",
    "ClcTileScheduler",
    "CompileError",
    "CompileEvent",
    "CompileForbidden",
    "Compiled",
    "ComposedLayout",
    "Config",
    "Constexpr",
    "CoordTensor",
    "CopyAtom",
    "CopyBulkG2SOp",
    "CopyBulkS2DsmemOp",
    "CopyBulkS2GOp",
    "CopyBulkTensorTileG2SMulticastOp",
    "CopyBulkTensorTileG2SOp",
    "CopyBulkTensorTileS2GOp",
    "CopyDsmemStoreOp",
    "CopyG2SOp",
    "CopyReduceBulkTensorTileS2GOp",
    "CopyUniversalOp",
    "CudaError",
    "DeviceArray",
    "DeviceFunction",
    "DeviceTensorMap",
    "Dim",
    "E",
    "Epilogue",
    "FastDivmod",
    "Fetch",
    "Finish",
    "Fused",
    "GroupedTileScheduler",
    "Im2col",
    "InternalError",
    "Kernel",
    "Launch",
    "LaunchError",
    "LaunchEvent",
    "Layout",
    "LdMatrix8x8x16bOp",
    "MmaUniversalOp",
    "NamedBarrier",
    "OnlineSoftmax",
    "OperandTile",
    "OptionError",
    "Piece",
    "PipelineAsync",
    "PipelineAsyncUmma",
    "PipelineClcFetchAsync",
    "PipelineConsumer",
    "PipelineCpAsync",
    "PipelineOrder",
    "PipelineProducer",
    "PipelineState",
    "PipelineTmaAsync",
    "PipelineTmaStore",
    "PipelineTmaUmma",
    "PipelineUmmaAsync",
    "Pointer",
    "Prepare",
    "ProblemTileScheduler",
    "Program",
    "ResultRing",
    "RowPart",
    "RowPartition",
    "RowPiece",
    "RowRing",
    "RowStream",
    "RowTile",
    "RowVectors",
    "Scalar",
    "ScaledBasis",
    "Scales",
    "SharedStorage",
    "SimError",
    "Smem",
    "SmemUnion",
    "StMatrix8x8x16bOp",
    "StageEvent",
    "StaticPersistentTileScheduler",
    "StreamKTileScheduler",
    "Swizzle",
    "Tcgen05MmaOp",
    "Tcgen05ScaledMmaOp",
    "Team",
    "Tensor",
    "TileParts",
    "TileQueue",
    "TiledCopy",
    "TiledMma",
    "TmaTensor",
    "TmemAllocator",
    "TmemLoadOp",
    "TmemStoreOp",
    "ToolchainError",
    "Vector",
    "Warmed",
    "WarpMmaOp",
    "WarpgroupMmaOp",
    "__version__",
    "active_mask",
    "add_packed_f32x2",
    "add_sat",
    "after_stage",
    "align",
    "aligned_down",
    "all_",
    "any_",
    "append",
    "append_ones",
    "around_launches",
    "assert_",
    "assume",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_dec",
    "atomic_exch",
    "atomic_inc",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "autotune",
    "axpby",
    "b1",
    "ballot",
    "barrier_arrive",
    "barrier_sync",
    "before_stage",
    "bf16",
    "bf16_of",
    "bfe",
    "bfi",
    "bitcast",
    "block_dim",
    "block_idx",
    "block_in_cluster",
    "block_rank_in_cluster",
    "block_reduce",
    "block_scan",
    "blocked_product",
    "blocks_in_cluster",
    "bmsk",
    "boolean",
    "brev",
    "brkpt",
    "ceil_div",
    "clear",
    "clock",
    "clock64",
    "cluster_arrive",
    "cluster_count",
    "cluster_dim",
    "cluster_idx",
    "cluster_reduce",
    "cluster_sync",
    "cluster_wait",
    "clusterlaunchcontrol_get_first_ctaid",
    "clusterlaunchcontrol_is_canceled",
    "clusterlaunchcontrol_try_cancel",
    "clz",
    "coalesce",
    "col_major",
    "compare",
    "complement",
    "composition",
    "compress_sparse",
    "constant",
    "convert",
    "cooperative_clear",
    "coordinates",
    "copy",
    "cosize",
    "cp_async",
    "cp_async_bulk",
    "cp_async_bulk_commit_group",
    "cp_async_bulk_prefetch",
    "cp_async_bulk_wait_group",
    "cp_async_commit_group",
    "cp_async_wait_all",
    "cp_async_wait_group",
    "cp_reduce_async_bulk",
    "crd2crd",
    "crd2idx",
    "createpolicy",
    "createpolicy_cvt",
    "createpolicy_range",
    "ctz",
    "depth",
    "device_function",
    "dim",
    "dims",
    "do_bench",
    "domain_offset",
    "dp2a",
    "dp4a",
    "dynamic_shared",
    "e2m1",
    "e2m3",
    "e3m2",
    "e4m3",
    "e5m2",
    "e8m0",
    "elect_one",
    "elect_sync",
    "elem_less",
    "explain_copy",
    "extern",
    "f16",
    "f32",
    "f64",
    "fence",
    "fence_mbarrier_init",
    "fence_proxy_async",
    "ffs",
    "fill",
    "filter_tuple",
    "filter_zeros",
    "find",
    "find_if",
    "flat_divide",
    "flatten",
    "flatten_to_tuple",
    "fma_packed_f32x2",
    "full",
    "full_like",
    "funnel_left",
    "funnel_right",
    "gather",
    "gemm",
    "get",
    "get_divisibility",
    "get_flat_coord",
    "get_hier_coord",
    "get_leaves",
    "get_nonswizzle_portion",
    "get_swizzle_portion",
    "getctarank",
    "globaltimer",
    "grid_dim",
    "griddepcontrol_launch_dependents",
    "griddepcontrol_wait",
    "gridid",
    "group_modes",
    "has_scaled_basis",
    "has_underscore",
    "i4",
    "i8",
    "i16",
    "i32",
    "i64",
    "idx2crd",
    "inline_ptx",
    "is_congruent",
    "is_int_tuple",
    "is_integer",
    "is_major",
    "is_static",
    "is_weakly_congruent",
    "kernel",
    "lane_idx",
    "lanemask",
    "ldmatrix",
    "leading_dim",
    "left_inverse",
    "linear_thread_idx",
    "load_acquire",
    "load_relaxed",
    "load_volatile",
    "local_partition",
    "local_tile",
    "logical_divide",
    "logical_product",
    "longest_first",
    "look_back",
    "lop3",
    "mad24",
    "make_composed_layout",
    "make_copy_atom",
    "make_fragment_like",
    "make_identity_layout",
    "make_identity_tensor",
    "make_layout",
    "make_layout_image_mask",
    "make_layout_like",
    "make_layout_tv",
    "make_ordered_layout",
    "make_rmem_tensor",
    "make_rmem_tensor_like",
    "make_smem_layout",
    "make_smem_layout_atom",
    "make_swizzle",
    "make_tensor",
    "make_tiled_copy",
    "make_tiled_copy_A",
    "make_tiled_copy_B",
    "make_tiled_copy_C",
    "make_tiled_copy_D",
    "make_tiled_copy_S",
    "make_tiled_copy_tv",
    "make_tiled_mma",
    "make_tmem_copy",
    "make_warp_uniform",
    "mapa",
    "match_all",
    "match_any",
    "math",
    "max_common_vector",
    "mbarrier",
    "mbarrier_pending_count",
    "mma_scaled",
    "mma_sync",
    "movmatrix",
    "mul24",
    "mul_hi",
    "mul_packed_f32x2",
    "mul_wide",
    "multicast_mask",
    "multicast_peers",
    "multimem_ld_reduce",
    "multimem_red",
    "multimem_st",
    "nanosleep",
    "narrow_place",
    "neighbours",
    "next_tile",
    "nsmid",
    "nwarpid",
    "off_compile",
    "on_compile",
    "ones",
    "ones_like",
    "pack",
    "passes",
    "pipeline_init_arrive",
    "pipeline_init_sync",
    "pipeline_init_wait",
    "pointers",
    "popc",
    "prefetch",
    "prefetch_tensormap",
    "prepend",
    "prepend_ones",
    "pretty_str",
    "print_tensor",
    "printf",
    "prmt",
    "product",
    "product_each",
    "product_like",
    "profile",
    "program",
    "raked_product",
    "range",
    "rank",
    "recast_layout",
    "recast_tensor",
    "red",
    "red_async",
    "redux",
    "remove_hook",
    "repeat",
    "repeat_as_tuple",
    "repeat_like",
    "right_inverse",
    "roofline",
    "round_up",
    "row_major",
    "row_reduce",
    "sad",
    "scale_rows",
    "scatter",
    "select",
    "setmaxnreg_dec",
    "setmaxnreg_inc",
    "shape_div",
    "shared",
    "shuffle",
    "shuffle_down",
    "shuffle_up",
    "shuffle_xor",
    "size",
    "size_in_bytes",
    "slice_",
    "smid",
    "st_async",
    "static_range",
    "stmatrix",
    "store_relaxed",
    "store_release",
    "store_row",
    "store_volatile",
    "sub_packed_f32x2",
    "sub_sat",
    "syncthreads",
    "syncthreads_and",
    "syncthreads_count",
    "syncthreads_or",
    "syncwarp",
    "szext",
    "take",
    "target",
    "tcgen05",
    "tensormap_acquire",
    "tensormap_copy",
    "tensormap_publish",
    "tensormap_replace",
    "tensormap_shared",
    "tf32",
    "thread_idx",
    "tile_to_shape",
    "tiled_divide",
    "tma_gather4",
    "tma_gather4_prefetch",
    "tma_im2col",
    "tma_im2col_prefetch",
    "tma_im2col_reduce",
    "tma_im2col_store",
    "tma_im2col_w",
    "tma_im2col_w_prefetch",
    "tma_load",
    "tma_prefetch",
    "tma_reduce",
    "tma_scatter4",
    "tma_shared",
    "tma_store",
    "to_device",
    "transform_apply",
    "transform_leaf",
    "trap",
    "tuple_cat",
    "u4",
    "u8",
    "u16",
    "u32",
    "u64",
    "ue4m3",
    "unflatten",
    "unpack",
    "unwrap",
    "value_and_derivative",
    "vector",
    "vote_all",
    "vote_any",
    "vote_uniform",
    "warm",
    "warp_idx",
    "warp_reduce",
    "warp_scan",
    "warpgroup_idx",
    "warpid",
    "wgmma",
    "where",
    "with_layout",
    "with_shape",
    "workspace",
    "wrap",
    "zeros",
    "zeros_like",
    "zipped_divide",
]
