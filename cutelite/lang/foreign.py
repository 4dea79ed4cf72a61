"""Names that other languages have for what is here: for the help of an error about an unknown name."""

from __future__ import annotations

import re

from cutelite.diag.nearest import did_you_mean
from cutelite.ir.types import SCALARS
from cutelite.lang import math
from cutelite.lang.mbarrier import Barrier
from cutelite.ops.sync import SCOPES

NAMES = {
    "ldg": 't.load(i, cache="nc")',
    "threadfence": "cl.fence()",
    "threadfence_block": 'cl.fence(scope="cta")',
    "threadfence_system": 'cl.fence(scope="sys")',
    "any_sync": "cl.vote_any(x)",
    "all_sync": "cl.vote_all(x)",
    "shfl_sync": "cl.shuffle(x, lane)",
    "atomiccas": "cl.atomic_cas(t, i, old, new)",
    "half": "cl.f16",
    "nv_bfloat16": "cl.bf16",
    "char": "cl.i8",
    "short": "cl.i16",
    "int": "cl.i32",
    "unsigned": "cl.u32",
    "long": "cl.i64",
    "size_t": "cl.u64",
    "bool": "cl.boolean",
    "vec": "cl.vector(a, b)",
    **dict.fromkeys(("half2", "float2", "int2", "uint2", "make_int2", "make_float2", "make_float4"), "cl.vector(a, b)"),
    **dict.fromkeys(("int_as_float", "float_as_int", "uint_as_float", "float_as_uint"), "cl.bitcast(x, dtype)"),
    **dict.fromkeys(
        ("cast", "float2bfloat16", "float2half_rn", "float2int_rz", "int2float_rn"), "cl.convert(x, dtype)"
    ),
    **dict.fromkeys(("float2int_rn", "float2int_rd", "float2int_ru"), "`round(x)`, or `cl.math.floor(x).to(cl.i32)`"),
    **dict.fromkeys(("frcp_rn", "fdividef"), "x / y"),
    "funnelshift_l": "cl.funnel_left(low, high, n)",
    "byte_perm": "cl.prmt(a, b, selector)",
    "ldcg": 't.load(i, cache="cg")',
    **dict.fromkeys(("tiled_partition", "thread_block"), "`cl.lane_idx()` and `cl.warp_idx()`"),
    **dict.fromkeys(("devicesynchronize", "synchronize"), "`synchronize` of the arrays' library, in host code"),
    "atomic": "cl.atomic_add(t, i, x)",
    "gridsize": "cl.grid_dim.x * cl.block_dim.x",
    "cdiv": "cl.ceil_div(a, b)",
    "debug_barrier": "cl.syncthreads()",
    **dict.fromkeys(("static_assert", "device_assert"), "assert"),
    **dict.fromkeys(("static_print", "device_print"), "print"),
    **dict.fromkeys(("multiple_of", "max_contiguous"), '`cl.Dim("N", divisible_by=8)`, or `cl.align(16)`'),
    **dict.fromkeys(("trans", "transpose", "permute"), "cl.select(t, mode=[1, 0])"),
    **dict.fromkeys(("make_block_ptr", "make_tensor_descriptor"), "`t.tile(...)`, or a parameter `cl.TmaTensor[...]`"),
    **dict.fromkeys(("broadcast", "broadcast_to", "expand_dims"), "cl.full(n, x, dtype)"),
    **dict.fromkeys(("reshape", "view"), "cl.make_tensor(t, layout)"),
    **dict.fromkeys(("cumsum", "associative_scan", "scan"), "`cl.warp_scan` or `cl.block_scan`"),
    **dict.fromkeys(("argmax", "argmin"), "`cl.block_reduce` of pairs: docs/cookbook.md"),
    "sigmoid": "1 / (1 + cl.math.exp(-x))",
    **dict.fromkeys(
        ("softmax", "sort", "histogram"), "a kernel by `cl.Team`, or call `cutelite.kernels.rows`: docs/rows.md"
    ),
    **dict.fromkeys(("rand", "randn", "randint"), "a parameter `Tensor[...]`, for an array of random numbers"),
    **dict.fromkeys(("fori_loop", "while_loop", "cond"), "Python's `for`, `while` or `if`"),
    **dict.fromkeys(("inline_asm", "inline_asm_elementwise"), "cl.inline_ptx"),
    "float": "cl.f32",
    "double": "cl.f64",
    "fp8": "cl.e4m3",
    "float8e4m3fn": "cl.e4m3",
    "float8_e4m3fn": "cl.e4m3",
    "float8e5m2": "cl.e5m2",
    "float8_e5m2": "cl.e5m2",
    "float2half": "cl.f16(x)",
    "half2float": "cl.f32(x)",
    "float4": "t.tile(4, i).load()",
    "inf": 'float("inf")',
    "nan": 'float("nan")',
    "pi": "math.pi",
    "warpsize": "32",
    "warp_size": "32",
    "local": "cl.make_rmem_tensor(dtype, shape)",
    "make_fragment": "cl.make_rmem_tensor(dtype, shape)",
    "barrier": "cl.syncthreads()",
    "grid": "cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x",
    "global_id": "cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x",
    "grid_sync": "`cl.store_release` and `cl.load_acquire` of a flag, with `cooperative=True`: docs/cookbook.md",
    "sync_grid": "`cl.store_release` and `cl.load_acquire` of a flag, with `cooperative=True`: docs/cookbook.md",
    "this_grid": "`cl.store_release` and `cl.load_acquire` of a flag, with `cooperative=True`: docs/cookbook.md",
    "cooperative_groups": "`cl.syncthreads()`, `cl.syncwarp()` or `cl.cluster_sync()`",
    "load": "`t[i]`, or `t.tile(n, i).load()` for several elements",
    "store": "`t[i] = x`, or `t.tile(n, i).store(v)` for several elements",
    "dot": "cl.gemm",
    "sum": 'Python\'s `sum`, `v.reduce("sum")`, `cl.warp_reduce(x)` or `cl.block_reduce(x)`',
    "reduce": '`v.reduce("sum")`, `cl.warp_reduce(x)` or `cl.block_reduce(x)`',
    "unroll": "`cl.static_range(n)`, or `cl.range(n, unroll=4)`",
    "relu": "max(x, 0.0)",
    "exit": "return",
    "recast": "t.recast(dtype)",
    "jit": "a plain Python function, which is inlined, or `@cl.kernel`",
    "compile": "kernel.compile(...)",
    "const_expr": "the condition alone, `if n > 1:`, which is decided at compile time if it is known",
    "range_constexpr": "cl.static_range(n)",
    "range_dynamic": "range(n)",
    "smemallocator": "`cl.shared(dtype, shape)`, or a `cl.SharedStorage`",
    "alloc_smem": "cl.shared(dtype, shape)",
    "struct": "cl.SharedStorage",
    "recast_ptr": "t.recast(dtype)",
    "make_ptr": "a parameter `cl.Pointer[cl.f32]`",
    "nullptr": "an argument annotated `Tensor[...] | None`",
    "empty": "cl.zeros(shape, dtype)",
    "isspacep": "`t.space`, which is known at compile time",
    "tma_store_arrive": "cl.cp_async_bulk_commit_group()",
    "tma_store_wait": "cl.cp_async_bulk_wait_group(n)",
    "fence_view_async_shared": 'cl.fence_proxy_async("shared::cta")',
    "fence_barrier_init": "cl.fence_mbarrier_init()",
    "warpgroup_reg_alloc": "cl.setmaxnreg_inc(n)",
    "warpgroup_reg_dealloc": "cl.setmaxnreg_dec(n)",
    "warpgroup_arrive": "cl.wgmma.fence()",
    "warpgroup_commit_batch": "cl.wgmma.commit_group()",
    "warpgroup_wait": "cl.wgmma.wait_group(n, acc)",
    "block_rank": "cl.block_rank_in_cluster()",
    "map_shared_rank": "cl.mapa(t, rank)",
    "program_id": "cl.block_idx.x",
    "constexpr": "cl.Constexpr[int]",
    "num_programs": "cl.grid_dim.x",
    "arange": "`cl.thread_idx.x`, or a loop over `range`",
    "arch": "the names of its functions in `cl` itself: `cl.syncthreads()`",
    "utils": "the names of its classes in `cl` itself: `cl.StaticPersistentTileScheduler`",
    "pipeline": "the names of its classes in `cl` itself: `cl.PipelineTmaAsync`",
    "testing": "cl.do_bench(f)",
    "from_dlpack": "the array itself, as an argument of `kernel[grid, block](...)`",
    "nvgpu": "the names of its atoms in `cl` itself: `cl.WarpgroupMmaOp`",
    **dict.fromkeys(
        ("make_tiled_tma_atom", "make_tiled_tma_atom_a", "make_tiled_tma_atom_b", "tma_partition"),
        "a parameter `a: cl.TmaTensor[dtype, shape, tile]`, and `cl.coordinates(a)`",
    ),
    "make_im2col_tma_atom": "a parameter `a: cl.TmaTensor[dtype, shape, cl.Im2col(...)]`",
    "create_tma_multicast_mask": "cl.multicast_mask(...)",
    "prefetch_descriptor": "cl.prefetch_tensormap(a)",
    **dict.fromkeys(
        ("update_tma_descriptor", "copy_tensormap", "tensormapmanager"), "cl.DeviceTensorMap.create(a, slot)"
    ),
    **dict.fromkeys(("autovec_copy", "basic_copy", "copy_atom_call"), "cl.copy(src, dst)"),
    "basic_copy_if": "cl.copy(src, dst, pred=pred)",
    **dict.fromkeys(("make_mma_atom", "mma_atom_call"), "`cl.make_tiled_mma(op, atoms)`, or `cl.mma_sync`"),
    **dict.fromkeys(
        ("mmaf16bf16op", "mmatf32op", "mmaf8op", "mmafp8op", "mmai8op"), "`cl.WarpgroupMmaOp` or `cl.WarpMmaOp`"
    ),
    "make_trivial_tiled_mma": "cl.make_tiled_mma(cl.WarpgroupMmaOp(...), atoms)",
    **dict.fromkeys(
        ("make_smem_layout_a", "make_smem_layout_b", "make_smem_layout_epi"), "cl.make_smem_layout(dtype, shape)"
    ),
    "get_smem_store_op": "cl.StMatrix8x8x16bOp",
    **dict.fromkeys(("layoutenum", "operandmajormode"), "nothing: `cl.make_tiled_mma` finds it from the layouts"),
    "operandsource": '`a_source="rmem"` of `cl.WarpgroupMmaOp`',
    "field": "`accumulate=` of `cl.gemm`",
    **dict.fromkeys(("cooperativegroup", "agent"), "the number of threads, such as `128`"),
    **dict.fromkeys(("make_pipeline_state", "pipelineusertype"), "`pipe.producer_state()` or `pipe.consumer_state()`"),
    "mbarrierarray": "cl.shared(cl.mbarrier, (n,))",
    "persistenttileschedulerparams": "the arguments of `cl.StaticPersistentTileScheduler`",
    "memrange": "cl.Smem[dtype, shape]",
    "union": "cl.SmemUnion[A, B]",
    **dict.fromkeys(("fastdivmoddivisor", "fast_divmod_create_divisor"), "cl.FastDivmod(n)"),
    **dict.fromkeys(("sym_int", "symint"), 'cl.dims("M K:8")'),
    **dict.fromkeys(("make_fake_tensor", "make_fake_compact_tensor"), "the shape, in `kernel.compile(...)`"),
    "tensorssa": "`t.load()`, a `cl.Vector`",
    "reductionop": 'a text, `v.reduce("sum")`',
    "addressspace": "`t.space`, a text",
    "activemask": "cl.active_mask()",
    **{f"lanemask_{which}": f'cl.lanemask("{which}")' for which in ("eq", "lt", "le", "gt", "ge")},
    "cluster_arrive_relaxed": "cl.cluster_arrive(relaxed=True)",
    "fence_proxy": "cl.fence_proxy_async(space)",
    **{f"fence_acq_rel_{scope}": f'cl.fence(scope="{scope}")' for scope in SCOPES},
    "mbarrier_init_fence": "cl.fence_mbarrier_init()",
    "setmaxregister_increase": "cl.setmaxnreg_inc(n)",
    "setmaxregister_decrease": "cl.setmaxnreg_dec(n)",
    "shuffle_sync_bfly": "cl.shuffle_xor(x, mask)",
    "shuffle_sync_up": "cl.shuffle_up(x, delta)",
    "shuffle_sync_down": "cl.shuffle_down(x, delta)",
    "vote_ballot_sync": "cl.ballot(x)",
    "vote_uni_sync": "cl.vote_uniform(x)",
    "warp_redux_sync": 'cl.redux(x, "add")',
    "warp_reduction_sum": 'cl.warp_reduce(x, "add")',
    "warp_reduction_max": 'cl.warp_reduce(x, "max")',
    "atomic_fmax": "cl.atomic_max(t, i, x)",
    "atomic_fmin": "cl.atomic_min(t, i, x)",
    **dict.fromkeys(("get_max_active_clusters", "get_grid_shape"), 'kernel["persistent", block]'),
    "hardwareinfo": "`cutelite_rt.device()`; in kernels `cl.target`",
    "benchmark": "cl.do_bench(f)",
    **dict.fromkeys(("tex1d", "tex2d", "tex3d"), "a load, `t[i]`, or a copy by TMA, which fills beyond the bounds"),
}
"""Names of CUDA C++, CUTLASS, CuTe DSL and Triton, in lower case and without `_` before them."""

