/* Launch any kernel from Python: the one launcher, which goes through the tables of a kernel's signature.
 *
 * In    the arguments of a call, by CPython's vectorcall, and the tables of cutelite_rt/signature/table.py
 * Out   cuLaunchKernelEx has been called; or the call was handed to Python, which launches or says what is wrong
 *
 * It repeats decisions of Python, and takes none itself. It checks arguments (dtypes, ranks, extents, strides, dims,
 * alignment, device, ranges of numbers), gathers all facts that a decision depended on as the words of a key, and looks up
 * the outcome under it. Whatever is wrong or new goes to Python. The rules for arrays and numbers are in rules.c, which
 * exported C has too.
 *
 * Functions return OK, SLOW where Python has to launch and will find out why, MISSED where it also keeps the outcome
 * under the key, RAISED where an exception that is no error (KeyboardInterrupt) goes on.
 *
 * launcher.ll is this file and those that it includes as LLVM IR, made by `make update-launcher`; llvmlite makes machine code
 * of that, once per machine.
 * No data, no calls by name, no jump tables: the machine code has one section and no relocations. One copy of it serves
 * all kernels; the state of each comes with `self`. Structures are declared here and filled in by
 * the files beside this one and signature/table.py, field by field in the same order (tests/rt/test_rt_tables.py). */

/* Of the interpreter, constants of the machine code: cutelite_rt/launcher/image.py defines them, and `unsupported` of
 * native.py refuses a Python whose objects are laid out in another way. */
extern long long object_head(void) __attribute__((const, nothrow)); /* bytes of an object before its content */
extern int has_lock(void) __attribute__((const, nothrow)); /* whether one thread at a time is in the interpreter */
#define ITEMS_COUNT object_head() /* bytes from an object's address */
#define BYTES_CONTENT (object_head() + 16)
#define BASIC_SIZE (object_head() + 16) /* of a type */
#define SMALL __attribute__((always_inline)) static inline
#define RARE __attribute__((noinline)) static
#define APART __attribute__((noinline)) static /* with registers of its own */
#define OFTEN(x) __builtin_expect(!!(x), 1)
#define SELDOM(x) __builtin_expect(!!(x), 0)

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;

#define WRONG(...) SLOW
#define NOTE(...)
#define NOT_MINE(condition) (condition)
#define ENCODE_TILED(l, out, form, address, sizes, jumps, steps) \
    ((l)->env->cuTensorMapEncodeTiled(out, (i32)form->dtype, form->rank, address, sizes, jumps, form->box, steps, 0, \
                                      (i32)form->swizzle, 2, 0) ? SLOW : OK)
#define ENCODE_IM2COL(l, out, form, address, sizes, jumps, steps) \
    ((l)->env->cuTensorMapEncodeIm2col(out, (i32)form->dtype, form->rank, address, sizes, jumps, form->lower, form->upper, \
                                       form->box[0], form->box[1], steps, 0, (i32)form->swizzle, 2, 0) ? SLOW : OK)

typedef struct object object;
typedef object *const *objects;
SMALL object *type_of(object *x) { return *(object **)((char *)x + object_head() - 8); }
typedef struct environment environment;
typedef struct state state;

/* A word that Python, or another thread's launch, may replace: what it points to is complete. Where there is a lock, they
 * wait for it. Python stores such words by `publish` of native.py. */
#define share(place, pointer) \
    (has_lock() ? (void)(*(place) = (pointer)) : __atomic_store_n(place, pointer, __ATOMIC_RELEASE))
#define SHARED(word) (has_lock() ? (word) : __atomic_load_n(&(word), __ATOMIC_SEQ_CST))

typedef struct { /* what a launch learns of its arrays, besides the facts in the key */
    int (*teller)(int, int, void **); /* of the stream, on that device */
    int device;
    unsigned pending, read;
    object *kept;
    void *stream;
} learnt;

#define HOST environment *env; state *of; objects slots; learnt known;
#include "tables.h"

/* One for each driver. */

typedef struct { object *type; i64 how; int (*read)(object *, void *); int (*stream)(i32, i32, void **); } type_entry;
typedef struct { u64 mask, pad[3]; const type_entry entries[]; } type_table;
enum { EXCHANGE = 1, EXCHANGE_UNLESS_NEGATED, OWN, BY_PYTHON, REFUSED, DIRECT };

typedef struct { /* of torch's tensors: cutelite_rt/arrays/torch_layout.py */
    u64 impl, keys, sizes, offset, storage, device, dtype, data, owner, plain[2];
    u32 dtypes[64];
} torch_layout;

