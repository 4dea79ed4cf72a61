"""Rotary position embedding of queries and keys, in place or not, and its derivative.

    halves        y[i] = x[i] * c[i] - x[i + r / 2] * s[i]          y[i + r / 2] = x[i + r / 2] * c[i] + x[i] * s[i]
    interleaved   y[2 i] = x[2 i] * c[i] - x[2 i + 1] * s[i]        y[2 i + 1] = x[2 i + 1] * c[i] + x[2 i] * s[i]

c and s are the rows of two tables at a token's position; r is twice their length, and elements of a head from r on are
unchanged. The derivative is the inverse rotation. One launch turns queries and keys.
"""

import math
from functools import cache
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32
from cutelite.dispatch.divert import left_out
from cutelite.kernels.arguments import (
    FLOATS,
    PLACES,
    Arguments,
    ArrayError,
    Misfit,
    check_apart,
    check_in_place,
    contiguous,
    underived,
)
from cutelite.kernels.arrays import code_of, empty
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import DTYPES, derived
from cutelite.kernels.rows.plan import ACCESS, after, follow
from cutelite.records import dataclass

B, PB, S, T = cl.dims("B PB S T")  # sequences, rows of positions, tokens of each, positions in the tables
THREADS, HEADS = 128, 1  # threads of a block; heads whose elements a thread loads at a time


@dataclass(frozen=True)
class Turn:
    """A rotation of heads.

    queries, keys  the heads of a token
    n              elements of a head
    half           number of angles: half of the elements that are turned
    vector         how many of these angles a thread has, of each head
    inverse        turn the other way
    """

    dtype: Any
    table: Any
    places: Any
    queries: int
    keys: int
    n: int
    half: int
    vector: int
    interleaved: bool
    inverse: bool

    @property
    def units(self) -> int:
        """The number of threads that share a head."""
        return self.half // self.vector

    def both(self, x: Any, unit: Any) -> tuple[Any, Any]:
        """Return the two halves of a thread's part of a head, as views."""
        return x.tile((self.vector,), (unit,)), x.tile((self.vector,), (unit + self.units,))

    def load(self, x: Any, unit: Any) -> tuple[Any, Any]:
        """Return a thread's elements of a head that are turned with each other, as two vectors."""
        if self.interleaved:
            pairs = x.tile((2 * self.vector,), (unit,)).load().to(f32).reshape((2, self.vector))
            return pairs[0, None], pairs[1, None]
        a, b = self.both(x, unit)
        return a.load().to(f32), b.load().to(f32)

    def store(self, a: Any, b: Any, y: Any, unit: Any) -> None:
        """Store two vectors as `load` returns them."""
        if self.interleaved:
            pairs = cl.make_rmem_tensor(self.dtype, (2, self.vector))
            pairs[0, None].store(a.to(self.dtype))
            pairs[1, None].store(b.to(self.dtype))
            y.tile((2 * self.vector,), (unit,)).store(pairs.load().reshape((2 * self.vector,)))
        else:
            first, second = self.both(y, unit)
            first.store(a.to(self.dtype))
            second.store(b.to(self.dtype))

    def turn(self, x: Any, y: Any, heads: int, group: Any, unit: Any, c: Any, s: Any) -> None:
        """Turn a few heads of a token, by vectors of cosines and sines: x and y are (heads, n)."""
        numbers = [group * HEADS + i for i in range(min(HEADS, heads))]
        given = [self.load(x[min(head, heads - 1), None], unit) for head in numbers]
        for head, (a, b) in zip(numbers, given, strict=True):
            if heads % HEADS == 0 or head < heads:
                self.store(a * c - b * s, b * c + a * s, y[min(head, heads - 1), None], unit)


