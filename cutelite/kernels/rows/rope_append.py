"""Rotary embedding and appending to a cache in one launch: queries and keys are turned, keys and values are written
after the cached ones, and the cache's length grows.

The length is in device memory. Blocks count those that have read it, and the last one increases it.
"""

from functools import cache
from math import gcd
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32, i32, i64
from cutelite.dispatch.divert import left_out
from cutelite.kernels.arguments import FLOATS, Arguments, changing, check_apart, check_in_place, underived
from cutelite.kernels.arrays import code_of, counter, empty
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import DTYPES, derived
from cutelite.kernels.rows.plan import ACCESS
from cutelite.kernels.rows.rope import side_by_side
from cutelite.records import dataclass

B, S, L, C = cl.dims("B S L C")  # sequences, new tokens of each, places in the cache, rows of the tables
THREADS = 256  # of a block


@dataclass(frozen=True)
class Append:
    """The shape of heads to turn and append.

    queries, keys  the heads of a token
    n              elements of a head, `vector` of each half for a thread
    each           whether the tables have rows for each sequence, or the same for all
    """

    dtype: Any
    table: Any
    queries: int
    keys: int
    n: int
    vector: int
    each: bool

    @property
    def units(self) -> int:
        """The number of threads that share a head."""
        return self.n // 2 // self.vector

    def halves(self, x: Any, unit: Any) -> tuple[Any, Any]:
        """Return a thread's elements of each half of a head, as views."""
        return x.tile((self.vector,), (unit,)), x.tile((self.vector,), (unit + self.units,))

    def turned(self, x: Any, y: Any, unit: Any, c: Any, s: Any) -> None:
        """Turn a thread's part of head `x`, and write it to `y`."""
        (a, b), (first, second) = (half.load().to(f32) for half in self.halves(x, unit)), self.halves(y, unit)
        first.store((a * c - b * s).to(self.dtype))
        second.store((b * c + a * s).to(self.dtype))

    def copied(self, x: Any, y: Any, unit: Any) -> None:
        """Copy a thread's part of head `x` to `y`."""
        for of, to in zip(self.halves(x, unit), self.halves(y, unit), strict=True):
            to.store(of.load())


def first_free(held: Any, places: Any) -> Any:
    """Return the first free place, an i32, of a cache that holds `held` tokens, an i64, in `places` places.

    It is `places`, of which there is none, where `held` is negative or more: nothing is written outside of the cache.
    """
    return cl.where(held < 0, places, min(held, places)).to(i32)


