"""Digest everything that a kernel's code depends on: for the key of the disk cache, and to compare constants.

In    a function, or a compile-time value of any kind
Out   `Source`: a digest of everything that is reached from it, and the names it was reached through

A function's digest covers its bytecode and constants, defaults, closures, the globals that the bytecode names, and what
those hold in turn: classes with their methods, objects with their state. Functions and classes of Python, and of
libraries that the frontend does not compile, count by name and version of the library. Equal digests mean equal code,
in every process, for every seed of `hash`, and whatever the process did before: attributes that Python adds to classes
and objects on its own (`_OF_NO_CONSEQUENCE`, `cached_property`) are left out. A function that reaches something that
cannot be read completely, or that asks the system, the environment, files or clocks (`dispatch/purity.py`), has no
digest: its kernel is compiled in each process.
"""

from __future__ import annotations

import copyreg
import enum
import functools
import gc
import itertools
import operator
import os
import sys
import types
from _abc import _get_dump  # type: ignore[import-not-found]
from _blake2 import blake2b  # hashlib has the same one, and loads OpenSSL for the others
from collections.abc import Callable, Iterable, Iterator
from opcode import EXTENDED_ARG, opmap
from typing import Any, TypeVar

from cutelite import config
from cutelite.dispatch import purity
from cutelite.layout import DimExpr
from cutelite.layout.frozen import Frozen
from cutelite.tuples import NamedTuple

OURS = frozenset(("cutelite", "cutelite_rt"))
LIBRARIES = frozenset(("numpy", "ml_dtypes", "torch", "cupy", "jax", "jaxlib", "pytest", "_pytest"))
"""Libraries whose objects count by name and version: Python executes their functions, the frontend does not compile
them (`front.calls.NATIVE_PACKAGES`), but for pytest's, which are in the code of each `assert` of a test module."""

TOOLS = frozenset(("llvmlite",))
"""Compiler libraries, no part of kernels: their modules and objects count by name and version."""

NAME_READERS = frozenset(("globals", "locals", "vars", "eval", "exec", "__import__", "dir"))
"""Builtins that reach names which do not occur in the bytecode."""
UNSEEN = frozenset(("__globals__", "__subclasses__"))
"""Attributes that hold more than the names in code tell."""
_ENVIRONMENT = ("os", "os.environ", "os.environb", "os.getenv", "os.getenvb")
NAMED_LATER = frozenset(
    ("getattr", "hasattr", "attrgetter", "methodcaller", "__dict__", "__getattribute__", "getattr_static")
)
"""Names that occur in code which takes attributes, or asks for them, by strings."""
DESCRIPTIONS = ("__doc__", "__slots__", "__dataclass_fields__", "__orig_bases__", "__parameters__", "__wrapped__")
DESCRIBERS = frozenset(
    (
        *(*DESCRIPTIONS, "__annotations__", "__annotate__"),
        *("fields", "get_annotations", "get_original_bases", "get_type_hints", "getdoc", "getfullargspec", "signature"),
    )
)
"""Names that occur in code which asks for what describes classes and functions, and is no part of what they do."""


class Source(NamedTuple):
    """The sources that a kernel is made from.

    digest                   None where something that it reaches has none; `why` says what
    namespaces, names, held  of each global, attribute of a user's module or class, and environment variable that the
                             code reads: the dict that has it, its name, and its value when it was read, or MISSING
    cells                    (cell, its value when it was read) of variables of enclosing functions
    """

    digest: bytes | None
    why: str
    namespaces: tuple[dict[Any, Any], ...]
    names: tuple[str | bytes, ...]
    held: tuple[Any, ...]
    cells: tuple[tuple[types.CellType, Any], ...]

    def is_current(self) -> bool:
        """Tell whether every name still holds the object that was read. Changes within an object are not noticed."""
        # This runs at every launch, over tens of names: so it loops in C.
        found = map(dict.get, self.namespaces, self.names, itertools.repeat(MISSING))
        return all(map(operator.is_, found, self.held)) and all(content(cell) is held for cell, held in self.cells)


MISSING = object()


