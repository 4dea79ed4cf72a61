"""Types of arrays as compiled launchers know them."""

import ctypes

import numpy as np
import pytest

from cutelite_rt.arrays import exchange, stream
from cutelite_rt.arrays.memory import DeviceArray, read
from cutelite_rt.launcher import native
from tests.rt import exchange as other
from tests.rt.conftest import FakeCuda


def test_functions_of_a_library() -> None:
    found = exchange.of_type(other.Array)
    assert found == (other.table.read, other.table.current_stream)


def test_an_older_table_is_found_behind_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other.Array, "__dlpack_c_exchange_api__", other.capsule(other.newer))
    assert exchange.of_type(other.Array) == (other.table.read, other.table.current_stream)


def test_what_is_not_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = exchange._Table(2, 0)
    for wrong in (other.capsule(alone), other.capsule(other.table, b"another"), 7, None):
        monkeypatch.setattr(other.Array, "__dlpack_c_exchange_api__", wrong)
        assert exchange.of_type(other.Array) is None
    assert exchange.of_type(int) is None


def test_the_stream_of_a_library(cuda: FakeCuda) -> None:
    array = other.Array(0x7000, (4,), device=(2, 1))
    assert stream.of([3, None, array]) == other.Array.stream + 1
    assert stream.current([read(array)]) == other.Array.stream + 1
    host = other.Array(0x7000, (4,), device=(1, 0))
    assert stream.of([host]) == 0


def test_ways_of_reading() -> None:
    class Exporter:
        def __dlpack__(self) -> None: ...

    class Mine(DeviceArray):
        pass

    kinds = [other.Array, DeviceArray, Mine, Exporter, np.ndarray, int, object]
    ways = [exchange.EXCHANGE, exchange.OWN, exchange.OWN, exchange.BY_PYTHON, *[exchange.REFUSED] * 3]
    assert [exchange.way_of(kind).how for kind in kinds] == ways


def test_a_table_of_types_grows_and_finds_all() -> None:
    table, kinds = exchange.TypeTable(native.publish), [type(f"T{i}", (), {}) for i in range(200)]
    for i, kind in enumerate(kinds):
        table.add(kind, exchange.Way(exchange.EXCHANGE, exchange.Exchange(i, i + 1000)))
    mask = ctypes.c_uint64.from_address(table.address).value
    entries = table.address + 8 * exchange.ENTRY_WORDS
    words = (ctypes.c_uint64 * (exchange.ENTRY_WORDS * (mask + 1))).from_address(entries)
    for i, kind in enumerate(kinds):
        at = exchange.hash_of(id(kind)) & mask
        while words[4 * at] != id(kind):
            assert words[4 * at], "an empty place ends a search"
            at = (at + 1) & mask
        assert words[4 * at + 1 : 4 * at + 4] == [exchange.EXCHANGE, i, i + 1000]
