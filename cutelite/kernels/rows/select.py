"""The greatest elements of rows: argmax, top-k, and sampling by softmax among the top k or the top p.

Numbers are compared as integers of the same order (`ordered`), where NaN is above all, as torch has it. The greatest of
each thread's elements give a bound: the k-th greatest of these. Elements that are not below it are few; they are
collected in shared memory and ranked among themselves. Where they are many, since k is large or elements are equal, the
k-th greatest is found by two bits in each pass over the row, which counts the elements that are not below three
candidates. Rows are read from memory once and from caches after that, so they may have any length.
"""

# mypy: disable-error-code="valid-type, attr-defined, index, type-arg, operator, arg-type, misc, name-defined"
# (kernels here are made for a dtype and a length, which annotations cannot express for a type checker)

import math
from functools import cache
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Tensor, bf16, f32, i32, i64, u32, u64
from cutelite.kernels.arguments import Arguments, as_number, instance, results, underived
from cutelite.kernels.rows.arrays import Rows, derived, flat
from cutelite.kernels.rows.plan import MOST_THREADS, WARP, Plan, plan_fold
from cutelite.kernels.rows.softmax import LOWEST, power

M = cl.dims("M")  # rows
MOST_K = 2048  # of the greatest elements, which are sorted in shared memory
ALL = 0xFFFFFFFF
CANDIDATES = 512  # elements that are ranked among themselves, at least


def ordered(v: Any) -> Any:
    """Return f32, a number or a vector, as u32 of the same order: -0 is 0, NaN the greatest, and 0 below all."""
    bits = cl.bitcast(v + 0.0, u32)
    sign = cl.bitcast(cl.bitcast(bits, i32) >> 31, u32)
    return cl.where(v != v, u32(ALL), bits ^ (sign | 0x80000000))


def number(key: Any) -> Any:
    """Return the f32 of which `key` is the order."""
    return cl.bitcast(cl.where(key >= 0x80000000, key ^ 0x80000000, ~key), f32)


class Best(NamedTuple):
    """The greatest key, and the first column that has it."""

    key: u32
    column: i32


def better(a: Best, b: Best) -> Best:
    """Return the greater of two; of equal ones the first."""
    if b.key > a.key or (b.key == a.key and b.column < a.column):
        return b
    return a


@cache
def greatest(dtype: Any, n: int, p: Plan) -> Any:
    """Make the kernel that finds the greatest element of each row, and its column."""
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


def argmax(x: Any, *, out: Any = None, how: Plan | None = None) -> Found:
    """Find the greatest element of each row, and the first column that has it. NaN is the greatest.

    x      (..., n), bf16, f16 or f32
    out    two arrays to write to, of the results' shapes and dtypes, without gaps; by default new ones
    how    the `Plan`: which threads work on a row; default: by its length
    Gives  (...) each
    """
    if (made := derived(x, out=out)) is not None:
        return Found(*made.argmax(x))
    rows, leading = Rows(x, "x", most=None), tuple(x.shape[:-1])
    if rows.n == 0:
        raise cl.ArgumentError(f"x has shape {tuple(x.shape)}: there is no greatest of no elements")
    values, columns = results(out, {"value": (leading, rows.dtype.name), "column": (leading, "i64")}, x=x)
    p = (instance("how", how, Plan) or plan_fold(rows.n, rows.vector)).only()
    kernel = greatest(rows.dtype, rows.n, p)
    kernel[p.launch(rows)](rows.matrix, flat(values, rows.m), flat(columns, rows.m))
    return Found(values, columns)


def threshold(bits: int, reached: Any) -> Any:
    """Return the greatest number of that many bits that is reached; 0 is, and so is every number below a reached one.

    reached  ``reached(a, b, c)`` gives how many of three rising numbers are reached
    Who      the whole team: `reached` reduces
    """
    found = u32(0)
    for i in range(0, bits, 2):
        shift = bits - bits % 2 - i if bits % 2 else bits - 2 - i
        found += reached(*(found + (u32(j) << shift) for j in (1, 2, 3))).to(u32) << shift
    return found


