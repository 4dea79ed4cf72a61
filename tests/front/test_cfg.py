"""Blocks, loops, liveness and post-dominators, on functions as CPython compiles them.

That blocks lead on as the bytecode does `test_bytecode` shows by evaluating functions; what must be true of every graph
is tested on those of the standard library.
"""

import ast
import glob
import os
import sys
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cutelite.diag import InternalError, Span
from cutelite.front import bytecode
from cutelite.front.cfg import Cfg, build
from cutelite.front.instructions import Instr
from tests.front.test_bytecode import functions_of


def graph_of(function: Any) -> Cfg:
    return build(bytecode.read(function))


# ---------------------------------------------------------------- loops


def test_a_loop_that_never_comes_back_is_none() -> None:
    def f(xs: list[int]) -> int:
        for x in xs:
            return x
        return 0

    graph = graph_of(f)
    assert graph.loops == ()
    assert [i.op for i in graph.instrs(graph.blocks[1])] == ["FOR_ITER"]


def test_endless_loops() -> None:
    def spin() -> None:
        while True:
            pass

    def count(n: int) -> None:
        while True:
            n += 1

    for function in (spin, count):
        graph = graph_of(function)
        (loop,) = graph.loops
        assert loop.exits == ()
        assert loop.header in graph.blocks[loop.header].successors
        assert graph.post_dominators == (None,) * len(graph.blocks)
    assert graph.blocks[0].start == graph.blocks[0].stop  # the loop begins with the function


def test_irreducible_graph_is_a_bug() -> None:
    # Into the middle of a loop: no Python source does this.
    span = Span("<made up>", 1)
    ops = [("LOAD", "a"), ("JUMP_IF_TRUE", 3), ("MAKE_CELL", "a"), ("MAKE_CELL", "b"), ("JUMP", 2)]
    code = bytecode.read(compile("0", "<made up>", "exec"))
    made = code._replace(instrs=tuple(Instr(op, arg, 0, span) for op, arg in ops))
    with pytest.raises(InternalError, match="two entries"):
        build(made)


# ---------------------------------------------------------------- liveness, meeting points, assertions


def test_comprehension_does_not_keep_the_outer_variable_alive() -> None:
    def f(xs: list[int], x: int) -> int:
        ys = [x for x in xs]  # noqa: C416
        for x in ys:
            xs = [x]
        return len(xs)

    assert graph_of(f).live_in[0] == {"xs"}  # not `x`, which the loop binds


def from_source(text: str) -> Cfg:
    """The graph of the function `f` in `text`; pytest rewrites the `assert` statements of this file."""
    space: dict[str, Any] = {}
    exec(compile(text, "<text>", "exec"), space)
    return graph_of(space["f"])


def test_failures_are_marked() -> None:
    graph = from_source("""def f(a):
        assert a > 0, f"{a}"
        assert a < 9
        if a == 5:
            raise ValueError(a)
        assert False, "never"
    """)
    marked = [b for b in graph.blocks if b.is_failure]
    assert [graph.instrs(b)[-1].op for b in marked] == ["RAISE"] * 4
    assert sorted(graph.instrs(b)[-1].span.line for b in marked) == [2, 3, 5, 6]


# ---------------------------------------------------------------- the text


def test_work_grows_as_the_loops_in_a_row() -> None:
    """By the instructions that Python executes."""

    def work(loops: int) -> int:
        code = bytecode.read(compile(LOOPS.format("".join([ONE] * loops)), "f", "exec").co_consts[0])
        count, before = 0, sys.gettrace()

        def trace(frame: Any, event: str, _: Any) -> Any:
            nonlocal count
            frame.f_trace_opcodes = True
            count += event == "opcode"
            return trace

        sys.settrace(trace)
        try:
            build(code)
        finally:
            sys.settrace(before)
        return count

    assert work(60) < 5 * work(15)


LOOPS = "def f(xs, y):\n{}"
ONE = """
    for x in xs:
        if x:
            y = x
            break
"""


