"""The epilogue of a GEMM: from a warpgroup's accumulators to global memory, piece by piece, by TMA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from math import prod
from typing import Any

from cutelite.ir.types import f32, mbarrier, u16, u32, u64
from cutelite.lang.algebra import select
from cutelite.lang.cluster import cluster_sync, mapa
from cutelite.lang.copy import make_copy_atom, make_tiled_copy_C
from cutelite.lang.copy_ops import CopyUniversalOp, LdMatrix8x8x16bOp, StMatrix8x8x16bOp
from cutelite.lang.cp_async import cp_async_bulk_commit_group, cp_async_bulk_wait_group
from cutelite.lang.emit import mistake
from cutelite.lang.given import given_by
from cutelite.lang.index import block_rank_in_cluster, linear_thread_idx
from cutelite.lang.loops import range as unrolled
from cutelite.lang.loops import static_range
from cutelite.lang.mbarrier import fence_mbarrier_init
from cutelite.lang.mma import make_tiled_mma
from cutelite.lang.tensor import TmaTensor, make_rmem_tensor, make_tensor, shared
from cutelite.lang.tma import fence_proxy_async, tma_load, tma_store
from cutelite.lang.values import full
from cutelite.lang.warp import syncwarp
from cutelite.layout import make_layout
from cutelite.lib.copy import copy
from cutelite.lib.piece import GROUP, ROWS, Finish, Piece
from cutelite.lib.pipelines import NamedBarrier
from cutelite.ops.tma import TILE_ALIGN
from cutelite.records import dataclass

AT_ONCE = 8  # elements that a thread loads before it stores them, where threads move results


def piece_copy(op: Any, dtype: Any, turned: bool, load: bool = False) -> Any:
    """Return the tiled copy of wgmma results to shared memory: by stmatrix for elements of 16 bits, else by pairs.

    turned  shared memory is contiguous along columns: stmatrix transposes, and other elements go one by one
    load    the copy back, of each thread's own elements: by ldmatrix
    """
    if dtype.bits == 16:
        kind = LdMatrix8x8x16bOp if load else StMatrix8x8x16bOp
        atom = make_copy_atom(kind(turned, 4 if op.n % 16 == 0 else 2), dtype)
    else:
        atom = make_copy_atom(CopyUniversalOp(dtype.bits if turned else 2 * dtype.bits), dtype)
    return make_tiled_copy_C(atom, make_tiled_mma(op))


def registers_of(op: Any, dtype: Any) -> Any:
    """Return registers for a thread's elements of a piece."""
    return make_rmem_tensor(dtype, make_layout(make_tiled_mma(op).partition_shape_C((ROWS, op.n))))


def store_piece(op: Any, thread: Any, values: Any, piece: Any, turned: bool = False) -> None:
    """Store wgmma results to a piece (64, columns) of shared memory. Who: a warpgroup; `thread` is the index in it.

    values  a vector in the order of the accumulator, of the piece's dtype; `turned`: as of `piece_copy`
    """
    to_shared, held = piece_copy(op, piece.dtype, turned), registers_of(op, piece.dtype)
    held.store(values)
    mine = to_shared.get_slice(thread)
    copy(to_shared, mine.retile(held), mine.partition_D(piece))


