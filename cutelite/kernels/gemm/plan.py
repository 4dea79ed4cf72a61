"""The work of the threads of a block of the GEMM: `Plan`."""

from dataclasses import replace
from typing import Any, Literal

import cutelite as cl
from cutelite import f32, i32, u32
from cutelite.kernels.gemm.fits import EIGHT, LOADERS, brought, steps_ahead
from cutelite.kernels.gemm.loads import Loaded
from cutelite.kernels.gemm.products import products
from cutelite.kernels.gemm.tiling import GROUP, K, L, M, N, Tiling
from cutelite.lang.given import given_by
from cutelite.records import dataclass, fact
from cutelite.tuples import NamedTuple

PITCHES = cl.dims("PA QA"), cl.dims("PB QB")  # of batches and of rows, of A and of B, where threads load them


@dataclass(frozen=True)
class Plan(Tiling):
    """The work of a block's threads for a problem, by a configuration."""

    def finish(self, given: cl.Finish, tensors: Any, shape: tuple[Any, Any], plain: Any) -> cl.Finish:
        """The function that makes results of the sums, with its tensors."""
        return replace(given, tensors=tensors or (), shape=shape, plain=plain)

    def wait(self) -> None:
        """Wait for the kernel before this one, if that has not been done to read where groups end."""
        if not self.problem.groups:
            cl.griddepcontrol_wait()

    def parts(self, given: Any, thread: Any, group: Any, number: Any) -> Any:
        """Parts of tiles of this warpgroup: its `number` of two tells which, where both have part of each tile."""
        if given is None or not self.config.stream:
            return None
        sums, flags = given
        return cl.TileParts(sums, flags, thread, group, *(() if self.config.pingpong else (2, number)))

    def mma(self, columns: int) -> Any:
        """Return the instruction for this many columns."""
        return cl.WarpgroupMmaOp(self.multiplied, self.problem.acc, columns, self.problem.b)

    @fact
    def multiplied(self) -> Any:
        """The dtype of A as it is multiplied."""
        return self.problem.a if self.problem.prepare is None else self.problem.b

    @fact
    def reads(self) -> Literal["wgmma", "both"]:
        """The way stages are read, as a pipeline has it."""
        return "wgmma" if self.problem.prepare is None else "both"

    @fact
    def source(self) -> Literal["smem", "rmem"]:
        """The place A is multiplied from: registers where a function makes it."""
        return "smem" if self.problem.prepare is None else "rmem"

    def operands(self, a: Any, b: Any) -> tuple[Any, Any]:
        """The tiles of A and B that this block brings."""
        cluster, majors, columns = self.config.cluster, self.problem.majors, brought(self.config.tile[1], self.problem)
        once = "evict_first" if self.launched.once else None
        of_a, of_b = (once, None) if self.config.swapped else (None, once)
        left = cl.OperandTile.create(a, self.few, cluster, 0, majors[0], of_a)
        return left, cl.OperandTile.create(b, columns, cluster, 1, majors[1], of_b)

    def pipe(self) -> Any:
        """The ring of stages."""
        config, problem, consumers = self.config, self.problem, GROUP if self.config.pingpong else 2 * GROUP
        if problem.loaded:
            return cl.PipelineAsync.create(config.stages, GROUP, consumers, sync=False, reads="wgmma")
        bytes = self.few * self.depth * problem.a.bytes + config.tile[1] * 128
        peers = cl.multicast_peers(config.cluster)
        return cl.PipelineTmaAsync.create(config.stages, bytes, consumers, peers, False, self.reads)

    @fact
    def regs(self) -> tuple[int, int]:
        """Registers of a thread that loads, and of one that multiplies."""
        return (104, 152) if self.problem.loaded else self.config.regs

    def loads(self) -> Any:
        """Tell whether this thread is of a warpgroup that loads."""
        first = cl.thread_idx.x < GROUP
        return (first or cl.thread_idx.x >= 3 * GROUP) if self.problem.loaded else first

    def mapped(self, a: Any, b: Any, d: Any) -> tuple[Any, ...]:
        """The arrays that TMA reads or writes."""
        read = [x for x, name in ((a, "A"), (b, "B")) if name not in self.problem.loaded]
        return (*read, *(() if self.problem.direct else (d,)))

    def held(self, operand: Any, name: Literal["A", "B"]) -> Loaded:
        """An operand, A or B, that threads load."""
        which = "AB".index(name)
        major, (batch, row), extent = self.problem.majors[which], PITCHES[which], (M, N)[which]
        shape, lead = (extent, K) if major == "K" else (K, extent), self.lead(name)
        sizes = (L, *shape, batch, row) if lead else (1, *shape, 0, row)
        return Loaded(operand, sizes, major, (self.few, self.columns)[which])

    def load(self, a: Any, b: Any, storage: Any, pipe: Any, tiles: Any, tile: Any) -> None:
        """A warpgroup: fill the ring by loads, tile after tile, taking every `LOADERS`-th step.

        An operand that TMA can read is brought by it, to the stages that this warpgroup has the turn to fill.
        """
        loaded = self.problem.loaded
        left = self.held(a, "A") if "A" in loaded else None
        right = self.held(b, "B") if "B" in loaded else None
        brought = self.operands(a, b)
        bytes = (0 if "A" in loaded else self.few * 128) + (0 if "B" in loaded else self.config.tile[1] * 128)
        behind = left.copied if left is not None else 0  # units of A, behind which those of B lie
        group, slots = cl.warpgroup_idx() // 3, steps_ahead(self.config, self.problem)
        copied = cl.local_tile(storage.copied, (*storage.copied.shape[:2], slots), (0, 0, group))
        meet = cl.NamedBarrier(5 + group, GROUP)
        asked, made, at = i32(0), i32(0), i32(group)
        state = pipe.producer_state_at(u32(group))
        cl.griddepcontrol_wait()
        while tiles.is_valid():
            of_a = left.lines(tile.batch, tile.row) if left is not None else None
            of_b = right.lines(tile.of_b, tile.column) if right is not None else None
            count = (tile.steps - at + LOADERS - 1) // LOADERS
            for i in range(1 - slots, count):
                if i >= 0:
                    cl.cp_async_wait_group(slots - 2)
                    meet.sync()  # all copies of this step have come, and all threads have read the one before
                if i + slots - 1 < count:
                    k = (tile.first + at + (i + slots - 1) * LOADERS) * self.depth
                    if of_a is not None:
                        of_a.ask(copied[None, None, asked], k)
                    if of_b is not None:
                        of_b.ask(cl.domain_offset((0, behind), copied[None, None, asked]), k)
                    asked = cl.where(asked + 1 == slots, 0, asked + 1)
                cl.cp_async_commit_group()
                if i >= 0:
                    pipe.producer_acquire(state)
                    if bytes > 0 and cl.thread_idx.x % GROUP == 0:
                        self.bring(brought, storage, pipe.full[state.index], state.index, tile, at + i * LOADERS, bytes)
                    if of_a is not None:
                        of_a.bring(copied[None, None, made], storage.a[None, None, state.index])
                    if of_b is not None:
                        held = cl.domain_offset((0, behind), copied[None, None, made])
                        of_b.bring(held, storage.b[None, None, state.index])
                    cl.fence_proxy_async("shared::cta")
                    pipe.producer_commit(state)
                    state, made = state.advance(LOADERS), cl.where(made + 1 == slots, 0, made + 1)
            at = (at + tile.steps) % LOADERS
            tiles = tiles.advance()
            tile = self.place(tiles, None)

    def bring(self, brought: Any, storage: Any, full: Any, stage: Any, tile: Any, step: Any, bytes: int) -> None:
        """One thread: start loading what no threads load of a step, by TMA, which counts its bytes on `full`."""
        (left, right), k = brought, (tile.first + step) * self.depth
        full.expect_tx(bytes)
        if "A" not in self.problem.loaded:
            few = storage.a[None, None, stage].tile((self.few, self.depth), (0, 0))
            left.load(few, tile.batch, tile.row, k, full)
        if "B" not in self.problem.loaded:
            right.load(storage.b[None, None, stage], tile.of_b, tile.column, k, full)

    def ahead(self, left: Any, right: Any, storage: Any, pipe: Any, tile: Any) -> tuple[Any, Any]:
        """One thread: load first steps of B to their stages, wait for the kernel before, and load those of A.

        Gives the number of steps, and the state behind them.
        """
        sides: list[tuple[Any, Any]] = [(left, self.take_a), (right, self.take_b)]
        (a, take_a), (b, take_b) = sides[::-1] if self.config.swapped else sides
        count, state = min(self.config.stages, tile.steps), pipe.producer_state()
        for i in range(count):
            pipe.producer_acquire(state)
            take_b(b, storage, pipe, state, tile, (tile.first + i) * self.depth)
            state = state.advance()
        self.wait()
        state = pipe.producer_state()
        for i in range(count):
            take_a(a, storage, pipe, state, tile, (tile.first + i) * self.depth)
            state = state.advance()
        return count, state

    def take_a(self, left: Any, storage: Any, pipe: Any, state: Any, tile: Any, k: Any) -> None:
        """One thread: start loading a step of A."""
        few = storage.a[None, None, state.index].tile((self.few, self.depth), (0, 0))
        left.load(few, tile.batch, self.within(tile.row, M), k, pipe.barrier(state))

    def take_b(self, right: Any, storage: Any, pipe: Any, state: Any, tile: Any, k: Any) -> None:
        """One thread: start loading a step of B."""
        column = tile.column * 2 if self.paired else self.within(tile.column, N)
        for part in cl.static_range(self.config.tile[1] // right.rows):
            stage = storage.b[None, None, state.index].tile((right.rows, self.depth), (part, 0))
            right.load(stage, tile.of_b, self.column(column, part * right.rows), k, pipe.barrier(state))

    def produce(self, a: Any, b: Any, storage: Any, pipe: Any, tiles: Any, tile: Any, ends: Any) -> None:
        """One thread: fill the ring, tile after tile."""
        left, right = self.operands(a, b)
        state, backward, begin = pipe.producer_state(), False, i32(0) if self.launched.there else 0
        done = begin
        if not self.launched.there:
            self.wait()
        elif tiles.is_valid():
            done, state = self.ahead(left, right, storage, pipe, tile)
        while tiles.is_valid():
            for i in range(done, tile.steps):
                pipe.producer_acquire(state)
                k = (tile.first + (tile.steps - 1 - i if backward else i)) * self.depth
                if self.problem.groups == "K":
                    k = tile.begin + i * self.depth
                self.take_a(left, storage, pipe, state, tile, k)
                self.take_b(right, storage, pipe, state, tile, k)
                state = state.advance()
            tiles, done = tiles.advance(), begin
            tile, backward = self.place(tiles, ends), not backward  # the end of K is in L2 still
        if self.clustered:
            pipe.producer_tail(state)  # others still tell this block's barriers that they have read

    def within(self, at: Any, extent: Any) -> Any:
        """The row or column that a block brings: of a cluster's whose tile lies outside of the result the first ones.

        Nothing is stored of them, and boxes outside would hold up the others (docs/lab/gemm.md).
        """
        problem = self.problem
        plain = not problem.groups and problem.finish is None and problem.gate is None
        return cl.where(at < i32(extent), at, 0) if self.clustered and plain else at

    def consume(
        self, sums: Any, storage: Any, pipe: Any, turns: Any, tiles: Any, group: Any, ends: Any, ahead: Any, parts: Any
    ) -> None:  # fmt: skip
        """A warpgroup: multiply what comes, and write what it adds up to."""
        half = 0 if self.config.pingpong else group
        down, right_of = (0, half) if self.config.across else (half, 0)
        mma = cl.make_tiled_mma(replace(self.mma(self.each), a_source=self.source))
        mine = mma.get_slice(cl.thread_idx.x % GROUP)
        left = mine.partition_A(cl.local_tile(self.left(storage.a), (self.rows, self.depth), (down, 0)))
        right = mine.partition_B(cl.local_tile(storage.b, (self.each, self.depth), (right_of, 0)))
        state, count, written = pipe.consumer_state(), i32(0), i32(0)
        if self.config.pingpong and group == 1:  # the first tile is the other one's
            tiles, state = tiles.advance(), state.advance(self.place(tiles, ends).steps)
        while tiles.is_valid():
            tile = self.place(tiles, ends)
            row, column = tile.row + down * self.rows, tile.column + right_of * self.results
            begun = None
            if parts is None:
                begun = sums.prepare(row, column, tile.out)
            elif tile.first == 0:
                sums.prepare(row, column, tile.out)
            if self.config.pingpong:
                turns.wait()
            acc = mma.make_fragment_C(mma.partition_shape_C((self.rows, self.each)))
            if self.problem.prepare is None:
                operands, own = (storage, left, right), (group, sums.ring.group)
                acc, before, state = self.products(mma, acc, operands, pipe, state, tile, own)
            else:
                at = row, group == 1 if self.config.pingpong else count % 2 == 1
                acc, before, state = self.of_prepared(mma, acc, left, right, pipe, state, tile, at, ahead)
            if self.config.pingpong:
                turns = turns.arrive()
            acc = acc.wait()
            pipe.consumer_release(before)
            if self.launched.single and not self.config.pingpong:
                cl.NamedBarrier(3, 2 * GROUP).sync()  # both have read the operands
            if parts is not None:
                written = self.share(sums, acc, (row, column), tile, tiles, written, parts)
            else:
                done = acc if self.problem.gate is None else self.gated(acc)
                sums.write(done, row, column, tile.out, count, tile.end if self.problem.finish else None, begun)
            tiles, count = tiles.advance(), count + 1
            if self.config.pingpong:
                tiles, state = tiles.advance(), state.advance(self.place(tiles, ends).steps)
        sums.ring.tail()

    def left(self, a: Any) -> Any:
        """The stages of A as they are multiplied: where one holds eight rows, these are all others of a tile too."""
        high, deep, stages = self.config.tile[0], self.depth, self.config.stages
        if self.high == high:
            return a
        swizzle = cl.make_smem_layout(self.problem.a, (EIGHT, deep, stages)).inner
        places = cl.make_layout(((EIGHT, high // EIGHT), deep, stages), stride=((deep, 0), 1, EIGHT * deep))
        return cl.make_tensor(a.ptr, cl.make_composed_layout(swizzle, 0, places), self.problem.a)

    def share(self, sums: Any, acc: Any, at: Any, tile: Any, tiles: Any, written: Any, parts: Any) -> Any:
        """Write what a tile adds up to, with the parts of it that others have; or lay down the sums of a part.

        Gives how many tiles have been written.
        """
        if tile.first > 0:
            parts.put(tiles, acc)
        else:
            acc = parts.added(tiles, acc)
            done = acc if self.problem.gate is None else self.gated(acc)
            sums.write(done, *at, tile.out, written)
            written = written + 1
        return written

    def products(
        self, mma: Any, acc: Any, operands: Any, pipe: Any, state: Any, tile: Any, own: Any
    ) -> tuple[Any, Any, Any]:  # fmt: skip
        """Start the products of a tile, as `gemm.products.products` does."""
        (storage, left, right), (group, barrier) = operands, own

        def trim(state: Any, step: Any) -> None:
            if self.problem.groups == "K":
                self.trim(storage, state, tile, step, group, barrier)

        return products(mma, acc, left, right, pipe, state, tile.steps, trim)

    def of_prepared(
        self, mma: Any, acc: Any, left: Any, right: Any, pipe: Any, state: Any, tile: Any, at: Any, ahead: Any
    ) -> tuple[Any, Any, Any]:  # fmt: skip
        """The same where a function makes A. The other warpgroup multiplies meanwhile: while products of this one run,
        ptxas lets nothing make what the next ones take from registers."""
        (row, backward), last = at, tile.steps - 1
        for i in range(last):
            step = tile.first + cl.where(backward, last - i, i)
            made = self.prepared(left, pipe, state, row, step, ahead)
            acc = cl.gemm(mma, acc, made, right[None, None, None, state.index]).wait()
            pipe.consumer_release(state)
            state = state.advance()
        made = self.prepared(left, pipe, state, row, tile.first + cl.where(backward, 0, last), ahead)
        acc = cl.gemm(mma, acc, made, right[None, None, None, state.index])
        return acc, state, state.advance()

    def prepared(self, left: Any, pipe: Any, state: Any, row: Any, step: Any, ahead: Any) -> Any:
        """This thread's elements of A of a stage, once that is there, as they are multiplied."""
        pipe.consumer_wait(state)
        found = left[None, None, None, state.index].load().to(f32)
        pipe.consumer_loaded(state)
        column = step * self.depth
        chunk = cl.Chunk(found.reshape((len(found),)), row, column, (M, K), cl.thread_idx.x % GROUP)
        function = self.problem.prepare.function  # type: ignore[union-attr]
        made = given_by("prepare", function(chunk, *ahead), chunk.values, function)
        if column + self.depth > K:
            made = chunk.inside(made)
        return made.to(self.problem.b)

    def trim(self, storage: Any, state: Any, tile: Any, step: Any, group: Any, own: Any) -> None:
        """A warpgroup: clear what a stage holds of columns of K behind the tile's group."""
        left, thread = tile.end - tile.begin - step * self.depth, cl.thread_idx.x % GROUP
        if left < self.depth:
            shared = not self.config.pingpong  # each warpgroup has its rows of A, and clears a half of B
            half = group if shared else 0
            for held, rows in ((storage.a, self.rows), (storage.b, self.config.tile[1] // (2 if shared else 1))):
                stage = held[None, None, state.index]
                for i in cl.static_range(-(-rows // GROUP)):
                    row = thread + i * GROUP
                    if row < rows:
                        for k in range(max(left, 0), self.depth):
                            stage[half * rows + row, k] = held.dtype(0.0)
            cl.fence_proxy_async("shared::cta")
            if shared:
                cl.NamedBarrier(4, 2 * GROUP).sync()
            else:
                own.sync()

    def gated(self, acc: Any) -> Any:
        """Apply the gate: it and `up` lie side by side in an accumulator."""
        return Gated([GatedRows(x, self.problem.gate, self.columns // 2) for x in acc.parts])


class Gated(NamedTuple):
    """Results as an accumulator has them: for each 64 rows, those of a thread."""

    parts: list[Any]


@dataclass(frozen=True)
class GatedRows:
    """Results of 64 rows, made when they are taken: `x` has `half` elements of the gate, then those of `up`."""

    x: Any
    gate: Any
    half: int

    def __getitem__(self, part: slice) -> Any:
        gate = given_by("gate", self.gate(self.x[part]), self.x[part], self.gate)
        return gate * self.x[part.start + self.half : part.stop + self.half]
