"""Pipelines as text, and passes of users: the option `passes` -> the passes to run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cutelite.diag.callables import check_callable
from cutelite.options import OptionError
from cutelite.passes import order
from cutelite.passes.order import Pass, PassFunction

P = TypeVar("P", bound="Callable[..., object]")

REQUIRED = ("allocate_smem", "lower_tensors", "materialise_dims")
"""Passes without which `lower` cannot spell the IR; every pipeline has all of them."""

_users: dict[str, PassFunction] = {}


def register(function: P) -> P:
    """Decorate a pass of yours: it is then known by the function's name in the option `passes`.

        @cl.passes.register
        def count_loads(function: Function, context: cl.passes.Context) -> Function:
            print(sum(op.name == "load" for op in function.ops()))
            return function

        kernel.options(passes="+count_loads>dce")

    The function takes an IR function and a `Context`, and returns the function to go on with; `passes/rewrite.py` has
    the tool to make a new one. The IR is verified after it. A later function of the same name replaces it. Its code is
    part of the key in the disk cache; it prints only when a kernel is compiled, not when it is found in the cache.
    Errors  ValueError for the name of one of cutelite's passes; TypeError for what is no such function with a name
    """
    name = getattr(function, "__name__", "")
    if not callable(function) or not name.isidentifier():
        raise TypeError(f"a pass is a function with a name, by which the option `passes` places it, not {function!r}")
    if name in _own():
        raise ValueError(f"{name} is a pass of cutelite's own: take another name, and put it in its place, {name}=NAME")
    check_callable("a pass", function, ("function", "context"))
    _users[name] = function  # type: ignore[assignment]
    return function


def pipeline(text: str | None) -> tuple[Pass, ...]:
    """Return the passes that a text names, separated by commas; None is `PIPELINE`.

        fold, promote_rmem, ...   exactly these, in this order
        +mine>cse                 `PIPELINE`, with `mine` behind the last `cse`; `+mine<cse`: before the first
        +mine                     `PIPELINE`, with `mine` at the end
        -join_accesses            `PIPELINE` without every `join_accesses`
        fold=mine                 `PIPELINE` with `mine` in the place of every `fold`

    Errors  `OptionError` for a pass that is not known, comes before one that it needs, or must not be left out
    """
    if text is None:
        return order.PIPELINE
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not any(word[0] in "+-" or "=" in word for word in words):
        rows = {row.name: row for row in order.PIPELINE}
        steps = [rows[w]._replace(after=()) if w in rows else Pass(_of_user(w), "said", ours=False) for w in words]
        _check_order(steps)
    else:
        steps = list(order.PIPELINE)
        for word in words:
            steps = _edited(steps, word)
    missing = [name for name in REQUIRED if name not in {step.name for step in steps} and f"{name}=" not in text]
    if missing:
        raise OptionError(f"passes={text!r} leaves out {missing[0]}, without which nothing can be lowered")
    return tuple(steps)


def of_users(text: str | None) -> tuple[PassFunction, ...]:
    """Return the functions of users that a text names: the generated code depends on them."""
    return tuple(step.function for step in pipeline(text) if not step.ours)


def _edited(steps: list[Pass], word: str) -> list[Pass]:
    if word[0] == "-":
        _check_there(steps, word[1:])
        return [step for step in steps if step.name != word[1:]]
    if word[0] == "+":
        name, where, other = next((part for sign in "<>" if (part := word[1:].partition(sign))[1]), (word[1:], "", ""))
        mine = Pass(_of_user(name.strip()), "said", ours=False)
        if not where:
            return [*steps, mine]
        places = _check_there(steps, other.strip())
        at = places[0] if where == "<" else places[-1] + 1
        return [*steps[:at], mine, *steps[at:]]
    old, _, name = (part.strip() for part in word.partition("="))
    _check_there(steps, old)
    mine = Pass(_of_user(name), "said", ours=False)
    return [mine if step.name == old else step for step in steps]


def _check_there(steps: list[Pass], name: str) -> list[int]:
    places = [i for i, step in enumerate(steps) if step.name == name]
    if not places:
        raise OptionError(f"no pass is called {name!r} there; there are {', '.join(step.name for step in steps)}")
    return places


def _check_order(steps: list[Pass]) -> None:
    needs = {row.name: row.after for row in _rows()}
    done: set[str] = set()
    for step in steps:
        for before in needs.get(step.name, ()):
            if before.__name__ not in done:
                raise OptionError(f"{step.name} must come behind {before.__name__}: cutelite.passes.PIPELINE says why")
        done.add(step.name)


def _rows() -> tuple[Pass, ...]:
    first: dict[str, Pass] = {}
    for row in order.PIPELINE:
        first.setdefault(row.name, row)
    return tuple(first.values())


def _own() -> set[str]:
    return {row.name for row in _rows()}


def _of_user(name: str) -> PassFunction:
    found = _users.get(name)
    if found is not None:
        return found
    own = next((row.function for row in _rows() if row.name == name), None)
    if own is None:
        known = ", ".join(sorted({*_own(), *_users}))
        raise OptionError(f"no pass is called {name!r}; known are {known}. `cl.passes.register` adds one")
    return own