def vectors_for(dtype: Any, groups: int, length: int) -> Any:
    """Return shared memory (groups, length): a vector for each group, aligned so that TMA can write it."""
    unit = TILE_ALIGN // dtype.bytes
    return shared(dtype, make_layout((groups, length), stride=(-(-length // unit) * unit, 1)), align=TILE_ALIGN)


def words_of(tensor: Any, word: Any) -> Any:
    """Return the memory of a tensor as elements of a wider dtype, which its columns and pitches are multiples of."""
    several = word.bytes // tensor.dtype.bytes
    *others, columns = tensor.shape
    pitches = [tensor.layout(tuple(int(i == mode) for i in range(len(tensor.shape)))) for mode in range(len(others))]
    layout = make_layout((*others, columns // several), stride=(*(pitch // several for pitch in pitches), 1))
    return make_tensor(tensor.at(*(0 for _ in tensor.shape)), layout, word)  # of this address the alignment is known


@dataclass(frozen=True)
class ResultRing:
    """A ring of buffers in shared memory for one warpgroup's results, in pieces (64, columns) that TMA stores.

        out = ResultRing.create(storage.d[None, None, None, group], op, thread, NamedBarrier(1 + group, 128))
        for i in cl.static_range(pieces):
            out.acquire()
            out.put(i, values)
            out.send(i, d, at=(row, column))
        ...
        out.tail()

    ring     shared memory (64, columns, buffers) of this warpgroup
    op       the `WarpgroupMmaOp` of a piece: (64, columns)
    thread   this thread's index in the warpgroup, 0 to 127; thread 0 starts the copies
    group    the named barrier of the warpgroup
    turned   the result is contiguous along its columns: so is `ring`, and TMA tensors of the result have their modes
             in the order (column, row)
    several  elements that a thread stores at once, up to 8 bytes, of a result that TMA cannot take: what its columns
             and pitches are a multiple of
    once     each buffer is written once, so that nobody waits for one
    Who      all threads of the warpgroup, for all methods
    """

    ring: Any
    op: Any
    thread: Any
    group: NamedBarrier
    turned: bool = False
    several: int = 1
    once: bool = False

    @classmethod
    def create(
        cls, ring: Any, op: Any, thread: Any, group: NamedBarrier, turned: bool = False, several: int = 1,
        once: bool = False,
    ) -> ResultRing:  # fmt: skip
        """Return the ring, with all buffers free."""
        return ResultRing(ring, op, thread, group, turned, several, once)

    @property
    def dtype(self) -> Any:
        """The dtype of the results."""
        return self.ring.dtype

    @property
    def buffers(self) -> int:
        """The number of pieces that the ring holds."""
        return int(self.ring.layout[2].size)

    def buffer(self, i: int) -> Any:
        """Return the buffer that piece `i` goes through."""
        return self.ring[None, None, i % self.buffers]

    def box(self, i: int, at: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """Return the buffer of piece `i` and the coordinates as TMA wants them; `at` ends with row and column."""
        if not self.turned:
            return self.buffer(i), at
        return select(self.buffer(i), (1, 0)), (*at[:-2], at[-1], at[-2])

    def acquire(self) -> None:
        """Wait until TMA has read the oldest buffer, so that it can be written again."""
        if self.once:
            return
        if self.thread == 0:
            cp_async_bulk_wait_group(self.buffers - 1, read=True)
        self.group.sync()

    def take(self, i: int) -> Any:
        """Read piece `i` of a tensor, which TMA has loaded to its buffer, as a vector in the accumulator's order.

        Each thread reads what it overwrites by `put`, so that nobody waits between the two.
        """
        from_shared, held = piece_copy(self.op, self.dtype, self.turned, True), registers_of(self.op, self.dtype)
        mine = from_shared.get_slice(self.thread)
        copy(from_shared, mine.partition_S(self.buffer(i)), mine.retile(held))
        return held.load()

    def put(self, i: int, values: Any) -> None:
        """Write a piece, a vector in the order of the accumulator, to its buffer."""
        store_piece(self.op, self.thread, values, self.buffer(i), self.turned)
        fence_proxy_async("shared::cta")
        self.group.sync()

    def send(self, i: int, target: Any, at: tuple[Any, ...]) -> None:
        """Start storing piece `i` to `target` at these coordinates. Parts outside are left out.

        target  a TMA tensor; or any other, to which all threads store element by element: its rows may begin anywhere
        """
        if not isinstance(target, TmaTensor):
            self.exchange(i, target, at, True)
        elif self.thread == 0:
            held, start = self.box(i, at)
            tma_store(held, target, at=start)
            if not self.once:
                cp_async_bulk_commit_group()

    def exchange(self, i: int, tensor: Any, at: tuple[Any, ...], out: bool) -> None:
        """Copy piece `i` to a tensor whose rows may begin anywhere, or from it, with zeros for what lies outside."""
        held, (*batch, row, column) = self.box(i, at)
        if out and self.several > 1:
            word = {2: u16, 4: u32, 8: u64}[self.several * self.dtype.bytes]
            held, tensor, column = held.recast(word), words_of(tensor, word), column // self.several
        (high, wide), (rows, columns) = (int(mode.size) for mode in held.layout), tensor.shape[-2:]
        lanes = next(n for n in (32, 16, 8, 4, 2) if n <= wide)  # of a row; the next threads have the next rows
        first, lane, apart, across = self.thread // lanes, self.thread % lanes, GROUP // lanes, -(-wide // lanes)
        several = next(n for n in range(max(1, AT_ONCE // across), 0, -1) if high // apart % n == 0)
        for begin in unrolled(0, high, apart * several):
            places = [(begin + first + j * apart, lane + k * lanes) for j in range(several) for k in range(across)]
            if out:
                found = [held[down, min(right, wide - 1)] for down, right in places]
                syncwarp()  # no load waits for a branch around the store of another
            else:
                found = [tensor[*batch, min(row + y, rows - 1), min(column + x, columns - 1)] for y, x in places]
            for (down, right), value in zip(places, found, strict=True):
                inside = row + down < rows and column + right < columns
                if out and inside and right < wide:
                    tensor[*batch, row + down, column + right] = value
                elif not out and right < wide:
                    kept = self.dtype(0)
                    if inside:  # `where` takes no numbers of 8 bits
                        kept = value
                    held[down, right] = kept

    def fill(self, i: int, source: Any, at: tuple[Any, ...]) -> None:
        """Load piece `i` of a tensor whose rows may begin anywhere to its buffer, once that is free."""
        self.acquire()
        self.exchange(i, source, at, False)
        self.group.sync()

    def write(self, acc: Any, target: Any, at: tuple[Any, ...]) -> None:
        """Store a waited-for accumulator, 64 rows and any number of pieces side by side, to `target` from `at` on."""
        wide = int(self.op.n)
        pieces = acc.n * 2 // wide
        for i in static_range(pieces):
            self.acquire()
            self.put(i, acc[i * wide // 2 : (i + 1) * wide // 2].to(self.dtype))
            self.send(i, target, at=(*at[:-1], at[-1] + i * wide))
        self.skip(pieces)

    def skip(self, pieces: int) -> None:
        """Leave the buffers behind the last of a result's pieces unused: the next result begins at the first buffer.

        `acquire` counts groups of copies, and an empty group stands for a buffer without one.
        """
        if self.thread == 0:
            for _ in static_range(-pieces % self.buffers):
                cp_async_bulk_commit_group()

    def tail(self) -> None:
        """Wait until all buffers have been read: before the block exits."""
        if self.thread == 0:
            if self.once:
                cp_async_bulk_commit_group()
            cp_async_bulk_wait_group(0, read=True)


@dataclass(frozen=True)
class Fetch:
    """TMA loads by one thread for all threads of a group, with an mbarrier for each place in shared memory.

    bars  the mbarriers, of any shape
    """

    bars: Any

    @classmethod
    def create(cls, shape: tuple[int, ...]) -> Fetch:
        """Make the barriers. A barrier of the block must follow before they are used.

        Who  all threads of the block
        """
        bars = shared(mbarrier, shape)
        if linear_thread_idx() == 0:
            for i in static_range(prod(shape)):
                bars[i].init(1)
            fence_mbarrier_init()
        return Fetch(bars)

    def start(self, place: Any, tiles: list[Any]) -> None:
        """Start loading tiles, each (TMA tensor, shared memory, coordinates), that belong to one place. One thread."""
        bar = self.bars[place]
        bar.arrive_expect_tx(sum(int(target.nbytes) for _, target, _ in tiles))
        for source, target, at in tiles:
            tma_load(source, target, at=at, barrier=bar)

    def wait(self, place: Any, phase: Any) -> None:
        """Wait until the place is filled; `phase` is 0 or 1: the number of earlier fills, modulo 2."""
        self.bars[place].wait(phase)


@dataclass(frozen=True)
class Scales:
    """Factors of a GEMM's sums, f32: `a` for the rows of the result, `b` for its columns; None is 1.

    A TMA tensor holds a factor for each row or column; any other tensor holds one factor for all.
    """

    a: Any = None
    b: Any = None


@dataclass(frozen=True)
class Fused:
    """The results of a GEMM from its sums: ``activation(alpha * scales * sums + beta * c + bias)``.

    c            a matrix of the shape and dtype of the result, or None
    bias         a number for each column, or with `by_row` for each row; or None
    alpha, beta  numbers
    activation   an elementwise function on vectors of f32, or None
    finish       a function that takes ``alpha * sums`` instead of all this, and stores the results; or None

    In a kernel, bias is a TMA tensor. c is what `Epilogue.d` is: a TMA tensor, whose boxes are (64, columns of a piece)
    or parts of it, or any other tensor.
    """

    c: Any = None
    bias: Any = None
    scales: Scales = field(default_factory=Scales)
    alpha: Any = 1.0
    beta: Any = 0.0
    activation: Callable[[Any], Any] | None = None
    by_row: bool = False
    finish: Finish | None = None


@dataclass(frozen=True)
class Epilogue:
    """The epilogue of one warpgroup: what it computes from the accumulators of its tiles, and how that gets to `d`.

    shape    (rows, columns) of the warpgroup's tile
    ring     the buffers that its pieces go through
    d        the TMA tensor of results; its boxes are (64, columns of a piece) or parts of that. Or any other tensor,
             whose rows may begin anywhere: threads store to it element by element
    fused    what is computed from the sums
    factor   alpha times the scales that are one number
    fetch    this warpgroup's barriers (1 + buffers,): one for bias and scales, one for each buffer
    vectors  shared memory of bias, row scales and column scales, in this order, each None unless a TMA tensor
    blocks   how many blocks of a cluster share the K of a tile; each of them finishes some of the tile's pieces
    first    the index of this block's first piece
    held     with several blocks, shared memory for their accumulators: (128, pieces, elements of a thread in a piece)
    ready    the barrier of the block's multiplying warpgroups: before it they may still read `held` as operands
    Who      all threads of the warpgroup, for all methods
    """

    shape: tuple[int, int]
    ring: ResultRing
    d: Any
    fused: Fused
    factor: Any
    fetch: Fetch
    vectors: tuple[Any, Any, Any]
    blocks: int = 1
    first: Any = 0
    held: Any = None
    ready: NamedBarrier | None = None

    @classmethod
    def create(
        cls,
        shape: tuple[int, int],
        ring: ResultRing,
        d: Any,
        fused: Fused,
        fetch: Fetch,
        *,
        groups: int,
        group: Any,
        blocks: int = 1,
        memory: Any = None,
        sums: Any = f32,
        ready: NamedBarrier | None = None,
    ) -> Epilogue:
        """Make the epilogue of warpgroup `group` of `groups`; all warpgroups that have one call this.

        shape, ring, d, fused, fetch  the fields
        blocks  how many blocks of the cluster share the K of a tile. With several, a block has one tile in all, and
                stores a part of it
        memory  with several blocks, a pointer to shared memory for the accumulators of all groups; operands may have
                been there before
        sums    the dtype of the accumulators
        ready   a barrier of all warpgroups that have read this memory as operands; None where one warpgroup has
        Errors  `epilogue-pieces` where a tile is not cut into whole pieces, or these do not fill all buffers of the
                ring equally often: the next tile would begin at a buffer that may still be read
        """
        wide, pieces = int(ring.op.n), shape[0] // ROWS * (shape[1] // int(ring.op.n))
        if shape[0] % ROWS or shape[1] % wide or (pieces % ring.buffers and blocks == 1):
            text = f"a tile of {shape} is {pieces} pieces of ({ROWS}, {wide}), and the ring has {ring.buffers} buffers"
            raise mistake("epilogue-pieces", text, help="whole pieces, a multiple of the buffers")
        ones, first, second = (
            vectors_for(x.dtype, groups, shape[mode])[group, None] if isinstance(x, TmaTensor) else None
            for x, mode in ((fused.bias, 0 if fused.by_row else 1), (fused.scales.a, 0), (fused.scales.b, 1))
        )
        vectors, factor = (ones, first, second), fused.alpha
        for x in (fused.scales.a, fused.scales.b):
            if x is not None and not isinstance(x, TmaTensor):
                factor = factor * x[0]
        if blocks == 1:
            return Epilogue(shape, ring, d, fused, factor, fetch, vectors)
        lanes, each = 128, wide // 2  # the next thread's 16 bytes follow each thread's
        layout = make_layout(
            (groups, lanes, pieces, (4, each // 4)),
            stride=(lanes * pieces * each, 4, lanes * each, (1, 4 * lanes)),
        )
        held = make_tensor(memory, layout, sums)[group, None, None, None]
        first = block_rank_in_cluster() * -(-pieces // blocks)
        return Epilogue(shape, ring, d, fused, factor, fetch, vectors, blocks, first, held, ready)

    @property
    def pieces(self) -> int:
        """The most pieces of a tile that this block finishes."""
        return -(-self.all_pieces // self.blocks)

    @property
    def all_pieces(self) -> int:
        """The number of pieces of a tile."""
        return self.shape[0] // ROWS * (self.shape[1] // int(self.ring.op.n))

    def place(self, i: Any) -> tuple[Any, Any]:
        """Return row and column of a piece in the tile."""
        across = self.shape[1] // self.ring.op.n
        return i // across * ROWS, i % across * int(self.ring.op.n)

    def prepare(self, row: Any, column: Any, batch: tuple[Any, ...] = ()) -> Any:
        """Start loading what the tile at (row, column) needs. Best called before the tile's products are awaited.

        Result  for `write`: what `Finish.ahead` returned for each piece; None without such a function
        """
        tiles = [
            (x, held, (start,))
            for x, held, start in zip(
                (self.fused.bias, self.fused.scales.a, self.fused.scales.b),
                self.vectors,
                (row if self.fused.by_row else column, row, column),
                strict=True,
            )
            if held is not None
        ]
        if self.ring.thread == 0 and len(tiles) > 0:
            self.fetch.start(0, tiles)
        if isinstance(self.fused.c, TmaTensor):
            for i in static_range(min(self.lead, self.pieces)):
                self.bring(i, row, column, batch)
        finish = self.fused.finish
        if finish is None or finish.ahead is None:
            return None
        none = full((int(self.ring.op.n) * (2 if finish.paired else 1) // 2,), 0.0, f32)
        return [finish.begin(self.piece(finish, none, None, i, row, column, batch)) for i in static_range(self.pieces)]

    def until(self, row: Any) -> Epilogue:
        """Return the epilogue for a product that ends at `row`, a run-time number. Only with a function `finish`."""
        given = self.fused.finish
        if given is None:
            raise mistake("epilogue-end", "only a function that finishes sums stores some rows of a piece")
        finish = replace(given, shape=(row, given.shape[1]))
        return replace(self, fused=replace(self.fused, finish=finish))

    def has(self, i: int) -> Any:
        """Return whether this block has a piece `i`: the last block of a cluster may have fewer than the others."""
        return True if self.pieces * self.blocks == self.all_pieces else self.first + i < self.all_pieces

    @property
    def lead(self) -> int:
        """The number of pieces of C that are loaded before the first is needed: one buffer is still being stored."""
        return max(1, self.ring.buffers - 2)

    def bring(self, i: int, row: Any, column: Any, batch: tuple[Any, ...]) -> None:
        """Wait until the buffer of piece `i`, if there is one, is free, and start loading the piece of C to it."""
        if i < self.pieces and self.has(i) and self.ring.thread == 0:
            # This many pieces were stored after the one in this buffer.
            cp_async_bulk_wait_group(max(0, self.ring.buffers - 1 - self.lead) if i >= self.lead else 0, read=True)
            down, right = self.place(self.first + i)
            held, at = self.ring.box(i, (*batch, row + down, column + right))
            self.fetch.start(1 + i % self.ring.buffers, [(self.fused.c, held, at)])

    def write(
        self, acc: Any, row: Any, column: Any, batch: tuple[Any, ...], count: Any, end: Any = None, ahead: Any = None
    ) -> None:  # fmt: skip
        """Finish the tile and start storing it.

        acc    the accumulator, readable
        count  how many tiles this warpgroup has written before
        end    the row at which the product ends, where a function finishes the sums; None: that of the last tile
        ahead  what `prepare` gave for the tile; None: a function begins only now
        """
        if end is not None:
            self.until(end).write(acc, row, column, batch, count, None, ahead)
            return
        if any(held is not None for held in self.vectors):
            self.fetch.wait(0, count & 1)
        if self.blocks > 1:
            self.hold(acc)
        for i in static_range(self.pieces):
            if self.has(i):
                self.write_piece(acc, i, row, column, batch, count, ahead)
        if self.blocks > 1:
            cluster_sync()  # until here, other blocks read this one's accumulators

    def write_piece(
        self, acc: Any, i: int, row: Any, column: Any, batch: tuple[Any, ...], count: Any, ahead: Any
    ) -> None:  # fmt: skip
        """Finish a piece and start storing it."""
        if self.fused.finish is not None:
            self.finish_by(self.fused.finish, acc, i, row, column, batch, ahead)
            return
        by_tma = isinstance(self.fused.c, TmaTensor)
        buffers, coming = self.ring.buffers, i + self.lead
        if self.fused.c is None:
            self.ring.acquire()
        elif not by_tma:
            down, right = self.place(self.first + i)
            self.ring.fill(i, self.fused.c, (*batch, row + down, column + right))
        else:
            if buffers > 1:
                self.bring(coming, row, column, batch)
            self.fetch.wait(1 + i % buffers, (count * (self.pieces // buffers) + i // buffers) & 1)
        down, right = self.place(self.first + i)
        values = self.slice(acc, i) if self.blocks == 1 else self.added(i)
        self.ring.put(i, self.finish(values, i).to(self.ring.dtype))
        self.ring.send(i, self.d, (*batch, row + down, column + right))
        if by_tma and buffers == 1:
            self.bring(coming, row, column, batch)

    def finish_by(
        self, finish: Finish, acc: Any, i: int, row: Any, column: Any, batch: tuple[Any, ...], ahead: Any
    ) -> None:  # fmt: skip
        """Call the user's function `finish` with a piece."""
        sums = (self.slice(acc, i) if self.blocks == 1 else self.added(i)).to(f32) * self.factor
        others = self.slice(acc, i, self.shape[1]).to(f32) * self.factor if finish.halves else None
        piece = self.piece(finish, sums, others, i, row, column, batch)
        begun = finish.begin(piece) if ahead is None else ahead[i]
        finish.make(piece, begun)

    def piece(
        self, finish: Finish, sums: Any, others: Any, i: int, row: Any, column: Any, batch: tuple[Any, ...]
    ) -> Piece:  # fmt: skip
        """Return piece `i` of the tile at (row, column), as `finish` has them."""
        down, right = self.place(self.first + i)
        across = (column + right) * (2 if finish.paired else 1)
        plain = finish.plain if finish.plain is None or len(batch) == 0 else finish.plain[*batch, None, None]
        at = row + down, across, batch, finish.shape
        return Piece(sums, *at, self.ring, self.d, finish.paired, plain, others)

    def slice(self, acc: Any, i: int, beyond: int = 0) -> Any:
        """Return piece `i` of the accumulator as a vector, or the piece `beyond` columns to the right of it."""
        down, right = self.place(i)
        right = right + beyond
        n = self.ring.op.n // 2  # elements of each thread
        if self.fused.finish is not None and self.fused.finish.paired:
            right, n = 2 * right, 2 * n
        return acc.parts[down // ROWS][right // 2 : right // 2 + n]

    def hold(self, acc: Any) -> None:
        """Write the accumulator to shared memory, where the cluster's blocks read it, and wait for theirs."""
        if self.ready is not None:
            self.ready.sync()
        for i in static_range(self.all_pieces):
            self.held[self.ring.thread, i, None].store(self.slice(acc, i))
        cluster_sync()

    def added(self, i: int) -> Any:
        """Return the sum of all blocks' accumulators for a piece, always added in the same order."""
        parts = [
            mapa(self.held, block)[self.ring.thread, self.first + i, None].load() for block in static_range(self.blocks)
        ]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def finish(self, x: Any, i: int) -> Any:
        """Compute the results of a piece from its sums: `Fused`'s formula."""
        if self.ring.dtype.is_int:
            return x
        down, right = self.place(self.first + i)
        bias, scale_a, scale_b = self.vectors
        x = x.to(f32) * self.factor
        if scale_a is not None:
            x = x * self.spread(scale_a, down, (1, 0))
        if scale_b is not None:
            x = x * self.spread(scale_b, right, (0, 1))
        if self.fused.c is not None:
            x = x + self.ring.take(i).to(f32) * self.fused.beta
        if bias is not None:
            by = (down, (1, 0)) if self.fused.by_row else (right, (0, 1))
            x = x + self.spread(bias, *by).to(f32)
        activation = self.fused.activation
        return x if activation is None else given_by("activation", activation(x), x, activation)

    def spread(self, held: Any, start: Any, stride: tuple[int, int]) -> Any:
        """Return, for each of this thread's elements, the number of `held`, a vector of the tile's rows or columns.

        start   the row or column of the tile at which the piece begins
        stride  (1, 0) where `held` has a number for each row, (0, 1) for each column
        """
        length = ROWS if stride == (1, 0) else int(self.ring.op.n)
        wide = held.tile((length,), (start // length,)).view(make_layout((ROWS, int(self.ring.op.n)), stride=stride))
        return make_tiled_mma(self.ring.op).get_slice(self.ring.thread).partition_C(wide).load()
