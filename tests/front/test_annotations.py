"""Mistakes in annotations are told at the annotation, and names that PTX does not know are no mistake."""

from __future__ import annotations

import linecache
import sys
import types
from typing import Any
from unittest import mock

import numpy as np
import pytest

import cutelite as cl
from cutelite.diag import CompileError

HEAD = """\
import cutelite as cl
import dataclasses, typing
import numpy as np
from typing import Optional, Union
from cutelite import Tensor, TmaTensor, Constexpr, f32, i32, bf16
M, N, K = cl.dims("M, N, K")
"""
WRONG = """\
"Tensor[f32, (N,)" | "nope" | "Tensor[f32]" | Tensor | Tensor[f32] | Tensor[f32, N] | Tensor[(N,), f32]
Tensor[f32, (int,)] | Tensor[f32, (N,), (np.int64,)]
Tensor[f32, [N]] | Tensor[f32, (N,), [1]] | Tensor[f32, (-1,)] | Tensor[f32, (0,)] | Tensor[f32, (2.5,)]
Tensor[f32, ("N",)] | Tensor[float, (N,)] | Tensor["f32", (N,)] | Tensor[np.float32, (N,)] | Tensor[f32, (N,), (1, 2)]
Tensor[f32, (N,), (2.5,)] | Tensor[f32, (N,), 4] | Tensor[f32, None]
Tensor[f32, (N,), cl.align(3)] | Tensor[f32, (N,), cl.align("x")] | Tensor[f32, (N,), cl.align(8), cl.align(16)]
Tensor[f32, (N,), cl.col_major, (1,)] | Tensor[f32, cl.make_layout(4), cl.col_major]
Tensor[f32, (N,), "bogus"] | Tensor[f32, (N, M), (None, "1")] | Tensor[f32, (10**30,)] | Tensor[f32, (N, (2, [3]))]
str | list | np.ndarray | 3 | object | typing.Any | cl.Barrier | M | (lambda: 3) | complex | type(None)
TmaTensor | TmaTensor[bf16, (M, K)] | TmaTensor[bf16, (M, K), (64,)] | TmaTensor[bf16, (M, K), [64, 64]]
TmaTensor[bf16, (M, K), (300, 64)] | TmaTensor[bf16, (M, K), (64, 3)]
TmaTensor[bf16, (M, K), (-64, 64)] | TmaTensor[bf16, (M, K), (64, M)] | TmaTensor[bf16, (M, K), (64, 64), "64"]
typing.Dict[str, int] | list[str] | tuple[f32, str] | cl.Pointer | cl.Pointer[5]
cl.Pointer[f32, 4] | dataclasses.dataclass | Optional[str] | Union[int, float, None]
"""


def defined(text: str) -> Any:
    name = f"annotated{abs(hash(text))}.py"
    source = HEAD + text
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": "annotated"}
    exec(compile(source, name, "exec", dont_inherit=True), scope)
    return scope


def kernel(annotation: str, body: str = "o[0] = 1.0", name: str = "k") -> str:
    return f"@cl.kernel\ndef {name}(o: Tensor[f32, (N,)], p: {annotation} = None) -> None:\n    {body}\n"


@pytest.mark.parametrize("annotation", WRONG.replace("\n", " | ").rstrip(" |").split(" | "))
def test_wrong_annotations_are_told_where_they_stand(annotation: str) -> None:
    with pytest.raises(CompileError) as caught:
        _ = defined(kernel(annotation))["k"].signature
    span = caught.value.span
    assert span is not None and span.filename.startswith("annotated")
    assert span.line == HEAD.count("\n") + 2
    assert "cutelite.lang" not in str(caught.value) and "object at 0x" not in str(caught.value)


def test_one_of_several_dtypes_is_a_type_variable() -> None:
    with pytest.raises((CompileError, TypeError), match=r"one of several is a TypeVar, T = TypeVar\('T', f32, i32\)"):
        _ = defined(kernel("f32 | i32"))["k"].signature


def test_a_structure_that_holds_itself_is_told() -> None:
    linked = """
@dataclasses.dataclass(frozen=True)
class Linked:
    n: i32
    rest: "typing.Optional[Linked]" = None
"""
    module = types.ModuleType("annotated")
    with mock.patch.dict(sys.modules, {"annotated": module}):
        module.__dict__.update(defined(linked + kernel("Linked")))
        with pytest.raises(CompileError, match=r"parameter `p` of k holds itself(.|\n)*p: Linked"):
            _ = module.k.signature


def test_tensor_or_something_else_is_refused() -> None:
    with pytest.raises(CompileError, match=r"only `\| None` is possible"):
        _ = defined(kernel("Tensor[f32, (N,)] | i32"))["k"].signature  # 3.14 evaluates annotations when they are read


def test_unknown_words_name_what_there_is() -> None:
    with pytest.raises(CompileError, match=r"TmaTensor\[\.\.\.\] does not know '64'(.|\n)*a swizzle \(none, 32B, 64B"):
        _ = defined(kernel("TmaTensor[bf16, (M, K), (64, 64), '64']"))["k"].signature


LEFT_OUT = """\
Optional[Tensor[f32, (N,)]]; Union[None, Tensor[f32, (N,)]]; i32 | None; Optional[i32]; Optional[int]
typing.Annotated[Optional[f32], 'unit']
"""


