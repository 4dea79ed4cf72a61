"""Choose the experts of each token (`route`), and sort tokens by expert (`sort`).

weights, index = route(logits, 8)        a token's greatest probabilities and their experts
rows, place, ends = sort(index, 128)     a stable counting sort of all (token, choice) pairs by expert
"""

from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32, i64, u32
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import (
    Arguments,
    Misfit,
    as_number,
    check_underived,
    in_words_of_caller,
    instance,
    is_torch,
    one_of,
    results,
    wants_operator,
)
from cutelite.kernels.arrays import code_of, empty
from cutelite.kernels.lent import takes_jax
from cutelite.kernels.planning import planned, planned_alone, planned_whole
from cutelite.kernels.rows.arrays import DTYPES, Rows, flat
from cutelite.kernels.rows.keys import ordered
from cutelite.target.targets import WARP
from cutelite.tuples import NamedTuple

T, S, B = cl.dims("T S B")  # tokens, pairs of a token and a choice, blocks
P = cl.Dim("P", 1, min=0)
WARPS = 4  # warps of a block that routes: a token each
THREADS, EACH = 256, 8  # threads of a block that sorts; pairs of a thread
MOST_EXPERTS, MOST_CHOICES = 1024, 32
INDICES = {"i32": i32, "i64": i64}
LOG2E = 1.4426950408889634


class Routed(NamedTuple):
    """The choices of each token, the greatest first: weights, f32, and experts, i32 or i64; (tokens, k) each."""

    weights: Any
    index: Any


class Sorted(NamedTuple):
    """Pairs of a token and a choice, sorted by expert; of one expert, in the order of tokens.

    rows   (pairs,) i32: the token of each sorted pair
    place  (tokens, k) i32: where the pair is
    ends   (experts,) i32: where each expert's pairs end
    """

    rows: Any
    place: Any
    ends: Any


