"""The greatest elements of rows: argmax, top-k, and sampling by softmax among the top k or the top p.

Numbers are compared as integers of the same order (`ordered`), where NaN is above all, as torch has it. The k-th
greatest is found bit by bit: a pass over the row counts the elements that are not below a candidate. Rows are read from
memory once and from caches after that, so they may have any length.
"""

# mypy: disable-error-code="valid-type, attr-defined, index, type-arg, operator, arg-type, misc, name-defined"
# (kernels here are made for a dtype and a length, which no annotation can say to a checker)

import math
from functools import cache
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Tensor, bf16, f32, i32, i64, u32, u64
from cutelite.kernels.arrays import empty
from cutelite.kernels.rows.arrays import Rows, flat
from cutelite.kernels.rows.plan import MOST_THREADS, WARP, Plan, plan_fold
from cutelite.kernels.rows.softmax import LOWEST, power

M = cl.dims("M")  # rows
MOST_K = 2048  # of the greatest elements, which are sorted in shared memory
ALL = 0xFFFFFFFF


def ordered(v: Any) -> Any:
    """A number or vector of f32 as u32 of the same order: -0 and 0 are one, NaN is the greatest, and 0 is below all."""
    bits = cl.bitcast(v + 0.0, u32)
    sign = cl.bitcast(cl.bitcast(bits, i32) >> 31, u32)
    return cl.where(v != v, u32(ALL), bits ^ (sign | 0x80000000))


def number(key: Any) -> Any:
    """The f32 of which `key` is the order."""
    return cl.bitcast(cl.where(key >= 0x80000000, key ^ 0x80000000, ~key), f32)


class Best(NamedTuple):
    """The greatest key, and the first column that has it."""

    key: u32
    column: i32


def better(a: Best, b: Best) -> Best:
    """The greater of two; of equal ones the first."""
    if b.key > a.key or (b.key == a.key and b.column < a.column):
        return b
    return a


@cache
def greatest(dtype: Any, n: int, p: Plan) -> Any:
    """The kernel that gives the greatest element of each row, and its column."""
    (P,) = p.pitches("P")

    @cl.kernel(**p.options)
    def argmax(x: Tensor[dtype, (M, n), (P, 1)], values: Tensor[dtype, (M,)], columns: Tensor[i64, (M,)]) -> None:
        team, part = p.team(n)
        row = team.number()

        def step(best: Best, v: Any, some: Any) -> Best:
            keys = some.keep(ordered(v.to(f32)), u32(0))
            top = keys.reduce("max")
            if top > best.key:
                return Best(top, cl.where(keys == top, some.columns(), i32(n)).reduce("min"))
            return best

        if team.teams == 1 or row < M:
            best = part.fold(x[row, None], Best(u32(0), i32(n)), step)
            team.ready()
            best = team.reduce(best, better)
            if team.lane == 0 and team.rank == 0:
                columns[row] = best.column.to(i64)
                values[row] = x[row, best.column]

    return argmax


class Found(NamedTuple):
    """Elements of each row, of its dtype, and their columns, int64."""

    value: Any
    column: Any


def argmax(x: Any, *, how: Plan | None = None) -> Found:
    """Find the greatest element of each row, and the first column that has it. NaN is the greatest.

    x      (..., n), bf16, f16 or f32
    Gives  (...) each
    """
    rows, leading = Rows(x, "x", most=None), tuple(x.shape[:-1])
    values, columns = empty(x, leading), empty(x, leading, "i64")
    p = how or plan_fold(rows.n, rows.vector)
    kernel = greatest(rows.dtype, rows.n, p)
    kernel[p.grid(rows), p.block](rows.matrix, flat(values, rows.m), flat(columns, rows.m))
    return Found(values, columns)


def threshold(bits: int, enough: Any) -> Any:
    """The greatest number of so many bits for which ``enough`` holds: it does below one for which it does, and for 0.

    Who   the whole team: `enough` reduces
    """
    found = u32(0)
    for i in range(bits):
        candidate = found | (u32(1) << (bits - 1 - i))
        if enough(candidate):
            found = candidate
    return found