@pytest.mark.parametrize("annotation", LEFT_OUT.strip().replace("\n", "; ").split("; "))
def test_what_may_be_left_out(annotation: str) -> None:
    k = defined(kernel(annotation, "o[0] = 2.0 if p is None else 3.0"))["k"]
    for given, expected in ((None, 2.0), (np.ones(4, np.float32) if "Tensor" in annotation else 1, 3.0)):
        out = np.zeros(4, np.float32)
        k[1, 1](out, given)
        assert out[0] == expected


VIEW = "o[0] = cl.make_tensor(o.ptr, cl.make_layout((4, 2), stride=(1, K)), f32)[1, cl.thread_idx.x]"


@pytest.mark.parametrize(
    "body", ["o[0] = K", "if K > 3: o[0] = 1.0", "for i in range(K): o[i] = 1.0", "o[K] = 1.0", VIEW]
)
def test_a_dim_that_no_parameter_tells(body: str) -> None:
    k = defined(kernel("i32 | None", body))["k"]
    with pytest.raises(CompileError, match="no parameter tells the dim K") as caught:
        k.compile(block=32)
    assert caught.value.span is not None
    with pytest.raises(CompileError, match="no parameter tells the dim K"):
        k[1, 32](np.zeros(4, np.float32))


def test_names_that_ptx_does_not_know() -> None:
    scope = defined(
        kernel("i32 | None", name="größe")
        + "f = lambda o: None\nf.__annotations__ = {'o': Tensor[f32, (N,)]}\nk = cl.kernel(f)\n"
    )
    assert "gr_f6__df_e" in scope["größe"].compile(block=32).ptx
    assert ".entry lambda" in scope["k"].compile(block=32).ptx
    scope["f"].__name__ = "_"
    assert scope["cl"].kernel(scope["f"]).compile(block=32).cubin


@pytest.mark.parametrize(
    "name", ["smem", "text0", "text1", "array0", "vprintf", "__assertfail", "cutelite_records", "WARP_SZ"]
)
def test_names_that_modules_of_kernels_have_for_other_things(name: str) -> None:
    def body(o: cl.Tensor[cl.f32, (32,)]) -> None:
        shared = cl.shared(cl.f32, 32)
        shared[cl.thread_idx.x] = cl.constant((1, 2, 3), cl.f32)[cl.thread_idx.x % 3]
        print(shared[0])
        cl.assert_(o[0] > 0, "positive")  # noqa: PT009
        o[0] = shared[1]

    body.__name__ = name
    assert f".entry {name}_(" in cl.kernel(block=32, assertions=True)(body).compile(arch="sm_90a").ptx


def test_names_that_begin_with_our_own() -> None:
    made = defined(kernel("f32 | None", name="cutelite_gemm"))["cutelite_gemm"]
    assert ".entry cutelite_gemm(" in made.compile(block=32).ptx


@pytest.mark.parametrize(
    ("text", "help"),
    [("'cl.constexpr'", r"write `cl\.Constexpr\[int\]`"), ("'Tensr[f32, (4,)]'", "did you mean `Tensor`?")],
)
def test_misspelt_text_says_what_is_meant(text: str, help: str) -> None:
    with pytest.raises(CompileError, match=help):
        _ = defined(kernel(text))["k"].signature


def test_annotations_of_methods_see_variables_around_the_class() -> None:
    dtype, count = cl.f32, cl.dims("count")

    class Scaled:
        dtype = cl.i32  # nearer

        def __init__(self, by: int) -> None:
            self.by = by

        @cl.kernel(block=4)
        def run(self, x: cl.Tensor[dtype, (count,)], y: cl.Tensor[cl.f32, (count,)]) -> None:
            x[cl.thread_idx.x] = self.by

    x = np.zeros(4, np.int32)
    Scaled(3).run[1](x, np.zeros(4, np.float32))
    assert x.tolist() == [3] * 4
    Scaled(4).run.compile()[1](x, np.zeros(4, np.float32))
    assert x.tolist() == [4] * 4
    assert dtype is cl.f32


def test_annotations_of_shared_storage_see_variables_beside_it() -> None:
    stages, width = 2, 8

    class Base(cl.SharedStorage):
        stages = 4  # nearer
        rows: cl.Smem[cl.f32, (stages, width)]

    def derived(width: int) -> Any:
        class Derived(Base):
            more: cl.Smem[cl.f32, (width,)]

        return Derived

    wider = derived(16)

    @cl.kernel(block=1)
    def kernel(out: cl.Tensor[cl.i32, (3,)]) -> None:
        held = wider.allocate()
        out[0], out[1] = held.rows.shape
        out[2] = held.more.shape[0]

    out = np.zeros(3, np.int32)
    kernel[1](out)
    assert out.tolist() == [4, 8, 16]
    assert stages == 2


def test_annotations_of_linked_and_of_device_functions_do_too() -> None:
    number = cl.f32

    @cl.extern("twice")
    def twice(x: number) -> number:
        return x * 2

    def thrice(x: number, out: cl.Pointer[number]) -> None:
        out[0] = x * 3

    @cl.kernel(block=1)
    def kernel(x: cl.Tensor[cl.f32, (1,)]) -> None:
        x[0] = twice(x[0])

    x = np.ones(1, np.float32)
    kernel[1](x)
    assert x[0] == 2
    assert "void thrice(float x, float *out);" in cl.device_function(thrice, arch="sm_90a").header
