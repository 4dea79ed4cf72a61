"""The verifier: the rules that every pass may rely on. Run after the frontend and between passes."""

from __future__ import annotations

from cutelite.diag import InternalError
from cutelite.ir.function import Block, Function, Interval, Value, dominated, dominates, reverse_postorder
from cutelite.ir.op import Op


def verify(function: Function, stage: str = "") -> None:
    """Raise `InternalError`, with the op at fault marked, unless `function` is well-formed.

    Blocks end in exactly one terminator; jumps pass what their block takes; every use is dominated by its
    definition; every op's own rules hold, and its results have the types that it declares.
    """
    known = set(map(id, function.blocks))
    for block in function.blocks:
        _check_shape(function, block, known, stage)
    order = reverse_postorder(function.entry)
    within = dominated(order)
    defined = dict.fromkeys(function.dims.values(), within[order[0]])  # the block interval of each value defined so far
    for block in order:
        here = within[block]
        defined.update(dict.fromkeys(block.params, here))
        for op in block.ops:
            _check_op(function, op, defined, here, stage)
            for value in op.results:
                defined[value] = here


def _check_shape(function: Function, block: Block, known: set[int], stage: str) -> None:
    if block.terminator is None:
        text = f"block {block.label!r} of {function.name} has no terminator"
        raise InternalError(text, stage=stage, ir=str(function))
    for op in block.ops[:-1]:
        if op.terminator:
            raise _broken(function, op, "a terminator in the middle of a block", stage)
    for jump in block.ops[-1].jumps:
        if id(jump.block) not in known:
            raise _broken(function, block.ops[-1], "a jump leaves the function", stage)
        if jump.block is function.entry:
            raise _broken(function, block.ops[-1], "a jump to the entry block", stage)
        passed, taken = [v.type for v in jump.args], [v.type for v in jump.block.params]
        if passed != taken:
            raise _broken(function, block.ops[-1], f"a jump passes {passed} to a block that takes {taken}", stage)


def _check_op(function: Function, op: Op, defined: dict[Value, Interval], here: Interval, stage: str) -> None:
    for value in op.operands:
        known = defined.get(value)
        if known is not here and (known is None or not dominates(known, here)):
            raise _broken(function, op, f"{value!r} is used where it is not defined", stage)
    for problem in op.problems():
        raise _broken(function, op, f"{problem.field}: {problem.message}", stage)
    expected, actual = op.result_types(), tuple([value.type for value in op.results])
    if expected != actual:
        raise _broken(function, op, f"its results are {actual}, not {expected}", stage)


def _broken(function: Function, op: Op, message: str, stage: str) -> InternalError:
    """Return the error that shows `op` among its neighbours."""
    text = function.text()
    return InternalError(message, stage=stage, op=text.op(op), ir=str(text), span=op.span)