def test_text_is_the_same_on_every_version() -> None:
    def saxpy(x: Any, y: Any, n: int) -> int:
        i = 0
        while i < n:
            if x[i]:
                i += 2
                continue
            y[i] = x[i] + y[i]
            i += 1
        return i

    start = saxpy.__code__.co_firstlineno
    text = str(graph_of(saxpy))
    for offset in range(9):
        text = text.replace(f"{start + offset:>6}  ", f"{f'+{offset}':>6}  ")
    assert text.splitlines() == [
        "saxpy(x, y, n)",
        "    0:  live n x y",
        "        +1  CONST 0",
        "            STORE i",
        "            -> 1",
        "    loop 1 to 4; assigns i; exits 1 -> 5",
        "        1:  from 0 3 4; live i n x y; meets at 5",
        "            +2  LOAD i",
        "                LOAD n",
        "                COMPARE <",
        "                true -> 2, else -> 5",
        "        2:  from 1; live i n x y; meets at 1",
        "            +3  LOAD x",
        "                LOAD i",
        "                SUBSCR",
        "                true -> 3, else -> 4",
        "        3:  from 2; live i n x y",
        "            +4  LOAD i",
        "                CONST 2",
        "                BINARY +=",
        "                STORE i",
        "                -> 1",
        "        4:  from 2; live i n x y",
        "            +6  LOAD x",
        "                LOAD i",
        "                SUBSCR",
        "                LOAD y",
        "                LOAD i",
        "                SUBSCR",
        "                BINARY +",
        "                LOAD y",
        "                LOAD i",
        "                STORE_SUBSCR",
        "            +7  LOAD i",
        "                CONST 1",
        "                BINARY +=",
        "                STORE i",
        "                -> 1",
        "    5:  from 1; live i",
        "        +8  LOAD i",
        "            RETURN",
    ]


# ---------------------------------------------------------------- laws over the standard library


def modules() -> Iterator[Path]:
    for path in sorted(glob.glob(os.path.join(os.path.dirname(os.__file__), "*.py")))[::3]:
        yield Path(path)


