"""The protocols between `ops` and `sim`: the simulator as an op's `simulate` sees it.

In: nothing of the simulator. Out: `Lanes` (the threads that execute an op), `Machine` (their CTA: shared memory,
barriers, mbarriers, asynchronous engine), `Agent` (asynchronous work while it runs), `Wait` (the condition that
threads wait). `cutelite.sim` implements them; `cutelite/sim/machine.py` shows how each kind of op is written with them.

Addresses are int64 arrays in every space. Shared memory of the CTA with rank r in its cluster lies at
``r << 24``, so a shared::cta address is also the shared::cluster address of the same byte, as on the hardware.
Arrays that an op is given are never written into: other values may share them. Floating-point warnings of NumPy
are off while a kernel runs: ops need no `np.errstate`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NoReturn

from cutelite.ir.op import Jump, Value
from cutelite.ir.types import Scalar, TensorMap
from cutelite.records import Protocol
from cutelite.tuples import NamedTuple

Array = Any
"""A NumPy array whose leading axis is the lanes; a vector value has a second axis of its elements."""
Ticket = Any
"""Stands for a result that asynchronous work is going to make: an object, in an array of objects for all lanes."""


class Wait(NamedTuple):
    """The reason for which threads wait. `simulate` returns one at its end; or a generator yields it and goes on later.

    ready  True when all of them may go on; or a bool for each lane, and lanes then go on one by one
    why    text for the deadlock report: 'mbarrier full[2], phase 1', 'barrier 0: 96 of 128 threads arrived'; a function
           where the text depends on how things stand at the time of the report
    on     for the checker: pairs of lanes (a mask, or None for all) and the object that they wait for
    advice what to do if it never ends, as far as the state of what they wait for tells; '' where it tells nothing
    """

    ready: Callable[[], bool | Array]
    why: str | Callable[[], str]
    on: tuple[tuple[Array | None, object], ...] = ()
    advice: Callable[[], str] = str


class Lanes(Protocol):
    """The threads that execute one op together, as its `simulate` sees them.

    How many lanes there are follows from the op's `scope`:

    thread     any number of threads that stand at this op; all are active
    warp       the 32 lanes of one warp, of which those that take part are active; with ``wide = True`` in the class,
               32 lanes for each of several warps: `warps` gives (warps, 32, ...) views
    warpgroup  128 lanes, all active
    cta        all threads of the CTA that have not left, all active

    Warp, warpgroup and cta ops wait until the threads they need have arrived at this very op: those of the lane
    mask in the operand called `members`, if the op has one, else all of the warp that have not left the kernel.

    Arrays hold all lanes, active or not; what `define` is given for inactive lanes is ignored. A step that blocks
    returns a `Wait` (lanes then go on one by one), or is a generator that yields `Wait`s (all lanes of the warp,
    warpgroup or CTA go on together).
    """

    mask: Array  # bool (lanes,): the active lanes
    tid: Array  # int64 (lanes,): each thread's linear index in its CTA (x fastest)

    def get(self, value: Value) -> Any:
        """Return an operand: (lanes,), or (lanes, n) for a vector; the `TileMap` of a descriptor for a TensorMap."""

    def define(self, *results: Array) -> None:
        """Set the op's results, in order, each of the dtype and shape of its type."""

    def dim(self, expr: object) -> Any:
        """Return the value of an integer expression over dims: an int, or an array (lanes,) after `bind_dim`."""

    def stop(self, values: dict[str, Array], known: dict[str, str]) -> None:
        """Stop in Python's debugger, once for each warp, with these values of its active threads."""

    def bind_dim(self, dim: object, value: Array) -> None:
        """Bind `dim` (a `layout.Dim`) to `value` for these threads, from here on."""

    def load(self, space: str, address: Array, elem: Scalar, n: int = 1, mask: Array | None = None) -> Array:
        """Return `n` neighbours at each address (lanes, ...): (lanes, ..., n); 0 for inactive or masked lanes."""

    def store(self, space: str, address: Array, elem: Scalar, data: Array, mask: Array | None = None) -> None:
        """Write data (lanes, ..., n) at addresses (lanes, ...); at equal addresses, the last lane's data stays."""

    def atomic(
        self,
        space: str,
        address: Array,
        action: str,
        elem: Scalar,
        operand: Array,
        compare: Array | None = None,
        mask: Array | None = None,
    ) -> Array:
        """Update memory in lane order and return the old values (lanes,). `operand` may be (lanes, n): n neighbours.

        action  'add', 'min', 'max', 'and', 'or', 'xor', 'exch', 'inc', 'dec' (PTX: atom), or 'cas' with `compare`
        """

    def special(self, name: str) -> Array:
        """Return a special register by PTX name: 'tid.x', 'nctaid.z', 'laneid', 'clock64'...; or 'activemask'."""

    def fault(self, where: Array, message: str, code: str = "fault", help: str = "") -> None:
        """Report an error in the user's kernel if any active lane of `where` is True. `code`: as in ``error[code]``."""

    def print(self, texts: Sequence[str]) -> None:
        """Print a text for each active lane, in thread order."""

    def each(self) -> Iterator[int]:
        """Yield the active lanes, by index into the arrays."""

    def jump(self, to: Jump) -> None:
        """Let all lanes go to that block, as a terminator."""

    def branch(self, cond: Array, then: Jump, other: Jump) -> None:
        """Let lanes where `cond` holds go to `then`, the others to `other`, as a terminator."""

    def leave(self) -> None:
        """End these threads, as a terminator."""

    def warps(self, array: Array) -> Array:
        """Return a view of (lanes, ...) as (warps, 32, ...), for 'warp' and 'warpgroup' ops."""

    @property
    def machine(self) -> Machine: ...


