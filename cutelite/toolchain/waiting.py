"""ptxas, started while its PTX is still being made.

Of the 12 ms that it takes for an empty kernel, ptxas spends 10 before it opens its source
(docs/lab/compile-time.md). So it is started when a compile begins, with a named pipe as its source, and waits where it
opens that. ptxas opens its source once more later on: by then a file has the pipe's name.

This is only a head start: where anything is not as expected, `assemble` returns None, and ptxas is run as if none had
been started.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Mapping

from cutelite.toolchain.running import Program, Ran

PATIENCE_S = 1.0  # a program that has not opened its source by then is no ptxas that we know
_PIPE_BYTES = 65536  # what a pipe takes at once, unless it is told to take more
_open: set[Waiting] = set()  # those whose pipe this process holds open


class Waiting:
    """A ptxas that waits for its source.

    command  its command
    source   the file that the command names as its source, which is not there yet
    """

    def __init__(self, command: list[str], source: str, environment: Mapping[str, str]) -> None:
        self.command, self.source = command, source
        os.mkfifo(source, 0o600)
        reader = os.open(source, os.O_RDONLY | os.O_NONBLOCK)  # for without one, a pipe cannot be opened to be written
        self._pipe = os.open(source, os.O_WRONLY | os.O_NONBLOCK)  # held open: if this process dies, ptxas ends too
        _open.add(self)
        os.close(reader)
        try:
            self._program = Program(command, environment)
        except BaseException:
            self._close()
            raise

    def assemble(self, ptx: str, meanwhile: Callable[[], None] | None = None) -> Ran | None:
        """Let it assemble `ptx`; None if it did not take that, or refused it. `meanwhile` is called while it runs."""
        if not self._reads() or not self._give(ptx.encode()):
            return None
        ran = self._program.finish(meanwhile)
        return None if ran.status else ran

    def _reads(self) -> bool:
        """Wait until the program has opened the pipe. Return False if it does not."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and not self._program.ended():
            try:
                os.close(os.open(self.source, os.O_WRONLY | os.O_NONBLOCK))
                return True
            except OSError as error:
                if error.errno != errno.ENXIO:  # which says that nobody reads it yet
                    raise
            time.sleep(0.0002)
        return False

    def _give(self, ptx: bytes) -> bool:
        """Pass on the source. Return False if the program does not take it, all at once."""
        try:
            if len(ptx) > _PIPE_BYTES:
                import fcntl  # imported here: few sources are that long

                fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, len(ptx))
            with open(f"{self.source}.again", "wb") as file:
                file.write(ptx)
            os.rename(file.name, self.source)
            return os.write(self._pipe, ptx) == len(ptx)
        except OSError:  # the program has closed it, or a pipe may not be that large
            return False
        finally:
            self._close()

    def _close(self) -> None:
        """Close the pipe, unless it is closed: its number may by now be that of another thread's file."""
        if self in _open:
            _open.remove(self)
            os.close(self._pipe)

    def stop(self) -> None:
        """End it, unless it has ended."""
        self._close()
        self._program.stop()


def _forget() -> None:
    """Close the pipes in a forked process, where they would keep ptxas from the end of its source."""
    for each in list(_open):
        each._close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
