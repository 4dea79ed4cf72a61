/* The rules for arguments over the tables of a signature, once for all who launch from machine code.
 *
 * In    arrays as DLPack has them, numbers as their bits
 * Out   what they tell, in the memory of the launch; or the words of what is wrong, where its includer has words
 *
 * Included by the launcher of Python (launcher.c), which hands whatever is wrong to `signature.bind` and its words, and
 * by the C of exported kernels (export/c/stub.c), which has words of its own. Who includes it says first
 *
 *   WRONG(what, l, ...)   an argument does not fit: comes to a status that is not OK
 *   NOTE(what, l, ...)    something that words may tell of
 *   NOT_MINE(condition)   Python alone knows what comes of it
 *   ENCODE_TILED          cuTensorMapEncodeTiled by the defaults of cutelite_rt/gpu/tensormap.py
 *   ENCODE_IM2COL         cuTensorMapEncodeIm2col likewise
 *   OFTEN, SELDOM         which way a branch goes */

/* Numbers. */

/* Bits of the nearest value (ties to even) of a float format, as `cutelite_rt.gpu.params.float_code`; SLOW beyond it. */
RARE int narrow(u64 b, int e, int m, int infinite, u64 *out) {
    u64 sign = (b >> 63) << (e + m), ones = (1ull << (e + m)) - 1, infinity = ones >> m << m;
    u64 beyond = infinite ? infinity : ones, fraction = b & ((1ull << 52) - 1);
    i64 exponent = (i64)(b >> 52 & 2047), least = 2 - (1ll << (e - 1)), unbiased = exponent - 1023;
    if (exponent == 2047) {
        *out = sign | (!fraction ? beyond : infinite ? beyond | 1ull << (m - 1) : ones);
        return !fraction && !infinite ? SLOW : OK;
    }
    u64 mantissa = fraction | (exponent ? 1ull << 52 : 0);
    i64 scale = unbiased > least ? unbiased : least, shift = 52 - m + scale - unbiased;
    if (shift > 63) shift = 63;
    u64 kept = mantissa >> shift, unit = 1ull << shift, rest = mantissa & (unit - 1), half = unit >> 1;
    u64 code = ((u64)(scale - least) << m) + kept + (rest > half || (rest == half && (kept & 1)));
    *out = sign | code;
    return code < beyond ? OK : SLOW;
}

#define BEYOND_F32 0x47EFFFFFF0000000ull /* 0x1.ffffffp127 */
SMALL float f32_of(u64 b) { union { u64 b; double d; } x = {b}; return (float)x.d; }

RARE int rounded(u64 b, u32 kind, u64 *out) {
    u64 size = b << 1 >> 1;
    int status = OK;
    if (kind == F64) return *out = b, OK;
    if (kind == F32) {
        union { float f; u32 b; } x = {f32_of(b)};
        *out = x.b;
        return size >= BEYOND_F32 && size < 0x7FF0000000000000ull ? SLOW : OK;
    }
    if (kind == F16) return narrow(b, 5, 10, 1, out);
    if (kind == BF16) return narrow(b, 8, 7, 1, out);
    if (kind == E5M2) return narrow(b, 5, 2, 1, out);
    if (kind == E4M3) /* 464 is half a step beyond 448: refused, ties to even or not */
        return status = narrow(b, 4, 3, 0, out), size == 0x407D000000000000ull ? SLOW : status;
    status = narrow(b, 8, 10, 1, out); /* tf32 */
    *out <<= 13;
    return status;
}

RARE int fit_float(call *l, u64 bits, u32 kind, u64 *out) {
    return rounded(bits, kind, out) ? WRONG(float, l, bits) : OK;
}

/* An address; its kind says what it is a multiple of. */
SMALL int fit_address(call *l, u64 address, u32 kind) {
    u64 align = 1ull << (kind - POINTER);
    return address & (align - 1) ? WRONG(pointer, l, address, align) : OK;
}

/* Arrays. */

SMALL int is_declared(const dim_row *dim, i64 value) {
    return value >= dim->min && value <= dim->max && !(dim->divisible_by > 1 && value % dim->divisible_by);
}

#define WIDEST_I32 ((1ll << 31) - (1 << 16)) /* cutelite_rt/shapes.py */
#define MOST_IN_32_BITS (1ll << 30)
SMALL void tell(i64 *dims, u8 *told, u64 dim, i64 value) {
    dims[dim] = value;
    told[2 * dim] = 1;
    told[2 * dim + 1] = value > WIDEST_I32;
}