class Agent(Protocol):
    """Asynchronous work while the engine executes it: memory as the async proxy (or cp.async) sees it.

    Addresses may have any shape; elements are added as the last axis. Errors point at the op that started it.
    """

    @property
    def part(self) -> Array:
        """The threads whose work this is, as positions among those that started it; each one's work ends by itself."""

    def load(self, space: str, address: Array, elem: Scalar, n: int = 1, of: Array | None = None) -> Array:
        """Load as `Lanes.load`; `of` gives, for each address, the position in `part` of the thread that reads there."""

    def store(self, space: str, address: Array, elem: Scalar, data: Array, of: Array | None = None) -> None: ...
    def atomic(self, space: str, address: Array, action: str, elem: Scalar, operand: Array) -> None: ...

    def complete_tx(self, address: int, bytes: int) -> None:
        """Count `bytes` of the mbarrier's transaction as arrived (`address`: smem or cluster)."""

    def arrive(self, address: int, count: int = 1) -> None:
        """Arrive on an mbarrier, as cp.async.mbarrier.arrive does when the copies before it are complete."""

    def result(self, ticket: Ticket) -> Any:
        """Return the result of `read` of earlier work, which is executed now if it has not been."""

    def fail(
        self,
        code: str,
        title: str,
        *,
        element: int | None = None,
        place: Any = None,
        label: str = "",
        help: str = "",
    ) -> NoReturn:
        """Report an error in the user's kernel, at the op that started this work."""


class Engine(Protocol):
    """Asynchronous work of a CTA. The seed decides when it happens, between its issue and the wait that retires it."""

    def start(
        self,
        lanes: Lanes,
        queue: str,
        read: Callable[[Agent], Any],
        write: Callable[[Agent, Any], None] | None = None,
        *,
        lane: int | Array | None = None,
        in_order: bool = False,
        barrier: int | None = None,
        proxy: str = "async",
    ) -> Ticket:
        """Begin work of these lanes (or of one `lane`, or an array of them), and return its ticket.

        The work of each thread ends by itself, unless it is `in_order`: see `Agent.part`.

        queue     the queue that commit and wait name: 'cp.async', 'bulk', 'wgmma', or 'none' for work whose end only an
                  mbarrier signals (TMA loads, st.async)
        read      executed at some moment from now on: reads the sources; its result is passed to `write` and `result`
        write     executed at some later moment: writes the destination, completes transactions
        in_order  execute it after all earlier work of this queue by these threads (wgmma)
        barrier   the address of the mbarrier on which it ends, if any: at this offset in each block that it writes to
        proxy     the proxy by which it accesses memory: 'async' or 'generic'
        """

    def held(self, lanes: Lanes, queue: str, data: Any) -> Ticket:
        """Return the ticket of a result that is there: work in `queue` may take it, but none has to make it."""

    def commit(self, lanes: Lanes, queue: str) -> None:
        """Close a group for each of these threads: its work in `queue` since its last commit."""

    def wait(self, lanes: Lanes, queue: str, pending: int | None = 0, *, reads_only: bool = False) -> None:
        """Complete all but the latest `pending` groups of these threads; with `reads_only`, only their reads.

        None: complete everything, committed or not (cp.async.wait_all).
        """

    def after(self, lanes: Lanes, queue: str, action: Callable[[Agent], None], *, lane: int | None = None) -> None:
        """Execute `action` once all that these threads started in `queue` so far is complete, committed or not."""

    def result(self, ticket: Ticket) -> Any:
        """Return the result of `read` of this work; an error unless a wait has retired it."""


