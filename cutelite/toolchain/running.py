"""Running a program to its end, as `subprocess` does but without the 10 ms that its import takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from cutelite import config
from cutelite.tuples import NamedTuple


class Ran(NamedTuple):
    """The result of running a program: its exit status, or minus the signal that ended it; and all that it printed."""

    status: int
    said: str


def run(
    command: list[str], environment: Mapping[str, str] | None = None, meanwhile: Callable[[], None] | None = None
) -> Ran:
    """Run a program without input, by its path, and return what it printed to both streams. Errors: OSError.

    environment  variables to set for the program, unless this process has them already
    meanwhile    called while the program runs, if the platform has posix_spawn; it must not raise
    """
    if hasattr(os, "posix_spawn"):
        return Program(command, environment).finish(meanwhile)
    import subprocess

    variables = config.of_programs(environment)
    done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL, env=variables)
    return Ran(done.returncode, (done.stdout + done.stderr).decode(errors="replace"))


_LOST = 1 << 8  # the status of exit(1), where nobody knows it


class Program:
    """A program that runs, on a platform with posix_spawn; whoever starts one calls `finish` or `stop`.

    command, environment  as for `run`
    """

    def __init__(self, command: list[str], environment: Mapping[str, str] | None = None) -> None:
        self._printed, write = os.pipe()
        self._status: int | None = None
        try:
            actions = [
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, write, 1),
                (os.POSIX_SPAWN_DUP2, write, 2),
            ]
            variables = config.of_programs(environment)
            self._child = os.posix_spawn(command[0], command, variables, file_actions=actions)
        except BaseException:
            os.close(self._printed)
            raise
        finally:
            os.close(write)

    def ended(self) -> bool:
        """Tell whether the program has ended by itself."""
        self._wait(os.WNOHANG)
        return self._status is not None

    def finish(self, meanwhile: Callable[[], None] | None = None) -> Ran:
        """Wait until the program ends. `meanwhile` as for `run`."""
        try:
            with open(self._printed, "rb", closefd=False) as pipe:
                if meanwhile is not None:
                    meanwhile()
                said = pipe.read()
            self._wait()
        finally:  # also on Ctrl-C
            self.stop()
        assert self._status is not None
        return Ran(os.waitstatus_to_exitcode(self._status), said.decode(errors="replace"))

    def stop(self) -> None:
        """End the program, unless it has ended."""
        if not self.ended():
            os.kill(self._child, 9)
            self._wait()
        if self._printed >= 0:
            os.close(self._printed)
            self._printed = -1

    def _wait(self, options: int = 0) -> None:
        """Take the program's status once it has ended; with WNOHANG, if it has."""
        if self._status is not None:
            return
        try:
            child, status = os.waitpid(self._child, options)
        except ChildProcessError:  # an exception of a signal came between the system's answer and its being kept
            child, status = self._child, _LOST
        if child:
            self._status = status
