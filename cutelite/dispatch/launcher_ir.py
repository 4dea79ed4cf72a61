"""LLVM IR that all compiled launchers share: what `launcher_code` writes for a signature calls these functions.

Offsets into the runtime's structures, and constants, stand as `<env.name>`, `<state.name>`, `<variant.name>` and
`<c.name>`: see `cutelite_rt.interface`. Functions that can go wrong return 0 for well, `SLOW` where Python has to
launch and will find out why, `RAISED` where an exception that is no error (a KeyboardInterrupt) is to go on.

There are no floating-point constants, no tables of jumps and no calls by name: the machine code is whole in itself.
"""

from __future__ import annotations

import itertools
import re

from cutelite_rt import launcher
from cutelite_rt.interface import GROUPS

OK, SLOW, MISSED, RAISED = 0, 1, 2, 3
"""What a launcher's body comes to: launched; to be launched by Python; likewise, to be kept under its key; raised."""

PENDING = 2
"""What `read` says of an array that Python has to read."""

_RARE = {
    *("bad", "slow", "check", "clear", "learn", "changed", "by_rules", "stands", "elsewhere", "encode", "refused"),
    *("negated", "miss", "before", "find", "unsettled"),
}
"""Labels that launches which go well do not come to: their code is kept apart from the rest, out of the cache's way."""


def _weighed(match: re.Match[str]) -> str:
    rare = [label in _RARE for label in match.groups()]
    return match[0] + (f", !prof !{int(rare[0])}" if rare[0] != rare[1] else "")


def weighed(text: str) -> str:
    """The text with branches that say which way is usual."""
    return re.sub(r"br i1 [^,]+, label %(\w+), label %(\w+)", _weighed, text)


def filled(text: str) -> str:
    """The text with offsets and constants in their places."""
    return re.sub(r"<(env|state|variant|table|c|subscript)\.(\w+)>", lambda m: str(GROUPS[m[1]][m[2]]), text)


def functions() -> str:
    """All of it."""
    shared = (ACCESS, WHOLE, NUMBERS, NARROW, CONSTANT, READ, COMPACT, MAPS, LOOKUP, SUBMIT, BIND, END)
    return filled("\n".join([ENTRY, *calls(), *itertools.starmap(_row, _USUAL.items()), *shared]))


def calls() -> list[str]:
    """A function for each of the environment's, of its name."""
    types = {**launcher.PYTHON, **{name: t for name, (t, _) in launcher.DRIVER.items()}}
    return [_call(name, t) for name, t in types.items()]


def _call(name: str, type_: str) -> str:
    result, _, parameters = type_.rstrip(")").partition(" (")
    given = [f"{t} %a{i}" for i, t in enumerate(parameters.split(", ")) if t]
    value = "" if result == "void" else "%r = "
    back = "ret void" if result == "void" else f"ret {result} %r"
    return f"""
define internal {result} @{name}({", ".join(["ptr %env", *given])}) #1 {{
  %f = call ptr @link(ptr %env, i64 <env.{name}>)
  {value}call {result} %f({", ".join(given)})
  {back}
}}"""


ACCESS = """
define internal ptr @link(ptr %at, i64 %offset) #1 {
  %p = getelementptr i8, ptr %at, i64 %offset
  %w = load ptr, ptr %p
  ret ptr %w
}

define internal i64 @word(ptr %at, i64 %offset) #1 {
  %p = getelementptr i8, ptr %at, i64 %offset
  %w = load i64, ptr %p
  ret i64 %w
}

define internal i32 @half(ptr %at, i64 %offset) #1 {
  %p = getelementptr i8, ptr %at, i64 %offset
  %w = load i32, ptr %p
  ret i32 %w
}

define internal void @put(ptr %at, i64 %offset, i64 %w) #1 {
  %p = getelementptr i8, ptr %at, i64 %offset
  store i64 %w, ptr %p
  ret void
}

define internal void @put_half(ptr %at, i64 %offset, i32 %w) #1 {
  %p = getelementptr i8, ptr %at, i64 %offset
  store i32 %w, ptr %p
  ret void
}

define internal ptr @type_of(ptr %x) #1 {
  %t = call ptr @link(ptr %x, i64 8)
  ret ptr %t
}

define internal i1 @is(ptr %env, i64 %which, ptr %x) #1 {
  %object = call ptr @link(ptr %env, i64 %which)
  %same = icmp eq ptr %object, %x
  ret i1 %same
}

; After a call into Python that may have failed.
define internal i32 @failed(ptr %env) #2 {
  %raised = call ptr @PyErr_Occurred(ptr %env)
  %none = icmp eq ptr %raised, null
  br i1 %none, label %slow, label %which
which:
  %exception = call ptr @link(ptr %env, i64 <env.Exception>)
  %matches = call i32 @PyErr_ExceptionMatches(ptr %env, ptr %exception)
  %usual = icmp ne i32 %matches, 0
  br i1 %usual, label %clear, label %other
clear:
  call void @PyErr_Clear(ptr %env)
  br label %slow
slow:
  ret i32 1
other:
  ret i32 3
}

define internal ptr @call1(ptr %env, ptr %function, ptr %x) #2 {
  %arguments = alloca ptr
  store ptr %x, ptr %arguments
  %r = call ptr @PyObject_Vectorcall(ptr %env, ptr %function, ptr %arguments, i64 1, ptr null)
  ret ptr %r
}

; A hash with one word more: `launcher.hash_of`.
define internal i64 @mixed(i64 %h, i64 %w) #1 {
  %h1 = xor i64 %h, %w
  %h2 = mul i64 %h1, <c.multiplier>
  %h3 = lshr i64 %h2, 29
  %h4 = xor i64 %h2, %h3
  ret i64 %h4
}
"""

WHOLE = """
; An int in range, as 64 bits. Whether there was one is the second result. Those of one digit are read in place.
define internal { i64, i1 } @whole(ptr %env, ptr %x, i64 %low, i64 %high) #1 {
  %digits = call i64 @word(ptr %x, i64 <c.digits>)
  %one = call i64 @word(ptr %env, i64 <env.one_digit>)
  %short = icmp eq i64 %digits, %one
  br i1 %short, label %itself, label %long
itself:
  %digit = call i32 @half(ptr %x, i64 <c.digit>)
  %small = zext i32 %digit to i64
  br label %range
long:
  %large = call i64 @PyLong_AsLongLong(ptr %env, ptr %x)
  %odd = icmp eq i64 %large, -1
  br i1 %odd, label %check, label %range
check:
  %raised = call ptr @PyErr_Occurred(ptr %env)
  %fine = icmp eq ptr %raised, null
  br i1 %fine, label %range, label %bad
range:
  %v = phi i64 [ %small, %itself ], [ %large, %long ], [ %large, %check ]
  %above = icmp sge i64 %v, %low
  %below = icmp sle i64 %v, %high
  %within = and i1 %above, %below
  %a = insertvalue { i64, i1 } poison, i64 %v, 0
  %b = insertvalue { i64, i1 } %a, i1 %within, 1
  ret { i64, i1 } %b
bad:
  call void @PyErr_Clear(ptr %env)
  ret { i64, i1 } zeroinitializer
}
"""