@cache
def build(t: Turn) -> Any:
    """Make the kernel. A thread has the same angles in a few heads of a token."""
    dtype, n, v, units = t.dtype, t.n, t.vector, t.units
    groups = [-(-heads // HEADS) for heads in (t.queries, t.keys)]
    steps = [(*(cl.Dim(f"{name}{i}", v, min=0) for i in range(3)), 1) for name in ("P", "Q", "R", "U")]
    W, X = cl.Dim("W", v, min=0), cl.Dim("X", v, min=0)

    @cl.kernel(block=THREADS)
    def rope(
        q: Tensor[dtype, (B, S, t.queries, n), steps[0]],
        k: Tensor[dtype, (B, S, max(1, t.keys), n), steps[1]] | None,
        cosines: Tensor[t.table, (T, t.half), (W, 1)],
        sines: Tensor[t.table, (T, t.half), (X, 1)],
        positions: Tensor[t.places, (PB, S), (None, None)] | None,
        q_out: Tensor[dtype, (B, S, t.queries, n), steps[2]],
        k_out: Tensor[dtype, (B, S, max(1, t.keys), n), steps[3]] | None,
    ) -> None:
        follow()
        place = cl.block_idx.x * THREADS + cl.thread_idx.x
        rest, unit = place // units, place % units
        token, group = rest // sum(groups), rest % sum(groups)
        if token < B * S:
            b, at = token // S, token % S
            position, known = at, cl.boolean(True)
            if positions is not None:
                position = positions[min(b, PB - 1), at]  # one row is for all sequences
                known = (position >= 0) & (position < T)
                position = cl.where(known, position, 0)
            c = cl.where(known, cosines[position, None].tile((v,), (unit,)).load().to(f32), math.nan)
            s = sines[position, None].tile((v,), (unit,)).load().to(f32)
            s = -s if t.inverse else s
            if group < groups[0]:
                t.turn(q[b, at, None, None], q_out[b, at, None, None], t.queries, group, unit, c, s)
            elif k is not None:
                t.turn(k[b, at, None, None], k_out[b, at, None, None], t.keys, group - groups[0], unit, c, s)

    return rope


@planned
@underived("cosines", "sines")
def rope(
    q: Any,
    k: Any,
    cosines: Any,
    sines: Any,
    positions: Any = None,
    *,
    interleaved: bool = False,
    inverse: bool = False,
    out: tuple[Any, ...] | None = None,
) -> tuple[Any, Any]:
    """Rotate queries and keys by the angles of their positions.

    q, k            (sequences, tokens, heads, n) or (tokens, heads, n), bf16, f16 or f32, any strides, 0 among
                    them, but elements of a head side by side; k may be None
    cosines, sines  (positions, r / 2), r <= n: bf16, f16 or f32
    positions       (sequences, tokens), or (tokens,) for all sequences, int32 or int64; by default 0, 1, 2, ... in each
                    sequence. A token whose position is outside of the tables becomes NaN
    interleaved     rotate neighbouring elements together, not the halves of a head
    inverse         rotate back: the derivative
    out             where to write; (q, k) for in place. By default new arrays
    Gives           the two results
    Errors          `cl.ArgumentError` for arrays that do not fit
    """
    if (operators := derived(q, k, cosines, sines, positions, out=out)) is not None:
        beside = q[..., :1, :] if k is None else k  # the operator turns two
        made_q, made_k = operators.rope(q, beside, cosines, sines, positions, interleaved=interleaved, inverse=inverse)
        return made_q, None if k is None else made_k
    check(q, k, cosines, sines, positions)
    turned, n, half = [q] if k is None else [q, k], int(q.shape[-1]), int(cosines.shape[-1])
    kind, table = (DTYPES.get(code_of(x)) for x in (q, cosines))
    if out is None:
        made = [empty(x, tuple(x.shape)) if 2 * half == n else copied(x) for x in turned]
        turned = turned if 2 * half == n else made
    else:
        made = outs(out, turned)
        beside = {"cosines": cosines, "sines": sines, "positions": positions}
        for i, x in enumerate(made):
            check_apart(f"out[{i}]", rt.read(x), {name: rt.read(y) for name, y in beside.items() if y is not None})
        turned = brought(turned, made, 2 * half == n)
    tokens = int(q.shape[-3])
    if cosines.shape[0] < (tokens if positions is None else min(tokens, 1)):
        raise ArrayError(f"cosines and sines are {tuple(cosines.shape)}, and q has {tokens} tokens: a row for each")
    some = [(x, y) for x, y in zip(turned, made, strict=True) if 0 not in x.shape]  # others have no tokens or no heads
    if some:
        ins, to = ([each[i] for each in some] for i in range(2))
        launch(ins, to, cosines, sines, positions, kind, table, interleaved, inverse)
    return (made[0], None) if k is None else (made[0], made[1])


def check(q: Any, k: Any, cosines: Any, sines: Any, positions: Any) -> None:
    """Check the arguments of `rope`. Errors: `cl.ArgumentError`."""
    given = Arguments()
    given.array("q", q, FLOATS, "... T H N", rows=True)
    if k is not None:
        given.array("k", k, "q", "... T HK N", rows=True)
    given.array("cosines", cosines, FLOATS, "POSITIONS R/2")
    given.array("sines", sines, "cosines", "POSITIONS R/2")
    if positions is not None:
        given.array("positions", positions, PLACES, "... T")
        shape, most = tuple(positions.shape), int(q.shape[0]) if len(q.shape) == 4 else 1
        if len(shape) > 2 or shape[:-1] not in ((), (1,), (most,)):
            raise ArrayError(
                f"positions are {shape}, but must be (tokens,) or (sequences, tokens), for q of {tuple(q.shape)}"
            )
    n, half = int(q.shape[-1]), int(cosines.shape[-1])
    for name, x in (("q", q), ("k", k)):
        if x is not None and (len(q.shape) not in (3, 4) or tuple(x.shape[:-2]) != tuple(q.shape[:-2])):
            raise cl.ArgumentError(f"{name} has shape {tuple(x.shape)}, beside q of {tuple(q.shape)}")
    if not min(n, 1) <= half <= n // 2:
        raise cl.ArgumentError(f"cosines and sines are {tuple(cosines.shape)}; heads have {n} elements")


def outs(out: Any, like: list[Any]) -> list[Any]:
    """Return the arrays of `out`, one for each of some others. Errors: `Misfit`, `ArrayError`."""
    if not isinstance(out, tuple | list) or len(out) < len(like):
        raise Misfit(f"out is {out!r}, but must be the arrays (q, k), or None")
    for i, x in enumerate(like):
        Arguments().array(f"out[{i}]", out[i], code_of(x), tuple(x.shape), written=True)
    return list(out[: len(like)])


def brought(turned: list[Any], made: list[Any], whole: bool) -> list[Any]:
    """Return what is to be turned: with heads that are turned in part the results, to which others are copied.

    Errors  `ArrayError` for results that lie where other heads do, or the same ones but not element by element
    """
    read, written = ({name: rt.read(x) for name, x in zip("qk", each, strict=False)} for each in (turned, made))
    for i, (name, view) in enumerate(written.items()):
        check_in_place(f"out[{i}]", view, {name: read[name]})
        others = {other: x for other, x in read.items() if other != name}
        check_apart(f"out[{i}]", view, others | {f"out[{j}]": written[x] for j, x in enumerate("qk"[:i])})
    if whole:
        return turned
    for (name, view), x, y in zip(written.items(), turned, made, strict=True):
        if view.pointer != read[name].pointer:
            y[...] = x
    return made


def launch(
    turned: list[Any], made: list[Any], cosines: Any, sines: Any, positions: Any, kind: Any, table: Any,
    interleaved: bool, inverse: bool,
) -> None:  # fmt: skip
    """Launch the kernel for arrays that have been checked."""
    cosines, sines = (side_by_side(x) for x in (cosines, sines))
    fours = [x if len(x.shape) == 4 else x.reshape((1, *x.shape)) for x in (*turned, *made)]
    half, places = int(cosines.shape[-1]), cl.i64
    if positions is not None:
        positions = positions.reshape((1, -1)) if len(positions.shape) == 1 else positions
        places = cl.i32 if str(positions.dtype).endswith("int32") else cl.i64
    vector = math.gcd(half, ACCESS // kind.bytes)
    for x, bytes in [*((x, kind.bytes) for x in fours), (cosines, table.bytes), (sines, table.bytes)]:
        view = rt.read(x)
        if view.strides[-1] != 1:
            raise cl.ArgumentError(f"the elements of a head lie side by side, not {view.strides[-1]} apart")
        vector = math.gcd(vector, *view.strides[:-1], view.pointer // bytes)
    heads = [int(x.shape[2]) for x in fours[: len(turned)]]
    t = Turn(kind, table, places, heads[0], sum(heads[1:]), int(fours[0].shape[-1]), half, vector, interleaved, inverse)
    units = half // vector * sum(-(-each // HEADS) for each in heads) * math.prod(map(int, fours[0].shape[:2]))
    ins, outs = fours[: len(turned)], fours[len(turned) :]
    build(t)[after(-(-units // THREADS), THREADS)](
        ins[0], ins[1] if len(ins) > 1 else None, cosines, sines, positions, outs[0], outs[1] if len(outs) > 1 else None
    )


def side_by_side(x: Any) -> Any:
    """Return the array, or a copy, whose elements along the last mode lie side by side."""
    if rt.read(x).strides[-1] == 1:
        return x
    return copied(x[:, 0]).reshape((-1, 1)) if x.shape[-1] == 1 else contiguous(x)


def copied(x: Any) -> Any:
    """Return a copy of an array, without contents where launches are left out."""
    if hasattr(x, "clone"):
        return x.clone()
    return empty(x, tuple(x.shape)) if left_out() else x.copy()