_REDUCED = """write `v.reduce("sum")` of a vector, as `t.load()` of a tile is, or `cl.block_reduce(x)` over threads"""
ATTRIBUTES = {
    "astype": "write `x.to(cl.i32)`, or `cl.i32(x)`",
    **dict.fromkeys(("view", "bitcast"), "write `cl.bitcast(x, cl.u32)` for the bits as another type"),
    "iterator": "write `t.ptr`; `cl.make_tensor(t, layout)` is another tensor at the same address",
    "array": "write `cl.shared(dtype, shape)`, or `cl.make_rmem_tensor(dtype, shape)` in registers",
    "item": "write the element, `t[0]`",
    "data_ptr": "write `t.ptr`",
    "numel": "write `t.size`, the number of elements",
    "dim": "write `t.ndim`, and `t.shape[i]` for an extent",
    **dict.fromkeys(("reshape", "flatten"), "write `cl.make_tensor(t, layout)`, another tensor at the same address"),
    "T": "exchange the indices, or view it by `cl.select(t, mode=[1, 0])`",
    **dict.fromkeys(("sum", "max", "min", "mean", "prod"), _REDUCED),
}
"""The help for attributes that numbers and arrays have elsewhere."""

_KINDS = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "fp": "f", "tfloat": "tf"}


