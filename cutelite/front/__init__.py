"""Python function -> typed SSA: a partial evaluator over bytecode.

types       what a kernel's parameters can be
build       starts the evaluation of a kernel; read this first
bytecode    code object -> instructions with spans, the same for every Python version
instructions  what these instructions are, and what they do to the stack
slots       drops what lies on CPython's stack and is no value
cfg         instructions -> basic blocks, loops, what is live where
state       one path through a function: locals, stack, the threads that come there
regions     the walk over a function's blocks
loops       how often the blocks of a loop are executed: unrolled, on trial, or a loop on the GPU
merge       the states of several paths, made into one where the paths meet
tree        structures that hold run-time values, taken apart and put together
frame       one function being evaluated; `names`, `operators`, `containers`, `branches`, `patterns` and `calls`
            hold what its instructions do
variables   the user's variables, kept for debuggers
closure     functions made inside kernels
builtins    Python's builtins on run-time values; `iterators` and `strings` hold ranges and texts
mutation    which compile-time objects a kernel may change
reach       what the rest of a kernel may still read
evaluation  the state that the frames of one kernel share, and errors that Python raised
unready     objects that are no values yet, such as `cl.thread_idx` without `.x`
"""
