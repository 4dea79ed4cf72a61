"""setmaxnreg: sums that cannot fit are refused when compiled, and what fits is not."""

import pytest

import cutelite as cl
from cutelite import CompileError, Tensor, f32


def roles(gives: int, takes: int, threads: int = 384) -> None:
    @cl.kernel(block=threads)
    def kernel(a: Tensor[f32, (1,)]) -> None:
        if cl.warp_idx() // 4 == 0:
            cl.setmaxnreg_dec(gives)
            a[0] = 1.0
        else:
            cl.setmaxnreg_inc(takes)

    kernel.compile()


@pytest.mark.parametrize(
    ("gives", "takes", "threads"), [(40, 232, 384), (24, 240, 384), (56, 224, 384), (24, 152, 512)]
)
def test_what_fits_compiles(gives: int, takes: int, threads: int) -> None:
    roles(gives, takes, threads)


@pytest.mark.parametrize(("gives", "takes", "threads"), [(40, 240, 384), (48, 232, 384), (24, 168, 512)])
def test_sums_that_cannot_fit_are_refused(gives: int, takes: int, threads: int) -> None:
    with pytest.raises(CompileError, match="the warpgroups ask for") as caught:
        roles(gives, takes, threads)
    assert caught.value.span is not None


@pytest.mark.parametrize(("gives", "takes", "says"), [(24, 160, "inc to 160"), (176, 176, "dec to 176")])
def test_asking_for_fewer_than_at_the_start_and_keeping_more_are_refused(gives: int, takes: int, says: str) -> None:
    with pytest.raises(CompileError, match=f"setmaxnreg.{says}, and the kernel starts with 168"):
        roles(gives, takes)
