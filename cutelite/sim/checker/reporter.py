"""Turn the mistakes that the model finds into `Finding`s."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cutelite.diag import Note
from cutelite.ir.op import Op
from cutelite.sim.checker.findings import Finding, Side, Thread, of_error
from cutelite.sim.checker.shadow import READ, STRONG, STRONG_READ, STRONG_WRITE, WRITE, Site
from cutelite.sim.error import SimError
from cutelite.sim.memory import Region
from cutelite.tuples import NamedTuple

Array = Any
Threads = list[tuple[Any, int]]  # (machine, tid)

NOUNS = {READ: "read", STRONG_READ: "atomic read", STRONG_WRITE: "atomic update", WRITE: "write"}

WHERE = {
    "smem": "shared memory",
    "cluster": "another block's shared memory",
    "gmem": "global memory",
    "tmem": "tensor memory",
}

TENSOR_FENCES = (
    "`cl.tcgen05.fence_before_thread_sync()` in the threads of the earlier access, before they arrive; "
    "`cl.tcgen05.fence_after_thread_sync()` in those of the later one, after they have waited"
)

BEFORE_TENSOR = (
    "products are over when the mbarrier of their `commit` was waited for, loads and stores after `wait_load` and "
    f"`wait_store`; between threads: {TENSOR_FENCES}"
)

BEFORE_READ = "wait for the copy before the read: on its mbarrier's phase, or for its group and then at a barrier"
BEFORE_OVERWRITE = (
    "before it is refilled, the readers must signal that they are done: by a wait and an arrival, or at a barrier"
)
AFTER_COPY = "wait for the end of the asynchronous read (its group) before the bytes are written again"
BEFORE_REFILL = (
    "before it is refilled, the asynchronous read must be over: wait for its group, and only then say so by an "
    "arrival or at a barrier"
)
BEFORE_COPY = "if it is to read what was written: a barrier of who writes and who starts it, before it is started"
APART = "one instruction writes these bytes more than once, and any of the writes may stay: give each its own place"
IN_ANY_ORDER = (
    "copies that one phase of an mbarrier counts come in any order: give each its own place, or start the second when "
    "the phase is complete"
)
BETWEEN_THREADS = "put a barrier between them, or another release and acquire that both threads take part in"

OTHER_PROXY = (
    "atomic updates by the generic and by the async proxy need an order between them: a barrier, and "
    "`fence_proxy_async` before the asynchronous one; or make both by one proxy"
)

ORDERED_UPDATES = (
    "let each wait until the one before is complete (a bulk reduction: all of its group, not its reads alone), by a "
    "release that the next one acquires"
)
SAME_ORDER = "order them by what they compute, not by who comes first"
SAME_RESULT = "make each result depend on its place alone, not on the order in which threads or blocks arrive"

ASTRAY = {
    "early": (
        "a wait may take an earlier phase of the mbarrier for its own: nothing orders it after the phase in between",
        "wait",
        "wait for each phase in turn, or learn from threads that did that it is complete",
    ),
    "late": (
        "a wait may miss its phase of the mbarrier: nothing orders it before the completion of the next one",
        "wait",
        "let the threads signal the end of their wait before the last arrival of the next phase",
    ),
    "arrival": (
        "an arrival may count in an earlier phase of the mbarrier: nothing orders it after the completion of that",
        "arrival",
        "wait for the phase before, or learn from threads that did that it is complete",
    ),
}
"""For waits and arrivals that only the schedule orders with the phases of their barrier: message, noun, help."""


class Place(NamedTuple):
    """The place of a finding: the space, the first and the last byte in a tensor, and the name of that."""

    space: str
    extent: tuple[int, int] | None
    name: str


NOWHERE = Place("", None, "")


class Reporter:
    """Collects the findings of one schedule; the first of each kind, pair of lines and tensor."""

    def __init__(self, kernel: str, seed: int, found: dict[object, Finding]) -> None:
        self.kernel, self.seed, self.found = kernel, seed, found

    def _add(
        self,
        key: tuple[Any, ...],
        message: str,
        help: str,
        *sides: Side,
        at: Place = NOWHERE,
        kind: str = "",
        **more: Any,
    ) -> None:
        """Keep a finding, if it is the first of its key, which begins with its kind. `more`: other fields of it."""
        if key not in self.found:
            facts = *at, self.seed, self.kernel
            self.found[key] = Finding(kind or key[0], message, sides, *facts, help=help, **more)

    def error(self, error: SimError, more: Iterable[Note]) -> None:
        """Report an error that ended a simulation."""
        finding = of_error(error, more)
        self.found.setdefault((finding.kind, finding.span), finding)

    def race(
        self,
        block: Any,
        region: Region,
        offsets: Array,
        granule: int,
        old: Site,
        new: Site,
        old_threads: Threads,
        new_threads: Threads,
        how: str,
    ) -> None:
        """Report two accesses that nothing orders.

        how  'fenceless': they are ordered, and lack the proxy fence
             'within': one instruction makes both, of several threads or a copy
             'beside': copies make both in one phase of an mbarrier
             'behind': the thread that started the later one, asynchronous, has made the other since; else ''
        """
        fenceless = how == "fenceless"
        kind = "proxy-fence" if fenceless else "race"
        at = _place(block, region, offsets, granule)
        key = (kind, frozenset((_line(new.op), _line(old.op))), at.name)
        if key in self.found:
            return
        where = WHERE[at.space]
        if at.space == "tmem":
            message = f"a race in tensor memory: nothing orders {_a(_noun(new))} and {_a(_noun(old))} of the same cells"
            help = TENSOR_FENCES if fenceless else BEFORE_TENSOR
            kind = "race"
        elif fenceless:
            message = f"{where} written by ordinary instructions is accessed by the async proxy without a proxy fence"
            help = "`fence_proxy_async` in the threads that wrote, before the barrier that comes before this"
        else:
            message = f"a race in {where}: nothing orders {_a(_noun(new))} and {_a(_noun(old))} of the same bytes"
            help = _help(old, new, how)
        label = f"{_noun(new)} here"
        sides = (_side(_noun(new), new.op, new_threads), _side(f"earlier {_noun(old)}", old.op, old_threads))
        self._add(key, message, help, *sides, at=at, kind=kind, label=label)

    def unordered_updates(
        self, block: Any, region: Region, offsets: Array, granule: int, old: Site, new: Site, old_threads: Threads,
        new_threads: Threads,
    ) -> None:  # fmt: skip
        """Report two updates of an ordered argument that may come in either order."""
        message = "atomic updates whose order shows in the result: nothing orders one of them before the other"
        sides = (_side("update", new.op, new_threads), _side("earlier update", old.op, old_threads))
        self._updates(block, region, offsets, granule, message, sides, ORDERED_UPDATES)

    def differing_updates(self, block: Any, region: Region, offsets: Array, op: Op, threads: Threads) -> None:
        """Report updates of an ordered argument that came in another order than under an earlier schedule."""
        message = "atomic updates whose order shows in the result come in another order than in the first schedule"
        self._updates(block, region, offsets, 1, message, (_side("latest update", op, threads),), SAME_ORDER)

    def differing_results(self, region: Region, offsets: Array, op: Op | None, threads: Threads, wrong: bool) -> None:
        """Report an argument that holds something else than after an earlier schedule; a note if it may."""
        message = f"{len(offsets)} bytes of an argument differ from those after the first schedule"
        place = region.place("gmem", region.base + int(offsets.min()))
        at = Place("gmem", (place.offset, place.offset + int(offsets.max() - offsets.min())), place.name)
        sides = () if op is None else (_side("latest write", op, threads),)
        severity, notes = ("error", ()) if wrong else ("note", (Note(f"schedule of seed {self.seed}"),))
        key = ("schedule-dependent", place.name)
        self._add(key, message, SAME_RESULT, *sides, at=at, severity=severity, notes=notes)

    def _updates(
        self, block: Any, region: Region, offsets: Array, granule: int, message: str, sides: tuple[Side, ...], help: str
    ) -> None:
        key = ("update-order", frozenset(side.span for side in sides), message)
        self._add(key, message, help, *sides, at=_place(block, region, offsets, granule))

    def mbarrier_init(
        self, block: Any, op: Op, users: Threads, address: int, init: Op, maker: Threads, known: bool
    ) -> None:
        """Report an mbarrier that is used before its initialisation is visible. `known`: only the fence is missing."""
        kind = "mbarrier-init-fence" if known else "mbarrier-init"
        does = "a commit arrives" if op.name == "tcgen05.commit" else "the copy counts its bytes"
        message = f"{does} on an mbarrier whose initialisation may be invisible to the async proxy"
        help = "`fence_mbarrier_init` in the thread that initialises, before the barrier"
        if not known:
            message = "an mbarrier is used, and nothing orders its initialisation before the use"
            help = "a barrier of all who use it, after `init` and `fence_mbarrier_init`; of the cluster, if others do"
        self._barrier(kind, message, block, address, help, (_side("use", op, users), _side("init", init, maker)))

    def mbarrier_phase(self, what: str, block: Any, op: Op, users: Threads, address: int, by: Op | None) -> None:
        """Report threads, or their work, whose waits or arrivals may be for another phase of an mbarrier."""
        message, noun, help = ASTRAY[what]
        sides = (_side(noun, op, users), *([_side("completion", by, [])] if by is not None else []))
        self._barrier("mbarrier-phase", message, block, address, help, sides)

    def barrier_phase(self, number: int, op: Op, users: Threads, other: Op | None) -> None:
        """Report arrivals at a named barrier that may complete its generation before, in place of others."""
        message = f"an arrival at barrier {number} may count in its generation before: nothing orders it after that"
        help = (
            "use another barrier, or wait at this one where the generation before was (`barrier_sync`), or learn from "
            "threads that did that it is complete"
        )
        sides = [_side("arrival", op, users)]
        if other is not None and other.span != op.span:
            sides.append(_side("arrival of the generation before", other, []))
        self._add(("barrier-phase", number, _line(op)), message, help, *sides)

    def resized(self, op: Op, users: Threads) -> None:
        """Report a second setmaxnreg of a warpgroup whose warps have not met since the first."""
        message = f"{op.name} again, and the warps of the warpgroup have not synchronised since the one before"
        help = "let all four warps meet at a barrier between the two"
        self._add(("registers", _line(op)), message, help, _side("execution", op, users))

    def mbarrier_reused(self, block: Any, op: Op, tid: int, address: int, users: Threads) -> None:
        """Report an mbarrier that is invalidated while others may still use it."""
        message = "an mbarrier is invalidated, and nothing orders that after the last use of it by others"
        side = _side("inval", op, [(block.machine, tid)])
        self._barrier(
            "mbarrier-reuse", message, block, address, BETWEEN_THREADS, (side, Side("use", "", None, _of(users)))
        )

    def exited(self, block: Any, region: Region, offsets: Array, granule: int, site: Site, who: Threads) -> None:
        """Report a possible access to the shared memory of a block that has exited."""
        message = f"a block may exit before {_a(_noun(site))} of its shared memory has happened"
        help = "wait for it before the block ends: for the mbarrier or the group, or at a cluster barrier"
        at, side = _place(block, region, offsets, granule), _side(_noun(site), site.op, who)
        self._add(("exit-pending", _line(site.op)), message, help, side, at=at)

    def too_early(
        self, block: Any, op: Op, region: Region, offsets: Array, threads: Threads, kind: str, asynchronous: bool
    ) -> None:
        """Report an access to global memory while the kernel ahead may still run."""
        noun = f"{'asynchronous ' if asynchronous else ''}{'atomic update' if kind == 'atomic' else kind}"
        message = f"{_a(noun)} of global memory while the kernel ahead may still run and use it"
        help = "`griddepcontrol_wait` before it, in this thread or in one that it is ordered after"
        if kind == "read":
            help += "; if no kernel ahead writes it, name it in `untouched`, or load it with cache='nc'"
        at, side = _place(block, region, offsets, 1), _side(noun, op, threads)
        self._add(("grid-dependency", _line(op)), message, help, side, at=at)

    def trusted(self, op: Op, name: str) -> None:
        """Note an argument that threads read while the kernel ahead may still run, before they wait for it."""
        message = f"`{name}` is read before `griddepcontrol_wait`, so the kernel ahead is taken not to write it"
        help = "say which arguments it does not write, `untouched=[...]`: early reads of others are errors then"
        key, at = ("grid-dependency", "note", name), Place("gmem", None, name)
        self._add(key, message, help, _side("read", op, []), at=at, severity="note")

    def stale(
        self, block: Any, op: Op, region: Region, offsets: Array, granule: int, old: Site, threads: Threads,
        old_threads: Threads,
    ) -> None:  # fmt: skip
        """Report a non-coherent load of bytes that the launch has written."""
        message = "a non-coherent load of bytes that this launch writes: it may see what they were before"
        help = "leave out `cache='nc'`, which promises that nobody writes them while the kernel runs"
        sides = _side("load", op, threads), _side(f"earlier {_noun(old)}", old.op, old_threads)
        self._add(("non-coherent", _line(op)), message, help, *sides, at=_place(block, region, offsets, granule))

    def not_started(self, op: Op, threads: Threads, rank: int) -> None:
        """Report a use of the shared memory of a block that may not have started."""
        message = "another block's shared memory is used, and nothing orders that after the start of that block"
        help = "a barrier of the cluster before it, which may be relaxed"
        key, side, label = ("block-not-started", _line(op)), _side("use", op, threads), f"in the block of rank {rank}"
        self._add(key, message, help, side, at=Place("cluster", None, ""), label=label)

    def barrier_outlived(self, block: Any, address: int, init: Op, sources: list[Op], users: Threads) -> None:
        """Report an mbarrier of a block that has exited on which another block may arrive."""
        message = "a block may exit before another block's use of its mbarrier has happened"
        help = "let it wait for the arrivals, or all blocks meet at a cluster barrier at the end"
        op = next(iter(reversed(sources)), init)
        self._barrier("exit-pending", message, block, address, help, (_side("use", op, users), _side("init", init, [])))

    def bytes_left(self, block: Any, address: int, init: Op, sources: list[Op], bytes: int) -> None:
        """Report an mbarrier that expected more or fewer bytes than arrived by the end of the block."""
        said = (
            f"{bytes} bytes more were expected than came"
            if bytes > 0
            else f"{-bytes} bytes came that were not expected"
        )
        message = f"at the end of the block, an mbarrier's bytes do not add up: {said}"
        help = "expect as many bytes as the copies of a phase bring, in the same phase; and wait for all of them"
        notes = [Note(f"arrives, or counts bytes: {op.name}", op.span) for op in sources]
        self._barrier("mbarrier-tx", message, block, address, help, (_side("init", init, []),), notes)

    def _barrier(
        self, kind: str, message: str, block: Any, address: int, help: str, sides: tuple[Side, ...],
        notes: Iterable[Note] = (),
    ) -> None:  # fmt: skip
        place = block.machine.spaces["cluster"].place(address)
        key = (kind, place.name, *((side.op, side.span) for side in sides))
        at = Place("smem", (place.offset, place.offset + 7), place.name)
        self._add(key, message, help, *sides, at=at, notes=tuple(notes))


def _line(op: Op) -> object:
    """Return a key that is equal for ops of the same line, such as those of an unrolled loop."""
    return op.span if op.span is not None else id(op)


def _noun(site: Site) -> str:
    return f"asynchronous {NOUNS[site.kind]}" if site.asynchronous else NOUNS[site.kind]


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _help(old: Site, new: Site, how: str) -> str:
    if how in ("within", "beside"):
        return APART if how == "within" else IN_ANY_ORDER
    if old.kind in STRONG and new.kind in STRONG:
        if old.bytes != new.bytes:
            return (
                f"strong accesses of {old.bytes} and {new.bytes} bytes do not order each other: use one size for both"
            )
        if old.proxy != new.proxy:
            return OTHER_PROXY
        return "give both a scope that holds the threads of both: 'cluster', or 'gpu'"
    if old.kind in (WRITE, STRONG_WRITE) and old.asynchronous and new.kind == READ:
        return BEFORE_READ
    if old.asynchronous and not new.asynchronous and old.kind == READ:
        return AFTER_COPY
    if new.asynchronous and new.kind == READ and not old.asynchronous:
        return AFTER_COPY if how == "behind" else f"{BEFORE_COPY}; or {AFTER_COPY}"
    if new.asynchronous and new.kind == WRITE:
        return BEFORE_REFILL if old.asynchronous and old.kind == READ else BEFORE_OVERWRITE
    return BETWEEN_THREADS


def _of(threads: Threads) -> tuple[Thread, ...]:
    return tuple((machine.block, machine.thread(tid)) for machine, tid in threads)


def _side(what: str, op: Op, threads: Threads) -> Side:
    return Side(what, op.name, op.span, _of(threads))


def _place(block: Any, region: Region, offsets: Array, granule: int) -> Place:
    """Return where granules that begin at `offsets` are."""
    low, high = int(offsets.min()), int(offsets.max()) + granule - 1
    own = region is block.cluster.smem[block.rank]
    space = "gmem" if region.state is None else "tmem" if region.tensor else "smem" if own else "cluster"
    place = region.place(space, region.base + low)
    return Place(space, (place.offset, place.offset + high - low), place.name)
