"""Custom operators of torch that launch kernels: opaque to torch.compile and autograd, with shapes known without a GPU.

    @custom_op("mylib::add", mutates_args=())
    def add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        c = torch.empty_like(a)
        vector_add[cl.ceil_div(a.numel(), 256), 256](a, b, c)
        return c

torch also needs a fake implementation of an operator, which returns tensors of the right shapes without computing. Here
the function itself serves as that, run on fake tensors without its launches.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import torch
from torch._library.infer_schema import infer_schema
from torch.fx.experimental.proxy_tensor import get_proxy_mode

from cutelite.dispatch.divert import diverted, left_out, nothing
from cutelite.interop import torch_levels
from cutelite.interop.planned import Operator, operators, planned, planning
from cutelite.interop.torch_flops import count_flops
from cutelite_rt import ArgumentError
from cutelite_rt.arrays.memory import imagined_addresses

Function = Callable[..., Any]
Results = str | tuple[str, ...] | Function | None
WIDE = torch.float32, torch.float16, torch.bfloat16
"""Dtypes that autocast casts."""
DEVICES = "cuda", "cpu"
"""Kinds of devices for which operators are cast."""


def traced(*tensors: Any) -> bool:
    """Tell whether a call with these arguments has to go to an operator, since a tensor among them holds no data.

    So it is where torch.compile traces the call, for fake and meta tensors, and within transforms of `torch.func`,
    where new tensors hold none either; and where `torch.jit.trace` or `make_fx` records operators, and no launches.
    """
    if torch.compiler.is_dynamo_compiling():
        return True
    if left_out():
        return False
    if torch.compiler.is_compiling() or recorded():
        return True
    torch_levels.check_tangents(*tensors)
    return torch_levels.in_levels() or any(without_data(x) for x in tensors if isinstance(x, torch.Tensor))


def recorded() -> bool:
    """Tell whether `torch.jit.trace` or `make_fx` records operators: what a launch writes is missing in a record."""
    return bool(torch._C._is_tracing() or (torch._C._len_torch_dispatch_stack() and get_proxy_mode() is not None))


def watched(*tensors: Any) -> bool:
    """Tell whether operators of these tensors are dispatched to Python: to a mode that is on, or by a tensor's class.

    Such a call goes to an operator if there is one, for it to be counted, distributed or kept like torch's.
    """
    plain = (torch.Tensor, torch.nn.Parameter)
    if not torch._C._len_torch_dispatch_stack() and not any(
        isinstance(x, torch.Tensor) and type(x) not in plain and torch._C._dispatch_keys(x).has(_PYTHON)
        for x in tensors
    ):
        return False
    return not (left_out() or planning() or torch._C._dispatch_tls_is_dispatch_key_excluded(_PYTHON))


_PYTHON = torch._C.DispatchKey.Python


def in_transform(*tensors: Any) -> bool:
    """Tell whether a transform of `torch.func` is under way, and one of these holds no data because of it."""
    return torch_levels.in_levels() and any(without_data(x) for x in tensors if isinstance(x, torch.Tensor))


def without_data(x: torch.Tensor) -> bool:
    try:
        if type(x) is torch.Tensor:  # a fake tensor, which is a subclass, warns
            return bool(x.is_meta or (not x.data_ptr() and x.numel() > 0))
        return bool(x.untyped_storage().device.type == "meta")
    except RuntimeError:
        return x.layout is torch.strided  # a transform's tensors have no storage; nor have sparse ones


def to_be_cast(*tensors: Any) -> bool:
    """Tell whether `torch.autocast` is on, and casts one of these tensors."""
    for x in tensors:
        if not isinstance(x, torch.Tensor):
            continue  # refused later, with its name
        kind = x.device.type
        if kind not in DEVICES:
            continue  # torch refuses to tell of others
        if torch.is_autocast_enabled(kind) and x.dtype in WIDE and x.dtype != torch.get_autocast_dtype(kind):
            return True
    return False


class CustomOp(Protocol):
    """An operator, or a decorator that makes one, as type checkers see it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...