NUMBERS = """
; A float or int as bits of a double.
define internal { i64, i1 } @real(ptr %env, ptr %x) #1 {
  %t = call ptr @type_of(ptr %x)
  %float = call i1 @is(ptr %env, i64 <env.float>, ptr %t)
  br i1 %float, label %a, label %other
a:
  %fa_at = getelementptr i8, ptr %x, i64 <c.float>
  %fa = load double, ptr %fa_at
  %ba = bitcast double %fa to i64
  br label %good
other:
  %int = call i1 @is(ptr %env, i64 <env.int>, ptr %t)
  br i1 %int, label %b, label %bad
b:
  %fb = call double @PyLong_AsDouble(ptr %env, ptr %x)
  %bb = bitcast double %fb to i64
  %odd = icmp eq i64 %bb, -4616189618054758400 ; -1.0
  br i1 %odd, label %check, label %good
check:
  %raised = call ptr @PyErr_Occurred(ptr %env)
  %fine = icmp eq ptr %raised, null
  br i1 %fine, label %good, label %clear
clear:
  call void @PyErr_Clear(ptr %env)
  br label %bad
good:
  %bits = phi i64 [ %ba, %a ], [ %bb, %b ], [ %bb, %check ]
  %p = insertvalue { i64, i1 } poison, i64 %bits, 0
  %q = insertvalue { i64, i1 } %p, i1 true, 1
  ret { i64, i1 } %q
bad:
  ret { i64, i1 } zeroinitializer
}

; Bits of a number as a parameter of dtype %kind, from an object that is an int, float or bool exactly.
define internal i32 @exactly(ptr %env, ptr %x, i32 %kind, ptr %out) #1 {
  %t = call ptr @type_of(ptr %x)
  switch i32 %kind, label %floats [
    i32 <c.bool>, label %truth
    i32 <c.i8>, label %ints
    i32 <c.i16>, label %ints
    i32 <c.i32>, label %ints
    i32 <c.i64>, label %ints
    i32 <c.u8>, label %ints
    i32 <c.u16>, label %ints
    i32 <c.u32>, label %ints
    i32 <c.u64>, label %ints
  ]
truth:
  %yes = call i1 @is(ptr %env, i64 <env.True>, ptr %x)
  %no = call i1 @is(ptr %env, i64 <env.False>, ptr %x)
  %bit = zext i1 %yes to i64
  store i64 %bit, ptr %out
  %either = or i1 %yes, %no
  br i1 %either, label %good, label %bad
ints:
  %int = call i1 @is(ptr %env, i64 <env.int>, ptr %t)
  %bool = call i1 @is(ptr %env, i64 <env.bool>, ptr %t)
  %taken = or i1 %int, %bool
  br i1 %taken, label %wide, label %bad
wide:
  %longest = icmp eq i32 %kind, <c.u64>
  br i1 %longest, label %unsigned, label %signed
unsigned:
  %u = call i64 @PyLong_AsUnsignedLongLong(ptr %env, ptr %x)
  store i64 %u, ptr %out
  %odd = icmp eq i64 %u, -1
  br i1 %odd, label %check, label %good
check:
  %raised = call ptr @PyErr_Occurred(ptr %env)
  %fine = icmp eq ptr %raised, null
  br i1 %fine, label %good, label %clear
clear:
  call void @PyErr_Clear(ptr %env)
  br label %bad
signed:
  %size = call i64 @size(i32 %kind)
  %bits = shl i64 %size, 3
  %from = icmp uge i32 %kind, <c.u8>
  %spare = sub i64 64, %bits
  %most = lshr i64 -1, %spare
  %half = lshr i64 %most, 1
  %least = xor i64 %half, -1
  %high = select i1 %from, i64 %most, i64 %half
  %low = select i1 %from, i64 0, i64 %least
  %v = call { i64, i1 } @whole(ptr %env, ptr %x, i64 %low, i64 %high)
  %n = extractvalue { i64, i1 } %v, 0
  %within = extractvalue { i64, i1 } %v, 1
  %kept = and i64 %n, %most
  store i64 %kept, ptr %out
  br i1 %within, label %good, label %bad
floats:
  %f = call { i64, i1 } @real(ptr %env, ptr %x)
  %b = extractvalue { i64, i1 } %f, 0
  %given = extractvalue { i64, i1 } %f, 1
  br i1 %given, label %round, label %bad
round:
  %r = call { i64, i1 } @rounded(i64 %b, i32 %kind)
  %code = extractvalue { i64, i1 } %r, 0
  %holds = extractvalue { i64, i1 } %r, 1
  store i64 %code, ptr %out
  br i1 %holds, label %good, label %bad
good:
  ret i32 0
bad:
  ret i32 1
}

; Likewise from any object: what is no int, float or bool itself may stand for one.
define internal i32 @number(ptr %env, ptr %state, ptr %x, i32 %kind, ptr %out) #2 {
  %t = call ptr @type_of(ptr %x)
  %int = call i1 @is(ptr %env, i64 <env.int>, ptr %t)
  %float = call i1 @is(ptr %env, i64 <env.float>, ptr %t)
  %bool = call i1 @is(ptr %env, i64 <env.bool>, ptr %t)
  %a = or i1 %int, %float
  %exact = or i1 %a, %bool
  br i1 %exact, label %itself, label %stands
itself:
  %r = call i32 @exactly(ptr %env, ptr %x, i32 %kind, ptr %out)
  ret i32 %r
stands:
  %s = call i32 @stands_for(ptr %env, ptr %state, ptr %x, i32 %kind, ptr %out)
  ret i32 %s
}

define internal i32 @stands_for(ptr %env, ptr %state, ptr %x, i32 %kind, ptr %out) #2 {
  %helper = call ptr @link(ptr %state, i64 <state.number>)
  %y = call ptr @call1(ptr %env, ptr %helper, ptr %x)
  %null = icmp eq ptr %y, null
  br i1 %null, label %bad, label %good
bad:
  %why = call i32 @failed(ptr %env)
  ret i32 %why
good:
  %r = call i32 @exactly(ptr %env, ptr %y, i32 %kind, ptr %out)
  call void @Py_DecRef(ptr %env, ptr %y)
  ret i32 %r
}

; Bytes of a number of dtype %kind.
define internal i64 @size(i32 %kind) #1 {
  switch i32 %kind, label %one [
    i32 <c.i16>, label %two
    i32 <c.u16>, label %two
    i32 <c.f16>, label %two
    i32 <c.bf16>, label %two
    i32 <c.i32>, label %four
    i32 <c.u32>, label %four
    i32 <c.f32>, label %four
    i32 <c.tf32>, label %four
    i32 <c.i64>, label %eight
    i32 <c.u64>, label %eight
    i32 <c.f64>, label %eight
  ]
one:
  ret i64 1
two:
  ret i64 2
four:
  ret i64 4
eight:
  ret i64 8
}
"""

# Numbers, as many as %count, one behind the other, for parameters of dtype %kind: integers of 32 bits and more, f32,
# and the others. What is usual, which is a small int, or a float that fits, is read in place.
_USUAL = {
    "integers": """\
  %t = call ptr @type_of(ptr %x)
  %int = call i1 @is(ptr %env, i64 <env.int>, ptr %t)
  %digits = call i64 @word(ptr %x, i64 <c.digits>)
  %one = call i64 @word(ptr %env, i64 <env.one_digit>)
  %short = icmp eq i64 %digits, %one
  %usual = and i1 %int, %short
  br i1 %usual, label %itself, label %check
itself:
  %digit = call i32 @half(ptr %x, i64 <c.digit>)
  %small = zext i32 %digit to i64
  store i64 %small, ptr %out
  br label %done
check:
""",
    "singles": """\
  %t = call ptr @type_of(ptr %x)
  %float = call i1 @is(ptr %env, i64 <env.float>, ptr %t)
  br i1 %float, label %itself, label %check
itself:
  %at = getelementptr i8, ptr %x, i64 <c.float>
  %d = load double, ptr %at
  %b = bitcast double %d to i64
  %magnitude = and i64 %b, 9223372036854775807
  %fits = icmp ult i64 %magnitude, 5183643170835005440 ; 0x1.ffffffp127
  %f = fptrunc double %d to float
  store float %f, ptr %out
  br i1 %fits, label %done, label %check
check:
""",
    "others": "",
}


def _row(name: str, usual: str) -> str:
    """A function for such numbers; `usual` goes on at %done, or at %check behind it."""
    return f"""
define internal i32 @{name}(ptr %env, ptr %state, ptr %xs, ptr %outs, i64 %count, i32 %kind) #2 {{
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %j, %done ]
  %x_at = getelementptr ptr, ptr %xs, i64 %i
  %x = load ptr, ptr %x_at
  %out = getelementptr i64, ptr %outs, i64 %i
{usual}  %s = call i32 @number(ptr %env, ptr %state, ptr %x, i32 %kind, ptr %out)
  %well = icmp eq i32 %s, 0
  br i1 %well, label %done, label %bad
done:
  %j = add i64 %i, 1
  %over = icmp eq i64 %j, %count
  br i1 %over, label %good, label %next
good:
  ret i32 0
bad:
  ret i32 %s
}}
"""