def source(x: Any, positions: bool = False) -> Source:
    """Read `x`; with `positions`, source files and lines count too, for code that contains source lines."""
    reader = _Reader(positions)
    digest = reader.whole(x)
    why = reader.problems[0] if reader.problems else ""
    read = reader.names.values()
    return Source(
        None if why else digest,
        why,
        namespaces=tuple(namespace for namespace, _, _ in read),
        names=tuple(name for _, name, _ in read),
        held=tuple(held for _, _, held in read),
        cells=tuple(reader.cells.values()),
    )


def combined(*digests: bytes) -> str:
    """Return one key for several digests, as hex."""
    return _join("key", *digests).hex()


def constant_key(x: Any) -> object:
    """Return a key that is equal for equal compile-time values: 1, True and 1.0 are three, and 0.0 and -0.0 are two.

    Objects are compared by class and state, functions by code and closures, values without a digest by identity. The
    key is valid within this process, while `x` or another value with the same key is alive.
    """
    reader = _Reader(False, here=True)
    digest = reader.whole(x)
    return Same(x) if reader.problems else digest


def lasts(x: Any) -> bool:
    """Tell whether `constant_key(x)` never changes while `x` exists, since nothing in `x` can be changed in place.

    It is assumed that nobody replaces a function's code or defaults, what a partial holds, or the fields of a frozen
    dataclass. Variables of closures are watched (`Source.cells`).
    """
    kind = type(x)
    if kind in _ATOMS or isinstance(x, type | types.ModuleType | types.BuiltinFunctionType | DimExpr):
        return True
    if kind.__module__ in ("numpy", "ml_dtypes") and hasattr(x, "item"):
        return not hasattr(x, "__setitem__")
    if isinstance(x, types.FunctionType):
        named = (x.__kwdefaults__ or {}).values()
        return all(map(lasts, (x.__defaults__, *named, *map(content, x.__closure__ or ()))))
    if isinstance(x, functools.partial):
        return all(map(lasts, (x.func, x.args, *x.keywords.values())))
    if isinstance(x, tuple | frozenset) and not hasattr(x, "__dict__"):
        return all(map(lasts, x))
    if isinstance(x, enum.Enum):
        return lasts(x.value)
    if isinstance(x, Frozen):
        return all(map(lasts, x.fields()))
    if hasattr(kind, "__dataclass_params__") and kind.__dataclass_params__.frozen:
        return all(lasts(getattr(x, name)) for name in kind.__dataclass_fields__)
    return False