class Row(NamedTuple):
    """A row of `n` elements of `dtype` that a block goes through again and again, from caches but the first time."""

    dtype: Any
    n: int
    team: Any
    part: Any
    x: Any

    @property
    def bits(self) -> int:
        """The bits in which keys differ: those of bf16 are the upper half of f32's."""
        return 16 if self.dtype == bf16 else 32

    def keys(self, v: Any, some: Any) -> Any:
        """The keys of elements: 0 beyond the row, and nowhere else."""
        return some.keep(ordered(v.to(f32)), u32(0)) >> (32 - self.bits)

    def count(self, chosen: Any) -> Any:
        """How many elements there are, in this thread's part, of which ``chosen(keys, columns)`` holds."""

        def step(total: Any, v: Any, some: Any) -> Any:
            return total + chosen(self.keys(v, some), some.columns()).to(i32).reduce("sum")

        return self.part.fold(self.x, i32(0), step)

    def kth(self, k: Any) -> Any:
        """The key of the k-th greatest element."""
        return threshold(self.bits, lambda key: self.team.reduce(self.count(lambda keys, at: keys >= key)) >= k)


@cache
def tops(dtype: Any, n: int, k: int, p: Plan) -> Any:
    """The kernel that gives the k greatest elements of each row in descending order, and their columns.

    Of elements equal to the k-th those in the first columns are taken.
    """
    (P,) = p.pitches("P")
    places = n.bit_length()

    @cl.kernel(**p.options)
    def top_k(x: Tensor[dtype, (M, n), (P, 1)], values: Tensor[dtype, (M, k)], columns: Tensor[i64, (M, k)]) -> None:
        team, row, found = cl.Team.create(p.threads), cl.block_idx.x, cl.shared(u64, (k,))
        r = Row(dtype, n, team, cl.RowPartition(team, n, p.vector), x[row, None])
        least = r.kth(k)
        missing = k - team.reduce(r.count(lambda keys, at: keys > least))
        until = u32(n)  # of elements that are `least`, those before this column are taken
        if team.reduce(r.count(lambda keys, at: keys == least)) > missing:
            until = threshold(
                places,
                lambda to: team.reduce(r.count(lambda keys, at: (keys == least) & (at < to.to(i32)))) <= missing,
            )

        def taken(keys: Any, at: Any) -> Any:
            return (keys > least) | ((keys == least) & (at < until.to(i32)))

        def keep(place: Any, v: Any, some: Any) -> Any:
            keys, at = r.keys(v, some), some.columns()
            chosen = taken(keys, at)
            for i in cl.static_range(keys.n):
                if chosen[i]:
                    found[place] = (keys[i].to(u64) << 32) | (ALL - at[i].to(u64))
                    place += 1
            return place

        place, _ = team.scan(r.count(taken), i32(0))
        r.part.fold(r.x, place, keep)
        team.sync()
        for i in range(team.lane, k, p.threads):
            mine, rank = found[i], i32(0)
            for j in range(k):
                rank += (found[j] > mine).to(i32)
            column = (ALL - (mine & ALL)).to(i64)
            columns[row, rank] = column
            values[row, rank] = x[row, column]

    return top_k


def top_k(x: Any, k: int, *, how: Plan | None = None) -> Found:
    """Find the k greatest elements of each row, in descending order; of equal ones those in the first columns.

    x       (..., n), bf16, f16 or f32; NaN is the greatest
    k       1 to the smaller of n and 2048
    Gives   (..., k) each
    Errors  `cl.ArgumentError` for other arrays and k
    """
    rows, leading = Rows(x, "x", most=None), tuple(x.shape[:-1])
    if not 1 <= k <= min(rows.n, MOST_K):
        raise cl.ArgumentError(f"k is {k}, for rows of {rows.n} elements; it is at most {MOST_K}")
    values, columns = empty(x, (*leading, k)), empty(x, (*leading, k), "i64")
    p = how or alone(rows.n, rows.vector)
    kernel = tops(rows.dtype, rows.n, k, p)
    kernel[rows.m, p.block](rows.matrix, values.reshape((rows.m, k)), columns.reshape((rows.m, k)))
    return Found(values, columns)


