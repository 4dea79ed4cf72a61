"""The one launcher of all kernels, from Python to the driver.

launcher.c, launcher.ll   the launcher, and its LLVM IR
image         its machine code in this process            native       machine code as builtins of Python
state         the launcher of one kernel                  environment  functions and objects, one set per driver
outcomes      the outcomes of launches                    subscript    a table of results of ``kernel[...]``
watching      changes of globals                  readers      memory that launches still read, without a lock
asked         a launch as users write it, checked, and its facts for the launcher
"""
