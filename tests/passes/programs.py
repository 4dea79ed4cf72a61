"""Random kernels that any pass may be tried on: integer arithmetic, register tensors, branches and short loops."""

from hypothesis import strategies as st

from cutelite.ir.builder import Builder
from cutelite.ir.function import Block, Function, Jump, Value
from cutelite.ir.types import Tensor, boolean, i32
from cutelite.layout import Dim, Layout
from cutelite.ops import arith, control, index, tensor

M = Dim("M")
OUT = Tensor(i32, "gmem", Layout((M, 4), (4, 1)), 16)
REGISTERS = Tensor(i32, "rmem", Layout((2, 2), (2, 1)), 16)
BINARY = (arith.Add, arith.Sub, arith.Mul, arith.And, arith.Or, arith.Xor, arith.Min, arith.Max, arith.Shl, arith.Shr)
DIVISIONS = (arith.FloorDiv, arith.Mod)


class Program:
    """A kernel being made: what has been decided by Hypothesis goes through `builder`."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        out, x, p = Value(OUT, hint="out"), Value(i32, hint="x"), Value(boolean, hint="p")
        dim = Value(i32, hint="M")
        self.function = Function("random", [Block((out, x, p))], {"M": dim}, {"block": (4, 1, 1)})
        self.builder = Builder(self.function)
        self.out = out
        self.numbers: list[Value] = [x, self.constant(1), self.builder.emit(index.Special("tid.x"))]
        self.bools: list[Value] = [p]
        self.tensors = [self.builder.emit(tensor.RmemAlloc(REGISTERS)) for _ in range(2)]
        for t in self.tensors:
            self.builder.emit(tensor.TensorStoreAll(t, self.builder.emit(arith.VecSplat(x, 4))))

    def constant(self, number: int) -> Value:
        value: Value = self.builder.emit(arith.Const(number, i32))
        return value

    def number(self) -> Value:
        return self.draw(st.sampled_from(self.numbers))

    def statements(self, depth: int) -> None:
        """Some statements; what they define is known only within."""
        numbers, bools = len(self.numbers), len(self.bools)
        for _ in range(self.draw(st.integers(1, 4))):
            kind = self.draw(st.integers(0, 9 if depth else 6))
            if kind <= 2:
                self.compute()
            elif kind == 3:
                self.numbers.append(self.constant(self.draw(st.sampled_from([0, 1, 2, 3, -1, 31, 2**31 - 1]))))
            elif kind == 4:
                predicate = self.draw(st.sampled_from(arith.PREDICATES))
                self.bools.append(self.builder.emit(arith.Cmp(predicate, self.number(), self.number())))
            elif kind <= 6:
                self.access()
            elif kind <= 8:
                self.branch(depth - 1)
            else:
                self.loop(depth - 1)
        del self.numbers[numbers:], self.bools[bools:]

    def compute(self) -> None:
        if self.draw(st.integers(0, 3)) == 0:
            divisor = self.constant(self.draw(st.sampled_from([1, 2, 3, -4, 7])))
            op = self.draw(st.sampled_from(DIVISIONS))(self.number(), divisor)
        else:
            op = self.draw(st.sampled_from(BINARY))(self.number(), self.number())
        self.numbers.append(self.builder.emit(op))

    def access(self) -> None:
        """Something with a register tensor, or a store where the host sees it."""
        t = self.draw(st.sampled_from(self.tensors))
        coord = (self.constant(self.draw(st.integers(0, 1))), self.constant(self.draw(st.integers(0, 1))))
        kind = self.draw(st.integers(0, 4))
        if kind == 0:
            self.numbers.append(self.builder.emit(tensor.TensorLoad(t, coord)))
        elif kind == 1:
            self.builder.emit(tensor.TensorStore(t, coord, self.number()))
        elif kind == 2:
            whole = self.builder.emit(tensor.TensorLoadAll(t))
            self.builder.emit(tensor.TensorStoreAll(self.draw(st.sampled_from(self.tensors)), whole))
        elif kind == 3:
            self.numbers.append(self.builder.emit(index.Dim(M * 3 + (M + 5) // 4, i32)))
        else:
            row = self.builder.emit(index.Special("tid.x"))
            self.builder.emit(tensor.TensorStore(self.out, (row, coord[0]), self.number()))

    def branch(self, depth: int) -> None:
        then, other = self.builder.new_block(), self.builder.new_block()
        param = Value(i32)
        join = self.builder.new_block((param,))
        self.builder.emit(control.CondBr(self.draw(st.sampled_from(self.bools)), Jump(then), Jump(other)))
        for block in (then, other):
            self.builder.block = block
            self.statements(depth)
            self.builder.emit(control.Br(Jump(join, (self.number(),))))
        self.builder.block = join
        self.numbers.append(param)

    def loop(self, depth: int) -> None:
        """Up to three rounds, with a number carried along."""
        count, carried = Value(i32), Value(i32)
        head = self.builder.new_block((count, carried))
        body, done = self.builder.new_block(), self.builder.new_block()
        self.builder.emit(control.Br(Jump(head, (self.constant(0), self.number()))))
        self.builder.block = head
        more = self.builder.emit(arith.Cmp("lt", count, self.constant(self.draw(st.integers(0, 3)))))
        self.builder.emit(control.CondBr(more, Jump(body), Jump(done)))
        self.builder.block = body
        self.numbers += [count, carried]
        self.statements(depth)
        after = self.builder.emit(arith.Add(count, self.constant(1)))
        self.builder.emit(control.Br(Jump(head, (after, self.number()))))
        self.numbers.remove(count)
        self.builder.block = done

    def finish(self) -> Function:
        """Let everything that is left be seen."""
        row = self.builder.emit(index.Special("tid.x"))
        for column, t in enumerate(self.tensors):
            total = self.builder.emit(tensor.TensorLoad(t, (self.constant(1), self.constant(column))))
            self.builder.emit(tensor.TensorStore(self.out, (row, self.constant(column)), total))
        self.builder.emit(control.Ret())
        return self.function


@st.composite
def programs(draw: st.DrawFn) -> Function:
    program = Program(draw)
    for _ in range(draw(st.integers(1, 3))):
        program.statements(2)
    return program.finish()
