"""Radix sort of numbers, with what belongs to them: eight bits at a time, from the lowest, each pass stable.

    y, order = sort(x)                        # and the places where they were
    y, v = sort(x, values, descending=True)   # by key

One launch counts the digits of all passes. Each pass then reads and writes every key once: a block ranks the keys of
its tile, learns by look-back how many keys of each digit are in the tiles before, orders the tile in shared memory, and
writes it, where keys of a digit lie side by side. Keys of a tile are ranked by warps: lanes find their equals by votes.
(Adinets, Merrill: Onesweep, 2022.) As many keys as one block holds are sorted by one launch, in shared memory; a few by
comparing each with all.
"""

from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, bf16, f16, f32, i32, i64, u16, u32, u64
from cutelite.kernels.arguments import in_words_of_caller, is_array, results
from cutelite.kernels.arrays import clusters_at_once, code_of, empty, zeros
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import derived, flat
from cutelite.kernels.rows.keys import ordered
from cutelite.tuples import NamedTuple

N, S, C = cl.dims("N S C")  # numbers, words of state, counts
KEYS = {"bf16": bf16, "f16": f16, "f32": f32, "i32": i32, "i64": i64}
VALUES = KEYS | {"u32": u32, "u64": u64}
BITS, DIGITS = 8, 256
THREADS, BLOCKS = 512, 2  # of a block that moves keys; blocks of a multiprocessor
EACH, NARROW = 16, 12  # keys of a thread; of 16 bits, for which registers run out sooner
ROOM = 64  # bytes of keys, and of values, that a thread has registers for
AHEAD = 4  # tiles that look-back reads together
FEW = 256  # keys that are compared each with all


def order(key: Any, flip: bool) -> Any:
    """Return a number as an unsigned one of the same order, or with `flip` of the opposite, in its lowest bits."""
    if key.dtype in (i32, i64):
        found = cl.bitcast(key, u64) ^ (u64(1) << 63) if key.dtype == i64 else cl.bitcast(key, u32) ^ (u32(1) << 31)
    elif key.dtype == f16:  # bf16's are the upper half of f32's
        bits = cl.bitcast(key, u16).to(u32)
        found = cl.where(bits < 0x8000, bits | 0x8000, 0x10000 - bits)  # of both zeros 0x8000
        found = cl.where(key != key, u32(0xFFFF), found)
    else:
        found = ordered(key.to(f32)) >> (16 if key.dtype == bf16 else 0)
    return ~found if flip else found


def digit(ordered: Any, shift: int) -> Any:
    """Return eight bits of a key's `order`, as an i32."""
    return ((ordered >> shift) & (DIGITS - 1)).to(i32)


def equals(number: Any) -> Any:
    """Return the lanes of the warp whose number, of eight bits, is this lane's, as bits of a u32."""
    found = ~u32(0)
    for i in cl.static_range(BITS):
        bit = (number >> i) & 1 == 1
        votes = cl.ballot(bit)
        found &= cl.where(bit, votes, ~votes)
    return found


def ranked(number: Any, counts: Any) -> Any:
    """Return how many equal numbers came before: of this warp, whose `counts` are updated, and of lower lanes."""
    alike, lane = equals(number), cl.thread_idx.x % 32
    lower = cl.popc(alike & ((u32(1) << lane) - 1)).to(i32)
    rank = lower + counts[number]
    cl.syncwarp()
    if lower == 0:
        counts[number] += cl.popc(alike).to(i32)
    cl.syncwarp()
    return rank


@cache
def counting(key: Any, shifts: tuple[int, ...], flip: bool) -> Any:
    """Make the kernel that counts the digits of all passes: (pass, digit), added to what is there."""
    passes, tile = len(shifts), DIGITS * EACH

    @cl.kernel(block=DIGITS, min_blocks=4)
    def count(x: Tensor[key, (N,)], counts: Tensor[i32, (C,)]) -> None:
        t, found = cl.thread_idx.x, cl.shared(i32, (passes * DIGITS,))
        for i in cl.static_range(passes):
            found[i * DIGITS + t] = 0
        cl.syncthreads()
        for number in range(cl.block_idx.x, cl.ceil_div(N, tile), cl.grid_dim.x):
            keys = cl.make_rmem_tensor(key, (EACH,))
            for i in cl.static_range(EACH):
                keys[i] = x[min(number * tile + i * DIGITS + t, N - 1)]
            orders = [order(keys[i], flip) for i in cl.static_range(EACH)]
            differ = orders[0] ^ orders[0]
            for each in orders:
                differ |= each ^ orders[0]
            for j, shift in enumerate(shifts):  # a digit that all of a thread's keys share is counted at once
                if ((number + 1) * tile <= N) & ((differ >> shift) & (DIGITS - 1) == 0):
                    cl.atomic_add(found, j * DIGITS + digit(orders[0], shift), EACH, scope="cta")
                else:
                    for i in cl.static_range(EACH):
                        if number * tile + i * DIGITS + t < N:
                            cl.atomic_add(found, j * DIGITS + digit(orders[i], shift), 1, scope="cta")
        cl.syncthreads()
        for i in cl.static_range(passes):
            cl.atomic_add(counts, i * DIGITS + t, found[i * DIGITS + t])

    return count