@pytest.fixture(scope="module")
def library() -> list[Cfg]:
    """The graph of every function of a third of the library's top-level modules."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tops = [compile(path.read_bytes(), str(path), "exec") for path in modules()]
    return [build(bytecode.read(code)) for top in tops for code in functions_of(top)]


def where(graph: Cfg) -> str:
    return f"{graph.code.span.filename}:{graph.code.span.line}"


def test_order_puts_everything_behind_what_leads_to_it(library: list[Cfg]) -> None:
    for graph in library:
        headers = {loop.header: loop for loop in graph.loops}
        assert graph.blocks[0].predecessors == ()
        for at, block in enumerate(graph.blocks):
            assert block.index == at
            assert at == 0 or block.predecessors, where(graph)
            assert all(at in graph.blocks[way].predecessors for way in block.successors)
            for before in block.predecessors:
                assert at in graph.blocks[before].successors
                assert before < at or before in headers[at].blocks, where(graph)


def test_loops_are_entered_at_the_header_and_left_for_good(library: list[Cfg]) -> None:
    for graph in library:
        for loop in graph.loops:
            entered = {b for b in loop.blocks for before in graph.blocks[b].predecessors if before not in loop.blocks}
            assert entered == {loop.header}, where(graph)
            assert loop.back_edges
            outer = [o for o in graph.blocks[loop.header].loops if o is not loop]
            for before, behind in loop.exits:
                assert before in loop.blocks
                assert behind >= loop.blocks.stop or behind in {o.header for o in outer}, where(graph)


def test_loops_lie_within_each_other_and_know_what_they_assign(library: list[Cfg]) -> None:
    deepest = 0
    for graph in library:
        for block in graph.blocks:
            assert block.loops == tuple(loop for loop in graph.loops if block.index in loop.blocks), where(graph)
            assert all(set(inner.blocks) < set(outer.blocks) for outer, inner in pairwise(block.loops)), where(graph)
            deepest = max(deepest, len(block.loops))
        for loop in graph.loops:
            own = [instr for at in loop.blocks for instr in graph.instrs(graph.blocks[at])]
            assert loop.assigned == {i.arg for i in own if i.op in ("STORE", "STORE_CELL", "DELETE")}, where(graph)
            header = [instr.op for instr in graph.instrs(graph.blocks[loop.header])]
            assert loop.is_for == (header == ["FOR_ITER"]), where(graph)
    assert deepest > 2


def test_a_local_is_live_where_a_way_leads_to_a_read_before_a_write(library: list[Cfg]) -> None:
    def read(graph: Cfg, start: int, name: str) -> bool:
        """By the definition; cells may be read at any time."""
        seen, pending = {start}, [start]
        while pending:
            block = graph.blocks[pending.pop()]
            own = [i.op for i in graph.instrs(block) if i.op in ("LOAD", "STORE", "DELETE") and i.arg == name]
            if own[:1] in (["LOAD"], ["DELETE"]):
                return True
            ways = () if own else block.successors
            pending += [way for way in ways if way not in seen]
            seen.update(ways)
        return name in graph.code.cells

    for graph in (graph for graph in library if 8 <= len(graph.blocks) <= 14):
        names = {i.arg for i in graph.code.instrs if i.op in ("LOAD", "STORE")}
        for block, live in zip(range(len(graph.blocks)), graph.live_in, strict=True):
            assert {name for name in names if read(graph, block, name)} == live & names, where(graph)


def test_post_dominators_against_their_definition(library: list[Cfg]) -> None:
    def returns(graph: Cfg, start: int, without: int | None) -> bool:
        seen: set[int] = set()
        pending = [start]
        while pending:
            at = pending.pop()
            if at != without and at not in seen:
                seen.add(at)
                pending += graph.blocks[at].successors
        return any(
            graph.instrs(graph.blocks[at])[-1:] and graph.instrs(graph.blocks[at])[-1].op == "RETURN" for at in seen
        )

    checked = 0
    for graph in (graph for graph in library if 8 <= len(graph.blocks) <= 14):
        for block in range(len(graph.blocks)):
            if not returns(graph, block, None):
                assert graph.post_dominators[block] is None
                continue
            passed = {b for b in range(len(graph.blocks)) if b != block and not returns(graph, block, b)}
            nearest = [b for b in passed if all(b == other or not returns(graph, b, other) for other in passed)]
            assert graph.post_dominators[block] == (nearest[0] if nearest else None), where(graph)
            checked += 1
    assert checked > 1000


def loops_in_source(function: ast.AST) -> int:
    """How many loops the bytecode of `function` itself should have, at most."""
    own = (ast.ListComp, ast.SetComp, ast.DictComp) if sys.version_info >= (3, 12) else ()
    pending, count = list(ast.iter_child_nodes(function)), 0
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if sys.version_info >= (3, 14) and isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            # 3.14 makes a loop of `any(x for ...)` and its like, beside the call, for where the name is Python's own.
            count += node.func.id in ("any", "all", "tuple") and [type(a) for a in node.args] == [ast.GeneratorExp]
        if isinstance(node, ast.GeneratorExp):
            pending.append(node.generators[0].iter)
            continue
        count += isinstance(node, (ast.For, ast.While))
        count += len(node.generators) if isinstance(node, own) else 0
        pending += ast.iter_child_nodes(node)
    return count


def test_a_loop_in_the_source_is_one_loop(library: list[Cfg]) -> None:
    source: dict[tuple[str, str, int], int] = {}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef):
                line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                source[str(path), node.name, line] = loops_in_source(node)
    found = 0
    for graph in library:
        expected = source.get((graph.code.span.filename, graph.code.name, graph.code.span.line))
        if expected is not None:
            assert len(graph.loops) <= expected, where(graph)
            found += len(graph.loops)
    assert found > 300


def test_every_graph_prints(library: list[Cfg]) -> None:
    for graph in library:
        text = str(graph)
        assert text.count("  loop ") >= len(graph.loops)
