"""The kernels of the derivatives of RMSNorm and LayerNorm (`norm_forward.py`).

    dx = (g - mean(g) - xhat * mean(g * xhat)) * rstd        xhat = (s - mean) * rstd        g = dy * (offset + weight)

Each team keeps sums over its rows of dy * xhat and of dy, for the gradients of weight and bias. A second kernel adds up
what the teams have, always in the same order. xhat and g of a whole row would not fit into registers beside the sums;
g alone does where rows stay in shared memory.
"""

import math
from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32
from cutelite.kernels.rows.norm_forward import Norm, dot, vectors_of
from cutelite.kernels.rows.plan import ACCESS, Plan, follow, pitches
from cutelite.lib.row_counter import begin, owner
from cutelite.lib.row_planes import RowPlanes
from cutelite.lib.row_words import widened
from cutelite.lib.rows import RowEnds
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple

M, N = cl.dims("M N")  # rows, columns
G = cl.Dim("G", min=0)  # sums of teams: none where there are no rows
ADDING, WIDTHS = 256, (256, 128, 64, 32, 16, 8)  # threads of a block that adds up columns; columns of one
KEPT = 40  # elements of a thread of each of two rows that registers keep
UNDER_WAY = 16  # loads of a thread under way together
SUMMING, GROUPS = 256, 64  # threads of a block that sums columns of long rows; parts of the rows


class Gathered(NamedTuple):
    """A thread's sums over rows of dy * xhat and of dy: `OwnSums`, or `RowPlanes`; None for what is not wanted."""

    products: Any
    plain: Any

    @staticmethod
    def create(part: Any, in_shared: int, dw: Any, db: Any) -> "Gathered":
        """Begin with zeros for those of the matrices `dw` and `db` that are wanted; `in_shared` of them are there."""
        if part.shift is not None and not part.steady:
            return Gathered(*(None if each is None else RowPlanes.zeros(part) for each in (dw, db)))
        return Gathered(
            None if dw is None else OwnSums.zeros(part, in_shared > 0),
            None if db is None else OwnSums.zeros(part, in_shared > (dw is not None)),
        )

    def of(self, some: Any) -> tuple[Any, ...]:
        """Return the sums of a vector."""
        return tuple(None if each is None else each.of(some) for each in self)

    def add(self, some: Any, d: Any, xhat: Any, before: Any = None) -> None:
        """Add a vector to the sums, which are `before`, or None: they are read."""
        for sums, known, v in zip(self, before or self.of(some), (d * xhat, d), strict=True):
            if sums is not None:
                sums.put(some, known + v.reshape(known.shape))

    def clear(self) -> None:
        """Begin with zeros again."""
        for sums in self:
            if sums is not None:
                sums.clear()

    def write(self, team: Any, row: Any, *outs: Any) -> None:
        """Write the team's sums to a row of the matrices.

        Who  all threads of the cluster. By columns they have met since they added the last row (`Team.leave`)
        """
        by_columns = any(isinstance(each, RowPlanes) for each in self)
        if by_columns and team.cluster == 1:
            cl.syncthreads()
        for sums, out in zip(self, outs, strict=True):
            if sums is not None:
                sums.write(out[row, None])
        if by_columns and team.cluster > 1:
            cl.cluster_sync()

    def adding(self, norm: Norm, part: Any) -> Any:
        """Return the function that adds a row, as `meanwhile` of `each_reduced`."""
        return lambda row, asked, _, gs, xs, *adds: self.add_row(part, gs, xs, norm.line(asked[0], asked[1], False))

    def add_row(self, part: Any, gs: Any, xs: Any, line: Any) -> None:
        """Add a row: each vector is read before the sums of the one before are written. No load moves above a store."""

        def fetch(some: Any) -> Any:
            return gs.of(some), xs.of(some), self.of(some)

        steps = [part.piece(i) for i in range(part.pieces)] + ([RowEnds(part)] if part.ends else [])
        coming = fetch(steps[0])
        for i in cl.static_range(len(steps)):
            d, x, before = coming
            coming = fetch(steps[i + 1]) if i + 1 < len(steps) else None
            if steps[i].reached:
                self.add(steps[i], widened(d), line.of(x), before)


