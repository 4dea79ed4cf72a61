"""A machine that runs neutral bytecode on ordinary Python values: what `cutelite.front.bytecode`'s table says."""

import builtins
import inspect
import operator
from collections.abc import Callable, Generator
from types import CellType, CodeType, FunctionType
from typing import Any

import pytest

from cutelite.diag import CompileError
from cutelite.front import bytecode, cfg
from cutelite.front.instructions import Bytecode, Call, Instr, stack_effect

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}
CONVERT: dict[str, Callable[[Any], str]] = {"str": str, "repr": repr, "ascii": ascii}
NAMES = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "@": "matmul",
    "**": "pow",
    "&": "and_",
    "|": "or_",
    "^": "xor",
    "<<": "lshift",
    ">>": "rshift",
}


def binary(symbol: str, a: Any, b: Any) -> Any:
    name = NAMES[symbol.removesuffix("=")]
    return getattr(operator, f"i{name.rstrip('_')}" if symbol.endswith("=") else name)(a, b)


def bind(function: FunctionType, code: Bytecode, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The locals a call begins with."""
    if code.name in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"):
        return {code.positional[0]: args[0]}
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    assert tuple(bound.arguments) != () or not code.parameters
    return {name: bound.arguments[name] for name in code.parameters}


class Frame:
    """One call: its stack, its locals, its cells. `step` executes any instruction that does not jump."""

    def __init__(self, machine: "Machine", function: FunctionType, code: Bytecode, local: dict[str, Any]) -> None:
        self.machine = machine
        self.function = function
        self.code = code
        self.local = local
        self.cells: dict[str, CellType] = dict(zip(code.free, function.__closure__ or (), strict=True))
        self.stack: list[Any] = []

    def pop(self, count: int) -> list[Any]:
        taken = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return taken

    def step(self, instr: Instr) -> None:
        op, arg = instr.op, instr.arg
        pops, pushes = stack_effect(op, arg)
        depth = len(self.stack)
        getattr(self, f"op_{op.lower()}")(arg)
        assert len(self.stack) == depth - pops + pushes, f"{instr} is not {pops} -> {pushes}"

    def op_pop(self, _: None) -> None:
        self.stack.pop()

    def op_const(self, arg: Any) -> None:
        self.stack.append(arg)

    def op_copy(self, n: int) -> None:
        self.stack.append(self.stack[-n])

    def op_swap(self, n: int) -> None:
        self.stack[-1], self.stack[-n] = self.stack[-n], self.stack[-1]

    def op_load(self, name: str) -> None:
        if name not in self.local:
            raise UnboundLocalError(name)
        self.stack.append(self.local[name])

    def op_store(self, name: str) -> None:
        assert name not in self.cells
        self.local[name] = self.stack.pop()

    def op_delete(self, name: str) -> None:
        if name not in self.local:
            raise UnboundLocalError(name)
        del self.local[name]

    def op_global(self, name: str) -> None:
        space = self.function.__globals__
        self.stack.append(space[name] if name in space else getattr(builtins, name))

    def op_make_cell(self, name: str) -> None:
        assert name in self.code.cells
        self.cells[name] = CellType(self.local.pop(name)) if name in self.local else CellType()

    def op_load_cell(self, name: str) -> None:
        self.stack.append(self.cells[name].cell_contents)

    def op_store_cell(self, name: str) -> None:
        self.cells[name].cell_contents = self.stack.pop()

    def op_closure(self, name: str) -> None:
        self.stack.append(self.cells[name])

    def op_assertion_error(self, _: None) -> None:
        self.stack.append(AssertionError)

    def op_unary(self, symbol: str) -> None:
        self.stack.append(UNARY[symbol](self.stack.pop()))

    def op_binary(self, symbol: str) -> None:
        self.stack.append(binary(symbol, *self.pop(2)))

    def op_compare(self, symbol: str) -> None:
        self.stack.append(COMPARE[symbol](*self.pop(2)))

    def op_subscr(self, _: None) -> None:
        container, key = self.pop(2)
        self.stack.append(container[key])

    def op_store_subscr(self, _: None) -> None:
        value, container, key = self.pop(3)
        container[key] = value

    def op_attr(self, name: str) -> None:
        self.stack.append(getattr(self.stack.pop(), name))

    def op_store_attr(self, name: str) -> None:
        value, target = self.pop(2)
        setattr(target, name, value)

    def op_call(self, call: Call) -> None:
        named = dict(zip(call.keywords, self.pop(len(call.keywords)), strict=True))
        args = self.pop(call.positional)
        self.stack.append(self.machine.call(self.stack.pop(), *args, **named))

    def op_call_ex(self, keywords: bool) -> None:
        named = self.stack.pop() if keywords else {}
        args = self.stack.pop()
        self.stack.append(self.machine.call(self.stack.pop(), *args, **named))

    def op_function(self, attributes: tuple[str, ...]) -> None:
        *values, pycode = self.pop(len(attributes) + 1)
        given = dict(zip(attributes, values, strict=True))
        function = FunctionType(
            pycode, self.function.__globals__, argdefs=given.get("defaults"), closure=given.get("closure")
        )
        function.__kwdefaults__ = given.get("kwdefaults")
        notes = given.get("annotations", ())
        function.__annotations__ = dict(zip(notes[::2], notes[1::2], strict=True))
        if "annotate" in given:
            function.__annotate__ = given["annotate"]  # type: ignore[attr-defined]
        self.machine.made.add(pycode)
        self.stack.append(function)

    def op_tuple(self, n: int) -> None:
        self.stack.append((*self.pop(n),))

    def op_list(self, n: int) -> None:
        self.stack.append(self.pop(n))

    def op_set(self, n: int) -> None:
        self.stack.append({*self.pop(n)})

    def op_map(self, n: int) -> None:
        flat = self.pop(2 * n)
        self.stack.append(dict(zip(flat[::2], flat[1::2], strict=True)))

    def op_key_map(self, keys: Any) -> None:
        self.stack.append(dict(zip(keys, self.pop(len(keys)), strict=True)))

    def op_string(self, n: int) -> None:
        self.stack.append("".join(self.pop(n)))

    def op_slice(self, n: int) -> None:
        self.stack.append(slice(*self.pop(n)))

    def op_list_append(self, depth: int) -> None:
        value = self.stack.pop()
        self.stack[-depth].append(value)

    def op_list_extend(self, depth: int) -> None:
        value = self.stack.pop()
        self.stack[-depth].extend(value)

    def op_set_add(self, depth: int) -> None:
        value = self.stack.pop()
        self.stack[-depth].add(value)

    def op_set_update(self, depth: int) -> None:
        value = self.stack.pop()
        self.stack[-depth].update(value)

    def op_map_add(self, depth: int) -> None:
        key, value = self.pop(2)
        self.stack[-depth][key] = value

    def op_dict_update(self, depth: int) -> None:
        value = self.stack.pop()
        self.stack[-depth].update(value)

    def op_dict_merge(self, depth: int) -> None:
        value = self.stack.pop()
        assert not value.keys() & self.stack[-depth].keys()
        self.stack[-depth].update(value)

    def op_list_to_tuple(self, _: None) -> None:
        self.stack.append((*self.stack.pop(),))

    def op_unpack(self, n: int) -> None:
        values = [*self.stack.pop()]
        assert len(values) == n
        self.stack += values[::-1]

    def op_unpack_ex(self, ends: Any) -> None:
        before, after = ends
        values = [*self.stack.pop()]
        behind = len(values) - after
        self.stack += [*values[behind:][::-1], values[before:behind], *values[:before][::-1]]

    def op_convert(self, how: str) -> None:
        self.stack.append(CONVERT[how](self.stack.pop()))

    def op_format(self, has_spec: bool) -> None:
        spec = self.stack.pop() if has_spec else ""
        self.stack.append(format(self.stack.pop(), spec))

    def op_get_len(self, _: None) -> None:
        self.stack.append(len(self.stack[-1]))

    def op_match_sequence(self, _: None) -> None:
        self.stack.append(isinstance(self.stack[-1], (list, tuple)))

    def op_match_mapping(self, _: None) -> None:
        self.stack.append(isinstance(self.stack[-1], dict))

    def op_match_keys(self, _: None) -> None:
        subject, keys = self.stack[-2:]
        self.stack.append(tuple(subject[key] for key in keys) if all(key in subject for key in keys) else None)

    def op_match_class(self, n: int) -> None:
        subject, kind, names = self.pop(3)
        itself = (subject,) if kind in (int, str) and n else ()  # what `int(x)` binds
        names = (*(() if itself else kind.__match_args__[:n] if n else ()), *names)
        hit = isinstance(subject, kind) and all(hasattr(subject, name) for name in names)
        self.stack.append((*itself, *(getattr(subject, name) for name in names)) if hit else None)

    def op_import(self, name: str) -> None:
        level, wanted = self.pop(2)
        self.stack.append(__import__(name, self.function.__globals__, None, wanted, level))

    def op_import_from(self, name: str) -> None:
        self.stack.append(getattr(self.stack[-1], name))

    def op_with(self, part: str) -> None:
        obj = self.stack.pop()
        self.stack.append(True if part == "cond" else getattr(obj, f"__{part}__"))

    def op_iter(self, _: None) -> None:
        self.stack.append(iter(self.stack.pop()))


class Machine:
    """Calls functions by running their instructions: straight from `read`, or block by block from `cfg.build`.

    Functions made on the way are run by the machine too; everything else is called as it is.
    """

    def __init__(self, by_blocks: bool) -> None:
        self.by_blocks = by_blocks
        self.made: set[CodeType] = set()

    def call(self, callee: Any, *args: Any, **kwargs: Any) -> Any:
        ours = isinstance(callee, FunctionType) and callee.__code__ in self.made
        return self.run(callee, *args, **kwargs) if ours else callee(*args, **kwargs)

    def run(self, function: FunctionType, *args: Any, **kwargs: Any) -> Any:
        """What ``function(*args, **kwargs)`` returns."""
        code = bytecode.read(function)
        frame = Frame(self, function, code, bind(function, code, args, kwargs))
        running = self.through_blocks(frame) if self.by_blocks else self.through_instrs(frame)
        if code.is_genexpr:
            return running
        try:
            while True:
                next(running)
        except StopIteration as stop:
            return stop.value

    def through_instrs(self, frame: Frame) -> Generator[Any, None, Any]:
        at, instrs = 0, frame.code.instrs
        while True:
            instr = instrs[at]
            at += 1
            match instr.op:
                case "RETURN" | "RAISE" | "UNSUPPORTED":
                    return self.finish(frame, instr)
                case "YIELD":
                    yield frame.stack[-1]
                    frame.stack[-1] = None
                case "JUMP":
                    at = instr.arg
                case "JUMP_IF_TRUE" | "JUMP_IF_FALSE" | "FOR_ITER":
                    at = instr.arg if self.decide(frame, instr) == (instr.op == "JUMP_IF_TRUE") else at
                case _:
                    frame.step(instr)

    def through_blocks(self, frame: Frame) -> Generator[Any, None, Any]:
        graph = cfg.build(frame.code)
        block = graph.blocks[0]
        while True:
            way = True
            for instr in graph.instrs(block):
                match instr.op:
                    case "RETURN" | "RAISE" | "UNSUPPORTED":
                        return self.finish(frame, instr)
                    case "YIELD":
                        yield frame.stack[-1]
                        frame.stack[-1] = None
                    case "JUMP":
                        pass
                    case "JUMP_IF_TRUE" | "JUMP_IF_FALSE" | "FOR_ITER":
                        way = self.decide(frame, instr)
                    case _:
                        frame.step(instr)
            frame.local = {name: value for name, value in frame.local.items() if name in graph.live_out(block)}
            block = graph.blocks[block.successors[0 if way else 1]]

    def decide(self, frame: Frame, instr: Instr) -> bool:
        """Whether the condition holds or, of FOR_ITER, whether there is a next value."""
        if instr.op != "FOR_ITER":
            return bool(frame.stack.pop())
        for value in frame.stack[-1]:
            frame.stack.append(value)
            return True
        frame.stack.pop()
        return False

    def finish(self, frame: Frame, instr: Instr) -> Any:
        taken = frame.pop(stack_effect(instr.op, instr.arg)[0])
        if instr.op == "RETURN":
            assert frame.stack == []
            return taken[0]
        if instr.op == "RAISE":
            raise taken[0] from (taken[1] if len(taken) > 1 else None)
        raise CompileError(instr.arg, instr.span)


@pytest.fixture(params=["instrs", "blocks"])
def machine(request: pytest.FixtureRequest) -> Machine:
    return Machine(by_blocks=request.param == "blocks")
