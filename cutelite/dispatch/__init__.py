"""`@kernel`: argument types -> specialisation -> compiled kernel -> launch, on a GPU or in the simulator."""

from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.compiled import Compiled
from cutelite.dispatch.kernel import Kernel, kernel
from cutelite.dispatch.launch import Launch, LaunchError

__all__ = ["ArgumentError", "Compiled", "Kernel", "Launch", "LaunchError", "kernel"]
