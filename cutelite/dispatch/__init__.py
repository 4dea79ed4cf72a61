"""`@kernel`: argument types -> specialisation -> compiled kernel -> launch, on a GPU or in the simulator.

kernel.py       launching and compiling: read it first               decorator.py    `@kernel`
simulating.py   launches in the simulator                            mistakes.py     tracebacks of users' mistakes
launch.py       grid, block and other settings of a launch           device.py       the GPU or simulator it goes to
signature.py    a call's arguments, one for each parameter           arguments.py    facts that choose a specialisation
parameter.py    a class for each kind of parameter                   arrays.py       arrays and addresses
scalars.py      numbers and compile-time constants                   several.py      structs, tuples, what may be None
contract.py     layouts and dims as data, for the runtime            specialise.py   specialisations, kept and on disk
compiled.py     the result of a compile                              compiling.py    listeners, and the off switch
fingerprint.py  what a kernel's code depends on                      purity.py       modules that only compute
asking.py       what a kernel would know of functions, uncompiled
launcher.py     launches by machine code, after the first eight      building.py     builds that launcher
export.py       a kernel, its signatures and launcher as a file      export_program.py  programs as C
checking.py     checks and timelines of launches                     dynamo.py       keeps torch.compile out of launches
programs.py     host functions whose launches go out together        divert.py       functions in place of launches
pointers.py     arrays of addresses of arrays                        ranges.py       ranges around launches
device_functions.py   functions that other compilers' kernels link    replay.py   whether planned calls may be repeated
profiling.py    profiles of a launch on a GPU                        against.py      a GPU against the simulator
mirrors.py      host copies of GPU arrays for the simulator          records.py      that comparison, op by op
comparing.py    launches on both, compared                            nested.py      arguments of programs, taken apart

`cutelite_rt.signature.kinds` checks arguments, and words the errors: docs/how-a-launch-happens.md.
"""

from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.compiled import Compiled
from cutelite.dispatch.compiling import CompileEvent, CompileForbidden, off_compile, on_compile
from cutelite.dispatch.decorator import kernel
from cutelite.dispatch.kernel import BoundKernel, Kernel
from cutelite.dispatch.launch import Launch, LaunchError
from cutelite.options import OptionError

__all__ = ["ArgumentError", "BoundKernel", "CompileEvent", "CompileForbidden", "Compiled", "Kernel", "Launch",
           "LaunchError", "OptionError", "kernel", "off_compile", "on_compile"]  # fmt: skip
