"""Running a program to its end, as `subprocess.run` does but without the 10 ms that its import takes."""

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
    variables = config.of_programs(environment)
    if not hasattr(os, "posix_spawn"):
        import subprocess

        done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL, env=variables)
        return Ran(done.returncode, (done.stdout + done.stderr).decode(errors="replace"))
    read, write = os.pipe()
    try:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, write, 1),
            (os.POSIX_SPAWN_DUP2, write, 2),
        ]
        child = os.posix_spawn(command[0], command, variables, file_actions=actions)
    except BaseException:
        os.close(read)
        raise
    finally:
        os.close(write)
    try:
        with open(read, "rb") as pipe:
            if meanwhile is not None:
                meanwhile()
            said = pipe.read()
    except BaseException:  # Ctrl-C
        os.kill(child, 9)
        os.waitpid(child, 0)
        raise
    return Ran(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said.decode(errors="replace"))
