"""Make `docs/ops.md` from the declarations: every intrinsic, the errors of the mathematics, and every op.

`make update` writes it.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import cutelite
from cutelite import ops
from cutelite.ir.contract import Effect
from cutelite.ir.op import REGISTRY, Op
from cutelite.lang import math

PURPOSE = {
    "thread": "each thread for itself",
    "warp": "a warp together",
    "warpgroup": "a warpgroup together",
    "cta": "the block together",
    "cluster": "the cluster together",
}


def markdown() -> str:
    parts = [
        "# Intrinsics and ops\n",
        "Made from the declarations by `docs/tools/ops_page.py`. `make update` writes it anew, and a test compares.\n",
        "## Intrinsics\n",
        "What kernels call, as `cl.name`. Each becomes ops, most of them one.\n",
        *_intrinsics(),
        "## Errors of the mathematics\n",
        f"{_paragraphs(math)}\n",
        *_errors(),
        "## Ops\n",
        "What the IR is made of. Fields without a type are operands; those with a value have that default.\n",
        *_families(),
    ]
    return "\n".join(parts)


def _intrinsics() -> Iterator[str]:
    homes: dict[str, list[str]] = {}
    for name in dir(cutelite):
        function = getattr(cutelite, name)
        home = getattr(function, "__module__", "")
        if inspect.isfunction(function) and home.startswith("cutelite.lang."):
            homes.setdefault(home, []).append(name)
    for home in sorted(homes):
        module = importlib.import_module(home)
        yield from _table(module, [name for name in vars(module) if name in homes[home]], "cl.")
    for short in ("math", "wgmma"):
        module = importlib.import_module(f"cutelite.lang.{short}")
        yield from _table(module, _functions(module), f"cl.{short}.")


def _functions(module: Any) -> list[str]:
    """The public functions of a module, in the order it defines them."""
    found = [(name, f) for name, f in vars(module).items() if inspect.isfunction(f)]
    return [name for name, f in found if f.__module__ == module.__name__ and not name.startswith("_")]


def _table(module: Any, names: list[str], prefix: str) -> Iterator[str]:
    yield f"**{_first_line(module)}**\n"
    yield "| call | what it does |\n|---|---|"
    for name in names:
        function = getattr(module, name)
        yield f"| `{prefix}{name}({_parameters(function)})` | {_cell(_first_line(function))} |"
    yield ""


def _parameters(function: Any) -> str:
    shown: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        star = "*" if parameter.kind == parameter.VAR_POSITIONAL else ""
        star = "**" if parameter.kind == parameter.VAR_KEYWORD else star
        if parameter.kind == parameter.KEYWORD_ONLY and not any(s[0] == "*" for s in shown):
            shown.append("*")
        default = "" if parameter.default is parameter.empty else f"={_default(parameter.default)}"
        shown.append(f"{star}{name}{default}")
    return ", ".join(shown)


def _default(value: Any) -> str:
    return f"{value:#x}" if value == 0xFFFFFFFF else repr(value)


def _errors() -> Iterator[str]:
    yield "| function | error | with `fast=True` |\n|---|---|---|"
    for name in _functions(math):
        text = inspect.getdoc(getattr(math, name)) or ""
        error = re.search(r"\bError:? +(.*?)\.?$", text, re.M)
        fast = re.search(r"^Fast +(.*)$", text, re.M)
        exact = re.search(r"Exact(?: \([^)]*\))?(?:; [^.]*)?", text)
        stated = error[1] if error else exact[0] if exact else ""
        if stated:
            yield f"| `{name}` | {_cell(stated)} | {_cell(fast[1]) if fast else ''} |"
    yield ""


def _families() -> Iterator[str]:
    for family in ops.__all__:
        module = importlib.import_module(f"cutelite.ops.{family}")
        mine = [op for op in REGISTRY.values() if op.__module__ == module.__name__]
        if not mine:
            continue
        yield f"### {family}\n"
        yield f"{_paragraphs(module)}\n"
        for op in mine:
            yield from _op(op)


def _op(op: type[Op]) -> Iterator[str]:
    yield f"#### `{op.name}`\n"
    facts = [f"`({', '.join(map(_field, op.fields))})`" if op.fields else "no fields", _scope(op), _effects(op)]
    facts += [f"needs `{op.feature}`"] if isinstance(op.feature, str) else []
    facts += ["needs depend on its fields"] if isinstance(inspect.getattr_static(op, "feature"), property) else []
    facts += ["element by element on vectors"] if op.elementwise else []
    yield "; ".join(filter(None, facts)) + f". Source: {op.source}.\n"
    yield f"{_paragraphs(op)}\n"


def _field(field: Any) -> str:
    mark = {"many": "*", "optional": "?", "jump": "->"}.get(field.kind, "")
    if field.is_operand or field.kind == "jump":
        return f"{field.name}{mark}"
    return f"{field.name}=" + ("..." if field.required else repr(field.default))


def _scope(op: type[Op]) -> str:
    scope: Any = inspect.getattr_static(op, "scope")
    return "who depends on its fields" if isinstance(scope, property) else PURPOSE[scope]


def _effects(op: type[Op]) -> str:
    effects: Any = inspect.getattr_static(op, "effects")
    if isinstance(effects, property):
        return "effects depend on its fields"
    names = [str(flag.name).lower().replace("_", " ") for flag in Effect if flag in effects]
    return ", ".join(names) if names else "pure"


def _first_line(thing: Any) -> str:
    """The first sentence of its docstring."""
    text = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=[.!?]) (?=[A-Z])", text)[0].rstrip(":")


def _paragraphs(thing: Any) -> str:
    """Its docstring: what is laid out in columns stays so."""
    done = []
    for paragraph in (inspect.getdoc(thing) or "").split("\n\n"):
        columns = any(re.match(r"\S.*?\S?  +\S|\s", line) for line in paragraph.splitlines())
        done.append(f"```\n{paragraph}\n```" if columns else paragraph)
    return "\n\n".join(done)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(markdown(), end="")
