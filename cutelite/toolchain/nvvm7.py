"""Current LLVM IR text -> the dialect of LLVM 7, which libNVVM reads for every GPU before sm_100.

It works line by line, on text as `cutelite.lower` writes it: one kernel in a module, one instruction on a line. LLVM 7
differs in these ways:

  pointers    have types. Every pointer becomes an `i8*` of its address space, cast where something is loaded or stored
  kernels     and their limits are marked by metadata, `nvvm.annotations`, not by attributes
  words       `poison`, `fneg`, `range(...)`, `memory(none)`, integer min, max, abs and saturation do not exist yet
  bfloat      does not exist yet: its bits are carried as i16, and arithmetic on it is done in f32 and rounded back. For
              a single operation that gives the same number (f32 has more than twice the digits), except for `fma`,
              which is written as a PTX instruction

Text without a counterpart is a `ToolchainError` that shows the line. An intrinsic that libNVVM does not know is found
later, when its name is left over in the PTX (`nvvm.to_ptx`).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator

from cutelite.target import Target
from cutelite.toolchain.errors import ToolchainError

DATA_LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-"
    "v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
)
LIMITS = {  # current attribute -> its annotations
    "maxntid": ("maxntidx", "maxntidy", "maxntidz"),
    "reqntid": ("reqntidx", "reqntidy", "reqntidz"),
    "cluster_dim": ("cluster_dim_x", "cluster_dim_y", "cluster_dim_z"),
    "minctasm": ("minctasm",),
    "maxnreg": ("maxnreg",),
}
QUOTED = re.compile(r'("[^"]*")')
NOTES = re.compile(r"(?P<body>.*?)(?P<notes>(?:, !(?:dbg|llvm\.loop) !\d+)*)")
CALL = re.compile(r"call (?:contract )?(?P<type>[^@\"]+) (?P<name>@llvm\.[\w.]+)\((?P<args>.*?)\)")
NUMBER = re.compile(r"%[\w.]+|0xR[0-9A-F]{4}|-?\d+\.\d+(?:e[+-]?\d+)?")
ASSEMBLY = {  # PTX type, LLVM type that holds it, constraint
    "float": ("f32", "float", "f"),
    "half": ("f16", "half", "h"),
    "bfloat": ("bf16", "i16", "h"),
    "<2 x half>": ("f16x2", "i32", "r"),
    "<2 x bfloat>": ("bf16x2", "i32", "r"),
}
ROUNDED = 'call i16 asm "cvt.rn.bf16.{ptx} $0, $1;", "=h,{letter}"({llvm} {value})'


def translate(text: str, target: Target, version: str = "i32 2, i32 0") -> str:
    """Return the same module for LLVM 7. Errors: `ToolchainError`, with the line that has no counterpart there.

    version  the version of NVVM IR, as the metadata `nvvmir.version` give it
    """
    return _Module(text, target).text(version)


def unknown(line: str) -> ToolchainError:
    return ToolchainError(
        "nvvm", f"this has no counterpart in the LLVM 7 that libNVVM reads for this GPU: {line.strip()}"
    )


class _Module:
    def __init__(self, text: str, target: Target) -> None:
        self.source, self.target = text, target
        self.globals = dict(re.findall(r"^(@[\w.]+) = .*(?:global|constant) (\[\d+ x i\d+\])", text, re.MULTILINE))
        self.kernel = ""  # type and name, as metadata refer to the kernel
        self.maps: list[tuple[int, str, str]] = []  # the place, type and name of each parameter passed by value
        self.count = 0

    def text(self, version: str) -> str:
        lines = [new for line in self.source.splitlines() for new in self._line(line)]
        declared = dict.fromkeys(self._declaration(call) for line in lines for call in CALL.finditer(line))
        return "\n".join([f'target datalayout = "{DATA_LAYOUT}"', *lines, *declared, *self._annotations(version), ""])

    def _declaration(self, call: re.Match[str]) -> str:
        """Return the declaration of an intrinsic, which LLVM 7 requires."""
        args = ", ".join(arg.rpartition(" ")[0] for arg in call["args"].split(", ") if arg)
        return f"declare {call['type']} {call['name']}({args})"

    def _line(self, line: str) -> Iterator[str]:
        line = "".join(part if part.startswith('"') else self._words(part) for part in QUOTED.split(line))
        if line.startswith("define"):
            yield self._define(line)
        elif line == "entry:":
            yield line
            yield from (f"  {name} = bitcast {held}* {name}.map to i8*" for _, held, name in self.maps)
        elif line.startswith("attributes"):
            yield re.sub(r' "nvvm\.\w+"="[\d,]+"', "", line).replace("memory(none)", "readnone")
        elif line.startswith("!"):
            line = line.replace("spFlags: DISPFlagDefinition", "isDefinition: true")
            yield line.replace("emissionKind: DebugDirectivesOnly", "emissionKind: LineTablesOnly")
        elif line.startswith("  "):
            yield from self._instruction(line)
        else:
            yield line

    def _words(self, part: str) -> str:
        """Return `part` with the words that LLVM 7 spells differently replaced."""
        part = re.sub(r"%(\d+)\b", r"%v\1", part)  # numbers must be in order, and the added casts would break it
        part = re.sub(r"\bptr\b( addrspace\(\d+\))?", r"i8\1*", part)
        part = re.sub(r"(?<=\*) (@[\w.]+)", self._global, part)
        part = re.sub(r"\bnoundef |\brange\([^)]*\) |\bdisjoint |\bnneg ", "", part)
        return re.sub(r"\bpoison\b", "undef", part)

    def _global(self, match: re.Match[str]) -> str:
        """Return a global that is used as a pointer, cast to the type of all pointers."""
        before = match.string[: match.start()]
        space = re.search(r"( addrspace\(\d+\))?\*$", before)
        assert space is not None
        held, where = self.globals[match[1]], space[1] or ""
        return f" bitcast ({held}{where}* {match[1]} to i8{where}*)"

    # The kernel.

    def _define(self, line: str) -> str:
        match = re.fullmatch(r"define ptx_kernel void (@[\w.]+)\((.*)\) (#0.*)", line)
        if match is None:
            raise unknown(line)
        params = []
        for place, param in enumerate(filter(None, match[2].split(", ")), start=1):
            held, _, name = param.rpartition(" ")
            by_value = re.match(r"i8\* byval\((\[\d+ x i8\])\) align (\d+)", held)
            if by_value is not None:
                self.maps.append((place, by_value[1], name))
                params.append((f"{by_value[1]}*", f"byval align {by_value[2]} {name}.map"))
            else:
                params.append((_bits(re.sub(r" align \d+", "", held)), name))
        self.kernel = f"void ({', '.join(held for held, _ in params)})* {match[1]}"
        return f"define void {match[1]}({', '.join(map(' '.join, params))}) {match[3]}"

    def _annotations(self, version: str) -> list[str]:
        """Return the metadata that make the function a kernel and give its limits."""
        numbers = [int(number) for number in re.findall(r"^!(\d+) =", self.source, re.MULTILINE)]
        first = max(numbers, default=-1) + 1
        facts = ['!"kernel", i32 1']
        for attribute, values in re.findall(r'"nvvm\.(\w+)"="([\d,]+)"', self.source):
            if attribute not in LIMITS:
                raise unknown(f'"nvvm.{attribute}"="{values}"')
            facts += [
                f'!"{name}", i32 {value}' for name, value in zip(LIMITS[attribute], values.split(","), strict=False)
            ]
        nodes = [f"{self.kernel}, {', '.join(facts)}", version]
        kernels = f"!{first}"
        if self.maps:
            nodes += [
                f'{self.kernel}, !"grid_constant", !{first + 3}',
                ", ".join(f"i32 {place}" for place, _, _ in self.maps),
            ]
            kernels += f", !{first + 2}"
        lines = [f"!{first + i} = !{{{node}}}" for i, node in enumerate(nodes)]
        return [*lines, f"!nvvm.annotations = !{{{kernels}}}", f"!nvvmir.version = !{{!{first + 1}}}"]

    # Instructions.

    def _instruction(self, line: str) -> Iterator[str]:
        parts = NOTES.fullmatch(line)
        assert parts is not None
        for pattern, rewrite in RULES:
            match = re.fullmatch(pattern, parts["body"])
            if match is not None:
                *before, last = rewrite(self, match)
                yield from (f"  {new}" for new in before)
                yield f"  {last}{parts['notes']}"
                return
        yield _bits(line)

    def name(self) -> str:
        """A name for a value that the translation adds."""
        self.count += 1
        return f"%t{self.count}"

    def load(self, m: re.Match[str]) -> Iterator[str]:
        cast, held = self.name(), _bits(m["type"])
        yield f"{cast} = bitcast i8{m['space']}* {m['at']} to {held}{m['space']}*"
        yield f"{m['out']} = {m['load']} {held}, {held}{m['space']}* {cast}{m['align']}"

    def store(self, m: re.Match[str]) -> Iterator[str]:
        cast, held = self.name(), _bits(m["type"])
        yield f"{cast} = bitcast i8{m['space']}* {m['at']} to {held}{m['space']}*"
        yield f"{m['store']} {held} {_bits(m['value'])}, {held}{m['space']}* {cast}{m['align']}"

    def alloca(self, m: re.Match[str]) -> Iterator[str]:
        memory = self.name()
        yield f"{memory} = alloca {m['type']}, {m['align']}"
        yield f"{m['out']} = bitcast {m['type']}* {memory} to i8*"

    def special_register(self, m: re.Match[str]) -> Iterator[str]:
        """Read a special register of clusters, which LLVM 7 does not know, by PTX."""
        register = m["register"].replace("cluster.", "cluster_")
        yield f'{m["out"]} = call i32 asm sideeffect "mov.u32 $0, %{register};", "=r"()'

    def negate(self, m: re.Match[str]) -> Iterator[str]:
        zero = "0xH8000" if m["elem"] == "half" else "-0.0"
        yield f"{m['out']} = fsub {m['type']} {_same(m['elem'], zero, m['n'])}, {m['a']}"

    def absolute(self, m: re.Match[str]) -> Iterator[str]:
        minus, negative = self.name(), self.name()
        yield f"{minus} = sub {m['type']} 0, {m['a']}"
        yield f"{negative} = icmp slt {m['type']} {m['a']}, 0"
        yield f"{m['out']} = select i1 {negative}, {m['type']} {minus}, {m['type']} {m['a']}"

    def least(self, m: re.Match[str]) -> Iterator[str]:
        first = self.name()
        order = m["sign"] + ("lt" if m["word"] == "min" else "gt")
        yield f"{first} = icmp {order} {m['type']} {m['a']}, {m['b']}"
        yield f"{m['out']} = select i1 {first}, {m['type']} {m['a']}, {m['type']} {m['b']}"

    def least_or_nan(self, m: re.Match[str]) -> Iterator[str]:
        """Write min or max that is NaN if an operand is: a PTX instruction, except for f64."""
        a, b = m["a"], m["b"]
        if m["type"] != "double":
            yield from self.instruction(m["out"], m["word"] + ".NaN", m["type"], [a, b])
            return
        nan, total, number = self.name(), self.name(), self.name()
        yield f"{nan} = fcmp uno double {a}, {b}"
        yield f"{total} = fadd double {a}, {b}"
        yield f"{number} = call double @llvm.{m['word']}num.f64(double {a}, double {b})"
        yield f"{m['out']} = select i1 {nan}, double {total}, double {number}"

    def instruction(self, out: str, code: str, t: str, values: list[str]) -> Iterator[str]:
        """Write a PTX instruction on `values` of type `t`, a float or two 16-bit ones; `out` has the same type."""
        suffix, held, letter = ASSEMBLY[t]
        numbers, result = [_bits(value) for value in values], out
        if t.startswith("<"):
            numbers, result = [self.name() for _ in values], self.name()
            yield from (f"{n} = bitcast {_bits(t)} {value} to i32" for n, value in zip(numbers, values, strict=True))
        operands = ", ".join(f"${i}" for i in range(len(values) + 1))
        constraints = ",".join([f"={letter}", *[letter] * len(values)])
        args = ", ".join(f"{held} {number}" for number in numbers)
        yield f'{result} = call {held} asm "{code}.{suffix} {operands};", "{constraints}"({args})'
        if t.startswith("<"):
            yield f"{out} = bitcast i32 {result} to {_bits(t)}"

    def saturate(self, m: re.Match[str]) -> Iterator[str]:
        t, a, b = m["type"], m["a"], m["b"]
        total, over = self.name(), self.name()
        yield f"{total} = {m['word']} {t} {a}, {b}"
        if m["sign"] == "u":
            yield f"{over} = icmp ult {t} {total if m['word'] == 'add' else a}, {a if m['word'] == 'add' else b}"
            yield f"{m['out']} = select i1 {over}, {t} {-1 if m['word'] == 'add' else 0}, {t} {total}"
            return
        # Signed: it overflows if both terms of the sum have the other sign than its result (for sub, a = total + b).
        x, y, both, sign, most = (self.name() for _ in range(5))
        terms = (a, b, total) if m["word"] == "add" else (total, b, a)
        yield f"{x} = xor {t} {terms[0]}, {terms[2]}"
        yield f"{y} = xor {t} {terms[1]}, {terms[2]}"
        yield f"{both} = and {t} {x}, {y}"
        yield f"{over} = icmp slt {t} {both}, 0"
        yield f"{sign} = ashr {t} {a}, {int(t[1:]) - 1}"
        yield f"{most} = xor {t} {sign}, {(1 << (int(t[1:]) - 1)) - 1}"
        yield f"{m['out']} = select i1 {over}, {t} {most}, {t} {total}"

    # bfloat. `n` is the length of a vector of them, or None for a single one.

    def widen(self, value: str, n: str | None) -> Iterator[str]:
        """Yield the lines that convert `value` to f32, and last the name of the result."""
        if not value.startswith("%"):
            yield f"0x{_double(value):016X}" if value.startswith("0xR") else value
            return
        wide, high, name = self.name(), self.name(), self.name()
        yield f"{wide} = zext {_many('i16', n)} {value} to {_many('i32', n)}"
        yield f"{high} = shl {_many('i32', n)} {wide}, {_same('i32', '16', n)}"
        yield f"{name} = bitcast {_many('i32', n)} {high} to {_many('float', n)}"
        yield name

    def narrow(self, out: str, value: str, n: str | None) -> Iterator[str]:
        """Write `out`, the bits of f32 `value` rounded to bfloat."""
        if not n:
            yield f"{out} = " + ROUNDED.format(ptx="f32", letter="f", llvm="float", value=value)
            return
        made = "undef"
        for i in range(int(n)):
            element, bits = self.name(), self.name()
            yield f"{element} = extractelement {_many('float', n)} {value}, i32 {i}"
            yield f"{bits} = " + ROUNDED.format(ptx="f32", letter="f", llvm="float", value=element)
            last, made = made, out if i == int(n) - 1 else self.name()
            yield f"{made} = insertelement {_many('i16', n)} {last}, i16 {bits}, i32 {i}"

    def brain(self, m: re.Match[str]) -> Iterator[str]:
        """Write an operation whose operands are all bfloat: in f32, and rounded back if its result is bfloat."""
        n, wide = m["n"], _many("float", m["n"])
        operands = []
        for value in NUMBER.findall(m["operands"]):
            *lines, name = self.widen(value, n)
            yield from lines
            operands.append(name)
        compares = m["what"].startswith("fcmp")
        result = m["out"] if compares else self.name()
        if m["what"] == "fneg":
            yield f"{result} = fsub {wide} {_same('float', '-0.0', n)}, {operands[0]}"
        elif m["what"].startswith("@"):
            name = f"{m['what']}.{f'v{n}' if n else ''}f32"
            yield f"{result} = call {wide} {name}({', '.join(f'{wide} {operand}' for operand in operands)})"
        else:
            yield f"{result} = {m['what']} {wide} {', '.join(operands)}"
        if not compares:
            yield from self.narrow(m["out"], result, n)

    def brain_fma(self, m: re.Match[str]) -> Iterator[str]:
        """Write a fused multiply-add as a PTX instruction: in f32 the result would be rounded twice."""
        yield from self.instruction(m["out"], "fma.rn", m["type"], NUMBER.findall(m["operands"]))

    def brain_extend(self, m: re.Match[str]) -> Iterator[str]:
        *lines, name = self.widen(m["a"], None)
        yield from lines
        yield f"{m['out']} = {'fpext float' if m['to'] == 'double' else 'bitcast float'} {name} to {m['to']}"

    def brain_round(self, m: re.Match[str]) -> Iterator[str]:
        """Write a conversion from f32, f64 or integers to bfloat, rounded once by PTX (sm_90 and up, but for f32)."""
        ptx, letter = {"float": ("f32", "f"), "double": ("f64", "d")}.get(m["from"], (m["from"], "r"))
        if m["from"].startswith("i"):
            bits = int(m["from"][1:])
            ptx, letter = f"{'s' if m['what'] == 'sitofp' else 'u'}{bits}", {16: "h", 32: "r", 64: "l"}.get(bits, "")
        if not letter or (ptx != "f32" and self.target.capability < (9, 0)):
            raise unknown(m[0])
        yield f"{m['out']} = " + ROUNDED.format(ptx=ptx, letter=letter, llvm=m["from"], value=m["a"])


def _many(elem: str, n: str | None) -> str:
    return f"<{n} x {elem}>" if n else elem


def _same(elem: str, value: str, n: str | None) -> str:
    return f"<{', '.join([f'{elem} {value}'] * int(n))}>" if n else value


def _double(brain: str) -> int:
    """Return the bits of the double with the value of `0xR....`: LLVM writes a float as a double."""
    (value,) = struct.unpack(">f", bytes.fromhex(brain[3:]) + b"\0\0")
    return int.from_bytes(struct.pack(">d", value))


def _bits(text: str) -> str:
    """Return `text` with i16, the carrier, in place of bfloat, except in inline PTX."""

    def change(part: str) -> str:
        return re.sub(r"\b0xR([0-9A-F]{4})\b", lambda m: str(int(m[1], 16)), re.sub(r"\bbfloat\b", "i16", part))

    return "".join(part if part.startswith('"') else change(part) for part in QUOTED.split(text))


_OUT = r"  (?P<out>%[\w.]+) = "
_AT = r"i8(?P<space>(?: addrspace\(\d+\))?)\* (?P<at>%[\w.]+|bitcast \(.*\))(?P<align>(?:, align \d+)?)"
_INT = r"(?P<type>i\d+) (?P<a>[^,]+)"
_TYPE = r"(?P<type>\w+|<[^>]+>)"
_BRAIN = r"(?:bfloat|<(?P<n>\d+) x bfloat>)"
RULES: tuple[tuple[str, Callable[[_Module, re.Match[str]], Iterator[str]]], ...] = (
    (_OUT + rf"(?P<load>load(?: volatile)?) (?P<type>[^,]+), {_AT}", _Module.load),
    (rf"  (?P<store>store(?: volatile)?) (?P<type><[^>]*>|\w+) (?P<value>[^ ,]+), {_AT}", _Module.store),
    (_OUT + r"alloca (?P<type>\[\d+ x i8\]), (?P<align>align \d+)", _Module.alloca),
    (_OUT + r"call i32 @llvm\.nvvm\.read\.ptx\.sreg\.(?P<register>n?cluster[\w.]+)\(\)", _Module.special_register),
    (_OUT + r"fneg (?:contract )?(?P<type>(?:<(?P<n>\d+) x )?(?P<elem>half|float|double)>?) (?P<a>.+)", _Module.negate),
    (_OUT + rf"call i\d+ @llvm\.abs\.i\d+\({_INT}, i1 false\)", _Module.absolute),
    (_OUT + rf"call i\d+ @llvm\.(?P<sign>[su])(?P<word>min|max)\.i\d+\({_INT}, i\d+ (?P<b>.+)\)", _Module.least),
    (
        _OUT + rf"call i\d+ @llvm\.(?P<sign>[su])(?P<word>add|sub)\.sat\.i\d+\({_INT}, i\d+ (?P<b>.+)\)",
        _Module.saturate,
    ),
    (
        _OUT + rf"call .*@llvm\.(?P<word>min|max)imum\.\w+\({_TYPE} (?P<a>[^,]+), .* (?P<b>\S+)\)",
        _Module.least_or_nan,
    ),
    (_OUT + rf"call .*@llvm\.fma\.(?:v2)?bf16\({_TYPE} (?P<operands>.*)\)", _Module.brain_fma),
    (_OUT + rf"call .*(?P<what>@llvm\.\w+)\.(?:v\d+)?bf16\({_BRAIN} (?P<operands>.*)\)", _Module.brain),
    (
        _OUT + rf"(?P<what>fneg|fadd|fsub|fmul|fdiv|fcmp \w+) +(?:contract +)?{_BRAIN} (?P<operands>.*)",
        _Module.brain,
    ),
    (_OUT + r"fpext bfloat (?P<a>\S+) to (?P<to>\w+)", _Module.brain_extend),
    (_OUT + r"(?P<what>fptrunc|sitofp|uitofp) (?P<from>\w+) (?P<a>\S+) to bfloat", _Module.brain_round),
)
"""Patterns of whole instructions without their notes, and their translations. The first pattern that fits is taken."""
