"""TMA descriptors in memory, changed by a kernel: for tensors whose address and size only the GPU knows.

    tensormap.copy            the descriptor of a parameter -> 128 bytes of shared memory
    tensormap.replace         one field of it
    tensormap.cp_fenceproxy   it -> global memory, released to TMA
    fence.proxy.tensormap     acquired by the threads that start copies (`ops.tma`)
    tensormap.at              the descriptor at an address of global memory, as TMA's instructions take it

The box, the element type and the swizzle are part of the descriptor's IR type and stay as they are. In the simulator a
descriptor in memory is a record of our own, 16 words of 64 bits: `WORDS` says where each field lies.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from cutelite.ir.contract import Effect, Problem, Ptx, np
from cutelite.ir.function import Value
from cutelite.ir.op import Op, Rule, op
from cutelite.ir.simulation import Lanes
from cutelite.ir.types import Ptr, Scalar, Tensor, TensorMap, i32, i64, u32, u64
from cutelite.ops.address import address, among
from cutelite.ops.sync import SCOPES

MAP_BYTES = 128
MAP_ALIGN = (
    128  # bytes: of a descriptor in global memory, as the driver has them since CUDA 13; in shared memory likewise
)
MOST_MODES = 5
WORDS = {"form": 0, "global_address": 1, "global_dim": 2, "global_stride": 7}
"""Where fields begin in the simulator's record, in words; extents and strides (in bytes) innermost first."""

FIELDS: dict[str, tuple[Scalar, ...]] = {
    "global_address": (u64, i64),
    "global_dim": (u32, i32),
    "global_stride": (u64, i64),
}
"""Fields that can be replaced, with the types of the new value; an address may be a pointer too."""

KEPT = ("rank", "box_dim", "element_stride", "elemtype", "interleave_layout", "swizzle_mode", "fill_mode")
"""Fields that PTX can replace, but which are part of the descriptor's IR type here."""


def form_of(t: TensorMap) -> int:
    """Return the first word of the record of a descriptor: a hash of what stays as it is, and the number of modes."""
    text = f"{t.elem} {t.box} {t.swizzle} {t.corners} {t.strides} {t.wide}"
    return 0x7E45 << 48 | t.modes << 32 | zlib.crc32(text.encode())


def _room(space: str) -> Rule:
    placed = address(space, align=MAP_ALIGN)

    def problems(op: Op, field: str) -> tuple[Problem, ...]:
        t = getattr(op, field).type
        if isinstance(t, Tensor) and t.elem.bytes != 8:
            return (Problem(field, f"`{field}` of {op.name} is a tensor of {t.elem}, but must be one of u64"),)
        return placed(op, field)

    return problems