class Same:
    """A key that compares an object by identity. It keeps the object alive, so that its id is not reused."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.held is self.held

    def __hash__(self) -> int:
        return id(self.held)


@functools.cache
def build_id() -> bytes:
    """Return a digest of the compiler's source files, by names, sizes and times, and of the Python version.

    Where all files have the same time, as in reproducible builds and package stores, their contents count instead of
    times; reading these takes 20 ms.
    """
    roots = [package for name in sorted(OURS) for package in sys.modules[name].__path__]
    files = sorted(file for root in roots for file in _files(root, os.path.basename(root)))
    stamped = len({time for _, _, _, time in files}) > 1
    parts = (f"{size} {time}".encode() if stamped else _content_of(path) for _, path, size, time in files)
    return _join("build", *(name.encode() for name, _, _, _ in files), *parts, sys.version.encode())


def _content_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _files(folder: str, name: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield name, path, bytes and time of each source file."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{name}/{entry.name}", entry.path, status.st_size, status.st_mtime_ns
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _files(entry.path, f"{name}/{entry.name}")


def _join(tag: str, *parts: bytes) -> bytes:
    state = blake2b(tag.encode(), digest_size=20)
    for part in parts:
        state.update(b"%d:" % len(part))
        state.update(part)
    return b"#" + state.digest()


def _text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_ATOMS: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda x: b"None",
    bool: lambda x: b"bool%d" % x,
    int: lambda x: b"int%x" % x,
    float: lambda x: b"float" + x.hex().encode(),
    complex: lambda x: b"complex" + x.real.hex().encode() + b"," + x.imag.hex().encode(),
    str: lambda x: b"str" + _text(x),
    bytes: lambda x: b"bytes" + x,
    type(Ellipsis): lambda x: b"Ellipsis",
    type(NotImplemented): lambda x: b"NotImplemented",
}
_CONTENT: dict[type, Callable[[Any], Any]] = {  # of an instance of a subclass, whatever it overrides
    int: int.__index__,
    float: float.__float__,
    str: str.__str__,
    bytes: lambda x: bytes.__getitem__(x, slice(None)),
    tuple: lambda x: tuple.__getitem__(x, slice(None)),
    list: lambda x: list.__getitem__(x, slice(None)),
    dict: lambda x: dict(dict.items(x)),
    set: lambda x: frozenset(set.__iter__(x)),
    frozenset: lambda x: frozenset(frozenset.__iter__(x)),
}
_BY_NAME = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)


class _Reader:
    """Computes the digests of values from their parts; of each object once.

    An object that is reached again from within itself is represented by its depth, so that cycles end.

    positions  whether files and lines are part of the digest
    here       whether the digest is for this process alone: classes, modules, code and globals then count by their ids
    """

    def __init__(self, positions: bool, here: bool = False) -> None:
        self.positions = positions
        self.here = here
        self.problems: list[str] = []
        self.names: dict[tuple[int, str | bytes], tuple[dict[Any, Any], str | bytes, Any]] = {}
        self.cells: dict[int, tuple[types.CellType, Any]] = {}
        self._known: dict[int, tuple[Any, bytes]] = {}  # id -> the object (which keeps the id from reuse), its digest
        self._open: dict[int, int] = {}
        self._modules: dict[str, types.ModuleType] = {}  # the user's modules
        self._named: set[str] = set()  # attributes and strings in code: names that may be taken from those modules
        self._strings: set[str] = set()  # in code
        self._by_string: set[str] = set()  # those of `_strings` that may name attributes
        self._later: list[set[str]] = []  # the strings of each code object that takes attributes by strings
        self._asked_for: set[str] = set()  # what code asks of the system, such as 'os.environ'
        self._own: list[Any] = []  # the user's functions and classes

    def whole(self, x: Any) -> bytes:
        """Return the digest of `x` and of everything that its code may take from the modules it reaches."""
        try:
            parts = [self.of(x), *self._from_modules(), *self._descriptions()]
            self._watch_asked()
            for name in sorted(self._named & UNSEEN):
                self._fail(f"its code asks for {name}, which may be anything")
            digest = _join("whole", *parts, *self._from_modules())
        except RecursionError:
            self.problems.append("it is nested too deeply to be read")
            return b""
        for namespace in map(vars, self._modules.values()):
            for name in self._by_string - namespace.keys():  # not there yet
                self.names[id(namespace), name] = (namespace, name, MISSING)
        for cls in () if self.here else self._own:
            if isinstance(cls, type):
                self._watch_class(cls)
        return digest

    def of(self, x: Any) -> bytes:
        atom = _ATOMS.get(type(x))
        if atom is not None:
            return atom(x)
        if id(x) in self._known:
            return self._known[id(x)][1]
        if id(x) in self._open:
            return b"up%d" % self._open[id(x)]
        self._open[id(x)] = len(self._open)
        digest = self._object(x)
        del self._open[id(x)]
        self._known[id(x)] = (x, digest)
        return digest

    def _all(self, tag: str, items: Iterable[Any]) -> bytes:
        return _join(tag, *map(self.of, items))

    def _fail(self, why: str) -> bytes:
        self.problems.append(why)
        return b""

    def _object(self, x: Any) -> bytes:
        if self.here and isinstance(x, type | types.ModuleType | types.CodeType):
            return b"id%d" % id(x)
        match x:
            case types.FunctionType():
                return self._function(x)
            case types.CodeType():
                return self._code(x)
            case types.ModuleType():
                return self._module(x)
            case types.MethodType():
                return self._all("method", (x.__func__, x.__self__))
            case types.BuiltinFunctionType() | types.MethodWrapperType():  # bound to a module or an object
                if isinstance(x.__self__, types.ModuleType) and not self.here:
                    self._asks(x.__self__.__name__, x.__name__)
                return self._all("builtin", (type(x).__name__, x.__qualname__, x.__self__))
            case property():
                return self._all("property", (x.fget,))
            case staticmethod() | classmethod():
                return self._all(type(x).__name__, (x.__func__,))
            case functools.cached_property():
                return self._all("cached_property", (x.func,))
            case functools._lru_cache_wrapper():
                return self.of(x.__wrapped__)
            case types.MappingProxyType():
                return self.of(dict(x))
            case TypeVar():
                return self._all("TypeVar", (x.__name__,))
            case enum.Enum():
                return self._all("enum", (type(x), x.name, x.value))
            case type():
                return self._class(x)
            case DimExpr():
                return _join("DimExpr", _text(str(x)))
        if x is sys.modules or config.is_environment(x):
            return self._asked("sys.modules" if x is sys.modules else "os.environ")
        if type(x) in (tuple, list):
            return self._all(type(x).__name__, x)
        if type(x) is dict:
            return self._all("dict", (part for item in x.items() for part in item))
        if type(x) in (set, frozenset):
            return _join(type(x).__name__, *sorted(map(self.of, x)))
        if isinstance(x, _BY_NAME):
            return self._all("descriptor", (x.__objclass__, x.__name__))
        return self._instance(x)

    # Code.

    def _function(self, function: types.FunctionType) -> bytes:
        known = _known_by_name(function)
        if known is not None:
            self._asks(function.__module__, function.__qualname__)
            self._named.add(function.__name__)  # whatever it is called here
            return _join("function", _text(known))
        self._own.append(function)
        parts: list[Any] = [function.__name__, function.__code__, function.__defaults__, function.__kwdefaults__]
        parts.append({k: v for k, v in vars(function).items() if k != "__wrapped__"})
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            held = content(cell)
            self.cells[id(cell)] = (cell, held)
            parts += (name, *(() if held is MISSING else (held,)))
        if self.here:
            parts.append(id(function.__globals__))
        else:
            taken = [(code, list(_taken(code))) for code in _codes(function.__code__)]
            for name in sorted({name for _, names in taken for name, _ in names}):
                parts += self._global(function, name)
            for code, names in taken:
                for name, attribute in names:
                    module = function.__globals__.get(name)
                    if isinstance(module, types.ModuleType):
                        self._asks(module.__name__, attribute)
                parts += self._imported(function, code)
        return self._all("own function", parts)

    def _imported(self, function: types.FunctionType, code: types.CodeType) -> list[Any]:
        """Import the modules that code imports when it runs, and return them with their names."""
        found: list[Any] = []
        for name, fromlist, level in _imports(code):
            try:
                module = __import__(name, function.__globals__, None, fromlist or (), level)
            except ImportError as error:
                self._fail(f"`{function.__qualname__}` imports {name}, which cannot be ({error})")
                continue
            whole = sys.modules.get(name, module) if level == 0 else module
            found += (name, module, whole)
            if whole is not module or fromlist is None:
                taken = set(code.co_names) & vars(whole).keys()
            else:
                taken = set(fromlist)
            for attribute in taken or {""}:
                self._asks(whole.__name__, attribute)
        return found

    def _asks(self, module: str, attribute: str) -> None:
        """Note it if `attribute` of a module asks the system; empty for the module itself."""
        if _is_library(_root(module)) and purity.asks(module, attribute):
            self._asked(f"{module}.{attribute}".rstrip("."))

    def _asked(self, what: str) -> bytes:
        """Note that code asks the system."""
        self._asked_for.add(what)
        return self._fail(f"its code asks for {what}, which no key holds")

    def _watch_asked(self) -> None:
        """Watch those things the code asks for that can be watched: environment variables, and modules by name."""
        if not self._asked_for.isdisjoint(_ENVIRONMENT):
            variables, names = config.held_in_environment(self._strings)
            for name in names:
                self.names[id(variables), name] = (variables, name, variables.get(name, MISSING))
        if "sys.modules" in self._asked_for:
            for text in sorted(text for text in self._strings if text in sys.modules):
                self.of(sys.modules[text])

    def _global(self, function: types.FunctionType, name: str) -> tuple[Any, ...]:
        namespace = function.__globals__
        if name in namespace:
            self._watch(namespace, name)
            return name, namespace[name]
        self.names[id(namespace), name] = (namespace, name, MISSING)  # a builtin, or a name that is not there yet
        if name in NAME_READERS:
            self._fail(f"`{function.__qualname__}` calls {name}(), which reaches names that its code does not show")
        self._asks("builtins", name)
        return ()

    def _watch(self, namespace: dict[str, Any], name: str) -> None:
        held = namespace.get(name, MISSING)
        if not isinstance(held, types.ModuleType) or _root(held.__name__) not in OURS:
            self.names[id(namespace), name] = (namespace, name, held)

    def _watch_class(self, cls: type) -> None:
        """Watch those attributes of a class that code may take, also if not there yet or hiding inherited ones."""
        (namespace,) = gc.get_referents(vars(cls))  # the dict, which changes with the class
        for name in self._by_string | (self._named & set().union(*map(vars, cls.__mro__[:-1]))):
            self._watch(namespace, name)

    def _code(self, code: types.CodeType) -> bytes:
        self._named.update(code.co_names)
        strings = {c for c in code.co_consts if isinstance(c, str)}
        self._strings |= strings
        if not NAMED_LATER.isdisjoint(code.co_names):
            self._named |= strings
            self._by_string |= strings
            self._later.append(set() if "__dict__" in code.co_names else strings)
        parts = (code.co_name, code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
                 code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags,
                 code.co_exceptiontable, code.co_consts)  # fmt: skip
        places = (code.co_filename, code.co_firstlineno, code.co_linetable) if self.positions else ()
        return self._all("code", (*parts, *places))

    def _module(self, module: types.ModuleType) -> bytes:
        if _is_library(_root(module.__name__)):
            return _join("module", _text(module.__name__), _text(_version(_root(module.__name__))))
        if module.__name__ not in self._modules:
            self._modules[module.__name__] = module
            if "__getattr__" in vars(module):
                self._named.add("__getattr__")
        return _join("own module", _text(module.__name__))

    def _from_modules(self) -> Iterator[bytes]:
        """Yield digests of the attributes that code takes of the user's modules, until it reaches no further ones."""
        done: set[tuple[str, str]] = set()
        while True:
            reached = ((m, name) for m, module in self._modules.items() for name in self._taken_of(module))
            new = sorted(pair for pair in reached if pair not in done)
            if not new:
                return
            done.update(new)
            for name, attribute in new:
                namespace = vars(self._modules[name])
                self._watch(namespace, attribute)
                yield self._all("attribute", (name, attribute, namespace[attribute]))

    def _taken_of(self, module: types.ModuleType) -> set[str]:
        """Return the names of the attributes that code may take of one of the user's modules.

        Where code takes attributes by strings, and none of its strings is such a name, it composes names at run time:
        then every attribute that holds a number or text counts.
        """
        known = {name for each in self._modules.values() for name in list(vars(each))}  # other threads may add some
        if not any(strings.isdisjoint(known) for strings in self._later):
            return self._named & vars(module).keys()
        return {name for name, held in list(vars(module).items()) if name in self._named or type(held) in _ATOMS}

    def _descriptions(self) -> Iterator[bytes]:
        """Yield digests of what describes the user's functions and classes, if code asks for such."""
        if self.here or self._named.isdisjoint(DESCRIBERS):
            return
        import inspect  # takes some milliseconds, so only for such code

        for x in self._own:  # of which there may be more with each digest
            try:
                annotations = inspect.get_annotations(x)
            except Exception as error:  # they are any code
                yield self._fail(f"the annotations of `{x.__qualname__}` cannot be read ({error})")
                continue
            yield self._all("described", (annotations, *(getattr(x, name, None) for name in DESCRIPTIONS)))

    # Classes and objects.

    def _class(self, cls: type) -> bytes:
        known = _known_by_name(cls)
        if known is not None:
            if not isinstance(cls, enum.EnumMeta):
                self._asks(cls.__module__, cls.__qualname__)
            return _join("class", _text(known), *map(_text, _registered(cls)))
        self._own.append(cls)
        parts: list[Any] = [cls.__module__, cls.__qualname__, cls.__bases__, _registered(cls)]
        if type(cls) is not type:
            parts.append(type(cls))
        if isinstance(cls, enum.EnumMeta):  # values of its members, and those other attributes that the user wrote
            parts += (part for name in cls.__members__ for part in (name, cls[name].value))
        for name, member in sorted(vars(cls).items()):
            written = isinstance(member, types.FunctionType | property | staticmethod | classmethod)
            if name not in _OF_NO_CONSEQUENCE and (written or not isinstance(cls, enum.EnumMeta)):
                parts += (name, member)
        if hasattr(cls, "__cutelite_parts__"):  # shared storage: its annotations say what it allocates
            parts += cls.__cutelite_parts__()
        return self._all("own class", parts)

    def _instance(self, x: Any) -> bytes:
        kind = type(x)
        if _home(kind) in OURS and hasattr(x, "__cutelite_function__"):
            return self.of(x.__cutelite_function__)  # a kernel that a kernel calls
        if _home(kind) in TOOLS:
            return _join("tool", _text(_class_name(kind)), _text(_version(_home(kind))))
        if hasattr(kind, "__cutelite_key__"):
            return self._all("keyed", (kind, x.__cutelite_key__()))
        if hasattr(kind, "__dlpack__") and not any(_home(c) == "numpy" for c in kind.__mro__):
            return self._fail(f"an array ({_class_name(kind)}) is among its constants")
        if any(map(_keeps_state, kind.__mro__)):
            return self._reduced(x)
        content = [get(x) for base, get in _CONTENT.items() if isinstance(x, base)]
        return self._all("instance", (kind, content, _state(x)))

    def _reduced(self, x: Any) -> bytes:
        """Digest an object of a library by the data from which `copy` and `pickle` would rebuild it."""
        reduce = copyreg.dispatch_table.get(type(x))
        try:
            made: Any = reduce(x) if reduce else x.__reduce_ex__(4)
        except Exception as error:  # libraries raise exceptions of any class
            return self._fail(f"a {_class_name(type(x))} is among its constants ({error})")
        if isinstance(made, str):
            home = getattr(x, "__module__", None) or type(x).__module__
            if getattr(sys.modules.get(home), made, MISSING) is not x:
                return self._fail(f"a {_class_name(type(x))} is among its constants, and is not {home}.{made}")
            return self._all("named", (type(x), made, home, _version(_root(home))))
        function, args, state, items, pairs = (*made, None, None, None)[:5]
        if isinstance(state, dict):  # of ours too, of which some facts may have been asked for
            state = _without_results(x, state)
        more = {} if _is_library(_home(type(x))) else _state(x)  # of a user's class, whose base may leave it out
        return self._all("reduced", (function, args, state, items and list(items), pairs and list(pairs), more))