class Mbarriers(Protocol):
    """mbarrier objects: 64-bit words in shared memory. Addresses (lanes,) may be of another CTA of the cluster.

    Misuse is an error: an address that holds no live mbarrier or is no multiple of 8, counts out of range,
    initialising a live one, more arrivals or bytes than a phase expects. `count`, `bytes`: int or (lanes,).
    """

    def init(self, lanes: Lanes, address: Array, count: Array | int) -> None: ...
    def inval(self, lanes: Lanes, address: Array) -> None: ...

    def arrive(self, lanes: Lanes, address: Array, count: Array | int = 1, *, expect: Array | int = 0) -> Array:
        """Expect `expect` more bytes, then arrive `count` times; return the state before, uint64 (lanes,)."""

    def arrive_drop(
        self, lanes: Lanes, address: Array, count: Array | int = 1, *, expect: Array | int = 0
    ) -> Array: ...
    def expect_tx(self, lanes: Lanes, address: Array, bytes: Array | int) -> None: ...
    def complete_tx(self, lanes: Lanes, address: Array, bytes: Array | int) -> None: ...
    def expect_arrivals(self, lanes: Lanes, address: Array, count: Array | int = 1) -> None:
        """Make only the current phase expect `count` more arrivals (cp.async.mbarrier.arrive without .noinc)."""

    def test(self, lanes: Lanes, address: Array, parity: Array) -> Array:
        """Return whether the phase of this parity has completed, bool (lanes,) (test_wait.parity)."""

    def test_state(self, lanes: Lanes, address: Array, state: Array) -> Array:
        """Return whether the phase that was current in `state` has completed (test_wait)."""

    def wait(self, lanes: Lanes, address: Array, parity: Array) -> Wait:
        """Block until the phase of this parity has completed."""

    def wait_state(self, lanes: Lanes, address: Array, state: Array) -> Wait: ...
    def pending_count(self, state: Array) -> Array: ...


class Barriers(Protocol):
    """The CTA's 16 named barriers, and the barrier of its cluster. `id`, `count`: int or (lanes,)."""

    def sync(self, lanes: Lanes, id: Array | int = 0, count: Array | int | None = None) -> Wait:
        """Arrive and wait. `count`: the threads that take part, those that arrive included; None: all of the CTA."""

    def arrive(self, lanes: Lanes, id: Array | int, count: Array | int) -> None: ...

    def reduce(
        self, lanes: Lanes, id: Array | int, count: Array | int | None, action: str, a: Array
    ) -> Generator[Wait, None, Array]:
        """Combine all `a` by 'and', 'or' or 'popc' at a barrier: ``result = yield from ...`` (lanes,) (barrier.red)."""

    def cluster_arrive(self, lanes: Lanes) -> None: ...
    def cluster_wait(self, lanes: Lanes) -> Wait: ...


class TensorMemory(Protocol):
    """Tensor memory of a CTA. An address is ``lane << 16 | column``; misuse is an error."""

    def alloc(self, lanes: Lanes, columns: int, cta_group: int) -> Generator[Wait, None, int]:
        """Allocate columns once there are enough: ``address = yield from ...``."""

    def dealloc(self, lanes: Lanes, address: int, columns: int, cta_group: int) -> None: ...
    def relinquish(self, lanes: Lanes) -> None: ...
    def check_group(self, lanes: Lanes, cta_group: int) -> None:
        """Report a `cta_group` of 2 where there are no pairs of CTAs."""

    def collect(self, lanes: Lanes, buffer: str, action: str, operand: tuple[object, ...]) -> None:
        """Apply an instruction's use of a buffer of operands: 'fill', 'use', 'lastuse', 'discard'."""

    def place(self, lanes: Lanes, address: int, lane: Array, column: Array) -> Array:
        """Return the bytes in the space 'tmem' of cells that are `lane` lanes and `column` columns from an address.

        The tensor memory of the CTA with rank r in its cluster begins at ``r << 24``.
        """


