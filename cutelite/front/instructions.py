"""Instructions of a Python function that are the same for every Python version, and what they do to the stack.

The stack is written with its top on the right; `a b -> c` takes b, then a, and leaves c.

    op              arg                      stack
    --------------  -----------------------  ------------------------------------------------------------------
    POP                                      a ->
    COPY            n >= 1                   an .. a1 -> an .. a1 an          (COPY 1 doubles the top)
    SWAP            n >= 2                   an .. a1 -> a1 .. an             (exchanges top and n-th)

    CONST           the constant             -> value                         (nested functions: a code object)
    LOAD            local name               -> value
    STORE           local name               value ->
    DELETE          local name               ->
    GLOBAL          name                     -> value                         (a global, else a builtin)
    MAKE_CELL       cell name                ->            a new cell; an argument or local of that name moves in
    LOAD_CELL       cell or free name        -> value                         (what is in the cell)
    STORE_CELL      cell name                value ->      (a free name only in 3.11's comprehensions, for `:=`)
    CLOSURE         cell or free name        -> cell                          (the cell itself, for FUNCTION)
    ASSERTION_ERROR                          -> AssertionError

    UNARY           - not ~ +                a -> result
    BINARY          + - * / // % @ ** & | ^ << >>, each also with = behind it (`+=`)
                                             a b -> result
    COMPARE         < <= == != > >= is, is not, in, not in
                                             a b -> result
    SUBSCR                                   object key -> object[key]
    STORE_SUBSCR                             value object key ->
    ATTR            name                     object -> object.name            (methods come bound)
    STORE_ATTR      name                     value object ->

    CALL            Call(positional, keywords)   callable arguments.. -> result
                    `positional` counts arguments without a name; those of `keywords`, in order, follow them
    CALL_EX         has keywords?            callable args [kwargs] -> result
    FUNCTION        names of attributes      attributes.. code -> function
                    a subset of "defaults" (tuple), "kwdefaults" (dict), "annotations" (tuple of name, value,
                    name, value ..), "closure" (tuple of cells) and "annotate" (function), in this order

    TUPLE LIST SET  n                        n values -> collection
    MAP             n                        n times key value -> dict
    KEY_MAP         tuple of n keys          n values -> dict
    STRING          n                        n strings -> their concatenation
    SLICE           2 or 3                   start stop [step] -> slice
    LIST_APPEND     d                        value ->            into the list at depth d, counted from 1
    LIST_EXTEND     d                        iterable ->         after the pop
    SET_ADD         d                        value ->
    SET_UPDATE      d                        iterable ->
    MAP_ADD         d                        key value ->
    DICT_UPDATE     d                        mapping ->
    DICT_MERGE      d                        mapping ->          the same, but a key seen twice is an error
    LIST_TO_TUPLE                            list -> tuple
    UNPACK          n                        sequence -> vn .. v1              (the first value on top)
    UNPACK_EX       (before, after)          sequence -> v.. list v..          (likewise; `list` holds the middle)

    CONVERT         "str", "repr", "ascii"   value -> string                   (`!s`, `!r`, `!a` of an f-string)
    FORMAT          has a format spec?       value [spec] -> string

    GET_LEN                                  a -> a len(a)
    MATCH_SEQUENCE  MATCH_MAPPING            a -> a bool
    MATCH_KEYS                               a keys -> a keys values           (a tuple, or None)
    MATCH_CLASS     n                        a class names -> values           (n positional ones; tuple or None)

    IMPORT          name                     level fromlist -> module
    IMPORT_FROM     name                     module -> module value

    WITH            "cond"                   object -> does the block run?     (a bool of elect.sync may say no)
                    "exit", "enter"          object -> its method, bound

    ITER                                     iterable -> iterator
    FOR_ITER        target                   iterator -> iterator value        and on to the next instruction, or
                                             iterator ->                       and to the target, when exhausted
    YIELD                                    value -> None                     (in generator expressions only)

    JUMP            target                   ->
    JUMP_IF_TRUE    target                   a ->      tests the truth of a; otherwise on to the next instruction
    JUMP_IF_FALSE   target                   a ->
    RETURN                                   value                             (ends)
    RAISE           0, 1 or 2                [exception [cause]]               (ends)
    UNSUPPORTED     UnsupportedSyntax                                          (ends)

UNSUPPORTED marks the beginning of something that kernels cannot do. Reading it is no error; evaluating it is:
``raise CompileError(instr.arg, instr.span)``. The code behind it is left out as unreachable, and so are
exception handlers. A generator function, coroutine, class body or module consists of one UNSUPPORTED.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from cutelite.diag import Diagnostic, Span
from cutelite.tuples import NamedTuple

JUMPS = frozenset({"JUMP", "JUMP_IF_TRUE", "JUMP_IF_FALSE", "FOR_ITER"})  # whose argument is a target
ENDS = frozenset({"JUMP", "RETURN", "RAISE", "UNSUPPORTED"})  # that never go on to the next instruction


class Instr(NamedTuple):
    """One instruction: `arg` as the table above says, `offset` of the bytecode it was made from."""

    op: str
    arg: Any
    offset: int
    span: Span

    def __str__(self) -> str:
        if self.op in JUMPS:
            return f"{self.op} -> {self.arg}"
        if self.op == "CONST":
            return f"CONST {f'<code {self.arg.co_name}>' if isinstance(self.arg, CodeType) else repr(self.arg)}"
        return self.op if self.arg is None else f"{self.op} {self.arg}"


class Call(NamedTuple):
    """The arguments of a call: the number of those by position, then the names of the others."""

    positional: int
    keywords: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([str(self.positional), *(f"{name}=" for name in self.keywords)])


class UnsupportedSyntax(Diagnostic):
    """Python that no kernel can contain, and what to write in its place."""

    title = "{d.syntax} cannot be compiled"
    help = "{d.instead}"
    syntax: str
    instead: str

    def __str__(self) -> str:
        return self.syntax


class Bytecode(NamedTuple):
    """A function body as neutral instructions, with what is needed to bind its arguments.

    name        as in ``co_name``; ``<lambda>``, ``<genexpr>``, ``<listcomp>`` are Python's
    positional  parameters that arguments are bound to by position; the first `posonly` only so
    kwonly      parameters that are bound by name only
    varargs     the name behind ``*``, None without one; `varkw` likewise behind ``**``
    cells       local names that live in cells because a nested function uses them
    free        names of the cells that come with the function, in the order of its closure
    pycode      the code object that all of this was read from
    """

    name: str
    span: Span
    instrs: tuple[Instr, ...]
    positional: tuple[str, ...]
    posonly: int
    kwonly: tuple[str, ...]
    varargs: str | None
    varkw: str | None
    cells: frozenset[str]
    free: tuple[str, ...]
    is_genexpr: bool
    pycode: CodeType

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of all parameters, as locals are laid out: `varargs` and `varkw` come last."""
        return (*self.positional, *self.kwonly, *(n for n in (self.varargs, self.varkw) if n))

    def __str__(self) -> str:
        """Return the ``.bytecode`` artefact: line, index and instruction; `>` marks jump targets."""
        targets = {i.arg for i in self.instrs if i.op in JUMPS}
        lines, last = [f"{self.name}({', '.join(self.parameters)})"], 0
        for i, instr in enumerate(self.instrs):
            number = instr.span.line if instr.span.line != last else ""
            lines.append(f"{number:>6} {'>' if i in targets else ' '} {i:>4}  {instr}")
            last = instr.span.line
        return "\n".join(lines) + "\n"


