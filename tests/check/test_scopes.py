"""Scopes: fences, strong accesses and arrivals order the threads that the scopes of both sides hold, and no others."""

# mypy: disable-error-code="arg-type"
# (scopes and semantics are words that a test puts together)

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, i32
from tests.check.slips import assert_caught, report
from tests.pieces import barriers

N = cl.dims("N")


@cl.kernel(block=32)
def passed(data: Tensor[i32, (32,)], flag: Tensor[i32, (1,)], out: Tensor[i32, (32,)], slip: Constexpr[str]) -> None:
    """Block 0 writes data and then a flag; block 1 polls the flag and then reads the data. `slip`: 'writer; reader'."""
    writer, _, reader = (slip or "gpu relaxed.gpu; relaxed.gpu gpu").partition("; ")
    t = cl.thread_idx.x
    if cl.block_idx.x == 0:
        data[t] = t
        cl.syncwarp()
        if t == 0:
            for word in writer.split():
                step(flag, word)
    else:
        seen = cl.i32(0)
        for word in reader.split():
            kind, _, scope = word.partition(".")
            if kind == "acquire":
                while seen == 0:
                    seen = cl.load_acquire(flag, 0, scope=scope)
            elif kind == "relaxed":
                while seen == 0:
                    seen = cl.load_relaxed(flag, 0, scope=scope)
            elif kind == "volatile":
                while seen == 0:
                    seen = cl.load_volatile(flag, 0)
            elif kind == "cas":
                while seen == 0:
                    seen = cl.atomic_cas(flag, 0, 1, 2, semantic=scope)
            else:
                step(flag, word)
        out[t] = data[31 - t]


def step(flag: Any, word: str) -> None:
    """A fence, of its scope or scope and semantic; or a write of the flag."""
    kind, _, scope = word.partition(".")
    if kind == "release":
        cl.store_release(flag, 0, 1, scope=scope)
    elif kind == "relaxed":
        cl.store_relaxed(flag, 0, 1, scope=scope)
    elif kind == "again":  # another strong write of the same thread, behind a release
        cl.store_relaxed(flag, 0, 2)
    elif kind == "volatile":
        cl.store_volatile(flag, 0, 1)
    elif kind == "add":
        cl.atomic_add(flag, 0, 1, semantic=scope)
    elif kind == "red":
        cl.red(flag, 0, "add", 1, semantic=scope)
    else:
        cl.fence(kind, scope or "acq_rel")


ARRAYS = (np.zeros(32, np.int32), np.zeros(1, np.int32), np.zeros(32, np.int32))

ORDERS = [
    "release.gpu; acquire.gpu",
    "release.sys; acquire.gpu",
    "gpu relaxed.gpu; acquire.gpu",
    "release.gpu; relaxed.gpu gpu",
    "gpu volatile; volatile gpu",
    "gpu cta relaxed.gpu; relaxed.gpu gpu",
    "cta gpu relaxed.gpu; relaxed.gpu cta gpu",
    "gpu relaxed.gpu; relaxed.gpu gpu cta",
    "gpu.release relaxed.gpu; relaxed.gpu gpu.acquire",
    "gpu.sc relaxed.gpu; relaxed.gpu gpu.sc",
    "add.release; acquire.gpu",
    "red.release; cas.acquire",
    "gpu red.relaxed; cas.relaxed gpu",
    "add.release add.relaxed; acquire.gpu",
    "release.gpu again; acquire.gpu",
]
"""What is right."""

