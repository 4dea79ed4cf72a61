"""Dtypes as the words users write."""

import copy
import pickle

import pytest

from cutelite.ir.types import SCALARS, boolean, f16, i8, u32


def test_called_outside_of_a_kernel_a_dtype_gives_pythons_number() -> None:
    assert (f16(2), type(f16(2))) == (2.0, float)
    assert (u32(7.0), type(u32(7.0))) == (7, int)
    assert boolean(1) is True


@pytest.mark.parametrize("number", [-129, 128])
def test_an_integer_that_a_type_cannot_hold_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match=f"{number} is no i8: it holds -128 to 127"):
        i8(number)


def test_there_is_one_object_for_each_type() -> None:
    """Much of the compiler asks ``dtype is f32``, and kernels may come from copies of models or other processes."""
    for dtype in SCALARS.values():
        assert all(x is dtype for x in (copy.copy(dtype), copy.deepcopy(dtype), pickle.loads(pickle.dumps(dtype))))
