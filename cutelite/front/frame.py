"""One function being evaluated: executes its instructions on compile-time objects and run-time proxies.

Operations are Python's own: `operator.add` on two ints is executed, on a proxy it emits an op. Only what
Python cannot delegate to objects is done here and in the modules that register handlers with `handles`:

    names       locals, globals, cells, functions, attributes, imports
    operators   operators and comparisons whose meaning differs from Python's
    containers  collections, unpacking, text
    branches    truth, jumps, loops, how a function ends
    patterns    `match`
    calls       calls, executed by Python or by another frame
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutelite.diag import CompileError, InternalError, Span
from cutelite.front import loops
from cutelite.front.cfg import Block, Cfg, Loop
from cutelite.front.closure import Cell
from cutelite.front.evaluation import Evaluation
from cutelite.front.instructions import Bytecode, Instr, stack_effect
from cutelite.front.mutation import CONTAINERS, is_array
from cutelite.front.regions import Regions, Returned
from cutelite.front.state import Conflict, Share, State
from cutelite.ir.function import Value
from cutelite.lang.emit import mistake


class DeadEnd(Exception):
    """Raised where no thread gets past an instruction."""


Handler = Callable[["Frame", State, Instr], bool | None]
"""Executes one instruction, and returns True if the block ends."""

HANDLERS: dict[str, Handler] = {}


def handles(*ops: str) -> Callable[[Handler], Handler]:
    """Decorate a function that executes the instructions of these names."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(ops, handler))
        return handler

    return register


class Frame:
    """The evaluation of one call of one function."""

    def __init__(
        self,
        evaluation: Evaluation,
        code: Bytecode,
        cfg: Cfg,
        globals: dict[str, Any],
        cells: dict[str, Any],
        call: Span | None,
        key: Any,
    ) -> None:
        self.evaluation, self.code, self.cfg = evaluation, code, cfg
        self.globals, self.call = globals, call
        self.cells = cells  # the free variables: Python's cells, or those of frames around
        self.own: dict[str, Cell] = {}  # those that nested functions share
        self.builder = evaluation.builder
        self.key = key  # the chain of calls that led here; it tells loops apart in the evaluation's memory
        self.state: State | None = None  # of the block being executed
        self.block = cfg.blocks[0]
        self.instr: Instr | None = None
        self.caller: Frame | None = None  # the frame whose instruction is executed by this one
        self.held: list[Any] = []  # the stack before the instruction being executed, and results of its calls
        self.calls = 0  # made by the instruction being executed
        self.start: Share = 0
        self.certain_failure = -1  # the block of a failure that happens whenever a thread comes to it
        self.yielded: list[Any] | None = [] if code.is_genexpr else None
        self.regions = Regions(cfg, self.builder, self, evaluation.memory, key, evaluation.mutables)
        self._only_span = code.span.inlined_to(call)
        self._spans = evaluation.spans_of(code, call) if self._only_span is None else {}

    def run(self, bound: dict[str, Any], share: Share, facts: dict[Value, bool]) -> list[Returned]:
        """Evaluate with these arguments from the builder's block on, and return every way in which it returns."""
        where = dict.fromkeys(bound, self.call) if self.call else {}
        self.start = share
        if self.evaluation.variables:
            from cutelite.front.variables import keep_parameters  # which few compiles need

            keep_parameters(self.builder, self.code, bound, self.call)
        return self.regions.run(State(dict(bound), [], where, self.builder.block, share, facts))

    def run_block(self, block: Block, state: State) -> None:
        evaluation, builder, spans, only = self.evaluation, self.builder, self._spans, self._only_span
        outer, caller = (self.state, self.block, self.instr), evaluation.frame
        self.state, self.block, evaluation.frame, self.caller = state, block, self, caller
        builder.block = state.block
        try:
            doubtful = Conflict in map(type, state.stack)
            for instr in self.code.instrs[block.start : block.stop]:
                builder.span = only or spans.get(instr.offset) or self.span_of(instr)
                self.instr, self.calls, self.held = instr, 0, list(state.stack)
                if doubtful:
                    self._check_operands(instr, state)
                left = HANDLERS[instr.op](self, state, instr)
                if evaluation.mutables.acting:
                    evaluation.mutables.compare(state.share)
                if left:
                    return
            self.regions.edge(block.successors[0], state)
        except DeadEnd:
            return
        except CompileError as error:
            raise error.at(builder.span) from error.__cause__
        finally:
            (self.state, self.block, self.instr), evaluation.frame = outer, caller

    def run_loop(self, loop: Loop, entry: State) -> None:
        loops.execute(self.regions, loop, entry)

    def _check_operands(self, instr: Instr, state: State) -> None:
        """Refuse to use an operand that depends on the path; it may be given a name or dropped."""
        if instr.op in ("POP", "STORE", "STORE_CELL", "SWAP", "COPY", "RETURN", "FOR_ITER"):
            return
        taken = stack_effect(instr.op, instr.arg)[0]
        for x in state.stack[len(state.stack) - taken :]:
            if isinstance(x, Conflict):
                raise x.error("this expression", self.builder.span)

    def span_of(self, instr: Instr) -> Span:
        span = self._only_span or self._spans.get(instr.offset)
        if span is None:
            span = self._spans[instr.offset] = instr.span.inlined_at(self.call)
        return span

    @property
    def share(self) -> Share:
        """The share of the threads that execute this."""
        assert self.state is not None
        return self.state.share

    def made(self, obj: Any) -> Any:
        """Return `obj`. If it is a container, or an array that is no view, it is the kernel's own from here on."""
        own = isinstance(obj, CONTAINERS) or (is_array(obj) and obj.base is None)
        return self.evaluation.mutables.made(obj, self.share) if own else obj

    def site(self) -> Any:
        """Return a key of the call that is about to be made, which no other call in this kernel has."""
        assert self.instr is not None
        self.calls += 1
        return (self.key, self.instr.offset, self.calls, self.regions.iteration)

    def native(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Let Python execute a function; what it raises becomes an error at the user's line."""
        try:
            return function(*args, **kwargs)
        except CompileError as error:
            raise self.evaluation.of_arguments(error, function, args, kwargs) from error.__cause__
        except (InternalError, DeadEnd):
            raise
        except RecursionError as error:
            raise mistake("recursion", "compile-time recursion is too deep") from error
        except Exception as error:
            raise self.evaluation.python_error(error, function, args, kwargs) from error