def look_back(states: Any, tile: Any, mine: Any, count: Any) -> Any:
    """Return the number of keys of this thread's digit in the tiles before this one.

    states  a word for each digit of each tile: 0, or a count with a flag in its two highest bits: 1, the tile's own;
            2, that of the tile and all before it
    mine    the digit;  count  of it in this tile, whose word has been written with flag 1, or 2 in the first tile
    """
    bits = states.dtype.bits - 2
    total, at = states.dtype(0), tile - 1
    while at >= 0:
        words = [cl.load_relaxed(states, max(at - i, 0) * DIGITS + mine) for i in range(AHEAD)]
        more = True
        for found in words:
            here = more & (found != 0)
            total += cl.where(here, found & ((states.dtype(1) << bits) - 1), 0)
            more = more & (found > 0)  # flag 2 is the sign
            at = cl.where(here, cl.where(found < 0, -1, at - 1), at)
    if tile > 0:
        publish(states, tile, mine, total + count, states.dtype(-2))
    return total.to(i32)


def publish(states: Any, tile: Any, mine: Any, count: Any, flag: Any) -> None:
    """Write the word of this thread's digit: a count, and what it is of."""
    cl.store_relaxed(states, tile * DIGITS + mine, count | (flag << (states.dtype.bits - 2)))


def keys_of(key: Any, value: Any) -> int:
    """Return how many keys a thread moves."""
    each: int = ROOM // max(key.bytes, 0 if value is None else value.bytes)
    return min(EACH if key.bytes > 2 else NARROW, each)