@dataclass(frozen=True)
class Kinds:
    """A team's weights and sums, where its rows are of several kinds: each begin alike.

    Sums over rows of a kind are in rows of the matrices that are of this kind too, so that they begin alike: one for
    each of its teams, in order. Those behind that no team has are cleared at the end.

    number    of kinds (`Plan.kinds`)
    part      how a row is distributed
    rows      the rows that teams work on
    gathered  the sums
    outs      the matrices that they go to, or None for what is not wanted
    given     the weights, or None
    held      the `RowPart` of the weights, or None
    weights   of several kinds what registers hold of the weights, for rows of the current one
    beside    likewise of those of the row's `RowEnds`, as f32, if there are such. Converted where they are used, they
              would be waited for with each row, and with them the numbers of the next one
    state     (1,) in registers: the kind of the current row
    """

    number: int
    part: Any
    rows: Any
    gathered: Gathered
    outs: tuple[Any, ...]
    given: Any
    held: Any
    weights: Any
    beside: Any
    state: Any

    @staticmethod
    def create(number: int, stream: Any, gathered: Gathered, outs: Any, given: Any, held: Any) -> "Kinds":
        """Begin with the team's first row."""
        part, rows = stream.part, stream.arrays[0]
        weights = beside = None
        if number > 1 and given is not None:
            weights = cl.make_rmem_tensor(given.dtype, cl.make_layout(part.shape))
            weights.store(held.held)
            if part.ends:
                beside = cl.make_rmem_tensor(f32, (1, 1))
                beside.store(widened(held.ends))
        state = cl.make_rmem_tensor(part.team.number().dtype, (1,))
        state[0] = stream.bulk.here.row % number if number > 1 else 0
        return Kinds(number, part, rows, gathered, outs, given, held, weights, beside, state)

    def scale(self, some: Any) -> Any:
        """Return the weights of some vectors; None without weights."""
        if self.weights is None:
            return vectors_of(self.held, some)
        end = None if self.beside is None else self.beside.load()
        return cl.RowPart(self.part, self.weights.load(), ends=end).of(some)

    def turn_to(self, row: Any) -> None:
        """Make `row` the current one; where it is of another kind, write the sums and begin again."""
        if row % self.number != self.state[0]:
            self.write()
            self.gathered.clear()
            self.part.turn_to(self.rows[row, None])
            if self.weights is not None:
                self.weights.store(self.part.load(self.given, alike=False))
            if self.beside is not None:
                self.beside.store(widened(self.part.own_end(self.given)))
            self.state[0] = row % self.number

    def write(self) -> None:
        """Write the sums over rows of the current kind."""
        team = self.part.team
        row = team.number() // team.teams
        if self.number > 1:
            kind = self.state[0]
            row = (row - self.teams(kind)[0]) * self.number + kind
        self.gathered.write(team, row, *self.outs)

    def teams(self, kind: Any) -> tuple[Any, Any]:
        """Return the first and the last one of the teams that have rows of a kind."""
        team, rows = self.part.team, self.rows.shape[0]
        first, last = (begin(kind + i, rows, self.number) - i for i in (0, 1))
        return owner(first, rows, team.count()), owner(last, rows, team.count())

    def end(self) -> None:
        """Write the sums over the team's last rows, and share with others the work to clear what no team has."""
        self.write()
        team, outs = self.part.team, [each for each in self.outs if each is not None]
        if self.number == 1 or not outs:
            return
        count, step = outs[0].shape[0], team.cluster * team.threads
        for kind in range(team.number(), min(count, self.number), team.count()):
            first, last = self.teams(kind)
            for row in range((last - first + 1) * self.number + kind, count, self.number):
                for column in range(team.rank * team.threads + team.lane, self.part.n, step):
                    for out in outs:
                        out[row, column] = 0.0