def suggestion(name: str, known: list[str]) -> str:
    """Return the help for the unknown `cl.name`, one of whose `known` names may be meant; "" for no idea."""
    return meant(name) or did_you_mean(_plain(name), known) or did_you_mean(name, known)


def bare_suggestion(name: str, known: list[str], ours: list[str]) -> str:
    """Return the help for an unknown name without `cl.`: `known` names may be meant, or those of `cl`, `ours`."""
    return meant(name) or did_you_mean(name, known) or did_you_mean(_plain(name), [f"cl.{each}" for each in ours])


def _plain(name: str) -> str:
    return name.strip("_").lower().removesuffix("_sync").replace("shfl", "shuffle")


def meant(name: str) -> str:
    """Return the help for a name that another language has; "" for no such name."""
    plain = name.strip("_")
    lower = plain.lower()
    if lower in NAMES:
        return f"write `{NAMES[lower]}`" if "`" not in NAMES[lower] else f"write {NAMES[lower]}"
    number = re.fullmatch(r"([a-z]+)(\d+)(?:_t)?", lower)
    if number and f"{_KINDS.get(number[1])}{number[2]}" in SCALARS:
        return f"write `cl.{_KINDS[number[1]]}{number[2]}`"
    if lower.startswith("mbarrier_") and (method := did_you_mean(lower[9:], dir(Barrier))):
        return f"barriers have methods, as `bars[i].arrive()`; {method}"
    for of_floats in (plain, plain.removeprefix("f").removesuffix("f"), plain.removesuffix("f")):  # `fmaxf`, `expf`
        if of_floats in ("abs", "max", "min", "range", "print", "len"):
            return f"write Python's `{of_floats}`"
        if getattr(getattr(math, of_floats, None), "__module__", None) == math.__name__:  # not a name that it imports
            return f"write `cl.math.{of_floats}`"
    return ""
