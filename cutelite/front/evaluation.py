"""The state that the frames of one kernel share, and the errors for exceptions that Python raises."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Mapping
from typing import Any

from cutelite.diag import CompileError, Diagnostic, Mistake, Span
from cutelite.diag.nearest import did_you_mean
from cutelite.front.instructions import Bytecode
from cutelite.front.loops.run_time import Known
from cutelite.front.mutation import Mutables
from cutelite.front.reach import reaches
from cutelite.front.strings import RuntimeText
from cutelite.ir.builder import Builder
from cutelite.ir.types import mbarrier
from cutelite.lang.emit import Runtime, describe, mistake
from cutelite.lang.mbarrier import Barrier
from cutelite.lang.promotion import no_dtype
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import RuntimeNumber
from cutelite.layout import DimExpr, LayoutArgumentError


class Evaluation:
    """The evaluation of one kernel.

    variables  whether the user's variables are kept for debuggers
    frame   the innermost `Frame` that is executing an instruction (frames know this module, not the other way round)
    memory  facts about loops that have been executed before
    depth   the depth of inlined calls
    entry   the function of `cutelite.lib` that is being inlined, as the user's code called it, and its arguments
    cached  results of functions under `functools.cache`
    """

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.assertions = bool(builder.function.attrs.get("assertions"))
        self.variables = bool(builder.function.attrs.get("debug"))
        self.mutables = Mutables()
        self.memory: dict[Any, Known] = {}
        self.frame: Any = None
        self.mutables.reaches = lambda sought: reaches(self.frame, sought)
        self.depth = 0
        self.entry: tuple[types.CodeType, dict[str, Any]] | None = None
        self.cached: dict[Any, Any] = {}
        self._spans: dict[tuple[int, int], tuple[Bytecode, Span | None, dict[int, Span]]] = {}

    def spans_of(self, code: Bytecode, call: Span | None) -> dict[int, Span]:
        """Return the spans of a function's instructions, inlined at `call`, by offset; filled as they are met."""
        held = self._spans.get((id(code), id(call)))
        if held is None:
            held = self._spans[id(code), id(call)] = (code, call, {})  # both are kept alive: ids stay their own
        return held[2]

    def printf(self, text: RuntimeText) -> None:
        from cutelite.lang.debug import printf  # late: only kernels that print need it

        template, args = text.printf()
        printf(template, *args)

    # Mistakes.

    def python_error(self, error: Exception, executed: Any, args: Any, kwargs: Mapping[str, Any]) -> CompileError:
        """Return the error for an exception that Python raised while it `executed` a function at compile time."""
        if type(error).__name__ == "LayoutError":
            return CompileError(Mistake("layout", str(error)), self.builder.span)
        if isinstance(error, AttributeError) and isinstance(error.obj, Runtime):
            return self.no_attribute(error.obj, str(error.name))
        library = _library_of(executed) if isinstance(error, TypeError) else ""
        if self.entry is not None and not library:
            return CompileError(_not_taken(error, *self.entry), self.builder.span)
        ours = (getattr(executed, "__module__", None) or "").startswith(_PUBLIC)
        if (origin := _origin(error)) is not None:
            if isinstance(dim := origin.f_locals.get("self"), DimExpr):  # Python asked it
                needed = Mistake("runtime-index", _NEEDED, f"this is {describe(dim)}", _KNOWN)
                return CompileError(needed, self.builder.span)
            told = _not_taken_by(error, executed, args, kwargs) if ours else None
            if told is None and isinstance(error, LayoutArgumentError):
                told = _refused(error, error.function, error.given, f"it is `{error.signature}`")
            return CompileError(told or _not_taken(error, origin.f_code, origin.f_locals), self.builder.span)
        text, help = str(error), ""
        called = types.FunctionType | types.MethodType | type
        if ours and isinstance(error, TypeError) and isinstance(executed, called) and not hasattr(executed, "create"):
            return CompileError(Mistake("call", text, help=f"it is `{_signature(executed)}`"), self.builder.span)
        if ours and hasattr(executed, "create"):
            help = f"`{executed.__name__}.create(...)` makes one"
        elif isinstance(error, TypeError) and "unsupported operand" in text:
            help = "one of the operands is not a number, or has no such operator"
        elif library or (isinstance(error, TypeError) and "__array_ufunc__" in text):
            help = (
                f"{library or 'NumPy'} computes while the kernel is compiled; functions of `cl.math`, and `cl.where`, "
                "take run-time numbers, and `cl.vector(*array)` makes a vector of an array"
            )
        said = f"`{executed.__name__}`: {text.splitlines()[0]}" if library and text else text
        return CompileError(Mistake("python-error", f"{type(error).__name__}: {said}", help=help), self.builder.span)

    def of_arguments(self, error: CompileError, executed: Any, args: Any, kwargs: Mapping[str, Any]) -> CompileError:
        """Return `error`, or a plainer one: a run-time number where a function of ours needs one that is known now."""
        ours = (getattr(executed, "__module__", None) or "").startswith(_PUBLIC)
        code = error.diagnostic.code
        own = _users_function(error) if code == "runtime-condition" else ""
        if own:
            title = f"a run-time value decides something in `{own}`, which Python executes"
            help = "methods that the kernel calls by name are inlined, and may branch on it"
            return CompileError(Mistake(code, title, help=help), self.builder.span)
        if not ours or code not in ("runtime-text", "runtime-condition") or error.span != self.builder.span:
            return error
        try:
            given = inspect.signature(executed).bind(*args, **kwargs).arguments
        except (TypeError, ValueError):
            return error
        kind = Runtime if code == "runtime-text" else RuntimeNumber
        for name, x in given.items():
            if isinstance(x, kind):
                title = f"`{name}` of `{executed.__name__}` must be known at compile time, but is {describe(x)}"
                return CompileError(Mistake("runtime-argument", title, help=_KNOWN), self.builder.span)
        return error

    def no_attribute(self, obj: Any, name: str) -> CompileError:
        """Return the error for an attribute that an object lacks."""
        if self.entry is not None:
            return CompileError(_not_taken(AttributeError(), *self.entry), self.builder.span)
        from cutelite.lang.foreign import ATTRIBUTES, suggestion  # imported here: only a misspelling needs it

        module = obj.__name__.replace("cutelite.lang.", "cutelite.") if isinstance(obj, types.ModuleType) else ""
        what = f"module `{module}`" if module else describe(obj)
        if isinstance(obj, Tensor) and obj.dtype == mbarrier and hasattr(Barrier, name):
            help = f"a tensor of barriers is indexed first: `t[i].{name}`, or `t[()].{name}` if its shape is ()"
        elif isinstance(obj, types.ModuleType) and obj.__name__ == "cutelite":
            help = suggestion(name, [each for each in dir(obj) if each[0] != "_"])
        else:
            known = [each for each in dir(obj) if each[0] != "_" or name[0] == "_"]
            home = (getattr(obj, "__module__", None) or type(obj).__module__).partition(".")[0]
            other = ATTRIBUTES.get(name) if home in ("cutelite", "numpy", "builtins") else ""  # not a user's own names
            if isinstance(obj, types.ModuleType):
                other = f"write Python's `{name}`" if name in ("min", "max", "sum", "round", "divmod") else ""
            help = other or did_you_mean(name, known)
        return mistake("attribute", f"{what} has no attribute `{name}`", help=help)