NARROW = """
; A double, by its bits, as the bits of a float of dtype %kind: nearest, ties to even. False for what is beyond it.
define internal { i64, i1 } @rounded(i64 %b, i32 %kind) #1 {
  switch i32 %kind, label %f64 [
    i32 <c.f32>, label %f32
    i32 <c.f16>, label %f16
    i32 <c.bf16>, label %bf16
    i32 <c.tf32>, label %tf32
    i32 <c.e4m3>, label %e4m3
    i32 <c.e5m2>, label %e5m2
  ]
f64:
  %p64 = insertvalue { i64, i1 } poison, i64 %b, 0
  %q64 = insertvalue { i64, i1 } %p64, i1 true, 1
  ret { i64, i1 } %q64
f32:
  %d = bitcast i64 %b to double
  %s = fptrunc double %d to float
  %sb = bitcast float %s to i32
  %code = zext i32 %sb to i64
  %magnitude = and i64 %b, 9223372036854775807
  %large = icmp uge i64 %magnitude, 5183643170835005440 ; 0x1.ffffffp127
  %finite = icmp ult i64 %magnitude, 9218868437227405312
  %beyond = and i1 %large, %finite
  %holds = xor i1 %beyond, true
  %p32 = insertvalue { i64, i1 } poison, i64 %code, 0
  %q32 = insertvalue { i64, i1 } %p32, i1 %holds, 1
  ret { i64, i1 } %q32
f16:
  %rf16 = call { i64, i1 } @narrow(i64 %b, i64 5, i64 10, i1 true)
  ret { i64, i1 } %rf16
bf16:
  %rbf16 = call { i64, i1 } @narrow(i64 %b, i64 8, i64 7, i1 true)
  ret { i64, i1 } %rbf16
tf32:
  %rtf32 = call { i64, i1 } @narrow(i64 %b, i64 8, i64 10, i1 true)
  %short = extractvalue { i64, i1 } %rtf32, 0
  %as_f32 = shl i64 %short, 13
  %stf32 = insertvalue { i64, i1 } %rtf32, i64 %as_f32, 0
  ret { i64, i1 } %stf32
e4m3:
  %re4m3 = call { i64, i1 } @narrow(i64 %b, i64 4, i64 3, i1 false)
  %size = and i64 %b, 9223372036854775807
  %middle = icmp eq i64 %size, 4646870390516219904 ; 464, half a step beyond 448: refused, ties to even or not
  %held = extractvalue { i64, i1 } %re4m3, 1
  %below = xor i1 %middle, true
  %taken = and i1 %held, %below
  %se4m3 = insertvalue { i64, i1 } %re4m3, i1 %taken, 1
  ret { i64, i1 } %se4m3
e5m2:
  %re5m2 = call { i64, i1 } @narrow(i64 %b, i64 5, i64 2, i1 true)
  ret { i64, i1 } %re5m2
}

; `cutelite_rt.params.float_code`, of the bits of a double. Without %infinite all ones are the only NaN.
define internal { i64, i1 } @narrow(i64 %b, i64 %e, i64 %m, i1 %infinite) #2 {
  %bits = add i64 %e, %m
  %negative = lshr i64 %b, 63
  %sign = shl i64 %negative, %bits
  %power = shl i64 1, %bits
  %ones = sub i64 %power, 1
  %top = lshr i64 %ones, %m
  %infinity = shl i64 %top, %m
  %beyond = select i1 %infinite, i64 %infinity, i64 %ones ; the first code that is not finite
  %raw = lshr i64 %b, 52
  %exponent = and i64 %raw, 2047
  %fraction = and i64 %b, 4503599627370495
  %special = icmp eq i64 %exponent, 2047
  br i1 %special, label %none, label %finite
none:
  %is_infinity = icmp eq i64 %fraction, 0
  %quiet_bit = sub i64 %m, 1
  %quiet = shl i64 1, %quiet_bit
  %usual_nan = or i64 %beyond, %quiet
  %nan = select i1 %infinite, i64 %usual_nan, i64 %ones
  %magnitude_none = select i1 %is_infinity, i64 %beyond, i64 %nan
  %lacking = xor i1 %infinite, true
  %lost = and i1 %is_infinity, %lacking
  %held_none = xor i1 %lost, true
  br label %end
finite:
  %half_range = sub i64 %e, 1
  %bias_power = shl i64 1, %half_range
  %least = sub i64 2, %bias_power ; the exponent of the smallest normal number
  %subnormal = icmp eq i64 %exponent, 0
  %implicit = select i1 %subnormal, i64 0, i64 4503599627370496
  %mantissa = or i64 %fraction, %implicit
  %unbiased = sub i64 %exponent, 1023
  %above = icmp sgt i64 %unbiased, %least
  %scale = select i1 %above, i64 %unbiased, i64 %least
  %deeper = sub i64 %scale, %unbiased
  %width = sub i64 52, %m
  %whole_shift = add i64 %width, %deeper
  %far = icmp sgt i64 %whole_shift, 63
  %shift = select i1 %far, i64 63, i64 %whole_shift
  %kept = lshr i64 %mantissa, %shift
  %unit = shl i64 1, %shift
  %mask = sub i64 %unit, 1
  %rest = and i64 %mantissa, %mask
  %half = lshr i64 %unit, 1
  %more = icmp ugt i64 %rest, %half
  %tie = icmp eq i64 %rest, %half
  %last = trunc i64 %kept to i1
  %tie_up = and i1 %tie, %last
  %up = or i1 %more, %tie_up
  %one = zext i1 %up to i64
  %magnitude = add i64 %kept, %one ; a carry out of the mantissa raises the exponent by itself
  %steps = sub i64 %scale, %least
  %raised = shl i64 %steps, %m
  %code = add i64 %raised, %magnitude
  %holds = icmp ult i64 %code, %beyond
  br label %end
end:
  %magnitude_end = phi i64 [ %magnitude_none, %none ], [ %code, %finite ]
  %held = phi i1 [ %held_none, %none ], [ %holds, %finite ]
  %result = or i64 %sign, %magnitude_end
  %p = insertvalue { i64, i1 } poison, i64 %result, 0
  %q = insertvalue { i64, i1 } %p, i1 %held, 1
  ret { i64, i1 } %q
}
"""

CONSTANT = """
; Two words for a compile-time constant: type and content for numbers, bool and None; else 0 and the number that Python
; gave it, which is known by identity for objects that stay as they are.
define internal i32 @constant(ptr %env, ptr %state, ptr %x, ptr %out) #1 {
  %t = call ptr @type_of(ptr %x)
  %type = ptrtoint ptr %t to i64
  store i64 %type, ptr %out
  %content = getelementptr i8, ptr %out, i64 8
  %itself = ptrtoint ptr %x to i64
  store i64 %itself, ptr %content
  %bool = call i1 @is(ptr %env, i64 <env.bool>, ptr %t)
  %none = call i1 @is(ptr %env, i64 <env.None>, ptr %x)
  %one_of_few = or i1 %bool, %none
  br i1 %one_of_few, label %good, label %next
next:
  %int = call i1 @is(ptr %env, i64 <env.int>, ptr %t)
  br i1 %int, label %whole, label %third
whole:
  %v = call { i64, i1 } @whole(ptr %env, ptr %x, i64 -9223372036854775808, i64 9223372036854775807)
  %n = extractvalue { i64, i1 } %v, 0
  %fits = extractvalue { i64, i1 } %v, 1
  store i64 %n, ptr %content
  br i1 %fits, label %good, label %other
third:
  %float = call i1 @is(ptr %env, i64 <env.float>, ptr %t)
  br i1 %float, label %real, label %other
real:
  %f_at = getelementptr i8, ptr %x, i64 <c.float>
  %f = load double, ptr %f_at
  store double %f, ptr %content
  br label %good
other:
  %r = call i32 @known_constant(ptr %env, ptr %state, ptr %x, ptr %out)
  ret i32 %r
good:
  ret i32 0
}

define internal i32 @known_constant(ptr %env, ptr %state, ptr %x, ptr %out) #2 {
  %content = getelementptr i8, ptr %out, i64 8
  store i64 0, ptr %out
  %table = call ptr @link(ptr %state, i64 <state.constants>)
  %address = ptrtoint ptr %x to i64
  %start = lshr i64 %address, 4
  br label %search
search:
  %at = phi i64 [ %start, %0 ], [ %following, %different ]
  %place = and i64 %at, <c.places>
  %entry = getelementptr [2 x i64], ptr %table, i64 %place
  %there = load i64, ptr %entry
  %found = icmp eq i64 %there, %address
  br i1 %found, label %hit, label %miss
hit:
  %known = call i64 @word(ptr %entry, i64 8)
  store i64 %known, ptr %content
  ret i32 0
miss:
  %empty = icmp eq i64 %there, 0
  br i1 %empty, label %ask, label %different
different:
  %following = add i64 %at, 1
  br label %search
ask:
  %helper = call ptr @link(ptr %state, i64 <state.constant>)
  %y = call ptr @call1(ptr %env, ptr %helper, ptr %x)
  %null = icmp eq ptr %y, null
  br i1 %null, label %bad, label %good
bad:
  %why = call i32 @failed(ptr %env)
  ret i32 %why
good:
  %n = call i64 @PyLong_AsLongLong(ptr %env, ptr %y)
  store i64 %n, ptr %content
  call void @Py_DecRef(ptr %env, ptr %y)
  ret i32 0
}
"""

