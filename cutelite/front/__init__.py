"""Python function -> typed SSA: a partial evaluator over bytecode.

`bytecode` and `cfg` read the function; `build` starts the evaluation of a kernel; `frame` executes the
instructions of one function, `regions` decides in which order blocks are executed and how often (branches,
unrolled and run-time loops); `merge` joins what different paths computed; `calls` and `builtins` inline calls.
"""