RARE int put_off(call *l, const rule *wanted, i64 value, int sure) {
    u64 which = (u64)wanted->value;
    i64 *unsure = unsure_of(l) + 2 * which, *later = later_of(l);
    if (wanted->kind == EXPRESSION && sure) {
        NOTE(later, l, wanted);
        later[2 * l->expressions] = (i64)which, later[2 * l->expressions++ + 1] = value;
    } else if (wanted->kind == DIM && !unsure[1]) {
        unsure[0] = value, unsure[1] = 1;
        NOTE(unsure, l, which);
    }
    return OK;
}

/* Compare an extent or stride with its rule; or learn a dim. */
SMALL int match(call *l, i64 *dims, u8 *told, const rule *wanted, i64 value, int sure) {
    u64 which = (u64)wanted->value;
    if (wanted->kind == NUMBER) return sure && value != wanted->value ? WRONG(number, l, wanted) : OK;
    if (SELDOM(wanted->kind != DIM || !sure)) return put_off(l, wanted, value, sure);
    if (told[2 * which]) return dims[which] != value ? WRONG(agreement, l, wanted) : OK;
    if (!is_declared(l->is->dim + which, value)) return WRONG(dim, l, wanted, value);
    tell(dims, told, which, value);
    NOTE(dim, l, which);
    return OK;
}

SMALL int has_elements(u32 rank, const i64 *extents) {
    for (u32 i = 0; i < rank; i++)
        if (!extents[i]) return 0;
    return 1;
}

RARE int fit_nested(call *l, const annotation *is, u32 rank, const i64 *extents, const i64 *strides, u8 *large) {
    i64 size = 1;
    int compact = 1;
    for (u32 i = rank; i--; size *= extents[i]) compact &= strides[i] == size;
    *large = size > MOST_IN_32_BITS;
    if (size > 1 && !compact) return WRONG(nested_strides, l);
    return size < is->cosize ? WRONG(nested_size, l, size) : OK;
}

RARE int is_of_variable(u64 *before, u32 dtype, u32 *bytes) {
    if (*before != dtype && *before) return SLOW;
    *before = dtype, *bytes = dtype >> 11 & 31;
    return OK;
}

/* Extents and strides of modes that are not nested; whether 32-bit indices reach all elements. */
SMALL int fit(call *l, i64 *dims, u8 *told, const annotation *is, const i64 *extents, const i64 *strides, u8 *large) {
    const rule *r = is->rules, *end = r + is->rank;
    i64 expected = 1;
    int other = 0;
    for (; r < end; r++) {
        i64 extent = extents[r->mode];
        if (match(l, dims, told, r, extent, 1)) return SLOW;
        other |= strides[r->mode] != expected && extent > 1;
        expected = (i64)((u64)expected * (u64)extent);
    }
    *large = expected > MOST_IN_32_BITS;
    if (OFTEN(is->order != GIVEN_STRIDES))
        return SELDOM(other) && has_elements(is->rank, extents) ? WRONG(strides, l) : OK;
    int some = has_elements(is->rank, extents);
    for (end += is->rank; r < end; r++)
        if (match(l, dims, told, r, strides[r->mode], some && extents[r->mode] > 1)) return SLOW;
    return OK;
}

/* Check an array by its row, and learn its address, flags and dims. */
SMALL int check_array(call *l, const array_row *row, const seen *s, u64 *device, i64 *dims, u8 *told, u8 *flag, u8 *large,
                      u64 *address) {
    const annotation *wanted = row->is;
    if (SELDOM(*device != s->device) && *device != ~0ull) return WRONG(place, l, *device, s->device);
    *device = s->device;
    *address = s->address;
    u32 bytes = wanted->bytes;
    if (SELDOM(s->dtype != wanted->dtype) &&
        (wanted->dtype || is_of_variable(key_of(l) + wanted->variable, s->dtype, &bytes)))
        return WRONG(dtype, l, s->dtype);
    if (SELDOM(s->rank != wanted->rank)) {
        if (wanted->order != NESTED) return WRONG(rank, l);
        if (fit_nested(l, wanted, s->rank, s->extents, s->strides, large)) return SLOW;
    } else if (fit(l, dims, told, wanted, s->extents, s->strides, large)) {
        return SLOW;
    }
    u64 beside = s->address & ((wanted->align ? wanted->align : bytes) - 1);
    if (OFTEN(!wanted->align)) *flag = !(s->address & 15);
    if (OFTEN(!beside)) return OK;
    if (has_elements(s->rank, s->extents)) return WRONG(pointer, l, s->address, wanted->align);
    return NOT_MINE(1) ? SLOW : OK;
}

/* Dims. */

