"""Sampling of a column of each row, by softmax among the top k or the top p (`ranked.py`)."""

import math
from functools import cache, partial
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32, i64, u32, u64
from cutelite.kernels.arguments import Arguments, as_number, results, underived
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import Access, Rows, derived, flat
from cutelite.kernels.rows.keys import ALL, number
from cutelite.kernels.rows.plan import Plan
from cutelite.kernels.rows.ranked import CANDIDATES, Row, alone, at_least, bounded, number_of, rank, threshold
from cutelite.kernels.rows.softmax import LOWEST, power
from cutelite.tuples import NamedTuple

M = cl.dims("M")  # rows


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
        return r.team.reduce(self.of_thread(r, *chosen))

    def of_thread(self, r: Row, *chosen: Any) -> Any:
        """Return `masses` of this thread's elements."""

        def step(totals: Any, v: Any, some: Any) -> Any:
            e, keys, at = self.mass(v.to(f32)), r.keys(v, some), some.columns()
            for i, each in enumerate(chosen):
                totals = totals.put(i, totals[i] + cl.where(each(keys, at), e, 0.0).reduce("sum"))
            return totals

        return r.part.fold(r.x, cl.full((len(chosen),), 0, f32), step, pieces=2)

    def anywhere(self, r: Row, k: Any) -> Any:
        """Return the column that is chosen from a row: as many passes as its keys have bits, halved."""
        least = u32(1)
        if k > 0 and k < r.n:
            least, _ = r.kth(k)
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
            lower, all = r.own.scan(e.reduce("sum", 0), cl.full((pieces,), 0, f32))
            at = some.columns()
            for i in cl.static_range(pieces):
                upto = before + lower[i]
                before += all[i]
                for j in cl.static_range(r.part.vector):
                    upto += e[j, i]
                    if e[j, i] > 0.0:
                        first, last = min(first, at[j, i] if upto > target else r.n), max(last, at[j, i])
            return before, first, last

        before = f32(0) if r.team.cluster == 1 else r.ahead(self.of_thread(r, at_least(least))[0])
        _, first, last = r.part.fold(r.x, (before, i32(r.n), i32(0)), step, pieces=pieces)
        first, last = r.team.reduce(first, "min"), r.team.reduce(last, "max")
        return cl.where(first < r.n, first, last)  # the last, where sums of another order came to less

    def among(self, r: Row, room: Any, count: Any, k: Any) -> Any:
        """Return the column that is chosen among `count` elements in `room[0]`, the k greatest of which may be."""
        team, masses, found = r.own, cl.shared(f32, (room.shape[1],)), cl.shared(i32, (2,))
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


@cache
def sampling(dtype: Any, n: int, p: Plan) -> Any:
    """Make the kernel that chooses a column of each row, by chance."""
    (P,) = p.pitches("P")

    @cl.kernel(**p.options)
    def sample(
        x: Tensor[dtype, (M, n), (P, 1)], chances: Tensor[f32, (M,)], columns: Tensor[i64, (M,)],
        temperature: f32, k: i32, share: f32,
    ) -> None:  # fmt: skip
        r, room = Row.of(p, x), cl.shared(u64, (2, CANDIDATES))
        row, team = r.number, r.team
        greatest = r.part.fold(r.x, f32(LOWEST), lambda top, v, _: max(top, v.to(f32).reduce("max")), fill=-math.inf)
        chance = Chance(team.reduce(greatest, "max"), 1.0 / temperature, chances[row], share)
        count = i32(CANDIDATES + 1)
        if k > 0 and k <= bounded(p):
            count = r.collect(room[0, None], at_least(r.bound(k)))
        column = i32(0)
        if count > CANDIDATES:
            column = chance.anywhere(r, k)
        elif team.rank == 0:
            column = chance.among(r, room, count, k)
        if team.rank == 0 and team.lane == 0:
            columns[row] = column.to(i64)
        team.leave()

    return sample


@planned
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

    x            (..., n), bf16, f16 or f32. Of rows that have no softmax, with NaN, inf or nothing but -inf, any column
                 is chosen
    chances      (...), f32, evenly spread from 0 to 1, 1 excluded: the same ones choose the same columns
    temperature  above 0
    top_k        how many of the greatest to choose among, and those equal to the last; 0: all
    top_p        among as many of these, from the greatest on, as come to that share of their sum; 1: all
    out          where to write, (...), int64 without gaps; by default a new array
    Gives        (...), int64
    Errors       `cl.ArgumentError` for other arrays and numbers
    """
    if (made := derived(x, chances, out=out)) is not None:
        numbers = {"temperature": as_number("temperature", temperature), "top_p": as_number("top_p", top_p)}
        return made.sample(x, chances, top_k=top_k, **numbers)
    rows, leading = Rows(x, "x"), tuple(x.shape[:-1])
    Arguments().array("chances", chances, "f32", leading)
    if not rows.n:
        raise cl.ArgumentError("x has rows of 0 elements, of which none can be chosen")
    temperature, top_p = as_number("temperature", temperature, above=0), as_number("top_p", top_p, above=0, most=1)
    top_k = as_number("top_k", top_k, whole=True, least=0)
    top_k = top_k if top_k < rows.n else 0
    (columns,) = results(out, {"columns": (leading, "i64")}, x=x, chances=chances)
    p = Access.of([rows]).plan(how, partial(rows.planned, alone, rows.m)).only()
    kernel = sampling(rows.dtype, rows.n, p)
    given = flat(chances, rows.m), flat(columns, rows.m)
    kernel[rows.m * p.cluster, p.block](rows.matrix, *given, temperature, top_k, top_p)
    return columns
