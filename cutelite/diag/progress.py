"""Progress of long work: one line on the terminal, overwritten at each step; nothing if stderr is no terminal.

with Progress("tuning gemm", total=40) as progress:
    for config in configs:
        ...
        progress.step()
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TextIO

PATIENCE_S = 2.0
"""Work shorter than this shows nothing."""
INTERVAL_S = 0.2

_shown = threading.Lock()  # one line at a time: work inside of other work shows nothing


class Progress:
    """The progress of one piece of work. Any number of threads may take steps.

    what   the work, in a word or two
    total  number of steps; None if it is unknown
    """

    def __init__(self, what: str, total: int | None = None, stream: TextIO | None = None) -> None:
        self.what, self.total = what, total
        self.stream = sys.stderr if stream is None else stream
        self.done = 0
        self._lock = threading.Lock()
        self._mine = False
        self._width = 0

    def __enter__(self) -> Progress:
        self._mine = self.stream.isatty() and _shown.acquire(blocking=False)
        self._began = time.monotonic()
        self._next = self._began + PATIENCE_S
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._mine:
            self._mine = False
            if self._width:
                self._write("")
            _shown.release()

    def step(self, count: int = 1, note: str = "") -> None:
        """Count `count` more steps as done; `note` is shown at the end of the line."""
        with self._lock:
            self.done += count
            now = time.monotonic()
            if self._mine and now >= self._next:
                self._next = now + INTERVAL_S
                self._write(self._text(now - self._began, note))

    def at(self, done: int, total: int) -> None:
        """Set the number of steps done, and of steps known so far."""
        self.total = total
        self.step(done - self.done)

    def _text(self, seconds: float, note: str) -> str:
        of = "" if self.total is None else f" of {self.total}"
        left = ""
        if self.total and self.done:
            left = f", {seconds / self.done * max(0, self.total - self.done):.0f} s left"
        return f"{self.what}: {self.done}{of} after {seconds:.0f} s{left}{f', {note}' if note else ''}"

    def _write(self, text: str) -> None:
        self.stream.write("\r" + text.ljust(self._width) + ("" if text else "\r"))
        self.stream.flush()
        self._width = len(text)
