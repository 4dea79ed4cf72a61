"""Graphs of anything that can be in a set: what is reached, in which order, past what, and what is needed there.

`ways` and `before` are functions: the nodes that follow one, and those that it follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import TypeVar

Node = TypeVar("Node")
Fact = TypeVar("Fact")


def reached(start: Iterable[Node], ways: Callable[[Node], Iterable[Node]], end: Iterable[Node] = ()) -> set[Node]:
    """Return the nodes that ways lead to from those of `start`, these too; none goes on at a node of `end`."""
    seen = set(end)
    left = [*start]
    while left:
        node = left.pop()
        if node not in seen:
            seen.add(node)
            left += ways(node)
    return seen


def postorder(root: Node, ways: Callable[[Node], Iterable[Node]]) -> list[Node]:
    """Return the nodes reached from `root`, each behind all that a depth-first walk reaches from it first."""
    finished: list[Node] = []
    seen = {root}
    path = [(root, iter(ways(root)))]
    while path:
        node, following = path[-1]
        for way in following:
            if way not in seen:
                seen.add(way)
                path.append((way, iter(ways(way))))
                break
        else:
            finished.append(node)
            path.pop()
    return finished


def dominators(order: Sequence[Node], before: Callable[[Node], Iterable[Node]]) -> dict[Node, Node]:
    """Return, for each node of a postorder, the nearest one that every path from the root to it goes through.

    The root's is the root. Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm" (2001).
    """
    rank = {node: n for n, node in enumerate(order)}
    nearest = {order[-1]: order[-1]}

    def common(a: Node, b: Node) -> Node:
        while a != b:
            while rank[a] < rank[b]:
                a = nearest[a]
            while rank[b] < rank[a]:
                b = nearest[b]
        return a

    changed = True
    while changed:
        changed = False
        for node in order[-2::-1]:
            found = reduce(common, (source for source in before(node) if source in nearest))
            changed |= node not in nearest or nearest[node] != found
            nearest[node] = found
    return nearest


def needed(
    order: Sequence[Node],
    ways: Callable[[Node], Iterable[Node]],
    uses: Mapping[Node, set[Fact]],
    makes: Mapping[Node, set[Fact]],
) -> dict[Node, set[Fact]]:
    """Return what each node or one behind it uses before one of them makes it. `order` is fast in reverse postorder."""
    found: dict[Node, set[Fact]] = {}
    headers: set[Node] = set()  # of loops: what they need goes to nodes behind them
    changed = True
    while changed:
        changed = False
        for node in reversed(order):
            following = [*ways(node)]
            headers.update(way for way in following if way not in found)
            behind = set[Fact]().union(*(found[way] for way in following if way in found))
            now = uses[node] | (behind - makes[node])
            changed |= node in headers and found.get(node) != now
            found[node] = now
    return found