@cache
def build(t: Append) -> Any:
    """Make the kernel: a thread has a part of a head of a token."""
    dtype, n, v, total = t.dtype, t.n, t.vector, t.queries + 2 * t.keys
    steps = [(*(cl.Dim(f"{name}{i}", v, min=0) for i in range(3)), 1) for name in ("P", "Q", "R", "U", "V", "W")]
    X, Y = cl.Dim("X", v, min=0), cl.Dim("Y", v, min=0)

    @cl.kernel(block=THREADS)
    def append(
        q: Tensor[dtype, (B, S, t.queries, n), steps[0]], k: Tensor[dtype, (B, S, t.keys, n), steps[1]],
        v: Tensor[dtype, (B, S, t.keys, n), steps[2]],
        cosines: Tensor[t.table, (C, n // 2), (X, 1)], sines: Tensor[t.table, (C, n // 2), (Y, 1)],
        keys: Tensor[dtype, (B, t.keys, L, n), steps[3]], values: Tensor[dtype, (B, t.keys, L, n), steps[4]],
        length: Tensor[i64, (1,)], out: Tensor[dtype, (B, S, t.queries, n), steps[5]],
        counted: Tensor[i32, (1,)],
    ) -> None:  # fmt: skip
        cl.griddepcontrol_launch_dependents()
        cl.griddepcontrol_wait()
        place, held = i32(cl.block_idx.x * THREADS + cl.thread_idx.x), length[0]
        start = first_free(held, i64(L))
        rest, unit = place // t.units, place % t.units
        token, head = rest // total, rest % total
        if token < B * S:
            b, at = token // S, token % S
            row = token if t.each else at
            if head < t.queries + t.keys:
                c, s = (x[row, None].tile((t.vector,), (unit,)).load().to(f32) for x in (cosines, sines))
                if head < t.queries:
                    t.turned(q[b, at, head, None], out[b, at, head, None], unit, c, s)
                elif start + at < L:
                    mine = head - t.queries
                    t.turned(k[b, at, mine, None], keys[b, mine, start + at, None], unit, c, s)
            elif start + at < L:
                mine = head - t.queries - t.keys
                t.copied(v[b, at, mine, None], values[b, mine, start + at, None], unit)
        cl.syncthreads()  # the block has read the length
        if cl.thread_idx.x == 0 and cl.atomic_add(counted, 0, 1, semantic="acq_rel") == cl.grid_dim.x - 1:
            counted[0], length[0] = i32(0), held + i64(S)

    return append


@planned
@underived()
@changing("keys", "values", "length")
def rope_append(
    q: Any, k: Any, v: Any, cosines: Any, sines: Any, keys: Any, values: Any, length: Any, *, out: Any = None
) -> Any:  # fmt: skip
    """Rotate queries and keys, and write keys and values into a cache, whose length grows by the new tokens.

    q, k, v         (sequences, tokens, heads, n), bf16, f16 or f32, any strides, but elements of a head side by side;
                    halves of a head are turned with each other
    cosines, sines  (tokens, n / 2) for all sequences alike, or (sequences * tokens, n / 2)
    keys, values    (sequences, heads, places, n): the cache. Nothing is written beyond its end
    length          (1,) i64: the tokens that it holds, of each sequence. Below 0 nothing is written
    Gives           the queries, turned: `out`, or a new array
    Errors          `cl.ArgumentError` for arrays that do not fit
    """
    if (found := derived(q, k, v, cosines, sines, keys, values, length, out=out)) is not None:
        return found.rope_append(q, k, v, cosines, sines, keys, values, length)
    given = Arguments()
    given.array("q", q, FLOATS, "B T H N", rows=True)
    for name, x in (("k", k), ("v", v)):
        given.array(name, x, "q", "B T HK N", rows=True)
    for name, x in (("keys", keys), ("values", values)):
        given.array(name, x, "q", "B HK PLACES N", written=True, rows=True)
    given.array("cosines", cosines, FLOATS, "ROWS N/2", rows=True)
    given.array("sines", sines, "cosines", "ROWS N/2", rows=True)
    given.array("length", length, "i64", (1,), written=True)
    (count, tokens, heads, n), kind, table = q.shape, DTYPES[code_of(q)], DTYPES[code_of(cosines)]
    if n % 2 or not n or cosines.shape[1] != n // 2 or cosines.shape[0] not in (tokens, count * tokens):
        raise cl.ArgumentError(f"cosines and sines are {tuple(cosines.shape)}, for q of {tuple(q.shape)}")
    if 0 in (heads, k.shape[2]):
        raise cl.ArgumentError(f"q and k have shapes {tuple(q.shape)} and {tuple(k.shape)}: there are no heads")
    out = empty(q, tuple(q.shape)) if out is None else out
    given.array("out", out, "q", "B T H N", written=True, rows=True)
    if left_out() or not count * tokens:
        return out
    cosines, sines = side_by_side(cosines), side_by_side(sines)
    vector = gcd(n // 2, ACCESS // kind.bytes)
    named = {"q": q, "k": k, "v": v, "keys": keys, "values": values, "out": out, "cosines": cosines, "sines": sines}
    views = {name: rt.read(x) for name, x in named.items()}
    for name, view in views.items():
        if view.strides[-1] != 1:
            raise cl.ArgumentError(f"the elements of a head lie side by side, and those of {name} do not")
        bytes = table.bytes if name in ("cosines", "sines") else kind.bytes
        vector = gcd(vector, *view.strides[:-1], view.pointer // bytes)
    check_in_place("out", views["out"], {"q": views["q"]})
    tables = {"cosines": views["cosines"], "sines": views["sines"], "length": rt.read(length)}
    check_apart("out", views["out"], {name: views[name] for name in ("k", "v", "keys", "values")} | tables)
    check_apart("keys", views["keys"], tables)
    check_apart("values", views["values"], {"keys": views["keys"]} | tables)
    each = cosines.shape[0] == count * tokens and count > 1
    threads = count * tokens * (heads + 2 * k.shape[2]) * (n // 2 // vector)
    t = Append(kind, table, heads, k.shape[2], n, vector, each)
    launch = cl.Launch(-(-threads // THREADS), THREADS, pdl=True)
    build(t)[launch](q, k, v, cosines, sines, keys, values, length, out, counter(q))
    return out
