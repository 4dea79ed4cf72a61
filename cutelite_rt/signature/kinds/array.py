"""Arrays: by address, or as a tensor map for TMA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from cutelite_rt.arrays.memory import ArrayView, read, reader_library
from cutelite_rt.dtype import DTYPES, compact_strides
from cutelite_rt.gpu.tensormap import CORNERS, SWIZZLES, MapForm, Tiling
from cutelite_rt.signature.bind import Call, MapRequest
from cutelite_rt.signature.data import Box, DType, Name, Nested, Positive, Strided, kind
from cutelite_rt.signature.kinds.base import C, Rows

LOOKED_AT = frozenset(("torch", "cupy", "cutelite"))
"""Libraries whose arrays can be read without side effects."""


@kind
class Array(NamedTuple):
    """An array.

    says   its annotation in words
    align  its address must be a multiple of this many bytes; None: of an element's, and the kernel is specialised for
           multiples of 16
    box    the box of the tensor map by which it is passed; None: it is passed as an address
    """

    name: Name
    says: str
    dtype: DType
    layout: Strided | Nested
    align: Positive | None = None
    box: Box | None = None

    @property
    def packs_as(self) -> str:
        return "ptr" if self.box is None else "tensormap"

    @property
    def form(self) -> MapForm | None:
        """The form of its tensor map; None for an address."""
        return self.box and MapForm(str(self.dtype), *self.box)

    def leaves(self) -> Iterator[Array]:
        yield self

    def rows(self, rows: Rows, slot: int, given: int) -> None:
        rows.leaf(self, slot, given)

    # Arguments.

    def found(self, call: Call, argument: Any) -> tuple[ArrayView, str]:
        """Check an array argument and learn its dims; return its view and dtype in the kernel. Errors: as `fit`."""
        view = call.read(self.name, argument)
        dtype = call.dtype(self.name, self.dtype, view.dtype)
        self.check_layout(call, view)
        if self.box is None:
            least = self.align or DTYPES[dtype].bytes if view.size else 1
            call.aligned(self.name, view.place, least, view.device[0] == "cpu")
        call.arrays.append((self.name, view))
        return view, dtype

    def fit(self, call: Call, argument: Any) -> None:
        view, dtype = self.found(call, argument)
        if self.box is None:
            call.values.append(view)
        else:
            tiling = Tiling(self.box.extents, swizzle=self.box.swizzle, corners=self.box.corners)
            call.values.append(MapRequest(self.name, view, dtype, tiling))

    def look(self, argument: Any, alignment: int) -> tuple[Any, ArrayView | None]:
        if argument is None:  # another signature of the kernel may allow None
            return None, None
        if reader_library(type(argument)) not in LOOKED_AT:
            raise TypeError
        view = read(argument)
        if not view.pointer:
            raise TypeError
        return (view.pointer % alignment, view.dtype, view.shape, view.strides, view.device), view

    def check_layout(self, call: Call, view: ArrayView) -> None:
        """Check extents and strides, and learn dims from them. Errors: `ArgumentError`."""
        name, layout = self.name, self.layout
        if isinstance(layout, Nested):
            self._check_nested(call, layout, view)
            return
        if len(view.shape) != len(layout.shape):
            modes = f"{len(layout.shape)} mode{'s' if len(layout.shape) != 1 else ''}"
            raise call.error(name, f"has shape {view.shape}, but {self.says} has {modes}")
        for mode, extent in enumerate(layout.shape):
            call.extent(name, extent, view.shape, mode, "extent")
        if layout.strides is None:
            self._check_compact(call, layout.order, view)
            return
        for mode, stride in enumerate(layout.strides):
            call.extent(name, stride, view.strides, mode, "stride", view.shape[mode] > 1 and view.size > 0)

    def _check_nested(self, call: Call, layout: Nested, view: ArrayView) -> None:
        if layout.cosize is None:
            raise call.error(self.name, f"has the nested layout {layout.layout}, whose extents must be compile-time")
        if view.size > 1 and view.strides != compact_strides(view.shape):
            raise call.error(self.name, f"must be contiguous to be seen through the layout {layout.layout}")
        if view.size < layout.cosize:
            raise call.error(
                self.name, f"has {view.size} elements, but the layout {layout.layout} reaches {layout.cosize}"
            )

    def _check_compact(self, call: Call, order: str, view: ArrayView) -> None:
        strides = compact_strides(view.shape, order)
        if view.strides == strides or not view.size:
            return
        modes = zip(view.shape, view.strides, strides, strict=True)
        if any(extent > 1 and found != wanted for extent, found, wanted in modes):
            words = {"row": "row-major", "col": "column-major"}[order]
            raise call.error(
                self.name,
                f"has strides {view.strides} for its shape {view.shape}, but must be {words}, {strides}; make it "
                "contiguous, or annotate its strides: Tensor[dtype, shape, strides], with None for any",
            )

    # Files and C.

    def misfits(self) -> Iterator[tuple[str, str]]:
        if self.box is None:
            if self.align is None:
                yield "align", "a whole number of at least 1"
            return
        if not isinstance(self.dtype, str) or self.box.swizzle not in SWIZZLES:
            yield "box", f"of a dtype that TMA moves, with a swizzle of {', '.join(SWIZZLES)}"
        form = MapForm(str(self.dtype), *self.box)
        modes = len(self.layout.shape) if isinstance(self.layout, Strided) else form.rank
        if form.corners:
            bound = CORNERS.get(modes, 0)
            fits = len(form.corners) == 2 * (modes - 2) and all(-bound <= corner < bound for corner in form.corners)
            if not fits or len(form.box) != 2 or form.box[1] > 256:
                yield (
                    "box",
                    "pixels and up to 256 channels, and two corners for each mode between first and last",
                )
        elif form.rank != modes or not 1 <= modes <= 5 or max(form.box) > 256:
            yield "box", "one to five extents of up to 256, one for each mode"

    @property
    def c(self) -> C:
        taken = "if ((bad = fit_array(&on, {leaf}, {array}, {name}, strides[{array}]))) return bad;"
        return C("const cutelite_tensor *{name}", taken, "ARRAY", str(self.dtype), "tvm_tensor({any})")
