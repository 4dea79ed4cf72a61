"""Ops spelled as LLVM instructions: `contract.Llvm` filled in for each element, or group of elements, of a vector."""

from __future__ import annotations

from cutelite.ir.contract import Llvm
from cutelite.ir.function import Value
from cutelite.ir.op import Op
from cutelite.ir.types import Type
from cutelite.lower.templates import Hole, Piece, pieces
from cutelite.lower.types import count, leaf, suffix, vector
from cutelite.lower.writer import Writer


def write(w: Writer, op: Op, form: Llvm, contract: str) -> None:
    """Write `op`; `contract` is LLVM's flag for arithmetic that may be fused, or ''."""
    for declaration in form.declares:
        w.declared[declaration] = None
    found = pieces(form.body)
    if len(found) == 3 and found[1] == " = " and isinstance(found[2], Hole):  # $out = $a
        w.names[op.result] = w.names[op[found[2].name]]
        return
    if form.group == 1 and all(map(_is_scalar, op.operands)) and all(map(_is_scalar, op.results)):
        _once(w, op, found, contract)
    else:
        _Copies(w, op, form, contract).write()


def _is_scalar(value: Value) -> bool:
    return count(value.type) is None


def _once(w: Writer, op: Op, found: tuple[Piece, ...], contract: str) -> None:
    """Write an op without vectors, as `_Copies` would but faster: this is the common case."""
    results = {"out" if len(op.results) == 1 else f"out{i}": value for i, value in enumerate(op.results)}
    local: dict[str, str] = {}
    parts: list[str] = []
    for piece in found:
        if isinstance(piece, str):
            parts.append(piece)
            continue
        kind, name = piece.kind, piece.name
        if kind == "contract":
            parts.append(contract)
        elif kind == "constant":
            parts.append(str(op[name]))
        elif kind == "temporary" or (kind == "value" and name in results):
            key = name if kind == "value" else f".{name}"
            if key not in local:
                local[key] = w.fresh()
            parts.append(local[key])
        elif kind == "value":
            parts.append(w.one(op[name]))
        else:
            t = leaf((results.get(name) or op[name]).type)
            parts.append(t if kind == "type" else suffix(t, 1))
    for line in "".join(parts).split("\n"):
        w.line(line)
    for name, value in results.items():
        w.names[value] = local[name]


class _Operand:
    """One operand as the copies take it: a name for each copy, and the type."""

    __slots__ = ("elem", "names", "width")

    def __init__(self, names: list[str], elem: str, width: int) -> None:
        self.names, self.elem, self.width = names, elem, width


class _Copies:
    """The copies of an op's text: one for each element or group of its vectors."""

    def __init__(self, w: Writer, op: Op, form: Llvm, contract: str) -> None:
        self.w, self.op, self.form, self.contract = w, op, form, contract
        values = [v for field in op.fields if field.kind in ("one", "optional") and (v := op[field.name]) is not None]
        counts = [n for v in values if (n := count(v.type)) is not None]
        self.length = max(counts, default=None)  # elements of each vector operand; None without vectors
        self.copies = -(-(self.length or 1) // form.group) if form.group else 1
        self.operands: dict[str, _Operand] = {}
        self.results = {"out" if len(op.results) == 1 else f"out{i}": value for i, value in enumerate(op.results)}
        self.shares = {name: self._share(value.type) for name, value in self.results.items()}

    def _share(self, t: Type) -> tuple[str, int]:
        """Return the type and the number of elements that one copy produces, for a result of type `t`."""
        n = count(t) or 1
        if self.form.group == 0:
            return self._memory(t), n
        return leaf(t), self.form.group if self.op.elementwise else max(1, n // self.copies)

    def _memory(self, t: Type) -> str:
        """Return the LLVM type of an element of `t` in memory."""
        return "i8" if leaf(t) == "i1" else leaf(t)

    def _operand(self, name: str) -> _Operand:
        if name not in self.operands:
            self.operands[name] = self._taken(self.op[name])
        return self.operands[name]

    def _taken(self, value: Value) -> _Operand:
        w, t, group = self.w, value.type, self.form.group
        names, elem = w.elements(value), leaf(t)
        if group == 0:
            if elem == "i1":
                names, elem = tuple(w.convert("zext", name, "i1", "i8") for name in names), "i8"
            return _Operand([w.pack(names, elem)], elem, len(names))
        if count(t) is None:  # every copy takes the scalar; if the copy is a vector, as each of its elements
            return _Operand([w.pack(names * group, elem)] * self.copies, elem, group)
        if group == 1:
            return _Operand(list(names), elem, 1)
        padded = [*names, *names[-1:] * (self.copies * group - len(names))]
        return _Operand([w.pack(padded[i : i + group], elem) for i in range(0, len(padded), group)], elem, group)

    def write(self) -> None:
        if self.length == 0 and all(count(value.type) == 0 for value in self.results.values()):
            self.w.names.update(dict.fromkeys(self.results.values(), ()))
            return
        texts, holes = self._prepared()
        made: dict[str, list[str]] = {name: [] for name in self.results}
        for copy in range(self.copies):
            local: dict[str, str] = {}
            parts = [texts[0]]
            for hole, text in zip(holes, texts[1:], strict=True):
                if hole.kind == "value" and hole.name not in self.results:
                    parts.append(self._operand(hole.name).names[copy])
                else:  # a result or temporary: the first mention defines it
                    key = hole.name if hole.kind == "value" else f".{hole.name}"
                    if key not in local:
                        local[key] = self.w.fresh()
                    parts.append(local[key])
                parts.append(text)
            for line in "".join(parts).split("\n"):
                self.w.line(line)
            for name in self.results:
                made[name] += self._unpacked(local[name], *self.shares[name], self.results[name].type)
        for name, value in self.results.items():
            n = count(value.type)
            self.w.names[value] = made[name][0] if n is None else tuple(made[name][:n])

    def _unpacked(self, name: str, elem: str, share: int, t: Type) -> list[str]:
        names = self.w.unpack(name, elem, share)
        if self.form.group == 0 and leaf(t) == "i1":
            return [self.w.define(f"icmp ne i8 {name}, 0") for name in names]
        return names

    def _prepared(self) -> tuple[list[str], list[Hole]]:
        """Fill in what all copies have in common. Return the text between the holes that are left, and these holes."""
        texts, holes = [""], []
        for piece in pieces(self.form.body):
            if isinstance(piece, str):
                texts[-1] += piece
            elif piece.kind in ("value", "temporary"):
                if piece.kind == "value" and piece.name not in self.results:
                    self._operand(piece.name)  # prepared before the copies: it may write lines of its own
                holes.append(piece)
                texts.append("")
            else:
                texts[-1] += self._fixed(piece)
        return texts, holes

    def _fixed(self, hole: Hole) -> str:
        if hole.kind == "contract":
            return self.contract
        if hole.kind == "constant":
            return str(self.op[hole.name])
        if hole.name in self.shares:
            elem, width = self.shares[hole.name]
        else:
            operand = self._operand(hole.name)
            elem, width = operand.elem, operand.width
        return vector(elem, width) if hole.kind == "type" else suffix(elem, width)
