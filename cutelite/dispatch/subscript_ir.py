"""LLVM IR that finds what ``kernel[grid, block]`` was before: see `cutelite_rt.subscript`. One text for all kernels."""

from __future__ import annotations

from cutelite.dispatch import launcher_ir as ir


def text() -> str:
    """A module with the function `subscript`."""
    return ir.weighed(ir.filled("\n".join([SUBSCRIPT, *ir.calls(), ir.ACCESS, ir.WHOLE, ir.END])))


SUBSCRIPT = """
; What Python calls, with the subscript.
define ptr @subscript(ptr nest %state, ptr %self, ptr %args, i64 %nargs, ptr %kwnames) #0 {
  %env = call ptr @link(ptr %state, i64 <subscript.environment>)
  %single = icmp eq i64 %nargs, 1
  %unnamed = icmp eq ptr %kwnames, null
  %usual = and i1 %single, %unnamed
  br i1 %usual, label %subscript, label %slow
subscript:
  %key = load ptr, ptr %args
  %recent = call ptr @link(ptr %state, i64 <subscript.recent>)
  %its_key = call ptr @link(ptr %recent, i64 48)
  %t = call ptr @type_of(ptr %key)
  %tuple = call i1 @is(ptr %env, i64 <env.tuple>, ptr %t)
  br i1 %tuple, label %alike, label %grid_alone
alike:
  ; What was found last has a tuple too: of the same objects?
  %its_type = call ptr @type_of(ptr %its_key)
  %both = icmp eq ptr %its_type, %t
  br i1 %both, label %same_size, label %parts
same_size:
  %size_now = call i64 @word(ptr %key, i64 <c.count>)
  %size_then = call i64 @word(ptr %its_key, i64 <c.count>)
  %pair_now = icmp eq i64 %size_now, 2
  %as_many = icmp eq i64 %size_then, %size_now
  %pair = and i1 %pair_now, %as_many
  br i1 %pair, label %same_items, label %parts
same_items:
  %first_now = call ptr @link(ptr %key, i64 <c.items>)
  %first_then = call ptr @link(ptr %its_key, i64 <c.items>)
  %second_now = call ptr @link(ptr %key, i64 <c.second>)
  %second_then = call ptr @link(ptr %its_key, i64 <c.second>)
  %same_first = icmp eq ptr %first_now, %first_then
  %same_second = icmp eq ptr %second_now, %second_then
  %same_both = and i1 %same_first, %same_second
  br i1 %same_both, label %found, label %parts
grid_alone:
  %only = call { i64, i64, i1 } @shape(ptr %env, ptr %key)
  %only_good = extractvalue { i64, i64, i1 } %only, 2
  br i1 %only_good, label %hash, label %slow
parts:
  %n = call i64 @word(ptr %key, i64 <c.count>)
  %two = icmp eq i64 %n, 2
  br i1 %two, label %shapes, label %third
third:
  %three = icmp eq i64 %n, 3
  br i1 %three, label %with_stream, label %slow
with_stream:
  %object = call ptr @link(ptr %key, i64 <c.third>)
  %its_address = ptrtoint ptr %object to i64
  br label %shapes
shapes:
  %stream = phi i64 [ 0, %parts ], [ %its_address, %with_stream ]
  %grid = call ptr @link(ptr %key, i64 <c.items>)
  %g = call { i64, i64, i1 } @shape(ptr %env, ptr %grid)
  %g_good = extractvalue { i64, i64, i1 } %g, 2
  br i1 %g_good, label %to_block, label %slow
to_block:
  %block = call ptr @link(ptr %key, i64 <c.second>)
  %b = call { i64, i64, i1 } @shape(ptr %env, ptr %block)
  %b_good = extractvalue { i64, i64, i1 } %b, 2
  br i1 %b_good, label %hash, label %slow
hash:
  %object_said = phi i64 [ 0, %grid_alone ], [ %stream, %to_block ]
  %gs = phi { i64, i64, i1 } [ %only, %grid_alone ], [ %g, %to_block ]
  %bs = phi { i64, i64, i1 } [ zeroinitializer, %grid_alone ], [ %b, %to_block ]
  %w0 = extractvalue { i64, i64, i1 } %gs, 0
  %w1 = extractvalue { i64, i64, i1 } %gs, 1
  %w2 = extractvalue { i64, i64, i1 } %bs, 0
  %w3 = extractvalue { i64, i64, i1 } %bs, 1
  %h0 = call i64 @mixed(i64 0, i64 %w0)
  %h1 = call i64 @mixed(i64 %h0, i64 %w1)
  %h2 = call i64 @mixed(i64 %h1, i64 %w2)
  %h3 = call i64 @mixed(i64 %h2, i64 %w3)
  %h4 = call i64 @mixed(i64 %h3, i64 %object_said)
  %table = call ptr @link(ptr %state, i64 <subscript.table>)
  %mask = call i64 @word(ptr %table, i64 0)
  %entries = getelementptr i8, ptr %table, i64 <c.subscript_bytes>
  br label %search
search:
  %at = phi i64 [ %h4, %hash ], [ %following, %different ]
  %place = and i64 %at, %mask
  %offset = mul i64 %place, <c.subscript_bytes>
  %entry = getelementptr i8, ptr %entries, i64 %offset
  %there = call ptr @link(ptr %entry, i64 40)
  %none = icmp eq ptr %there, null
  br i1 %none, label %slow, label %compare
compare:
  %e0 = call i64 @word(ptr %entry, i64 0)
  %e1 = call i64 @word(ptr %entry, i64 8)
  %e2 = call i64 @word(ptr %entry, i64 16)
  %e3 = call i64 @word(ptr %entry, i64 24)
  %e4 = call i64 @word(ptr %entry, i64 32)
  %d0 = xor i64 %e0, %w0
  %d1 = xor i64 %e1, %w1
  %d2 = xor i64 %e2, %w2
  %d3 = xor i64 %e3, %w3
  %d4 = xor i64 %e4, %object_said
  %d01 = or i64 %d0, %d1
  %d23 = or i64 %d2, %d3
  %d0123 = or i64 %d01, %d23
  %d = or i64 %d0123, %d4
  %same = icmp eq i64 %d, 0
  br i1 %same, label %keep, label %different
different:
  %following = add i64 %at, 1
  br label %search
keep:
  %recent_at = getelementptr i8, ptr %state, i64 <subscript.recent>
  store ptr %entry, ptr %recent_at
  br label %found
found:
  %which = phi ptr [ %recent, %same_items ], [ %entry, %keep ]
  %held = call ptr @link(ptr %which, i64 40)
  %references = load i32, ptr %held
  %one_more = add i32 %references, 1
  store i32 %one_more, ptr %held
  ret ptr %held
slow:
  %anew = call ptr @link(ptr %state, i64 <subscript.anew>)
  %r = call ptr @PyObject_Vectorcall(ptr %env, ptr %anew, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %r
}

; A grid or block as two words, if it is an int, or one to three of them in a tuple.
define internal { i64, i64, i1 } @shape(ptr %env, ptr %x) #2 {
  %t = call ptr @type_of(ptr %x)
  %int = call i1 @is(ptr %env, i64 <env.int>, ptr %t)
  br i1 %int, label %single, label %other
single:
  %s = call { i64, i1 } @extent(ptr %env, ptr %x)
  br label %end
other:
  %tuple = call i1 @is(ptr %env, i64 <env.tuple>, ptr %t)
  br i1 %tuple, label %several, label %bad
several:
  %n = call i64 @word(ptr %x, i64 <c.count>)
  %less = sub i64 %n, 1
  %few = icmp ult i64 %less, 3
  br i1 %few, label %first, label %bad
first:
  %o0 = call ptr @link(ptr %x, i64 <c.items>)
  %a0 = call { i64, i1 } @extent(ptr %env, ptr %o0)
  %more = icmp ugt i64 %n, 1
  br i1 %more, label %second, label %end
second:
  %o1 = call ptr @link(ptr %x, i64 <c.second>)
  %a1 = call { i64, i1 } @extent(ptr %env, ptr %o1)
  %most = icmp ugt i64 %n, 2
  br i1 %most, label %third, label %end
third:
  %o2 = call ptr @link(ptr %x, i64 <c.third>)
  %a2 = call { i64, i1 } @extent(ptr %env, ptr %o2)
  br label %end
end:
  %e0 = phi { i64, i1 } [ %s, %single ], [ %a0, %first ], [ %a0, %second ], [ %a0, %third ]
  %e1 = phi { i64, i1 } [ { i64 1, i1 true }, %single ], [ { i64 1, i1 true }, %first ], [ %a1, %second ],
      [ %a1, %third ]
  %e2 = phi { i64, i1 } [ { i64 1, i1 true }, %single ], [ { i64 1, i1 true }, %first ],
      [ { i64 1, i1 true }, %second ], [ %a2, %third ]
  %count = phi i64 [ 0, %single ], [ %n, %first ], [ %n, %second ], [ %n, %third ]
  %n0 = extractvalue { i64, i1 } %e0, 0
  %n1 = extractvalue { i64, i1 } %e1, 0
  %n2 = extractvalue { i64, i1 } %e2, 0
  %g0 = extractvalue { i64, i1 } %e0, 1
  %g1 = extractvalue { i64, i1 } %e1, 1
  %g2 = extractvalue { i64, i1 } %e2, 1
  %g01 = and i1 %g0, %g1
  %g = and i1 %g01, %g2
  %high1 = shl i64 %n1, 32
  %low = or i64 %n0, %high1
  %high2 = shl i64 %count, 32
  %high = or i64 %n2, %high2
  %r0 = insertvalue { i64, i64, i1 } poison, i64 %low, 0
  %r1 = insertvalue { i64, i64, i1 } %r0, i64 %high, 1
  %r2 = insertvalue { i64, i64, i1 } %r1, i1 %g, 2
  ret { i64, i64, i1 } %r2
bad:
  ret { i64, i64, i1 } zeroinitializer
}

define internal { i64, i1 } @extent(ptr %env, ptr %x) #1 {
  %t = call ptr @type_of(ptr %x)
  %int = call i1 @is(ptr %env, i64 <env.int>, ptr %t)
  br i1 %int, label %read, label %bad
read:
  %v = call { i64, i1 } @whole(ptr %env, ptr %x, i64 0, i64 4294967295)
  ret { i64, i1 } %v
bad:
  ret { i64, i1 } zeroinitializer
}
"""
