"""Kernels that start while the one ahead may still run: they touch global memory behind griddepcontrol.wait."""

import re
from typing import Any, NamedTuple

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, TmaTensor, f32, i32
from tests.pieces import barriers

N = cl.dims("N")
WEIGHTS, X = np.arange(64, dtype=np.int32), np.ones(64, np.int32)


@cl.kernel(block=64)
def scaled(weights: Tensor[i32, (64,)], x: Tensor[i32, (64,)], out: Tensor[i32, (64,)], slip: Constexpr[str]) -> None:
    t = cl.thread_idx.x
    weight = weights[t] if slip != "weights after" else cl.i32(0)
    if slip == "read before":
        weight = weight + x[t]
    if slip == "write before":
        out[t] = weight
    if (slip == "one warp" and t < 32) or slip not in ("no wait", "one warp", "one thread"):
        cl.griddepcontrol_wait()
    if slip == "one thread":
        if t == 0:
            cl.griddepcontrol_wait()
        cl.syncthreads()
    if slip == "weights after":
        weight = weights[t]
    out[t] = weight * x[t]
    cl.griddepcontrol_launch_dependents()


def check(slip: str, **options: Any) -> Any:
    return scaled.check(1, None, WEIGHTS, X, np.zeros(64, np.int32), slip, **{"pdl": True, "seeds": 2, **options})


@pytest.mark.parametrize("slip", ["no wait", "read before", "write before", "one warp"])
def test_accesses_before_the_kernel_ahead_is_complete(slip: str) -> None:
    found = check(slip, untouched=["weights"])
    assert found.kinds == {"grid-dependency"}, found
    assert not any("weights[t]" in str(finding).splitlines()[3] for finding in found.findings)


@pytest.mark.parametrize("slip", ["", "one thread", "weights after"])
def test_accesses_behind_the_wait_of_any_thread_that_they_are_after(slip: str) -> None:
    assert check(slip, untouched=["weights"]), check(slip, untouched=["weights"])


def test_who_reads_something_and_waits_afterwards_knows_that_nobody_writes_it() -> None:
    for slip in ("", "one thread"):
        assert check(slip), check(slip)
    for slip in ("no wait", "write before", "one warp"):
        assert check(slip).kinds == {"grid-dependency"}


def test_unless_it_is_said_which_those_are() -> None:
    found = check("", untouched=())
    assert found.kinds == {"grid-dependency"} and "weights[t]" in str(found)
    assert "name it in `untouched`" in str(found)


def test_a_kernel_that_waits_is_checked_as_one_that_starts_early() -> None:
    assert check("read before", untouched=["weights"], pdl=False).kinds == {"grid-dependency"}
    assert check("no wait", pdl=False)
    launch = cl.Launch(1, pdl=True)
    arrays = (WEIGHTS, X, np.zeros(64, np.int32), "no wait")
    assert scaled.check_launch(launch, *arrays, seeds=1).kinds == {"grid-dependency"}


@cl.kernel(block=32)
def brought(src: TmaTensor[f32, (8, 32), (8, 32)], out: Tensor[f32, (32,)], slip: Constexpr[str]) -> None:
    """A tile by TMA; its descriptor is fetched before, and the tile itself into L2."""
    tile, full = cl.tma_shared(src), barriers(1)
    if cl.thread_idx.x == 0:
        cl.tma_prefetch(src, at=(0, 0))
        if slip != "no wait":
            cl.griddepcontrol_wait()
        full[0].arrive_expect_tx(src.tile_bytes)
        cl.tma_load(src, tile, at=(0, 0), barrier=full[0])
    cl.syncwarp()
    full[0].wait(0)
    out[cl.thread_idx.x] = tile[0, cl.thread_idx.x]


def test_copies_start_behind_the_wait() -> None:
    arrays = (np.ones((8, 32), np.float32), np.zeros(32, np.float32))
    right = brought.check(1, None, *arrays, "", pdl=True)
    assert right, right
    found = brought.check(1, None, *arrays, "no wait", pdl=True)
    assert found.kinds == {"grid-dependency"} and "cl.tma_load(src" in str(found)