def _keeps_state(cls: type) -> bool:
    """Tell whether a class is a library's, with instances that may hold more than attributes show."""
    if cls in _CONTENT or cls is object or cls.__module__ in ("abc", "typing", "collections.abc"):
        return False
    return _is_library(_home(cls))


_OF_NO_CONSEQUENCE = frozenset(
    (
        *("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__", "__annotate__"),
        *("__firstlineno__", "__slots__", "__static_attributes__", "__dataclass_fields__", "__dataclass_params__"),
        *("__parameters__", "__orig_bases__", "__type_params__", "__abstractmethods__", "_abc_impl"),
        *("__slotnames__", "__annotations_cache__", "__annotate_func__"),  # added by `copyreg` and `annotationlib`
        "__classdictcell__",  # of named tuples since 3.14
    )
)
"""Members of a class that are left out. Dataclass fields count through the methods that are made from them."""


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a function's code object, and those of the functions inside."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _taken(code: types.CodeType) -> Iterator[tuple[str, str]]:
    """Yield the name of each global that code loads, and the attributes that it takes next: `path.exists`."""
    ops, args, names = code.co_code[::2], code.co_code[1::2], code.co_names

    def argument(at: int) -> int:
        more = argument(at - 1) << 8 if at and ops[at - 1] == EXTENDED_ARG else 0
        return args[at] | more

    for at, op in enumerate(ops):
        if op not in _LOADS:
            continue
        attributes, following = [], at + 1
        while following < len(ops) and (ops[following] in (_CACHE, EXTENDED_ARG) or ops[following] in _ATTR_SHIFT):
            if ops[following] in _ATTR_SHIFT:
                attributes.append(names[argument(following) >> _ATTR_SHIFT[ops[following]]])
            following += 1
        # The lowest bit of LOAD_GLOBAL's argument says whether a NULL goes below it (CPython 3.11 to 3.13).
        yield names[argument(at) >> (op == _LOAD_GLOBAL)], ".".join(attributes)


