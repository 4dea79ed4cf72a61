"""The properties of everything with a layout: tensors of memory, and of coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutelite.layout import size

if TYPE_CHECKING:
    from cutelite.layout import Layout


class Shaped:
    """An object with a `layout`. Extents that are known at launch only are dims."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def layout(self) -> Layout: ...

    @property
    def shape(self) -> Any:
        """The extents."""
        return self.layout.shape

    @property
    def stride(self) -> Any:
        return self.layout.stride

    @property
    def size(self) -> Any:
        """The number of elements: an int or a dim expression."""
        return size(self.layout)

    @property
    def ndim(self) -> int:
        return self.layout.rank

    @property
    def extent(self) -> Any:
        """The extent of the first mode, which is len()."""
        return size(self.layout, 0)
