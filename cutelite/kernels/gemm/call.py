"""`gemm` on arrays: converts its arguments to those of the kernels; and a reference in f64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import gcd
from numbers import Real
from typing import TYPE_CHECKING, Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import Finish, Prepare, f32, i32
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import (
    ArrayError,
    Misfit,
    as_number,
    check_for_hopper,
    in_words_of_caller,
    is_torch,
)
from cutelite.kernels.arrays import code_of, dtype_of, empty, has_tensor_memory
from cutelite.kernels.functions import needed, settled
from cutelite.kernels.gemm import arrays
from cutelite.kernels.gemm.configs import Config, Problem
from cutelite.kernels.gemm.dense import Choice, picks, run
from cutelite.kernels.gemm.few import by_few, few_pays
from cutelite.kernels.gemm.fits import made_for
from cutelite.kernels.gemm.laid import all_for_tma, for_tma
from cutelite.kernels.gemm.odd import by_threads, by_vectors, vectors_pay
from cutelite.kernels.gemm.prepare import made_ahead
from cutelite.kernels.lent import is_jax, of_jax
from cutelite.kernels.planning import planned, planned_whole
from cutelite.kernels.rows import gates

if TYPE_CHECKING:
    import numpy

Function = Callable[[Any], Any]
ROWS = (8, 16, 32, 64)
"""Rows of A that a tile loads, as one box of TMA, where A has no more; columns of B likewise, by a swapped tile."""


@planned_whole("activation", "gate", "finish", "prepare", taken=arrays.in_graph)
@in_words_of_caller
def gemm(
    a: Any, b: Any, out: Any = None, *, c: Any = None, bias: Any = None, scale_a: Any = None, scale_b: Any = None,
    alpha: float = 1.0, beta: float | None = None, activation: Function | str | None = None,
    gate: Function | str | None = None, precision: str | None = None, config: Choice = None,
    finish: Finish | None = None, prepare: Prepare | None = None,
) -> Any:  # fmt: skip
    """``activation(alpha * scale_a * scale_b * (a @ b) + beta * c + bias)``; returns `out`.

    a, b        (M, K) and (K, N), with batches in front that are stretched as those of NumPy's matmul: an operand that
                is the same for all is read where it lies. Both bf16, both f16, each e4m3 or e5m2, each i8 or u8, or
                both f32 with ``precision="tf32"``. Read as they lie where they are contiguous along K, or along
                either mode if they have 16 bits, and rows a multiple of 16 bytes apart. Others are copied first, or, if
                they have 16 bits, loaded by threads where that is expected to take less time
    out, c      (..., M, N), contiguous along N; `out` is made if it is not given, of the operands' dtype: bf16 for fp8,
                i32 for integers. It may be bf16, f16 or f32; f64 or fp8 too where operands are no integers, for which
                there is i32. Their rows may begin anywhere, and are fastest where they fill multiples of 16 bytes.
                `c` may be `out`, and is not read where beta is 0
    beta        1 if it is not given
    bias        (N,): bf16, f16 or f32
    scale_a     f32, one number, of an array or of Python, or (M, 1); `scale_b` likewise (1, N)
    activation  a function of f32 vectors, elementwise, compiled into the kernel, which may call `cl.math` and functions
                of elements of torch, NumPy and JAX; or 'relu'. Functions of equal code and captured values are the same
    gate        a function like `activation`, or 'silu': b has 2 N columns, those of a gate and then those of `up`, and
                the result is ``gate(a @ b[:, :N]) * (a @ b[:, N:])``, without anything of the above; N is a multiple
                of 8. The derivative computes the product again, as that of an activation but 'relu' does
    finish      a function of the sums and of further tensors, instead of all of the above but alpha: `Finish`. Then A
                may have batches, and B not; N is a multiple of 8; `out` may have any number of columns, of which those
                that the function stores are written. There is no derivative
    prepare     a function that makes the elements of A that are multiplied of those in memory and of further tensors,
                in a kernel ahead of the GEMM or within it: `Prepare`. A is then bf16, f16, e4m3, e5m2, i8 or u8, and
                contiguous along K, a multiple of 8, and B bf16 or f16, without batches. There is no derivative
    config      None: the configuration that a model (`gemm.model`) predicts to be fastest, picked in microseconds;
                'tuned': the fastest, measured at the first call for such shapes, and kept on disk. Later calls without
                `config` take the same
    Arrays      of torch and CuPy on a GPU; of NumPy in the simulator; of JAX, traced or not, without out, finish and
                prepare. Torch's may be fake, under `torch.compile`, or need a gradient (`kernels.gemm.operators`)
    Errors      ValueError for shapes that do not fit, a `cutelite.ArgumentError` too; that for other arrays
    """
    beta = beta_of(c, beta)
    if isinstance(scale_a, Real):
        alpha, scale_a = alpha * float(scale_a), None
    if isinstance(scale_b, Real):
        alpha, scale_b = alpha * float(scale_b), None
    if is_torch(a):
        from cutelite.kernels.gemm import operators

        if callable(activation) or callable(gate) or finish is not None or prepare is not None:
            a, b, c = operators.under_autocast(a, b, c)  # other calls are cast by their operator
        how = operators.How(c, bias, scale_a, scale_b, alpha, beta, activation, precision, gate)
        if operators.wanted(a, b, out, how, finish, prepare):
            return operators.multiply(a, b, out, how, finish, prepare)
    elif is_jax(a):
        if finish is not None or prepare is not None:
            raise Misfit("for arrays of JAX there is no finish= and no prepare=")
        return of_jax(
            gemm, "gemm.on_jax.gemm", a, b, out, c=c, bias=bias, scale_a=scale_a, scale_b=scale_b, alpha=alpha,
            beta=beta, activation=activation, precision=precision, gate=gate, config=config,
        )  # fmt: skip
    fused = fused_of(c, bias, scale_a, scale_b, alpha, beta, activation)
    return multiply(a, b, out, replace(fused, finish=finish), precision, config, gate, prepare)


def relu(x: Any) -> Any:
    return cl.math.maximum(x, 0.0)  # NaN of NaN, as torch and JAX have it


def silu(x: Any) -> Any:
    return gates.silu(x, False)[0]


NAMED: dict[str, dict[str, Function]] = {"activation": {"relu": relu}, "gate": {"silu": silu}}
"""Functions by argument and name; these activations have a derivative in `torch.ops.cutelite.gemm`."""


def function_of(name: str, given: Function | str | None) -> Function | None:
    """Return the function that is compiled in, of the argument `name`. Errors: ValueError for an unknown one."""
    if not isinstance(given, str):
        return settled(given, name, ("x",))
    if given not in NAMED[name]:
        raise Misfit(f"{name} is a function, or {' or '.join(map(repr, NAMED[name]))}, not {given!r}")
    return NAMED[name][given]


@cache
def gating(gate: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the function of a gate and of what it is multiplied by."""
    return lambda x, up: gate(x) * up