def number_of(conditions: Any) -> Any:
    """Return how many of some conditions hold, as an i32."""
    return sum((each.to(i32) for each in conditions), i32(0))


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
        """Return the keys of elements: 0 beyond the row, and nowhere else."""
        return some.keep(ordered(v.to(f32)), u32(0)) >> (32 - self.bits)

    def count(self, *chosen: Any) -> Any:
        """Return how many elements of the row each of ``chosen(keys, columns)`` holds of: a vector of i32."""

        def step(totals: Any, v: Any, some: Any) -> Any:
            keys, at = self.keys(v, some), some.columns()
            for i, each in enumerate(chosen):
                totals = totals.put(i, totals[i] + each(keys, at).to(i32).reduce("sum"))
            return totals

        return self.team.reduce(self.part.fold(self.x, cl.full((len(chosen),), 0, i32), step, pieces=2))

    def kth(self, k: Any) -> Any:
        """Return the key of the k-th greatest element."""

        def reached(*keys: Any) -> Any:
            return number_of(each >= k for each in self.count(*(at_least(key) for key in keys)))

        return threshold(self.bits, reached)

    def bound(self, k: Any) -> Any:
        """Return a key that is not above the k-th greatest, nor far below it.

        k    at most the number of threads, which is at most 1023: three counts are reduced as one number
        Is   to 16 bits, the k-th greatest of what is the greatest of each thread
        """
        top = self.part.fold(self.x, u32(0), lambda top, v, some: max(top, self.keys(v, some).reduce("max")))
        top >>= self.bits - 16

        def reached(*keys: Any) -> Any:
            packed = self.team.reduce(sum(((top >= key).to(i32) << 10 * i for i, key in enumerate(keys)), i32(0)))
            return number_of((packed >> 10 * i) & 1023 >= k for i in range(3))

        return max(threshold(16, reached) << (self.bits - 16), u32(1))

    def collect(self, room: Any, chosen: Any) -> Any:
        """Put the elements of which ``chosen(keys, columns)`` holds into `room`, in any order, and return their number.

        room  u64 in shared memory: a key, and below it ALL less the column. Where there are more, some are left out
        """
        place = cl.shared(i32, (1,))
        self.team.sync()
        if self.team.lane == 0:
            place[0] = 0
        self.team.sync()

        def step(state: Any, v: Any, some: Any) -> Any:
            keys, at = self.keys(v, some), some.columns()
            taken = chosen(keys, at)
            if taken.reduce("any"):
                for i in cl.static_range(keys.n):
                    if taken[i]:
                        to = cl.atomic_add(place, 0, 1, scope="cta")
                        if to < room.shape[0]:
                            room[to] = (keys[i].to(u64) << 32) | (ALL - at[i].to(u64))
            return state

        self.part.fold(self.x, i32(0), step, pieces=2)
        self.team.sync()
        return place[0]

    def exactly(self, k: Any) -> Any:
        """Return the function that chooses the k greatest elements; of those equal to the last in the first columns."""
        least = self.kth(k)
        above, equal = self.count(lambda keys, at: keys > least, lambda keys, at: keys == least)
        until = u32(self.n)
        if equal > k - above:

            def reached(*columns: Any) -> Any:
                before = [lambda keys, at, to=to: (keys == least) & (at < to.to(i32)) for to in columns]
                return number_of(each <= k - above for each in self.count(*before))

            until = threshold(self.n.bit_length(), reached)
        return lambda keys, at: (keys > least) | ((keys == least) & (at < until.to(i32)))


def at_least(key: Any) -> Any:
    """Return the function that chooses keys that are not below `key`."""
    return lambda keys, at: keys >= key


def rank(room: Any, count: Any, mine: Any) -> Any:
    """Return how many of the first `count` words of `room` are above `mine`."""
    above = i32(0)
    for j in cl.range(count, unroll=8):
        above += (room[j] > mine).to(i32)
    return above


@cache
def tops(dtype: Any, n: int, k: int, p: Plan) -> Any:
    """Make the kernel that finds the k greatest elements of each row in descending order, and their columns.

    Of elements equal to the k-th those in the first columns are taken.
    """
    (P,) = p.pitches("P")
    size = max(CANDIDATES, k if k > bounded(p) else 2 * k)

    @cl.kernel(**p.options)
    def top_k(x: Tensor[dtype, (M, n), (P, 1)], values: Tensor[dtype, (M, k)], columns: Tensor[i64, (M, k)]) -> None:
        team, row, room = cl.Team.create(p.threads), cl.block_idx.x, cl.shared(u64, (size,))
        r = Row(dtype, n, team, cl.RowPartition(team, n, p.vector), x[row, None])
        count = i32(size + 1)
        if k <= bounded(p):
            count = r.collect(room, at_least(r.bound(k)))
        if count > size:
            count = r.collect(room, r.exactly(k))
        for i in range(team.lane, count, p.threads):
            mine = room[i]
            place = rank(room, count, mine)
            if place < k:
                column = (ALL - (mine & ALL)).to(i64)
                columns[row, place] = column
                values[row, place] = x[row, column]

    return top_k