class Machine(Protocol):
    """The CTA that the lanes belong to."""

    rank: int  # in its cluster
    cluster_size: int
    launch_over: bool  # one of its threads has seen that a request to cancel a cluster failed

    @property
    def engine(self) -> Engine: ...
    @property
    def mbarriers(self) -> Mbarriers: ...
    @property
    def barriers(self) -> Barriers: ...
    @property
    def tmem(self) -> TensorMemory: ...

    def from_host(self, address: Array) -> Array:
        """Return the global addresses of host addresses in the launch's arrays; for others, unusable addresses."""

    def smem_address(self, alloc: Any, lanes: Lanes) -> Array:
        """Return the address of the `smem.alloc` op `alloc`: its offset, or one that the simulator chose."""

    def const_address(self, array: Any, lanes: Any) -> Array: ...
    def rmem_address(self, alloc: Any, lanes: Lanes) -> Array: ...
    def map_to_rank(self, address: Array, rank: Array | int) -> Array:
        """Return the cluster address of the same byte in the CTA `rank` (mapa)."""

    def rank_of(self, address: Array) -> Array:
        """Return the rank of the CTA whose shared memory holds a cluster address (getctarank)."""

    def elected(self, mask: Array) -> int:
        """Return one lane of those in the mask: the same for the same mask, but another in other schedules."""

    def fence(self, lanes: Lanes, kind: str) -> None:
        """Tell an observer of a fence: 'proxy.async', 'mbarrier_init', 'acq_rel.cluster', 'wgmma', 'warp', ..."""

    def publish_map(self, lanes: Lanes, address: Array) -> None:
        """Note that the TMA descriptors at these global addresses have been written, and released to TMA."""

    def acquire_map(self, lanes: Lanes, address: Array) -> None:
        """Let these threads acquire the descriptors at these addresses, so that they may use what lies there now."""

    def stored_map(self, lanes: Lanes, lane: int, address: int, type: TensorMap) -> TileMap:
        """Return the descriptor at an address that a lane has acquired; report an error if it has not."""

    def cancel_cluster(self) -> tuple[int, int, int] | None:
        """Keep a cluster that has not started from running: blockIdx of its first block, or None if that fails."""

    def set_registers(self, lanes: Lanes, count: int) -> Wait | None:
        """Set the registers of each thread to `count`; wait while the CTA's pool has too few left (setmaxnreg)."""


RANK_SHIFT = 24
"""Shared and tensor memory of the block of rank r in its cluster begin at ``r << 24``."""


class TileMap(Protocol):
    """A TMA descriptor as `Lanes.get` returns it. `coord` is the first element of a tile, outermost mode first.

    Tiles are uint8 (bytes,), row-major with the innermost dimension contiguous, before any swizzle.
    """

    box_bytes: int

    def words(self) -> Array:
        """Return the descriptor as its record in memory (`ops.tensormap.WORDS`)."""

    def read(self, agent: Agent, coord: Sequence[int]) -> Array:
        """Return a tile from global memory; elements outside the tensor are 0 (or NaN, if the map says so)."""

    def write(self, agent: Agent, coords: Sequence[Sequence[int]], tile: Array, action: str | None = None) -> None:
        """Write boxes, one behind the other in `tile`, to these places of global memory; with `action` reduce them.

        Elements outside are left out, but rows of the tensor that end within 16 bytes are written up to their end.
        Negative coordinates are an error.
        """

    def get_smem(self, agent: Agent, address: int) -> Array:
        """Return the tile at this shared address, its swizzle undone; report an address that is not aligned enough."""

    def put_smem(self, agent: Agent, address: int, tile: Array) -> None: ...

    def read_pixels(self, agent: Agent, coord: Sequence[int], offsets: Sequence[int], halo: int = 0) -> Array:
        """Return a row of pixels by an im2col map, each at `offsets` further; 0 outside of the images.

        halo  for a map along one row of images: the number of further pixels after each part
        """

    def with_halo(self, halo: int) -> TileMap:
        """Return the same descriptor along one row of images, with tiles of `halo` more pixels in each part."""

    def write_pixels(self, agent: Agent, coord: Sequence[int], tile: Array, action: str | None = None) -> None:
        """Write or reduce a row of pixels, without offsets; nothing outside of the images."""

    def repeated(self, times: int) -> TileMap:
        """Return the same descriptor with tiles in shared memory of `times` boxes, one behind the other."""
