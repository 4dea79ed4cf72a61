# ruff: noqa: E501 (a row is a line)
"""Equivalent mutants: those that are as right as the original, each with the reason.

A row names kernels ('' for all, '-name' for all but that one), kinds of mutations, an op, a piece of the mutation's detail (of several kinds,
of that of `weaken`), and a piece of the text of its line (or of a line that called it; pieces of several such lines are joined by " < ", and by " <! " if the second
line itself called the function of the first). If only some of the mutants
that match are equivalent, `only` gives their numbers among these, counted from 0 on (or from -1 down). Rows have no
numbers of lines or mutants, because those change with every edit. `python -m tests.mutate.matrix` checks that every
survivor has a row, and every row a survivor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Row(NamedTuple):
    kernels: str
    kind: str
    op: str
    detail: str
    line: str
    reason: str
    only: tuple[int, ...] = ()

    def of_each_kind(self) -> Iterator[Row]:
        kinds = self.kind.split()
        for kind in kinds:
            yield self._replace(kind=kind, detail=self.detail if kind == "weaken" or len(kinds) == 1 else "")


ARRIVE, EXPECT = "mbarrier.arrive", "mbarrier.arrive.expect_tx"
RELAXED = "is relaxed"

NOTHING_WRITTEN = (
    "what is read behind the barrier comes by copies, whose completion releases it; the thread wrote nothing"
)
SLOWER = "a warpgroup that keeps the registers it has may spill: it is slower, and not wrong"
ONE_TILE = "each warpgroup stores one tile here, so that nothing has been stored before C is brought"
AGAIN = "it makes the flag 0 for the next launch: in this one nobody reads it again"
READS_DONE = "it frees a buffer, and the wgmma that read it are complete: a wait has retired them"
OWN_BLOCK = "threads of this block alone use these barriers, and a barrier of the block stands between"
TWICE = "the same thread fences once more behind it, and nobody uses the barriers in between"
LAST = "the kernel ends: nothing in it touches what was written, and shared memory lives until it has been read"
ALL_IN = "before it every block has waited for all that the others send, and sends nothing after that"
LATER_PIECE = "the next piece is handed on, and given back, after this one, and nobody waits for this one before it"
LATER_LOAD = "the load before that of this stage waits for it too"
LATER_STAGE = "the wait behind it is for a buffer that the same threads free after this one"
NO_CLUSTER = "the tail keeps a block alive for arrivals of others; here all come from the block itself"

COME = "of two buffers at the end it tells of the second, whose copies had come, and were fenced, before the first"
UNUSED = "nothing is loaded again, and the cluster meets behind it"
FENCED = "fence.mbarrier_init before it releases, or every block has waited for all that others send"
ONE_OF_TWO = "one of two fences: of the barriers that copies use, where the other stands behind it, or of the others"
PDL = "it lets the next kernel start early, and orders nothing"
BY_PRODUCER = "what it stores is made of tiles that the producer has loaded behind its own wait"
IN_FLIGHT = "the accumulator stays in flight from the wgmma before, and nothing else touches its registers"
TURNS = "a turn says who multiplies next, and protects no memory"
WHOLE_WARP = "wgmma has been executed by the whole warp since"
WHOLE_GROUP = "a group of wgmma is the warpgroup's: when a warp's wait has retired it, the reads for all four are over"
NO_EPILOGUE = "neither parts of a sum nor what a function finishes has C: nothing is brought for it"
WAITED = "before the first piece, all stores of the tile before have been waited for"
REGISTERS = "it is for a compiler's choice of registers, and orders nothing"
WROTE = "results were written before it, with barriers of the warpgroup"

FEW_TILES = "these loads are of words further back, before the first tile of so few"

HALF = "who writes the flag needs no more than a release, and who has read it no more than an acquire"
BY_COPIES = "what it waits for comes by st.async alone, whose completion is told to all who see the phase complete"
STILL_OPEN = "the phase waits for this arrival, however early bytes come: until then they count below zero"
LARGER_GROUP = "the group has a copy of the next one as well"
WAITED_ONCE = "the pass over the row before this one has waited for all of it"
OWN_PLACE = "what it moves over is the block's own, and ordered by a barrier of the block"
COPY_DONE = "it frees a buffer that a bulk copy has read, for which the thread has waited"
GOES_ON = "who arrives and goes on hands over nothing; who drops out does, and stays strict"
HAS_READ = "it waits for others to have read: their arrival says so, and nothing that they wrote is looked at"
ONE_BLOCK = "one block alone makes all accesses, so that its scope holds them all"
IDLE = "states = idle(self,"
LATER_IDLE = "attention_ragged attention_blocks"
PREPARE, ONCE = "attention_backward_prepare", "it tells of room in a buffer that is filled once"
SCANS = "block_scan begins with a barrier, and before it nobody looks at what the block has counted"
PLACE_FREE = "the queries that it has waited for were brought when the place of these keys was free"
NO_STATE = "the state behind it is not used"
TURN_SAYS = "its turn comes from a warpgroup that has waited for them"
NEXT_TURN_SAYS = "before it waits there again, its turn comes from a warpgroup that has"
NO_MORE = "no further tile of this launch waits there"
STRICT = "there the other warpgroup has no rows, and its release, behind a barrier of both, is strict"
FIRST_PLACE = "no place of the queue has been filled before"
QUERIES_BEFORE = "the queries of a tile come after those before have been read, and they after the queue's place"
PLACE_LATER = "the place is filled behind the tile's values, once those of the tile that it told of are released"
VALUES_BEFORE = (
    "the values before came when the values three before were free, and they after the keys that it waits for"
)
KEYS_BEFORE = (
    "the keys before came when those two before were read, behind values that were turned, which frees this buffer"
)
NO_ASYNC = "the cluster barrier orders it, and nothing of the async proxy uses the barriers"

BY_ROWS = "the last tile is a part, stored row by row once the copies before have read the buffer"
BY_THREADS = "threads store these results themselves: no copy reads what they laid in the buffer"
FROM_REGISTERS = "dk and dv leave from registers, so that these threads have started no copy"
STORED_SINCE = "behind the copy before, threads store a piece themselves, which waits for that copy"
UNCLEARED = "only the values of a tile's first block are cleared by threads, and each tile has more than one block here"
FIRST_TURN = "in the first turn no place has been used before, and nobody has to hand one back"

TAIL, RELEASE, CREATE = "pipe.producer_tail(state)", "pipe.consumer_release(", "Pipeline"
MEET, EMPTY = "cl.cluster_sync()", "empty[s].wait(0, cluster=True)"
BULK_WAIT, INIT_FENCE = "cp.async.bulk.wait_group", "fence.mbarrier_init"
CLUSTER_ARRIVE, CLUSTER_WAIT = "barrier.cluster.arrive", "barrier.cluster.wait"
DENSE = "gemm_swapped gemm_single gemm_finished gemm_gated gemm_rotated gemm_loaded"
FP8 = "gemm_fp8_block gemm_fp8_strips gemm_fp8_parts"
MIXED = "gemm_mixed gemm_mixed_parts"
RINGS = (
    f"hopper_gemm_tiled gemm gemm_pingpong gemm_streamed gemm_cluster gemm_split {DENSE} gemm_along_k {FP8} gemm_grouped "
    f"{MIXED} gemm_prepared gemm_pointers "
    "sparse_gemm pipeline_both"
)
RINGS_OF_WGMMA = f"hopper_gemm_tiled gemm gemm_pingpong gemm_streamed gemm_split {DENSE} gemm_grouped gemm_prepared gemm_pointers pipeline_both"
PINGPONG = "gemm_pingpong gemm_streamed gemm_swapped gemm_finished gemm_gated gemm_loaded"
UNFETCHED = (
    "gemm_split gemm_single gemm_finished gemm_gated gemm_rotated gemm_prepared gemm_along_k gemm_grouped gemm_loaded"
)
ALONE = "pipeline_threads pipeline_cp_async pipeline_both"
BEHIND = "gemm_split gemm_single gemm_finished gemm_gated gemm_rotated gemm_prepared gemm_loaded"
EXPERTS = "experts experts_kept experts_gradient"
CHAINS = f"gemm gemm_pingpong gemm_streamed gemm_cluster gemm_split {DENSE} gemm_along_k gemm_grouped {EXPERTS}"

RAGGED_BACKWARD, APART = "attention_backward_ragged", "attention_backward_apart"
SPLIT, SPLIT_EARLY = "attention_backward_split", "attention_backward_split_128"
SPLIT_WIDE = "attention_backward_split_wide"  # some of its tiles have no queries, and are released all the same
LOOKED_UP = "attention_backward_relative"  # it has a `score_mod` whose terms idle warps look up
EXTENDED = f"attention_backward_extended {LOOKED_UP} {SPLIT}"
LOADED = "attention_backward"  # it has a `score_mod` too, and threads load logsumexps
ORDERED = "attention_backward_ordered"
NARROW = f"{EXTENDED} {ORDERED} {RAGGED_BACKWARD}"
ORDERED_WIDE = "attention_backward_ordered_wide"  # so have some of these
WIDE = f"attention_backward_wide {SPLIT_WIDE}"
CHOSEN = f"attention_backward_chosen {SPLIT_EARLY}"
SKIPPING = f"attention_backward_early {LOADED}"
NARROWER = "attention_backward_96"
EARLY = f"{SKIPPING} {CHOSEN} {NARROWER}"
COVERED = f"{NARROW} {EARLY}"  # dq of the block before is started ahead of dk
BY_PRODUCTS = f"{NARROW} attention_backward_early {CHOSEN} {NARROWER}"  # which alone read what comes with queries
DENSE_FORWARD, RAGGED = "attention attention_late attention_relative attention_blocks attention_fp8", "attention_ragged"
BY_TURNS = DENSE_FORWARD.replace(" attention_late", "")  # all steps of which come in turn
FORWARD = f"{DENSE_FORWARD} {RAGGED}"
DECODE = "attention_decode attention_gather attention_shares"
BY_TMA = "attention attention_relative attention_blocks"
TERMS, HELD_BACK = "attention_relative", "turns keep it within a block of the warpgroup that reads terms"
ALL_SEEN = f"{WIDE} {EARLY} {APART}"  # the last tile alone may have no queries
UNCHANGED = f"{EXTENDED} {ORDERED} {SPLIT_WIDE} {EARLY}"  # no thread writes where values lie
BESIDE = f"{UNCHANGED} attention_backward_wide {ORDERED_WIDE} {RAGGED_BACKWARD}"
BACKWARD = f"{BESIDE} {APART}"
OTHERS = BACKWARD.replace(f" {SPLIT_WIDE}", "").replace(f" {ORDERED_WIDE}", "")
IN_ONE = f"{WIDE} {EARLY} {EXTENDED} {RAGGED_BACKWARD} {APART}"  # in one thread block, whose threads add to dq
THREE_HELD = "with three blocks of dS, its queries came after the other warpgroup had read the dS that was there"
CAME_BEHIND = (
    "dS of the block before has come from the other warpgroup, which had read then what was here three blocks ago"
)
HAS_DV = "replace(self, group=0)"

CLUSTERED = "blackwell_library_cluster"
UNPAIRED = f"blackwell_gemm blackwell_library blackwell_library_scaled blackwell_library_grouped {CLUSTERED}"
PAIRED = "blackwell_gemm_pair blackwell_library_pair blackwell_library_scaled_pair"
PROMOTED = "blackwell_library_fp8 blackwell_library_fp8_pair"
BLACKWELL = f"{PAIRED} {UNPAIRED} {PROMOTED}"
AFTER_FIRST = "before, state = state, state.advance()"
UMMA_TAIL = "loads.producer_tail(state)"
IN_ORDER = "commits of a thread arrive in order, and the wait behind it is for a later one"
WHOLE_LOADS = "wait_load is of whole warps: when one thread arrives, all have read"
READ_ALL = "the warpgroup has met since its last loads, and they were behind all products"
ARRIVED_AT = "threads alone arrive on it, and all have met at a barrier in between"

ATTENTION, AFTER = "blackwell_attention", "tcgen05.fence.after_thread_sync"
WHOLE_STORES = "wait_store is of whole warps: when one thread arrives, all have stored"
NOT_TENSOR_MEMORY = "it orders accesses to tensor memory, and what it moves over is read from shared memory"
TWO_BUFFERS = "the first two pieces find their buffers empty"
LOADS_DONE = "its loads were waited for, its stores read by products that are over, and the barrier comes behind"

LOADER_FENCES = "the block meets behind it, and the warpgroup that loads then fences before each stage"
POINTERS = "gemm_pointers"
OWN_MAP = "the block alone uses the descriptor, so that its scope holds all accesses"
ELECTED = "the same elected lane has waited for the copies, and changes the descriptor"

# fmt: off
_TABLE: tuple[Row, ...] = (
    Row(POINTERS, "weaken", "tensormap.cp_fenceproxy", "", ".update(", OWN_MAP),
    Row(POINTERS, "weaken", "fence.proxy.tensormap", "", ".update(", OWN_MAP),
    Row(POINTERS, "drop", "bar.warp.sync", "", ".update(", ELECTED, (0,)),
    Row(ATTENTION, "drop", INIT_FENCE, "", "rings = (cl.PipelineTmaUmma.create(", TWICE),
    Row(ATTENTION, "drop", INIT_FENCE, "", "return Signals(", TWICE, (0, 1, 2)),
    Row(ATTENTION, "drop", "tcgen05.relinquish_alloc_permit", "", "TmemAllocator", "no other block is there to allocate"),
    Row(ATTENTION, "drop", "tcgen05.fence.before_thread_sync", "", "TmemAllocator", LOADS_DONE),
    Row(ATTENTION, "drop", "bar.warp.sync", "", "warp_arrives(signals.powers[t]) < softmax = step(", WHOLE_STORES),
    Row(ATTENTION, "drop pending", BULK_WAIT, "", "out.acquire()", TWO_BUFFERS, (0, 1)),
    Row(ATTENTION, "drop", "bar.sync", "", "out.acquire()", TWO_BUFFERS, (0, 1)),
    Row(ATTENTION, "late", "bar.sync", "behind tensor.store_all", "out.acquire()", TWO_BUFFERS, (0, 1)),
    Row(ATTENTION, "early", "cp.async.bulk.commit_group", "", "out.send(", "the last group, for which it waits, has the copy", (2,)),
    Row(ATTENTION, "late", AFTER, "behind tensor.load", "", NOT_TENSOR_MEMORY),
    Row(ATTENTION, "late", "setmaxnreg.dec", "behind tensor.load", "", REGISTERS),
    Row(PROMOTED, "drop", INIT_FENCE, "", "cl.PipelineTmaAsync.create(stages", TWICE),
    Row(BLACKWELL, "drop", INIT_FENCE, "", "loads = cl.PipelineTmaUmma.create(", TWICE),
    Row(BLACKWELL, "drop", INIT_FENCE, "", "sums = cl.PipelineUmmaAsync.create(", TWICE, (0,)),
    Row(BLACKWELL, "drop", INIT_FENCE, "", "sums = cl.PipelineUmmaAsync.create(", ARRIVED_AT, (1,)),
    Row(BLACKWELL, "drop", "tcgen05.relinquish_alloc_permit", "", "TmemAllocator", "it is for blocks that come later"),
    Row(BLACKWELL, "drop", "bar.warp.sync", "", "sums.consumer_release(", WHOLE_LOADS),
    Row(BLACKWELL, "drop", "tcgen05.fence.before_thread_sync", "", "TmemAllocator", READ_ALL),
    Row(UNPAIRED, "drop", "bar.sync", "", "TmemAllocator", READ_ALL, (1,)),
    Row("blackwell_library_grouped", "drop pending", BULK_WAIT, "", "ring.tail()", BY_ROWS),
    Row(CLUSTERED, "drop", "mbarrier.wait", "", UMMA_TAIL, IN_ORDER, (0, 1)),
    Row(CLUSTERED, "weaken", "mbarrier.wait", RELAXED, UMMA_TAIL, HAS_READ),
    Row(CLUSTERED, "stage", "tensor.ptr", "", UMMA_TAIL, IN_ORDER, (1,)),
    Row(CLUSTERED, "flip", "xor", "", UMMA_TAIL, "the ring does not turn there", (1,)),
    Row(CLUSTERED, "stage", "add", "", UMMA_TAIL, "nobody uses the state behind the last wait", (-1,)),
    Row(CLUSTERED, "late", CLUSTER_WAIT, "behind tensor.load", "pipeline_init_wait(", OWN_PLACE),
    Row("rows_sums rows_gradients rows_apart rows_apart_cluster", "late", "griddepcontrol.wait", "behind tensor.store_all", "follow()", OWN_PLACE),
    Row("rows_sums", "early", CLUSTER_WAIT, "before tensor.store_all", "each_reduced(", OWN_PLACE),
    Row("rows_sums rows_gradients rows_apart_cluster", "late", CLUSTER_WAIT, "behind tensor.load_all", "each_reduced(", OWN_PLACE),
    Row("rows_gradients rows_planes rows_apart_cluster", "drop", "bar.warp.sync", "", "each_reduced(", "the warp meets at the end of each row too", (0,)),
    Row("rows_planes", "drop", "bar.warp.sync", "", "stream = cl.RowStream.create(", "the block meets when it has weights, before it waits for a row"),
    Row("rows_loss_backward", "drop", "bar.warp.sync", "", "team.reduce(", "there is one reduction, so no slot is used again"),
    Row("rows_narrow_norm rows_quantise", "drop", "bar.warp.sync", "", "each_reduced(", "the warp meets when a row has come, too", (1,)),
    *(Row("rows_softmax_backward", kind, "cp.async.wait_group", "", "stream.walk(None, write, last=True)", WAITED_ONCE) for kind in ("drop", "pending", "late")),
    Row("rows_narrow_norm", "drop", "bar.warp.sync", "", "stream = cl.RowStream.create(", "the block meets when its weights have been asked for, before it waits for a row"),
    Row("rows_narrow_norm", "drop", "bar.sync", "", "stream.hold(", "the team meets when a row has come, before it waits for weights"),
    Row("rows_sort", "drop", "bar.warp.sync", "", "| (ranked(", "behind a warp's last key the block meets", (-1,)),
    Row("rows_scan rows_sort", "drop", "bar.sync", "", "cl.next_tile(", "it is for loops: here a block takes one tile", (0,)),
    Row("rows_sort", "drop", "bar.sync", "", "cl.block_scan(", "it is for loops: here a block scans once", (0,)),
    Row("rows_sort_block", "drop", "bar.warp.sync", "", "| (ranked(", "behind a warp's last key the block meets", (1, 3)),
    Row("rows_sort_block", "drop", "bar.sync", "", "cl.block_scan(", "the block has met behind its ranks", (0, 2)),
    Row("rows_scan", "weaken", "ld.strong", "'cluster', not 'gpu'", "cl.look_back(", FEW_TILES, (1, 2, 3, 5, 6, 7)),
    Row("rows_scan", "weaken", "ld.strong", "'cta', not 'gpu'", "cl.look_back(", FEW_TILES, (1, 2, 3, 5, 6, 7)),
    Row("", "late", EXPECT, "behind cp.async.bulk", "", STILL_OPEN),
    Row("", "late", "mbarrier.expect_tx", "behind cp.async.bulk", "", STILL_OPEN),
    Row("last_block", "weaken", "fence", "semantic is 'release'", 'cl.fence("gpu")', HALF, (0,)),
    Row("last_block", "weaken", "fence", "semantic is 'acquire'", 'cl.fence("gpu")', HALF, (-1,)),
    Row("many_producers", "weaken", "fence", "semantic is 'release'", 'cl.fence("gpu")', HALF, (0,)),
    Row("many_producers", "weaken", "fence", "semantic is 'acquire'", 'cl.fence("gpu")', HALF, (-1,)),
    Row("look_back", "drop", "st.strong", "", "OWN)", "the blocks behind then wait until it knows the sum of all"),
    Row("many_producers", "late", "fence", "behind tensor.load", 'cl.fence("gpu")', OWN_PLACE),
    Row("last_block", "early", "fence", "before tensor.store", 'cl.fence("gpu")', OWN_PLACE, (-1,)),
    Row("fed_by_cp_async cp_async", "late", "cp.async.commit_group", "behind cp.async", "", LARGER_GROUP),
    Row("tensorop_gemm", "late", "cp.async.commit_group", "behind ldmatrix", "", "it closes the same group, later"),
    Row("gemm", "early drop", "cp.async.bulk.commit_group", "", "sums.write(", "the last piece's closes the group of both", (-2,)),
    Row(FP8, "late", "wgmma.commit_group", "", "", "it closes the same group, later"),
    Row("gemm_fp8_strips", "early", "wgmma.wait_group", "", "", "it waits before a load of scales that need not wait"),
    Row("pipeline_both", "late", "wgmma.commit_group", "behind tensor.load", "", "it closes the same group, later"),
    Row("cp_async_mbarrier", "late", "bar.sync", "behind cp.async", "", "the copy is of the thread's own, and arrives later"),
    Row("grid_barrier", "late", "bar.sync", "behind tensor.load", "", "the number is what the thread itself wrote"),
    Row("barrier_again", "early", "bar.sync", "before tensor.load", "", "the barrier behind the next init orders it too"),
    Row("fewer_and_fewer", "late", "bar.sync", "behind tensor.store", "", "nobody touches what it writes before that"),
    Row("bulk_exchange", "late", CLUSTER_WAIT, "behind tensor.store", "cl.cluster_wait()", OWN_PLACE),
    Row("bulk_exchange", "early", CLUSTER_ARRIVE, "before tensor.load", MEET, ALL_IN, (-1,)),
    Row("", "early", "griddepcontrol.launch_dependents", "", "", "it orders no memory, and the next kernel waits"),
    Row("two_buffers", "weaken", BULK_WAIT, "reads alone", "wait_group(0)", LAST),
    Row("registers_move", "weaken", ARRIVE, RELAXED, "full[slot.index].arrive()", NOTHING_WRITTEN),
    Row("fewer_and_fewer", "weaken", ARRIVE, RELAXED, "bar[0].arrive()", GOES_ON),
    Row("st_async", "weaken", "mbarrier.wait", "reach is 'cta'", "bar[0].wait(", BY_COPIES),
    Row("st_async", "late", EXPECT, "behind tensor.store", "", OWN_PLACE),
    Row("look_back", "poll", "cond_br", "it were False", "if seen == OWN:", "it then waits for the sum of all"),
    Row("", "poll", "cond_br", "it were False", "consumer_wait(", "it then waits as if it had not asked"),
    Row("split_sums", "weaken", "mbarrier.wait", "reach is 'cta'", "full[0].wait(", BY_COPIES),
    Row("split_sums", "weaken", "mbarrier.wait", "reach is 'cta'", "empty[0].wait(", HAS_READ),
    Row("barrier_again", "weaken", ARRIVE, RELAXED, "bar[0].arrive()", NOTHING_WRITTEN),
    Row("barrier_again", "drop", "mbarrier.inval", "", "", "the kernel ends: the memory is used no more", (-1,)),
    Row("fed_by_cp_async", "drop", "wgmma.commit_group", "", "", "the group of the next one has both", (0,)),
    Row("fed_by_cp_async", "weaken", "wgmma.mma_async", "without its fence", "", IN_FLIGHT, (-1,)),
    Row("three_roles", "weaken", ARRIVE, RELAXED, "free[slot.index].arrive()", COPY_DONE),
    Row("matrices_through_tma", "weaken", BULK_WAIT, "reads alone", "wait_group(0)", LAST),
    Row("matrices_through_tma", "early", BULK_WAIT, "", "", "it waits for a store, and the load is to another place"),
    Row("matrices_through_tma", "late", "bar.sync", "behind ldmatrix", "", "what is overwritten comes behind it still"),
    Row("votes_in_both", "drop late", INIT_FENCE, "", "", NO_ASYNC),
    Row("votes_in_both", "weaken", "mbarrier.wait", "reach is 'cta'", "full[0].wait(", BY_COPIES),
    Row("votes_in_both", "weaken", CLUSTER_ARRIVE, RELAXED, MEET, "it keeps rounds apart, which share no memory", (-1,)),
    Row("systolic_ring", "drop", INIT_FENCE, "", "", NO_ASYNC),
    Row("systolic_ring", "weaken", CLUSTER_ARRIVE, RELAXED, MEET, FENCED, (0,)),
    Row("systolic_ring", "weaken", "mbarrier.wait", "reach is 'cta'", "read[0].wait(", HAS_READ),
    Row("bulk_exchange", "weaken", CLUSTER_ARRIVE, RELAXED, MEET, ALL_IN, (-1,)),
    # there it releases the block's own part to warps that do not meet again
    Row("-rows_sums -rows_argmax -rows_ends -rows_apart_cluster", "weaken", EXPECT, RELAXED, "", NOTHING_WRITTEN),
    Row("rows_ends rows_apart_cluster", "weaken", EXPECT, RELAXED, "RowStream.create(", "it writes an end of the array's first row alone, which comes to the first stage", (1,)),
    Row("rows_ends rows_apart_cluster", "weaken", EXPECT, RELAXED, "each_reduced(", "when it has written an end of a row, the warp meets before it waits for that row"),
    Row("", "drop", "setmaxnreg.inc", "", "", SLOWER),
    Row("hopper_gemm", "weaken", ARRIVE, RELAXED, "empty[s].arrive()", READS_DONE),
    Row("hopper_gemm", "weaken", BULK_WAIT, "reads alone", "", LAST),
    Row("hopper_gemm_tiled", "drop", "bar.warp.sync", "", RELEASE, WHOLE_WARP),
    Row("hopper_gemm_tiled", "weaken", BULK_WAIT, "reads alone", "", LAST),
    Row(RINGS, "drop", INIT_FENCE, "", CREATE, ONE_OF_TWO),
    Row(RINGS_OF_WGMMA, "weaken", ARRIVE, RELAXED, RELEASE, READS_DONE),
    Row("gemm_along_k", "weaken", ARRIVE, RELAXED, "self.products(", READS_DONE),  # the last stage has zeros written too
    Row("", "drop", "griddepcontrol.launch_dependents", "", "", PDL),
    Row(BEHIND, "drop", "griddepcontrol.wait", "", "plan.wait()", BY_PRODUCER),
    Row(f"{MIXED} {FP8}", "drop", "griddepcontrol.wait", "", "", BY_PRODUCER, (-1,)),
    Row(CHAINS, "weaken", "wgmma.mma_async", "without its fence", ".keep(1)", IN_FLIGHT),
    Row("gemm", "pending", BULK_WAIT, "leaves 1 ", "sums.prepare(", "the last store is of the other buffer"),
    Row("gemm_streamed", "drop pending", BULK_WAIT, "", "sums.prepare(", ONE_TILE),
    Row("gemm_streamed", "weaken", "st.strong", "scope_of_order", "parts.added(", AGAIN),
    Row("gemm", "drop pending", BULK_WAIT, "", "sums.write(", WAITED, (0,)),
    Row("gemm_cluster", "stage", "add", "", TAIL, "nobody uses the state behind the last wait", (-1,)),
    Row(UNFETCHED, "drop count", "mbarrier.init", "", "cl.Fetch.create(", NO_EPILOGUE),
    Row(UNFETCHED, "drop", INIT_FENCE, "", "cl.Fetch.create(", NO_EPILOGUE),
    Row(PINGPONG, "drop", "bar.warp.sync", "", "turns.arrive()", WHOLE_WARP),
    Row(PINGPONG, "weaken", ARRIVE, RELAXED, "turns.arrive()", TURNS),
    Row(PINGPONG, "weaken", "mbarrier.wait", RELAXED, "turns.wait()", TURNS),
    Row("gemm_loaded", "drop weaken", "fence.proxy.async", "", "cl.cooperative_clear(", LOADER_FENCES),
    *(Row("gemm_gated", kind, BULK_WAIT, "", line, STORED_SINCE) for kind in ("drop", "pending") for line in ("piece.result(", "piece.store(piece.others", "sums.ring.tail()")),
    Row("gemm_finished gemm_gated", "drop weaken early", "fence.proxy.async", "", "piece.store(", BY_THREADS),
    Row(f"{EXPERTS} experts_narrow", "drop", INIT_FENCE, "", "GatherPipe.create(", ONE_OF_TWO),
    Row(EXPERTS, "weaken", ARRIVE, RELAXED, RELEASE, READS_DONE),
    Row(f"{EXPERTS} experts_narrow", "stage", "add", "", "pipe.finish(", "nobody uses the state behind the last buffer", (-1,)),
    Row("experts experts_kept", "drop", "cp.async.bulk.commit_group", "", "# of nothing", "the ring has one buffer: all groups are waited for"),
    Row("experts_kept experts_narrow", "drop weaken", "fence.proxy.async", "", "pipe.finish(", COME, (-1,)),
    Row("experts_kept experts_narrow", "drop", "bar.warp.sync", "", "pipe.finish(", COME, (-1,)),
    Row("experts_kept experts_narrow", "weaken", ARRIVE, RELAXED, "pipe.finish(", COME, (-1,)),
    Row("experts_sort experts_place", "drop", "bar.warp.sync", "", "add(found, warp", "nobody looks before the block meets, or at all", (7, -1)),
    Row("experts_narrow", "drop", "setmaxnreg.dec", "", "", "a block of two warpgroups has registers for both as it is"),
    Row("experts_sort", "drop", "bar.sync", "", "cl.block_scan(", "it is for loops: here a block scans once", (0,)),
    Row("experts_place", "drop", "bar.sync", "", "cl.syncthreads()", SCANS, (1,)),
    Row("experts_place", "drop", "bar.sync", "", "cl.block_scan(", "the block has met, and reads counts of memory alone", (0,)),
    Row(PREPARE, "count", "mbarrier.init", "one more", "PipelineTmaAsync.create(1", ONCE, (1,)),
    Row(PREPARE, "count", "mbarrier.init", "one less", "PipelineTmaAsync.create(1", ONCE),
    Row(PREPARE, "drop", INIT_FENCE, "", "PipelineTmaAsync.create(1", ONE_OF_TWO),
    Row(PREPARE, "drop weaken", "mbarrier.wait", RELAXED, "pipe.producer_acquire(state)", FIRST_TURN),
    Row("rows_sample", "drop", "bar.warp.sync", "", "r.collect(", "nobody has used its counter before", (0,)),
    Row("rows_top_k", "drop", "bar.sync", "", "self.team.sync() < at_least(r.bound(", "nobody has used its counter before", (0,)),
    Row("rows_top_k", "drop", "bar.sync", "", "self.team.sync() < self.collect(room", "the block has counted since", (0,)),
    Row("rows_top_k", "poll", "cond_br", "it were False", "if to < room.shape[0]: < at_least(r.bound(", "more than there is room for reach the bound, so that others are put there behind it"),
    Row("rows_top_k", "poll", "cond_br", "it were True", "if to < room.shape[0]: < self.collect(room", "there is room for k elements"),
    Row("rows_sample", "poll", "cond_br", "it were True", "if to < room.shape[0]:", "there is room for a whole row of so few"),
    Row("rows_cluster", "drop", "bar.warp.sync", "", "each_reduced(", "each team has one row, after which nothing is reduced"),
    Row(FP8, "stage", "tensor.ptr", "", "pipe.load(state, *operands", LATER_STAGE, (0,)),
    Row(FP8, "stage", "add", "", "pipe.load(state, *operands", NO_STATE),
    Row("gemm_pointers", "stage", "add", "", "pipe.load(ring, ", NO_STATE, (-1,)),
    Row("gemm_fp8_strips", "drop", "wgmma.fence_operand", "", "", REGISTERS),
    Row("gemm_fp8_strips", "drop", "bar.warp.sync", "", "multiply(end - 1", WROTE, (-1,)),
    Row("gemm_loaded", "flip", "xor", "", AFTER_FIRST, "tiles of two steps begin at the first of two stages", (0,)),
    Row("gemm_single", "flip", "xor", "", AFTER_FIRST, "its only tile begins at the first of four stages", (0,)),
    Row("gemm_single", "drop", ARRIVE, "", f"{RELEASE}before) <! plan.consume(", "nobody waits for the stage of the last step"),
    Row("gemm_cluster", "flip", "xor", "", TAIL, "the ring does not turn there", (0,)),
    Row(FORWARD, "drop", INIT_FENCE, "", "", ONE_OF_TWO),
    Row(DENSE_FORWARD, "weaken", ARRIVE, RELAXED, "consumer_release(states.", READS_DONE),
    Row(FORWARD, "weaken", ARRIVE, RELAXED, "here.queries.consumer_release(here.turn)", READS_DONE),
    Row(RAGGED, "weaken", ARRIVE, RELAXED, "here.keys.consumer_release(states.", READS_DONE),
    Row(RAGGED, "weaken", ARRIVE, RELAXED, "here.values.consumer_release(states.keys.advance(-1))", UNCLEARED),
    Row(FORWARD, "weaken", ARRIVE, RELAXED, "states.order.arrive()", TURNS),
    Row(FORWARD, "weaken", "mbarrier.wait", RELAXED, "states.order.wait()", TURNS),
    Row(FORWARD, "drop", "bar.warp.sync", "", "states.order.arrive() < step(first + left", WHOLE_WARP),
    *(Row(FORWARD, kind, "mbarrier.wait", detail, f"{line} < {IDLE}", reason, only) for kind, detail in (("drop", ""), ("weaken", RELAXED)) for line, reason, only in ( ("here.keys.consumer_wait(states.keys)", PLACE_FREE, (0,)), ("here.keys.consumer_wait(states.keys)", TURN_SAYS, (1,)), ("here.values.consumer_wait(before)", TURN_SAYS, ()), )),
    Row(f"{BY_TURNS} {RAGGED}", "drop", "mbarrier.wait", "", f"here.values.consumer_wait(states.keys) < {IDLE}", NEXT_TURN_SAYS),
    Row(FORWARD, "weaken", "mbarrier.wait", RELAXED, f"here.values.consumer_wait(states.keys) < {IDLE}", NEXT_TURN_SAYS),
    Row(FORWARD, "stage", "tensor.ptr", "", f"here.keys.consumer_wait(states.keys) < {IDLE}", PLACE_FREE, (0,)),
    Row(RAGGED, "stage", "tensor.ptr", "", f"here.values.consumer_wait(states.keys) < {IDLE}", NEXT_TURN_SAYS),
    Row(LATER_IDLE, "stage", "tensor.ptr", "", f"here.keys.consumer_release(states.keys) < {IDLE}", NO_MORE, (1,)),
    Row(LATER_IDLE, "flip", "xor", "", f"return states._replace(keys=states.keys.advance()) < {IDLE}", NO_MORE),
    *(Row("attention_blocks", kind, op, "", f"{line} < {IDLE}", NO_MORE) for kind, op, line in ( ("stage", "tensor.ptr", "here.queries.consumer_release(here.turn)"), ("drop", ARRIVE, "here.queries.consumer_release(here.turn)"), ("stage", "tensor.ptr", "here.values.consumer_release(before)"), ("drop", ARRIVE, "here.values.consumer_release(states.keys)"), ("stage", "add", "return states._replace(keys=states.keys.advance())"), )),
    Row(DENSE_FORWARD, "drop", "bar.sync", "", f"barrier.sync() < {IDLE}", NEXT_TURN_SAYS, (-1,)),
    Row(FORWARD, "weaken", ARRIVE, RELAXED, f"here.values.consumer_release( < {IDLE}", "it has read nothing of them"),
    Row(RAGGED, "weaken", ARRIVE, RELAXED, "here.values.consumer_release(states.keys.advance(-2)) < step(first + left", STRICT, (1,)),
    Row(f"{FORWARD} {DECODE} attention_latent", "drop", "wgmma.fence_operand", "", "", REGISTERS),
    Row("attention_blocks", "flip", "xor", "", "states.keys.advance(-1) < step(first + left", "the ring does not turn there", (0,)),
    Row(FORWARD, "weaken", "atom", "", "tiles", ONE_BLOCK),
    Row(FORWARD, "stage", "tensor.ptr", "", "tiles.begin()", FIRST_PLACE, (0,)),
    Row(FORWARD, "drop weaken late", "mbarrier.wait", RELAXED, "tiles.begin()", FIRST_PLACE),
    Row(BY_TURNS, "drop weaken late", "mbarrier.wait", RELAXED, "tiles.tell(ticket)", QUERIES_BEFORE),
    Row(BY_TURNS, "weaken", ARRIVE, RELAXED, "tiles = tiles.advance()", QUERIES_BEFORE),
    Row(BY_TURNS, "drop", "bar.warp.sync", "", "tiles = tiles.advance()", QUERIES_BEFORE),
    Row(f"{RAGGED} attention_late", "weaken", ARRIVE, RELAXED, "tiles = tiles.advance()", QUERIES_BEFORE, (0,)),  # later ones may be empty
    Row(f"{RAGGED} attention_late", "drop", "bar.warp.sync", "", "tiles = tiles.advance()", QUERIES_BEFORE, (0,)),
    Row(BY_TMA, "drop weaken", "mbarrier.wait", RELAXED, "sk = here.keys.load(sk, (k, storage.k, (batch, kv, key, 0)))", VALUES_BEFORE),
    *(Row(FORWARD, "stage", "add", "", f"here.values.load(sk.advance({at})", NO_STATE, (-1,)) for at in (-2, -1)),
    *(Row(f"{EXTENDED} {ORDERED}", "stage", "add", "", f"self.pipes.{what}.load(", NO_STATE) for what in ("keys", "values")),
    Row("attention_fp8", "stage", "tensor.load", "", "tiles = tiles.advance() < plan.transpose(", "who transposes needs the number of blocks alone, and both tiles begin at the same one", (1, 2, 3, 4)),
    Row("attention_fp8", "stage", "tensor.ptr", "", "tiles = tiles.advance()", "the end is told in a place that was handed back before, and nothing behind it", (-1,)),
    Row("attention_fp8", "drop", "bar.warp.sync", "", "loaded.consumer_release(full)", "the warp has met at the commit just before, and read nothing since"),
    Row("attention_fp8", "late", "mbarrier.wait", "behind ldmatrix", "here.values.producer_acquire(empty)", "it waits to store transposed values, which comes behind that load too"),
    Row("attention_fp8", "weaken", "mbarrier.wait", RELAXED, "here.values.load(sk.advance(-2), ", KEYS_BEFORE),
    Row(TERMS, "drop", "bar.warp.sync", "", "queue.advance() < terms.tabulate(", QUERIES_BEFORE),
    Row(TERMS, "weaken", ARRIVE, RELAXED, "queue.advance() < terms.tabulate(", QUERIES_BEFORE),
    Row(TERMS, "stage", "tensor.load", "", "queue = queue.advance() < terms.tabulate(", "both tiles have the same number there", (1, 2, 4)),
    Row(TERMS, "stage", "tensor.ptr", "", "queue = queue.advance() < terms.tabulate(", "the end is told in a place that was handed back before, and nothing behind it", (-1,)),
    Row(TERMS, "stage", "tensor.ptr", "", "self.pipe.consumer_wait(state) < states = skip_terms(states, here)", HELD_BACK),
    Row(TERMS, "stage", "tensor.ptr", "", "tiles = tiles.advance()", "tiles have blocks for which warpgroups take turns, so that all have read a place before one goes a tile further", (-1,)),
    Row(TERMS, "drop weaken", "mbarrier.wait", RELAXED, "here.terms.skip(states.terms)", HELD_BACK),
    Row(TERMS, "weaken", ARRIVE, RELAXED, "here.terms.skip(states.terms)", "it has read nothing of them"),
    Row(TERMS, "flip", "xor", "", "return state.advance() < states = skip_terms(states, here)", "the ring does not turn there"),
    Row(DECODE, "drop", INIT_FENCE, "", "cl.PipelineTmaAsync.create(", ONE_OF_TWO),
    Row(DECODE, "weaken", ARRIVE, RELAXED, "keys.consumer_release(state)", READS_DONE),
    Row(DECODE, "weaken", ARRIVE, RELAXED, "values.consumer_release(state) < so_far = step(", READS_DONE),
    Row("attention_gather", "weaken", ARRIVE, RELAXED, "values.consumer_release(state) < so_far = add(", READS_DONE),
    Row("attention_gather attention_shares", "drop", ARRIVE, "", "consumer_release(state) < so_far = step(j, so_far, True)", "nothing is loaded behind the blocks with a mask, of which each part has one"),
    *(Row("attention_gather", kind, "bar.sync", "", "cl.NamedBarrier(1, GROUP) <! hold(out, softmax", WHOLE_GROUP) for kind in ("drop", "late")),
    Row("attention_decode attention_shares", "flip", "xor", "", "step(part.end - 2 - i", "the ring does not turn there"),
    Row("attention_shares", "drop", "bar.sync", "", "# all warps have read the queries", WHOLE_GROUP),
    Row("attention_shares", "weaken", "st.strong", "scope_of_order", "cl.store_relaxed(held.flags", AGAIN),
    Row("attention_latent", "late", "setmaxnreg.inc", "behind cp.async", "", REGISTERS),
    Row("attention_latent", "drop", INIT_FENCE, "", "", ONE_OF_TWO),
    *(Row("attention_latent", kind, "mbarrier.wait", detail, "turn = self.hand_on(p[", FIRST_TURN) for kind, detail in (("drop", ""), ("weaken", RELAXED), ("late", ""))),
    Row("attention_latent", "stage", "tensor.ptr", "", "producer_acquire(turn) < turn = self.hand_on(p[", FIRST_TURN, (0,)),
    Row("attention_latent", "stage", "tensor.ptr", "", "producer_acquire(turn) < turn = self.hand_on(p, ratio", LATER_PIECE, (0,)),
    Row("attention_latent", "stage", "tensor.ptr", "", "producer_acquire(turn) < self.hand_on(None", LATER_PIECE),
    Row("attention_latent", "stage", "tensor.ptr", "", "here.powers.consumer_wait(turn)  # the first", LATER_PIECE, (0,)),
    Row("attention_latent", "stage", "tensor.ptr", "", "latents.consumer_release(state) < plan.write(plan.follow(", LATER_LOAD),
    Row("attention_latent", "drop", "wgmma.commit_group", "", "cl.wgmma.commit_group() < out = self.start(p[", "the group of the next piece has them", (0,)),
    Row("attention_latent", "weaken", ARRIVE, RELAXED, "here.latents.consumer_release(state)", READS_DONE),
    Row("sparse_gemm", "drop", "bar.warp.sync", "", "slot.release()", WHOLE_WARP),
    Row("sparse_gemm", "weaken", ARRIVE, RELAXED, "slot.release()", READS_DONE),
    Row("sparse_gemm", "weaken", BULK_WAIT, "reads alone", "", LAST),
    Row("bulk", "weaken", BULK_WAIT, "reads alone", "", LAST),
    Row("multicast", "weaken", CLUSTER_ARRIVE, RELAXED, MEET, FENCED),
    Row("multicast", "drop", CLUSTER_WAIT, "", MEET, ALL_IN, (-1,)),
    Row("multicast", "weaken", ARRIVE, RELAXED, "empty[s].remote(other).arrive()", UNUSED),
    Row("multicast", "drop weaken", "mbarrier.wait", "", EMPTY, UNUSED),
    Row("multicast", "stage", "tensor.ptr", "", EMPTY, UNUSED, (-1,)),
    Row("st_async", "drop", INIT_FENCE, "", "", "the cluster barrier orders it, and st.async is no work of the async proxy"),
    Row("st_async", "weaken", CLUSTER_ARRIVE, RELAXED, MEET, ALL_IN, (-1,)),
    Row("st_async", "drop", CLUSTER_WAIT, "", MEET, ALL_IN, (-1,)),
    Row("st_async", "early", CLUSTER_ARRIVE, "before tensor.store", MEET, "a thread alone reads what it stored there"),
    Row("pipeline_threads", "drop", INIT_FENCE, "", CREATE, OWN_BLOCK),
    Row("pipeline_cp_async", "drop", INIT_FENCE, "", CREATE, OWN_BLOCK),
    Row("pipeline_order", "drop", INIT_FENCE, "", CREATE, OWN_BLOCK),
    Row("pipeline_multicast", "drop", INIT_FENCE, "", CREATE, TWICE, (0,)),
    Row(ALONE, "drop weaken", "mbarrier.wait", "", TAIL, NO_CLUSTER),
    Row(ALONE, "stage", "add", "", TAIL, NO_CLUSTER),
    Row("pipeline_multicast", "drop weaken", "mbarrier.wait", "", TAIL, LATER_STAGE, (0,)),
    Row("pipeline_multicast", "stage", "add", "", TAIL, "nobody uses the state behind the last wait", (-1,)),
    Row("pipeline_order", "drop", "bar.sync", "", CREATE, "the block meets again before the first turn"),
    Row("pipeline_order", "drop", "bar.sync", "", "cl.syncthreads()", "who fills has the first turn, and turns order the rest"),
    Row("pipeline_order", "stage", "tensor.ptr", "", "order.wait()", "it waits for the turn at the second place already at the first: the order is the same, with less at a time", (0,)),
    Row("sums_by_both", "weaken", "atom", "scope_of_order", "cl.atomic_add(sums", ONE_BLOCK),
    Row(BACKWARD, "drop", INIT_FENCE, "", "", ONE_OF_TWO),
    Row(CHOSEN, "stage", "tensor.load", "", "tiles = tiles.advance()", "both tiles have the same number there", (1, 2, 4, 5)),
    *(Row(f"attention_backward_extended {LOOKED_UP}", kind, "mbarrier.wait", detail, f"self.pipes.{what}.load(", "it overwrites what was read two tiles ago; queries behind those of the tile before, which has some, came since", (0,)) for kind, detail in (("drop", ""), ("weaken", RELAXED)) for what in ("keys", "values")),
    *(Row(SKIPPING, kind, "mbarrier.wait", detail, "self.await_queries(state, place) < self.skip(so_far)", "dS of the block before has come from the other warpgroup, which had released the queries before that") for kind, detail in (("drop", ""), ("weaken", RELAXED))),
    *(
        Row(LOADED, "stage", "tensor.ptr", "", f"{where} < self.skip(so_far)", "it need not wait there at all, as said here")
        for where in ("self.await_queries(state, place)", "ds_pipe.producer_acquire(ds_state)")
    ),
    Row(SKIPPING, "stage", "mul", "", "self.await_queries(state, place) < self.skip(so_far)", "it reads none of these queries"),
    Row(SKIPPING, "weaken", ARRIVE, RELAXED, "rows.consumer_release(state) < self.skip(so_far)", "it has read none of these queries"),
    *(Row(SKIPPING, kind, "mbarrier.wait", detail, "ds_pipe.producer_acquire( < self.skip(so_far)", THREE_HELD) for kind, detail in (("drop", ""), ("weaken", RELAXED), ("late", ""))),
    Row(IN_ONE, "weaken", "atom", "", "tiles", ONE_BLOCK),
    Row(BACKWARD, "stage", "tensor.ptr", "", "tiles.begin()", FIRST_PLACE, (0,)),
    Row(BACKWARD, "drop weaken late", "mbarrier.wait", RELAXED, "tiles.begin()", FIRST_PLACE),
    Row(ALL_SEEN, "drop weaken late", "mbarrier.wait", RELAXED, "tiles.tell(", QUERIES_BEFORE),
    Row(ALL_SEEN, "weaken", ARRIVE, RELAXED, "tiles.advance()", QUERIES_BEFORE),
    Row(ALL_SEEN, "drop", "bar.warp.sync", "", "tiles.advance()", QUERIES_BEFORE),
    *(Row(RAGGED_BACKWARD, kind, op, detail, line, "keys of the tile before, whose place this one takes, were released since") for kind, op, detail, line in ( ("drop", "mbarrier.wait", "", "tiles.tell("), ("weaken", "mbarrier.wait", RELAXED, "tiles.tell("), ("late", "mbarrier.wait", "", "tiles.tell("), ("weaken", ARRIVE, RELAXED, "number, tiles = cl.u32(0), tiles.advance()"), ("drop", "bar.warp.sync", "", "number, tiles = cl.u32(0), tiles.advance()"), )),
    *(Row(kernels, kind, word, detail, where, QUERIES_BEFORE) for kernels, where in ( (EXTENDED, "number, tiles = cl.u32(0), tiles.advance()"), (RAGGED_BACKWARD, "tiles = tiles.advance() < compute("), ) for kind, word, detail in (("weaken", ARRIVE, RELAXED), ("drop", "bar.warp.sync", ""))),
    Row(OTHERS.replace(" attention_backward_wide", ""), "drop", "bar.warp.sync", "", "keys.consumer_release(self.kv_state)", WHOLE_WARP),
    Row(f"{WIDE} {ORDERED_WIDE}", "drop", "bar.warp.sync", "", "keys.consumer_release(self.kv_state) < compute_tile(number)", "all warps of both warpgroups have met since they read keys"),  # but `Adder`, which has multiplied nothing in tiles without queries
    Row(OTHERS, "drop", "bar.warp.sync", "", "values.consumer_release(self.kv_state)", WHOLE_WARP),
    Row(f"{SPLIT_WIDE} {ORDERED_WIDE}", "drop", "bar.warp.sync", "", "values.consumer_release(self.kv_state)", "the warp has met at the release of keys just before, and read nothing since"),
    *(Row(kernels, kind, BULK_WAIT, "", "cl.cp_async_bulk_wait_group(0, read=True) <! compute(", reason) for kernels, reason in ((f"{SPLIT} {SPLIT_EARLY}", FROM_REGISTERS), (RAGGED_BACKWARD, BY_ROWS)) for kind in ("drop", "pending")),
    Row(BACKWARD, "weaken", ARRIVE, RELAXED, "keys.consumer_release(self.kv_state)", READS_DONE),
    Row(UNCHANGED, "weaken", ARRIVE, RELAXED, "values.consumer_release(self.kv_state)", READS_DONE),
    Row(f"attention_backward_wide {ORDERED_WIDE}", "weaken", ARRIVE, RELAXED, "values.consumer_release(self.kv_state) < replace(self, group=1)", READS_DONE),
    Row(BY_PRODUCTS, "weaken", ARRIVE, RELAXED, "rows.consumer_release(state)", READS_DONE),
    Row(f"{COVERED} {APART} {WIDE} {ORDERED_WIDE}", "drop", "wgmma.fence_operand", "", "", REGISTERS),
    Row(COVERED, "drop", "wgmma.commit_group", "", "dv = multiply(", LARGER_GROUP, (1,)),
    Row(ORDERED_WIDE, "weaken", ARRIVE, RELAXED, "tiles = tiles.advance() < compute(", PLACE_LATER),
    Row(ORDERED_WIDE, "drop", "bar.warp.sync", "", "tiles = tiles.advance() < compute(", PLACE_LATER),
    Row(COVERED, "late", "wgmma.commit_group", "", "dv = multiply(", "it closes the same group, later"),
    Row(BACKWARD, "drop", "bar.warp.sync", "", "rows.consumer_release(state)", WHOLE_WARP),
    Row(BACKWARD, "drop", "bar.warp.sync", "", "ds_pipe.consumer_release(", WHOLE_WARP),
    Row(BACKWARD, "weaken", ARRIVE, RELAXED, "ds_pipe.consumer_release(", READS_DONE),
    Row(COVERED.replace(f" {ORDERED}", ""), "early", "wgmma.wait_group", "", "dv, dk = cl.wgmma.wait_group(0, dv, dk)", "it waits sooner: time alone"),
    Row(f"{CHOSEN} {SKIPPING}", "drop weaken", "mbarrier.wait", RELAXED, "ds_pipe.producer_acquire(ds_state)", THREE_HELD),
    *(Row(NARROWER, kind, "mbarrier.wait", detail, "ds_pipe.producer_acquire(", CAME_BEHIND) for kind, detail in (("drop", ""), ("weaken", RELAXED), ("late", ""))),
    Row(APART, "drop early", "cp.async.bulk.commit_group", "", "self.write((grads[1],), 1, self.own(1))", LARGER_GROUP),
    Row(LOOKED_UP, "stage", "add", "", "state.advance() < added, _ = self.terms.read(", NO_STATE),
    Row(LOOKED_UP, "drop", "bar.warp.sync", "", "tiles = tiles.advance() < Block(*shared).serve(tiles", QUERIES_BEFORE, (0,)),
    Row(LOOKED_UP, "weaken", ARRIVE, RELAXED, "tiles = tiles.advance() < Block(*shared).serve(tiles", QUERIES_BEFORE, (0,)),
    Row(LOOKED_UP, "stage", "tensor.ptr", "", "tiles = tiles.advance() < compute(", "its release of the other place comes a tile late, and tiles are told in order; who looks up keeps phases apart", (1,)),
    Row(LOADED, "late", "wgmma.wait_group", "", "dp", "what it moves over, a copy has brought"),
    *(Row(f"{WIDE} {ORDERED_WIDE}", kind, "mbarrier.wait", detail, f"p_pipe.producer_acquire( < {HAS_DV}", WHOLE_GROUP) for kind, detail in (("drop", ""), ("weaken", RELAXED), ("late", ""))),
    Row(f"{WIDE} {ORDERED_WIDE}", "drop", "bar.warp.sync", "", "p_pipe.consumer_release(", WHOLE_WARP),
    Row(f"{WIDE} {ORDERED_WIDE}", "weaken", ARRIVE, RELAXED, "p_pipe.consumer_release(", READS_DONE),
    Row(f"{WIDE} {ORDERED_WIDE}", "weaken", "mbarrier.wait", RELAXED, "keys.consumer_wait(self.kv_state) < Adder(", "those who made dS of these keys have waited for them"),
    Row(f"attention_backward_wide {ORDERED_WIDE}", "weaken", "mbarrier.wait", RELAXED, "self.pipes.keys.load(", "dk takes the place of keys when `Adder` has read them, and values, which have been waited for, are released then"),
    *(Row(ORDERED_WIDE, kind, op, detail, "tiles = tiles.advance() < Block(*shared, warp - 1).serve(tiles", "in the first tile, which has queries, `Adder` meets it before it releases keys, and the place is filled later", (0,)) for kind, op, detail in (("drop", "bar.warp.sync", ""), ("weaken", ARRIVE, RELAXED))),
    Row(SPLIT_WIDE, "stage", "tensor.ptr", "", "ds_pipe.consumer_release(state) < Adder(", "of two places one is handed back a block later, and the other's next writer has waited for that one"),
    *(Row(kernels, "stage", "tensor.ptr", "", line, "the next place is told when the first tile's three blocks are loaded, for two of which dS has room without it", (0,)) for kernels, line in ( (f"{WIDE} {ORDERED_WIDE}", "number, tiles = cl.u32(0), tiles.advance() < Adder("), (ORDERED_WIDE, "tiles = tiles.advance() < Block(*shared, warp - 1).serve(tiles"), )),
    Row(ORDERED_WIDE, "weaken", ARRIVE, RELAXED, "number, tiles = cl.u32(0), tiles.advance()", QUERIES_BEFORE),
    Row(ORDERED_WIDE, "drop", "bar.warp.sync", "", "number, tiles = cl.u32(0), tiles.advance()", QUERIES_BEFORE),
    *(Row(kernels, kind, "mbarrier.wait", detail, "self.pipes.keys.load(", "values, which are released after keys, have been waited for", only) for kernels, kind, detail, only in ( (APART, "drop", "", (0, -1)), (APART, "weaken", RELAXED, ()), )),
    *(Row(f"{APART} {NARROWER}", kind, op, detail, "self.await_queries(state, place) < self.skip(so_far)", "it reads none of these queries") for kind, op, detail in ( ("drop", "mbarrier.wait", ""), ("weaken", "mbarrier.wait", RELAXED), ("stage", "mul", ""), )),
    *(Row(APART, kind, op, detail, "ds_pipe.producer_acquire(ds_state) < self.skip(so_far)", "both warpgroups have met since, at the end of the tile before") for kind, op, detail in ( ("drop", "mbarrier.wait", ""), ("weaken", "mbarrier.wait", RELAXED), ("late", "mbarrier.wait", ""), )),
    Row(APART, "weaken", ARRIVE, RELAXED, "rows.consumer_release(state)", READS_DONE),
    Row(f"{WIDE} {ORDERED_WIDE}", "weaken", ARRIVE, RELAXED, "rows.consumer_release(state)", "the other warpgroup, which has seen P or dS from this one, releases them behind that"),
    Row(f"{WIDE} {ORDERED_WIDE}", "stage", "tensor.ptr", "", "rows.consumer_release(state)", "of two stages one is released a step later, and the loads of the other, a step sooner, come behind its own"),
    Row(f"attention_backward_wide {ORDERED_WIDE}", "late", "bar.sync", "behind stmatrix", f"EVERYONE.sync() < {HAS_DV}", "it stores first where values of its own keys were, which it alone has read"),
    Row(f"attention_backward_wide {ORDERED_WIDE}", "drop", "bar.sync", "", "self.await_stores()", "the thread that waits for stores releases the tile too"),
    Row(APART, "drop", "wgmma.commit_group", "", "dv = multiply(held.to(", LARGER_GROUP),
    Row(APART, "drop", "bar.sync", "", "self.await_stores()", "the thread that waits for stores releases the tile too", (-1,)),
    Row(f"{ORDERED} {ORDERED_WIDE}", "weaken", "red", "", "cl.red(", "blocks add in turn: nobody else adds meanwhile"),
    Row(f"{ORDERED} {ORDERED_WIDE}", "drop", "bar.warp.sync", "", "cl.syncwarp() < state = work(here, place, state)", "each lane has waited for the turn itself, and the barrier behind it is for whole warps"),
    Row(ORDERED, "stage", "tensor.ptr", "", "tiles = tiles.advance() < Block(*shared, warp - 1).serve(tiles", "the next place is told later, when all queries of the first tile are loaded: these three blocks need no turn", (0,)),
    Row(IN_ONE, "weaken", "red", "", "cl.red(", "there is one block: nobody else adds"),
)
# fmt: on

ROWS = tuple(row for rows in _TABLE for row in rows.of_each_kind())


def row_of(kernel: str, kind: str, op: str, detail: str, lines: tuple[str, ...], which: tuple[int, int]) -> Row | None:
    """Return the row of a mutant. `which`: its number among mutants with equal facts, from 0 up and from -1 down."""
    for row in ROWS:
        fits = _holds(row.kernels, kernel) and row.kind == kind and row.op == op and row.detail in detail
        if row.only and not set(row.only).intersection(which):
            continue
        if fits and all(_comes(piece.split(" <! "), lines) for piece in row.line.split(" < ")):
            return row
    return None


def _holds(kernels: str, kernel: str) -> bool:
    named = kernels.split()
    return kernel in named or (all(name.startswith("-") for name in named) and f"-{kernel}" not in named)


def _comes(pieces: list[str], lines: tuple[str, ...]) -> bool:
    """Tell whether lines that follow each other have these pieces."""
    starts = range(len(lines) - len(pieces) + 1)
    return any(all(piece in lines[i + k] for k, piece in enumerate(pieces)) for i in starts)