@cache
def routing(dtype: Any, kind: Any, experts: int, k: int, normalise: bool) -> Any:
    """The kernel of `route`: a warp has a token, and finds its greatest logits one after the other."""
    per = -(-experts // WARP)

    @cl.kernel(block=WARPS * WARP)
    def route(
        logits: Tensor[dtype, (T, experts), (P, 1)], weights: Tensor[f32, (T, k)], index: Tensor[kind, (T, k)]
    ) -> None:
        token, lane = cl.block_idx.x * WARPS + cl.thread_idx.x // WARP, cl.thread_idx.x % WARP
        if token < T:
            x, keys = cl.make_rmem_tensor(f32, (per,)), cl.make_rmem_tensor(u32, (per,))
            for i in cl.static_range(per):
                x[i], keys[i] = f32(-float("inf")), u32(0)
                if i * WARP + lane < experts:
                    x[i] = logits[token, i * WARP + lane].to(f32)
                    keys[i] = max(ordered(x[i]), u32(1))  # 0 is none
            top = cl.warp_reduce(x.load().reduce("max"), "max")
            powers = cl.math.exp2((x.load() - top) * LOG2E)
            total, x = cl.warp_reduce(powers.reduce("sum")), cl.make_rmem_tensor(f32, (per,))
            x.store(powers)
            mine, column, chosen = f32(0), i32(0), f32(0)
            for j in cl.static_range(k):
                best = cl.redux(keys.load().reduce("max"), "max")
                at, power = i32(experts), f32(0)
                for i in cl.static_range(per):
                    if keys[per - 1 - i] == best:
                        at, power = (per - 1 - i) * WARP + lane, x[per - 1 - i]
                first = cl.redux(at, "min")
                for i in cl.static_range(per):
                    if i * WARP + lane == first:
                        keys[i] = u32(0)
                power = cl.shuffle(power, first % WARP)
                chosen = chosen + power
                if lane == j:
                    mine, column = power, first
            if lane < k:
                weights[token, lane] = mine / (chosen if normalise else total)
                index[token, lane] = column.to(kind)

    return route


@planned_whole()
@in_words_of_caller
@takes_jax(traced="moe.on_jax.route")
def route(logits: Any, k: int, *, normalise: bool = True, index_dtype: str = "i32", out: Any = None) -> Routed:
    """Find the `k` most probable experts of each token.

    logits     (tokens, experts): bf16, f16 or f32; at most 1024 experts. The softmax over them is computed in f32
    k          at most 32, and the number of experts
    normalise  weights add up to 1; False: they are the probabilities themselves
    index_dtype  'i32' or 'i64'
    out        weights, f32, and index, (tokens, k) each, to write to, without gaps; by default new ones
    Gives      `Routed`. Of equal logits the first experts are chosen
    Arrays     as for `experts`; only `logits` have a derivative
    Errors     `cl.ArgumentError` for other arrays and numbers
    """
    if is_torch(logits):
        from cutelite.kernels.moe import operators

        if out is not None:
            check_underived(logits=logits)
        elif wants_operator(logits):
            k, index_dtype = as_number("k", k, whole=True), one_of("index_dtype", index_dtype, INDICES)
            weights, index = operators.route(logits, k, normalise)
            return Routed(weights, index if index_dtype == "i64" else index.int())
    return choose(logits, k, normalise=normalise, index_dtype=index_dtype, out=out)


@untraced
@planned
@in_words_of_caller
def choose(logits: Any, k: int, *, normalise: bool = True, index_dtype: str = "i32", out: Any = None) -> Routed:
    """Compute `route`, for arrays that hold data."""
    rows = Rows(logits, "logits", most=MOST_EXPERTS, least=1)
    k, index_dtype = as_number("k", k, whole=True), one_of("index_dtype", index_dtype, INDICES)
    if len(logits.shape) != 2 or not 1 <= k <= min(rows.n, MOST_CHOICES):
        raise cl.ArgumentError(
            f"logits are {tuple(logits.shape)}, of which each row's k = {k} greatest cannot be found: "
            f"logits are a matrix, and k is from 1 to {min(rows.n, MOST_CHOICES)}"
        )
    wanted = {"weights": ((rows.m, k), "f32"), "index": ((rows.m, k), index_dtype)}
    weights, index = results(out, wanted, logits=logits)
    if rows.m and not left_out():
        kernel = routing(rows.dtype, INDICES[index_dtype], rows.n, k, normalise)
        kernel[-(-rows.m // WARPS), WARPS * WARP](rows.matrix, weights, index)
    return Routed(weights, index)


@cache
def routing_backward(dtype: Any, kind: Any, experts: int, k: int, normalise: bool) -> Any:
    """The kernel of `route_backward`: a warp has a token."""
    per = -(-experts // WARP)

    @cl.kernel(block=WARPS * WARP)
    def backward(
        gradient: Tensor[f32, (T, k)], logits: Tensor[dtype, (T, experts), (P, 1)], weights: Tensor[f32, (T, k)],
        index: Tensor[kind, (T, k)], out: Tensor[dtype, (T, experts)],
    ) -> None:  # fmt: skip
        token, lane = cl.block_idx.x * WARPS + cl.thread_idx.x // WARP, cl.thread_idx.x % WARP
        if token < T:
            given, shares = cl.make_rmem_tensor(f32, (per,)), cl.make_rmem_tensor(f32, (per,))
            for i in cl.static_range(per):
                given[i], shares[i] = f32(0), f32(0 if normalise else -float("inf"))
                if not normalise and i * WARP + lane < experts:
                    shares[i] = logits[token, i * WARP + lane].to(f32)
            if not normalise:
                top = cl.warp_reduce(shares.load().reduce("max"), "max")
                powers = cl.math.exp2((shares.load() - top) * LOG2E)
                shares.store(powers / cl.warp_reduce(powers.reduce("sum")))
            for j in cl.static_range(k):
                column, value = index[token, j].to(i32), gradient[token, j]
                for i in cl.static_range(per):
                    if i * WARP + lane == column:
                        given[i] = value
                        if normalise:
                            shares[i] = weights[token, j]
            total = cl.warp_reduce((shares.load() * given.load()).reduce("sum"))
            for i in cl.static_range(per):
                if i * WARP + lane < experts:
                    out[token, i * WARP + lane] = (shares[i] * (given[i] - total)).to(dtype)

    return backward


@planned_alone()
def route_backward(gradient: Any, logits: Any, made: Routed, *, normalise: bool = True) -> Any:
    """Compute the gradient of the logits from that of the weights of ``made = route(logits, k, normalise=normalise)``.

    gradient  (tokens, k), f32, row-major
    Gives     (tokens, experts), of the logits' dtype
    """
    instance("made", made, Routed, needed=True)
    given, rows = Arguments(), Rows(logits, "logits", most=MOST_EXPERTS, least=1)
    given.array("logits", logits, tuple(DTYPES), "T EXPERTS")
    given.array("gradient", gradient, "f32", "T K", dense=True)
    given.array("made.weights", made.weights, "f32", "T K", dense=True)
    given.array("made.index", made.index, tuple(INDICES), "T K", dense=True)
    k, out = int(made.index.shape[1]), empty(logits, (rows.m, rows.n))
    if not k:
        raise cl.ArgumentError("made.index has no choices of experts: they are what `route` gave")
    if rows.m and not left_out():
        kernel = routing_backward(rows.dtype, INDICES[code_of(made.index)], rows.n, k, normalise)
        kernel[-(-rows.m // WARPS), WARPS * WARP](gradient, rows.matrix, made.weights, made.index, out)
    return out


def expert_of(index: Any, at: Any, experts: int) -> Any:
    """Return the expert of a pair; -1 where there is none."""
    found: Any = i32(-1)
    if at < S:
        expert = index[at]
        if expert >= 0 and expert < experts:
            found = expert.to(i32)
    return found


@cache
def counting(kind: Any, experts: int) -> Any:
    """Make the kernel that counts the pairs of each expert among those of a block."""

    @cl.kernel(block=THREADS)
    def count(index: Tensor[kind, (S,)], counts: Tensor[i32, (B, experts)]) -> None:
        found = cl.shared(i32, (experts,))
        for e in range(cl.thread_idx.x, experts, THREADS):
            found[e] = 0
        cl.syncthreads()
        cl.griddepcontrol_launch_dependents()
        cl.griddepcontrol_wait()
        for i in cl.static_range(EACH):
            expert = expert_of(index, (cl.block_idx.x * EACH + i) * THREADS + cl.thread_idx.x, experts)
            if expert >= 0:
                cl.atomic_add(found, expert, 1, scope="cta")
        cl.syncthreads()
        for e in range(cl.thread_idx.x, experts, THREADS):
            counts[cl.block_idx.x, e] = found[e]

    return count


@cache
def placing(kind: Any, experts: int, k: int) -> Any:
    """Make the kernel that gives each pair its place: behind those of lower experts, and those of its own before it."""
    warps = THREADS // WARP

    @cl.kernel(block=THREADS)
    def place(
        index: Tensor[kind, (S,)], counts: Tensor[i32, (B, experts)] | None, rows: Tensor[i32, (S,)],
        places: Tensor[i32, (S,)], ends: Tensor[i32, (experts,)],
    ) -> None:  # fmt: skip
        warp, lane = cl.thread_idx.x // WARP, cl.thread_idx.x % WARP
        found = cl.shared(i32, (warps, experts))  # first how many pairs a warp has of each, then where they go
        for i in range(cl.thread_idx.x, warps * experts, THREADS):
            found[i // experts, i % experts] = 0
        cl.syncthreads()
        cl.griddepcontrol_launch_dependents()
        cl.griddepcontrol_wait()
        mine, peers = cl.make_rmem_tensor(i32, (EACH,)), cl.make_rmem_tensor(u32, (EACH,))
        first = (cl.block_idx.x * warps + warp) * EACH * WARP
        for i in cl.static_range(EACH):
            mine[i] = expert_of(index, first + i * WARP + lane, experts)
            peers[i] = cl.match_any(mine[i])
            add(found, warp, mine[i], peers[i], lane)
        cl.syncthreads()
        settle(found, counts, ends)
        for i in cl.static_range(EACH):
            at = first + i * WARP + lane
            if mine[i] >= 0:
                low = (u32(1) << lane.to(u32)) - 1
                to = found[warp, mine[i]] + cl.popc(peers[i] & low).to(i32)
                rows[to], places[at] = at // k, to
            elif at < S:
                places[at] = i32(-1)
            cl.syncwarp()
            add(found, warp, mine[i], peers[i], lane)

    return place


def add(found: Any, warp: Any, expert: Any, peers: Any, lane: Any) -> None:
    """Add the pairs of a warp to its counts: one lane adds for all lanes (`peers`) with the same expert."""
    if expert >= 0 and cl.ctz(peers).to(i32) == lane:
        found[warp, expert] = found[warp, expert] + cl.popc(peers).to(i32)
    cl.syncwarp()


def settle(found: Any, counts: Any, ends: Any) -> None:
    """Turn the counts of pairs into the positions where the pairs of each warp begin. Block 0 writes `ends`.

    found   (warps, experts), in shared memory
    counts  (blocks, experts): what all blocks have; None: there is one
    Who     the whole block
    """
    (warps, experts), base = found.shape, i32(0)  # pairs of all experts before those that a round looks at
    for start in range(0, experts, THREADS):
        expert, total, before = start + cl.thread_idx.x, i32(0), i32(0)
        if expert < experts:
            if counts is None:
                for w in cl.static_range(warps):
                    total = total + found[w, expert]
            else:
                for b in range(B):
                    if b == cl.block_idx.x:
                        before = total
                    total = total + counts[b, expert]
        lower, all = cl.block_scan(total, i32(0))
        if expert < experts:
            if cl.block_idx.x == 0:
                ends[expert] = base + lower + total
            at = base + lower + before
            for w in cl.static_range(warps):
                here = found[w, expert]
                found[w, expert] = at
                at = at + here
        base = base + all
        cl.syncthreads()


@untraced
@in_words_of_caller
@takes_jax(traced="moe.on_jax.sort")
def sort(index: Any, experts: int) -> Sorted:
    """Sort all choices by expert.

    index    (tokens, k) i32 or i64. A number that is no expert's has the place -1
    experts  at most 1024
    Gives    `Sorted`. Rows after the last end are not written
    Errors   `cl.ArgumentError` for other arrays and numbers
    """
    Arguments().array("index", index, tuple(INDICES), "T K")
    kind, experts = INDICES[code_of(index)], as_number("experts", experts, whole=True)
    if not 1 <= experts <= MOST_EXPERTS:
        raise Misfit(f"experts is {experts}, but must be 1 to {MOST_EXPERTS}")
    tokens, k = index.shape
    pairs = tokens * k
    rows, place, ends = (empty(index, shape, "i32") for shape in ((pairs,), (tokens, k), (experts,)))
    if left_out():
        return Sorted(rows, place, ends)
    if not pairs:
        ends[...] = 0
        return Sorted(rows, place, ends)
    blocks = -(-pairs // (THREADS * EACH))
    launch, every = cl.Launch(blocks, THREADS, pdl=True), flat(index, pairs)
    counts = None
    if blocks > 1:
        counts = empty(index, (blocks, experts), "i32")
        counting(kind, experts)[launch](every, counts)
    placing(kind, experts, k)[launch](every, counts, rows, place.reshape((pairs,)), ends)
    return Sorted(rows, place, ends)
