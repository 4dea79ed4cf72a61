"""The library's GEMMs for Blackwell against NumPy, in the simulator and on a GPU with tensor memory."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.blackwell import call
from cutelite.kernels.blackwell.call import arranged, gemm, gemm_fp8_block, gemm_grouped, gemm_scaled
from cutelite.kernels.blackwell.configs import Config
from cutelite.kernels.blackwell.gemm import build
from cutelite.kernels.gemm import Config as Hopper
from cutelite.kernels.gemm import call as hopper
from cutelite.kernels.gemm import fp8_block
from cutelite.toolchain import find
from tests.blackwell import spills
from tests.blackwell.test_scales import E2M1

BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
WIDE, TALL, ONE = Config((128, 256), False, stages=3), Config((256, 128), stages=3), Config((128, 64), False, stages=3)
CLUSTERS = [Config((128, 128), False, cluster, 3) for cluster in ((2, 1), (1, 2), (2, 2))]
DYNAMIC = [replace(config, dynamic=True) for config in (ONE, TALL, CLUSTERS[2])]


def whole(draw: Any, *shape: int, dtype: Any = BF16) -> Any:
    """Whole numbers, of which sums are exact."""
    return draw.integers(-4, 5, shape).astype(dtype)


def poisoned(*shape: int) -> Any:
    return np.full(shape, np.nan, np.float32)


def numbers(x: Any) -> Any:
    return np.asarray(x, np.float64)


def beyond(config: Config) -> tuple[int, int]:
    """Return the rows and columns of a problem of 2 x 2 tiles of a whole cluster, of which the last are not full."""
    (m, n), (along_m, along_n) = config.tile, config.cluster
    return m * along_m + 44, n * along_n + 12


@pytest.fixture
def few_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have one block, pair or cluster do all tiles."""
    monkeypatch.setattr(call, "clusters_at_once", lambda blocks, like: 1)


@pytest.mark.parametrize("config", [None, WIDE, TALL, Config(), ONE, *CLUSTERS, *DYNAMIC], ids=str)
@pytest.mark.usefixtures("on_cards", "few_blocks")
def test_products_are_those_of_numpy(config: Config | None) -> None:
    draw, (m, n) = np.random.default_rng(1), (300, 268) if config is None else beyond(config)
    a, b = whole(draw, m, 200), whole(draw, 200, n)
    out = poisoned(m, n)
    assert gemm(a, b, out, config=config) is out
    np.testing.assert_array_equal(out, numbers(a) @ numbers(b))


@pytest.mark.parametrize("majors", ["KK", "KN", "MK", "MN"])
@pytest.mark.parametrize("config", [TALL, ONE, CLUSTERS[2]], ids=str)
@pytest.mark.usefixtures("on_cards")
def test_operands_lie_along_either_mode(majors: str, config: Config) -> None:
    draw = np.random.default_rng(2)
    a = whole(draw, 264, 72) if majors[0] == "K" else whole(draw, 72, 264).T
    b = whole(draw, 136, 72).T if majors[1] == "K" else whole(draw, 72, 136)
    out = gemm(a, b, config=config)
    assert out.dtype == BF16
    np.testing.assert_array_equal(out, (numbers(a) @ numbers(b)).astype(BF16))


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (np.float16, np.float16, np.float16),
        (E4M3, ml_dtypes.float8_e5m2, BF16),
        (np.float32, np.float32, np.float32),
        (np.int8, np.int8, np.int32),
        (BF16, BF16, E4M3),
    ],
)
@pytest.mark.usefixtures("on_cards")
def test_types(left: Any, right: Any, result: Any) -> None:
    draw = np.random.default_rng(3)
    a, b = whole(draw, 130, 80, dtype=left), whole(draw, 80, 72, dtype=right)
    out = np.empty((130, 72), result)
    gemm(a, b, out, precision="tf32" if left == np.float32 else None)
    want = (numbers(a) @ numbers(b)).astype(result)
    np.testing.assert_array_equal(numbers(out), numbers(want))


SCALED_PAIR = Config((256, 128), stages=3)