@op("tensormap.copy", effects=Effect.WRITES, feature="tensormap.replace", source="PTX ISA: tensormap.replace")
class TensormapCopy(Op):
    """Copy the descriptor of a parameter, 128 bytes, to shared memory, to change it there. One thread executes it."""

    map: Value
    dst: Value
    takes = {"dst": _room("smem")}

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.map.type, TensorMap):
            yield Problem("map", f"{self.name} takes a TMA descriptor, not {self.map.type}")
        elif self.map.type.stored:
            yield Problem("map", "the descriptor is one in memory", "copy the descriptor of a parameter")

    def ptx(self) -> Ptx:
        moves = " ".join(
            f"ld.v2.b64 {{lo, hi}}, [$map+{at}]; st.shared.v2.b64 [$dst+{at}], {{lo, hi}};"
            for at in range(0, MAP_BYTES, 16)
        )
        return Ptx(f"{{ .reg .b64 lo, hi; {moves} }}")

    def simulate(self, lanes: Lanes) -> None:
        words = np.broadcast_to(lanes.get(self.map).words(), (len(lanes.tid), MAP_BYTES // 8))
        lanes.store("smem", lanes.get(self.dst), u64, words)


@op(
    "tensormap.replace",
    effects=Effect.READS | Effect.WRITES,
    feature="tensormap.replace",
    source="PTX ISA: tensormap.replace",
)
class TensormapReplace(Op):
    """Change a field of the descriptor in shared memory at `dst`. One thread executes it.

    field  'global_address'; 'global_dim', the extent of a mode; 'global_stride', its stride in bytes, a multiple of 16
    mode   counted from the outermost, as in the layout of the map; the last one has no stride
    modes  the number of modes of the tensor
    """

    field: str
    dst: Value
    value: Value
    mode: int = 0
    modes: int = 1
    takes = {"dst": _room("smem")}

    def verify(self) -> Iterator[Problem]:
        wanted = FIELDS.get(self.field)
        if wanted is None:
            why = " is in the descriptor's type" if self.field in KEPT else f" is none of {', '.join(FIELDS)}"
            yield Problem(
                "field", f"`{self.field}`{why}", "declare another parameter for it" if self.field in KEPT else ""
            )
            return
        is_pointer = self.field == "global_address" and isinstance(self.value.type, Ptr | Tensor)
        if is_pointer:
            yield from address("gmem", align=16)(self, "value")
        elif self.value.type not in wanted:
            names = " or ".join(map(str, wanted))
            yield Problem("value", f"{self.field} is {self.value.type}, but must be {names}")
        last = self.modes - (self.field == "global_stride")
        if not 1 <= self.modes <= MOST_MODES:
            yield Problem("modes", f"a TMA tensor has 1 to {MOST_MODES} modes, not {self.modes}")
        elif self.field != "global_address" and not 0 <= self.mode < last:
            what = "has no stride to replace" if self.mode == last < self.modes else "is none of the tensor's"
            yield Problem("mode", f"mode {self.mode} of {self.modes} {what}")

    @property
    def order(self) -> int:
        """The number of the field in PTX, innermost first; strides are those of all but the innermost mode."""
        return self.modes - 1 - self.mode - (self.field == "global_stride")

    def ptx(self) -> Ptx:
        order = "" if self.field == "global_address" else f" {self.order},"
        bits = 32 if self.field == "global_dim" else 64
        return Ptx(f"tensormap.replace.tile.{self.field}.shared::cta.b1024.b{bits} [$dst],{order} $value;")

    def simulate(self, lanes: Lanes) -> None:
        address, value = lanes.get(self.dst), lanes.get(self.value)
        if self.field == "global_stride":
            lanes.fault(value % 16 != 0, "a stride of a TMA tensor is no multiple of 16 bytes", "tensormap")
        if self.field == "global_dim":
            lanes.fault(value < 1, "an extent of a TMA tensor is below 1", "tensormap")
        if self.field == "global_address":
            lanes.fault(value % 16 != 0, "the address of a TMA tensor is no multiple of 16 bytes", "misaligned")
        words = lanes.load("smem", address, u64, MAP_BYTES // 8).copy()
        at = WORDS[self.field] + (0 if self.field == "global_address" else self.order)
        words[:, at] = value.astype(np.int64).view(np.uint64)
        lanes.store("smem", address, u64, words)


@op(
    "tensormap.cp_fenceproxy",
    scope="warp",
    effects=Effect.READS | Effect.WRITES | Effect.ORDERS | Effect.CONVERGENT,
    feature="tma",
    source="PTX ISA: tensormap.cp_fenceproxy",
)
class TensormapPublish(Op):
    """Copy the descriptor at `src`, in shared memory, to `dst` in global memory, and release it to TMA.

    The threads of a warp execute it together. Threads that changed the descriptor come before it by `syncwarp`.

    reach  the threads that may acquire it: 'cta', 'cluster', 'gpu' or 'sys'
    """

    dst: Value
    src: Value
    reach: str = "gpu"
    takes = {"dst": _room("gmem"), "src": _room("smem"), "reach": among(SCOPES)}

    def ptx(self) -> Ptx:
        kinds = f"global.shared::cta.tensormap::generic.release.{self.reach}.sync.aligned"
        return Ptx(f"tensormap.cp_fenceproxy.{kinds} [$dst], [$src], {MAP_BYTES};")

    def simulate(self, lanes: Lanes) -> None:
        part = np.arange(len(lanes.tid)) * 4  # each thread copies a part: PTX does not say which
        data = lanes.load("smem", lanes.get(self.src) + part, u32)
        lanes.store("gmem", lanes.get(self.dst) + part, u32, data)
        lanes.machine.fence(lanes, "warp")
        lanes.machine.publish_map(lanes, lanes.get(self.dst))


@op("tensormap.at", feature="tma", source="PTX ISA: tensormap")
class TensormapAt(Op):
    """The descriptor at `p`, an address in global memory, as operand of TMA instructions."""

    p: Value
    type: TensorMap
    gives = "type"
    takes = {"p": _room("gmem")}
    as_ptx = Ptx("cvta.global.u64 $out, $p;", pure=True, memory=False)

    def verify(self) -> Iterator[Problem]:
        if not self.type.stored:
            yield Problem("type", f"{self.type} is the type of a parameter, not of a descriptor in memory")

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(lanes.get(self.p))