def stack_effect(op: str, arg: Any) -> tuple[int, int]:
    """Return the numbers of values that an instruction takes and leaves, if it goes on to the next one.

    On a jump, FOR_ITER takes the iterator and leaves nothing; the other jumps do the same either way.
    """
    effect = EFFECTS[op]
    return effect(arg) if callable(effect) else effect


EFFECTS: dict[str, tuple[int, int] | Callable[[Any], tuple[int, int]]] = {
    **dict.fromkeys(("POP", "STORE", "STORE_CELL", "JUMP_IF_TRUE", "JUMP_IF_FALSE", "RETURN"), (1, 0)),
    **dict.fromkeys(("LIST_APPEND", "LIST_EXTEND", "SET_ADD", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE"), (1, 0)),
    **dict.fromkeys(("CONST", "LOAD", "GLOBAL", "LOAD_CELL", "CLOSURE", "ASSERTION_ERROR"), (0, 1)),
    **dict.fromkeys(("COPY", "GET_LEN", "MATCH_SEQUENCE", "MATCH_MAPPING", "IMPORT_FROM", "MATCH_KEYS"), (0, 1)),
    **dict.fromkeys(("SWAP", "DELETE", "MAKE_CELL", "JUMP", "UNSUPPORTED"), (0, 0)),
    **dict.fromkeys(("UNARY", "WITH", "ATTR", "CONVERT", "LIST_TO_TUPLE", "ITER", "YIELD"), (1, 1)),
    **dict.fromkeys(("BINARY", "COMPARE", "SUBSCR", "IMPORT"), (2, 1)),
    **dict.fromkeys(("TUPLE", "LIST", "SET", "STRING", "SLICE"), lambda n: (n, 1)),
    "FOR_ITER": (0, 1),
    "STORE_ATTR": (2, 0),
    "STORE_SUBSCR": (3, 0),
    "MAP_ADD": (2, 0),
    "MATCH_CLASS": (3, 1),
    "MAP": lambda n: (2 * n, 1),
    "KEY_MAP": lambda keys: (len(keys), 1),
    "CALL": lambda call: (1 + call.positional + len(call.keywords), 1),
    "CALL_EX": lambda keywords: (2 + keywords, 1),
    "FUNCTION": lambda attributes: (len(attributes) + 1, 1),
    "FORMAT": lambda spec: (1 + spec, 1),
    "UNPACK": lambda n: (1, n),
    "UNPACK_EX": lambda ends: (1, ends[0] + 1 + ends[1]),
    "RAISE": lambda n: (n, 0),
}