def custom_op(
    name: str,
    function: Function | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
    results: Results = None,
    checked: bool = False,
    plans: bool | None = None,
) -> CustomOp:
    """Make an operator as `torch.library.custom_op` does, whose fake implementation is `function` without launches.

    name          'namespace::name', its name in torch.ops
    mutates_args  names of the arguments that it writes to
    device_types, schema   as for torch
    results       what serves as fake implementation where the function looks at what is in a tensor or where it is: the
                  name of an argument that the result is like, in shape and dtype, a tuple of names if it gives more, or
                  a function of the operator's arguments that allocates its results
    checked       the function looks at where tensors are, but not at what is in them: it is run on fake tensors too, to
                  refuse what it refuses of real ones. `results` is then for extents that are symbols
    plans         of an operator of cutelite's own: whether calls may be planned. None: torch's dispatcher looks for
                  what computes it, and checks that results have memory of their own
    Gives         torch's `CustomOpDef`: call it, give it `register_autograd`, `register_vmap`. A derivative that gives
                  None for a tensor that needs a gradient is refused, which torch takes as a gradient of nothing

    Without `results` the function must do with tensors only what torch can do without their values: allocate by shape,
    view, and launch.
    Kernels are launched in torch's current stream. A grid may be computed from sizes that torch.compile keeps symbolic.
    """

    def decorate(function: Function) -> Any:
        wanted = schema or infer_schema(function, mutates_args=mutates_args)
        whole = planned(function) if plans else function
        computed = torch_levels.without_views(whole)
        made = torch.library.custom_op(
            name, computed, mutates_args=mutates_args, device_types=device_types, schema=wanted
        )
        made.register_fake(fake_of(made, function, results, checked))
        if not made._opoverload._schema.is_mutable:
            apply = torch_levels.transform(made, DEVICES, None if plans is None else computed)
            if plans:
                operators[made._opoverload] = Operator(whole, apply)
        return made

    found: Any = decorate if function is None else decorate(function)
    return found  # type: ignore[no-any-return]


def fake_of(operator: Any, function: Function, results: Results, checked: bool) -> Function:
    """Return the fake implementation of an operator, given the arguments of `custom_op`."""
    told = operator._opoverload._schema
    giving = results_like(told, results) if isinstance(results, str | tuple) else results or function

    @functools.wraps(function)
    def fake(*args: Any, **kwargs: Any) -> Any:
        every, found = (*args, *kwargs.values()), None
        symbols = symbols_of(every)
        with diverted(nothing), imagined_addresses():
            if checked and all(x.node.has_hint() for x in symbols):
                found = function(*with_extents(args), **{name: with_extents(x) for name, x in kwargs.items()})
            if told.returns and (symbols or not checked):
                found = giving(*args, **kwargs)
        check_places(f"{operator._qualname}: ", every, found)
        return found

    return fake


def library_op(
    name: str, *, results: Results, out: tuple[str, ...] = (), mutates_args: Iterable[str] = (),
    flops: Callable[..., int] | None = None, plans: bool = True, **how: Any
) -> Callable[[Function], Any]:  # fmt: skip
    """Make operators of functions of `cutelite.kernels` and `cutelite.models`: `custom_op`, and `checked`.

    results  not left out, but for what gives nothing: the functions compare extents, and some symbols have no number
    out      names of the tensors to write of an out= form, if there is one: `into` of the operator. The function has a
             keyword `out` then, which the operator has not
    flops    of the operator's arguments: the floating-point operations that `torch.utils.flop_counter` counts. With an
             out= form it may use those alone that are before the tensors to write
    plans    calls may be planned: function and derivative depend on arguments alone, and on no functions of the user.
             Those of operators of lists, which may depend on how tensors lie to each other, never are
    """

    def decorate(function: Function) -> Any:
        taken = inspect.signature(function, eval_str=True)

        def told() -> None: ...

        told.__signature__ = taken.replace(  # type: ignore[attr-defined]
            parameters=[each for each in taken.parameters.values() if not (out and each.name == "out")]
        )
        schema = infer_schema(told, mutates_args=mutates_args)
        plans_too = plans and "[]" not in schema
        made: Any = custom_op(
            name,
            function,
            mutates_args=mutates_args,
            checked=True,
            results=results,
            schema=schema,
            plans=plans_too,
            **how,
        )
        if not made._opoverload._schema.is_mutable:
            made.register_autograd(functools.partial(refuse_derivative, made))  # until it is given one
        if out:
            made.into = out_form(made, function, *out)
        if flops is not None:
            count_flops(made._opoverload._overloadpacket, flops)
        return made

    return decorate