READ = """
%seen = type { i64, i32, i32, i32, ptr, ptr }

; What lies in a tensor of torch, if it is a plain one: see `cutelite_rt.torch_layout`. Its address, 0 where it is none;
; device, rank, dtype as DLPack has it; extents and strides.
define internal %seen @look(ptr %env, ptr %x) #1 {
  %table = call ptr @link(ptr %env, i64 <env.torch>)
  %impl_at = call i64 @word(ptr %table, i64 <c.torch_impl>)
  %impl = call ptr @link(ptr %x, i64 %impl_at)
  %keys_at = call i64 @word(ptr %table, i64 <c.torch_keys>)
  %keys = call i64 @word(ptr %impl, i64 %keys_at)
  %plain_at = getelementptr i8, ptr %table, i64 <c.torch_plain>
  %plain = call i64 @word(ptr %plain_at, i64 0)
  %inferring = call i64 @word(ptr %plain_at, i64 8)
  %is_plain = icmp eq i64 %keys, %plain
  %is_inferring = icmp eq i64 %keys, %inferring
  %usual = or i1 %is_plain, %is_inferring
  br i1 %usual, label %to_shape, label %bad
to_shape:
  %sizes_at = call i64 @word(ptr %table, i64 <c.torch_sizes>)
  %sizes = getelementptr i8, ptr %impl, i64 %sizes_at
  %rank = load i64, ptr %sizes
  %few = icmp ule i64 %rank, <c.torch_rank>
  br i1 %few, label %to_dtype, label %bad
to_dtype:
  %dtype_at = call i64 @word(ptr %table, i64 <c.torch_dtype>)
  %number_at = getelementptr i8, ptr %impl, i64 %dtype_at
  %number16 = load i16, ptr %number_at
  %number = zext i16 %number16 to i64
  %numbered = icmp ult i64 %number, <c.torch_numbers>
  br i1 %numbered, label %to_kind, label %bad
to_kind:
  %kinds = getelementptr i8, ptr %table, i64 <c.torch_dtypes>
  %kind_at = getelementptr i32, ptr %kinds, i64 %number
  %kind32 = load i32, ptr %kind_at
  %known = icmp ne i32 %kind32, 0
  br i1 %known, label %to_memory, label %bad
to_memory:
  %storage_at = call i64 @word(ptr %table, i64 <c.torch_storage>)
  %storage = call ptr @link(ptr %impl, i64 %storage_at)
  %data_at = call i64 @word(ptr %table, i64 <c.torch_data>)
  %owner_at = call i64 @word(ptr %table, i64 <c.torch_owner>)
  %data = call i64 @word(ptr %storage, i64 %data_at)
  %owner = call i64 @word(ptr %storage, i64 %owner_at)
  %owned = icmp eq i64 %data, %owner
  %there = icmp ne i64 %data, 0
  %good = and i1 %owned, %there
  br i1 %good, label %to_device, label %bad
to_device:
  %device_at = call i64 @word(ptr %table, i64 <c.torch_device>)
  %device = getelementptr i8, ptr %impl, i64 %device_at
  %what = load i8, ptr %device
  %gpu = icmp eq i8 %what, 1
  br i1 %gpu, label %fill, label %bad
fill:
  %ordinal_at = getelementptr i8, ptr %device, i64 1
  %ordinal8 = load i8, ptr %ordinal_at
  %ordinal = zext i8 %ordinal8 to i32
  %rank32 = trunc i64 %rank to i32
  %offset_at = call i64 @word(ptr %table, i64 <c.torch_offset>)
  %offset = call i64 @word(ptr %impl, i64 %offset_at)
  %kind = zext i32 %kind32 to i64
  %bits = lshr i64 %kind, 11
  %bytes = and i64 %bits, 31
  %after = mul i64 %offset, %bytes
  %address = add i64 %data, %after
  %extents = getelementptr i8, ptr %sizes, i64 8
  %strides = getelementptr i8, ptr %extents, i64 <c.torch_strides>
  %s0 = insertvalue %seen poison, i64 %address, 0
  %s1 = insertvalue %seen %s0, i32 %ordinal, 1
  %s2 = insertvalue %seen %s1, i32 %rank32, 2
  %s3 = insertvalue %seen %s2, i32 %kind32, 3
  %s4 = insertvalue %seen %s3, ptr %extents, 4
  %s5 = insertvalue %seen %s4, ptr %strides, 5
  ret %seen %s5
bad:
  ret %seen zeroinitializer
}

; Likewise, where the array is of the type that was met last, which is one that is looked into; and what tells the
; stream is noted. %source is as in @read.
define internal %seen @peek(ptr %env, ptr %x, ptr %source) #1 {
  %by_now = call i64 @word(ptr %source, i64 16)
  %first_time = icmp eq i64 %by_now, 0
  %entry = call ptr @link(ptr %env, i64 <env.recent>)
  %its = load ptr, ptr %entry
  %t = call ptr @type_of(ptr %x)
  %same = icmp eq ptr %its, %t
  %how = call i64 @word(ptr %entry, i64 8)
  %direct = icmp eq i64 %how, <c.direct>
  %known = and i1 %same, %direct
  %usual = and i1 %known, %first_time
  br i1 %usual, label %look, label %check
look:
  %seen = call %seen @look(ptr %env, ptr %x)
  %address = extractvalue %seen %seen, 0
  %plain = icmp ne i64 %address, 0
  br i1 %plain, label %stream, label %check
stream:
  %asked = load ptr, ptr %source
  %any = icmp ne ptr %asked, null
  br i1 %any, label %good, label %take
take:
  %teller = call ptr @link(ptr %entry, i64 24)
  store ptr %teller, ptr %source
  %ordinal = extractvalue %seen %seen, 1
  call void @put_half(ptr %source, i64 8, i32 %ordinal)
  br label %good
good:
  ret %seen %seen
check:
  ret %seen zeroinitializer
}

; Fill a DLTensor likewise.
define internal i1 @look_into(ptr %env, ptr %x, ptr %tensor) #1 {
  %seen = call %seen @look(ptr %env, ptr %x)
  %address = extractvalue %seen %seen, 0
  %ordinal = extractvalue %seen %seen, 1
  %rank = extractvalue %seen %seen, 2
  %kind = extractvalue %seen %seen, 3
  %extents = extractvalue %seen %seen, 4
  %strides = extractvalue %seen %seen, 5
  %plain = icmp ne i64 %address, 0
  br i1 %plain, label %fill, label %bad
fill:
  call void @put(ptr %tensor, i64 0, i64 %address)
  call void @put_half(ptr %tensor, i64 8, i32 2)
  call void @put_half(ptr %tensor, i64 12, i32 %ordinal)
  call void @put(ptr %tensor, i64 40, i64 0)
  call void @put_half(ptr %tensor, i64 20, i32 %kind)
  call void @put_shape(ptr %tensor, i32 %rank, ptr %extents, ptr %strides)
  ret i1 true
bad:
  ret i1 false
}

; Of a DLTensor.
define internal void @put_shape(ptr %tensor, i32 %rank, ptr %extents, ptr %strides) #1 {
  %extents_at = getelementptr i8, ptr %tensor, i64 24
  %strides_at = getelementptr i8, ptr %tensor, i64 32
  call void @put_half(ptr %tensor, i64 16, i32 %rank)
  store ptr %extents, ptr %extents_at
  store ptr %strides, ptr %strides_at
  ret void
}

define internal ptr @find_type(ptr %env, ptr %t) #1 {
  %table = call ptr @link(ptr %env, i64 <env.types>)
  %mask = call i64 @word(ptr %env, i64 <env.types_mask>)
  %address = ptrtoint ptr %t to i64
  %start = lshr i64 %address, 4
  br label %search
search:
  %at = phi i64 [ %start, %0 ], [ %following, %different ]
  %place = and i64 %at, %mask
  %entry = getelementptr [4 x i64], ptr %table, i64 %place
  %there = load i64, ptr %entry
  %found = icmp eq i64 %there, %address
  br i1 %found, label %hit, label %miss
hit:
  ret ptr %entry
miss:
  %empty = icmp eq i64 %there, 0
  br i1 %empty, label %gone, label %different
gone:
  ret ptr null
different:
  %following = add i64 %at, 1
  br label %search
}

; Read an array into a DLTensor. %source is {function, device} that tells the stream, of the first array with one; and
; whether arrays are read by now, all of them. The type that was met last is often that of the next.
define internal i32 @read(ptr %env, ptr %x, ptr %tensor, ptr %source) #2 {
  %by_now = call i64 @word(ptr %source, i64 16)
  %already = icmp ne i64 %by_now, 0
  br i1 %already, label %before, label %look
before:
  ret i32 0
look:
  %t = call ptr @type_of(ptr %x)
  %last = call ptr @link(ptr %env, i64 <env.recent>)
  %its = load ptr, ptr %last
  %same = icmp eq ptr %its, %t
  br i1 %same, label %way, label %find
find:
  %first = call ptr @find_type(ptr %env, ptr %t)
  %known = icmp ne ptr %first, null
  br i1 %known, label %met, label %learn
learn:
  %helper = call ptr @link(ptr %env, i64 <env.learn>)
  %y = call ptr @call1(ptr %env, ptr %helper, ptr %x)
  %null = icmp eq ptr %y, null
  br i1 %null, label %bad, label %again
bad:
  %why = call i32 @failed(ptr %env)
  ret i32 %why
again:
  call void @Py_DecRef(ptr %env, ptr %y)
  %second = call ptr @find_type(ptr %env, ptr %t)
  %there = icmp ne ptr %second, null
  br i1 %there, label %met, label %slow
met:
  %its_entry = phi ptr [ %first, %find ], [ %second, %again ]
  %recent = getelementptr i8, ptr %env, i64 <env.recent>
  store ptr %its_entry, ptr %recent
  br label %way
way:
  %entry = phi ptr [ %last, %look ], [ %its_entry, %met ]
  %how = call i64 @word(ptr %entry, i64 8)
  %by_place = icmp eq i64 %how, <c.direct>
  br i1 %by_place, label %direct, label %other
other:
  switch i64 %how, label %slow [
    i64 <c.exchange>, label %exchange
    i64 <c.torch>, label %exchange
    i64 <c.own>, label %own
    i64 <c.by_python>, label %pending
  ]
pending:
  ret i32 2
own:
  %name = call ptr @link(ptr %env, i64 <env.dltensor>)
  %number = call ptr @PyObject_GetAttr(ptr %env, ptr %x, ptr %name)
  %lacks = icmp eq ptr %number, null
  br i1 %lacks, label %bad, label %copy
copy:
  %from = call ptr @PyLong_AsVoidPtr(ptr %env, ptr %number)
  call void @Py_DecRef(ptr %env, ptr %number)
  %all = load <6 x i64>, ptr %from, align 8
  store <6 x i64> %all, ptr %tensor, align 8
  ret i32 0
direct:
  %found = call i1 @look_into(ptr %env, ptr %x, ptr %tensor)
  br i1 %found, label %stream, label %exchange
exchange:
  call void @put(ptr %tensor, i64 32, i64 0) ; no strides, until it says some
  %function = call ptr @link(ptr %entry, i64 16)
  %status = call i32 %function(ptr %x, ptr %tensor)
  %read = icmp eq i32 %status, 0
  br i1 %read, label %checked, label %bad
checked:
  %rank = call i32 @half(ptr %tensor, i64 16)
  %strides = call ptr @link(ptr %tensor, i64 32)
  %compact = icmp eq ptr %strides, null
  %modes = icmp ne i32 %rank, 0
  %unsaid = and i1 %compact, %modes
  br i1 %unsaid, label %slow, label %said
said:
  %by_others = icmp eq i64 %how, <c.exchange>
  br i1 %by_others, label %stream, label %sign
sign:
  %plain = call i32 @never_negated(ptr %env, ptr %x, ptr %tensor, i32 %rank)
  %positive = icmp eq i32 %plain, 0
  br i1 %positive, label %stream, label %negated
negated:
  ret i32 %plain
stream:
  %asked = load ptr, ptr %source
  %any = icmp ne ptr %asked, null
  br i1 %any, label %good, label %take
take:
  %teller = call ptr @link(ptr %entry, i64 24)
  store ptr %teller, ptr %source
  %ordinal = call i32 @half(ptr %tensor, i64 12)
  call void @put_half(ptr %source, i64 8, i32 %ordinal)
  br label %good
good:
  ret i32 0
slow:
  ret i32 1
}

; A sign to flip have only views of imaginary parts (the `.imag` of a conjugate), whose elements never lie side by side;
; where they do not, torch is asked.
define internal i32 @never_negated(ptr %env, ptr %x, ptr %tensor, i32 %rank) #1 {
  %extents = call ptr @link(ptr %tensor, i64 24)
  %strides = call ptr @link(ptr %tensor, i64 32)
  %n = zext i32 %rank to i64
  br label %search
search:
  %i = phi i64 [ %n, %0 ], [ %before, %look ]
  %over = icmp eq i64 %i, 0
  br i1 %over, label %ask, label %look
look:
  %before = sub i64 %i, 1
  %at = shl i64 %before, 3
  %extent = call i64 @word(ptr %extents, i64 %at)
  %stride = call i64 @word(ptr %strides, i64 %at)
  %several = icmp sgt i64 %extent, 1
  %adjacent = icmp eq i64 %stride, 1
  %sure = and i1 %several, %adjacent
  br i1 %sure, label %good, label %search
good:
  ret i32 0
ask:
  %arguments = alloca ptr
  store ptr %x, ptr %arguments
  %name = call ptr @link(ptr %env, i64 <env.is_neg>)
  %r = call ptr @PyObject_VectorcallMethod(ptr %env, ptr %name, ptr %arguments, i64 1, ptr null)
  %null = icmp eq ptr %r, null
  br i1 %null, label %bad, label %answer
bad:
  %why = call i32 @failed(ptr %env)
  ret i32 %why
answer:
  %no = call i1 @is(ptr %env, i64 <env.False>, ptr %r)
  call void @Py_DecRef(ptr %env, ptr %r)
  %yes = xor i1 %no, true
  %negated = zext i1 %yes to i32
  ret i32 %negated
}

; Arrays that Python has to read, and the stream: from the helper, what it returned is kept in %owned.
define internal i32 @read_others(ptr %env, ptr %state, i64 %given, ptr %tensors, ptr %arrays, i64 %count,
                                 ptr %owned, ptr %stream) #2 {
  %total = add i64 %count, 2
  %arguments = alloca ptr, i64 %total
  %a = call ptr @PyLong_FromLongLong(ptr %env, i64 %given)
  %address = ptrtoint ptr %tensors to i64
  %b = call ptr @PyLong_FromLongLong(ptr %env, i64 %address)
  store ptr %a, ptr %arguments
  %second = getelementptr ptr, ptr %arguments, i64 1
  store ptr %b, ptr %second
  br label %copy
copy:
  %i = phi i64 [ 0, %0 ], [ %next, %one ]
  %over = icmp eq i64 %i, %count
  br i1 %over, label %ask, label %one
one:
  %from = getelementptr ptr, ptr %arrays, i64 %i
  %x = load ptr, ptr %from
  %j = add i64 %i, 2
  %to = getelementptr ptr, ptr %arguments, i64 %j
  store ptr %x, ptr %to
  %next = add i64 %i, 1
  br label %copy
ask:
  %helper = call ptr @link(ptr %state, i64 <state.arrays>)
  %r = call ptr @PyObject_Vectorcall(ptr %env, ptr %helper, ptr %arguments, i64 %total, ptr null)
  call void @Py_DecRef(ptr %env, ptr %a)
  call void @Py_DecRef(ptr %env, ptr %b)
  store ptr %r, ptr %owned
  %null = icmp eq ptr %r, null
  br i1 %null, label %bad, label %good
bad:
  %why = call i32 @failed(ptr %env)
  ret i32 %why
good:
  %number = call ptr @PyTuple_GetItem(ptr %env, ptr %r, i64 0)
  %handle = call ptr @PyLong_AsVoidPtr(ptr %env, ptr %number)
  store ptr %handle, ptr %stream
  ret i32 0
}

; The stream that the library of an array works on.
define internal i32 @current_stream(ptr %env, ptr %source, ptr %stream) #1 {
  store ptr null, ptr %stream
  %teller = load ptr, ptr %source
  %none = icmp eq ptr %teller, null
  br i1 %none, label %good, label %ask
ask:
  %device = call i32 @half(ptr %source, i64 8)
  %status = call i32 %teller(i32 2, i32 %device, ptr %stream)
  %told = icmp eq i32 %status, 0
  br i1 %told, label %good, label %bad
bad:
  %why = call i32 @failed(ptr %env)
  ret i32 %why
good:
  ret i32 0
}
"""