@untraced
@planned
def multiply(
    a: Any,
    b: Any,
    out: Any,
    fused: cl.Fused,
    precision: str | None = None,
    config: Choice = None,
    gate: Function | str | None = None,
    prepare: Prepare | None = None,
    early: bool = False,
    there: bool = False,
) -> Any:
    """Compute `gemm` of real arrays, without derivatives.

    early  B is read once, as weights of few rows are: L2 keeps it no longer than anything else
    there  B is complete before the previous kernel begins, and any that still runs then: blocks load it at once
    """
    arrays.check_functions(fused.finish, prepare)
    arrays.check_operands(a, b, precision, prepare)
    shape = arrays.result_shape(a, b, gate is not None or halved(fused.finish))
    multiplied = a if prepare is None else b
    out = empty(b, shape, arrays.DEFAULTS.get(code_of(multiplied))) if out is None else out
    arrays.check_result(multiplied, out, shape, gate is not None, fused.finish is not None)
    arrays.check_added(b, out, fused)
    fused = replace(fused, c=None) if fused.beta == 0.0 else fused  # NaN in it does not matter then
    if left_out() or 0 in shape:
        return out
    if has_tensor_memory(out):
        return on_tensor_memory(a, b, out, fused, precision, gate=gate, prepare=prepare, config=config)
    if a.shape[-1] == 0:
        like = a if prepare is None else empty(b, tuple(a.shape))
        a, b, prepare = arrays.of_no_columns(like, -1), arrays.of_no_columns(b, -2), None
    if config is None and gate is None and prepare is None and vectors_pay(a, b, out, fused):
        by_vectors(a, b, out, fused)
        return out
    if config is None and gate is None and prepare is None and few_pays(a, b, out, fused, there):
        by_few(a, b, out, fused, there)
        return out
    given = arguments(a, b, out, fused, precision, gate, prepare)
    if isinstance(config, Config) and given[0].loaded and not made_for(config, given[0]):
        given = arguments(a, b, out, fused, precision, gate, prepare, loads=False)
    taken: Config = picks.take(config, *given, early=early)
    run(taken, *given, early=early, there=there and rt.read(given[2]).pointer == rt.read(b).pointer)  # no copy
    return out


