"""`@kernel`: argument types -> specialisation -> compiled kernel -> launch, on a GPU or in the simulator.

kernel.py       `@kernel`, launching and compiling: the room from above
launch.py       what a launch says besides its arguments             device.py       where it goes
signature.py    a call's arguments, one for each parameter           arguments.py    what decides about specialisation
parameter.py    a class for each kind of parameter                   arrays.py       arrays and addresses
scalars.py      numbers and compile-time constants                   several.py      structs, tuples, what may be None
contract.py     layouts and dims as data, for the runtime            specialise.py   compiled for what, and kept where
compiled.py     what comes of a compile                              compiling.py    who hears of it, and may forbid it
fingerprint.py  what a kernel's code depends on                      purity.py       modules that only compute
launcher.py     launches by machine code, once there are many        building.py     the making of that launcher
export.py       a kernel, its signatures and launcher as a file      export_program.py  programs as C
checking.py     checks and timelines of launches                     dynamo.py       torch.compile, which sees no launch
programs.py     host functions whose launches go out together        divert.py       launches that do something else
pointers.py     arrays of addresses of arrays                        ranges.py       ranges around launches
device_functions.py   functions that kernels of other compilers link
profiling.py    profiles of a launch on a GPU                        against.py      a GPU against the simulator
mirrors.py      arrays on a GPU as the simulator takes them          records.py       the same op by op

`cutelite_rt.signature.kinds` checks arguments, and has the words for what does not fit: docs/how-a-launch-happens.md.
"""

from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.compiled import Compiled
from cutelite.dispatch.compiling import CompileEvent, CompileForbidden, off_compile, on_compile
from cutelite.dispatch.kernel import BoundKernel, Kernel, kernel
from cutelite.dispatch.launch import Launch, LaunchError
from cutelite.options import OptionError

__all__ = ["ArgumentError", "BoundKernel", "CompileEvent", "CompileForbidden", "Compiled", "Kernel", "Launch",
           "LaunchError", "OptionError", "kernel", "off_compile", "on_compile"]  # fmt: skip