LACKS = [
    "relaxed.gpu; relaxed.gpu gpu",
    "gpu relaxed.gpu; relaxed.gpu",
    "gpu relaxed.gpu; relaxed.gpu cta",
    "gpu relaxed.gpu; relaxed.gpu cluster",
    "cta relaxed.gpu; relaxed.gpu gpu",
    "cluster relaxed.gpu; acquire.gpu",
    "cta volatile; volatile gpu",
    "gpu volatile; volatile cta",
    "release.cta; acquire.gpu",
    "release.gpu; acquire.cta",
    "release.gpu; acquire.cluster",
    "gpu relaxed.cta; acquire.gpu",
    "gpu relaxed.gpu; relaxed.cta gpu",
    "gpu.acquire relaxed.gpu; acquire.gpu",
    "release.gpu; relaxed.gpu gpu.release",
    "release.gpu; relaxed.gpu cta.sc",
    "add.relaxed; acquire.gpu",
    "add.acquire; acquire.gpu",
    "add.release; cas.release",
    "red.release; cas.relaxed",
    "relaxed.gpu gpu; acquire.gpu",
]
"""What orders too little, or nothing."""


@pytest.mark.parametrize("order", ORDERS)
def test_what_orders_two_blocks(order: str) -> None:
    found = report(passed, 2, ARRAYS, order)
    assert found, found


@pytest.mark.parametrize("lack", LACKS)
def test_what_does_not_order_two_blocks(lack: str) -> None:
    assert_caught(passed, 2, ARRAYS, lack, "race")


@pytest.mark.parametrize("order", ["cta relaxed.cta; relaxed.cta cta", "release.cta; acquire.cta"])
def test_within_a_block_its_scope_will_do(order: str) -> None:
    assert report(inside, 1, ARRAYS, order), report(inside, 1, ARRAYS, order)
    assert report(inside, 1, ARRAYS, "relaxed.cta; relaxed.cta cta").kinds == {"race"}


@cl.kernel(block=64)
def inside(data: Tensor[i32, (32,)], flag: Tensor[i32, (1,)], out: Tensor[i32, (32,)], slip: Constexpr[str]) -> None:
    """As `passed`, between the warps of a block."""
    writer, _, reader = slip.partition("; ")
    t = cl.thread_idx.x
    if t == 0:
        data[t] = t
        for word in writer.split():
            step(flag, word)
    elif t >= 32:
        for word in reader.split():
            kind, _, scope = word.partition(".")
            if kind == "acquire":
                while cl.load_acquire(flag, 0, scope=scope) == 0:
                    pass
            elif kind == "relaxed":
                while cl.load_relaxed(flag, 0, scope=scope) == 0:
                    pass
            else:
                step(flag, word)
        out[t - 32] = data[0]


@cl.kernel(block=32)
def counted(bins: Tensor[i32, (4,)], out: Tensor[i32, (N,)], slip: Constexpr[str]) -> None:
    """Atomics of every block on the same numbers, which nothing else touches."""
    if slip == "of the block":
        cl.atomic_add(bins, cl.thread_idx.x % 4, 1, scope="cta")
    elif slip == "of one block":
        if cl.block_idx.x == 0:
            cl.atomic_add(bins, cl.thread_idx.x % 4, 1, scope="cta")
        else:
            cl.atomic_add(bins, cl.thread_idx.x % 4, 1)
    elif slip == "a load":
        cl.atomic_add(bins, cl.thread_idx.x % 4, 1)
        out[cl.block_idx.x * 32 + cl.thread_idx.x] = cl.load_relaxed(bins, cl.thread_idx.x % 4, scope="cta")
    else:
        cl.atomic_add(bins, cl.thread_idx.x % 4, 1)


@pytest.mark.parametrize("slip", ["of the block", "of one block", "a load"])
def test_atomics_race_with_those_that_their_scope_leaves_out(slip: str) -> None:
    lines = ("give both a scope that holds the threads of both",)
    assert_caught(counted, 2, (np.zeros(4, np.int32), np.zeros(64, np.int32)), slip, "race", lines)


def test_atomics_of_the_block_do_for_one_block() -> None:
    assert report(counted, 1, (np.zeros(4, np.int32), np.zeros(64, np.int32)), "of the block")


