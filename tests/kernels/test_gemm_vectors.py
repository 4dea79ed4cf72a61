"""Few rows, or columns, by a matrix that TMA cannot read: `kernels.gemm.vectors`."""

import pytest

from cutelite.kernels.gemm import dense, laid, odd
from cutelite.kernels.gemm.configs import swapped
from tests.run.test_gemm import compare, relu

pytestmark = pytest.mark.usefixtures("everywhere")
CASES = [((1, 37, 602), "KK"), ((2, 70, 203), "KK"), ((70, 3, 134), "KK"), ((61, 1, 44), "KN")]


@pytest.mark.parametrize(("shape", "majors"), CASES, ids=str)
def test_rows_that_begin_anywhere(
    shape: tuple[int, int, int], majors: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Rows end within the vectors and turns of all threads, and nothing else computes the product."""
    monkeypatch.setattr(odd, "LOADED", 0)
    monkeypatch.setattr(dense.picks, "take", None)
    compare(shape, majors=majors, c=True, bias="float32", alpha=0.5, beta=-2.0, activation=relu)


def test_one_row_is_never_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a row alone it does not matter where the next one would begin."""
    monkeypatch.setattr(odd, "LOADED", 0)
    monkeypatch.setattr(laid, "copy_all", lambda *pairs: pairs and pytest.fail("copied"))
    compare((1, 72, 44), majors="MN", config=swapped(8, 64, True))