COMPACT = """
; Elements of an array without gaps, row-major, strides of single elements included; -1 for another of several elements.
define internal i64 @compact_size(ptr %tensor) #2 {
  %extents = call ptr @link(ptr %tensor, i64 24)
  %strides = call ptr @link(ptr %tensor, i64 32)
  %rank = call i32 @half(ptr %tensor, i64 16)
  %n = zext i32 %rank to i64
  br label %mode
mode:
  %i = phi i64 [ %n, %0 ], [ %before, %one ]
  %size = phi i64 [ 1, %0 ], [ %larger, %one ]
  %compact = phi i1 [ true, %0 ], [ %still, %one ]
  %over = icmp eq i64 %i, 0
  br i1 %over, label %end, label %one
one:
  %before = sub i64 %i, 1
  %at = shl i64 %before, 3
  %extent = call i64 @word(ptr %extents, i64 %at)
  %stride = call i64 @word(ptr %strides, i64 %at)
  %adjacent = icmp eq i64 %stride, %size
  %still = and i1 %compact, %adjacent
  %larger = mul i64 %size, %extent
  br label %mode
end:
  %few = icmp sle i64 %size, 1
  %good = or i1 %few, %compact
  %result = select i1 %good, i64 %size, i64 -1
  ret i64 %result
}
"""

