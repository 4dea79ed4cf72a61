"""The backward pass of attention: dq, dk and dv of o = softmax(scale * q @ k.T) @ v, from do, the gradient of o.

    S = scale * q @ k.T        P = exp(S - its logsumexp by rows)       dv = P.T @ do
    dP = do @ v.T              dS = P * (dP - sums of rows of o * do)   dk = scale * dS.T @ q      dq = scale * dS @ k

Three kernels: `prepare` computes the sums of rows and clears f32 sums of dq, `gradients` computes the five products,
`finish` converts the sums to dq (`backward_outer`).

In `gradients` a thread block takes tiles until none is left: 128 keys of a head. One thread loads them by TMA, and then
the blocks of queries that see them, one after the other (`Loads`). Each of two warpgroups has 64 of the keys, and
dk and dv of these in its registers. A step of it, for a block of queries (`Narrow.step`):

1. Start S.T = K @ Q.T and dP.T = V @ dO.T. Their rows are keys: accumulators have the layout of wgmma's operand A in
   registers, so that P.T and dS.T need no shared memory to be multiplied.
2. Compute P while dP is multiplied, and then dS, which goes to shared memory as well: dq wants dS of all 128 keys.
3. Start this warpgroup's half of dq = dS @ K, of the block *before*: by now the other warpgroup has written its part of
   that dS, even if it is half a step behind. So the two take turns in computing powers and in multiplying.
4. Start dv += P.T @ dO and dk += dS.T @ Q, and meanwhile add dq from registers to the sums in global memory: this takes
   longer than both products, and the registers are those of the next dP.

Where dq is to be the same bits each time, two further warps let the warpgroups add in turn (`keep_turn`). Warps
without such work look up what a `score_mod` adds by the distance of key and query (`look_up`).
Logsumexps and sums of rows are subtracted by the products themselves, as further columns of Q and dO (`Plan.of_rows`).
Where registers do not suffice there are two other forms: `Apart`, at the end of this file, and `backward_wide`, in
which a third warpgroup has dq (`Adder`). docs/lab/attention-backward.md counts what bounds the kernel, and says what
did not help.
"""

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import cutelite as cl
from cutelite import Smem, Tensor, TmaTensor, bf16, f16, i32
from cutelite.kernels.attention.backward_plan import BLOCKS, MB, WORKERS, H, Plan
from cutelite.kernels.attention.backward_tiles import HK, SPANS, Starts
from cutelite.kernels.attention.backward_wide import Adder, Wide
from cutelite.kernels.attention.backward_worker import (
    ADDED,
    EVERYONE,
    TURN,
    Block,
    Pipes,
    Worker,
    multiply,
)
from cutelite.kernels.attention.blocks import tables_of
from cutelite.kernels.attention.learned import Learned
from cutelite.kernels.attention.relative import LANES, Terms
from cutelite.kernels.attention.scores import GROUP, LN2, ROWS
from cutelite.kernels.attention.tiles import SK, SQ, B, Given
from cutelite.lang.tables import Holder