/* Multiply; tell whether the product has more than 64 bits. */
SMALL int overflows(i64 a, i64 b, i64 *product) {
#ifdef __GNUC__
    return __builtin_mul_overflow(a, b, product);
#else
    *product = (i64)((u64)a * (u64)b);
    return a && ((a == -1 && *product == b && b) || *product / a != b);
#endif
}

RARE int evaluate(call *l, const step *s, i64 *result) {
    i64 stack[32], *top = stack - 1; /* tables.py refuses deeper ones */
    for (; s->op != END; s++) {
        if (s->op == CONSTANT) {
            *++top = s->value;
        } else if (s->op == VALUE) {
            if (!told_of(l)[2 * s->value]) return SLOW;
            *++top = dims_of(l)[s->value];
        } else {
            i64 b = *top--, a = *top;
            if ((s->op == FLOORDIV || s->op == MOD) && (!b || (b == -1 && a < -0x7fffffffffffffffll)))
                return WRONG(result, l);
            if (s->op == ADD) *top = (i64)((u64)a + (u64)b);
            else if (s->op == SUB) *top = (i64)((u64)a - (u64)b);
            else if (s->op == MIN) *top = a < b ? a : b;
            else if (s->op == MAX) *top = a > b ? a : b;
            else if (s->op == FLOORDIV) *top = a / b - (a % b && (a ^ b) < 0); /* as Python divides */
            else if (s->op == MOD) *top = a % b + (a % b && (a ^ b) < 0 ? b : 0);
            else if (overflows(a, b, top)) return WRONG(result, l);
        }
    }
    *result = *top;
    return OK;
}

RARE int unsure_dims(call *l) {
    for (u32 d = 0; d < l->is->dims; d++) {
        i64 value = unsure_of(l)[2 * d];
        if (told_of(l)[2 * d] || !unsure_of(l)[2 * d + 1]) continue;
        if (NOT_MINE(l->is->dim[d].inside && !is_declared(l->is->dim + d, value))) return SLOW;
        if (NOT_MINE(value < -(1ll << 31))) return SLOW;
        tell(dims_of(l), told_of(l), d, value);
    }
    return OK;
}

RARE int agree(call *l) {
    for (u32 i = 0; i < l->expressions; i++) {
        i64 value = 0, *row = later_of(l) + 2 * i;
        if (evaluate(l, l->is->expression[row[0]], &value)) return SLOW;
        if (value != row[1]) return WRONG(expression, l, i, value);
    }
    return OK;
}

/* The grid that follows from the dims; NOTHING where there are no blocks. */
RARE int grid_of_dims(call *l, u32 *grid) {
    int nothing = 0;
    grid[1] = grid[2] = 1; /* it may name fewer axes */
    for (u32 i = 0; i < l->is->grid; i++) {
        const rule *r = l->is->grid_rules + i;
        i64 blocks = r->value;
        if (r->kind == EXPRESSION && evaluate(l, l->is->expression[r->value], &blocks)) return SLOW;
        if ((u64)blocks > (i ? 65535u : 0x7fffffffu)) return WRONG(grid, l, i, blocks);
        nothing |= !blocks;
        grid[i] = (u32)blocks;
    }
    return nothing ? NOTHING : OK;
}

/* Tensor maps. */

/* By the rules of cutelite_rt/gpu/tensormap.py. Its dimensions are numbered from the innermost. */
RARE int encode(call *l, const map_form *form, const tensor *t, u64 address, void *out) {
    u64 sizes[5], jumps[5], within = 0, most = (1ull << 40) - 32;
    u32 steps[5], rank = form->rank;
    if (address & 15) return WRONG(map_address, l, address);
    for (u32 d = 0; d < rank; d++) {
        u64 extent = (u64)t->extents[rank - 1 - d], stride = (u64)t->strides[rank - 1 - d];
        if (extent - 1 >= 1ull << 32) return WRONG(map_extent, l, rank - 1 - d);
        sizes[d] = extent, steps[d] = 1;
        if (!d) {
            if (stride != 1 && extent != 1) return WRONG(map_inner, l, stride);
            within = (extent * form->bytes + 31) & ~31ull;
            continue;
        }
        u64 jump = stride * form->bytes, reach;
        if (extent == 1) jump = within; /* its stride is never used, and becomes one that the hardware takes */
        else if (stride >= 1ull << 40 || jump & 15 || jump >= 1ull << 40) return WRONG(map_stride, l, rank - 1 - d);
        jumps[d - 1] = jump;
        reach = jump && extent > most / jump ? most : jump * extent;
        within = reach > within ? reach : within;
    }
    if (form->im2col) return ENCODE_IM2COL(l, out, form, address, sizes, jumps, steps);
    return ENCODE_TILED(l, out, form, address, sizes, jumps, steps);
}