def derive(operator: Any, keep: Function, gradients: Function, only: int | None = None, needs: int = 0) -> None:
    """Give an operator its derivative.

    keep       of its result and its arguments: the tensors that the derivative needs, some of which may be None, and
               last a tuple of constants
    gradients  of the gradients of its results, these tensors and these constants: what the first arguments get; the
               others get none. Calls of it are planned where those of the operator may be
    only       how many of its results have gradients, each of which may be None then; others have none. Default: all
    needs      of how many first arguments `gradients` is told last, in a tuple, whether they need a gradient
    """

    def gradient(*given: Any) -> Any:
        return gradients(*given)

    if operator._opoverload in operators:
        gradient = planned(gradient)

    def remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.constants = keep(output, *inputs)
        ctx.save_for_backward(*tensors)
        if only is not None:
            ctx.mark_non_differentiable(*output[only:])
            ctx.set_materialize_grads(False)  # else torch fills zeros for each unused gradient, by a launch each

    def differentiate(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        needed = ctx.needs_input_grad
        told = ((*needed, *(False,) * needs)[:needs],) if needs else ()  # torch leaves out what a call leaves out
        compute = gradients if torch.compiler.is_dynamo_compiling() else gradient  # compiled autograd traces it
        made = compute(*grads[:only], *ctx.saved_tensors, *ctx.constants, *told)
        found = made if isinstance(made, tuple) else (made,)
        return *found, *(None,) * (len(needed) - len(found))

    operator.register_autograd(differentiate, setup_context=remember)


def called(operator: Any, out: Any, given: Iterable[Any], more: Iterable[Any] = ()) -> Any:
    """Return what an operator of `library_op` computes; where `out` is given, by its form with that.

    given  its arguments before the tensors to write, `more` those behind them
    """
    if out is None:
        return operator(*given, *more)
    operator.into(*given, out, *more)
    return out


def refuse_derivative(operator: Any, *_: Any) -> None:
    """Raise RuntimeError, as torch does, for the derivative of an operator of ours that has none."""
    again = operator._name.endswith("_backward")
    ways = (
        "leave create_graph=True out: there are no derivatives of derivatives" if again else "detach what it is given"
    )
    raise RuntimeError(f"{operator._opoverload} has no derivative: {ways}")


def symbols_of(args: Any) -> list[Any]:
    """Return the symbols among arguments and the extents of tensors, also in lists."""
    found = []
    for x in args:
        if isinstance(x, list | tuple):
            found += symbols_of(x)
        else:
            extents = (*x.shape, *x.stride()) if isinstance(x, torch.Tensor) else (x,)
            found += [extent for extent in extents if isinstance(extent, torch.SymInt)]
    return found


def with_extents(x: Any) -> Any:
    """Return an argument, or a list of them, with the numbers that symbols stand for this time."""
    if isinstance(x, list | tuple):
        return type(x)(map(with_extents, x))
    if isinstance(x, torch.SymInt):
        return x.node.hint
    if not isinstance(x, torch.Tensor) or not symbols_of([x]):
        return x
    return x.new_empty_strided(with_extents(tuple(x.shape)), with_extents(x.stride()))


def results_like(schema: Any, names: str | tuple[str, ...]) -> Function:
    """Return the function that allocates results like the arguments of these names of an operator, one or a tuple."""
    every, one = [argument.name for argument in schema.arguments], isinstance(names, str)
    wanted = (names,) if isinstance(names, str) else names

    def allocate(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(every, args, strict=False)) | kwargs
        made = tuple(given[name].new_empty(given[name].shape) for name in wanted)
        return made[0] if one else made

    return allocate


def check_places(where: str, args: Iterable[Any], results: Any) -> None:
    """Check that all tensors are without data if one is, also in lists. Errors: `cutelite.ArgumentError`."""
    every = [x for given in (args, results if isinstance(results, tuple | list) else [results]) for x in given]
    tensors = [x for each in every for x in (each if isinstance(each, tuple | list) else [each])]
    places = {x.device.type for x in tensors if isinstance(x, torch.Tensor)}
    if "meta" in places and len(places) > 1:
        raise ArgumentError(f"{where}a tensor is on 'meta', which holds no data, and others are not")


def out_form(operator: Any, function: Function, *names: str) -> Any:
    """Register an operator's out= form, which writes to the caller's tensors: ``torch.ops.mylib.add.out(a, b, c)``.

    operator  an operator that `custom_op` made
    function  takes the operator's arguments, and the keyword `out`: a tensor, or a list of one per name
    names     names of the tensors to write, which follow the operator's arguments without a default; default: 'out'
    Gives     torch's `CustomOpDef`. There is no derivative, and tensors that need a gradient are refused. `torch.vmap`
              calls it for each of the batch, which the tensors to write need to have
    """
    names = names or ("out",)
    schema, count = operator._opoverload._schema, len(names)
    told = [x for x in str(schema).partition("(")[2].rpartition(") ->")[0].split(", ") if x != "*"]
    taken = schema.arguments
    first = next((i for i, x in enumerate(taken) if x.has_default_value()), len(told))
    told[first:first] = [f"Tensor(out{i}!) {name}" for i, name in enumerate(names)]
    changed = [x.name for x in taken if x.alias_info is not None and x.alias_info.is_write]
    defaults, by_place = [x.default_value for x in taken], sum(not x.kwarg_only for x in taken)
    by_name = [x.name for x in taken[by_place:]]

    def into(*args: Any) -> None:
        given, out = [*args[:first], *args[first + count :]], args[first : first + count]
        given += defaults[len(given) :]  # torch omits them
        named = dict(zip(by_name, given[by_place:], strict=True))
        function(*given[:by_place], out=out if count > 1 else out[0], **named)

    plans = operator._opoverload in operators
    into = planned(into) if plans else into
    made = torch.library.custom_op(
        f"{operator._qualname}.out", into, mutates_args=(*changed, *names), schema=f"({', '.join(told)}) -> ()"
    )

    def check_into(*args: Any) -> None:
        if all(x.node.has_hint() for x in symbols_of(args)):
            with diverted(nothing), imagined_addresses():
                into(*with_extents(args))
        check_places(f"{made._opoverload}: ", args, None)

    def over_batch(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[None, None]:
        for name, dim in zip(names, in_dims[first : first + count], strict=True):
            if dim is None:
                raise ArgumentError(f"{made._opoverload}: under vmap {name} needs the batch that is written to it")
        given = [
            (x, dim) if first <= place < first + count else torch_levels.in_front(x, dim)
            for place, (x, dim) in enumerate(zip(args, in_dims, strict=True))
        ]
        for i in range(info.batch_size):
            made(*(torch_levels.selected(x, dim, i) for x, dim in given))
        return None, None

    made.register_fake(check_into)
    made.register_vmap(over_batch)
    for device in "CPU", "CUDA":
        refuse_gradients(made, f"Autograd{device}", into if plans else None)
    return made


def refuse_gradients(operator: Any, key: str, function: Function | None) -> None:
    """Make an operator that writes to tensors refuse those that need a gradient, at a dispatch key of torch.

    function  computes it, of its arguments by place; None: torch's dispatcher finds what does
    """
    overload, without = operator._opoverload, torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
    places = [i for i, x in enumerate(overload._schema.arguments) if x.alias_info is not None and x.alias_info.is_write]

    def call(keyset: Any, *args: Any) -> None:
        torch_levels.check_tangents(*args)
        needy = (isinstance(x, torch.Tensor) and x.requires_grad for x in args)
        if torch.is_grad_enabled() and any(needy):
            raise ValueError(f"{overload} has no derivative: detach what needs a gradient, or use the form without out")
        if function is not None and torch_levels.at_kernel(keyset):
            function(*args)
            torch.autograd.graph.increment_version([args[i] for i in places])
            return
        with torch._C._ExcludeDispatchKeyGuard(without):
            overload(*args)

    operator._lib.impl(operator._name, call, key, with_keyset=True)