MAPS = """
; The tensor map of a tensor at %out, from the cache or encoded now. 0 where TMA does not take it.
define internal i1 @tensor_map(ptr %env, ptr %cache, ptr %tensor, i64 %address, ptr %out) #2 {
  %extents = call ptr @link(ptr %tensor, i64 24)
  %strides = call ptr @link(ptr %tensor, i64 32)
  %rank = call i32 @half(ptr %cache, i64 12)
  %n = zext i32 %rank to i64
  br label %hash
hash:
  %i = phi i64 [ 0, %0 ], [ %next, %one ]
  %h = phi i64 [ %address, %0 ], [ %h4, %one ]
  %over = icmp eq i64 %i, %n
  br i1 %over, label %hashed, label %one
one:
  %at = shl i64 %i, 3
  %extent = call i64 @word(ptr %extents, i64 %at)
  %stride = call i64 @word(ptr %strides, i64 %at)
  %h1 = mul i64 %h, <c.multiplier>
  %h2 = xor i64 %h1, %extent
  %h3 = mul i64 %h2, <c.multiplier>
  %h4 = xor i64 %h3, %stride
  %next = add i64 %i, 1
  br label %hash
hashed:
  %mixed = mul i64 %h, <c.multiplier>
  %high = lshr i64 %mixed, 40
  %place = and i64 %high, <c.map_places>
  %offset = mul i64 %place, <c.map_bytes>
  %from = add i64 %offset, <c.map_header>
  %entry = getelementptr i8, ptr %cache, i64 %from
  %kept = getelementptr i8, ptr %entry, i64 128
  %there = load i64, ptr %entry
  %same = icmp eq i64 %there, %address
  br i1 %same, label %compare, label %encode
compare:
  %k = phi i64 [ 0, %hashed ], [ %after, %equal ]
  %all = icmp eq i64 %k, %n
  br i1 %all, label %hit, label %mode
mode:
  %ka = shl i64 %k, 3
  %extent_now = call i64 @word(ptr %extents, i64 %ka)
  %stride_now = call i64 @word(ptr %strides, i64 %ka)
  %ke = add i64 %ka, 8
  %ks = add i64 %ka, 48
  %extent_then = call i64 @word(ptr %entry, i64 %ke)
  %stride_then = call i64 @word(ptr %entry, i64 %ks)
  %same_extent = icmp eq i64 %extent_now, %extent_then
  %same_stride = icmp eq i64 %stride_now, %stride_then
  %both = and i1 %same_extent, %same_stride
  br i1 %both, label %equal, label %encode
equal:
  %after = add i64 %k, 1
  br label %compare
hit:
  %old = load <16 x i64>, ptr %kept, align 128
  store <16 x i64> %old, ptr %out, align 64
  ret i1 true
encode:
  %new = alloca [128 x i8], align 128
  %done = call i1 @encode(ptr %env, ptr %cache, i64 %n, ptr %extents, ptr %strides, i64 %address, ptr %new)
  br i1 %done, label %keep, label %refused
refused:
  ret i1 false
keep:
  %map = load <16 x i64>, ptr %new, align 128
  store <16 x i64> %map, ptr %kept, align 128
  store <16 x i64> %map, ptr %out, align 64
  store i64 %address, ptr %entry
  br label %note
note:
  %m = phi i64 [ 0, %keep ], [ %then, %noted ]
  %last = icmp eq i64 %m, %n
  br i1 %last, label %good, label %noted
noted:
  %ma = shl i64 %m, 3
  %e = call i64 @word(ptr %extents, i64 %ma)
  %s = call i64 @word(ptr %strides, i64 %ma)
  %me = add i64 %ma, 8
  %ms = add i64 %ma, 48
  call void @put(ptr %entry, i64 %me, i64 %e)
  call void @put(ptr %entry, i64 %ms, i64 %s)
  %then = add i64 %m, 1
  br label %note
good:
  ret i1 true
}

; By the rules of `cutelite_rt.tensormap`. Its dimensions are numbered from the innermost.
define internal i1 @encode(ptr %env, ptr %cache, i64 %n, ptr %extents, ptr %strides, i64 %address, ptr %out) #2 {
  %sizes = alloca [5 x i64]
  %jumps = alloca [5 x i64]
  %steps = alloca [5 x i32]
  %dtype = call i32 @half(ptr %cache, i64 0)
  %swizzle = call i32 @half(ptr %cache, i64 4)
  %bytes32 = call i32 @half(ptr %cache, i64 8)
  %rank = trunc i64 %n to i32
  %bytes = zext i32 %bytes32 to i64
  %low = and i64 %address, 15
  %aligned = icmp eq i64 %low, 0
  br i1 %aligned, label %start, label %bad
start:
  %innermost = sub i64 %n, 1
  br label %mode
mode:
  %d = phi i64 [ 0, %start ], [ %next, %done ] ; the innermost is 0
  %within = phi i64 [ 0, %start ], [ %within_next, %done ] ; bytes from this dimension's first element past its last
  %over = icmp eq i64 %d, %n
  br i1 %over, label %call, label %look
look:
  %i = sub i64 %innermost, %d
  %at = shl i64 %i, 3
  %extent = call i64 @word(ptr %extents, i64 %at)
  %stride = call i64 @word(ptr %strides, i64 %at)
  %size = getelementptr i64, ptr %sizes, i64 %d
  store i64 %extent, ptr %size
  %step = getelementptr i32, ptr %steps, i64 %d
  store i32 1, ptr %step
  %less = sub i64 %extent, 1
  %possible = icmp ult i64 %less, 4294967296
  br i1 %possible, label %which, label %bad
which:
  %single = icmp eq i64 %extent, 1
  %inner = icmp eq i64 %d, 0
  br i1 %inner, label %first, label %outer
first:
  %adjacent = icmp eq i64 %stride, 1
  %fine = or i1 %adjacent, %single
  %row = mul i64 %extent, %bytes
  %row_up = add i64 %row, 31
  %row_whole = and i64 %row_up, -32
  br i1 %fine, label %done, label %bad
outer:
  %far = icmp ult i64 %stride, 1099511627776
  %short = select i1 %far, i64 %stride, i64 0
  %jump = mul i64 %short, %bytes
  %rest = and i64 %jump, 15
  %even = icmp eq i64 %rest, 0
  %near = icmp ult i64 %jump, 1099511627776
  %takes1 = and i1 %far, %even
  %takes2 = and i1 %takes1, %near
  %takes = or i1 %takes2, %single ; whose stride is never used, and becomes one that the hardware takes
  br i1 %takes, label %stored, label %bad
stored:
  %used = select i1 %single, i64 %within, i64 %jump
  %before = sub i64 %d, 1
  %slot = getelementptr i64, ptr %jumps, i64 %before
  store i64 %used, ptr %slot
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %used, i64 %extent)
  %reach = extractvalue { i64, i1 } %product, 0
  %lost = extractvalue { i64, i1 } %product, 1
  %beyond = icmp ugt i64 %reach, 1099511627744
  %cut = or i1 %lost, %beyond
  %most = select i1 %cut, i64 1099511627744, i64 %reach
  %larger = icmp ugt i64 %most, %within
  %reached = select i1 %larger, i64 %most, i64 %within
  br label %done
done:
  %within_next = phi i64 [ %row_whole, %first ], [ %reached, %stored ]
  %next = add i64 %d, 1
  br label %mode
call:
  %pointer = inttoptr i64 %address to ptr
  %box = getelementptr i8, ptr %cache, i64 16
  %status = call i32 @cuTensorMapEncodeTiled(ptr %env, ptr %out, i32 %dtype, i32 %rank, ptr %pointer, ptr %sizes,
      ptr %jumps, ptr %box, ptr %steps, i32 0, i32 %swizzle, i32 0, i32 0)
  %good = icmp eq i32 %status, 0
  ret i1 %good
bad:
  ret i1 false
}

declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)
"""

LOOKUP = """
; The variant of a key; null where there is none. What is found is compared first the next time.
define internal ptr @find(ptr %env, ptr %table, ptr %key) #2 {
  %mask = call i64 @word(ptr %table, i64 <table.mask>)
  br label %hash
hash:
  %i = phi i64 [ 0, %0 ], [ %next, %one ]
  %h = phi i64 [ 0, %0 ], [ %h4, %one ]
  %over = icmp eq i64 %i, <p.words>
  br i1 %over, label %search, label %one
one:
  %at = shl i64 %i, 3
  %w = call i64 @word(ptr %key, i64 %at)
  %h4 = call i64 @mixed(i64 %h, i64 %w)
  %next = add i64 %i, 1
  br label %hash
search:
  %p = phi i64 [ %h, %hash ], [ %following, %different ]
  %place = and i64 %p, %mask
  %entries = getelementptr i8, ptr %table, i64 <table.entries>
  %entry = getelementptr ptr, ptr %entries, i64 %place
  %variant = load ptr, ptr %entry
  %empty = icmp eq ptr %variant, null
  br i1 %empty, label %none, label %look
none:
  ret ptr null
different:
  %following = add i64 %p, 1
  br label %search
look:
  %its_hash = call i64 @word(ptr %variant, i64 <variant.hash>)
  %alike = icmp eq i64 %its_hash, %h
  br i1 %alike, label %compare, label %different
compare:
  %k = phi i64 [ 0, %look ], [ %after, %equal ]
  %all = icmp eq i64 %k, <p.words>
  br i1 %all, label %found, label %word
word:
  %ka = shl i64 %k, 3
  %kb = add i64 %ka, <p.key>
  %mine = call i64 @word(ptr %key, i64 %ka)
  %its = call i64 @word(ptr %variant, i64 %kb)
  %same = icmp eq i64 %mine, %its
  br i1 %same, label %equal, label %different
equal:
  %after = add i64 %k, 1
  br label %compare
found:
  %recent = getelementptr i8, ptr %table, i64 <table.recent>
  store ptr %variant, ptr %recent
  ret ptr %variant
}

; One launch more that reads the table, or one less.
define internal void @count(ptr %table, i64 %more) #1 {
  %at = getelementptr i8, ptr %table, i64 <table.users>
  %users = load i64, ptr %at
  %now = add i64 %users, %more
  store i64 %now, ptr %at
  ret void
}

; Whether every closure variable and global still holds what it held. Globals are looked at where a dict that is watched
; changed since they were last; each time, if theirs are not all watched.
define internal i1 @unchanged(ptr %env, ptr %state) #1 {
  %block = call ptr @link(ptr %state, i64 <state.watched>)
  %cells = call i64 @word(ptr %block, i64 0)
  %rows = getelementptr i8, ptr %block, i64 32
  br label %cell
cell:
  %j = phi i64 [ 0, %0 ], [ %j_next, %cell_held ]
  %cell_row = phi ptr [ %rows, %0 ], [ %cell_row_next, %cell_held ]
  %last = icmp eq i64 %j, %cells
  br i1 %last, label %count, label %cell_look
cell_look:
  %which = load ptr, ptr %cell_row
  %cell_then = call ptr @link(ptr %cell_row, i64 8)
  %cell_now = call ptr @PyCell_Get(ptr %env, ptr %which)
  %bound = icmp ne ptr %cell_now, null
  br i1 %bound, label %drop, label %compare
drop:
  call void @Py_DecRef(ptr %env, ptr %cell_now) ; the cell has it still
  br label %compare
compare:
  %cell_same = icmp eq ptr %cell_now, %cell_then
  br i1 %cell_same, label %cell_held, label %changed
cell_held:
  %j_next = add i64 %j, 1
  %cell_row_next = getelementptr i8, ptr %cell_row, i64 16
  br label %cell
count:
  %changes_at = call ptr @link(ptr %env, i64 <env.changes>)
  %changes = load i64, ptr %changes_at
  %seen = call i64 @word(ptr %block, i64 16)
  %none = icmp eq i64 %changes, %seen
  br i1 %none, label %good, label %look
look:
  %globals = call i1 @unchanged_globals(ptr %env, ptr %block, ptr %cell_row, i64 %changes)
  br i1 %globals, label %good, label %changed
changed:
  call void @PyErr_Clear(ptr %env)
  ret i1 false
good:
  ret i1 true
}

define internal i1 @unchanged_globals(ptr %env, ptr %block, ptr %rows, i64 %changes) #2 {
  %names = call i64 @word(ptr %block, i64 8)
  br label %name
name:
  %i = phi i64 [ 0, %0 ], [ %next, %held ]
  %row = phi ptr [ %rows, %0 ], [ %row_next, %held ]
  %over = icmp eq i64 %i, %names
  br i1 %over, label %all, label %look
look:
  %namespace = load ptr, ptr %row
  %what = call ptr @link(ptr %row, i64 8)
  %then = call ptr @link(ptr %row, i64 16)
  %now = call ptr @PyDict_GetItemWithError(ptr %env, ptr %namespace, ptr %what)
  %same = icmp eq ptr %now, %then
  br i1 %same, label %held, label %changed
held:
  %next = add i64 %i, 1
  %row_next = getelementptr i8, ptr %row, i64 24
  br label %name
all:
  %unlike = call i64 @word(ptr %block, i64 24) ; a bit that no number of changes has, where they are not counted
  %seen = or i64 %changes, %unlike
  call void @put(ptr %block, i64 16, i64 %seen)
  ret i1 true
changed:
  ret i1 false
}
"""

