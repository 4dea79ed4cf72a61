"""The smallest kernel that still goes wrong: statements are left out, and expressions made of fewer operations.

python -m tests.fuzz.reduce 1710 2503 --gpu --jobs 14
"""

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from multiprocessing import get_context
from typing import Any

from tests.fuzz.cases import Way, wrongs
from tests.fuzz.program import Call, Expression, Leaf, Program, inputs_of, written

MOST = 400  # kernels tried for one


def smallest(program: Program, wrong: Callable[[Program], bool]) -> Program:
    """The program, cut as long as some cut leaves it wrong."""
    tried = 0
    shrinking = True
    while shrinking:
        shrinking = False
        for cut in smaller(program):
            tried += 1
            if tried > MOST:
                return program
            if wrong(cut):
                program, shrinking = cut, True
                break
    return program


def smaller(program: Program) -> Iterator[Program]:
    for body in shorter(program.body):
        yield replace(program, body=body)


def shorter(body: list[Any]) -> Iterator[list[Any]]:
    """A list of statements with one thing less, larger things first."""
    for i in range(len(body)):
        yield [*body[:i], *body[i + 1 :]]
    for i, statement in enumerate(body):
        for inside in nested(statement):
            yield [*body[:i], *inside, *body[i + 1 :]]
        for less in less_of(statement):
            yield [*body[:i], less, *body[i + 1 :]]


def nested(statement: Any) -> Iterator[list[Any]]:
    """Return the bodies that can stand in the place of an `if` (not of a loop, which its body may name)."""
    if hasattr(statement, "then"):
        yield statement.then
        yield statement.other


def less_of(statement: Any) -> Iterator[Any]:
    for field in fields(statement):
        held = getattr(statement, field.name)
        if isinstance(held, list):
            for body in shorter(held):
                if body:
                    yield replace(statement, **{field.name: body})
        elif isinstance(held, Call):
            for expression in simpler(held):
                if field.name != "call" or (isinstance(expression, Call) and expression.operation is held.operation):
                    yield replace(statement, **{field.name: expression})


def simpler(e: Expression) -> Iterator[Expression]:
    """Operands of the same type in place of the whole; then the same of each operand."""
    if isinstance(e, Leaf):
        return
    yield from (operand for operand in e.operands if operand.type == e.type)
    for i, operand in enumerate(e.operands):
        for less in simpler(operand):
            yield replace(e, operands=(*e.operands[:i], less, *e.operands[i + 1 :]))


def reduced(seed: int, way: Way) -> str:
    """The smallest kernel of a seed, and what goes wrong with it."""
    program = way.program(seed)
    inputs, by = inputs_of(program, seed), way.runners(seed)

    def found(p: Program) -> list[str]:
        return wrongs(p, inputs, seed, by)

    small = smallest(program, lambda p: bool(found(p)))
    types = ", ".join(f"{v}: {t}" for v, t in small.types.items())
    return "\n".join([f"--- seed {seed}    {types}", *written(small.body), *(text[-300:] for text in found(small))])


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.fuzz.reduce", description="Make the kernels of seeds small.")
    parser.add_argument("seeds", nargs="+", type=int)
    parser.add_argument("--gpu", action="store_true", help="on the GPU alone")
    parser.add_argument("--straight", action="store_true", help="the seeds are of kernels without control flow")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    way = Way(given.straight, simulator=not given.gpu, gpu=given.gpu)
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        for text in pool.map(reduced, given.seeds, [way] * len(given.seeds)):
            print(text, flush=True)


if __name__ == "__main__":
    main()
