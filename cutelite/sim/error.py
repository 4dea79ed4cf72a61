"""`SimError`: a mistake of a simulated kernel, with line, kernel, block and threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cutelite.diag import Mistake, Note, Span, render
from cutelite.ir.op import Op
from cutelite.records import dataclass

SHOWN = 4  # threads of a mistake, in text


@dataclass(frozen=True)
class Place:
    """A place in memory: `offset` bytes into the allocation called `name`; `address` is the kernel's address."""

    space: str
    address: int
    name: str = ""
    offset: int = 0

    def __str__(self) -> str:
        known = f", byte {self.offset} of `{self.name}`" if self.name else ""
        return f"{self.space} address 0x{self.address:x}{known}"


class SimError(Exception):
    """A mistake of the kernel that the simulator found; ``str(error)`` is the whole report.

    code     the kind of mistake, as in ``error[out-of-bounds]``
    kernel   the name of the function
    block    (x, y, z) of the block; None for several blocks
    threads  (x, y, z) of the threads at fault
    place    the place in memory, for mistakes in accesses
    op       the op at fault; `span` is its line
    seed     the schedule: the same seed shows the same mistake again
    """

    def __init__(
        self,
        mistake: Mistake,
        *,
        kernel: str,
        seed: int,
        op: Op | None = None,
        block: tuple[int, int, int] | None = None,
        threads: Sequence[tuple[int, int, int]] = (),
        place: Place | None = None,
        notes: Iterable[Note] = (),
    ) -> None:
        self.mistake, self.kernel, self.seed, self.op = mistake, kernel, seed, op
        self.block, self.threads, self.place = block, tuple(threads), place
        self.notes, self._span = tuple(notes), None if op is None else op.span
        super().__init__(mistake.title)

    def __reduce__(self) -> tuple[object, ...]:  # without the op, which holds the whole kernel
        return _remade, (type(self), {**vars(self), "op": None}, self.args)

    @property
    def code(self) -> str:
        """The name of the mistake in messages, such as 'out-of-bounds'."""
        return self.mistake.code

    @property
    def span(self) -> Span | None:
        """The place in the kernel's source; None where none is known."""
        return self._span

    def facts(self) -> list[Note]:
        """Return notes with the threads, the place in memory and the schedule, a line each."""
        who = f"in kernel `{self.kernel}`"
        if self.block is not None:
            who += f", block {self.block}"
        if self.threads:
            who += f", {threads_text(self.threads)}"
        notes = [Note(who)]
        if self.place is not None:
            notes.append(Note(f"at {self.place}"))
        if self.op is not None and self.op.span is None:
            notes.append(Note(f"executing {self.op!r}"))
        return [*notes, *self.notes, Note(f"schedule of seed {self.seed}")]

    def __str__(self) -> str:
        return render(self.mistake, self.span, self.facts())


def _remade(kind: type[SimError], state: dict[str, object], args: tuple[object, ...]) -> SimError:
    error = kind.__new__(kind, *args)
    vars(error).update(state)
    return error


class TooLarge(SimError):
    """Raised for a launch that is too large to be simulated or checked; the text says its size, and what would fit."""

    def __init__(self, kernel: str, title: str, help: str) -> None:
        super().__init__(Mistake("too-large", title, help=help), kernel=kernel, seed=0)

    def facts(self) -> list[Note]:
        return [Note(f"in kernel `{self.kernel}`")]


def threads_text(threads: Sequence[tuple[int, int, int]]) -> str:
    """Describe threads by their threadIdx: 'threads (0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0) and 28 more'."""
    shown = ", ".join(map(str, threads[:SHOWN]))
    more = f" and {len(threads) - SHOWN} more" if len(threads) > SHOWN else ""
    return f"thread{'s' if len(threads) > 1 else ''} {shown}{more}"
