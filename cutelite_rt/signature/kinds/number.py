"""Numbers and addresses: one machine word each."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any, NamedTuple

from cutelite_rt.arrays.memory import is_array
from cutelite_rt.dtype import BY_NUMPY, DTYPES
from cutelite_rt.errors import brief
from cutelite_rt.signature.bind import MISSING, Address, Call, plain_number
from cutelite_rt.signature.data import Code, DType, Name, Positive, Variable, kind
from cutelite_rt.signature.kinds.base import C, Rows

KIND = {code: i for i, code in enumerate(DTYPES)}
"""Dtype -> its number in the launcher and in C."""

_TAKES: dict[str, Any] = {"bool": bool, "int": numbers.Integral, "uint": numbers.Integral, "float": numbers.Real}
_OWN = {bool: "bool", int: "i32", float: "f32"}  # dtypes of Python's numbers, where nothing else decides
BEYOND = {
    "f16": 65520.0,
    "bf16": float.fromhex("0x1.ffp127"),
    "f32": float.fromhex("0x1.ffffffp127"),
    "tf32": float.fromhex("0x1.ffep127"),
    "e4m3": 464.0,
    "e5m2": 61440.0,
}
"""The least number that rounds beyond the dtype's largest finite value: half a step above that."""

_C_TYPES = {
    **{f"{sign}{bits}": f"{'u' * (sign == 'u')}int{bits}_t" for sign in "iu" for bits in (8, 16, 32, 64)},
    "bool": "int",
    "f32": "float",
    "f64": "double",
}  # other dtypes are passed as float


@kind
class Number(NamedTuple):
    """A number; `default` is its value where it is left out, None where it must be given."""

    name: Name
    dtype: DType
    default: bool | int | float | None = None

    @property
    def left_out(self) -> Any:
        return MISSING if self.default is None else self.default

    @property
    def packs_as(self) -> str:
        return str(self.dtype)

    def leaves(self) -> Iterator[Number]:
        yield self

    def rows(self, rows: Rows, slot: int, given: int) -> None:
        rows.leaf(self, slot, given)

    def decided(self, call: Call, argument: Any) -> str:
        """Return the dtype: of a variable the one found in a tensor, else the number's own. Errors: `ArgumentError`."""
        if isinstance(self.dtype, str):
            return self.dtype
        if self.dtype.name in call.dtypes:
            return call.dtypes[self.dtype.name][0]
        own = BY_NUMPY.get(getattr(getattr(argument, "dtype", None), "name", ""))
        found = own or _OWN.get(type(plain_number(argument)))
        if found is None:
            raise call.error(self.name, f"must be a number, not {brief(argument)}")
        return call.dtype(self.name, self.dtype, found)

    def fit(self, call: Call, argument: Any) -> None:
        self.take(call, self.decided(call, argument), argument)

    def take(self, call: Call, dtype: str, argument: Any) -> None:
        """Check a number for that dtype, and append it to ``call.values``. Errors: `ArgumentError`."""
        number, row = plain_number(argument), DTYPES[dtype]
        if not isinstance(number, _TAKES[row.kind]) or (isinstance(number, bool) and row.kind == "float"):
            unread = number is argument and getattr(argument, "shape", None) == ()
            hint = "; read it from the GPU with .item()" if unread else ""
            raise call.error(self.name, f"must be a number of dtype {dtype}, not {brief(argument)}{hint}")
        if row.kind in ("int", "uint"):
            low, high = row.range
            if not low <= number <= high:
                raise call.error(self.name, f"is {number}, but {dtype} holds {low} to {high}")
            number = int(number)
        elif row.kind == "float":
            number = self._float(call, dtype, number)
        call.values.append(number)

    def _float(self, call: Call, dtype: str, number: Any) -> float:
        try:
            found = float(number)
        except OverflowError:
            raise call.error(self.name, f"is too large for {dtype}") from None
        limit = BEYOND.get(dtype)
        if limit is not None and limit <= abs(found) and (abs(found) != float("inf") or dtype == "e4m3"):
            raise call.error(self.name, f"is {found}, which is beyond what {dtype} holds")
        return found

    def look(self, argument: Any, alignment: int) -> tuple[None, int | float | bool]:
        # Numbers of a plan are packed without `fit`, and for e4m3 packing rounds numbers that `fit` refuses.
        if type(argument) not in (int, float, bool) or self.dtype == "e4m3":
            raise TypeError
        return None, argument

    def misfits(self) -> Iterator[tuple[str, str]]:
        if isinstance(self.dtype, Variable):
            yield "dtype", "a dtype"

    @property
    def c(self) -> C:
        dtype = str(self.dtype)
        its, number = _C_TYPES.get(dtype, "float"), KIND.get(dtype, 0)
        taken = "memcpy({to}, &{name}, sizeof {name});"
        if dtype == "bool":
            taken = "*({to}) = {name} != 0;"
        elif dtype not in _C_TYPES:
            taken = f"if ((bad = fit_number(&on, {{leaf}}, {number}, {{name}}, {{to}}))) return bad;"
        read = "tvm_float({any})" if DTYPES[dtype].kind == "float" else "({any})->v_int64"
        return C(f"{its} {{name}}", taken, str(number), dtype, f"({its}){read}")


@kind
class Pointer(NamedTuple):
    """An address of elements of `dtype`, a multiple of `align` bytes; `says` is its annotation in words."""

    name: Name
    says: str
    dtype: Code
    align: Positive

    @property
    def packs_as(self) -> str:
        return "ptr"

    def leaves(self) -> Iterator[Pointer]:
        yield self

    def rows(self, rows: Rows, slot: int, given: int) -> None:
        rows.leaf(self, slot, given)

    def fit(self, call: Call, argument: Any) -> None:
        """Take an int, an array, or memory with `handle`, `ptr` or `value`."""
        view, found = None, _address(argument)
        if found is None:
            if not is_array(argument):
                raise call.error(self.name, f"must be an address, or have one, for {self.says}, not {brief(argument)}")
            view = call.read(self.name, argument)
            call.dtype(self.name, self.dtype, view.dtype)
            call.arrays.append((self.name, view))
            found = view.pointer
        if not 0 <= found < 1 << 64:
            raise call.error(self.name, f"is {found}, which is no address")
        call.aligned(self.name, found, self.align)
        call.values.append(Address(self.name, found, view))

    def misfits(self) -> Iterator[tuple[str, str]]:
        if self.align & (self.align - 1):
            yield "align", "a power of two"

    @property
    def number(self) -> int:
        """The number of this kind in the launcher and C, after those of dtypes: it tells the alignment."""
        return len(DTYPES) + self.align.bit_length() - 1

    @property
    def c(self) -> C:
        taken = f"if ((bad = fit_pointer(&on, {{leaf}}, {self.number}, {{name}}, {{to}}))) return bad;"
        return C("CUdeviceptr {name}", taken, str(self.number), "u64", "(CUdeviceptr)({any})->v_int64")


def _address(argument: Any) -> int | None:
    """Return the address that an argument is, or has as `handle`, `ptr` or `value`; None if it has none."""
    if isinstance(argument, bool):
        return None
    if isinstance(argument, int):
        return argument
    if is_array(argument):
        return None
    for name in ("handle", "ptr", "value"):  # cuda.core's buffers; CuPy's memory; ctypes
        found = getattr(argument, name, None)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
    return None