SUBMIT = """
; The id of the current context, which no other context has ever had; 0 where there is none.
define internal void @context(ptr %env, ptr %id) #1 {
  store i64 0, ptr %id
  %status = call i32 @cuCtxGetId(ptr %env, ptr null, ptr %id)
  %none = icmp ne i32 %status, 0
  br i1 %none, label %clear, label %good
clear:
  store i64 0, ptr %id
  br label %good
good:
  ret void
}

; Whether a grid is a whole number of clusters.
define internal i1 @divides(ptr %cluster, ptr %grid) #2 {
  br label %extent
extent:
  %i = phi i64 [ 0, %0 ], [ %next, %whole ]
  %over = icmp eq i64 %i, 12
  br i1 %over, label %good, label %look
look:
  %blocks = call i32 @half(ptr %grid, i64 %i)
  %size = call i32 @half(ptr %cluster, i64 %i)
  %rest = urem i32 %blocks, %size
  %none = icmp eq i32 %rest, 0
  br i1 %none, label %whole, label %bad
whole:
  %next = add i64 %i, 4
  br label %extent
good:
  ret i1 true
bad:
  ret i1 false
}

; Launch, in the current context, whose id is %id, or in the variant's. Parameters are where the variant says in %frame.
define internal i32 @submit(ptr %env, ptr %facts, ptr %variant, ptr %frame, ptr %stream, i64 %id) #1 {
  %config = alloca [56 x i8], align 8 ; CUlaunchConfig
  %pointers = alloca [<p.slots> x ptr], align 8
  %clustered = call i32 @half(ptr %variant, i64 <variant.clustered>)
  %alone = icmp eq i32 %clustered, 0
  br i1 %alone, label %fill, label %divide
divide:
  %cluster = getelementptr i8, ptr %variant, i64 <variant.cluster>
  %whole = call i1 @divides(ptr %cluster, ptr %facts)
  br i1 %whole, label %fill, label %bad
fill:
  %xy = call i64 @word(ptr %facts, i64 0)
  %z = call i32 @half(ptr %facts, i64 8)
  %block = call i32 @half(ptr %variant, i64 <variant.block>)
  %block_yz = call i64 @word(ptr %variant, i64 <variant.block_yz>)
  %smem = call i64 @word(ptr %variant, i64 <variant.smem>)
  %attributes = call i64 @word(ptr %variant, i64 <variant.attributes>)
  %attribute_count = call i64 @word(ptr %variant, i64 <variant.attribute_count>)
  %handle = ptrtoint ptr %stream to i64
  call void @put(ptr %config, i64 0, i64 %xy)
  call void @put_half(ptr %config, i64 8, i32 %z)
  call void @put_half(ptr %config, i64 12, i32 %block)
  call void @put(ptr %config, i64 16, i64 %block_yz)
  call void @put(ptr %config, i64 24, i64 %smem)
  call void @put(ptr %config, i64 32, i64 %handle)
  call void @put(ptr %config, i64 40, i64 %attributes)
  call void @put(ptr %config, i64 48, i64 %attribute_count)
  %count = call i64 @word(ptr %variant, i64 <variant.count>)
  %order = getelementptr i8, ptr %variant, i64 <p.order>
  br label %point
point:
  %i = phi i64 [ 0, %fill ], [ %next, %one ]
  %over = icmp eq i64 %i, %count
  br i1 %over, label %where, label %one
one:
  %from = getelementptr i32, ptr %order, i64 %i
  %offset32 = load i32, ptr %from
  %offset = zext i32 %offset32 to i64
  %parameter = getelementptr i8, ptr %frame, i64 %offset
  %to = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %parameter, ptr %to
  %next = add i64 %i, 1
  br label %point
where:
  %function = call ptr @link(ptr %variant, i64 <variant.function>)
  %its = call i64 @word(ptr %variant, i64 <variant.context_id>)
  %here = icmp eq i64 %its, %id
  br i1 %here, label %launch, label %elsewhere
launch:
  ; A full queue is waited for by the driver, perhaps for work that waits for Python.
  %thread = call ptr @PyEval_SaveThread(ptr %env)
  %s = call i32 @cuLaunchKernelEx(ptr %env, ptr %config, ptr %function, ptr %pointers, ptr null)
  call void @PyEval_RestoreThread(ptr %env, ptr %thread)
  %well = icmp eq i32 %s, 0
  br i1 %well, label %good, label %bad
elsewhere:
  %there = call i32 @submit_there(ptr %env, ptr %variant, ptr %config, ptr %function, ptr %pointers)
  ret i32 %there
good:
  ret i32 0
bad:
  ret i32 1
}

; Launch in the variant's context, if it still is the one that it was.
define internal i32 @submit_there(ptr %env, ptr %variant, ptr %config, ptr %function, ptr %pointers) #2 {
  %id = alloca i64
  store i64 0, ptr %id
  %context = call ptr @link(ptr %variant, i64 <variant.context>)
  %asked = call i32 @cuCtxGetId(ptr %env, ptr %context, ptr %id)
  %number = load i64, ptr %id
  %expected = call i64 @word(ptr %variant, i64 <variant.context_id>)
  %same = icmp eq i64 %number, %expected
  %answered = icmp eq i32 %asked, 0
  %lives = and i1 %same, %answered
  br i1 %lives, label %push, label %bad
push:
  %pushed = call i32 @cuCtxPushCurrent(ptr %env, ptr %context)
  %ours = icmp eq i32 %pushed, 0
  br i1 %ours, label %launch, label %bad
launch:
  %thread = call ptr @PyEval_SaveThread(ptr %env)
  %s = call i32 @cuLaunchKernelEx(ptr %env, ptr %config, ptr %function, ptr %pointers, ptr null)
  call void @PyEval_RestoreThread(ptr %env, ptr %thread)
  %popped = call i32 @cuCtxPopCurrent(ptr %env, ptr %id)
  %well = icmp eq i32 %s, 0
  br i1 %well, label %good, label %bad
good:
  ret i32 0
bad:
  ret i32 1
}
"""

BIND = """
; An argument for each parameter, by Python's rules; names are compared by identity, which is how Python interns them.
define internal i1 @bind(ptr %env, ptr %state, ptr %args, i64 %given, ptr %kwnames, ptr %slots) #2 {
  %names = call ptr @link(ptr %state, i64 <state.names>)
  %defaults = call ptr @link(ptr %state, i64 <state.defaults>)
  %few = icmp ule i64 %given, <p.positional>
  br i1 %few, label %place, label %bad
place:
  %i = phi i64 [ 0, %0 ], [ %next, %placed ]
  %over = icmp eq i64 %i, <p.count>
  br i1 %over, label %keywords, label %one
one:
  %to = getelementptr ptr, ptr %slots, i64 %i
  %positional = icmp ult i64 %i, %given
  br i1 %positional, label %argument, label %nothing
argument:
  %from = getelementptr ptr, ptr %args, i64 %i
  %x = load ptr, ptr %from
  br label %placed
nothing:
  br label %placed
placed:
  %what = phi ptr [ %x, %argument ], [ null, %nothing ]
  store ptr %what, ptr %to
  %next = add i64 %i, 1
  br label %place
keywords:
  %any = icmp ne ptr %kwnames, null
  br i1 %any, label %size, label %rest
size:
  %count = call i64 @PyTuple_Size(ptr %env, ptr %kwnames)
  br label %keyword
keyword:
  %k = phi i64 [ 0, %size ], [ %k_next, %taken ]
  %k_over = icmp eq i64 %k, %count
  br i1 %k_over, label %rest, label %named
named:
  %name = call ptr @PyTuple_GetItem(ptr %env, ptr %kwnames, i64 %k)
  br label %search
search:
  %j = phi i64 [ <p.position_only>, %named ], [ %j_next, %different ]
  %j_over = icmp eq i64 %j, <p.count>
  br i1 %j_over, label %bad, label %look
look:
  %its_at = getelementptr ptr, ptr %names, i64 %j
  %its = load ptr, ptr %its_at
  %same = icmp eq ptr %its, %name
  br i1 %same, label %take, label %different
different:
  %j_next = add i64 %j, 1
  br label %search
take:
  %slot = getelementptr ptr, ptr %slots, i64 %j
  %there = load ptr, ptr %slot
  %twice = icmp ne ptr %there, null
  br i1 %twice, label %bad, label %taken
taken:
  %n = add i64 %given, %k
  %value_at = getelementptr ptr, ptr %args, i64 %n
  %value = load ptr, ptr %value_at
  store ptr %value, ptr %slot
  %k_next = add i64 %k, 1
  br label %keyword
rest:
  %r = phi i64 [ 0, %keywords ], [ 0, %keyword ], [ %r_next, %filled ]
  %r_over = icmp eq i64 %r, <p.count>
  br i1 %r_over, label %good, label %check
check:
  %r_slot = getelementptr ptr, ptr %slots, i64 %r
  %r_there = load ptr, ptr %r_slot
  %missing = icmp eq ptr %r_there, null
  br i1 %missing, label %default, label %filled
default:
  %d_at = getelementptr ptr, ptr %defaults, i64 %r
  %d = load ptr, ptr %d_at
  store ptr %d, ptr %r_slot
  %none = icmp eq ptr %d, null
  br i1 %none, label %bad, label %filled
filled:
  %r_next = add i64 %r, 1
  br label %rest
good:
  ret i1 true
bad:
  ret i1 false
}
"""