def shared_memory(plan: Plan) -> Any:
    """Return the shared memory of a thread block, a class."""
    config, dtype, BM, BN, (D, DV) = plan.config, plan.problem.dtype, plan.config.rows, plan.keys, plan.dims
    (of_k, of_v, of_q), (kind, *of_base) = plan.spans, plan.of_rows
    of_scores, whole = plan.laid((BM, BN, config.held), math.gcd(64, plan.width)), (*of_base, config.stages)
    numbers = cl.make_smem_layout(kind, whole) if plan.extended else cl.make_ordered_layout(whole, (1, 0, 2))

    class Storage(cl.SharedStorage):
        k: Smem[dtype, plan.laid((BN, D, plan.ahead), of_k)]
        v: Smem[dtype, plan.laid((BN, DV, plan.ahead), of_v)]
        q: Smem[dtype, plan.laid((BM, D, config.stages), of_q)]
        do: Smem[dtype, plan.laid((BM, DV, config.stages), of_v)]
        if plan.wide:
            p: Smem[dtype, plan.laid((BM, BN, 1), math.gcd(64, plan.width))]
        ds: Smem[dtype, of_scores]
        base: Smem[kind, numbers, 256]
        if not (plan.apart or plan.split):
            grads: Smem[dtype, cl.row_major((WORKERS, BN * max(D, DV) // WORKERS)), 1024]

    return Storage


def pipelines(plan: Plan) -> Pipes:
    """Create the pipelines of a thread block. Who: all threads, which then meet at `pipeline_init_sync`."""
    config, dtype, threads, (kind, *of_base) = plan.config, plan.problem.dtype, WORKERS * GROUP, plan.of_rows
    keys, values = (
        cl.PipelineTmaAsync.create(plan.ahead, plan.keys * wide * dtype.bytes, readers, sync=False)
        for wide, readers in zip(plan.dims, (plan.threads - GROUP, threads), strict=True)
    )
    row = config.rows * sum(plan.dims) * dtype.bytes
    rows = cl.PipelineTmaAsync.create(config.stages, row + math.prod(of_base) * kind.bytes, threads, sync=False)
    # with wide heads one of those that write both reads P, the other one and `Adder` read dS
    p = cl.PipelineAsync.create(1, threads, GROUP, sync=False) if plan.wide else None
    return Pipes(keys, values, p, rows, cl.PipelineAsync.create(config.held, threads, threads, sync=False))


@lru_cache(maxsize=256)
def gradients(plan: Plan) -> Any:
    """Return the kernel that computes all five products."""
    BM, BN = plan.config.rows, plan.keys
    d, e, (of_k, of_v, of_q), (kind, *of_base) = plan.problem.dim, plan.problem.dim_v, plan.spans, plan.of_rows
    leaves, Storage = BN if plan.wide else ROWS, shared_memory(plan)
    Q, K, DK = plan.box(H, SQ, d, BM, of_q), plan.box(HK, SK, d, BN, of_k), plan.box(HK, SK, d, leaves, of_k)
    DO, V, DV = plan.box(H, SQ, e, BM, of_v), plan.box(HK, SK, e, BN, of_v), plan.box(HK, SK, e, leaves, of_v)
    BASE = TmaTensor[kind, (B, H, MB, of_base[1]), (1, 1, *of_base), (None, None, None, 1)]
    array_k, array_v = plan.array("DK", HK, SK, d), plan.array("DV", HK, SK, e)
    functions, held = (plan.problem.score_mod, plan.problem.mask_mod), Holder(plan.problem.score_mod)

    @cl.kernel(block=plan.threads)
    def gradients(
        q: Q, k: K, v: V, do: DO, base: BASE, sums: plan.sums, turns: plan.turns,
        counter: Tensor[i32, (1,)] | None, grads: tuple[DK, DV], given: Given, starts: Starts,
        arrays: tuple[array_k, array_v], parts: tuple[plan.parts(plan.dims[0]), plan.parts(plan.dims[1])],
        tables: tables_of(*functions) = (), spans: SPANS = None, of_tables: tables_of(*functions, sums=True) = (),
    ) -> None:  # fmt: skip
        """
        base     logsumexps and row sums of o * do (`Plan.of_rows`)
        sums     dq without the scale, zero at the start
        counter  of `cl.TileQueue`
        grads    dk and dv; `arrays`: the same, for ragged sequences; `parts`: where heads of queries are split
        tables   what functions captured; `spans`: of a block mask; `of_tables`: sums of gradients (`Learned`)
        """
        if cl.thread_idx.x == 0:
            for t in (q, k, v, do, *grads):
                cl.prefetch_tensormap(t)
        storage, pipes, threads = Storage.allocate(), pipelines(plan), WORKERS * GROUP
        own, adding = plan.with_arrays(tables, ends=True), 0 if turns is None else 32 * plan.adders
        of, lanes = (own.problem, plan.keys, plan.config.rows), LANES - adding
        terms = None if plan.wide or plan.curved else Terms.of(*of, 2, False, lanes)
        tiles = cl.TileQueue.create(
            plan.tiles.kind, lambda index: plan.tiles.place(index, given, starts, turns is not None, spans),
            plan.tiles.count(), counter, plan.threads - GROUP + (adding if terms is None else LANES),
        )  # fmt: skip
        cl.pipeline_init_sync()
        cl.griddepcontrol_wait()
        cl.griddepcontrol_launch_dependents()
        learned = Learned(held, tables, of_tables) if of_tables else None
        shared = own, storage, pipes, given, terms, learned, by_block(sums), by_block(turns), grads, arrays, parts
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(32 if plan.wide else 24)
            warp = cl.make_warp_uniform(cl.warp_idx())
            if warp == 0:
                if cl.elect_one():
                    Loads(*shared).load(tiles, (q, k, v, do, base))
            elif turns is not None and warp <= plan.adders:
                Block(*shared, warp - 1).serve(tiles, keep_turn)
            elif terms is not None:
                Block(*shared).serve(tiles, look_up, terms.pipe.producer_state())
        elif plan.wide and cl.thread_idx.x >= GROUP + threads:
            cl.setmaxnreg_dec(64)
            Adder(*shared, 0).compute(tiles)
        else:
            cl.setmaxnreg_inc(208 if plan.wide else 240)
            (Wide if plan.wide else Apart if plan.apart else Narrow)(*shared, cl.warpgroup_idx() - 1).compute(tiles)

    return gradients


def by_block(array: Any) -> Any:
    """Return sums or turns with one index for the blocks of queries of all heads."""
    return None if array is None else cl.with_layout(array, cl.row_major((B * H * BLOCKS, *array.shape[3:])))


class Loads(Block):
    """The thread that loads `arrays`: q, k, v, do, and the logsumexps and sums of rows."""

    def load(self, tiles: Any, arrays: Any) -> None:
        """Load tiles until none is left."""
        kv_state, state = self.pipes.keys.producer_state(), self.pipes.rows.producer_state()
        tiles = tiles.begin()
        while tiles.is_valid():
            here, kv_state = replace(self, tile=tiles.place, kv_state=kv_state), kv_state.advance()
            state = here.load_tile(arrays, state)
            tiles = tiles.tell(tiles.take())  # as late as loads allow, so that no tile waits for a long one

    def load_tile(self, arrays: Any, state: Any) -> Any:
        """Load a tile: values and keys behind the first block of queries. Return the next state of `rows`."""
        (q, k, v, do, base), storage, sequence = arrays, self.storage, self.sequence
        rows, config, place = self.pipes.rows, self.plan.config, self.first
        for i in range(self.steps):
            m, head, _ = place
            at = sequence.batch, head, sequence.query + m * config.rows, 0
            of_rows = sequence.batch, head, (self.plan.tiles.block(sequence) + m) * self.plan.of_rows[1], 0
            state = rows.load(state, (q, storage.q, at), (do, storage.do, at), (base, storage.base, of_rows))
            if i == 0:
                self.load_keys(k, v)
            place = self.following(place)
        if self.plan.tiles.gaps and self.steps == 0:
            self.load_keys(k, v)
        return state

    def load_keys(self, k: Any, v: Any) -> None:
        """Load values and keys, once the tile before has done with them: with values first."""
        head = self.tile.head // i32(self.plan.tiles.heads // HK)
        at = self.sequence.batch, head, self.sequence.key + self.tile.row, 0
        self.pipes.values.load(self.kv_state, (v, self.storage.v, at))
        self.pipes.keys.load(self.kv_state, (k, self.storage.k, at))


def keep_turn(here: Block, place: Any, state: None) -> None:
    """Wait for a warpgroup's turn to add to a block of dq, so that it is the same bits each time. Who: a warp.

    The last keys add first. Under causal masks they began with later queries than those before, which need not wait.
    """
    turn, number = here.turns[place[2], None], here.tile.row // here.plan.keys
    while cl.load_acquire(turn, here.group) != number:
        cl.nanosleep(20)
    cl.syncwarp()
    here.barrier(TURN).arrive()
    here.barrier(ADDED).sync()
    cl.store_release(turn, here.group, number - 1)


def look_up(here: Block, place: Any, state: Any) -> Any:
    """Look up what a `score_mod` adds to a block of scores by the distance of key and query; return the next state."""
    plan, (m, head, _) = here.plan, place
    most = here.tile.row - m * plan.config.rows + (plan.keys - 1)
    return here.terms.fill(state, here.given.scale * (1 / LN2), here.sequence.number, head, most, -1, None)


class Narrow(Worker):
    """A warpgroup with keys of its own, for head dims up to 128."""

    def run(self, number: Any) -> Any:
        """Compute a tile; return the number of blocks of queries computed so far, which was `number` before."""
        dk, dv = (cl.wgmma.zeros_accumulator(dim) for dim in self.plan.dims)
        self.await_keys()
        so_far = dk, dv, number, self.first, self.first[2]
        skipped: Any = i32(0)
        problem, rows = self.plan.problem, self.plan.config.rows
        if problem.right and rows < self.plan.keys and not (problem.ragged or self.plan.split):  # others would spill
            # the first block, if its queries come before all that see one of this warpgroup's keys
            offset = self.plan.tiles.offset(self.sequence, self.given)
            end = (self.tile.start + 1) * rows + offset
            if (self.steps > 0) & (end + self.given.right <= self.key):
                so_far, skipped = self.skip(so_far), i32(1)
        for i in range(skipped, self.steps):
            so_far = self.step(so_far, i > 0)
        dk, dv, number, _, last = so_far
        self.finish((dk, dv), (number - 1, last))
        return number

    def step(self, so_far: Any, later: Any) -> Any:
        """Compute a block of queries; if it is not the tile's first (`later`), also dq of the block before.

        so_far  dk, dv, the number of blocks before in all tiles, the block's place, and the index of the one before
        """
        (dk, dv, number, place, last), (*_, rows, ds_pipe) = so_far, self.pipes
        state, ds_state = rows.consumer_state_at(number), ds_pipe.producer_state_at(number)
        before, begun = ds_pipe.consumer_state_at(number - 1), self.begun(place, number)  # what is read comes meanwhile
        q, do = self.await_queries(state, place)
        s, dp = self.product(0, q, state, begun), self.product(1, do, state)
        s, dp = cl.wgmma.wait_group(1, s, keep=dp)
        scores = self.at_block(place)
        p, rates = scores.powers(s, lambda: self.of_rows(state, 0))
        dp, packed = cl.wgmma.wait_group(0, dp, after=p.to(self.plan.problem.dtype))
        ds = scores.gradients(p, dp, rates, self.of_rows(state, 1))
        ds = cl.wgmma.fence_operand(ds, held=False)
        ds_pipe.producer_acquire(ds_state)
        if later:
            ds_pipe.consumer_wait(before)
            dq = self.start_dq(before, self.group)
            dv = multiply(packed, cl.select(do, (1, 0)), dv)
            dk = self.start_dk(ds, q, dk, ds_state)
            dq, dv, dk = cl.wgmma.wait_group(2, dq, keep=(dv, dk))
            ds_pipe.consumer_release(before)
            self.in_turn(lambda: self.add(dq, self.group, last))
            dv, dk = cl.wgmma.wait_group(0, dv, dk)
        else:
            dv = multiply(packed, cl.select(do, (1, 0)), dv)
            dv, dk = cl.wgmma.wait_group(0, dv, self.start_dk(ds, q, dk, ds_state))
        rows.consumer_release(state)
        return dk, dv, number + 1, self.following(place), place[2]

    def skip(self, so_far: Any) -> Any:
        """Pass by the first block, with zeros for dS."""
        (dk, dv, number, place, _), (*_, rows, ds_pipe) = so_far, self.pipes
        state, ds_state = rows.consumer_state_at(number), ds_pipe.producer_state_at(number)
        self.await_queries(state, place)
        if self.terms is not None:
            self.terms.skip(self.terms.pipe.consumer_state_at(number))
        ds_pipe.producer_acquire(ds_state)
        self.start_dk(cl.full((self.plan.config.rows // 2,), 0.0, self.plan.problem.dtype), None, None, ds_state)
        rows.consumer_release(state)
        return dk, dv, number + 1, self.following(place), place[2]

    def product(self, which: int, rows: Any, state: Any, acc: Any = None) -> Any:
        """Start the product of own keys and queries, or of values and dO: (keys, queries) of scores (0) or dP (1).

        Less logsumexps, or sums of rows, where operands are extended by these.

        acc   from which it begins; None: zeros
        """
        extended = self.plan.extended
        acc = multiply(self.own(which), rows, acc, group=not extended)
        if extended:  # an operand A in registers: ones in the columns of one half, in four elements of a thread
            half = cl.vector(*[float(i // 4 == which) for i in range(8)], dtype=bf16)
            acc = multiply(half, self.storage.base[None, None, state.index], acc)
        return acc

    def start_dk(self, ds: Any, q: Any, dk: Any, ds_state: Any) -> Any:
        """Start dk + dS.T @ Q, unless dS are zeros and there is no `q`; and give dS to the other warpgroup."""
        self.plan.put(ds, self.storage.ds[None, None, ds_state.index], self.group, turned=True)
        if q is not None:
            dk = multiply(ds, cl.select(q, (1, 0)), dk)
        cl.fence_proxy_async("shared::cta")
        self.pipes.ds.producer_commit(ds_state)
        return dk

    def add_last_dq(self, last: Any) -> None:
        """Add this warpgroup's part of dq of the last block."""
        if not self.plan.tiles.gaps or self.steps > 0:
            self.add_dq(self.pipes.ds.consumer_state_at(last[0]), last[1])

    def add_dq(self, ds_state: Any, at: Any) -> None:
        """Compute this warpgroup's part of dq of a block, and add it."""
        ds_pipe = self.pipes.ds
        ds_pipe.consumer_wait(ds_state)
        dq = cl.wgmma.wait_group(0, self.start_dq(ds_state, self.group))
        ds_pipe.consumer_release(ds_state)
        self.in_turn(lambda: self.add(dq, self.group, at))

    def finish(self, grads: Any, last: Any) -> None:
        """Add this warpgroup's part of dq of the last block, and write dk and dv of its own.

        dv and dk leave by way of the same shared memory, while the next tile's values and keys come.
        """
        self.pipes.values.consumer_release(self.kv_state)
        self.add_last_dq(last)
        self.pipes.keys.consumer_release(self.kv_state)
        for which in (1, 0):
            layout = self.plan.laid((ROWS, self.plan.dims[which]), self.plan.spans[which])
            room = None if self.plan.split else cl.with_layout(self.storage.grads[self.group, None], layout)
            self.await_stores()
            self.write((grads[which],), which, room)


class Apart(Narrow):
    """The same with fewer registers (`Plan.apart`): products follow each other.

    dP is started when probabilities are computed, which wait for it as f16, and dq of the block before is last. dk and
    dv leave by way of the memory of keys and values.
    """

    def step(self, so_far: Any, later: Any) -> Any:
        """Do what `Narrow.step` does."""
        (dk, dv, number, place, last), (*_, rows, ds_pipe) = so_far, self.pipes
        state, ds_state = rows.consumer_state_at(number), ds_pipe.producer_state_at(number)
        before, begun = ds_pipe.consumer_state_at(number - 1), self.begun(place, number)
        q, do = self.await_queries(state, place)
        dtype = self.plan.problem.dtype
        s = cl.wgmma.wait_group(0, self.product(0, q, state, begun))
        scores = self.at_block(place)
        p, rates = scores.powers(s, lambda: self.of_rows(state, 0))
        held = cl.wgmma.fence_operand(p.to(f16 if rates.literal else dtype), held=False)
        dp = cl.wgmma.wait_group(0, self.product(1, do, state))
        ds = scores.gradients(held, dp, rates, self.of_rows(state, 1))
        ds = cl.wgmma.fence_operand(ds, held=False)
        dv = multiply(held.to(dtype), cl.select(do, (1, 0)), dv)
        ds_pipe.producer_acquire(ds_state)
        dv, dk = cl.wgmma.wait_group(0, dv, self.start_dk(ds, q, dk, ds_state))
        rows.consumer_release(state)
        if later:
            self.add_dq(before, last)
        return dk, dv, number + 1, self.following(place), place[2]

    def finish(self, grads: Any, last: Any) -> None:
        """Do what `Narrow.finish` does."""
        self.write((grads[1],), 1, self.own(1))
        self.add_last_dq(last)
        EVERYONE.sync()  # the others have read these keys
        self.write((grads[0],), 0, self.own(0))
        self.await_stores()
        self.pipes.keys.consumer_release(self.kv_state)
        self.pipes.values.consumer_release(self.kv_state)
