"""Values, ops and blocks. `Op` and `@op`: one class declares an instruction, from which everything else is derived.

The annotations of the class body are its fields, in order. A field annotated `Value`, `Value | None` or
`tuple[Value, ...]` is an operand; `Jump` is a successor; everything else is a compile-time constant. The
decorator registers the class under its name; from there the builder, printer, verifier, lowering,
simulator and `docs/ops.md` find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

from cutelite.ir.contract import Effect, Llvm, Problem, Ptx
from cutelite.ir.types import Type

OPERAND_KINDS = {"Value": "one", "Value | None": "optional", "tuple[Value, ...]": "many"}
CONSTANT_KINDS: dict[str, type] = {"int": int, "bool": bool, "str": str, "float": float}


class Value:
    """A value that is computed once: a block's parameter or an op's result. Compared by identity."""

    __slots__ = ("hint", "op", "shape", "type")

    def __init__(self, type: Type, op: Op | None = None, hint: str = "", shape: Any = None) -> None:
        self.type = type
        self.op = op  # the op that defines it; None for a block parameter
        self.hint = hint  # the user's name for it, for printing
        self.shape = shape  # of a vector: its shape in the frontend; None: (n,)

    def __repr__(self) -> str:
        return f"%{self.hint or 'v'}: {self.type}"


class Block:
    """Ops executed in order. The last one, and only the last, is a terminator."""

    __slots__ = ("label", "ops", "params")

    def __init__(self, params: tuple[Value, ...] = (), label: str = "") -> None:
        self.params: list[Value] = list(params)
        self.ops: list[Op] = []
        self.label = label

    @property
    def terminator(self) -> Op | None:
        return self.ops[-1] if self.ops and self.ops[-1].terminator else None

    @property
    def successors(self) -> tuple[Block, ...]:
        end = self.terminator
        return tuple([jump.block for jump in end.jumps]) if end else ()


class Jump:
    """The target of a terminator, and the arguments for the parameters of that block."""

    __slots__ = ("args", "block")

    def __init__(self, block: Block, args: tuple[Value, ...] = ()) -> None:
        self.block = block
        self.args = args


class Registry(Mapping[str, "type[Op]"]):
    """Every op by its IR name.

    `@op` adds an op when its module is imported. To find an op by name, or all of them, the registry imports the rest
    by `load_all`, which `cutelite.ops` sets.
    """

    def __init__(self) -> None:
        self._ops: dict[str, type[Op]] = {}
        self.load_all: Callable[[], None] = lambda: None

    def add(self, cls: type[Op]) -> None:
        if cls.name in self._ops:
            raise TypeError(f"two ops are called {cls.name!r}")
        self._ops[cls.name] = cls

    def __getitem__(self, name: str) -> type[Op]:
        if name not in self._ops:
            self.load_all()
        return self._ops[name]

    def __iter__(self) -> Iterator[str]:
        self.load_all()
        return iter(self._ops)

    def __len__(self) -> int:
        self.load_all()
        return len(self._ops)


REGISTRY = Registry()


class Field:
    """One field of an op class: `kind` is 'one', 'optional' or 'many' (operands), 'jump', or 'const'."""

    __slots__ = ("default", "kind", "name", "required", "type")

    def __init__(self, name: str, kind: str, required: bool, default: object, type: str = "") -> None:
        self.name, self.kind, self.required, self.default, self.type = name, kind, required, default, type

    @property
    def is_operand(self) -> bool:
        return self.kind in ("one", "optional", "many")


Rule: TypeAlias = Callable[["Op", str], tuple[Problem, ...]]  # finds problems of what a field holds


class Op:
    """One instruction. Treat it as immutable: passes make a changed copy with `with_fields`."""

    name: ClassVar[str]
    scope: str = (
        "thread"  # the threads that execute one instance together: 'thread', 'warp', 'warpgroup', 'cta'; or a property
    )
    effects: Effect = Effect.PURE  # a class constant, or a property where it depends on the fields
    feature: str | None = None  # what the target must have (`Target.features`): a class constant or a property
    source: ClassVar[str]  # the document that defines it
    wide: ClassVar[bool] = False  # scope 'warp': `simulate` takes several warps at once (see `ir.simulation`)
    elementwise: ClassVar[bool] = False  # on vectors it works on each element by itself
    terminator: ClassVar[bool] = False
    # Of an access to rows at addresses that lanes give for each other: for each row, the lane that has each part of it
    # in registers, an array (rows, parts) of lanes. None: lanes access memory at their own addresses.
    holders: Any = None
    # What simulator and checker ask of any op. Those to which it applies have a field or a property of that name.
    members: Value | None = None  # lanes that take part, a u32 of bits
    semantic: str | None = None  # of a strong access or a fence: 'relaxed', 'acquire', ...
    scope_of_order: str = "gpu"  # and the threads that it is strong for
    reach: str = "cta"  # of an arrival or a wait: the threads that it orders
    relaxed: bool = False  # of these and of barriers: it orders no accesses
    cache: str = ""  # of a load or store: PTX's cache operator
    pair: bool = False  # of a copy: its mbarrier may be in the other block of the pair
    gives: ClassVar[Type | str | None] = None  # the type of its only result, or the name of a field that has that type
    takes: ClassVar[Mapping[str, Rule]] = {}  # what fields must hold, besides those that base classes name
    as_ptx: ClassVar[Ptx | None] = None  # its spelling, where no field changes it
    as_llvm: ClassVar[Llvm | None] = None
    fields: ClassVar[tuple[Field, ...]] = ()
    _holding: ClassVar[tuple[tuple[str, str], ...]] = ()  # name and kind of the fields that hold operands
    _typed: ClassVar[tuple[tuple[str, type], ...]] = ()  # name and class of the constants that are numbers and texts
    _jumping: ClassVar[tuple[str, ...]] = ()  # names of the fields that are jumps

    results: tuple[Value, ...] = ()  # given by the builder
    _operands: tuple[Value, ...] | None = None  # found at first use
    span: Any = None  # diag.Span of the user's line, innermost call first; None for ops that a test wrote

    def __init_subclass__(cls) -> None:
        if "takes" not in vars(cls) and len(cls.__bases__) == 1:
            return
        takes: dict[str, Rule] = {}
        for base in reversed(cls.__mro__):
            takes.update(getattr(base, "takes", ()))
        cls.takes = takes

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        fields = self.fields
        if len(args) > len(fields):
            raise TypeError(f"{self.name} takes {len(fields)} fields, not {len(args)}")
        for field, value in zip(fields, args, strict=False):
            setattr(self, field.name, value)
        for field in fields[len(args) :]:
            if field.name in kwargs:
                setattr(self, field.name, kwargs.pop(field.name))
            elif field.required:
                raise TypeError(f"{self.name} needs the field {field.name!r}")
            else:
                setattr(self, field.name, field.default)
        if kwargs:
            raise TypeError(f"{self.name} has no field {next(iter(kwargs))!r}")

    def misplaced(self) -> Iterator[Problem]:
        """Find constants of another kind than their field's."""
        for name, kind in self._typed:
            held = getattr(self, name)
            fits = isinstance(held, kind) or (kind is float and isinstance(held, int))
            if not fits or (isinstance(held, bool) and kind is not bool):
                said = "a compile-time integer" if kind is int else f"a compile-time {kind.__name__}"
                yield Problem(name, f"`{name}` of {self.name} is {said}, not {held!r}")

    def problems(self) -> Iterator[Problem]:
        """Find problems of the op: those of the first field that `takes` refuses, else those of `verify`."""
        for field, rule in self.takes.items():
            if found := rule(self, field):
                return iter(found)
        return self.verify()

    @property
    def threads(self) -> int:
        """The threads that execute it together; 1 for any number."""
        return 128 if self.scope == "warpgroup" else 1

    @property
    def commutes(self) -> bool:
        """Tell of updates whether they leave the same numbers in any order."""
        return False

    # The parts that a class declares. `ptx` or `llvm` says how it is spelled; an op with neither is expanded by a pass.

    def result_types(self) -> tuple[Type, ...]:
        """Return the types of its results, from those of its operands. Called after `verify` found no problem."""
        if self.gives is None:
            return ()
        given = getattr(self, self.gives) if isinstance(self.gives, str) else self.gives
        return (given.type if isinstance(given, Value) else given,)

    def verify(self) -> Iterator[Problem]:
        """Find problems that `takes` cannot say, basic ones first: later checks rely on earlier ones having passed."""
        return iter(())

    def ptx(self) -> Ptx | None:
        return self.as_ptx

    def ptx_with(self, rest: Sequence[Op]) -> Ptx | None:
        """Return one spelling of this op and `rest`, which follow and wait for its result; None: each has its own."""
        return None

    def llvm(self) -> Llvm | None:
        return self.as_llvm

    def simulate(self, lanes: Any) -> Any:
        """Execute the op for `lanes`, a `simulation.Lanes`. One that blocks returns a `Wait`, or generates several."""
        raise NotImplementedError(f"{self.name} has no meaning in the simulator")

    # Everything that follows from the declaration.

    def __getitem__(self, field: str) -> Any:
        return getattr(self, field)

    @property
    def operands(self) -> tuple[Value, ...]:
        """Every operand, those of its jumps included, in field order."""
        if self._operands is not None:
            return self._operands
        found: list[Value] = []
        for name, kind in self._holding:
            held = getattr(self, name)
            if kind == "one":
                found.append(held)
            elif kind == "many":
                found.extend(held)
            elif kind == "jump":
                found.extend(held.args)
            elif held is not None:
                found.append(held)
        operands = tuple(found)
        if not self._jumping:  # the frontend adds the arguments of jumps later
            self._operands = operands
        return operands

    @property
    def jumps(self) -> tuple[Jump, ...]:
        return tuple([getattr(self, name) for name in self._jumping])

    @property
    def result(self) -> Value:
        (only,) = self.results
        return only

    @property
    def is_pure(self) -> bool:
        return self.effects == Effect.PURE

    def with_fields(self, **changes: Any) -> Op:
        """Return a copy with other fields, and no results yet."""
        copy = object.__new__(type(self))
        for field in self.fields:
            name = field.name
            setattr(copy, name, changes.pop(name) if name in changes else getattr(self, name))
        if changes:
            raise TypeError(f"{self.name} has no field {next(iter(changes))!r}")
        copy.span = self.span
        return copy

    def map_operands(self, values: Callable[[Value], Value], jumps: Callable[[Jump], Jump] | None = None) -> Op:
        """Return a copy whose operands went through `values` (and whose jumps through `jumps`)."""
        changes: dict[str, Any] = {}
        for name, kind in self._holding:
            held = getattr(self, name)
            if kind == "one":
                changes[name] = values(held)
            elif kind == "many":
                changes[name] = tuple(map(values, held))
            elif kind == "jump":
                mapped = type(held)(held.block, tuple(map(values, held.args))) if held.args else held
                changes[name] = jumps(mapped) if jumps else mapped
            elif held is not None:
                changes[name] = values(held)
        return self.with_fields(**changes)

    def __repr__(self) -> str:
        from cutelite.ir.printer import op_text  # which imports this module

        return op_text(self)