def halved(finish: Finish | None) -> bool:
    """Tell whether a function computes each column of results from two columns of the product."""
    return finish is not None and (finish.paired or finish.halves)


def on_tensor_memory(a: Any, b: Any, out: Any, fused: cl.Fused, precision: str | None, **others: Any) -> Any:
    """Compute `multiply` on a GPU with tensor memory, of checked arrays, without `others`. Errors: ValueError."""
    from cutelite.kernels.blackwell import call as blackwell

    others = {name: None if x == "tuned" else x for name, x in others.items()}  # sizes alone choose a configuration
    check_for_hopper("GEMMs on GPUs with tensor memory have none (docs/blackwell.md)", **others)
    blackwell.compute(a, b, out, fused, precision)
    return out


def beta_of(c: Any, beta: float | None) -> float:
    """Return the factor of `c`: as it is given, or 1 for an array and 0 for none."""
    return float(c is not None) if beta is None else beta


@untraced  # what it makes is for a launch, and tells functions apart by their code
def fused_of(
    c: Any = None, bias: Any = None, scale_a: Any = None, scale_b: Any = None, alpha: float = 1.0,
    beta: float | None = None, activation: Function | str | None = None,
) -> cl.Fused:  # fmt: skip
    """Return the epilogue that these arguments of `gemm` describe."""
    alpha, beta = as_number("alpha", alpha), as_number("beta", beta_of(c, beta))
    if beta != 0.0 and c is None:
        raise ArrayError(f"c is None, but beta is {beta}: pass c, which is multiplied by it; it may be `out`")
    return cl.Fused(c, bias, cl.Scales(scale_a, scale_b), alpha, beta, function_of("activation", activation))