@cache
def backward(norm: Norm, p: Plan) -> Any:
    """Make the kernel that gives dx, and of each team the sums over its rows of dy * xhat and of dy, piece by piece."""
    (P, Q, R, S), dtype, n, weight = p.pitches("P Q R S"), norm.dtype, norm.n, norm.weight

    @cl.kernel(**p.options)
    def norm_backward(
        dy: Tensor[dtype, (M, n), (P, 1)],
        s: Tensor[dtype, (M, n), (Q, 1)],
        w: Tensor[weight, (n,)] | None,
        means: Tensor[f32, (M,)] | None,
        rstds: Tensor[f32, (M,)],
        add: Tensor[dtype, (M, n), (S, 1)] | None,
        dx: Tensor[dtype, (M, n), (R, 1)],
        dw: Tensor[f32, (G, n)] | None,
        db: Tensor[f32, (G, n)] | None,
    ) -> None:
        _team, part = p.team(n, dy, s, weights=(w,), reductions=None, steady=not p.planes)
        gathered = Gathered.create(part, p.shared_sums, dw, db)
        arrays = (dy, s, add) if add is not None and p.adds_ahead else (dy, s)
        stream = cl.RowStream.create(part, arrays, many=True, **p.stream)
        wide = stream.outside and stream.bulk is not None and (p.cluster > 1 or p.kept) and (add is None or p.added)
        keeps = wide and part.vector * part.pieces <= (KEPT if p.pairs else math.inf)  # g, in registers
        later = wide and p.cluster > 2  # what is added to sums is computed again, while blocks exchange theirs
        held = weights_of(stream, w, piecewise(stream) or p.overlap or p.planes)
        kinds = Kinds.create(p.kinds, stream, gathered, (dw, db), w, held)

        def first(row: Any, asked: Any, gs: Any, xs: Any, *_: Any) -> Any:
            normed = norm.line(asked[0], asked[1], p.cluster == 1)

            def look(before: Any, some: Any) -> Any:
                sums, kept = before
                g = cl.full(some.shape, 0, f32)
                if some.reached:
                    d, xhat = widened(gs.of(some)), normed.of(xs.of(some))
                    g = norm.weighted(d, kinds.scale(some))
                    if not later:
                        gathered.add(some, d, xhat)
                    sums = with_sums(sums, g, xhat)
                return sums, (*kept, g) if keeps else ()

            sums, kept = stream.walk(((f32(0),) * (1 + norm.center), ()), look, pieces=1)
            return sums, (kept, part.part_of(add[row, None]) if add is not None and p.adds_early else None)

        def last(row: Any, asked: Any, before: Any, sums: Any, gs: Any, xs: Any, *adds: Any) -> None:
            (mean, rstd), (kept, more) = asked, before or ((), None)
            normed = norm.line(mean, sums[0] * (-1.0 / n) * rstd * rstd, p.cluster == 1)
            outer = normed.plus + (sums[1] * (-1.0 / n) * rstd if norm.center else -0.0)

            def gradient(some: Any, more: Any) -> Any:
                g = kept[some.start] if kept else norm.weighted(widened(gs.of(some)), kinds.scale(some))
                d = normed._replace(plus=g * rstd + outer).of(xs.of(some))
                return (d if add is None else d + widened(more.of(some))).to(dtype)

            store_row(stream, gradient, adds[0] if adds else added(stream, add, row, more), dx[row, None])

        meanwhile, turn = gathered.adding(norm, part) if later else None, kinds.turn_to if p.kinds > 1 else None
        stream.each_reduced(first, last, "add", numbers_of(means, rstds), meanwhile, turn)
        kinds.end()

    return norm_backward


def weights_of(stream: Any, w: Any, few: bool) -> Any:
    """Return the `RowPart` of the weights, or None: held by the stream where registers are `few`, else by these."""
    if w is None:
        return None
    return stream.hold(w)(0) if few else stream.part.part_of(w, alike=False)


def with_sums(before: Any, g: Any, xhat: Any) -> Any:
    """Add the sums over a row of g * xhat and, for LayerNorm, whose tuple has two, of g = dy * (offset + weight)."""
    product = before[0] + dot(g, xhat)
    return (product,) if len(before) == 1 else (product, before[1] + g.reduce("sum"))


def numbers_of(means: Any, rstds: Any) -> Any:
    """Return the function that gives a row's mean, or None, and rstd."""
    return lambda row: (None if means is None else means[row], rstds[row])


def added(stream: Any, add: Any, row: Any, loaded: Any) -> Any:
    """Return the thread's part of a row of what is added to the gradient, or None; `loaded` is it already, or None."""
    if add is None:
        return None
    if stream.loops:
        return cl.RowPart(stream.part, add[row, None], 0, True)
    return stream.part.part_of(add[row, None]) if loaded is None else loaded


def piecewise(stream: Any) -> bool:
    """Tell whether rows are worked on a few vectors at a time, so that nothing of a row is in registers."""
    return stream.loops or stream.queue is not None


def store_row(stream: Any, gradient: Any, more: Any, out: Any) -> None:
    """Store a row that `gradient` computes of some vectors and `more`: together where registers hold them.

    No load moves above a store.
    """
    part = stream.part
    if piecewise(stream):
        stream.walk(None, lambda _, some: some.store(gradient(some, more), out), last=True)
        return
    held = cl.make_rmem_tensor(out.dtype, cl.make_layout(part.shape))
    cl.clear(held)
    for i in cl.static_range(part.pieces):
        if part.piece(i).reached:
            held[None, i].store(gradient(part.piece(i), more).reshape((part.vector,)))
    part.store(held.load(), out)
    if part.ends:
        RowEnds(part).store(gradient(RowEnds(part), more), out)


