"""The one launcher of all kernels, from Python to the driver.

launcher.c, launcher.ll   the launcher, and its LLVM IR
image         its machine code in this process            native       machine code as builtins of Python
state         the launcher of a kernel                    environment  what there is once for a driver
outcomes      the outcomes of launches                    subscript    ``kernel[...]``, found again
watching      changes of globals
asked         a launch in the user's words, checked, and its facts for the launcher
"""
