"""Neutral bytecode -> basic blocks, their loops, and what is live where.

In    `instructions.Bytecode`
Out   `Cfg`: reachable blocks in an order in which every block comes after its predecessors (back edges apart),
      the blocks of a loop lie side by side with the header first, and what a loop exits to comes after all of
      them. That is a weak topological order (Bourdoncle, "Efficient chaotic iteration strategies with widenings",
      1993), so a walk over ``cfg.blocks`` sees a loop as a whole before what follows it.

Blocks are named by their place in that order. The entry is block 0 and has no predecessors (it is empty where
the function begins with a loop). JUMP itself is no part of a block, except in ``while True: pass``.

Code that CPython duplicates appears once: above all the test of a `while`, which it copies to the end of the body.
So `while` has one form in all versions: a header that tests, a body that leads back to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cutelite import graphs
from cutelite.diag import InternalError
from cutelite.front.instructions import ENDS, JUMPS, Bytecode, Instr, stack_effect
from cutelite.tuples import NamedTuple


class Loop(NamedTuple):
    """A natural loop: `for`, `while`, or a comprehension.

    header      where it is entered and where every back edge leads: the FOR_ITER of a `for`, the test of a
                `while` (its first block, if the test has several), the body of a ``while True``
    blocks      all of its blocks, those of inner loops included. A `break` or `return`, and the code just before it,
                lie outside
    exits       edges (from, to) that leave it
    back_edges  edges (from, header)
    assigned    locals and cells that are stored or deleted inside
    is_for      True for a `for` and a comprehension's loop, which begin with FOR_ITER
    collects    True for a comprehension's loop, which adds to a collection made before it, or yields
    """

    header: int
    blocks: range
    exits: tuple[tuple[int, int], ...]
    back_edges: tuple[tuple[int, int], ...]
    assigned: frozenset[str]
    is_for: bool
    collects: bool


class Block(NamedTuple):
    """Instructions that run one after the other.

    start, stop   its instructions are ``code.instrs[start:stop]``
    successors    (next,); where it ends in JUMP_IF_TRUE or JUMP_IF_FALSE (if true, if false), in this order for
                  both; where it ends in FOR_ITER (with a value, exhausted); () where control ends
    predecessors  in ascending order, each once
    loops         the loops it lies in, outermost first
    is_failure    whether it raises an exception, as for an `assert`, or only leads to a block that does
    """

    index: int  # type: ignore[assignment]  # hides tuple.index, which is not needed
    start: int
    stop: int
    successors: tuple[int, ...]
    predecessors: tuple[int, ...]
    loops: tuple[Loop, ...]
    is_failure: bool


class Cfg(NamedTuple):
    """The control flow of one function.

    live_in          per block, the locals whose value may still be read. Cells, which nested functions may read
                     at any time, are live everywhere
    ways_out         the blocks between the body of a loop and where its ways out meet: those that come before a
                     `break` or `return`
    post_dominators  per block, the nearest block that every path to a RETURN goes through, None where there is
                     none. Paths that end in RAISE, UNSUPPORTED or nowhere do not count
    """

    code: Bytecode
    blocks: tuple[Block, ...]
    loops: tuple[Loop, ...]
    live_in: tuple[frozenset[str], ...]
    ways_out: frozenset[int]
    post_dominators: tuple[int | None, ...]

    def instrs(self, block: Block) -> tuple[Instr, ...]:
        return self.code.instrs[block.start : block.stop]

    def __str__(self) -> str:
        """Return the ``.cfg`` artefact."""
        return "\n".join(_dump(self)) + "\n"


def build(code: Bytecode) -> Cfg:
    """Return the control-flow graph of `code`."""
    turns = _turns(code.instrs)
    ranges, ways = _split(code, turns)
    bodies = _loop_bodies(code, ways)
    order = _arrange(set(ways), 0, ways, bodies)
    place = {old: new for new, old in enumerate(order)}
    successors = tuple(tuple(place[s] for s in ways[old]) for old in order)
    predecessors = _predecessors(successors)
    instrs = [code.instrs[slice(*ranges[old])] for old in order]
    into = _collections(code, turns)
    loops = tuple(
        _loop(header, len(bodies[order[header]]), successors, predecessors, instrs, into)
        for header in sorted(place[header] for header in bodies)
    )
    around: list[list[Loop]] = [[] for _ in order]
    for loop in loops:  # an outer loop has the smaller header
        for i in loop.blocks:
            around[i].append(loop)
    blocks = tuple(
        Block(
            index=i,
            start=ranges[old][0],
            stop=ranges[old][1],
            successors=successors[i],
            predecessors=predecessors[i],
            loops=tuple(around[i]),
            is_failure=_fails(i, successors, instrs),
        )
        for i, old in enumerate(order)
    )
    returns = [bool(body) and body[-1].op == "RETURN" for body in instrs]
    meetings = _post_dominators(successors, predecessors, returns)
    ways_out = frozenset().union(*(_ways_out(loop, successors, predecessors, meetings) for loop in loops))
    return Cfg(code, blocks, loops, _live_in(code, successors, instrs), ways_out, meetings)


# ---------------------------------------------------------------- blocks, numbered in any order at first

Ways = Mapping[int, tuple[int, ...]]  # block -> its successors
Turns = Mapping[int, tuple[int, ...]]  # instruction -> those that may come next, where that is not just the next one


def _split(code: Bytecode, turns: Turns) -> tuple[list[tuple[int, int]], Ways]:
    """Return the ranges of instructions that become blocks, and the ways that lead on from each."""
    instrs = code.instrs
    original = _originals(instrs, turns)
    if original is not None:  # then instructions before a copy go on at its original
        before = {at - 1: (at,) for at, first in enumerate(original) if at != first}
        turns = {at: tuple([original[way] for way in after]) for at, after in {**before, **turns}.items()}
    entry = _past_jumps(instrs, 0) if original is None else original[_past_jumps(instrs, 0)]
    heads = {entry, *(at for at, instr in enumerate(instrs) if instr.op in _FIRST)}
    for at, following in turns.items():
        heads.update(following, (at + 1,))
    ends, at = {}, len(instrs)  # of the instructions from each head on to the next one
    for head in sorted(heads, reverse=True):
        if head < len(instrs):
            ends[head], at = at, head
    came_from: dict[int, list[int]] = {entry: []}
    pending = [entry]
    while pending:
        last = ends[pending.pop()] - 1
        for way in turns.get(last, (last + 1,)):
            if way not in came_from:
                came_from[way] = []
                pending.append(way)
            came_from[way].append(last)
    starts = [at for at in sorted(came_from) if at == entry or not _continues(at, came_from[at], turns, instrs)]
    number = {start: n for n, start in enumerate(starts, start=1)}  # 0 is the entry
    ranges = [(entry, entry)]
    ways: dict[int, tuple[int, ...]] = {0: (number[entry],)}
    for start in starts:
        end = ends[start]
        while end in came_from and end not in number:
            end = ends[end]
        ranges.append((start, end))
        ways[number[start]] = tuple([number[way] for way in turns.get(end - 1, (end,))])
    if not came_from[entry]:  # the first block can be the entry itself
        ranges[0], ways[0] = ranges[number[entry]], ways.pop(number[entry])
    return ranges, ways


_FIRST = frozenset({"FOR_ITER", "ASSERTION_ERROR"})  # with which blocks begin


def _continues(at: int, came_from: list[int], turns: Turns, instrs: tuple[Instr, ...]) -> bool:
    """Tell whether instruction `at` belongs to the block of the one before it."""
    return set(came_from) == {at - 1} and turns.get(at - 1, (at,)) == (at,) and instrs[at].op not in _FIRST


def _turns(instrs: tuple[Instr, ...]) -> dict[int, tuple[int, ...]]:
    """Return for instructions those that may come next, past jumps, in the order of `Block.successors`.

    Instructions that just go on to the next one are left out.
    """
    found: dict[int, tuple[int, ...]] = {}
    for at, (op, arg, _, _) in enumerate(instrs):
        if op in ENDS:
            ways: tuple[int, ...] = (arg,) if op == "JUMP" else ()
        elif op in JUMPS:
            ways = (arg, at + 1) if op == "JUMP_IF_TRUE" else (at + 1, arg)
        elif instrs[at + 1].op == "JUMP":
            ways = (at + 1,)
        else:
            continue
        found[at] = tuple([_past_jumps(instrs, way) for way in ways])
    return {at: _past_tests(instrs, found, at) if len(ways) > 1 else ways for at, ways in found.items()}


def _past_tests(instrs: tuple[Instr, ...], turns: Turns, at: int) -> tuple[int, ...]:
    """Return the steps from `at`, past tests of a value that it has tested itself.

    ``(p and x) or y`` tests p, and if that is false goes to the test of the left side of `or`, which is p again.
    There p and x would meet, which may be numbers of different types, as a bool and a float are.
    """
    if at == 0 or not _tests_copy(instrs, at - 1):
        return turns[at]
    ways = list(turns[at])
    for way, step in enumerate(ways):
        seen: set[int] = set()
        while _tests_copy(instrs, step) and step not in seen:
            seen.add(step)
            step = turns[step + 1][way]
        ways[way] = step
    return tuple(ways)


def _tests_copy(instrs: tuple[Instr, ...], at: int) -> bool:
    """Tell whether a copy of the value on top of the stack is tested at `at`."""
    instr = instrs[at]
    return instr.op == "COPY" and instr.arg == 1 and instrs[at + 1].op in ("JUMP_IF_TRUE", "JUMP_IF_FALSE")


def _past_jumps(instrs: tuple[Instr, ...], at: int) -> int:
    """Follow jumps from `at` to another instruction; to a jump only where they never end (``while True: pass``)."""
    if instrs[at].op != "JUMP":
        return at
    seen: set[int] = set()
    while instrs[at].op == "JUMP" and at not in seen:
        seen.add(at)
        at = instrs[at].arg
    return min(seen) if at in seen else at


def _originals(instrs: tuple[Instr, ...], turns: Turns) -> list[int] | None:
    """Return for each instruction the first that does the same for the same source, and whose steps do so too.

    None, if that is each one itself. CPython copies the test of a `while` to the end of its body. If the copies were
    kept apart, `continue` would lead to the one and the end of the body to the other, and one loop in the source would
    look like two.
    """
    kinds: list[tuple[object, ...]] = [
        (op, id(arg) if op == "CONST" else arg, span)  # by identity, because ``1 == True == 1.0``
        if op not in JUMPS
        else ("JUMP_IF" if op in ("JUMP_IF_TRUE", "JUMP_IF_FALSE") else op, None, span)
        for op, arg, _, span in instrs
    ]
    if len(set(kinds)) == len(kinds):
        return None
    depth = _depths(instrs, turns)
    first: dict[object, int] = {}
    same = [first.setdefault((*kind, depth[at]), at) for at, kind in enumerate(kinds)]
    doubtful = [at for at, other in enumerate(same) if at != other]
    doubtful += {same[at] for at in doubtful}
    while doubtful:  # separate those that lead to different ones, until nothing changes
        first = {}
        refined = {at: (same[at], *(same[way] for way in turns.get(at, (at + 1,)))) for at in sorted(doubtful)}
        named = {at: first.setdefault(kind, at) for at, kind in refined.items()}
        if all(same[at] == name for at, name in named.items()):
            break
        for at, name in named.items():
            same[at] = name
    return same


def _depths(instrs: tuple[Instr, ...], turns: Turns) -> list[int]:
    """Return the number of values on the stack before each instruction; -1 where none leads to it."""
    depths = [-1] * len(instrs)
    pending = [(_past_jumps(instrs, 0), 0)]
    while pending:
        at, depth = pending.pop()
        while depths[at] < 0:
            depths[at] = depth
            op, arg, _, _ = instrs[at]
            pops, pushes = stack_effect(op, arg)
            if at in turns:
                behind = [depth - pops + pushes, depth - 1 if op == "FOR_ITER" else depth - pops + pushes]
                pending += zip(turns[at], behind, strict=False)
                break
            at, depth = at + 1, depth - pops + pushes
    return depths


def _loop_bodies(code: Bytecode, ways: Ways) -> dict[int, set[int]]:
    """Return the blocks of each loop, by header."""
    came_from: dict[int, set[int]] = {block: set() for block in ways}
    for block, following in ways.items():
        for way in following:
            came_from[way].add(block)
    bodies: dict[int, set[int]] = {}
    for latch, header in _back_edges(ways):
        body = bodies.setdefault(header, {header})
        body |= graphs.reached([latch], came_from.__getitem__, [header])
        if 0 in body:  # from the entry to the latch and not through the header
            raise InternalError("a loop has two entries", stage="cfg", op=f"loop at {header}", ir=str(code))
    return bodies


def _back_edges(ways: Ways) -> Iterator[tuple[int, int]]:
    """Yield the edges to a block that a depth-first walk is still inside of."""
    finished = {block: n for n, block in enumerate(graphs.postorder(0, ways.__getitem__))}
    return ((block, way) for block in finished for way in ways[block] if finished[way] >= finished[block])


def _arrange(region: set[int], first: int, ways: Ways, bodies: Mapping[int, set[int]]) -> list[int]:
    """Return the blocks of `region`, entered at `first`, in weak topological order; ties go by the bytecode."""
    unit = {block: block for block in region}  # inner loops count as one, under the name of their header
    inner = {block for block in region if block in bodies and block != first}
    for header in sorted(inner, key=lambda header: len(bodies[header])):
        unit |= dict.fromkeys(bodies[header], header)
    edges = {
        (unit[block], unit[way])
        for block in region
        for way in ways[block]
        if way in region and way != first and unit[block] != unit[way]
    }
    after: dict[int, list[int]] = {name: [] for name in unit.values()}
    waiting = dict.fromkeys(after, 0)  # for how many predecessors
    for before, behind in edges:
        after[before].append(behind)
        waiting[behind] += 1
    order: list[int] = []
    ready = [first]
    while ready:
        name = min(ready)
        ready.remove(name)
        order += _arrange(bodies[name], name, ways, bodies) if name in inner else [name]
        for behind in after[name]:
            waiting[behind] -= 1
            if not waiting[behind]:
                ready.append(behind)
    return order


# ---------------------------------------------------------------- facts, by final numbers

Successors = tuple[tuple[int, ...], ...]


def _predecessors(successors: Successors) -> Successors:
    came_from: list[list[int]] = [[] for _ in successors]
    for block, following in enumerate(successors):
        for way in following:
            if came_from[way][-1:] != [block]:
                came_from[way].append(block)
    return tuple(map(tuple, came_from))


def _fails(block: int, successors: Successors, instrs: list[tuple[Instr, ...]]) -> bool:
    """Tell whether a block raises, as that of an `assert` does, at most past the POP of a chained comparison."""
    if instrs[block] and all(i.op == "POP" for i in instrs[block]) and len(successors[block]) == 1:
        (block,) = successors[block]
    body = instrs[block]
    return bool(body) and (body[0].op == "ASSERTION_ERROR" or body[-1].op == "RAISE")


_ADDING = frozenset({"LIST_APPEND", "SET_ADD", "MAP_ADD", "YIELD"})


def _collections(code: Bytecode, turns: Turns) -> Mapping[int, int]:
    """Return, by offset, the stack position of the iterator of a FOR_ITER, or of the collection that is added to.

    YIELD counts as adding to a collection below everything.
    """
    if _ADDING.isdisjoint([i.op for i in code.instrs]):
        return {}
    found: dict[int, int] = {}
    for instr, depth in zip(code.instrs, _depths(code.instrs, turns), strict=True):
        match instr.op:
            case "FOR_ITER":
                found[instr.offset] = depth - 1
            case "LIST_APPEND" | "SET_ADD" | "MAP_ADD":
                found[instr.offset] = depth - stack_effect(instr.op, instr.arg)[0] - instr.arg
            case "YIELD":
                found[instr.offset] = -1
    return found


def _loop(
    header: int,
    size: int,
    successors: Successors,
    predecessors: Successors,
    instrs: list[tuple[Instr, ...]],
    into: Mapping[int, int],
) -> Loop:
    blocks = range(header, header + size)
    leaving = ((block, way) for block in blocks for way in dict.fromkeys(successors[block]) if way not in blocks)
    stores = (i.arg for block in blocks for i in instrs[block] if i.op in ("STORE", "STORE_CELL", "DELETE"))
    back = tuple((block, header) for block in predecessors[header] if block in blocks)
    first = instrs[header][:1]
    is_for = bool(first) and first[0].op == "FOR_ITER"
    added = (into[i.offset] for block in blocks for i in instrs[block] if into and i.op in _ADDING)
    collects = is_for and any(place < into[first[0].offset] for place in added)
    return Loop(header, blocks, tuple(leaving), back, frozenset(stores), is_for, collects)


def _ways_out(
    loop: Loop, successors: Successors, predecessors: Successors, meetings: tuple[int | None, ...]
) -> set[int]:
    """Return the blocks behind a loop that only its body leads to, and not its header, up to where all ways meet."""
    found: set[int] = set()
    inside = loop.blocks[1:]  # without the header
    ahead = {way for block, way in loop.exits if block != loop.header} - {meetings[loop.header]}
    while ahead:  # in ascending order, as all ways to a block but those back come from smaller ones
        block = min(ahead)
        ahead.remove(block)
        before = (way for way in predecessors[block] if way < block)
        if block not in found and all(way in inside or way in found for way in before):
            found.add(block)
            for way in successors[block]:
                if way > block and way != meetings[loop.header]:
                    ahead.add(way)
    return found


def _live_in(code: Bytecode, successors: Successors, instrs: list[tuple[Instr, ...]]) -> tuple[frozenset[str], ...]:
    """Return the live locals of each block: those for which a LOAD or DELETE may come before the next STORE.

    A call of `breakpoint`, which shows them, reads all of them.
    """
    read: list[set[str]] = []
    written: list[set[str]] = []
    for body in instrs:
        reads, writes = set(code.cells), set[str]()
        for op, arg, _, _ in body:
            if op == "LOAD":
                if arg not in writes:
                    reads.add(arg)
            elif op == "STORE":
                writes.add(arg)
            elif op == "DELETE":
                reads |= {arg} - writes
                writes.add(arg)
            elif op == "GLOBAL" and arg == "breakpoint":
                known = {instr.arg for body in instrs for instr in body if instr.op == "STORE"}.union(code.parameters)
                reads |= known - writes
        read.append(reads)
        written.append(writes)
    order = range(len(instrs))
    live = graphs.needed(order, successors.__getitem__, dict(enumerate(read)), dict(enumerate(written)))
    return tuple(frozenset(live[block]) for block in order)


def _post_dominators(successors: Successors, predecessors: Successors, returns: list[bool]) -> tuple[int | None, ...]:
    """Return the immediate post-dominators: dominators in the reversed graph, from behind all blocks that return."""
    root = len(successors)
    backwards = (*predecessors, tuple(block for block in range(root) if returns[block]))
    ends = graphs.postorder(root, backwards.__getitem__)
    nearest = graphs.dominators(ends, lambda block: (root,) if returns[block] else successors[block])
    return tuple(None if nearest.get(block, root) == root else nearest[block] for block in range(root))


# ---------------------------------------------------------------- as text


def _dump(graph: Cfg) -> Iterator[str]:
    """Yield blocks indented by loop depth, each with its predecessors, live locals, and where its ways meet again."""
    yield f"{graph.code.name}({', '.join(graph.code.parameters)})"
    line = 0
    for block in graph.blocks:
        for depth, loop in enumerate(block.loops):
            if loop.header == block.index:
                yield "    " * (depth + 1) + _loop_line(loop)
        indent = "    " * (len(block.loops) + 1)
        yield f"{indent}{block.index}:  " + "; ".join(_block_facts(graph, block))
        body = graph.instrs(block)
        shown = body[:-1] if body and body[-1].op in JUMPS else body
        for instr in shown:
            number = instr.span.line if instr.span.line != line else ""
            line = instr.span.line
            yield f"{indent}{number:>6}  {instr}"
        if block.successors:
            yield f"{indent}{'':>6}  {_way_on(body, block.successors)}"


def _loop_line(loop: Loop) -> str:
    exits = ", ".join(f"{before} -> {behind}" for before, behind in loop.exits) or "none"
    assigned = " ".join(sorted(loop.assigned)) or "nothing"
    return f"loop {loop.blocks[0]} to {loop.blocks[-1]}; assigns {assigned}; exits {exits}"


def _block_facts(graph: Cfg, block: Block) -> Iterator[str]:
    if block.predecessors:
        yield f"from {' '.join(map(str, block.predecessors))}"
    yield f"live {' '.join(sorted(graph.live_in[block.index])) or 'nothing'}"
    if block.is_failure:
        yield "failure"
    meeting = graph.post_dominators[block.index]
    if len(block.successors) > 1 and meeting is not None:
        yield f"meets at {meeting}"


def _way_on(body: tuple[Instr, ...], successors: tuple[int, ...]) -> str:
    if len(successors) == 1:
        return f"-> {successors[0]}"
    kind = "next" if body[-1].op == "FOR_ITER" else "true"
    return f"{kind} -> {successors[0]}, else -> {successors[1]}"
