"""Random mistakes: kernels of the examples, changed at random, compile or are refused at a line of their own.

python -m tests.fuzz.misuse --count 2000        # from a seed on; says which changes end otherwise, or take too long
python -m tests.fuzz.misuse --seed 17 --count 1 --show

A change takes away an argument or a statement, exchanges two, or puts another name, attribute, number, operator or
index in the place of one. Compilers' internal errors come from such kernels, and compile times without end.
"""

import ast
import copy
import linecache
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from cutelite import config
from cutelite.diag import CompileError
from cutelite.dispatch import ArgumentError, Kernel, LaunchError, OptionError
from tests.fuzz import by_seed

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NUMBERS = [0, 1, -1, 2, 3, 7, 16, 33, 1.5, None, "x", True, 2**31, (), (1, 2)]
OPERATORS = [ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Div, ast.Pow, ast.LShift, ast.BitXor, ast.MatMult]
INDICES = ["x[0]", "x[None]", "x[None, 1]", "x[:]", "x[1::2]", "x[cl]", "x[-1]", "x[...]"]
SECONDS = 60  # a compile that takes longer is a finding


@cache
def sources() -> dict[str, ast.Module]:
    """The examples that have kernels."""
    trees = {file.name: ast.parse(file.read_text()) for file in sorted(EXAMPLES.glob("*.py"))}
    return {name: tree for name, tree in trees.items() if kernels(tree)}


@cache
def attributes() -> list[str]:
    return sorted({n.attr for tree in sources().values() for n in ast.walk(tree) if isinstance(n, ast.Attribute)})


def kernels(tree: ast.Module) -> list[ast.FunctionDef]:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [each for each in functions if any("kernel" in ast.unparse(d) for d in each.decorator_list)]


class Mistake(NamedTuple):
    """A changed example: its source, and the kernel that was changed."""

    source: str
    kernel: str


def drawn(seed: int) -> Mistake:
    random = Random(seed)
    tree = copy.deepcopy(sources()[random.choice(list(sources()))])
    kernel = random.choice(kernels(tree))
    for _ in range(random.choice((1, 1, 2))):
        nodes = [node for statement in kernel.body for node in ast.walk(statement)]
        random.choice(CHANGES)(random, kernel, nodes)
    return Mistake(ast.unparse(ast.fix_missing_locations(tree)), kernel.name)


def other_number(random: Random, kernel: ast.FunctionDef, nodes: list[ast.AST]) -> None:
    constants = [node for node in nodes if isinstance(node, ast.Constant) and not isinstance(node.value, str)]
    if constants:
        random.choice(constants).value = random.choice(NUMBERS)  # type: ignore[assignment]


def other_arguments(random: Random, kernel: ast.FunctionDef, nodes: list[ast.AST]) -> None:
    calls = [node for node in nodes if isinstance(node, ast.Call) and node.args]
    if not calls:
        return
    call = random.choice(calls)
    match random.choice(("fewer", "fewer", "swapped", "more", "starred")):
        case "fewer" if call.keywords and random.random() < 0.5:
            del call.keywords[random.randrange(len(call.keywords))]
        case "fewer":
            del call.args[random.randrange(len(call.args))]
        case "swapped" if len(call.args) > 1:
            call.args[0], call.args[1] = call.args[1], call.args[0]
        case "starred":
            call.args[0] = ast.Starred(call.args[0], ast.Load())
        case _:
            call.args.append(copy.deepcopy(call.args[0]))


def other_name(random: Random, kernel: ast.FunctionDef, nodes: list[ast.AST]) -> None:
    names = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    if names:
        random.choice(names).id = random.choice([*(n.id for n in names), *(a.arg for a in kernel.args.args)])


def other_attribute(random: Random, kernel: ast.FunctionDef, nodes: list[ast.AST]) -> None:
    found = [node for node in nodes if isinstance(node, ast.Attribute)]
    if found:
        random.choice(found).attr = random.choice(attributes())


def fewer_statements(random: Random, kernel: ast.FunctionDef, nodes: list[ast.AST]) -> None:
    bodies = [b for node in (kernel, *nodes) if isinstance(b := getattr(node, "body", None), list) and len(b) > 1]
    if bodies:
        body = random.choice(bodies)
        del body[random.randrange(len(body))]


def other_operator(random: Random, kernel: ast.FunctionDef, nodes: list[ast.AST]) -> None:
    found = [node for node in nodes if isinstance(node, ast.BinOp)]
    if found:
        random.choice(found).op = random.choice(OPERATORS)()


def other_index(random: Random, kernel: ast.FunctionDef, nodes: list[ast.AST]) -> None:
    found = [node for node in nodes if isinstance(node, ast.Subscript)]
    if found:
        made = ast.parse(random.choice(INDICES), mode="eval").body
        assert isinstance(made, ast.Subscript)
        random.choice(found).slice = made.slice


CHANGES: list[Callable[[Random, ast.FunctionDef, list[ast.AST]], None]] = [
    other_number, other_arguments, other_arguments, other_name, other_attribute, fewer_statements, other_operator,
    other_index,
]  # fmt: skip


def mistakes(seed: int, gpu: bool = False) -> list[str]:
    """Compile the changed kernel of a seed, without assembling it; return what is wrong."""
    mistake, filename = drawn(seed), f"<mistake {seed}>"
    linecache.cache[filename] = (len(mistake.source), None, mistake.source.splitlines(True), filename)
    module = ModuleType(f"mistake_{seed}")
    sys.modules[module.__name__] = module  # where dataclasses look
    try:
        with within(SECONDS), warnings.catch_warnings(), examples_common():
            warnings.simplefilter("ignore")
            try:
                exec(compile(mistake.source, filename, "exec", dont_inherit=True), module.__dict__)
            except Exception:  # the module itself is wrong, as Python says
                return []
            kernel = getattr(module, mistake.kernel)
            if isinstance(kernel, Kernel):
                lowered(kernel)
    except CompileError as error:
        return [] if filename in str(error) else [f"not at a line of the kernel: {error}", mistake.source]
    except (ArgumentError, LaunchError, OptionError):
        return []
    except Exception:
        return [traceback.format_exc(limit=-4), mistake.source]
    finally:
        del sys.modules[module.__name__]
    return []


def lowered(kernel: Kernel) -> None:
    """Evaluate a kernel and run the passes, as `compile` does."""
    bound = kernel.signature.ahead((), {}, False)
    kernel._made.costs(kernel._specialised(bound, None, None, kernel.default_arch, config.read().options))


@contextmanager
def examples_common() -> Iterator[None]:
    """Let examples import their `common`, where they run and how they check: an empty one.

    Nothing of it stays with examples that others import meanwhile.
    """
    before = {file.stem: sys.modules.pop(file.stem, None) for file in EXAMPLES.glob("*.py")}
    sys.modules["common"] = ModuleType("common")
    sys.modules["common"].__getattr__ = lambda name: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in a block that takes longer."""

    def late(number: int, frame: FrameType | None) -> Any:
        raise TimeoutError(f"this takes more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    sys.exit(by_seed.main("mistakes", mistakes, lambda seed: [drawn(seed).source]))
