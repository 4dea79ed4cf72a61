/* Tables of a signature, and a launch as far as the rules of `rules.c` know it: signature/table.py writes the tables.
 *
 * Who includes this says first   u8, u16, u32, i32, u64, i64
 *                                SMALL, RARE   how functions are declared: within others, and apart
 *                                HOST          fields of its own in `call` */
enum { OK, SLOW, MISSED, RAISED, NOTHING }; /* launcher.c says what they mean */

/* What there is one of for a signature. */

enum { NUMBER, DIM, EXPRESSION };
typedef struct { u32 kind, mode; i64 value; } rule; /* an extent or stride: the number, or which dim, or which expression */

enum { END, CONSTANT, VALUE, ADD, SUB, MUL, FLOORDIV, MOD, MIN, MAX };
typedef struct { i64 op, value; } step; /* of an expression, operands first */

enum { ROW_MAJOR, COLUMN_MAJOR, GIVEN_STRIDES, NESTED };
typedef struct {
    u32 dtype;        /* as DLPack has it; 0: of a variable */
    u32 variable;     /* the word of the key that has it */
    u32 bytes, align; /* align 0: of an element, and the key says whether it is 16 */
    u32 rank, order;
    i64 cosize;
    const rule *rules; /* extents, the mode of the smallest stride first, and given strides */
} annotation;

#define ALWAYS 0xffff
typedef struct { u16 slot, given; u32 map; const annotation *is; } array_row; /* map: bytes into the frame, 0 none */
enum { WIDE_INTEGER, SINGLE, OTHER };
/* how: OTHER too where it may be left out; word: of the key, 0 where its dtype is known */
typedef struct { u16 slot, given; u32 how, at, kind, word; } number_row;
typedef struct { u16 slot, given; u32 word; } constant_row;
typedef struct { i64 min, max, divisible_by; u32 inside, pad; } dim_row; /* inside: of an expression */

enum { IS_GIVEN, IS_INSTANCE, FIELD, HAS_ITEMS, ITEM };
typedef struct { u16 what, slot, given, to; u32 object, pad; } fetch_row; /* object: or how many items, or which */

typedef struct {
    u32 count, plain, positional, position_only; /* parameters; how many there are if they all may be positional, or -1 */
    u32 slots, fetches, givens, arrays, numbers, constants, dims;
    u32 grid;             /* rules of it that there are */
    u32 strided, to_make; /* whether strides tell dims; and whether there are maps, or numbers of a variable's dtype */
    u32 unusual;          /* whether there are optional arguments, constants, dims that strides tell or expressions */
    u32 dims_at, frame;   /* bytes: in the frame, and of it */
    u32 words, flags;     /* of the key; the byte of it where flags begin: of arrays, givens, dims, arrays again */
    u32 key, order, kinds, caches; /* bytes into an outcome */
    u32 parameters;       /* at most */
    u32 words_at, told_at, large_at, tensors_at, bound_at, unsure_at, later_at, given_at, scratch; /* bytes into a launch's memory */
    const fetch_row *fetch;
    const array_row *array;
    const number_row *number;
    constant_row *constant;
    const dim_row *dim;
    const step *const *expression;
    const rule *grid_rules;
} signature;

typedef struct { u64 data; i32 device_type, device; u32 rank, dtype; const i64 *extents, *strides; u64 offset; } tensor;
typedef struct { u64 address; u32 device, rank, dtype; const i64 *extents, *strides; } seen;

typedef struct { /* one launch */
    const signature *is;
    char *memory;
    u32 expressions; /* that were put off */
    HOST
} call;

/* Parts of its memory. */
SMALL u64 *frame_of(const call *l) { return (u64 *)l->memory; }
SMALL u64 *key_of(const call *l) { return (u64 *)(l->memory + l->is->words_at); }
SMALL u8 *flags_of(const call *l) { return (u8 *)key_of(l) + l->is->flags; }
SMALL u8 *told_of(const call *l) { return (u8 *)key_of(l) + l->is->told_at; }
SMALL i64 *dims_of(const call *l) { return (i64 *)(l->memory + l->is->dims_at); }
SMALL tensor *tensors_of(const call *l) { return (tensor *)(l->memory + l->is->tensors_at); }
SMALL i64 *unsure_of(const call *l) { return (i64 *)(l->memory + l->is->unsure_at); } /* and whether there is one */
SMALL i64 *later_of(const call *l) { return (i64 *)(l->memory + l->is->later_at); } /* expressions, and their values */
SMALL u8 *given_of(const call *l) { return (u8 *)l->memory + l->is->given_at; }

/* Numbers. */

enum { BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, TF32, E4M3, E5M2, POINTER };

SMALL int bits_of(u32 kind) {
    return kind == I64 || kind == U64 ? 64 : kind == I32 || kind == U32 ? 32 : kind == I16 || kind == U16 ? 16 : 8;
}

SMALL i64 high_of(u32 kind) { return (i64)(~0ull >> (64 - bits_of(kind)) >> (kind < U8 || kind == U64)); }
SMALL i64 low_of(u32 kind) { return kind < U8 ? ~high_of(kind) : 0; } /* of integers; of u64 those that an i64 holds */

typedef struct { u32 dtype, swizzle, bytes, rank, im2col, box[5]; i32 lower[3], upper[3]; } map_form; /* im2col: box is
    channels, pixels; corners between the first and the last dimension */