def top_k(x: Any, k: int, *, out: Any = None, how: Plan | None = None) -> Found:
    """Find the k greatest elements of each row, in descending order; of equal ones those in the first columns.

    x       (..., n), bf16, f16 or f32; NaN is the greatest
    k       1 to the smaller of n and 2048
    out     two arrays to write to, of the results' shapes and dtypes, without gaps; by default new ones
    how     the `Plan`: which threads work on a row; default: by its length
    Gives   (..., k) each
    Errors  `cl.ArgumentError` for other arrays and k
    """
    if (made := derived(x, out=out)) is not None:
        return Found(*made.top_k(x, k))
    rows, leading = Rows(x, "x", most=None), tuple(x.shape[:-1])
    k = as_number("k", k, whole=True)
    if not 1 <= k <= min(rows.n, MOST_K):
        most = min(rows.n, MOST_K)
        raise cl.ArgumentError(f"k is {k}, for x with rows of {rows.n} elements: it must be from 1 to {most}")
    shape = (*leading, k)
    values, columns = results(out, {"value": (shape, rows.dtype.name), "column": (shape, "i64")}, x=x)
    p = (instance("how", how, Plan) or alone(rows.n, rows.vector)).only()
    kernel = tops(rows.dtype, rows.n, k, p)
    kernel[rows.m, p.block](rows.matrix, values.reshape((rows.m, k)), columns.reshape((rows.m, k)))
    return Found(values, columns)