ENTRY = """
; What Python calls. What is held, (facts, launch, ...), is %self; or it comes ahead of the arguments, where %self is
; that of the launcher's first function.
define ptr @launch(ptr nest %state, ptr %self, ptr %args, i64 %nargs, ptr %kwnames) #0 {
  %env = call ptr @link(ptr %state, i64 <state.environment>)
  %owned = alloca [<p.owned> x ptr], align 8
  %bound = alloca [<p.room> x ptr], align 8
  %key = alloca [<p.words> x i64], align 8
  %used = alloca ptr ; the table, while this launch reads it
  store ptr null, ptr %used
  br label %zero
zero:
  %zi = phi i64 [ 0, %0 ], [ %zn, %zeroed ]
  %zo = icmp eq i64 %zi, <p.owned>
  br i1 %zo, label %start, label %zeroed
zeroed:
  %za = getelementptr ptr, ptr %owned, i64 %zi
  store ptr null, ptr %za
  %zn = add i64 %zi, 1
  br label %zero
start:
  %general = call ptr @link(ptr %state, i64 <state.general>)
  %is_general = icmp eq ptr %self, %general
  br i1 %is_general, label %ahead, label %opened
ahead:
  %first_argument = load ptr, ptr %args
  %others = getelementptr i8, ptr %args, i64 8
  %one_less = sub i64 %nargs, 1
  br label %opened
opened:
  %held = phi ptr [ %self, %start ], [ %first_argument, %ahead ]
  %after = phi ptr [ %args, %start ], [ %others, %ahead ]
  %given = phi i64 [ %nargs, %start ], [ %one_less, %ahead ]
  %first = call ptr @link(ptr %held, i64 <c.items>)
  %facts_then = getelementptr i8, ptr %first, i64 <c.bytes>
  %bits_then = call i32 @half(ptr %facts_then, i64 12)
  %diversion = call ptr @link(ptr %env, i64 <env.diverted>)
  %diverted = load i64, ptr %diversion
  %as_ever = icmp eq i64 %diverted, 0
  br i1 %as_ever, label %resolve, label %slow
resolve:
  %open = and i32 %bits_then, <c.unresolved>
  %settled = icmp eq i32 %open, 0
  br i1 %settled, label %blocks, label %unsettled
unsettled:
  %resolver = call ptr @link(ptr %state, i64 <state.resolved>)
  %told = call ptr @forward(ptr %env, ptr %resolver, ptr null, ptr %held, ptr %after, i64 %given, ptr %kwnames)
  store ptr %told, ptr %owned
  %untold = icmp eq ptr %told, null
  br i1 %untold, label %unresolved, label %answered
unresolved:
  %why = call i32 @failed(ptr %env)
  br label %end
answered:
  %facts_now = getelementptr i8, ptr %told, i64 <c.bytes>
  br label %blocks
blocks:
  %facts = phi ptr [ %facts_then, %resolve ], [ %facts_now, %answered ]
  %bits = call i32 @half(ptr %facts, i64 12)
  %odd = and i32 %bits, <c.odd>
  %usual = icmp eq i32 %odd, 0
  br i1 %usual, label %any, label %slow
any:
  %empty = and i32 %bits, <c.no_blocks>
  %some = icmp eq i32 %empty, 0
  br i1 %some, label %arguments, label %end_well
arguments:
  %whole = icmp eq i64 %given, <p.plain>
  %unnamed = icmp eq ptr %kwnames, null
  %plain = and i1 %whole, %unnamed
  br i1 %plain, label %watch, label %by_rules
by_rules:
  %fits = call i1 @bind(ptr %env, ptr %state, ptr %after, i64 %given, ptr %kwnames, ptr %bound)
  br i1 %fits, label %watch, label %slow
watch:
  %slots = phi ptr [ %after, %arguments ], [ %bound, %by_rules ]
  %unchanged = call i1 @unchanged(ptr %env, ptr %state)
  br i1 %unchanged, label %work, label %slow
work:
  %s = call i32 @body(ptr %env, ptr %state, ptr %facts, i32 %bits, ptr %slots, ptr %owned, ptr %key, ptr %used)
  br label %end
slow:
  br label %end
end_well:
  br label %end
end:
  %status = phi i32 [ %s, %work ], [ 1, %slow ], [ 0, %end_well ], [ %why, %unresolved ]
  %table = load ptr, ptr %used
  %unused = icmp eq ptr %table, null
  br i1 %unused, label %releases, label %leave
leave:
  call void @count(ptr %table, i64 -1)
  br label %releases
releases:
  br label %release
release:
  %ri = phi i64 [ 0, %releases ], [ %rn, %released ]
  %ro = icmp eq i64 %ri, <p.owned>
  br i1 %ro, label %result, label %one
one:
  %ra = getelementptr ptr, ptr %owned, i64 %ri
  %rx = load ptr, ptr %ra
  %empty_slot = icmp eq ptr %rx, null
  br i1 %empty_slot, label %released, label %drop
drop:
  call void @Py_DecRef(ptr %env, ptr %rx)
  br label %released
released:
  %rn = add i64 %ri, 1
  br label %release
result:
  %well = icmp eq i32 %status, 0
  br i1 %well, label %none, label %other
none:
  %None = call ptr @link(ptr %env, i64 <env.None>)
  %counted = call i64 @word(ptr %env, i64 <env.counts_none>)
  %immortal = icmp eq i64 %counted, 0
  br i1 %immortal, label %done, label %refer
refer:
  call void @Py_IncRef(ptr %env, ptr %None)
  br label %done
done:
  ret ptr %None
other:
  %raised = icmp eq i32 %status, 3
  br i1 %raised, label %raise, label %python
raise:
  ret ptr null
python:
  %missed = icmp eq i32 %status, 2
  %kept = select i1 %missed, ptr %key, ptr null
  %r = call ptr @anew(ptr %env, ptr %state, ptr %kept, ptr %held, ptr %after, i64 %given, ptr %kwnames)
  ret ptr %r
}

; Have Python launch, and keep what comes of it under the key, if there is one.
define internal ptr @anew(ptr %env, ptr %state, ptr %key, ptr %held, ptr %args, i64 %given, ptr %kwnames) #2 {
  %keyless = icmp eq ptr %key, null
  br i1 %keyless, label %none, label %some
none:
  %None = call ptr @link(ptr %env, i64 <env.None>)
  call void @Py_IncRef(ptr %env, ptr %None)
  br label %call
some:
  %bytes = call ptr @PyBytes_FromStringAndSize(ptr %env, ptr %key, i64 <p.key_bytes>)
  br label %call
call:
  %first = phi ptr [ %None, %none ], [ %bytes, %some ]
  %lost = icmp eq ptr %first, null
  br i1 %lost, label %raise, label %go
raise:
  ret ptr null
go:
  %function = call ptr @link(ptr %state, i64 <state.launch_anew>)
  %r = call ptr @forward(ptr %env, ptr %function, ptr %first, ptr %held, ptr %args, i64 %given, ptr %kwnames)
  call void @Py_DecRef(ptr %env, ptr %first)
  ret ptr %r
}

; Call a function with %first, unless it is null, and %second ahead of the arguments.
define internal ptr @forward(ptr %env, ptr %function, ptr %first, ptr %second, ptr %args, i64 %given, ptr %kwnames) #2 {
  %unnamed = icmp eq ptr %kwnames, null
  br i1 %unnamed, label %room, label %count
count:
  %named = call i64 @PyTuple_Size(ptr %env, ptr %kwnames)
  br label %room
room:
  %more = phi i64 [ 0, %0 ], [ %named, %count ]
  %total = add i64 %given, %more
  %most = add i64 %total, 2
  %arguments = alloca ptr, i64 %most
  store ptr %first, ptr %arguments
  %is_one = icmp eq ptr %first, null
  %ahead = select i1 %is_one, i64 1, i64 2
  %skipped = sub i64 2, %ahead
  %start = getelementptr ptr, ptr %arguments, i64 %skipped
  %second_at = getelementptr ptr, ptr %arguments, i64 1
  store ptr %second, ptr %second_at
  %rest = getelementptr ptr, ptr %arguments, i64 2
  br label %next
next:
  %i = phi i64 [ 0, %room ], [ %j, %one ]
  %over = icmp eq i64 %i, %total
  br i1 %over, label %call, label %one
one:
  %from = getelementptr ptr, ptr %args, i64 %i
  %x = load ptr, ptr %from
  %to = getelementptr ptr, ptr %rest, i64 %i
  store ptr %x, ptr %to
  %j = add i64 %i, 1
  br label %next
call:
  %positional = add i64 %given, %ahead
  %r = call ptr @PyObject_Vectorcall(ptr %env, ptr %function, ptr %start, i64 %positional, ptr %kwnames)
  ret ptr %r
}
"""

END = """
!0 = !{!"branch_weights", i32 4000, i32 1}
!1 = !{!"branch_weights", i32 1, i32 4000}

attributes #0 = { nounwind optsize "no-jump-tables"="true" "no-builtins" }
attributes #1 = { nounwind optsize alwaysinline "no-jump-tables"="true" "no-builtins" }
attributes #2 = { nounwind optsize noinline "no-jump-tables"="true" "no-builtins" }
"""
