"""A function as one LLVM module: signature, blocks, phis, attributes and metadata.

ABI: the parameters in order (a scalar as its LLVM type, but bool and 8-bit floats as i8; a tensor in, or pointer to,
global memory as a pointer; a TMA descriptor by value, 128 bytes), then one i32 or i64 for each named dim. Those of a
table (`ops.parameters`) are an array by value. All shared memory is one external array, whose size is given at launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutelite.diag import InternalError
from cutelite.ir.faults import reported
from cutelite.ir.function import Block, Function, Jump, Value, predecessors, reverse_postorder
from cutelite.ir.op import Op
from cutelite.ir.types import I32_DIM_LIMIT, SCALARS, InFlight, Ptr, Scalar, Tensor, TensorMap, i32
from cutelite.lower import alive, assembly, instructions
from cutelite.lower.assembly import one_piece, write_joined
from cutelite.lower.structure import STRUCTURE, missing, part
from cutelite.lower.types import TENSOR_MAP, count, leaf, memory, merged, shares
from cutelite.lower.writer import Writer
from cutelite.ops.control import Br, CondBr
from cutelite.ops.parameters import parameters, tables
from cutelite.ops.tensor import SmemAlloc
from cutelite.target import Target

if TYPE_CHECKING:
    from cutelite.lower.debug import LineInfo
    from cutelite.lower.variables import DebugInfo

ATTRIBUTES = """\
attributes #1 = { nounwind }
attributes #2 = { convergent nounwind }
attributes #3 = { nounwind memory(none) }
attributes #4 = { convergent nounwind memory(none) }
attributes #5 = { noreturn nounwind }"""
"""The attribute groups that `assembly.ATTRIBUTES` refers to; #0, the kernel's own, is written for each kernel."""


def to_llvm(function: Function, target: Target, line_info: bool = False) -> str:
    """Return LLVM IR text for `function`, which has been through `passes.PIPELINE`.

    With an attribute `device` it is a function that others call; the attribute names its return type, or is 'void'.

    line_info  refer to the user's source lines
    Errors     `InternalError` for an op that no pass expanded and that has no spelling
    """
    with reported("lower", function):
        return _Module(function, target, line_info).text()


MANY_LOOPS, CUT = 64, 16
"""In a function of more loops than `MANY_LOOPS`, there are two ways to what follows each `CUT`-th of them.

For every loop LLVM's strength reduction goes back over all single ways in: 800 loops in a row took 5 s, and take 1.3.
"""