@cl.kernel(block=32)
def brought_early(
    w: TmaTensor[f32, (8, 32), (8, 32)], x: Tensor[f32, (32,)], out: Tensor[f32, (32,)], slip: Constexpr[str]
) -> None:
    """Weights by TMA, and numbers by cp.async, whose copies are started before the wait and may read after it."""
    tile, full, row = cl.tma_shared(w), barriers(1), cl.shared(f32, (32,))
    t = cl.thread_idx.x
    if t == 0:
        full[0].arrive_expect_tx(w.tile_bytes)
        cl.tma_load(w, tile, at=(0, 0), barrier=full[0])
    cl.syncwarp()
    if slip == "numbers early":
        cl.cp_async(row.at(t), x.at(t), 4)
    cl.griddepcontrol_wait()
    if slip != "numbers early":
        cl.cp_async(row.at(t), x.at(t), 4)
    cl.cp_async_commit_group()
    cl.cp_async_wait_group(0)
    full[0].wait(0)
    out[t] = tile[0, t] + row[t]


def test_copies_of_what_nobody_writes_may_start_before_the_wait() -> None:
    arrays = (np.ones((8, 32), np.float32), np.ones(32, np.float32), np.zeros(32, np.float32))
    for seed in range(4):
        for slip in ("", "numbers early"):
            right = brought_early.check(1, None, *arrays, slip, seeds=[seed])
            assert right and ("`x` is read before" in str(right)) == (slip != ""), right
        found = brought_early.check(1, None, *arrays, "numbers early", seeds=[seed], untouched=["w"])
        assert found.kinds == {"grid-dependency"} and "cl.cp_async(row.at(t), x.at(t), 4)" in str(found)


class Pair(NamedTuple):
    a: Tensor[f32, (N,)]
    b: Tensor[f32, (N,)]


@cl.kernel(block=32)
def many(
    x: Tensor[f32, (N,)], xs: list[Tensor[f32, (N,)]], pair: Pair, far: Tensor[cl.Pointer[f32], (1,)], n: i32,
    left_out: Tensor[f32, (N,)] | None,
) -> None:  # fmt: skip
    i = cl.thread_idx.x
    held = x[i] + xs[0][i] + pair.a[i] + far[0][i]
    cl.griddepcontrol_wait()
    cl.atomic_add(pair.b, 0, held)


def test_arguments_are_named_one_by_one_or_as_a_whole() -> None:
    x: Any = [np.ones(32, np.float32) for _ in range(5)]
    rest = x[0], [x[1]], Pair(x[2], x[3]), cl.pointers([x[4]]), 3, None
    for names in (["x", "xs", "pair", "far", "left_out"], ["x", "xs.0", "pair.a", "far"]):
        assert many.check(1, None, *rest, untouched=names, notes=False)
    for left, place in (("x", "x"), ("xs", "xs.0"), ("pair", "pair.a"), ("far", "far.addresses")):
        names = [name for name in ("x", "xs", "pair", "far") if name != left]
        assert f"`{place}`" in str(many.check(1, None, *rest, untouched=names, notes=False))
    assert "`far[0]`" not in str(many.check(1, None, *rest, untouched=["far[0]"], notes=False))
    for ordered in ("pair", ["pair.b"]):
        assert many.check(1, None, *rest, ordered=ordered).kinds == {"update-order"}
    options: Any = lambda name, given: {name: given}  # noqa: E731
    for option in ("untouched", "ordered"):
        for name in ("pairs", "n", "xs[0]", "p"):
            with pytest.raises(ValueError, match=rf"{option}: {re.escape(name)} is no argument of many in memory"):
                many.check(1, None, *rest, **options(option, [name]))
        for wrong in (3, [3]):
            with pytest.raises(TypeError, match="names of arguments are texts"):
                many.check(1, None, *rest, **options(option, wrong))