struct environment {
    const u64 *diverted, *changes;
    const type_entry *recent;
    const torch_layout *torch;
    object *int_;
    u64 one_digit, digit_flags;
    object *float_;
    int (*cuCtxGetId)(void *, u64 *);
    void *(*PyEval_SaveThread)(void);
    int (*cuLaunchKernelEx)(const void *, void *, void **, void **);
    void (*PyEval_RestoreThread)(void *);
    object *none;
    u64 counts_none;
    object *tuple;
    i64 (*PyLong_AsLongLong)(object *);
    u64 (*PyLong_AsUnsignedLongLong)(object *);
    double (*PyLong_AsDouble)(object *);
    void *(*PyLong_AsVoidPtr)(object *);
    object *(*PyLong_FromLongLong)(i64);
    object *(*PyErr_Occurred)(void);
    void (*PyErr_Clear)(void);
    int (*PyErr_ExceptionMatches)(object *);
    void (*Py_IncRef)(object *);
    void (*Py_DecRef)(object *);
    object *(*PyTuple_GetItem)(object *, i64);
    i64 (*PyTuple_Size)(object *);
    object *(*PyBytes_FromStringAndSize)(const void *, i64);
    object *(*PyObject_Vectorcall)(object *, objects, i64, object *);
    object *(*PyObject_VectorcallMethod)(object *, objects, i64, object *);
    object *(*PyObject_GetAttr)(object *, object *);
    object *(*PySequence_GetItem)(object *, i64);
    int (*PyObject_IsInstance)(object *, object *);
    object *(*PyDict_GetItemWithError)(object *, object *);
    int (*cuCtxPushCurrent)(void *);
    int (*cuCtxPopCurrent)(void *);
    int (*cuTensorMapEncodeTiled)(void *, i32, u32, u64, const u64 *, const u64 *, const u32 *, const u32 *, i32, i32,
                                  i32, i32);
    int (*cuTensorMapEncodeIm2col)(void *, i32, u32, u64, const u64 *, const u64 *, const i32 *, const i32 *, u32, u32,
                                   const u32 *, i32, i32, i32, i32);
    object *true_, *false_, *bool_, *list, *exception, *is_neg, *dltensor;
    const type_table *types;
    object *learn;
    u64 *places; /* of launches under way, each a line of the CPU's caches */
    void (*PyCriticalSection_Begin)(void *, object *);
    void (*PyCriticalSection_End)(void *);
    int (*PyDict_Watch)(i32, object *);
    u64 watcher;
};

/* For each kernel a state and outcomes, for each kernel[grid, block] facts. */

typedef struct { u64 cells, names, seen, unlike; object *rows[]; } watched;

typedef struct {
    u64 hash; void *context; u64 context_id; void *function;
    u32 clustered, block[3]; u64 smem; void *attributes; u64 attribute_count, count; /* clustered: or PROGRAM */
    u32 cluster[3], bytes; /* bytes: of its parameters, given in one buffer; 0: by a pointer to each */
} outcome;
typedef struct { u32 from, to; } parameter_place; /* bytes into the frame, and into the buffer */
enum { PROGRAM = 2 };
typedef struct { u64 mask, users; const outcome *recent; const outcome *entries[]; } table;

struct state {
    environment *env;
    object *general;
    table *outcomes;
    watched *watch;
    const u64 *constants;
    object *launch_anew, *number, *constant, *arrays, *resolved;
    objects names, defaults, objects;
    const signature *is;
};

enum { NO_BLOCKS = 1, STREAM = 2, UNRESOLVED = 4, ODD = 8, BY_DIMS = 16, GENERAL = 32 };
typedef struct {
    u32 grid[3], bits; /* a general one has no grid */
    u64 class;
    void *stream;
    state *of;
    environment *env; /* both are in the state too: memory that is not waited for in a row is there sooner */
    const signature *is;
} facts;

/* Python. */

/* Items begin where a tuple without any ends: a word later since 3.14, which keeps hashes. */
SMALL object *item(object *tuple, int i) {
    return ((object **)((char *)tuple + *(i64 *)((char *)type_of(tuple) + BASIC_SIZE)))[i];
}
SMALL u64 count_of(object *x) { return *(u64 *)((char *)x + ITEMS_COUNT); }
SMALL const facts *content(object *bytes) { return (const facts *)((char *)bytes + BYTES_CONTENT); }

SMALL object *inside(object *cell) { return *(object **)((char *)cell + object_head()); }

/* Without a lock, memory that Python replaced is kept while launches under way may read it: launcher/readers.py. A launch
 * has a place of its own, whose number is odd meanwhile; null where there are none left. */