class _Module:
    def __init__(self, function: Function, target: Target, line_info: bool) -> None:
        self.function = function
        self.w = Writer()
        self.contract = "contract " if function.attrs.get("fmad", True) else ""
        self.order = reverse_postorder(function.entry)
        self.before = predecessors(self.order)
        self.labels = {block: f"b{i}" for i, block in enumerate(self.order)}
        self.place = {block: i for i, block in enumerate(self.order)}
        self.phis: list[tuple[int, Block, Value, tuple[str, ...]]] = []  # line, block, parameter, names
        self.passed: dict[int, list[tuple[str, ...]]] = {}  # the names that a jump passes for each parameter, by its id
        self.trampolines: dict[tuple[Block, int], str] = {}  # label by source and number of the jump
        self.loops = 0
        ends = [i for i, block in enumerate(self.order) if self._goes_back(block)]
        loops = len(ends)
        cuts = ends[CUT - 1 :: CUT] if loops > MANY_LOOPS and not function.attrs.get("debug") else ()
        self.cuts = {block for i in cuts for block in self.order[i + 1 : i + 2]}
        self.debug: LineInfo | DebugInfo | None = None
        self.variables: DebugInfo | None = None
        if function.attrs.get("debug"):  # the nodes of loops come first
            self.debug = self.variables = part("variables").DebugInfo(function, first=loops + 1)
        elif line_info:
            self.debug = part("debug").LineInfo(function.name, first=loops + 1)

    def text(self) -> str:
        signature = self._signature()
        w = self.w
        note = self.debug.start(next((op.span for op in self.function.ops() if op.span), None)) if self.debug else ""
        globals = []
        if self.function.attrs.get("profile"):
            globals.append(part("profile").GLOBAL)
            part("profile").begin(w, self.function, self.debug.at(None) if self.debug else "")
        if self.function.attrs.get("record"):
            globals.append(part("records").GLOBAL)
            part("records").begin(w, self.function, self.debug.at(None) if self.debug else "")
        for block in self.order:
            self._block(block)
        self._fill_phis()
        metadata = self._metadata()
        uses_smem = any(isinstance(op, SmemAlloc) for op in self.function.ops())
        smem = ["@smem = external addrspace(3) global [0 x i8], align 1024"] if uses_smem else []
        return "\n".join(
            [
                'target triple = "nvptx64-nvidia-cuda"',
                *(f"{name} = type {{ {', '.join(types)} }}" for types, name in w.structs.items()),
                *smem,
                *globals,
                *(f"{name} = {constant}" for constant, name in w.globals.items()),
                *w.declared,
                f"define {self._kind()} @{self.function.name}({signature}) #0{note} {{",
                "entry:",
                *w.entry,
                *w.lines,
                "}",
                f"attributes #0 = {{ {self._kernel_attributes()} }}",
                ATTRIBUTES,
                *metadata,
                "",
            ]
        )

    # The kernel.

    def _kind(self) -> str:
        returned = self.function.attrs.get("device")
        return "ptx_kernel void" if returned is None else "void" if returned == "void" else leaf(SCALARS[returned])

    def _signature(self) -> str:
        w, values = self.w, parameters(self.function)
        given = tables(self.function)
        held = {table.first + i: (table, offset) for table, _ in given for i, offset in enumerate(table.offsets)}
        params, dims = [], {*self.function.dims.values()}
        for i, value in enumerate(values):
            if i not in held:
                params.append(self._dim(value) if value in dims else self._param(value))
            elif i == (table := held[i][0]).first:
                shape = f"[{table.bytes} x i8]) align {table.align}"
                params.append(f'ptr byval({shape} "nvvm.grid_constant" %table{i}')
        for i, (table, offset) in held.items():
            w.entry.append(f"  %item{i} = getelementptr inbounds i8, ptr %table{table.first}, i32 {offset}")
            t = values[i].type
            in_memory = memory(t) if isinstance(t, Scalar) else leaf(t)
            w.names[values[i]] = name = w.fresh()
            w.entry.append(f"  {name} = load {in_memory}, ptr %item{i}")
        w.places = {op: place for _, read in given for op, place in read.items()}
        return ", ".join(params)

    def _dim(self, value: Value) -> str:
        above = I32_DIM_LIMIT + 1 if value.type == i32 else -(1 << 63)  # 2**63, as LLVM writes it
        self.w.names[value] = name = self.w.fresh()
        return f"{leaf(value.type)} noundef range({leaf(value.type)} 0, {above}) {name}"

    def _param(self, value: Value) -> str:
        w, t = self.w, value.type
        w.names[value] = name = w.fresh()
        match t:
            case TensorMap():
                return f'{TENSOR_MAP}"nvvm.grid_constant" {name}'
            case Tensor() | Ptr() if "device" in self.function.attrs:  # pointers in C are generic
                w.names[value] = near = f"%near{len(w.entry)}"
                w.entry.append(f"  {near} = addrspacecast ptr {name} to {leaf(t)}")
                return f"ptr noundef align {t.align} {name}"
            case Tensor() | Ptr():
                return f"{leaf(t)} noundef align {t.align} {name}"
            case Scalar() if t.kind == "bool":
                return f"i8 noundef {name}"  # converted to a bool at the start of the entry block
            case Scalar():
                return f"{memory(t)} noundef {name}"
        raise InternalError(f"a kernel cannot take a {t}", stage="lower")

    def _kernel_attributes(self) -> str:
        attrs = self.function.attrs
        found = ["nounwind", "convergent", "norecurse"]

        def add(name: str, value: object) -> None:
            found.append(f'"nvvm.{name}"="{value}"')

        if "block" in attrs:
            add("reqntid", ",".join(map(str, attrs["block"])))
            add("minctasm", attrs.get("min_blocks") or 1)  # without it ptxas ignores setmaxnreg
        if attrs.get("max_registers"):
            add("maxnreg", attrs["max_registers"])
        if attrs.get("cluster"):
            add("cluster_dim", ",".join(map(str, attrs["cluster"])))
        return " ".join(found)

    # Blocks.

    def _block(self, block: Block) -> None:
        w = self.w
        if self.variables:
            self.variables.enter()
        if block is not self.function.entry:
            w.lines.append(f"{self.labels[block]}:")
            for param in block.params:
                self._phi(block, param)
            for param in block.params:
                if count(param.type) is not None:
                    w.names[param] = w.part(w.elements(param), leaf(param.type), shares(param.type))
            if block in self.cuts:
                self._cut(self.labels[block])
        else:
            w.note = self.debug.at(None) if self.debug else ""
            for param in block.params:
                if isinstance(param.type, Scalar) and param.type.kind == "bool":
                    w.names[param] = w.define(f"icmp ne i8 {w.one(param)}, 0")
            if self.variables:
                self.variables.dims(w)
        written = behind = 0
        for at, op in enumerate(block.ops):
            if at < written:
                continue
            if at >= behind:
                end = alive.end_of_run(block.ops, at)
                behind = end + 1
                if not alive.fits(block.ops[at:end], w):
                    self._in_groups(block, at, end)
                    written = end
                    continue
            if self.debug:
                w.note = self.debug.at(op.span)
            elif op.results and isinstance(op.results[0].type, InFlight) and (joined := one_piece(block.ops, at)):
                # with source lines, each op keeps its own
                write_joined(w, joined)
                written = at + len(joined)
                continue
            self._op(op, block)

    def _cut(self, label: str) -> None:
        """Write a second way from a block to its ops. It is never taken: LLVM cannot tell, and ptxas leaves it out."""
        w = self.w
        zero = w.define('call i32 asm "mov.u32 $0, 0;", "=r"()')
        w.line(f"br i1 {w.define(f'icmp eq i32 {zero}, 0')}, label %{label}_on, label %{label}_aside")
        w.lines.append(f"{label}_aside:")
        w.line('call void asm sideeffect "", ""()')
        w.line(f"br label %{label}_on")
        w.lines.append(f"{label}_on:")

    def _in_groups(self, block: Block, start: int, end: int) -> None:
        """Write some ops without effects a few elements at a time."""
        w, before = self.w, self.w.lines
        written: list[tuple[list[str], int]] = []
        w.free = True
        for op in block.ops[start:end]:
            w.lines = []
            if self.debug:
                w.note = self.debug.at(op.span)
            self._op(op, block)
            written.append((w.lines, max((count(value.type) or 1 for value in op.results), default=1)))
        w.free, w.lines = False, before
        w.lines += alive.in_groups(written)

    def _op(self, op: Op, block: Block) -> None:
        w = self.w
        if isinstance(op, (Br, CondBr)):
            self._branch(op, block)
        elif op.name == "variable":
            if self.variables:
                self.variables.keep(w, op)
        elif (write := STRUCTURE.get(op.name)) is not None:
            write(w, op)
        elif (form := op.llvm()) is not None:
            instructions.write(w, op, form, self.contract)
        elif (code := op.ptx()) is not None:
            assembly.write(w, op, code)
        else:
            raise InternalError(missing(op), stage="lower", op=str(op), ir=str(self.function), span=op.span)

    def _branch(self, op: Br | CondBr, block: Block) -> None:
        w = self.w
        jumps = op.jumps
        for jump in jumps:
            self.passed[id(jump)] = [w.join(w.elements(v), leaf(v.type), shares(v.type)) for v in jump.args]
        loop = f", !llvm.loop !{self._loop()}" if self._goes_back(block) else ""
        if len(jumps) == 1:
            w.line(f"br label %{self.labels[jumps[0].block]}{loop}")
            return
        assert isinstance(op, CondBr)
        targets = [self.labels[jump.block] for jump in jumps]
        if jumps[0].block is jumps[1].block:  # a phi takes one value for each block: give each jump a block
            targets = [f"{self.labels[block]}_{i}" for i in range(2)]
            self.trampolines |= {(block, i): label for i, label in enumerate(targets)}
        w.line(f"br i1 {w.one(op.cond)}, label %{targets[0]}, label %{targets[1]}{loop}")
        for label, jump in zip(targets, jumps, strict=True) if jumps[0].block is jumps[1].block else ():
            w.lines.append(f"{label}:")
            w.line(f"br label %{self.labels[jump.block]}")

    def _goes_back(self, block: Block) -> bool:
        """Tell whether this block jumps back, and so ends a loop."""
        end = block.terminator
        return end is not None and any(self.place[jump.block] <= self.place[block] for jump in end.jumps)

    def _loop(self) -> int:
        """Return the number of a new node for a loop. It refers to node 0, which forbids unrolling."""
        self.loops += 1
        return self.loops

    def _phi(self, block: Block, param: Value) -> None:
        w = self.w
        names = tuple(w.fresh() for _ in shares(param.type))
        w.names[param] = names if count(param.type) is not None else names[0]
        self.phis.append((len(w.lines), block, param, names))
        w.lines += [""] * len(names)

    def _fill_phis(self) -> None:
        """Write the phis, now that every value has a name."""
        w = self.w
        for line, block, param, names in self.phis:
            index = block.params.index(param)
            sources = [(self._source(b, jump), self.passed[id(jump)][index]) for b, jump in self.before[block]]
            for i, (name, n) in enumerate(zip(names, shares(param.type), strict=True)):
                pairs = ", ".join(f"[ {passed[i]}, %{label} ]" for label, passed in sources)
                w.lines[line + i] = f"  {name} = phi {merged(leaf(param.type), n)} {pairs}"

    def _source(self, block: Block, jump: Jump) -> str:
        """Return the label of the LLVM block that the jump is written in."""
        end = block.terminator
        assert end is not None
        number = next(i for i, other in enumerate(end.jumps) if other is jump)
        label = self.trampolines.get((block, number), self.labels[block] + "_on" * (block in self.cuts))
        return "entry" if block is self.function.entry and label == self.labels[block] else label

    def _metadata(self) -> list[str]:
        lines = []
        if self.loops:
            lines.append('!0 = !{!"llvm.loop.unroll.disable"}')
            lines += [f"!{i} = distinct !{{!{i}, !0}}" for i in range(1, 1 + self.loops)]
        if self.debug:
            lines += [f"!{self.debug.first + i} = {node}" for i, node in enumerate(self.debug.nodes)]
            lines += [f"!llvm.dbg.cu = !{{!{self.debug.unit}}}", *self.debug.places]
            last = self.debug.first + len(self.debug.nodes)
            lines += [f"!llvm.module.flags = !{{!{last}}}", f'!{last} = !{{i32 2, !"Debug Info Version", i32 3}}']
        return lines