@cl.kernel(block=32, cluster=2)
def sent(out: Tensor[i32, (64,)], slip: Constexpr[str]) -> None:
    """Each block writes to the other one, and they meet by a relaxed arrival with a fence before it."""
    inbox = cl.shared(i32, (32,))
    t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    inbox[t] = 0
    cl.cluster_sync()
    cl.mapa(inbox, 1 - rank)[t] = t
    if slip != "no fence":
        cl.fence("cluster" if slip != "fence of the block" else "cta")
    cl.cluster_arrive(relaxed=True)
    cl.cluster_wait()
    out[cl.block_idx.x * 32 + t] = inbox[31 - t]


@pytest.mark.parametrize("slip", ["no fence", "fence of the block"])
def test_fences_before_a_relaxed_arrival_at_the_cluster(slip: str) -> None:
    assert_caught(sent, 2, (np.zeros(64, np.int32),), slip, "race")


@cl.kernel(block=32, cluster=2)
def told(out: Tensor[i32, (64,)], slip: Constexpr[str]) -> None:
    """Stores into the other block, told to it by an arrival on its mbarrier; both relaxed, with fences."""
    inbox, bar = cl.shared(i32, (32,)), barriers(32)
    t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    cl.cluster_sync()
    cl.mapa(inbox, 1 - rank)[t] = t
    if slip != "no fence before":
        cl.fence("cta" if slip == "fence of the block before" else "cluster")
    bar[0].remote(1 - rank).arrive(cluster=True, relaxed=True)
    bar[0].wait(0, cluster=slip != "wait of the block", relaxed=True)
    if slip != "no fence behind":
        cl.fence("cta" if slip == "fence of the block behind" else "cluster")
    out[cl.block_idx.x * 32 + t] = inbox[31 - t]
    cl.cluster_sync()


@pytest.mark.parametrize(
    "slip",
    [
        "no fence before",
        "fence of the block before",
        "no fence behind",
        "fence of the block behind",
        "wait of the block",
    ],
)
def test_fences_around_a_relaxed_arrival_and_wait(slip: str) -> None:
    assert_caught(told, 2, (np.zeros(64, np.int32),), slip, "race")


@cl.kernel(block=32)
def exclusive(turn: Tensor[i32, (2,)], out: Tensor[i32, (1,)], slip: Constexpr[str]) -> None:
    """Each block says that it wants to write, and writes if the other one has not said so: with fences that all agree
    on the order of, one of them at most does."""
    me = cl.block_idx.x
    if cl.thread_idx.x == 0:
        cl.store_relaxed(turn, me, 1)
        cl.fence("gpu", "sc" if slip == "" else "acq_rel")
        if cl.load_relaxed(turn, 1 - me) == 0:
            out[0] = me


def test_fences_of_one_order_keep_two_blocks_apart() -> None:
    arrays = (np.zeros(2, np.int32), np.zeros(1, np.int32))
    assert report(exclusive, 2, arrays, "", range(12))
    assert report(exclusive, 2, arrays, "acquire and release", range(12)).kinds == {"race"}


@cl.kernel(block=64)
def totals(x: Tensor[i32, (N,)], parts: Tensor[i32, (N,)], done: Tensor[i32, (1,)], slip: Constexpr[str]) -> None:
    """All threads of a block count themselves; who is the last one of all adds up what all have written."""
    i = cl.block_idx.x * 64 + cl.thread_idx.x
    parts[i] = x[i]
    if slip == "fences":
        cl.fence("gpu")
        before = cl.atomic_add(done, 0, 1)
        cl.fence("gpu")
    else:
        before = cl.atomic_add(done, 0, 1, semantic="acq_rel" if slip == "" else slip)
    if before == N - 1:
        total = cl.i32(0)
        for j in range(N):
            total = total + parts[j]
        x[0] = total


def test_the_last_one_of_all_threads_knows_what_all_did() -> None:
    arrays = (np.ones(128, np.int32), np.zeros(128, np.int32), np.zeros(1, np.int32))
    assert report(totals, 2, arrays, "fences")
    for semantic in ("relaxed", "acquire", "release"):
        assert_caught(totals, 2, arrays, semantic, "race")
