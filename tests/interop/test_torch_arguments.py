"""Functions refuse of fake tensors, and of those that need a gradient, what they refuse of arrays, in their words."""

import inspect
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import cutelite as cl
from cutelite.dispatch.divert import diverted
from cutelite.kernels.attention import attention
from cutelite.kernels.gemm import gemm
from cutelite.kernels.rows.elementwise import elementwise
from cutelite.kernels.rows.norm import rms_norm
from cutelite.kernels.rows.softmax import softmax_backward
from tests.interop.test_torch_functions import DEVICE
from tests.kernels.test_bad_arguments import RIGHT, only_checked, others

KINDS = {ml_dtypes.bfloat16: torch.bfloat16, ml_dtypes.float8_e4m3fn: torch.float8_e4m3fn}
UNASKED = "masked", "backwards", "off by an element", "read-only"
"""Arrays that torch has not, and addresses, which fake tensors have not."""


def as_tensor(x: Any) -> Any:
    """Return a tensor with the strides of an array of NumPy, and anything else as it is."""
    if not isinstance(x, np.ndarray):
        return x
    if x.ndim and len(x) > 1 and x.strides[0] == 0:
        return as_tensor(x[:1].copy()).expand(x.shape)
    kind, plain = KINDS.get(x.dtype.type), x.copy()
    return torch.from_numpy(plain) if kind is None else torch.from_numpy(plain.view(f"i{x.itemsize}")).view(kind)


def refusal(name: str, given: dict[str, Any], fake: bool) -> Exception | None:
    function, _ = RIGHT[name]
    tensors = {word: as_tensor(x) for word, x in given.items()} if fake else given
    try:
        if fake:
            with FakeTensorMode() as mode:
                named = {w: mode.from_tensor(x) if isinstance(x, torch.Tensor) else x for w, x in tensors.items()}
                function(**named)
        else:
            with diverted(only_checked):
                function(**tensors)
    except Exception as error:
        return error
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RIGHT)
def test_fake_tensors_are_refused_where_arrays_are(name: str) -> None:
    given = {word: x.copy() if isinstance(x, np.ndarray) else x for word, x in RIGHT[name][1].items()}
    if (alone := refusal(name, given, True)) is not None:
        assert "cannot be read" in str(alone) or name == "norm_backward"  # no operator; beside other arrays
        return
    wrong, arrays = [], [word for word, x in given.items() if isinstance(x, np.ndarray)]
    for turn, word in enumerate(arrays, len(name)):
        for what, other in others(given[word], turn):
            if what.startswith(UNASKED) or (what == "of one place" and len(other) < 2):
                continue
            asked = given | {word: other}
            real, fake = refusal(name, asked, False), refusal(name, asked, True)
            if isinstance(real, cl.SimError):
                continue
            known = fake is None or (
                isinstance(fake, ValueError | TypeError)
                and any(re.search(rf"\b{each}\b", str(fake)) for each in (word, *arrays))
            )
            if (real is None) != (fake is None) or not known:
                wrong.append(f"{word} as {what}: {real!r}, but of fake tensors {fake!r}"[:400])
    assert not wrong, "\n".join(wrong)


def test_what_is_no_tensor_beside_those_that_need_a_gradient() -> None:
    x = torch.ones(3, 8, requires_grad=True)
    with pytest.raises(cl.ArgumentError, match=r"^weight is not an array, but a list$"):
        rms_norm(x, [1.0] * 8)
    with pytest.raises(cl.ArgumentError, match=r"^weight is a ndarray, beside tensors of torch: pass a tensor$"):
        rms_norm(x, np.ones(8, np.float32))
    refused = pytest.raises(cl.ArgumentError, match=r"^dy is not an array, but None$")
    with torch.no_grad(), FakeTensorMode(), refused:
        softmax_backward(None, torch.ones(3, 8))


def with_gradients(x: Any) -> Any:
    found = as_tensor(x)
    return found.requires_grad_() if isinstance(found, torch.Tensor) and found.is_floating_point() else found


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_no_number_beside_tensors_that_need_a_gradient(name: str) -> None:
    """It is named, though the call goes to an operator, which takes numbers alone."""
    function, given = RIGHT[name]
    defaults = {word: each.default for word, each in inspect.signature(function).parameters.items()}
    for word in (word for word, x in defaults.items() if type(x) in (int, float, bool)):
        for x in ("0.5", [1], 1j):
            with diverted(only_checked), pytest.raises(cl.ArgumentError, match=rf"\b{word}\b|needs a gradient"):
                function(**{at: with_gradients(each) for at, each in given.items()} | {word: x})


REFUSED: dict[str, Any] = {
    "causal is 'left', but must be True, False, 'top-left' or 'bottom-right'": lambda q: attention(
        q, q, q, causal="left"
    ),
    "return_lse is 3, but must be True or False": lambda q: attention(q, q, q, return_lse=3),  # type: ignore[arg-type]
    "eps is 'a', but must be a number": lambda q: rms_norm(q, q[0, 0, 0], eps="a"),  # type: ignore[arg-type]
    "out needs a gradient": lambda q: gemm(q[0, 0], q[0, 0].T, q.new_empty(2, 2).requires_grad_()),
    "softcap is -1.0, but must be a number from 1e-15 to 1e+30": lambda q: attention(q, q, q, softcap=-1.0),
    "v has dtype torch.float16, but must be bf16, as q": lambda q: attention(q, q, q.half()),
    "score_mod is 3, but must be a function of (score, b, h, q_idx, kv_idx)": lambda q: attention(q, q, q, score_mod=3),  # type: ignore[arg-type]
    "block_mask is 3, but must be of create_block_mask": lambda q: attention(q, q, q, block_mask=3),
    "gate is 3, but must be a function of (x)": lambda q: gemm(q[0, 0], q[0, 0].T, gate=3),  # type: ignore[arg-type]
    "finish is 3, but must be a Finish": lambda q: gemm(q[0, 0], q[0, 0].T, finish=3),  # type: ignore[arg-type]
    "finish is 3, but must be a function of (piece, tensors[0])": lambda q: gemm(
        q[0, 0],
        q[0, 0].T,
        finish=cl.Finish(3, (q,)),  # type: ignore[arg-type]
    ),
    "ahead is 3, but must be a function of (piece)": lambda q: gemm(
        q[0, 0],
        q[0, 0].T,
        finish=cl.Finish(lambda piece: None, ahead=3),  # type: ignore[arg-type]
    ),
    "prepare is 3, but must be a function of (chunk)": lambda q: gemm(q[0, 0], q[0, 0].T, prepare=cl.Prepare(3)),  # type: ignore[arg-type]
    "function is 3, but must be a function of (a)": lambda q: elementwise(3, (q,)),  # type: ignore[arg-type]
    "inputs must be a tuple of one to 4, not Tensor": lambda q: elementwise(lambda a: a, q),
    "out must be a tuple of one to 3, not Tensor": lambda q: elementwise(lambda a: a, (q,), out=torch.empty_like(q)),
}
"""Calls that Python refuses, and at the end those that the operator does."""


@pytest.mark.usefixtures("graphs")
@pytest.mark.parametrize("words", REFUSED)
def test_a_refusal_in_one_whole_graph_is_told_in_our_words(words: str) -> None:
    """Torch tells it in an error of its own, as it does any that is raised in what it traces."""
    call = torch.compile(REFUSED[words], backend="eager", fullgraph=True)
    with pytest.raises(Exception, match=re.escape(words)):
        call(torch.ones(1, 2, 2, 64, dtype=torch.bfloat16, device=DEVICE))