def arguments(
    a: Any, b: Any, out: Any, fused: cl.Fused, precision: str | None = None, gate: Function | str | None = None,
    prepare: Prepare | None = None, loads: bool | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Return the arguments of `run` that follow its configuration.

    loads   threads load operands that TMA cannot read; False: they are copied; None: whatever is expected to be faster
    Errors  ValueError for what the kernels cannot compute
    """
    if a.ndim > 2 or b.ndim > 2:
        a, b, out, fused = arrays.folded(a, b, out, fused, fused.finish is not None or prepare is not None)
    if prepare is not None:
        a, prepare = prepared_before(a, b, prepare)
    able = prepare is None and fused.finish is None and gate is None and loads is not False
    loaded = by_threads(a, b, bool(loads)) if able else ""
    copied = [(a, -1, prepare is not None)] * ("A" not in loaded) + [(b, -2, False)] * ("B" not in loaded)
    laid = all_for_tma(*copied)
    a, b = a if "A" in loaded else laid[0], b if "B" in loaded else laid[-1]
    left, right, result = views = rt.read(a), rt.read(b), rt.read(out)
    arrays.check_places({"a": left, "b": right}, result, fused)
    fused = replace(fused, bias=arrays.begun_for_tma(fused.bias), scales=arrays.scales_of(fused, *result.shape[-2:]))
    direct = (
        0
        if fused.finish is not None or (arrays.written_by_tma(out) and arrays.read_by_tma(fused.c))
        else stored_at_once(result)
    )
    problem = replace(problem_of(*views, loaded, fused, precision), gate=function_of("gate", gate), direct=direct)
    problem = finished(problem, fused, b.shape[-1], result)
    if fused.finish is not None:
        arrays.check_written_by_tma(out)
    problem, ahead = (problem, ()) if prepare is None else prepared(problem, prepare)
    check_combined(problem, fused)
    a = a if problem.majors[0] == "K" else a.swapaxes(-1, -2)
    b = b.swapaxes(-1, -2) if problem.majors[1] == "K" else b
    return problem, a, b, out, replace(fused, activation=None), ahead


def problem_of(a: Any, b: Any, out: Any, loaded: str, fused: cl.Fused, precision: str | None) -> Problem:
    """Return the kind of product of arrays, given as views, of which threads load those `loaded`."""
    left, right = (dtype_of("tf32" if x.dtype == "f32" and precision == "tf32" else x.dtype) for x in (a, b))
    majors = "K" if a.strides[-1] == 1 else "MN", "K" if b.strides[-2] == 1 else "MN"
    return Problem(
        a=left,
        b=right,
        acc=i32 if left.is_int and right.is_int else f32,
        d=dtype_of(out.dtype),
        bias=None if fused.bias is None else dtype_of(rt.read(fused.bias).dtype),
        majors=majors,
        batched=len(out.shape) == 3,
        rows=few(out.shape[-2]) if majors[0] == "K" else None,
        narrow=few(out.shape[-1]) if majors[1] == "K" and not loaded else None,
        loaded=loaded,
        rowwise=any(x is not None and x.shape[0] > 1 for x in (fused.scales.a, fused.scales.b)),
        activation=fused.activation,
        shared={-1: "A", 0: "", 1: "B"}[len(a.shape) - len(b.shape)],
    )


def few(extent: int) -> int | None:
    """Return the rows that a tile brings where there are so many in all; None: whole tiles."""
    return next((rows for rows in ROWS if extent <= rows), None)


def stored_at_once(out: Any) -> int:
    """Return how many results threads store at once, of a view: as many as its rows begin at a multiple of."""
    return 1 if out.pointer % 16 else gcd(min(4, 8 // dtype_of(out.dtype).bytes), out.shape[-1], *out.strides[:-1])


def check_combined(problem: Problem, fused: cl.Fused) -> None:
    """Check that a gate, or results that are integers, come without what they cannot be combined with."""
    added = (fused.c, fused.bias, fused.scales.a, fused.scales.b, problem.activation)
    plain = all(x is None for x in added) and (fused.alpha, fused.beta) == (1.0, 0.0)
    if problem.gate is not None and (problem.d.is_int or not plain):
        raise Misfit("with a gate there are no alpha, beta, c, bias, scales, activation or integers")
    if problem.d.is_int and not plain:
        raise Misfit(f"{problem.d} has the sums as they are: no alpha, beta, bias, scales, or activation")


def finished(problem: Problem, fused: cl.Fused, columns: int, result: Any) -> Problem:
    """Return the problem with the function that finishes the sums, if there is one.

    columns  of the product
    result   the array of results, as `cutelite_rt.read` has it
    Errors   ValueError for what no function can be combined with, and for tensors that are none
    """
    given = fused.finish
    if given is None:
        return problem
    others = (fused.c, fused.bias, fused.scales.a, fused.scales.b, fused.activation, problem.gate)
    if any(x is not None for x in others) or fused.beta != 0.0 or problem.batched or problem.acc.is_int:
        raise Misfit("with finish= there are no c, bias, scales, activation, gate, integers, and no batches of B")
    if columns % 8:
        raise Misfit(f"with finish= a product has a multiple of 8 columns, not {columns}")
    if result.shape[-1] * problem.d.bytes % 16:
        raise Misfit(f"with finish= rows of results fill 16 bytes, and {result.shape[-1]} of {problem.d} do not")
    return replace(problem, finish=bare(given), tensors=kinds_of(given.tensors))


def bare(given: Finish) -> Finish:
    """Return it with no tensors, and with functions that stand for equal ones. Errors: `Misfit`."""
    if not isinstance(given.columns, int) or given.columns % 16 or not 16 <= given.columns <= 256:
        raise Misfit(f"pieces have 16 to 256 columns, a multiple of 16, not {given.columns!r}")
    made = {name: needed(each, name, takes) for name, each, takes in arrays.taken_by(given)}
    return replace(given, function=made["finish"], ahead=made.get("ahead"), tensors=())


def prepared_before(a: Any, b: Any, prepare: Prepare) -> tuple[Any, Prepare | None]:
    """Return A as `prepare` computes it in a kernel before the GEMM, and None; or both unchanged, for use in the GEMM.

    Errors  ValueError for what no function can be combined with, and for tensors that are none
    """
    if b.ndim == 3:
        raise Misfit("with prepare= B has no batches")
    if a.shape[-1] % 8:
        raise Misfit(f"with prepare= A has a multiple of 8 columns, not {a.shape[-1]}")
    kinds = kinds_of(prepare.tensors, "prepare")
    takes = "chunk", *arrays.named(prepare)
    prepare = replace(prepare, function=needed(prepare.function, "prepare", takes))
    if prepare.within:
        return a, prepare
    source = a if rt.read(a).strides[-1] == 1 else for_tma(a, -1, True)
    return made_ahead(source, b, prepare, kinds), None


def prepared(problem: Problem, given: Prepare) -> tuple[Problem, tuple[Any, ...]]:
    """Return the problem with the function that makes A, and the function's tensors."""
    function = replace(given, tensors=())
    return replace(problem, prepare=function, beside=kinds_of(given.tensors, "prepare")), given.tensors


def kinds_of(tensors: tuple[Any, ...], what: str = "finish") -> tuple[tuple[str, int, int], ...]:
    """`Problem.tensors`. Errors: ValueError for a tensor that no function takes."""
    kinds = []
    for tensor in tensors:
        view = rt.read(tensor)
        if (view.strides[-1] != 1 and view.shape[-1] != 1) or len(view.shape) not in (1, 2):
            raise Misfit(f"tensors of {what}= are of rank 1 or 2 and contiguous along the last mode: {view.shape}")
        kinds.append(
            (view.dtype, len(view.shape), gcd(8, view.strides[0], view.shape[1]) if len(view.shape) == 2 else 1)
        )
    return tuple(kinds)


def chosen(a: Any, b: Any, out: Any, *, precision: str | None = None, tuned: bool = False, **how: Any) -> Config:
    """Return the configuration that `gemm` takes for these arguments; with `tuned`, the one that measures fastest.

    how  further arguments of `gemm`: c, bias, scales, alpha, beta, activation
    """
    given = arguments(a, b, out, fused_of(**how), precision)
    taken: Config = picks.take("tuned" if tuned else None, *given)
    return taken


def reference(
    a: Any, b: Any, *, c: Any = None, bias: Any = None, scale_a: Any = 1.0, scale_b: Any = 1.0, alpha: float = 1.0,
    beta: float | None = None, activation: Callable[[Any], Any] | None = None,
) -> numpy.ndarray[Any, Any]:  # fmt: skip
    """Compute the result of `gemm` in f64, of NumPy arrays; `activation` is a function of NumPy arrays."""
    import numpy as np

    wide = [np.asarray(x).astype(np.float64) for x in (a, b, scale_a, scale_b)]
    result = alpha * wide[2] * wide[3] * (wide[0] @ wide[1])
    result = result if c is None else result + beta_of(c, beta) * np.asarray(c).astype(np.float64)
    result = result if bias is None else result + np.asarray(bias).astype(np.float64)
    made: numpy.ndarray[Any, Any] = result if activation is None else activation(result)
    return made