C = TypeVar("C", bound=type[Op])


def op(
    name: str,
    *,
    scope: str | None = None,
    effects: Effect | None = None,
    feature: str | None = None,
    source: str = "",
    elementwise: bool = False,
    terminator: bool = False,
) -> Callable[[C], C]:
    """Return a class decorator that reads the fields, sets the facts and registers the class."""

    def declare(cls: C) -> C:
        cls.name, cls.source = name, source
        if scope is not None:
            cls.scope = scope
        if effects is not None:
            cls.effects = effects
        if feature is not None:
            cls.feature = feature
        cls.elementwise, cls.terminator = elementwise, terminator
        cls.fields, cls._holding, cls._typed, cls._jumping = _FIELDS  # type: ignore[assignment]  # when they are read
        REGISTRY.add(cls)
        return cls

    return declare


class _Derived:
    """A fact that follows from a class's fields, derived when it is first read: most ops are in few kernels."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, op: Op | None, cls: type[Op]) -> Any:
        cls.fields = fields = _fields(cls)
        cls._holding = tuple((field.name, field.kind) for field in fields if field.kind != "const")
        cls._typed = tuple((field.name, CONSTANT_KINDS[field.type]) for field in fields if field.type in CONSTANT_KINDS)
        cls._jumping = tuple(name for name, kind in cls._holding if kind == "jump")
        return getattr(cls, self.name)


_FIELDS = tuple(map(_Derived, ("fields", "_holding", "_typed", "_jumping")))


def _fields(cls: type[Op]) -> tuple[Field, ...]:
    """Return the fields of `cls` and its bases, bases first; one that is declared again stands where it was last."""
    found: dict[str, Field] = {}
    for base in reversed(cls.__mro__[: cls.__mro__.index(Op)]):
        for name, annotation in vars(base).get("__annotations__", {}).items():
            if not annotation.startswith("ClassVar"):
                found.pop(name, None)
                found[name] = _field(cls, name, annotation)
    return tuple(found.values())


def _field(cls: type[Op], name: str, annotation: str) -> Field:
    kind = OPERAND_KINDS.get(annotation, "jump" if annotation == "Jump" else "const")
    given = any(name in vars(base) for base in cls.__mro__[: cls.__mro__.index(Op)])  # `Op` says what other ops have
    return Field(name, kind, not given and kind != "optional", getattr(cls, name) if given else None, annotation)
