"""The words that kernel authors import: annotations, run-time values and intrinsics. Each word emits ops.

emit         the base of all words: ops appended, errors at the user's line, proxies of SSA values
promotion    numbers of all kinds as SSA values; the types in which two of them meet
fragments    parts, reductions and broadcasts of vectors with a shape
values       `Scalar` and `Vector`, with Python's operators; `where`, `vector`, `full`
annotations  annotations of a kernel's parameters, and the types that they become

tensor       memory seen through a layout; `coord`, `shaped`, `algebra`, `whole`, `storage` and `address` go with it
index        indices of threads, blocks, clusters; `warp`, `words`, `sync`, `registers` and `cluster`: how they
             cooperate
math         mathematics; `fastmath`, `libm` and `libm_tables` say how, `straight` computes it of literals; `bits` and
             `convert` for bits and conversions
mbarrier     barriers that count arrivals and bytes; `atomics` and `debug`: atomics, prints and traps
copy         copies by atoms: `copy_ops`, `tile_copy`, `plain_copy`, `cp_async`, `tma`, `smem_layouts`
mma          matrix products by atoms: `mma_ops`, `matrix`, `wgmma`
loops        `range` and `static_range`; `pipeline_state` and `pipeline_checks` serve the rings of `cutelite.lib`
attempt      calls that are undone where they return None
tcgen05      Blackwell's products and tensor memory; `f32x2`, `multimem`, `packed`: pairs of f32, several GPUs, 4-bit
             numbers
dual         numbers with a derivative; `given`, `biased`, `places`, `apart`, `lazy`, `tables`, `learned`, `state`,
             `torch_names`, `array_names` serve functions that callers pass; `python_names`: what Python's numbers have
dims         dims made in a kernel; `pointers` and `tensormap`: arrays and descriptors whose addresses only the GPU
             knows
foreign      names of other languages, for help with unknown ones
extern       linked functions and inline PTX
profile      events that a kernel records
"""