@cache
def of_columns(norm: Norm, vector: int) -> Any:
    """Make the kernel that gives the sums of dy * xhat and of dy over every Gth row: for rows that no team can hold."""
    dtype, wide = norm.dtype, ACCESS // norm.dtype.bytes
    P, Q = pitches("P Q", vector)

    @cl.kernel(block=SUMMING)
    def norm_columns(
        dy: Tensor[dtype, (M, N), (P, 1)],
        s: Tensor[dtype, (M, N), (Q, 1)],
        means: Tensor[f32, (M,)] | None,
        rstds: Tensor[f32, (M,)],
        dw: Tensor[f32, (G, N)] | None,
        db: Tensor[f32, (G, N)] | None,
    ) -> None:
        follow()
        tile = cl.RowTile(cl.block_idx.x * SUMMING * wide, N, wide, 1)
        products, plain = cl.full(tile.shape, 0, f32), cl.full(tile.shape, 0, f32)
        for row in range(cl.block_idx.y, M, cl.grid_dim.y):
            d, mean = tile.load(dy[row, None]).to(f32), f32(0) if means is None else means[row]
            xhat = (tile.load(s[row, None]).to(f32) - mean) * rstds[row]
            products, plain = products + d * xhat, plain + d
        for sums, out in ((products, dw), (plain, db)):
            if out is not None:
                tile.store(sums, out[cl.block_idx.y, None])

    return norm_columns


@dataclass(frozen=True)
class OwnSums:
    """A thread's sums over rows of its own elements, where all rows of a team begin as far into a vector.

    part    how rows are distributed
    memory  (vector, pieces, teams) in registers or in shared memory, where no two threads meet in a bank. The last mode
            goes from this team to those behind it in shared memory
    end     (1, 1) in registers: of the row's `RowEnds`
    """

    part: Any
    memory: Any
    end: Any

    @staticmethod
    def zeros(part: Any, in_shared: bool) -> "OwnSums":
        """Begin with zeros."""
        width, team = min(part.vector, 4), part.team
        if in_shared:
            rest, each = part.vector // width, width * team.threads
            size = each * rest * part.pieces
            layout = cl.make_layout(((width, rest), part.pieces, team.teams), stride=((1, each), each * rest, size))
            whole = cl.shared(f32, (size * team.teams,), align=16)
            sums = cl.domain_offset((team.index * size + team.lane * width,), whole).view(layout)
        else:
            sums = cl.make_rmem_tensor(f32, cl.make_layout((part.vector, part.pieces, 1)))
        made = OwnSums(part, sums, cl.make_rmem_tensor(f32, (1, 1)))
        made.clear()
        return made

    def clear(self) -> None:
        """Begin with zeros again."""
        cl.clear(self.memory[None, None, 0])
        cl.clear(self.end)

    def of(self, some: Any) -> Any:
        """Return the sums of a vector."""
        return self.end.load() if some.start == self.part.pieces else self.memory[None, some.start, 0].load()

    def put(self, some: Any, v: Any) -> None:
        """Replace the sums of a vector."""
        (self.end if some.start == self.part.pieces else self.memory[None, some.start, 0]).store(v)

    def write(self, row: Any) -> None:
        """Write the sums to `row`: those of all teams of the block, added up in order. Who: the whole block."""
        team, sums = self.part.team, self.memory
        if team.teams > 1:
            if sums.space != "smem":
                sums = OwnSums.zeros(self.part, True).memory
                sums[None, None, 0].store(self.memory[None, None, 0].load())
            cl.syncthreads()
        if team.teams == 1 or team.index == 0:
            total = sums[None, None, 0].load()
            for i in cl.static_range(1, team.teams):
                total = total + sums[None, None, i].load()
            self.part.store(total, row)
            if self.part.ends:
                RowEnds(self.part).store(self.end.load(), row)


@cache
def add_up(dtype: Any, columns: int) -> Any:
    """Make the kernel that adds up the rows of one or two f32 matrices: a block for `columns` of one, side by side."""
    step = ADDING // columns  # rows at a time

    @cl.kernel(block=ADDING)
    def column_sums(
        parts: Tensor[f32, (G, N)],
        out: Tensor[dtype, (N,)],
        more: Tensor[f32, (G, N)] | None,
        other: Tensor[dtype, (N,)] | None,
    ) -> None:
        follow()
        mine, at = cl.thread_idx.x // columns, cl.thread_idx.x % columns
        column, sums = cl.block_idx.x * columns + at, cl.shared(f32, (step, columns))

        def added(parts: Any, out: Any) -> None:
            total = f32(0)
            if column < N:
                for first in range(mine, G, UNDER_WAY * step):
                    found = cl.make_rmem_tensor(f32, (UNDER_WAY,))
                    for i in cl.static_range(UNDER_WAY):
                        row = first + i * step
                        found[i] = parts[row, column] if row < G else f32(0)
                    total += found.load().reduce("sum")
            sums[mine, at] = total
            cl.syncthreads()
            if mine == 0 and column < N:
                whole = f32(0)
                for i in cl.static_range(step):
                    whole += sums[i, at]
                out[column] = whole.to(dtype)

        if more is None or cl.block_idx.y == 0:
            added(parts, out)
        else:
            added(more, other)

    return column_sums
