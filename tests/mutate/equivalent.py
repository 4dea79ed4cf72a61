# ruff: noqa: E501 (a row is a line)
"""Mutants that are as right as the original, each with the reason why.

A row names a kernel ('' for all), a kind of mutation, an op, a piece of the mutation's detail, and a piece of its line
(or of a line that called it); where others of that line are no equals, `only` has the numbers. A test holds that every survivor has a row, and every row a survivor.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    kernel: str
    kind: str
    op: str
    detail: str
    line: str
    reason: str
    only: tuple[int, ...] = ()


GEMM, TILED = "examples/hopper_gemm.py", "examples/hopper_gemm_tiled.py"
CLUSTER, COPIES, PIPELINES = "hopper/test_cluster.py", "hopper/test_copies.py", "lib/test_pipelines.py"

ARRIVE, EXPECT = "mbarrier.arrive", "mbarrier.arrive.expect_tx"
RELAXED = "is relaxed"

NOTHING_WRITTEN = (
    "what is read behind the barrier comes by copies, whose completion releases it; the thread wrote nothing"
)
SLOWER = "a warpgroup that keeps the registers it has may spill: it is slower, and not wrong"
READS_DONE = "it frees a buffer: there are only reads before it, and they are complete"
OWN_BLOCK = "threads of this block alone use these barriers, and a barrier of the block stands between"
TWICE = "the same thread fences once more behind it, and nobody uses the barriers in between"
LAST = "the kernel ends: nothing in it touches what was written, and shared memory lives until it has been read"
ALL_IN = "before it every block has waited for all that the others send, and sends nothing after that"
LATER_STAGE = "the wait behind it is for a buffer that the same threads free after this one"
NO_CLUSTER = "the tail keeps a block alive for arrivals of others; here all come from the block itself"

ROWS: tuple[Row, ...] = (
    Row("", "weaken", EXPECT, RELAXED, "", NOTHING_WRITTEN),
    Row("", "drop", "setmaxnreg.inc", "", "", SLOWER),
    Row("hopper_gemm", "weaken", ARRIVE, RELAXED, f"{GEMM}:78", READS_DONE),
    Row("hopper_gemm", "weaken", "cp.async.bulk.wait_group", "reads alone", GEMM, LAST),
    Row(
        "hopper_gemm_tiled",
        "drop",
        "fence.mbarrier_init",
        "",
        TILED,
        "one of two fences: of the barriers that copies "
        "use, where the other stands behind it; or of those that only threads of the block use",
    ),
    Row(
        "hopper_gemm_tiled",
        "drop",
        "bar.warp.sync",
        "",
        TILED,
        "wgmma.wait_group has just been executed by the whole warp",
    ),
    Row("hopper_gemm_tiled", "weaken", ARRIVE, RELAXED, TILED, READS_DONE),
    Row("hopper_gemm_tiled", "weaken", "cp.async.bulk.wait_group", "reads alone", f"{TILED}:96", LAST),
    Row("bulk", "weaken", "cp.async.bulk.wait_group", "reads alone", COPIES, LAST),
    Row(
        "multicast",
        "weaken",
        "barrier.cluster.arrive",
        RELAXED,
        f"{CLUSTER}:77",
        "fence.mbarrier_init before it releases",
    ),
    Row("multicast", "weaken", ARRIVE, RELAXED, f"{CLUSTER}:90", READS_DONE),
    Row(
        "multicast",
        "drop",
        "mbarrier.wait",
        "",
        f"{CLUSTER}:91",
        "nothing is loaded again, and the cluster meets behind it",
    ),
    Row(
        "multicast",
        "weaken",
        "mbarrier.wait",
        "",
        f"{CLUSTER}:91",
        "nothing is loaded again, and the cluster meets behind it",
    ),
    Row(
        "multicast",
        "stage",
        "tensor.ptr",
        "",
        f"{CLUSTER}:91",
        "nothing is loaded again, and the cluster meets behind it",
    ),
    Row("multicast", "weaken", "barrier.cluster.arrive", RELAXED, f"{CLUSTER}:92", ALL_IN),
    Row("multicast", "drop", "barrier.cluster.wait", "", f"{CLUSTER}:92", ALL_IN),
    Row(
        "st_async",
        "drop",
        "fence.mbarrier_init",
        "",
        CLUSTER,
        "the cluster barrier orders the initialisation, and st.async is no work of the async proxy",
    ),
    Row("st_async", "weaken", "barrier.cluster.arrive", RELAXED, f"{CLUSTER}:55", ALL_IN),
    Row("st_async", "drop", "barrier.cluster.wait", "", f"{CLUSTER}:55", ALL_IN),
    Row("pipeline_threads", "drop", "fence.mbarrier_init", "", PIPELINES, OWN_BLOCK),
    Row("pipeline_cp_async", "drop", "fence.mbarrier_init", "", PIPELINES, OWN_BLOCK),
    Row("pipeline_order", "drop", "fence.mbarrier_init", "", PIPELINES, OWN_BLOCK),
    Row("pipeline_multicast", "drop", "fence.mbarrier_init", "", PIPELINES, TWICE, (6,)),
    Row("pipeline_threads", "drop", "mbarrier.wait", "", f"{PIPELINES}:41", NO_CLUSTER),
    Row("pipeline_threads", "weaken", "mbarrier.wait", "", f"{PIPELINES}:41", NO_CLUSTER),
    Row("pipeline_cp_async", "drop", "mbarrier.wait", "", f"{PIPELINES}:41", NO_CLUSTER),
    Row("pipeline_cp_async", "weaken", "mbarrier.wait", "", f"{PIPELINES}:41", NO_CLUSTER),
    Row("pipeline_threads", "weaken", ARRIVE, RELAXED, f"{PIPELINES}:48", READS_DONE),
    Row("pipeline_cp_async", "weaken", ARRIVE, RELAXED, f"{PIPELINES}:48", READS_DONE),
    Row("pipeline_order", "drop", "bar.sync", "", f"{PIPELINES}:150", "the block meets again before the first turn"),
    Row(
        "pipeline_order",
        "drop",
        "bar.sync",
        "",
        f"{PIPELINES}:154",
        "the group that fills has the first turn, and the turns order the others behind it",
    ),
    Row(
        "pipeline_order", "drop", "bar.warp.sync", "", f"{PIPELINES}:161", "lane 0 alone touches what the turn protects"
    ),
    Row("pipeline_multicast", "drop", "mbarrier.wait", "", f"{PIPELINES}:80", LATER_STAGE, (31,)),
    Row("pipeline_multicast", "weaken", "mbarrier.wait", "", f"{PIPELINES}:80", LATER_STAGE, (32,)),
    Row(
        "pipeline_multicast", "stage", "add", "", f"{PIPELINES}:80", "nobody uses the state behind the last wait", (39,)
    ),
    Row("pipeline_cp_async", "stage", "add", "", f"{PIPELINES}:41", NO_CLUSTER),
    Row("pipeline_threads", "stage", "add", "", f"{PIPELINES}:41", NO_CLUSTER),
)


OVERRUN = (
    "it may wait for a phase after the next one has completed as well, and then hangs; found where a schedule shows it"
)

MISSED: tuple[Row, ...] = (
    Row("pipeline_cp_async", "stage", "tensor.ptr", "", f"{PIPELINES}:41", OVERRUN, (24,)),
    Row("pipeline_order", "stage", "tensor.ptr", "", f"{PIPELINES}:157", OVERRUN, (21,)),
)
"""Mutants that can misbehave and that the checker does not find, with what it would have to know."""


def row_of(kernel: str, number: int, kind: str, op: str, detail: str, lines: tuple[str, ...]) -> Row | None:
    for row in (*ROWS, *MISSED):
        fits = row.kernel in ("", kernel) and row.kind == kind and row.op == op and row.detail in detail
        if row.only and number not in row.only:
            continue
        if fits and any(row.line in line for line in lines):
            return row
    return None


def reason(kernel: str, number: int, kind: str, op: str, detail: str, lines: tuple[str, ...]) -> str:
    """Why nothing is found of the mutant; '' for one that must be found."""
    row = row_of(kernel, number, kind, op, detail, lines)
    return row.reason if row else ""
