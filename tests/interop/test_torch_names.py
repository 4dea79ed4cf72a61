"""Functions of torch in kernels, and their derivatives, against torch: at numbers of all kinds, infinities, NaN."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import cutelite as cl
from cutelite import boolean, f16, f32, i32, u8
from cutelite.lang.torch_names import FUNCTIONS
from tests.interop.elements import by_kernel

torch = pytest.importorskip("torch")

N, M = cl.dims("N M")
FLOATS = [0.0, 1.0, 0.5, 1.5, 2.5, 2.0, 3.0, 6.0, 7.25, 20.0, 21.0, 100.0, 1e-30, 0.3, 0.999, float("inf")]
FLOATS = [*FLOATS, *(-x for x in FLOATS), float("nan")]
INTEGERS = [0, 1, -1, 2, -2, 3, 7, -7, 31, 100, -100]
OF_TORCH = {"f16": torch.float16, "f32": torch.float32, "i32": torch.int32, "u8": torch.uint8, "bool": torch.bool}
UNLIKE = {
    "gelu": "torch's vectors have NaN at inf, and 4 digits at -3",
    "logaddexp2": "torch's is not 0 at -1, -1",
    "fmod": "torch's is NaN where the quotient is infinite",
    "remainder": "torch's is NaN where the quotient is infinite",
    "softplus of x and 0.0": "is infinite",
    "nextafter": "has no derivative",
    **dict.fromkeys(("digamma", "special_digamma", "special_psi"), "has no derivative"),
}
"""Functions that may differ at some numbers."""
SUBGRADIENTS = "max", "min", "clamp", "hardtanh", "relu6", "hardsigmoid", "hardswish", "elu", "xlogy"
"""Parts of names of functions that have several derivatives at some numbers, or lose digits of small ones."""


def of_torch(name: str) -> Callable[..., Any] | None:
    found = getattr(torch, name, None) or getattr(torch.nn.functional, name, None)
    return found or getattr(torch.special, name.removeprefix("special_"), None)


def slope_of(call: Callable[..., Any], x: Any) -> Any:
    return torch.autograd.grad(call(x * 1.0).sum(), x)[0]


def works(call: Callable[[], Any]) -> Any:
    """What torch gives, None where it takes other arguments."""
    try:
        found = call()
    except (AttributeError, TypeError, RuntimeError, NotImplementedError):
        return None
    return found if isinstance(found, torch.Tensor) and found.dim() == 1 else None


def computed(functions: list[Callable[..., Any]], dtype: Any, given: list[Any], results: list[Any]) -> list[Any]:
    """Each function of the tensors, in the dtypes of `results`."""
    found = by_kernel(functions, dtype, *(x.numpy() for x in given))
    return [torch.from_numpy(x).to(want.dtype) for x, want in zip(found, results, strict=True)]


def differing(found: Any, want: Any, given: list[Any], relative: float) -> list[str]:
    found, want = found.double(), want.double()
    same = (found == want) | (found.isnan() & want.isnan()) | ((found - want).abs() <= relative * want.abs() + 1e-37)
    text = "{} gives {}, torch {}"
    return [text.format([x[i].item() for x in given], found[i].item(), want[i].item()) for i in (~same).nonzero()]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("dtype", [f32, f16, i32, u8, boolean], ids=str)
def test_functions(dtype: Any, count: int) -> None:
    numbers = {"i32": INTEGERS, "u8": [0, 1, 2, 7, 200, 255], "bool": [False, True]}.get(dtype.name, FLOATS[:24])
    x = torch.tensor(numbers, dtype=OF_TORCH[dtype.name])
    given = [x] if count == 1 else [x.repeat_interleave(len(x)), x.repeat(len(x))]
    names: list[str] = []
    results: list[Any] = []
    for name in FUNCTIONS:
        call = of_torch(name)
        want = None if call is None else works(partial(call, *(v.clone() for v in given)))
        if (
            want is not None and name not in UNLIKE and (name != "pow" or dtype.is_float)
        ):  # that of integers is an error
            names, results = [*names, name], [*results, want]
    assert len(names) > 10
    calls = [of_torch(name) for name in names]
    found = computed(calls, dtype, given, results)  # type: ignore[arg-type]
    relative = 2e-3 if dtype == f16 else 4e-6
    wrong = {n: differing(a, b, given, relative) for n, a, b in zip(names, found, results, strict=True)}
    assert not {name: said[:3] for name, said in wrong.items() if said}


def test_derivatives() -> None:
    x = torch.tensor(FLOATS)
    functions: dict[str, Callable[..., Any]] = {}
    for name in FUNCTIONS:
        call = of_torch(name)
        if call is None or name in UNLIKE or any(part in name for part in SUBGRADIENTS):
            continue
        functions[name] = call
        for c in (2.0, 0.0, 0.5):
            functions[f"{name} of x and {c}"] = lambda x, call=call, c=c: call(x, c)
            functions[f"{name} of x and a tensor of {c}"] = lambda x, call=call, c=c: call(x, torch.full_like(x, c))
            functions[f"{name} of {c} and x"] = lambda x, call=call, c=c: call(c, x)
    slopes = {}
    for name, call in functions.items():
        v = x.clone().requires_grad_()
        slope = works(partial(slope_of, call, v))
        if slope is not None and name not in UNLIKE:
            slopes[name] = slope
    calls = [lambda v, call=functions[name]: cl.value_and_derivative(call, v)[1] for name in slopes]
    found = computed(calls, f32, [x], list(slopes.values()))
    finite = x.isfinite() & (x.abs() < 1e29)
    wrong = {
        name: differing(a[finite], b[finite], [x[finite]], 1e-4)
        for (name, b), a in zip(slopes.items(), found, strict=True)
    }
    assert len(slopes) > 150
    assert not {name: said[:3] for name, said in wrong.items() if said}


def test_to_takes_a_device() -> None:
    """Of numbers, places and numbers with a derivative, as torch's method does: alone, or before a dtype."""
    here = torch.device("cpu")

    @cl.kernel
    def converted(x: cl.Tensor[f32, (N,)], out: cl.Tensor[f32, (N,)]) -> None:
        i = cl.thread_idx.x
        v = x[i].to(x[i].device).to(device=here)
        square, slope = cl.value_and_derivative(lambda y: y.to(y.device) * y.to(y.device, torch.float32), v)
        out[i] = square + slope.to(here, dtype=f32) + i.to(i.device, f32)

    x = torch.arange(4.0)
    converted[1, 4](x, out := torch.zeros(4))
    assert out.tolist() == [n * n + 3 * n for n in range(4)]