@pytest.mark.parametrize(
    ("m", "n", "k", "config"),
    [
        (128, 128, 256, None),
        (200, 70, 160, None),
        (130, 300, 640, None),
        (1, 8, 32, None),
        (300, 200, 416, SCALED_PAIR),
    ],
)
@pytest.mark.parametrize("kind", ["mxfp8", "mxfp4", "nvfp4"])
@pytest.mark.usefixtures("on_cards", "few_blocks")
def test_blocks_are_scaled(kind: Any, m: int, n: int, k: int, config: Config | None) -> None:
    draw, block = np.random.default_rng(4), 16 if kind == "nvfp4" else 32
    operands, factors, given = [], [], []
    for rows in (m, n):
        if kind == "mxfp8":
            x = whole(draw, rows, k, dtype=E4M3)
            values = numbers(x)
        else:
            x = draw.integers(0, 256, (rows, k // 2), np.uint8)
            values = E2M1[np.stack([x & 15, x >> 4], -1).reshape(rows, -1)]
        count = -(-k // block)
        if kind == "nvfp4":
            scale = draw.integers(1, 8, (rows, count)).astype(E4M3)
            factor, scale = numbers(scale), scale.view(np.uint8)
        else:
            scale = draw.integers(124, 131, (rows, count)).astype(np.uint8)
            factor = 2.0 ** (numbers(scale) - 127)
        given.append(x)
        factors.append(arranged(scale))
        operands.append(values * np.repeat(factor, block, 1)[:, :k])
    out, bias = poisoned(m, n), whole(draw, n, dtype=np.float32)
    gemm_scaled(given[0], given[1], factors[0], factors[1], out, kind=kind, alpha=0.5, bias=bias, config=config)
    np.testing.assert_array_equal(out, (0.5 * operands[0] @ operands[1].T + bias).astype(np.float32))


@pytest.mark.parametrize(
    ("m", "n", "k", "config"),
    [(300, 264, 272, None), (70, 136, 656, ONE), (130, 8, 16, Config((256, 64), stages=2, dynamic=True))],
)
@pytest.mark.usefixtures("on_cards", "few_blocks")
def test_fp8_has_scales_in_f32(m: int, n: int, k: int, config: Config | None) -> None:
    """Powers of 2, so that sums are exact; scales of A lie as TMA takes them, or are copied."""
    draw, blocks = np.random.default_rng(11), -(-k // 128)
    a, b = (whole(draw, rows, k, dtype=E4M3) for rows in (m, n))
    scale_a, scale_b = ((2.0 ** draw.integers(-2, 3, shape)).astype(np.float32) for shape in ((m, blocks), (3, blocks)))
    scale_b = scale_b[: -(-n // 128)]
    want = fp8_block.reference(a, b, scale_a, scale_b)
    scale_a = np.asfortranarray(scale_a) if m == 300 else scale_a
    out = gemm_fp8_block(a, b, scale_a, scale_b, poisoned(m, n).astype(BF16), config=config)
    np.testing.assert_array_equal(out, want.astype(BF16))


@pytest.mark.usefixtures("on_cards")
def test_functions_finish_sums_of_scaled_blocks() -> None:
    a, other = np.ones((40, 144), E4M3), whole(np.random.default_rng(12), 40, 40)

    def residual(piece: cl.Piece, other: Any) -> None:
        piece.result(piece.sums + piece.by_element(other))

    ones = np.ones((40, 2), np.float32)
    out = gemm_fp8_block(a, a, ones, ones[:1], finish=cl.Finish(residual, (other,)))
    np.testing.assert_array_equal(out, (144 + numbers(other)).astype(BF16))
    assert not numbers(gemm_fp8_block(a[:, :0], a[:, :0], ones[:, :0], ones[:1, :0])).any()


@pytest.mark.parametrize(
    "shapes", [((2, 3, 70, 48), (48, 90)), ((2, 3, 70, 48), (2, 3, 48, 90)), ((70, 48), (5, 48, 90))]
)
@pytest.mark.usefixtures("on_cards")
def test_batches_and_what_is_added(shapes: Any) -> None:
    draw = np.random.default_rng(5)
    a, b = whole(draw, *shapes[0]), whole(draw, *shapes[1])
    sums = numbers(a) @ numbers(b)
    c, bias = whole(draw, *sums.shape, dtype=np.float32), whole(draw, 90)
    by_row, by_column = (draw.integers(1, 4, shape).astype(np.float32) for shape in ((70, 1), (1, 90)))
    by_row = by_row if b.ndim > 2 else np.full((1, 1), 3, np.float32)
    out = gemm(
        a, b, np.empty(sums.shape, np.float32), c=c, beta=3.0, alpha=2.0, scale_a=by_row, scale_b=by_column, bias=bias,
        activation="relu",
    )  # fmt: skip
    np.testing.assert_array_equal(out, np.maximum(2 * by_row * by_column * sums + 3 * c + numbers(bias), 0))


GROUPED = [None, TALL, Config(stages=4), ONE]


@pytest.mark.parametrize(
    ("config", "counts"), [*((config, (130, 0, 7, 260)) for config in GROUPED), (ONE, (0, 128, 256, 1))], ids=str
)
@pytest.mark.usefixtures("on_cards", "few_blocks")
def test_rows_in_groups_have_a_matrix_each(config: Config | None, counts: tuple[int, ...]) -> None:
    """One group has no rows; rows behind the last end, which are NaN, spoil nothing, and their results are left."""
    draw, ends = np.random.default_rng(9), np.cumsum(counts).astype(np.int32)
    last = int(ends[-1])
    a, b = whole(draw, last + 20, 136), whole(draw, 4, 264, 136)
    a[last:] = np.nan
    out = gemm_grouped(a, b, ends, np.full((last + 20, 264), 77, BF16), config=config)
    starts = (0, *ends[:-1])
    want = [numbers(a)[i:j] @ numbers(b)[e].T for e, (i, j) in enumerate(zip(starts, ends, strict=True))]
    np.testing.assert_array_equal(out[:last], np.concatenate(want).astype(BF16))
    assert (numbers(out[last:]) == 77).all()


@pytest.mark.usefixtures("on_cards")
def test_functions_finish_groups_too() -> None:
    draw, ends = np.random.default_rng(10), np.array([40, 140], np.int32)
    a, b = whole(draw, 150, 64, dtype=E4M3), whole(draw, 2, 128, 64, dtype=E4M3)
    out = gemm_grouped(a, b, ends, finish=cl.Finish(swiglu, paired=True))
    sums = np.concatenate([numbers(a)[:40] @ numbers(b)[0].T, numbers(a)[40:140] @ numbers(b)[1].T])
    want = (np.maximum(sums[:, ::2], 0) * sums[:, 1::2]).astype(BF16)
    assert out.dtype == BF16
    np.testing.assert_array_equal(out[:140], want)


def test_nothing_to_compute() -> None:
    assert gemm(np.zeros((0, 8), BF16), np.zeros((8, 16), BF16)).shape == (0, 16)
    np.testing.assert_array_equal(
        numbers(gemm(np.zeros((3, 0), BF16), np.zeros((0, 16), BF16), bias=np.ones(16, BF16))), 1
    )
    nothing = np.zeros((3, 0), E4M3), np.zeros((16, 0), E4M3), *(arranged(np.zeros((n, 0), np.uint8)) for n in (3, 16))
    np.testing.assert_array_equal(numbers(gemm_scaled(*nothing)), np.zeros((3, 16)))


def rotated(piece: Any, cosines: Any) -> None:
    left, right = piece.halves(piece.sums)
    c, _ = piece.halves(piece.by_element(cosines))
    piece.result(piece.beside(left * c - right, right * c + left))


def swiglu(piece: Any) -> None:
    gate, up = piece.pairs(piece.sums)
    piece.result(max(gate, 0.0) * up)


def crossed(piece: Any) -> None:
    even, odd = piece.pairs(piece.sums)
    piece.result(piece.joined(odd, even))


def with_sums(
    piece: Any, bias: Any, factors: Any, sums: Any, tops: Any, other: Any, rows: Any, blocks: Any
) -> None:  # fmt: skip
    x = piece.sums + piece.by_column(bias) + piece.by_row(blocks, every=64)
    piece.put_rows(sums, piece.of_rows(x))
    piece.put_rows(tops, piece.of_rows(abs(x), "max"))
    piece.result(x * piece.by_row(factors))
    if piece.column >= 64:
        piece.store(x, other, piece.column - 64, rows)


@pytest.mark.parametrize("name", ["rotated", "swiglu", "crossed", "with_sums"])
@pytest.mark.usefixtures("on_cards", "few_blocks")
def test_functions_that_finish_are_those_of_hopper(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One function gives the same results by both GEMMs, whose threads have other elements."""
    found = []
    for multiply, arch in ((gemm, "sm_100a"), (hopper.gemm, "sm_90a")):
        monkeypatch.setenv("CUTELITE_ARCH", arch)
        draw = np.random.default_rng(6)
        a, b = whole(draw, 140, 96), whole(draw, 96, 144)
        given: tuple[Any, ...] = ()
        if name == "rotated":
            given = (whole(draw, 140, 144),)
        elif name == "with_sums":
            sums, tops = np.zeros((140, 5), np.float32), np.zeros((140, 5), np.float32)
            rows = draw.permutation(150)[:140].astype(np.int32) - 3
            factors = whole(draw, 140, dtype=np.float32)
            given = whole(draw, 144), factors, sums, tops, np.zeros((150, 72), np.float32), rows
            given = *given, whole(draw, 140, 3, dtype=np.float32)
        out = np.full((140, 72 if name == "swiglu" else 208), 77.0, np.float32)
        columns = 64 if name == "swiglu" else 32
        multiply(a, b, out, finish=cl.Finish(globals()[name], given, columns, name == "swiglu"))
        assert (out[:, 144:] == 77.0).all()
        found.append((out, *given))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "config", [Config((256, 128), stages=3), CLUSTERS[2], DYNAMIC[0], "nvfp4", "grouped", "fp8"], ids=str
)
@pytest.mark.usefixtures("few_blocks")
def test_the_checker_finds_nothing(config: Any, checked: Callable[[int], None]) -> None:
    checked(2 if config == Config((256, 128), stages=3) else 1)
    draw = np.random.default_rng(7)
    if config == "nvfp4":
        x, y = (draw.integers(0, 256, (rows, 320), np.uint8) for rows in (140, 264))
        scales = (arranged(np.full((rows, 40), 56, np.uint8)) for rows in (140, 264))
        gemm_scaled(x, y, *scales, kind="nvfp4", config=Config((256, 128), stages=2))
        return
    if config == "fp8":
        a, b, ones = whole(draw, 140, 272, dtype=E4M3), whole(draw, 136, 272, dtype=E4M3), np.ones((140, 3), np.float32)
        gemm_fp8_block(a, b, ones, ones[:2], config=Config((256, 128), stages=2))
        return
    if config == "grouped":
        gemm_grouped(whole(draw, 300, 264), whole(draw, 3, 136, 264), np.array([140, 140, 290], np.int32), config=TALL)
        return
    gemm(whole(draw, 264, 264), whole(draw, 264, 264), config=config)


@pytest.mark.skipif(find.ptxas() is None, reason="needs ptxas")
@pytest.mark.parametrize("arch", spills.ARCHS)
def test_nothing_is_spilled(arch: str) -> None:
    """A few of the kernels that can be picked; `tests.blackwell.spills` compiles all."""
    fused, whole_tile = f"bfloat16 KK to float32 fused {Config()}", f"bfloat16 KK to bfloat16 plain {Config()}"
    scaled, groups = Config((256, 128), stages=6), f"grouped float8_e4m3fn {Config()}"
    wanted = {fused, f"nvfp4 {scaled}", f"fp8_block {scaled}", groups} if arch == "sm_100a" else {whole_tile}
    for name, run in (*spills.special(), *spills.gemms()):
        if name in wanted and (kernel := spills.launched(run)):
            made = kernel[0].compile(*kernel[1], arch=arch)
            assert (made.spills, made.warnings) == (0, []), name
            wanted.remove(name)
    assert not wanted


def test_gemms_of_the_library_are_these_on_tensor_memory() -> None:
    """`cutelite.kernels.gemm` takes them for a GPU that has it, in the simulator as CUTELITE_ARCH says."""
    draw = np.random.default_rng(13)
    a, b, bias = whole(draw, 40, 72), whole(draw, 72, 24), whole(draw, 24)
    want = (numbers(a) @ numbers(b) + numbers(bias)).astype(BF16)
    np.testing.assert_array_equal(hopper.gemm(a, b, bias=bias, config="tuned"), want)
    fp8, ones = a[:, :64].astype(E4M3, order="C"), np.ones((40, 1), np.float32)
    found = fp8_block.gemm(fp8, fp8, ones, ones[:1])
    np.testing.assert_array_equal(found, (numbers(fp8) @ numbers(fp8).T).astype(BF16))
    with pytest.raises(ValueError, match="gate= is for Hopper"):
        hopper.gemm(a, np.tile(b, (1, 2)), gate="silu")
    with pytest.raises(ValueError, match="config= is for Hopper"):
        hopper.gemm(a, b, config=Hopper())
    with pytest.raises(ValueError, match="config= is for Hopper"):
        fp8_block.gemm(fp8, fp8, ones, ones[:1], config=fp8_block.Config())


def test_what_cannot_be_is_refused() -> None:
    a, b = np.zeros((128, 128), BF16), np.zeros((128, 128), BF16)
    with pytest.raises(ValueError, match="pairs share their tiles with no other blocks"):
        gemm(a, b, config=Config(cluster=(2, 1)))
    with pytest.raises(ValueError, match="tiles have 128 rows, of pairs 256"):
        gemm(a, b, config=Config((128, 256)))
    with pytest.raises(ValueError, match=r"9 stages of .* do not fit into shared memory"):
        gemm(a, b, config=Config(stages=9))
    with pytest.raises(ValueError, match=r"config is a `kernels\.blackwell"):
        gemm(a, b, config="tuned")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="64 rows or columns in each block's part"):
        gemm(a, b, config=Config((128, 64), False, (2, 1)))
    with pytest.raises(ValueError, match="must be one of 'mxfp8'"):
        gemm_scaled(a, b, a, b, kind="fp4")  # type: ignore[arg-type]
    x = np.zeros((128, 64), np.uint8)
    with pytest.raises(cl.ArgumentError, match=r"scale_b has shape .*, but must be \(1, 1, 32, 16\).*arranged"):
        gemm_scaled(x, x, arranged(x[:, :4]), x, kind="mxfp4")
    with pytest.raises(ValueError, match="block scales take tiles of"):
        gemm_scaled(x, x, arranged(x[:, :4]), arranged(x[:, :4]), kind="mxfp4", config=Config())
    fp8, one = a.astype(E4M3), np.ones((128, 1), np.float32)
    with pytest.raises(ValueError, match="at most 128 columns"):
        gemm_fp8_block(fp8, fp8, one, one[:1], config=Config(stages=2))
    with pytest.raises(ValueError, match="finish= is not paired"):
        gemm_fp8_block(fp8, fp8, one, one[:1], finish=cl.Finish(swiglu, paired=True))
    ends, several = np.zeros(1, np.int32), np.zeros((1, 128, 128), BF16)
    with pytest.raises(ValueError, match="groups of rows take no clusters but pairs"):
        gemm_grouped(a, several, ends, config=CLUSTERS[0])
    with pytest.raises(cl.ArgumentError, match="b has 124 rows for each group"):
        gemm_grouped(a, several[:, :124], ends)
    with pytest.raises(ValueError, match="with finish= there are no c, bias"):
        gemm(a, b, bias=b[0], finish=cl.Finish(swiglu))
    with pytest.raises(ValueError, match="pieces have 16, 32, 64 or 128 columns, not 48"):
        gemm(a, b, finish=cl.Finish(crossed, columns=48))


def test_one_kernel_serves_all_sizes() -> None:
    """Sizes are arguments: another one compiles nothing."""
    draw, before = np.random.default_rng(8), build.cache_info().currsize
    for m in (40, 200):
        gemm(whole(draw, m, 24), whole(draw, 24, m), config=Config((128, 64), False, stages=2))
    assert build.cache_info().currsize == before + 1