#define PLACES 64
RARE u64 *place_of(u64 *places, u64 h) {
    h = h * 0x9E3779B97F4A7C15ull >> 58;
    for (u64 i = 0; i < PLACES; i++) {
        u64 *place = places + 8 * (h + i & PLACES - 1), number = __atomic_load_n(place, __ATOMIC_RELAXED);
        if (!(number & 1) &&
            __atomic_compare_exchange_n(place, &number, number + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            return place;
    }
    return 0;
}

/* Whether a launch may begin. Threads have stacks far apart, so that each finds the place that it had. */
SMALL int enter(environment *env, const void *on_stack, u64 **place) {
    return has_lock() || (*place = place_of(env->places, (u64)on_stack >> 16)) != 0;
}
SMALL void leave(u64 *place) {
    if (!has_lock() && place) __atomic_store_n(place, *place + 1, __ATOMIC_RELEASE);
}

RARE int failed(environment *env) {
    if (!env->PyErr_Occurred()) return SLOW;
    if (!env->PyErr_ExceptionMatches(env->exception)) return RAISED;
    env->PyErr_Clear();
    return SLOW;
}

SMALL int is_small(environment *env, object *x) {
    return (*(u64 *)((char *)x + object_head()) & ~env->digit_flags) == env->one_digit;
}
SMALL u64 digit_of(object *x) { return *(u32 *)((char *)x + object_head() + 8); }
SMALL u64 float_bits(object *x) { return *(u64 *)((char *)x + object_head()); }

SMALL int whole(environment *env, object *x, i64 low, i64 high, i64 *value) {
    if (is_small(env, x))
        *value = (i64)digit_of(x);
    else if ((*value = env->PyLong_AsLongLong(x)) == -1 && env->PyErr_Occurred())
        return env->PyErr_Clear(), SLOW;
    return *value >= low && *value <= high ? OK : SLOW;
}

#include "rules.c"

/* Numbers: the bits of an object that is an int, float or bool exactly. */
RARE int exactly(call *l, object *x, u32 kind, u64 *out) {
    environment *env = l->env;
    object *t = type_of(x);
    union { double d; u64 b; } real;
    if (kind >= POINTER) { /* an address */
        if (t != env->int_) return SLOW;
        *out = env->PyLong_AsUnsignedLongLong(x);
        if (*out == ~0ull && env->PyErr_Occurred()) return env->PyErr_Clear(), SLOW;
        return fit_address(l, *out, kind);
    }
    if (kind == BOOL) return *out = x == env->true_, t == env->bool_ ? OK : SLOW;
    if (kind <= U64) {
        if (t != env->int_ && t != env->bool_) return SLOW;
        if (kind == U64) {
            *out = env->PyLong_AsUnsignedLongLong(x);
            if (*out == ~0ull && env->PyErr_Occurred()) return env->PyErr_Clear(), SLOW;
            return OK;
        }
        i64 value;
        int status = whole(env, x, low_of(kind), high_of(kind), &value);
        *out = (u64)value & ~0ull >> (64 - bits_of(kind));
        return status;
    }
    if (t == env->float_)
        real.b = float_bits(x);
    else if (t != env->int_)
        return SLOW;
    else if (real.d = env->PyLong_AsDouble(x), real.b == 0xBFF0000000000000ull && env->PyErr_Occurred())
        return env->PyErr_Clear(), SLOW;
    return fit_float(l, real.b, kind, out);
}

/* The same from any object: Python tells the number that it stands for. */
RARE int number(call *l, object *x, u32 kind, u64 *out) {
    environment *env = l->env;
    if (type_of(x) == env->int_ || type_of(x) == env->float_ || type_of(x) == env->bool_) return exactly(l, x, kind, out);
    object *y = env->PyObject_Vectorcall(l->of->number, &x, 1, 0);
    if (!y) return failed(env);
    int status = exactly(l, y, kind, out);
    env->Py_DecRef(y);
    return status;
}

SMALL int is_left_out(call *l, u16 given) { return given != ALWAYS && !given_of(l)[given]; }

RARE int other_number(call *l, const number_row *row) {
    object *x = l->slots[row->slot];
    if (is_left_out(l, row->given)) return OK;
    if (row->word) return key_of(l)[row->word] = (u64)type_of(x), OK; /* the outcome tells its dtype */
    return number(l, x, row->kind, (u64 *)(l->memory + row->at));
}

APART int numbers(call *l) {
    object *int_ = l->env->int_, *float_ = l->env->float_;
    u64 one_digit = l->env->one_digit, told = ~l->env->digit_flags;
    char *memory = l->memory;
    objects slots = l->slots;
    for (const number_row *row = l->is->number, *end = row + l->is->numbers; row < end; row++) {
        object *x = slots[row->slot];
        char *out = memory + row->at;
        if (row->how == WIDE_INTEGER) {
            if (OFTEN(type_of(x) == int_ && (*(u64 *)((char *)x + object_head()) & told) == one_digit)) {
                *(u64 *)out = digit_of(x);
                continue;
            }
        } else if (row->how == SINGLE && OFTEN(type_of(x) == float_)) {
            u64 b = float_bits(x);
            union { float f; u32 b; } single = {f32_of(b)};
            *(u64 *)out = single.b; /* a whole word, as it is read again */
            if (OFTEN(b << 1 >> 1 < BEYOND_F32)) continue;
        }
        int status = other_number(l, row);
        if (SELDOM(status)) return status;
    }
    return OK;
}

/* Compile-time constants: type and content for numbers, bool and None; else 0 and the number that Python gave it. */

RARE int known_constant(call *l, object *x, u64 *out) {
    const u64 *of = SHARED(l->of->constants);
    out[0] = 0;
    for (u64 at = (u64)x >> 4;; at++) {
        const u64 *entry = of + 2 * (at & 255);
        u64 its = SHARED(*entry);
        if (its == (u64)x) return out[1] = entry[1], OK;
        if (!its) break;
    }
    object *y = l->env->PyObject_Vectorcall(l->of->constant, &x, 1, 0);
    if (!y) return failed(l->env);
    out[1] = (u64)l->env->PyLong_AsLongLong(y);
    l->env->Py_DecRef(y);
    return OK;
}

RARE int constants(call *l) {
    environment *env = l->env;
    for (u32 i = 0; i < l->is->constants; i++) {
        constant_row *row = l->is->constant + i;
        if (is_left_out(l, row->given)) continue;
        object *x = l->slots[row->slot];
        u64 *out = key_of(l) + row->word;
        i64 value;
        int status = OK;
        out[0] = (u64)type_of(x), out[1] = (u64)x;
        if (type_of(x) == env->bool_ || x == env->none) continue;
        if (type_of(x) == env->float_)
            out[1] = float_bits(x);
        else if (type_of(x) == env->int_ && !whole(env, x, -0x7fffffffffffffffll - 1, 0x7fffffffffffffffll, &value))
            out[1] = (u64)value;
        else
            status = known_constant(l, x, out);
        if (status) return status;
    }
    return OK;
}

/* Arrays. */

/* Read a plain tensor of torch where torch keeps its facts: cutelite_rt/arrays/torch_layout.py. */
SMALL int look(environment *env, object *x, seen *s) {
    const torch_layout *at = env->torch;
#define AT(type, base, offset) (*(type *)((char *)(base) + (offset)))
    char *impl = AT(char *, x, at->impl);
    u64 keys = AT(u64, impl, at->keys);
    if (SELDOM(keys != at->plain[0] && keys != at->plain[1])) return 0;
    const i64 *sizes = (i64 *)(impl + at->sizes);
    u64 rank = (u64)sizes[0], number = AT(u16, impl, at->dtype);
    if (SELDOM(rank > 5 || number >= 64)) return 0;
    u32 dtype = at->dtypes[number];
    char *storage = AT(char *, impl, at->storage);
    u64 data = AT(u64, storage, at->data);
    const u8 *device = (u8 *)impl + at->device;
    if (SELDOM(!dtype || !data || data != AT(u64, storage, at->owner) || device[0] != 1)) return 0;
    s->address = data + AT(u64, impl, at->offset) * (dtype >> 11 & 31);
    s->device = device[1], s->rank = (u32)rank, s->dtype = dtype;
    s->extents = sizes + 1, s->strides = sizes + 6;
    return 1;
}

RARE const type_entry *find_type(environment *env, object *t) {
    const type_table *in = SHARED(env->types);
    for (u64 at = (u64)t >> 4;; at++) {
        const type_entry *entry = in->entries + (at & in->mask);
        object *its = SHARED(entry->type);
        if (its == t) return entry;
        if (!its) return 0;
    }
}

/* Only views of imaginary parts have a sign to flip, and their elements never lie side by side. */
RARE int never_negated(environment *env, object *x, const tensor *t) {
    for (u32 i = t->rank; i--;)
        if (t->extents[i] > 1 && t->strides[i] == 1) return OK;
    object *r = env->PyObject_VectorcallMethod(env->is_neg, &x, 1, 0);
    if (!r) return failed(env);
    env->Py_DecRef(r);
    return r == env->false_ ? OK : SLOW;
}

enum { PENDING = 4 };

/* Read an array by its library's function, or have Python do it. */
RARE int read_array(call *l, object *x, tensor *t) {
    environment *env = l->env;
    const type_entry *entry = SHARED(env->recent);
    if (entry->type != type_of(x)) {
        if (!(entry = find_type(env, type_of(x)))) {
            object *y = env->PyObject_Vectorcall(env->learn, &x, 1, 0);
            if (!y) return failed(env);
            env->Py_DecRef(y);
            if (!(entry = find_type(env, type_of(x)))) return SLOW;
        }
        share(&env->recent, entry);
    }
    if (entry->how == BY_PYTHON) return l->known.read ? OK : PENDING;
    if (entry->how == OWN) {
        object *n = env->PyObject_GetAttr(x, env->dltensor);
        if (!n) return failed(env);
        const u64 *from = env->PyLong_AsVoidPtr(n);
        env->Py_DecRef(n);
        for (int i = 0; i < 6; i++) ((u64 *)t)[i] = from[i];
        return OK;
    }
    if (entry->how != EXCHANGE && entry->how != EXCHANGE_UNLESS_NEGATED && entry->how != DIRECT) return SLOW;
    seen s;
    if (entry->how == DIRECT && look(env, x, &s)) {
        t->data = s.address, t->device_type = 2, t->device = (i32)s.device, t->offset = 0, t->dtype = s.dtype;
        t->rank = s.rank, t->extents = s.extents, t->strides = s.strides;
    } else {
        t->strides = 0;
        if (entry->read(x, t)) return failed(env);
        if (!t->strides && t->rank) return SLOW;
        int status = entry->how == EXCHANGE ? OK : never_negated(env, x, t);
        if (status) return status;
    }
    if (!l->known.teller) l->known.teller = entry->stream, l->known.device = t->device;
    return OK;
}

/* Read and check them all; nothing is learnt of them yet. */
APART int arrays(call *l) {
    environment *env = l->env;
    const signature *is = l->is;
    const type_entry *recent = SHARED(env->recent);
    u64 device = ~0ull, *frame = frame_of(l), *key = key_of(l);
    i64 *dims = dims_of(l);
    u8 *told = told_of(l), *flags = flags_of(l), *large = (u8 *)key_of(l) + is->large_at;
    objects slots = l->slots;
    for (u32 i = 3; i < is->words; i++) key[i] = 0;
    for (const array_row *row = is->array, *end = row + is->arrays; row < end; row++, frame++, flags++, large++) {
        if (SELDOM(is_left_out(l, row->given))) continue;
        object *x = slots[row->slot];
        seen s;
        if (OFTEN(recent->type == type_of(x) && recent->how == DIRECT) && OFTEN(look(env, x, &s))) {
            if (SELDOM(!l->known.teller)) l->known.teller = recent->stream, l->known.device = (i32)s.device;
            if (SELDOM(row->map)) {
                tensor *t = tensors_of(l) + (row - is->array);
                t->rank = s.rank, t->extents = s.extents, t->strides = s.strides;
            }
        } else {
            tensor *t = tensors_of(l) + (row - is->array);
            int status = read_array(l, x, t);
            recent = SHARED(env->recent);
            if (status == PENDING) {
                l->known.pending = 1;
                continue;
            }
            if (status) return status;
            if (t->device_type != 2 && t->device_type != 13) return SLOW; /* kDLCUDA, kDLCUDAManaged */
            s = (seen){t->data + t->offset, (u32)t->device, t->rank, t->dtype, t->extents, t->strides};
            if (!s.address) return SLOW;
        }
        if (check_array(l, row, &s, &device, dims, told, flags, large, frame)) return SLOW;
    }
    key[2] = device;
    return OK;
}

RARE int read_others(call *l, const facts *f) {
    environment *env = l->env;
    u32 count = l->is->arrays;
    object *arguments[count + 2];
    arguments[0] = env->PyLong_FromLongLong(f->bits & STREAM ? (i64)f->stream : -1);
    arguments[1] = env->PyLong_FromLongLong((i64)tensors_of(l));
    for (u32 i = 0; i < count; i++) {
        const array_row *row = l->is->array + i;
        arguments[i + 2] = is_left_out(l, row->given) ? env->none : l->slots[row->slot];
    }
    learnt *known = &l->known;
    known->kept = env->PyObject_Vectorcall(l->of->arrays, arguments, count + 2, 0);
    env->Py_DecRef(arguments[0]);
    env->Py_DecRef(arguments[1]);
    if (!known->kept) return failed(env);
    known->stream = env->PyLong_AsVoidPtr(env->PyTuple_GetItem(known->kept, 0));
    known->read = 1, l->expressions = 0;
    for (u32 d = 0; d < l->is->dims; d++) unsure_of(l)[2 * d + 1] = 0;
    return arrays(l);
}

/* Tensor maps. */

typedef struct { u64 address; i64 extents[5], strides[5]; u64 version, pad[4], map[16]; } map_entry;
#define MULTIPLIER 0x9E3779B97F4A7C15ull

typedef u64 pair __attribute__((vector_size(16), aligned(8), may_alias));

SMALL void copy_map(u64 *to, const u64 *from) {
    const pair *f = (const pair *)from;
    pair *t = (pair *)to, a = f[0], b = f[1], c = f[2], d = f[3], e = f[4], g = f[5], h = f[6], i = f[7];
    t[0] = a, t[1] = b, t[2] = c, t[3] = d, t[4] = e, t[5] = g, t[6] = h, t[7] = i;
}

SMALL u64 differs(const map_entry *entry, u64 address, u32 rank, const i64 *extents, const i64 *strides) {
    u64 found = entry->address ^ address;
#pragma clang loop vectorize(disable) unroll(disable)
    for (u32 i = 0; i < rank; i++)
        found |= (u64)(extents[i] ^ entry->extents[i]) | (u64)(strides[i] ^ entry->strides[i]);
    return found;
}

SMALL void keep(map_entry *entry, const map_form *form, const tensor *t, u64 address, const u64 *fresh) {
    copy_map(entry->map, fresh);
    entry->address = address;
    for (u32 i = 0; i < form->rank; i++) entry->extents[i] = t->extents[i], entry->strides[i] = t->strides[i];
}

RARE int renew(call *l, const map_form *form, const tensor *t, u64 address, map_entry *entry) {
    u64 room[32], *fresh = (u64 *)(((u64)room + 127) & ~127ull);
    if (encode(l, form, t, address, fresh)) return SLOW;
    keep(entry, form, t, address, fresh);
    return OK;
}

/* The same without a lock: an entry's version is odd while a launch writes it, and another one afterwards. */
RARE int map_of_many(call *l, const map_form *form, const tensor *t, u64 address, map_entry *entry, u64 *out) {
    u64 room[32], *fresh = (u64 *)(((u64)room + 127) & ~127ull), version = __atomic_load_n(&entry->version, __ATOMIC_ACQUIRE);
    if (!(version & 1) && !differs(entry, address, form->rank, t->extents, t->strides)) {
        copy_map(out, entry->map);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&entry->version, __ATOMIC_RELAXED) == version) return OK;
    }
    if (encode(l, form, t, address, fresh)) return SLOW;
    copy_map(out, fresh);
    if (version & 1 ||
        !__atomic_compare_exchange_n(&entry->version, &version, version + 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return OK;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    keep(entry, form, t, address, fresh);
    __atomic_store_n(&entry->version, version + 2, __ATOMIC_RELEASE);
    return OK;
}

static int tensor_map(call *l, char *cache, const tensor *t, u64 address, u64 *out) {
    const map_form *form = (map_form *)cache;
    const i64 *extents = t->extents, *strides = t->strides;
    u32 rank = form->rank;
    u64 h = address;
    for (u32 i = 0; i < rank; i++) h = ((h * MULTIPLIER ^ (u64)extents[i]) * MULTIPLIER) ^ (u64)strides[i];
    map_entry *entry = (map_entry *)(cache + 128) + (h * MULTIPLIER >> 40 & 31);
    if (!has_lock()) return map_of_many(l, form, t, address, entry, out);
    if (SELDOM(differs(entry, address, rank, extents, strides)) && renew(l, form, t, address, entry)) return SLOW;
    copy_map(out, entry->map);
    return OK;
}

/* The outcome. */

RARE const outcome *search(const signature *is, table *in, const u64 *key) {
    u64 h = 0;
    for (u32 i = 0; i < is->words; i++) h = (h ^ key[i]) * MULTIPLIER, h ^= h >> 29;
    for (u64 at = h;; at++) {
        const outcome *v = in->entries[at & in->mask];
        if (!v) return 0;
        if (v->hash != h) continue;
        const u64 *its = (u64 *)((char *)v + is->key);
        u32 i = 0;
        while (i < is->words && its[i] == key[i]) i++;
        if (i == is->words) return share(&in->recent, v), v;
    }
}

SMALL const outcome *find(const signature *is, table *in, const u64 *key) {
    const outcome *recent = SHARED(in->recent);
    const u64 *its = (u64 *)((char *)recent + is->key);
    u64 differs = 0;
#pragma clang loop vectorize(disable) unroll(disable)
    for (u32 i = 0; i < is->words; i++) differs |= key[i] ^ its[i];
    return OFTEN(!differs) ? recent : search(is, in, key);
}

/* Look up a global. Without a lock, a change of the dict is counted and then made while the dict itself is locked; and so
 * the dict is made to count, as PyDict_Watch takes no lock. */
SMALL object *looked_up(environment *env, object *dict, object *name) {
    u64 section[8];
    if (has_lock() || !env->PyCriticalSection_Begin) return env->PyDict_GetItemWithError(dict, name);
    env->PyCriticalSection_Begin(section, dict);
    if (env->PyDict_Watch) env->PyDict_Watch((i32)env->watcher, dict);
    object *found = env->PyDict_GetItemWithError(dict, name);
    env->PyCriticalSection_End(section);
    return found;
}

/* Whether every closure variable and global still holds what it held. */
RARE int are_globals_unchanged(environment *env, watched *w, object **row, u64 changes) {
    for (u64 i = 0; i < w->names; i++, row += 3)
        if (looked_up(env, row[0], row[1]) != row[2]) return 0;
    w->seen = changes | w->unlike; /* a bit that no number of changes has, where they are not counted */
    return 1;
}

SMALL int is_unchanged(environment *env, watched *w) {
    object **row = w->rows;
    int good = 1;
    for (u64 i = 0; i < w->cells && good; i++, row += 2) good = inside(row[0]) == row[1];
    u64 changes = *env->changes;
    if (good && changes != w->seen) good = are_globals_unchanged(env, w, row, changes);
    if (SELDOM(!good)) env->PyErr_Clear();
    return good;
}

typedef struct { u32 grid[3], block[3]; u64 smem; void *stream, *attributes; u64 attribute_count; } launch_config;

SMALL int call_driver(environment *env, const launch_config *config, const outcome *v, void **pointers, void **extra) {
    void *thread = env->PyEval_SaveThread(); /* a full queue is waited for, perhaps for work that waits for Python */
    int status = env->cuLaunchKernelEx(config, v->function, pointers, extra);
    env->PyEval_RestoreThread(thread);
    return status ? SLOW : OK;
}

RARE int submit_there(environment *env, const launch_config *config, const outcome *v, void **pointers, void **extra) {
    u64 id = 0;
    if (env->cuCtxGetId(v->context, &id) || id != v->context_id || env->cuCtxPushCurrent(v->context)) return SLOW;
    int status = call_driver(env, config, v, pointers, extra);
    env->cuCtxPopCurrent(&id);
    return status;
}

/* Launches that go out together, of a host function (cutelite/dispatch/programs.py): the `function` of its outcome. */

typedef struct { u64 array, delta, below; u64 *to; char *cache; const tensor *is; } moved; /* `is`: of a map */
typedef struct { launch_config config; void *function; void **parameters; } planned;
typedef struct {
    u64 busy, owns; /* whether a launch is under way; whether it has memory of its own, for one stream */
    void *stream;
    u64 moves, launches;
    const moved *move;
    planned *launch;
} program;

SMALL int leave_program(program *p) { return __atomic_store_n(&p->busy, 0, __ATOMIC_RELEASE), SLOW; }

/* An error midway is met again, and said, by Python. */
RARE int submit_all(call *l, const outcome *v) {
    program *p = v->function;
    environment *env = l->env;
    void *stream = l->known.stream;
    if ((p->owns && stream != p->stream) || v->context_id != key_of(l)[1]) return SLOW;
    /* Parameters and workspaces are in use while the interpreter's lock is not held, or there is none. */
    if (has_lock() ? p->busy : __atomic_exchange_n(&p->busy, 1, __ATOMIC_ACQUIRE)) return SLOW;
    for (const moved *m = p->move, *end = m + p->moves; m < end; m++) {
        u64 address = frame_of(l)[m->array] + m->delta;
        if (address & m->below) return leave_program(p);
        if (!m->is) *m->to = address;
        else if (tensor_map(l, m->cache, m->is, address, m->to)) return leave_program(p);
    }
    p->busy = 1;
    void *thread = env->PyEval_SaveThread();
    int status = 0;
    for (planned *next = p->launch, *end = next + p->launches; next < end && !status; next++) {
        next->config.stream = stream;
        status = env->cuLaunchKernelEx(&next->config, next->function, next->parameters, 0);
    }
    env->PyEval_RestoreThread(thread);
    leave_program(p);
    return status ? SLOW : OK;
}

enum { BUFFER_END, BUFFER_POINTER, BUFFER_SIZE }; /* CU_LAUNCH_PARAM_END, _BUFFER_POINTER, _BUFFER_SIZE */
typedef u64 anywhere __attribute__((aligned(1), may_alias));

SMALL int submit(call *l, const facts *f, const outcome *v) {
    void *room[l->is->parameters + 1], **pointers = room, **extra = 0;
    char *memory = l->memory;
    launch_config config;
    const parameter_place *place = (parameter_place *)((char *)v + l->is->order), *end = place + v->count;
    u64 bytes = v->bytes;
    void *buffer[] = {(void *)BUFFER_POINTER, room, (void *)BUFFER_SIZE, &bytes, (void *)BUFFER_END};
    if (SELDOM(v->clustered == PROGRAM)) return submit_all(l, v);
    if (SELDOM(v->clustered))
        for (int i = 0; i < 3; i++)
            if (f->grid[i] % v->cluster[i]) return SLOW;
    for (int i = 0; i < 3; i++) config.grid[i] = f->grid[i], config.block[i] = v->block[i];
    config.smem = v->smem, config.stream = l->known.stream;
    config.attributes = v->attributes, config.attribute_count = v->attribute_count;
    if (OFTEN(bytes)) { /* in words, in order: what a word has too much, the next one covers */
        pointers = 0, extra = buffer;
#pragma clang loop vectorize(disable) unroll(disable)
        for (; place < end; place++) *(anywhere *)((char *)room + place->to) = *(u64 *)(memory + place->from);
    } else {
#pragma clang loop vectorize(disable) unroll(disable)
        for (; place < end; place++) *pointers++ = memory + place->from;
        pointers = room;
    }
    if (OFTEN(v->context_id == key_of(l)[1])) return call_driver(l->env, &config, v, pointers, extra);
    return submit_there(l->env, &config, v, pointers, extra);
}

/* Arguments. */

/* By Python's rules; names are compared by identity, which is how Python interns them. */
RARE int bind(const state *of, environment *env, objects args, u64 given, object *kwnames, object **slots) {
    const signature *is = of->is;
    if (given > is->positional) return SLOW;
    for (u32 i = 0; i < is->count; i++) slots[i] = i < given ? args[i] : 0;
    i64 named = kwnames ? env->PyTuple_Size(kwnames) : 0;
    for (i64 k = 0; k < named; k++) {
        object *name = env->PyTuple_GetItem(kwnames, k);
        u32 i = is->position_only;
        while (i < is->count && of->names[i] != name) i++;
        if (i == is->count || slots[i]) return SLOW;
        slots[i] = args[given + (u64)k];
    }
    for (u32 i = 0; i < is->count; i++)
        if (!slots[i] && !(slots[i] = of->defaults[i])) return SLOW;
    return OK;
}

/* Which optional arguments are given, and the fields of structs. */
RARE int fetch(const state *of, environment *env, object **slots, u8 *given) {
    const fetch_row *row = of->is->fetch, *end = row + of->is->fetches;
    for (u32 i = of->is->count; i < of->is->slots; i++) slots[i] = 0;
    for (; row < end; row++) {
        int there = row->given == ALWAYS || given[row->given];
        object *x = slots[row->slot];
        if (row->what == IS_GIVEN) {
            given[row->to] = there && x != env->none;
        } else if (!there) {
            continue;
        } else if (row->what == FIELD) {
            if (!(slots[row->to] = env->PyObject_GetAttr(x, of->objects[row->object]))) return failed(env);
        } else if (row->what == HAS_ITEMS) {
            if ((type_of(x) != env->tuple && type_of(x) != env->list) || count_of(x) != row->object)
                return SLOW; /* the number of items is in the same place of both */
        } else if (row->what == ITEM) {
            if (!(slots[row->to] = env->PySequence_GetItem(x, row->object))) return failed(env);
        } else if (type_of(x) != of->objects[row->object]) {
            int is_one = env->PyObject_IsInstance(x, of->objects[row->object + 1]); /* Kin */
            if (is_one != 1) return is_one < 0 ? failed(env) : SLOW;
        }
    }
    return OK;
}

/* Call a function with `first`, unless it is null, and `second` ahead of the arguments. */
RARE object *forward(environment *env, object *function, object *first, object *second, objects args, i64 given,
                     object *kwnames) {
    i64 total = given + (kwnames ? env->PyTuple_Size(kwnames) : 0);
    object *arguments[total + 2];
    arguments[0] = first, arguments[1] = second;
    for (i64 i = 0; i < total; i++) arguments[i + 2] = args[i];
    return env->PyObject_Vectorcall(function, arguments + !first, given + 1 + !!first, kwnames);
}

RARE object *anew(state *of, const u64 *key, object *held, objects args, i64 given, object *kwnames) {
    environment *env = of->env;
    object *first = key ? env->PyBytes_FromStringAndSize(key, 8 * of->is->words) : env->none;
    if (!first) return 0;
    if (!key) env->Py_IncRef(first);
    object *r = forward(env, of->launch_anew, first, held, args, given, kwnames);
    env->Py_DecRef(first);
    return r;
}

/* Make the parameters that need the outcome: numbers of a dtype variable, and tensor maps. */
RARE int make(call *l, const outcome *v) {
    const u32 *kinds = (u32 *)((char *)v + l->is->kinds);
    for (const number_row *row = l->is->number, *end = row + l->is->numbers; row < end; row++) {
        int status = OK;
        if (row->word && !is_left_out(l, row->given))
            status = number(l, l->slots[row->slot], kinds[row->kind], (u64 *)(l->memory + row->at));
        if (status) return status;
    }
    char *const *cache = (char **)((char *)v + l->is->caches);
    for (u32 i = 0; i < l->is->arrays; i++) {
        const array_row *row = l->is->array + i;
        if (!row->map) continue;
        if (!is_left_out(l, row->given) &&
            tensor_map(l, *cache, tensors_of(l) + i, frame_of(l)[i], (u64 *)(l->memory + row->map)))
            return SLOW;
        cache++;
    }
    return OK;
}

/* The rest of a launch, once the arguments have their slots. */
SMALL int body(call *l, const facts *f, table **used) {
    const signature *is = l->is;
    environment *env = l->env;
    facts own;
    int status = arrays(l);
    if (SELDOM(status)) return status;
    if (SELDOM(l->known.pending) && (status = read_others(l, f))) return status;
    if (f->bits & STREAM)
        l->known.stream = f->stream;
    else if (OFTEN(!l->known.read && l->known.teller) && l->known.teller(2, l->known.device, &l->known.stream))
        return failed(env);
    u64 *key = key_of(l);
    if (SELDOM(is->unusual)) {
        for (u32 i = 0; i < is->givens; i++) flags_of(l)[is->arrays + i] = given_of(l)[i];
        if ((status = constants(l))) return status;
        if (is->strided && unsure_dims(l)) return SLOW;
        if (l->expressions && agree(l)) return SLOW;
    }
    if (SELDOM(status = numbers(l))) return status;
    if (SELDOM(f->bits & BY_DIMS)) {
        own = *f;
        if ((status = grid_of_dims(l, own.grid))) return status == NOTHING ? OK : status;
        f = &own;
    }
    key[0] = f->class;
    key[1] = 0;
    if (SELDOM(env->cuCtxGetId(0, key + 1))) key[1] = 0;
    table *in = SHARED(l->of->outcomes);
    const outcome *v = find(is, in, key);
    if (SELDOM(!v)) return MISSED;
    if (has_lock()) in->users++, *used = in;
    if (is->to_make && SELDOM(status = make(l, v))) return status;
    return submit(l, f, v);
}

/* The builtin that Python calls. `self` is (facts, launch, ...); a general one gets that ahead of the arguments. */
object *launch(object *self, objects args, i64 given, object *kwnames) {
    const facts *f = content(item(self, 0));
    state *of = f->of;
    environment *env = f->env;
    const signature *is = f->is;
    object *held = self, *resolved = 0;
    table *used = 0;
    u64 *place = 0;
    int status = SLOW, fetched = 0;
    if (SELDOM(f->bits & GENERAL)) held = *args++, given--, f = content(item(held, 0));
    char *memory = __builtin_alloca_with_align(is->scratch, 512); /* 64 bytes, in bits */
    object **bound = (object **)(memory + is->bound_at);
    call l = {is, memory, 0, env, of, args, {0, 0, 0, 0, 0, 0}};
    if (SELDOM(*env->diverted)) goto end;
    if (SELDOM(f->bits & (UNRESOLVED | ODD | NO_BLOCKS))) {
        if (f->bits & UNRESOLVED) {
            if (!(resolved = forward(env, of->resolved, 0, held, args, given, kwnames))) {
                status = failed(env);
                goto end;
            }
            f = content(resolved);
        }
        if (f->bits & (ODD | NO_BLOCKS)) {
            status = f->bits & ODD ? SLOW : OK;
            goto end;
        }
    }
    if (SELDOM((u64)given != is->plain || kwnames)) {
        l.slots = bound;
        if (bind(of, env, args, (u64)given, kwnames, bound)) goto end;
    } else if (SELDOM(is->fetches)) {
        l.slots = bound;
        for (u32 i = 0; i < is->count; i++) bound[i] = args[i];
    }
    if (SELDOM(!enter(env, memory, &place)) || SELDOM(!is_unchanged(env, SHARED(of->watch)))) goto end;
    if (SELDOM(is->strided))
        for (u32 d = 0; d < is->dims; d++) unsure_of(&l)[2 * d + 1] = 0;
    if (SELDOM(is->fetches)) {
        fetched = 1;
        if ((status = fetch(of, env, bound, given_of(&l)))) goto end;
    }
    status = body(&l, f, &used);
end:
    if (OFTEN(used)) used->users--;
    leave(place);
    if (SELDOM(fetched))
        for (u32 i = is->count; i < is->slots; i++)
            if (bound[i]) env->Py_DecRef(bound[i]);
    if (SELDOM(l.known.kept)) env->Py_DecRef(l.known.kept);
    if (SELDOM(resolved)) env->Py_DecRef(resolved);
    if (OFTEN(status == OK)) {
        if (SELDOM(env->counts_none)) env->Py_IncRef(env->none);
        return env->none;
    }
    if (status == RAISED) return 0;
    return anew(of, status == MISSED ? key_of(&l) : 0, held, args, given, kwnames);
}

/* kernel[grid, block], found again: subscript.py. `self` is (bytes that are its state, ...). */

typedef struct { u64 words[5]; object *held, *key; u64 pad; } subscript_entry;
typedef struct {
    environment *env; const subscript_entry *entries; /* the first has the mask of their number */
    object *anew; const subscript_entry *recent;
} subscript_state;

/* A grid or block as two words, if it is an int, or one to three of them in a tuple. */
RARE int shape_of(environment *env, object *x, u64 *words) {
    i64 n = 0, extents[3];
    extents[0] = extents[1] = extents[2] = 1;
    if (type_of(x) == env->tuple) {
        n = (i64)count_of(x);
        if (n < 1 || n > 3) return SLOW;
    } else if (type_of(x) != env->int_) {
        return SLOW;
    }
    for (i64 i = 0; i < (n ? n : 1); i++) {
        object *each = n ? item(x, (int)i) : x;
        if (type_of(each) != env->int_ || whole(env, each, 0, 0xffffffffll, extents + i)) return SLOW;
    }
    words[0] = (u64)extents[0] | (u64)extents[1] << 32, words[1] = (u64)extents[2] | (u64)n << 32;
    return OK;
}

RARE const subscript_entry *found(subscript_state *of, object *key) {
    u64 words[5] = {0, 0, 0, 0, 0}, h = 0;
    i64 n = type_of(key) == of->env->tuple ? (i64)count_of(key) : 0;
    if (!n && type_of(key) != of->env->int_) return 0;
    if (n == 1 || n > 3 || shape_of(of->env, n ? item(key, 0) : key, words)) return 0;
    if (n && shape_of(of->env, item(key, 1), words + 2)) return 0;
    if (n == 3) words[4] = (u64)item(key, 2);
    const subscript_entry *in = SHARED(of->entries);
    for (int i = 0; i < 5; i++) h = (h ^ words[i]) * MULTIPLIER, h ^= h >> 29;
    for (;; h++) {
        const subscript_entry *e = in + 1 + (h & in->words[0]);
        if (!e->held) return 0;
        int same = 1;
        for (int i = 0; i < 5; i++) same &= e->words[i] == words[i];
        if (same) return share(&of->recent, e), e;
    }
}

object *subscript(object *self, objects args, i64 given, object *kwnames) {
    subscript_state *of = (subscript_state *)content(item(self, 0));
    u64 *place = 0;
    if (OFTEN(given == 1 && !kwnames) && OFTEN(enter(of->env, __builtin_frame_address(0), &place))) {
        const subscript_entry *e = SHARED(of->recent);
        object *key = *args, *tuple = of->env->tuple;
        if (!(type_of(key) == tuple && type_of(e->key) == tuple && count_of(key) == 2 && count_of(e->key) == 2 && item(key, 0) == item(e->key, 0) &&
              item(key, 1) == item(e->key, 1)))
            e = found(of, key);
        if (OFTEN(e)) {
            object *held = e->held;
            if (has_lock()) ++*(u32 *)held;
            else of->env->Py_IncRef(held);
            leave(place);
            return held;
        }
        leave(place);
    }
    return of->env->PyObject_Vectorcall(of->anew, args, given, kwnames);
}
