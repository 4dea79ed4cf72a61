"""Python function -> typed SSA: a partial evaluator over bytecode.

types       what a kernel's parameters can be
build       starts the evaluation of a kernel; read this first
bytecode    code object -> instructions with spans, the same for every Python version
cfg         instructions -> basic blocks, loops, what is live where
state       where the evaluation stands on one path: locals, stack, which threads come there
regions     in which order blocks are executed, and how often: branches, unrolled loops, loops on the GPU
merge       what several paths computed becomes one state where they meet
tree        structures that hold run-time values, taken apart and put together
frame       one function being evaluated; `names`, `operators`, `containers`, `branches`, `patterns` and `calls`
            hold what its instructions do
closure     functions made inside kernels
builtins    Python's builtins on run-time values; `iterators` and `strings` hold ranges and texts
mutation    which compile-time objects a kernel may change
evaluation  what the frames of one kernel share, and how mistakes are told
"""
