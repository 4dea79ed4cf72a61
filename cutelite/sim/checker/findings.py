"""Findings of a check: both sides of a conflict, the place, the threads, and the seed that reproduces it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cutelite.diag import Mistake, Note, Span, render
from cutelite.records import dataclass
from cutelite.sim.error import Place, SimError, threads_text

Thread = tuple[tuple[int, int, int], tuple[int, int, int]]
"""blockIdx and threadIdx."""


@dataclass(frozen=True)
class Side:
    """One of the two accesses of a conflict.

    what     its kind for the text: 'write', 'asynchronous read', ...
    op       the name of the operation; `span` is its line
    threads  the threads that executed it, or started it if it is asynchronous
    """

    what: str
    op: str
    span: Span | None
    threads: tuple[Thread, ...] = ()

    def who(self) -> str:
        """Describe the threads: 'block (0, 0, 0), threads (0, 0, 0), (1, 0, 0) and 30 more'."""
        if not self.threads:
            return ""
        return f"block {self.threads[0][0]}, {threads_text([thread for _, thread in self.threads])}"


@dataclass(frozen=True)
class Finding:
    """One mistake of a kernel; ``str(finding)`` is the whole report.

    kind      the kind, as in ``error[race]``: see docs/checking.md
    message   the mistake in one line
    sides     the access at which it was found, then the access that it conflicts with, if there is one
    space     'smem', 'cluster', 'gmem', 'rmem'; '' where it is not about memory
    bytes     first and last byte in conflict, counted from the start of `name`; None where it is not about memory
    name      the name of the tensor or argument
    seed      the schedule that reproduces it
    kernel    the kernel's name
    severity  'error', or 'note' for something that costs time but is not wrong
    label     the text under the caret; `help`: what to do; `notes`: further lines
    """

    kind: str
    message: str
    sides: tuple[Side, ...] = ()
    space: str = ""
    bytes: tuple[int, int] | None = None
    name: str = ""
    seed: int = 0
    kernel: str = ""
    severity: str = "error"
    label: str = ""
    help: str = ""
    notes: tuple[Note, ...] = ()

    @property
    def span(self) -> Span | None:
        """The line at which it was found."""
        return self.sides[0].span if self.sides else None

    @property
    def other(self) -> Span | None:
        """The line of the other side."""
        return self.sides[1].span if len(self.sides) > 1 else None

    @property
    def threads(self) -> tuple[Thread, ...]:
        """The threads of both sides; first those of the access at which it was found."""
        return tuple(thread for side in self.sides for thread in side.threads)

    @property
    def lines(self) -> tuple[int, ...]:
        """Line numbers of the sides and of the notes, for tools."""
        spans = [side.span for side in self.sides] + [note.span for note in self.notes]
        return tuple(span.line for span in spans if span is not None)

    def __str__(self) -> str:
        return self.render()

    def render(self, *, color: bool = False) -> str:
        """Return the text: the line, the other line, the threads and the place."""
        mistake = Mistake(self.kind, self.message, self.label, self.help, severity=self.severity)
        return render(mistake, self.span, self._facts(), color=color)

    def _facts(self) -> Iterator[Note]:
        for i, side in enumerate(self.sides):
            if i:
                yield Note(
                    f"the {side.what}, by {side.op}" if side.span else f"the {side.what} by {side.op}", side.span
                )
        for side in self.sides:
            if side.threads:
                yield Note(f"{side.what}: {side.who()}" if side.what else f"in kernel `{self.kernel}`, {side.who()}")
        if self.bytes is not None:
            first, last = self.bytes
            span = f"byte {first}" if first == last else f"bytes {first} to {last}"
            yield Note(f"{span} of `{self.name}` in {self.space}" if self.name else f"{span} of {self.space}")
        yield from self.notes
        if self.severity == "error":
            yield Note(f"schedule of seed {self.seed}")


def of_error(error: SimError, more: Iterable[Note]) -> Finding:
    """Return an error that ended a simulation as a finding, with further notes."""
    threads = tuple((error.block, thread) for thread in error.threads) if error.block is not None else ()
    side = Side("", error.op.name if error.op is not None else "", error.span, threads)
    place: Place = error.place or Place("", 0)
    help = error.mistake.help if isinstance(error.mistake.help, str) else " ".join(error.mistake.help)
    return Finding(
        error.code, error.mistake.title, (side,), place.space, (place.offset, place.offset) if place.name else None,
        place.name, error.seed, error.kernel, label=error.mistake.label, help=help, notes=(*error.notes, *more),
    )  # fmt: skip


@dataclass(frozen=True)
class CheckReport:
    """The result of a check; true where nothing is wrong.

    findings  mistakes in the order in which they were found; each pair of lines once for a tensor
    notes     costs of time: bank conflicts, uncoalesced accesses; other arguments than `ordered` ones whose contents
              depend on the schedule
    seeds     the schedules that were run: all of them, even after a finding that ended one
    blocks    how many blocks each schedule checked, and how many the grid has
    ops       ops executed in all schedules; an op counts once for all threads that execute it together
    seconds   how long the check took
    error     the first error that ended a schedule; None without one
    """

    kernel: str
    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...] = ()
    seeds: tuple[int, ...] = ()
    blocks: tuple[int, int] = (0, 0)
    ops: int = 0
    seconds: float = 0.0
    error: SimError | None = None

    def __bool__(self) -> bool:
        return not self.findings

    @property
    def kinds(self) -> set[str]:
        """Return the kinds of the findings."""
        return {finding.kind for finding in self.findings}

    def summary(self) -> str:
        """Return a summary: 'gemm: nothing found under 4 schedules of 4 blocks (1.2 s)'."""
        found = f"{len(self.findings)} found" if self.findings else "nothing found"
        some = f"{self.blocks[0]} of {self.blocks[1]} blocks" if self.blocks[0] < self.blocks[1] else "all blocks"
        count = f"{len(self.seeds)} schedule{'s' if len(self.seeds) != 1 else ''}"
        return f"{self.kernel}: {found} under {count} of {some} ({self.seconds:.1f} s)"

    def render(self, *, color: bool = False) -> str:
        """Return the text of all findings and notes, with the summary at the end."""
        found = [finding.render(color=color) for finding in (*self.findings, *self.notes)]
        return "\n\n".join([*found, self.summary()])

    def __str__(self) -> str:
        return self.render()

    def raise_if_wrong(self) -> None:
        """Raise `CheckFailed`, with all findings, if there are any."""
        if self.findings:
            raise CheckFailed(self) from self.error


class CheckFailed(AssertionError):
    """Raised for a check with findings; ``str(error)`` is the report."""

    def __init__(self, report: CheckReport) -> None:
        self.report = report
        super().__init__(report)

    def __str__(self) -> str:
        return self.report.render()