def _imports(code: types.CodeType) -> Iterator[tuple[str, tuple[str, ...] | None, int]]:
    """Yield the imports of code that is run: the module's name, the names taken from it (None without), the level."""
    if _IMPORT_NAME not in code.co_code[::2]:
        return
    import dis  # takes a millisecond, so only for code that imports

    constants: list[Any] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            level, fromlist = constants[-2:]
            yield str(instruction.argval), fromlist, level
        elif instruction.opname.startswith("LOAD_") and instruction.opname.endswith(("_CONST", "_INT")):
            constants.append(instruction.argval)


_LOAD_GLOBAL = opmap["LOAD_GLOBAL"]
_IMPORT_NAME, _CACHE = opmap["IMPORT_NAME"], opmap["CACHE"]
# The lowest bit of LOAD_ATTR says whether a method is loaded, from CPython 3.12 on; 3.11 has an instruction for that.
_ATTR_SHIFT = (
    {opmap["LOAD_ATTR"]: 1} if sys.version_info >= (3, 12) else {opmap["LOAD_ATTR"]: 0, opmap["LOAD_METHOD"]: 0}
)
_LOADS = {opmap[name] for name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS") if name in opmap}


def content(cell: types.CellType) -> Any:
    """Return what a variable of an enclosing function holds; `MISSING` if it is not bound."""
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return MISSING


def _state(x: Any) -> dict[str, Any]:
    """Return the attributes of an object by name, sorted."""
    slots = (name for cls in type(x).__mro__ for name in _slots(cls) if hasattr(x, name))
    state = {name: getattr(x, name) for name in slots}
    held = getattr(x, "__dict__", None)  # an object with `__getattr__` may return anything
    state |= held if isinstance(held, dict) else {}
    return _without_results(x, {name: state[name] for name in sorted(state)})


def _without_results(x: Any, state: dict[str, Any]) -> dict[str, Any]:
    """Return attributes without results of a `cached_property`, which are there only after somebody asked for them."""
    members = {name: next((vars(c)[name] for c in type(x).__mro__ if name in vars(c)), None) for name in state}
    return {name: state[name] for name, of in members.items() if not isinstance(of, functools.cached_property)}


def _slots(cls: type) -> Iterator[str]:
    given = vars(cls).get("__slots__", ())
    for name in (given,) if isinstance(given, str) else given:
        private = name.startswith("__") and not name.endswith("__")
        if name not in ("__dict__", "__weakref__"):
            yield f"_{cls.__name__.lstrip('_')}{name}" if private else name


def _registered(cls: type) -> list[str]:
    """Return the names of the user's classes that are instances of an abstract class by `register`."""
    if "_abc_impl" not in vars(cls):
        return []
    classes = (reference() for reference in _get_dump(cls)[0])
    return sorted(_class_name(each) for each in classes if each is not None and not _is_library(_home(each)))


def _known_by_name(x: Any) -> str | None:
    """Return name and version of a library's function or class; None for the user's, and for those made at run time."""
    module, root = x.__module__, _home(x)
    if not _is_library(root) or "<" in x.__qualname__:
        return None
    if isinstance(x, types.FunctionType):  # `functools.wraps` gives a function of the user's any name
        own = x.__code__.co_filename.startswith((_folder(root), "<frozen"))
    else:
        found: Any = sys.modules.get(module)
        for part in x.__qualname__.split("."):
            found = getattr(found, part, None)
        own = found is x
    return f"{module}.{x.__qualname__} {_version(root)}" if own else None


def _home(x: Any) -> str:
    """Return the package of a function or class; empty where it has none, as classes made in C may."""
    return _root(x.__module__) if isinstance(x.__module__, str) else ""


def _root(module: str) -> str:
    return module.partition(".")[0]


@functools.cache
def _is_library(root: str) -> bool:
    """Tell whether a package is Python's, ours, or in `LIBRARIES` or `TOOLS`, and not the user's own of that name."""
    if root in OURS | LIBRARIES | TOOLS:
        return True
    if root not in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(root), "__file__", None)
    return file is None or os.path.abspath(file).startswith(_STDLIB)


_STDLIB = os.path.dirname(os.__file__)


@functools.cache
def _folder(root: str) -> str:
    """Return the folder of a library's files."""
    path = getattr(sys.modules.get(root), "__path__", None)
    return next(iter(path)) if path else _STDLIB


def _version(root: str) -> str:
    return str(getattr(sys.modules.get(root), "__version__", ""))


def _class_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