def alone(n: int, vector: int) -> Plan:
    """The plan where a block goes through a row again and again."""
    threads = min(MOST_THREADS, max(WARP, 1 << (-(-n // 32) - 1).bit_length()))
    return Plan(threads, 1, 1, vector, max(1, MOST_THREADS // threads))


@cache
def sampling(dtype: Any, n: int, p: Plan) -> Any:
    """The kernel that gives a column of each row, by chance."""
    (P,) = p.pitches("P")
    places = n.bit_length()

    @cl.kernel(**p.options)
    def sample(
        x: Tensor[dtype, (M, n), (P, 1)], chances: Tensor[f32, (M,)], columns: Tensor[i64, (M,)],
        temperature: f32, k: i32, share: f32,
    ) -> None:  # fmt: skip
        team, row = cl.Team.create(p.threads), cl.block_idx.x
        r = Row(dtype, n, team, cl.RowPartition(team, n, p.vector), x[row, None])
        cold = 1.0 / temperature

        greatest = r.part.fold(r.x, f32(LOWEST), lambda top, v, _: max(top, v.to(f32).reduce("max")), fill=-math.inf)
        top = team.reduce(greatest, "max")

        def mass(chosen: Any) -> Any:
            """The sum of exponentials of the elements that are chosen."""

            def step(total: Any, v: Any, some: Any) -> Any:
                e = power((v.to(f32) - top) * cold, True)
                return total + cl.where(chosen(r.keys(v, some), some.columns()), e, 0.0).reduce("sum")

            return team.reduce(r.part.fold(r.x, f32(0), step))

        least = u32(1)
        if k > 0 and k < n:
            least = r.kth(k)
        if share < 1.0:
            enough = share * mass(lambda keys, at: keys >= least)
            least = max(least, threshold(r.bits, lambda key: mass(lambda keys, at: keys >= max(key, least)) >= enough))
        target = chances[row] * mass(lambda keys, at: keys >= least)
        found = threshold(places, lambda to: mass(lambda keys, at: (keys >= least) & (at < to.to(i32))) <= target)
        last = team.reduce(r.count(lambda keys, at: (keys >= least) & (at >= found.to(i32))))
        if team.lane == 0:
            columns[row] = found.to(i64) if last > 0 else i64(0)

    return sample


def sample(
    x: Any,
    chances: Any,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    how: Plan | None = None,
) -> Any:
    """Choose a column of each row by the softmax of x / temperature, among the greatest.

    x            (..., n), bf16, f16 or f32
    chances      (...), f32, evenly spread from 0 to 1, 1 excluded: the same ones choose the same columns
    temperature  above 0
    top_k        among so many of the greatest, and those equal to the last; 0: all
    top_p        among as many of these, from the greatest on, as come to that share of their sum; 1: all
    Gives        (...), int64
    Errors       `cl.ArgumentError` for other arrays and numbers
    """
    rows, leading = Rows(x, "x", most=None), tuple(x.shape[:-1])
    if temperature <= 0 or top_k < 0 or not 0 < top_p <= 1 or tuple(chances.shape) != leading:
        raise cl.ArgumentError(
            f"temperature is {temperature}, top_k {top_k}, top_p {top_p}, and chances are {tuple(chances.shape)}"
        )
    columns = empty(x, leading, "i64")
    p = how or alone(rows.n, rows.vector)
    kernel = sampling(rows.dtype, rows.n, p)
    given = flat(chances, rows.m), flat(columns, rows.m)
    kernel[rows.m, p.block](rows.matrix, *given, temperature, top_k, top_p)
    return columns