def alone(n: int, vector: int) -> Plan:
    """Return the plan where a block goes through a row again and again."""
    threads = min(512, max(WARP, 1 << (-(-n // 16) - 1).bit_length()))
    return Plan(threads, 1, 1, vector, max(1, MOST_THREADS // threads))


class Chance(NamedTuple):
    """A choice of a column of a row, by a chance.

    top     the greatest element
    cold    1 / temperature
    chance  where in the masses of those that may be chosen, side by side, in order of columns: from 0 to 1
    share   of the mass, that of the greatest which may be chosen
    """

    top: f32
    cold: f32
    chance: f32
    share: f32

    def mass(self, v: Any) -> Any:
        """Return the exponentials of elements, in f32."""
        return power((v - self.top) * self.cold, True)

    def masses(self, r: Row, *chosen: Any) -> Any:
        """Return the sums of the masses of the elements of a row of which ``chosen(keys, columns)`` hold: a vector."""

        def step(totals: Any, v: Any, some: Any) -> Any:
            e, keys, at = self.mass(v.to(f32)), r.keys(v, some), some.columns()
            for i, each in enumerate(chosen):
                totals = totals.put(i, totals[i] + cl.where(each(keys, at), e, 0.0).reduce("sum"))
            return totals

        return r.team.reduce(r.part.fold(r.x, cl.full((len(chosen),), 0, f32), step, pieces=2))

    def anywhere(self, r: Row, k: Any) -> Any:
        """Return the column that is chosen from a row: as many passes as its keys have bits, halved."""
        least = u32(1)
        if k > 0 and k < r.n:
            least = r.kth(k)
        whole = self.masses(r, at_least(least))[0]
        if self.share < 1.0:
            enough = self.share * whole

            def reached(*keys: Any) -> Any:
                return number_of(
                    each >= enough for each in self.masses(r, *(at_least(max(key, least)) for key in keys))
                )

            least = max(least, threshold(r.bits, reached))
            whole = self.masses(r, at_least(least))[0]
        return self.within(r, least, self.chance * whole)

    def within(self, r: Row, least: Any, target: Any) -> Any:
        """Return the first column up to which the masses of elements that are not below `least` exceed `target`."""
        pieces = 2

        def step(known: Any, v: Any, some: Any) -> Any:
            before, first, last = known
            e = cl.where(r.keys(v, some) >= least, self.mass(v.to(f32)), 0.0)
            lower, all = r.team.scan(e.reduce("sum", 0), cl.full((pieces,), 0, f32))
            at = some.columns()
            for i in cl.static_range(pieces):
                upto = before + lower[i]
                before += all[i]
                for j in cl.static_range(r.part.vector):
                    upto += e[j, i]
                    if e[j, i] > 0.0:
                        first, last = min(first, at[j, i] if upto > target else r.n), max(last, at[j, i])
            return before, first, last

        _, first, last = r.part.fold(r.x, (f32(0), i32(r.n), i32(0)), step, pieces=pieces)
        first, last = r.team.reduce(first, "min"), r.team.reduce(last, "max")
        return cl.where(first < r.n, first, last)  # the last, where sums of another order came to less

    def among(self, r: Row, room: Any, count: Any, k: Any) -> Any:
        """Return the column that is chosen among `count` elements in `room[0]`, the k greatest of which may be."""
        team, masses, found = r.team, cl.shared(f32, (room.shape[1],)), cl.shared(i32, (2,))
        for i in range(team.lane, count, team.threads):
            mine = room[0, i]
            place = rank(room[0, None], count, mine)
            key = (mine >> 32).to(u32) << (32 - r.bits)
            room[1, place], masses[place] = mine, self.mass(number(key))
        if team.lane == 0:
            found[0], found[1] = r.n, 0
        team.sync()
        least, whole = room[1, k - 1] >> 32, f32(0)
        for i in cl.range(count, unroll=4):
            whole += cl.where(room[1, i] >> 32 >= least, masses[i], 0.0)
        if self.share < 1.0:
            enough, total, lowest = self.share * whole, f32(0), least
            for i in cl.range(count, unroll=4):
                if total < enough:
                    total, lowest = total + masses[i], max(least, room[1, i] >> 32)
            least, whole = lowest, f32(0)
            for i in cl.range(count, unroll=4):
                whole += cl.where(room[1, i] >> 32 >= least, masses[i], 0.0)
        for i in range(team.lane, count, team.threads):
            mine, upto = room[1, i], f32(0)
            column = (ALL - (mine & ALL)).to(i32)
            for j in cl.range(count, unroll=4):
                other = room[1, j]
                upto += cl.where((other >> 32 >= least) & (other & ALL >= mine & ALL), masses[j], 0.0)
            if mine >> 32 >= least and masses[i] > 0.0:
                cl.atomic_max(found, 1, column, scope="cta")
                if upto > self.chance * whole:
                    cl.atomic_min(found, 0, column, scope="cta")
        team.sync()
        return cl.where(found[0] < r.n, found[0], found[1])


def bounded(p: Plan) -> int:
    """Return the greatest k for which few elements are not below the bound that threads find."""
    return p.threads // 2 if p.threads < MOST_THREADS else 0


@cache
def sampling(dtype: Any, n: int, p: Plan) -> Any:
    """Make the kernel that chooses a column of each row, by chance."""
    (P,) = p.pitches("P")

    @cl.kernel(**p.options)
    def sample(
        x: Tensor[dtype, (M, n), (P, 1)], chances: Tensor[f32, (M,)], columns: Tensor[i64, (M,)],
        temperature: f32, k: i32, share: f32,
    ) -> None:  # fmt: skip
        team, row, room = cl.Team.create(p.threads), cl.block_idx.x, cl.shared(u64, (2, CANDIDATES))
        r = Row(dtype, n, team, cl.RowPartition(team, n, p.vector), x[row, None])
        greatest = r.part.fold(r.x, f32(LOWEST), lambda top, v, _: max(top, v.to(f32).reduce("max")), fill=-math.inf)
        chance = Chance(team.reduce(greatest, "max"), 1.0 / temperature, chances[row], share)
        count = i32(CANDIDATES + 1)
        if k > 0 and k <= bounded(p):
            count = r.collect(room[0, None], at_least(r.bound(k)))
        if count <= CANDIDATES:
            column = chance.among(r, room, count, k)
        else:
            column = chance.anywhere(r, k)
        if team.lane == 0:
            columns[row] = column.to(i64)

    return sample


@underived()
def sample(
    x: Any,
    chances: Any,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    out: Any = None,
    how: Plan | None = None,
) -> Any:
    """Choose a column of each row by the softmax of x / temperature, among the greatest.

    x            (..., n), bf16, f16 or f32
    chances      (...), f32, evenly spread from 0 to 1, 1 excluded: the same ones choose the same columns
    temperature  above 0
    top_k        how many of the greatest to choose among, and those equal to the last; 0: all
    top_p        among as many of these, from the greatest on, as come to that share of their sum; 1: all
    out          where to write, (...), int64 without gaps; by default a new array
    Gives        (...), int64
    Errors       `cl.ArgumentError` for other arrays and numbers
    """
    rows, leading = Rows(x, "x", most=None), tuple(x.shape[:-1])
    Arguments().array("chances", chances, "f32", leading)
    if not rows.n:
        raise cl.ArgumentError("x has rows of 0 elements, of which none can be chosen")
    temperature, top_p = as_number("temperature", temperature, above=0), as_number("top_p", top_p, above=0, most=1)
    top_k = as_number("top_k", top_k, whole=True, least=0)
    top_k = top_k if top_k < rows.n else 0
    (columns,) = results(out, {"columns": (leading, "i64")}, x=x, chances=chances)
    p = (instance("how", how, Plan) or alone(rows.n, rows.vector)).only()
    kernel = sampling(rows.dtype, rows.n, p)
    given = flat(chances, rows.m), flat(columns, rows.m)
    kernel[rows.m, p.block](rows.matrix, *given, temperature, top_k, top_p)
    return columns
