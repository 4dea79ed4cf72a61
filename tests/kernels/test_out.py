"""Results go to arrays that the caller has: `out=` of each function of rows, and of `route`; what cannot be written."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.attention import attention, attention_backward, attention_varlen, decode
from cutelite.kernels.gemm import grouped
from cutelite.kernels.moe import combine, route
from cutelite.kernels.rows.cross_entropy import cross_entropy, cross_entropy_backward, cross_entropy_gradient
from cutelite.kernels.rows.elementwise import scale
from cutelite.kernels.rows.embedding import embedding, embedding_backward
from cutelite.kernels.rows.gates import activated, gated
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.norm import layer_norm, rms_norm
from cutelite.kernels.rows.quantise import quantise
from cutelite.kernels.rows.reduce import reduced
from cutelite.kernels.rows.rope import rope
from cutelite.kernels.rows.scan import cumsum
from cutelite.kernels.rows.select import argmax, top_k
from cutelite.kernels.rows.softmax import softmax, softmax_backward
from cutelite.kernels.rows.sort import sort

PLACES = np.array([[1, 0], [3, 2]], np.int32)

CASES: dict[str, Callable[..., Any]] = {
    "argmax": argmax,
    "embedding": lambda x, out=None: embedding(x, PLACES, out=out),
    "layer_norm": lambda x, out=None: layer_norm(x, out=out).y,
    "quantise": quantise,
    "reduced": lambda x, out=None: reduced(x, mode=0, out=out),
    "rms_norm": lambda x, out=None: rms_norm(x, out=out).y,
    "route": lambda x, out=None: route(x, 2, out=out),
    "sort": lambda x, out=None: sort(x[0].astype(np.float16), out=out),
    "top_k": lambda x, out=None: top_k(x, 2, out=out),
}


@pytest.mark.parametrize("name", CASES)
def test_results_go_to_the_arrays_that_are_given(name: str) -> None:
    x, call = np.random.default_rng(5).normal(size=(4, 8)).astype(np.float32), CASES[name]
    wanted = call(x)
    several = isinstance(wanted, tuple)
    rights = wanted if several else (wanted,)
    buffers = [np.ones_like(each, order="C") for each in rights]
    found = call(x, out=tuple(buffers) if several else buffers[0])
    for buffer, result, right in zip(buffers, found if several else (found,), rights, strict=True):
        assert result is buffer
        assert (buffer.view(np.uint8) == np.ascontiguousarray(right).view(np.uint8)).all()
    short = [each[..., :-1] for each in buffers]
    with pytest.raises(cl.ArgumentError, match="out"):
        call(x, out=tuple(short) if several else short[0])
    with pytest.raises(cl.ArgumentError, match="out"):
        call(x, out=buffers[0].astype(np.int16) if not several else buffers[:1])


@pytest.mark.parametrize("function", [rms_norm, layer_norm])
def test_results_that_lie_where_operands_do_are_refused(function: Any) -> None:
    x = np.ones((4, 8), np.float32)
    with pytest.raises(cl.ArgumentError, match="out lies where x does"):
        function(x, out=x)


def test_scales_are_written_again_in_the_order_in_which_they_were_made() -> None:
    x = np.linspace(-3, 5, 5 * 144, dtype=np.float32).reshape(5, 144)
    made = quantise(x, Narrow(block=128))
    assert made.scale.strides == (4, 20)
    again = quantise(x * 2, Narrow(block=128), out=made)
    assert again.scale is made.scale and (made.scale == quantise(x * 2, Narrow(block=128)).scale).all()


def test_two_results_do_not_share_an_array() -> None:
    x, room = np.ones((4, 8), np.int32), np.ones(32, np.int32)
    with pytest.raises(cl.ArgumentError, match=r"out\[1\], the values, lies where out\[0\], the keys, does"):
        sort(x.reshape(-1), x.reshape(-1).copy(), out=(room, room))


@pytest.mark.parametrize("function", [softmax, cumsum, lambda x, out: activated(x, "silu", out=out)])
@pytest.mark.parametrize(
    "out", [np.ones((8, 2, 3), np.float32).T[:3], np.ones((3, 4, 16), np.float32)[:, :2, ::2]], ids=["turned", "gaps"]
)
def test_results_are_not_lost_in_a_copy(function: Any, out: Any) -> None:
    with pytest.raises(cl.ArgumentError, match="out has rows with gaps, or not evenly apart"):
        function(np.ones((3, 2, 8), np.float32), out=out)


ROOM, TABLE = np.ones((6, 40), np.float32), np.ones((6, 4), np.float32)
IN_PLACE: dict[str, Callable[..., Any]] = {
    "softmax": lambda x, out: softmax(x, out=out),
    "softmax_backward": lambda x, out: softmax_backward(x, x.copy(), out=out),
    "cumsum": lambda x, out: cumsum(x, out=out),
    "activated": lambda x, out: activated(x, "silu", out=out),
    "gated": lambda x, out: gated(x.copy(), x, out=out),
    "cross_entropy_backward": lambda x, out: cross_entropy_backward(
        x[:, 0].copy(), x, np.zeros(len(x), np.int64), x[:, 0].copy(), out=out
    ),
    "rope": lambda x, out: rope(x[None, :, None], None, TABLE, TABLE, out=(out[None, :, None], None)),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_results_lie_where_operands_do_or_apart(name: str) -> None:
    function, room = IN_PLACE[name], ROOM.copy()
    function(room[:5, :8], room[:5, :8])
    function(room[:5, :8], room[:5, 8:16])
    whole = room.reshape(-1)[: 6 * 8].reshape(6, 8)
    for x, out in (
        (room[:5, :8], room[1:, :8]),
        (room[:5, 4:12], room[:5, :8]),
        (whole[:5], whole[1:]),
        (whole[1:], whole[:5]),
    ):
        with pytest.raises(cl.ArgumentError, match=r"out.* overlap, and are not the same elements"):
            function(x, out)


@pytest.mark.parametrize("name", IN_PLACE)
def test_elements_of_results_have_places_of_their_own(name: str) -> None:
    x, room = ROOM[:5, :8].copy(), np.ones(100, np.float32)
    for strides in ((4, 4), (0, 4), (28, 4), (-4, 4), (4, 16)):
        with pytest.raises(cl.ArgumentError, match=r"out.* has elements in one place"):
            IN_PLACE[name](x, np.lib.stride_tricks.as_strided(room[50:], (5, 8), strides))


def test_numbers_that_are_read_beside_rows_do_not_lie_in_results() -> None:
    """What one block, or one thread, has written another would read."""
    x, target = ROOM.copy(), np.zeros(6, np.int64)
    y, other = x[:, :8].copy(), x[:, 0].copy()
    for given in ((y[:, 0], target, other), (other, target, y[:, 3]), (other, y.view(np.int64)[:, 1], other)):
        with pytest.raises(cl.ArgumentError, match=r"out lies where (gradient|lse|target) does"):
            cross_entropy_backward(given[0], y, *given[1:], out=y)
    with pytest.raises(cl.ArgumentError, match="out lies where gradient does"):
        cross_entropy_gradient(y[:, 1], y, target, out=y)
    with pytest.raises(cl.ArgumentError, match="x lies where by does"):
        scale(y, y[0, 2:3])
    with pytest.raises(cl.ArgumentError, match=r"out\[0\] lies where sines does"):
        rope(x[None, :, None, :8], None, TABLE, y[:, :4], out=(y[None, :, None], None))


def test_results_of_rope_lie_where_the_other_operand_is_not() -> None:
    q, k, table = (np.ones(shape, np.float32) for shape in ((1, 3, 2, 8), (1, 3, 2, 8), (3, 4)))
    for out in (k, q), (q, q), (q.copy(), q):
        with pytest.raises(cl.ArgumentError, match=r"out\[\d\] lies where"):
            rope(q, k, table, table, out=out)


SHAPES: dict[str, Callable[[Any, Any], Any]] = {
    "softmax": lambda x, y: softmax(x, out=y),
    "gated": gated,
    "rms_norm": lambda x, y: rms_norm(x, residual=y),
    "quantise": lambda x, y: quantise(x, up=y),
    "cross_entropy": lambda x, y: cross_entropy(x, y[..., 0].astype(np.int64)),
    "embedding_backward": lambda x, y: embedding_backward(x, y[..., 0].astype(np.int64), 4),
}


@pytest.mark.parametrize("name", SHAPES)
def test_as_many_rows_of_another_shape_are_refused(name: str) -> None:
    x = np.ones((2, 3, 8), np.float32)
    for other in np.ones((3, 2, 8), np.float32), np.ones((6, 8), np.float32):
        with pytest.raises(cl.ArgumentError, match=r"\(2, 3"):
            SHAPES[name](x, other)


HEADS, LSE = np.ones((1, 8, 1, 64), np.float16), np.ones((1, 1, 8), np.float32)
SQUARE = np.ones((1, 64, 64), np.float16)
APART: dict[str, Callable[[Any], Any]] = {
    "attention": lambda x: attention(HEADS, HEADS, x, x),
    "attention_varlen": lambda x: attention_varlen(HEADS[0], x[0], HEADS[0], np.array([0, 8], np.int32), None, x[0]),
    "decode": lambda x: decode(x[:, :1], HEADS, HEADS, x[:, :1]),
    "attention_backward": lambda x: attention_backward(HEADS, HEADS, HEADS, x, HEADS, LSE, (x.copy(), x.copy(), x)),
    "grouped": lambda x: grouped.gemm(x[0, :, 0], SQUARE, np.array([8], np.int32), x[0, :, 0]),
    "combine": lambda x: combine(x[0, :, 0], PLACES.astype(np.int32), out=x[0, :2, 0]),
    "gradients in one place": lambda x: attention_backward(HEADS, *(HEADS,) * 4, LSE, (x.copy(), x, x)),
}


@pytest.mark.parametrize("name", APART)
def test_results_of_attention_lie_where_no_operand_does(name: str) -> None:
    with pytest.raises(cl.ArgumentError, match=r"out(\[2\], the dv,)? lies where"):
        APART[name](HEADS.copy())