class Tile(NamedTuple):
    """The keys of a block: `each` of a thread, in the order of warps, pieces and lanes.

    counts  (warps, digits), how many of a digit there are in the warps before; `starts` of those that are less
    """

    each: int
    counts: Any
    starts: Any

    @staticmethod
    def create(each: int) -> "Tile":
        """Make room in shared memory."""
        return Tile(each, cl.shared(i32, (THREADS // 32, DIGITS)), cl.shared(i32, (2, DIGITS)))

    def first(self, begin: Any) -> Any:
        """Return the place of this thread's first key, in a tile from `begin` on; the others are 32 apart."""
        return begin + cl.thread_idx.x // 32 * (32 * self.each) + cl.thread_idx.x % 32

    def ranks(self, of_key: Any) -> Any:
        """Return ranks among the equal digits of this thread's warp, two in an i32: registers run short. The block."""
        t, counts = cl.thread_idx.x, self.counts[cl.thread_idx.x // 32, None]
        for i in cl.static_range(DIGITS // 32):
            counts[i * 32 + t % 32] = 0
        cl.syncwarp()
        found = cl.make_rmem_tensor(i32, (self.each // 2,))
        for i in cl.static_range(0, self.each, 2):
            low = ranked(of_key(i), counts)
            found[i // 2] = low | (ranked(of_key(i + 1), counts) << 16)
        cl.syncthreads()
        return found

    def add_up(self) -> Any:
        """Add up the warps' `counts` of a digit, and return how many keys have this thread's; of `DIGITS` threads."""
        count = i32(0)
        for i in cl.static_range(THREADS // 32):
            here, self.counts[i, cl.thread_idx.x] = self.counts[i, cl.thread_idx.x], count
            count += here
        return count

    def room(self, kind: Any) -> Any:
        """Make room for what goes to `place`s, which are `spread`."""
        return cl.shared(kind, (spread(THREADS * self.each),))

    def place(self, i: int, digit: Any, ranks: Any) -> Any:
        """Return where this thread's key i goes within the tile's room."""
        here = self.starts[0, digit] + self.counts[cl.thread_idx.x // 32, digit]
        return spread((ranks[i // 2] >> 16 * (i % 2) & 0xFFFF) + here)


def spread(place: Any) -> Any:
    """Return a place among others of which each 32 have one more: neighbours in sorted keys go 32 apart."""
    return place + place // 32


@cache
def moving(key: Any, value: Any, to: Any, shift: int, flip: bool, word: Any) -> Any:
    """Make the kernel that moves keys to their places, with values, which become `to`, or with their numbers (None)."""
    held, each = i32 if value is None else value, keys_of(key, value)
    size = THREADS * each

    @cl.kernel(block=THREADS, min_blocks=BLOCKS)
    def move(
        x: Tensor[key, (N,)], values: Tensor[held, (N,)] | None, totals: Tensor[i32, (DIGITS,)],
        states: Tensor[word, (S,)], y: Tensor[key, (N,)], moved: Tensor[to, (N,)],
    ) -> None:  # fmt: skip
        t, own = cl.thread_idx.x, Tile.create(each)
        room, values_room = own.room(key), own.room(held)
        tile = cl.next_tile(states)
        first, keys, places = (
            own.first(tile * size),
            cl.make_rmem_tensor(key, (each,)),
            cl.make_rmem_tensor(i32, (each,)),
        )

        def of_key(i: int) -> Any:  # keys beyond the end are the last of the last digit
            return cl.where(first + i * 32 < N, digit(order(keys[i], flip), shift), DIGITS - 1)

        for i in cl.static_range(each):
            keys[i] = x[min(first + i * 32, N - 1)]
        ranks = own.ranks(of_key)
        total, count = i32(0), i32(0)
        if t < DIGITS:
            total, count = totals[t], own.add_up()
            publish(states, tile, t, word(count), cl.where(tile == 0, word(-2), word(1)))
        (base, local), _ = cl.block_scan((total, count), (i32(0), i32(0)))
        if t < DIGITS:
            own.starts[0, t] = local
        cl.syncthreads()
        for i in cl.static_range(each):
            places[i] = own.place(i, of_key(i), ranks)
            room[places[i]] = keys[i]
        for i in cl.static_range(each):
            at = first + i * 32
            values_room[places[i]] = i32(at) if values is None else values[min(at, N - 1)]
        if t < DIGITS:
            own.starts[1, t] = base - local + look_back(states, tile, t, word(count))
        cl.syncthreads()
        for i in cl.static_range(each):
            at = i * THREADS + t
            if tile * size + at < N:
                found = room[spread(at)]
                place = own.starts[1, digit(order(found, flip), shift)] + at
                y[place] = found
                moved[place] = to(values_room[spread(at)])

    return move


@cache
def sorting(key: Any, value: Any, to: Any, shifts: tuple[int, ...], flip: bool, each: int) -> Any:
    """Make the kernel that sorts `each` keys of a thread of one block. Arguments as for `moving`."""
    held = i32 if value is None else value

    @cl.kernel(block=THREADS)
    def sort(
        x: Tensor[key, (N,)], values: Tensor[held, (N,)] | None, y: Tensor[key, (N,)], moved: Tensor[to, (N,)]
    ) -> None:
        t, own = cl.thread_idx.x, Tile.create(each)
        first = own.first(0)
        room, values_room = own.room(key), own.room(held)
        keys, carried = cl.make_rmem_tensor(key, (each,)), cl.make_rmem_tensor(held, (each,))
        for i in cl.static_range(each):
            at = min(first + i * 32, N - 1)
            keys[i], carried[i] = x[at], i32(at) if values is None else values[at]
        for shift in shifts:

            def of_key(i: int, shift: int = shift) -> Any:  # keys beyond the end are the last of the last digit
                return cl.where(first + i * 32 < N, digit(order(keys[i], flip), shift), DIGITS - 1)

            ranks, count = own.ranks(of_key), i32(0)
            if t < DIGITS:
                count = own.add_up()
            local, _ = cl.block_scan(count, i32(0))
            if t < DIGITS:
                own.starts[0, t] = local
            cl.syncthreads()
            for i in cl.static_range(each):
                place = own.place(i, of_key(i), ranks)
                room[place], values_room[place] = keys[i], carried[i]
            cl.syncthreads()
            for i in cl.static_range(each):
                at = first + i * 32
                keys[i], carried[i] = room[spread(at)], values_room[spread(at)]
        for i in cl.static_range(each):
            at = first + i * 32
            if at < N:
                y[at], moved[at] = keys[i], to(carried[i])

    return sort


@cache
def comparing(key: Any, value: Any, to: Any, flip: bool) -> Any:
    """Make the kernel that sorts a few keys, one of each thread. Arguments as for `moving`."""
    held, word = i32 if value is None else value, u64 if key == i64 else u32

    @cl.kernel(block=FEW)
    def sort(
        x: Tensor[key, (N,)], values: Tensor[held, (N,)] | None, y: Tensor[key, (N,)], moved: Tensor[to, (N,)]
    ) -> None:
        t, orders, place = cl.thread_idx.x, cl.shared(word, (FEW,)), i32(0)
        at = min(t, N - 1)
        own, carried = x[at], i32(at) if values is None else values[at]
        mine = order(own, flip)
        orders[t] = mine
        cl.syncthreads()
        for i in cl.range(N, unroll=8):
            other = orders[i]
            place += cl.where((other < mine) | ((other == mine) & (i < t)), i32(1), i32(0))
        if t < N:
            y[place], moved[place] = own, to(carried)

    return sort


class Sorted(NamedTuple):
    """Keys in order, and what belongs to them: values, or the places where keys were, int64."""

    keys: Any
    values: Any


@planned
@in_words_of_caller
def sort(x: Any, values: Any = None, *, descending: bool = False, out: Any = None) -> Sorted:
    """Sort numbers; equal ones stay in their order.

    x       (n,), bf16, f16, f32, i32 or i64; n < 2**31. NaN is the greatest, -0 and 0 are equal
    values  (n,), 32 or 64 bits each, or bf16 and f16: moved with the keys; by default the keys' places
    descending  the greatest first
    out     two arrays to write keys and values to, without gaps; by default new ones
    Errors  `cl.ArgumentError` for other arrays
    """
    is_array("x", x)
    if values is not None:
        is_array("values", values)
    n, key = int(x.shape[0]) if len(x.shape) == 1 else -1, KEYS.get(code_of(x))
    given = None if values is None else VALUES.get(code_of(values))
    if n < 0 or key is None or (values is not None and (given is None or tuple(values.shape) != (n,))):
        beside = "" if values is None else f", with values of {values.dtype} {tuple(values.shape)}"
        raise cl.ArgumentError(
            f"x is {x.dtype} {tuple(x.shape)}{beside}, which cannot be sorted: x has one mode of "
            f"{', '.join(KEYS)}, and values as many elements of {', '.join(VALUES)}"
        )
    if (found := derived(x, values, out=out)) is not None:
        return Sorted(*found.sort_with(x, values, descending=descending))
    shifts = tuple(range(0, 8 * key.bytes, BITS))
    keys, moved, kind = flat(x, n), None if values is None else flat(values, n), given
    wanted = {"keys": ((n,), key.name), "values": ((n,), (given or i64).name)}
    made = results(out, wanted, **({"x": x} if values is None else {"x": x, "values": values}))
    if n == 0:
        return Sorted(*made)
    if n <= FEW:
        comparing(key, given, given or i64, descending)[1, FEW](keys, moved, *made)
        return Sorted(*made)
    tiles, word = -(-n // (THREADS * keys_of(key, given))), i32 if n < 1 << 30 else i64
    if tiles == 1:
        each = max(2, 1 << (-(-n // THREADS) - 1).bit_length())
        sorting(key, given, given or i64, shifts, descending, min(each, keys_of(key, given)))[1, THREADS](
            keys, moved, *made
        )
        return Sorted(*made)
    counts = zeros(x, (len(shifts), DIGITS), "i32")
    states = zeros(x, (len(shifts), tiles * DIGITS + 1), word.name)
    rooms = [(empty(x, (n,)), empty(x, (n,), (given or i32).name)) for _ in range(min(2, len(shifts) - 1))]
    blocks = min(-(-n // (DIGITS * EACH)), clusters_at_once(1, x, 4))
    counting(key, shifts, descending)[blocks, DIGITS](keys, counts.reshape((-1,)))
    for turn, shift in enumerate(shifts):
        last = turn == len(shifts) - 1
        y, after = made if last else rooms[turn % 2]
        to = (given or i64) if last else (given or i32)
        move = moving(key, kind, to, shift, descending, word)
        move[tiles, THREADS](keys, moved, counts[turn], states[turn], y, after)
        keys, moved, kind = y, after, to
    return Sorted(*made)
