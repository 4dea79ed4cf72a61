"""The objects that the rest of a kernel may still read.

In    the frame that executes an instruction, and objects
Out   whether a variable that is live, an operand, or anything that these hold leads to one of the objects
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

from cutelite.front.closure import Cell, Closure
from cutelite.front.mutation import is_array
from cutelite.ir.builder import Builder
from cutelite.lang.emit import Runtime


def reaches(frame: Any, sought: Sequence[Any]) -> bool:
    """Tell whether the instruction that `frame` executes, or any after it, may read one of these objects."""
    if frame is None:
        return True
    wanted, seen, pending = {id(x) for x in sought}, dict[int, Any](), list(_roots(frame))
    apart = type(frame), type(frame.evaluation), Builder, Runtime, type, ModuleType, CodeType
    while pending:
        x = pending.pop()
        if id(x) in wanted:
            return True
        if id(x) in seen or isinstance(x, apart):
            continue
        seen[id(x)] = x  # which keeps it alive, so that its id stays its own
        if isinstance(x, FunctionType):
            pending += [x.__closure__, x.__defaults__, x.__kwdefaults__, vars(x)]
        elif isinstance(x, Closure):
            pending += [x.cells, x.defaults, x.kwdefaults, vars(x)]
        elif isinstance(x, Cell):
            pending.append(x.get())
        elif is_array(x) and x.dtype.hasobject:  # whose items Python's collector does not see
            pending += x.ravel().tolist()
        else:
            pending += gc.get_referents(x)
    return False


def _roots(frame: Any) -> Iterator[Any]:
    """Yield what the frame and its callers hold, each at the instruction that it executes."""
    while frame is not None:
        state, instrs = frame.state, frame.cfg.instrs(frame.block)
        at = next((i for i, instr in enumerate(instrs) if instr is frame.instr), -1)
        live, written = set(frame.own), set[str]()
        for op, name, _, _ in instrs[at + 1 :]:
            if op in ("LOAD", "LOAD_CELL", "DELETE") and name not in written:
                live.add(name)
            elif op == "STORE":
                written.add(name)
        for way in frame.block.successors:
            live |= frame.cfg.live_in[way] - written
        yield from (state.locals[name] for name in live if name in state.locals)
        yield from (state.stack, frame.held, frame.yielded, frame.cells, frame.own)
        frame = frame.caller