def _library_of(function: Any) -> str:
    """Return the name of the library of arrays that a function is from; '' for any other function."""
    owner = getattr(function, "__objclass__", function)
    module = (getattr(owner, "__module__", None) or type(owner).__module__).partition(".")[0]
    return {"numpy": "NumPy", "jax": "JAX", "torch": "torch"}.get(module, "")


def _origin(error: Exception) -> types.FrameType | None:
    """Return the frame of the cutelite function that raised the exception; None if Python itself raised it."""
    step = error.__traceback__
    while step is not None:
        module = step.tb_frame.f_globals.get("__name__", "")
        if module.startswith(("cutelite.", "cutelite_rt.")) and not module.startswith("cutelite.front"):
            return step.tb_frame
        step = step.tb_next
    return None


def _users_function(error: Exception) -> str:
    """Return the name of the user's function that Python called, and that raised the exception; '' if none did."""
    found, step = "", error.__traceback__
    while step is not None:
        module = step.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        if module not in ("cutelite", "numpy", "torch") and module not in sys.stdlib_module_names:
            found = step.tb_frame.f_code.co_qualname
        step = step.tb_next
    return found


def _signature(function: Any) -> str:
    """Return how a function is called: names and defaults, without types."""
    found = inspect.signature(function)
    bare = [each.replace(annotation=each.empty) for each in found.parameters.values()]
    return f"{function.__name__}{found.replace(parameters=bare, return_annotation=found.empty)}"


def _not_taken(error: Exception, code: types.CodeType, found: Mapping[str, Any]) -> Diagnostic:
    """Return the error for a function of ours that failed: its arguments, and its own message if that was meant.

    found   its arguments, and maybe other variables, by name
    """
    names = [name for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if name not in _HIDDEN]
    owner = found.get("self")
    name = code.co_qualname if owner is None else f"{type(owner).__name__.lstrip('_')}.{code.co_name}"
    return _refused(error, name, {name: found[name] for name in names if name in found})


def _not_taken_by(error: Exception, function: Any, args: Any, kwargs: Mapping[str, Any]) -> Diagnostic | None:
    """Return the same for a call, of a function that may have a wrapper; None for one without a signature."""
    try:
        told = _signature(function)
    except (TypeError, ValueError, AttributeError):
        return None
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError as wrong:
        return Mistake("argument", f"{function.__qualname__}(): {wrong}", help=f"it is `{told}`")
    given = {name: x for name, x in given.items() if name not in _HIDDEN}
    return _refused(error, function.__qualname__, given, f"it is `{told}`")


def _refused(error: Exception, name: str, given: Mapping[str, Any], *help: str) -> Diagnostic:
    packed = next((x for x in given.values() if hasattr(x, "per_word")), None)
    if packed is not None:
        return no_dtype(packed).diagnostic
    meant = isinstance(error, ValueError | OverflowError | NotImplementedError) and not isinstance(error, TypeError)
    title = f"{name}: {error}" if meant else f"{name}() does not take these arguments"
    shown = ", ".join(f"{name} = {_shown(x)}" for name, x in given.items())
    return Mistake("argument", title, shown, (*help, "are these of the kinds that its documentation names?"))


_NEEDED = "a number known at compile time is needed here"
_KNOWN = "make it a Constexpr, a literal, or a `cl.static_range` variable; for a layout, `cl.dim(x)`"

_PUBLIC = ("cutelite.lang", "cutelite.lib", "cutelite.layout")
"""Where functions and classes that kernels call are from."""

_HIDDEN = ("self", "cls")


def _shown(x: Any) -> str:
    text = describe(x)
    return text if len(text) < 60 else f"{text[:57]}..."
