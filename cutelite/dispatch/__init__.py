"""`@kernel`: argument types -> specialisation -> compiled kernel -> launch, on a GPU or in the simulator.

kernel.py       `@kernel`, launching and compiling: the room from above
launch.py       what a launch says besides its arguments             device.py       where it goes
signature.py    a call's arguments, one for each parameter           arguments.py    what they have told so far
arrays.py       which arrays fit a parameter                         parameters.py   which other values do
specialise.py   compiled for what: in memory, on disk, or now        compiled.py     what comes of it
fingerprint.py  what a kernel's code depends on                      launcher.py     launches as machine code:
compiling.py    who hears of a compile, and whether it may be   dynamo.py        what torch.compile leaves alone
divert.py       launches that do something else instead              contract.py      the signature as data, for it
slots.py        which of the kernel's parameters a launcher has
export.py       a kernel and its signatures as a file                export_host.py  its launcher, to go with it
"""

from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.compiled import Compiled
from cutelite.dispatch.compiling import CompileEvent, CompileForbidden, off_compile, on_compile
from cutelite.dispatch.kernel import BoundKernel, Kernel, kernel
from cutelite.dispatch.launch import Launch, LaunchError
from cutelite.options import OptionError

__all__ = ["ArgumentError", "BoundKernel", "CompileEvent", "CompileForbidden", "Compiled", "Kernel", "Launch",
           "LaunchError", "OptionError", "kernel", "off_compile", "on_compile"]  # fmt: skip
