/* What all exported kernels share: words for the rules of cutelite_rt/launcher/rules.c, loading, and launching. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
typedef int64_t i64;

typedef struct { /* an argument of our C functions */
    const char *name, *says, *dtype, *layout;
} leaf_words;

typedef struct {
    const char *name;
    int wide; /* 64 bits in the kernel */
} dim_words;

typedef struct {
    const char *name;
    const void *tables; /* begin with `signature` */
    const leaf_words *leaves;
    const dim_words *dims;
    const unsigned char *by_name; /* dims in alphabetical order */
    const char *const *expressions;
    unsigned block[3], cluster[3], cluster_blocks;
    unsigned dynamic_smem, static_smem;
    int wide; /* block indices have 64 bits in the kernel */
} kernel_rule;

typedef struct {
    int number;  /* 90 */
    char suffix; /* 'a', 'f' or 0 */
    int is_ptx;
    const unsigned char *image;
} image_entry;

typedef struct { /* an expression to check once every dim is told: by which array, and its extent or stride */
    const leaf_words *leaf;
    u32 array;
    const void *wanted;
} deferred;

#define MOST_MODES 32
#define SMALL static inline
#ifdef __GNUC__
#define RARE static __attribute__((noinline, unused))
#else
#define RARE static inline
#endif
#define OFTEN(x) (x)
#define SELDOM(x) (x)
#define HOST /* the argument that is looked at, of arrays its number, and who told what */ \
    const kernel_rule *kernel;                                                              \
    const leaf_words *leaf, *first, **told, **unsure;                                       \
    u32 array;                                                                              \
    deferred *later;
@@tables.h@@

/* Words, as cutelite_rt/signature/bind.py has them. */

static _Thread_local char last_error[1024];

static int refuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    return -1;
}

static int failed(const char *kernel, const char *doing, CUresult status) {
    const char *name = "CUDA_ERROR", *words = "";
    cuGetErrorName(status, &name);
    cuGetErrorString(status, &words);
    snprintf(last_error, sizeof last_error, "%s (%d) %s `%s`: %s", name, (int)status, doing, kernel, words);
    return (int)status;
}

static const char *tuple_text(const i64 *numbers, int count, char *text, size_t size) {
    size_t at = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < count && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, i ? ", %lld" : "%lld", (long long)numbers[i]);
    if (at < size) snprintf(text + at, size - at, count == 1 ? ",)" : ")");
    return text;
}

static const char *words_for(const char *what, int mode, const i64 *found, int count, char *text, size_t size) {
    static const char *const ordinals[] = {"first", "second", "third", "fourth", "fifth"};
    char all[128], which[16];
    if (count == 1) {
        snprintf(text, size, "%s %lld", what, (long long)found[0]);
        return text;
    }
    if (mode < 5)
        snprintf(which, sizeof which, "%s", ordinals[mode]);
    else
        snprintf(which, sizeof which, "%dth", mode + 1);
    snprintf(text, size, "%s %lld, the %s of %s", what, (long long)found[mode], which,
             tuple_text(found, count, all, sizeof all));
    return text;
}

static int wrong(const call *l, const char *format, ...) {
    char text[900];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return refuse("%s(): argument `%s` %s", l->kernel->name, l->leaf->name, text);
}

static const array_row *row_of(const call *l) { return l->is->array + l->array; }

/* The extent or stride of an array that a rule is for: "extent 5, the first of (5, 7)". */
static const char *found_words(const call *l, const rule *wanted, char *text, size_t size) {
    const tensor *t = tensors_of(l) + l->array;
    const annotation *is = row_of(l)->is;
    int strides = wanted - is->rules >= (i64)is->rank;
    return words_for(strides ? "stride" : "extent", (int)wanted->mode, strides ? t->strides : t->extents, (int)t->rank,
                     text, size);
}

static int wrong_number(const call *l, const rule *wanted) {
    char words[192];
    return wrong(l, "has %s, but its annotation says %lld", found_words(l, wanted, words, sizeof words),
                 (long long)wanted->value);
}

static int wrong_agreement(const call *l, const rule *wanted) {
    char words[192];
    i64 d = wanted->value;
    return wrong(l, "has %s, but %s is %lld, from `%s`", found_words(l, wanted, words, sizeof words),
                 l->kernel->dims[d].name, (long long)dims_of(l)[d], l->told[d]->name);
}

static int wrong_dim(const call *l, const rule *wanted, i64 value) {
    char words[192], problem[160];
    const dim_row *dim = l->is->dim + wanted->value;
    const char *n = l->kernel->dims[wanted->value].name;
    if (value % dim->divisible_by)
        snprintf(problem, sizeof problem, "%s is declared divisible by %lld", n, (long long)dim->divisible_by);
    else if (value < 0)
        snprintf(problem, sizeof problem, "a dim is never negative: pass a copy");
    else if (value < dim->min)
        snprintf(problem, sizeof problem, "%s is at least %lld; if it can be %lld, declare it cl.Dim('%s', min=%lld)", n,
                 (long long)dim->min, (long long)value, n, (long long)value);
    else
        snprintf(problem, sizeof problem, "%s is declared at most %lld", n, (long long)dim->max);
    return wrong(l, "has %s, but %s", found_words(l, wanted, words, sizeof words), problem);
}

static int wrong_strides(const call *l) {
    const tensor *t = tensors_of(l) + l->array;
    const annotation *is = row_of(l)->is;
    i64 wanted[MOST_MODES], step = 1;
    char a[128], b[128], c[128];
    for (u32 i = 0; i < t->rank; i++) wanted[is->rules[i].mode] = step, step *= t->extents[is->rules[i].mode];
    return wrong(l, "has strides %s for its shape %s, but must be %s, %s; make it contiguous, or annotate its strides: "
                 "Tensor[dtype, shape, strides], with None for any",
                 tuple_text(t->strides, (int)t->rank, a, sizeof a), tuple_text(t->extents, (int)t->rank, b, sizeof b),
                 is->order == ROW_MAJOR ? "row-major" : "column-major", tuple_text(wanted, (int)t->rank, c, sizeof c));
}

static int wrong_nested_strides(const call *l) {
    return wrong(l, "must be contiguous to be seen through the layout %s", l->leaf->layout);
}

static int wrong_nested_size(const call *l, i64 size) {
    return wrong(l, "has %lld elements, but the layout %s reaches %lld", (long long)size, l->leaf->layout,
                 (long long)row_of(l)->is->cosize);
}

static int wrong_rank(const call *l) {
    const tensor *t = tensors_of(l) + l->array;
    char a[128];
    unsigned rank = row_of(l)->is->rank;
    return wrong(l, "has shape %s, but %s has %u mode%s", tuple_text(t->extents, (int)t->rank, a, sizeof a),
                 l->leaf->says, rank, rank == 1 ? "" : "s");
}

static int wrong_dtype(const call *l, u32 dtype) {
    return wrong(l, "has DLPack type (%u, %u), but its annotation says %s", dtype & 255, dtype >> 8 & 255,
                 l->leaf->dtype);
}

static int wrong_place(const call *l, u64 before, u64 here) {
    return refuse("%s(): argument `%s` is on GPU %u, but `%s` is on GPU %u; move them to one place", l->kernel->name,
                  l->first->name, (unsigned)before, l->leaf->name, (unsigned)here);
}

static int wrong_pointer(const call *l, u64 address, u64 align) {
    return wrong(l, "is at 0x%llx, but must be at a multiple of %u bytes", (unsigned long long)address,
                 (unsigned)align);
}

static int wrong_float(const call *l, u64 bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return wrong(l, "is %g, which is beyond what %s holds", value, l->leaf->dtype);
}

static int wrong_result(const call *l) {
    return refuse("%s(): an expression over its dims has no value of 64 bits", l->kernel->name);
}

/* A deferred expression that is not what was found: with every dim in it, and who told that. */
static int wrong_expression(call *l, u32 i, i64 expected) {
    const deferred *later = &l->later[i];
    const rule *wanted = later->wanted;
    char sources[256] = "", words[192];
    size_t at = 0;
    l->leaf = later->leaf, l->array = later->array;
    for (u32 n = 0; n < l->is->dims && at < sizeof sources; n++) {
        int d = l->kernel->by_name[n], inside = 0;
        for (const step *s = l->is->expression[wanted->value]; s->op != END; s++) inside |= s->op == VALUE && s->value == d;
        if (inside)
            at += (size_t)snprintf(sources + at, sizeof sources - at, "%s%s = %lld from `%s`", at ? ", " : "",
                                   l->kernel->dims[d].name, (long long)dims_of(l)[d], l->told[d]->name);
    }
    return wrong(l, "has %s, but %s is %lld (%s)", found_words(l, wanted, words, sizeof words),
                 l->kernel->expressions[wanted->value], (long long)expected, sources);
}

static int wrong_grid(const call *l, u32 axis, i64 blocks) {
    return refuse("%s(): the grid's %c extent is %lld, and a GPU takes 0 to %u", l->kernel->name, "xyz"[axis],
                  (long long)blocks, axis ? 65535u : 0x7fffffffu);
}

#define UNTAKABLE "cannot be accessed by TMA: "

static int wrong_map_address(const call *l, u64 address) {
    return wrong(l, UNTAKABLE "the tensor starts at 0x%llx; TMA needs a multiple of 16 bytes [base-alignment]",
                 (unsigned long long)address);
}

static int wrong_map_inner(const call *l, u64 stride) {
    return wrong(l, UNTAKABLE "the last dimension has stride %lld; TMA needs its elements side by side [inner-stride]",
                 (long long)stride);
}

static int wrong_map_extent(const call *l, u32 mode) {
    return wrong(l, UNTAKABLE "dimension %u has %lld elements; TMA takes 1 to 2^32 [extent]", mode,
                 (long long)(tensors_of(l) + l->array)->extents[mode]);
}

static int wrong_map_stride(const call *l, u32 mode) {
    i64 stride = (tensors_of(l) + l->array)->strides[mode], bytes = stride * row_of(l)->is->bytes;
    if (bytes % 16)
        return wrong(l, UNTAKABLE "dimension %u has a stride of %lld elements, %lld bytes; TMA needs a multiple of 16 "
                     "bytes [stride-alignment]", mode, (long long)stride, (long long)bytes);
    return wrong(l, UNTAKABLE "dimension %u has a stride of %lld bytes; TMA takes 0 to 2^40 - 1 [stride-range]", mode,
                 (long long)bytes);
}

static void note_dim(call *l, u64 d) { l->told[d] = l->leaf; }
static void note_unsure(call *l, u64 d) { l->unsure[d] = l->leaf; }
static void note_later(call *l, const rule *wanted) {
    deferred *next = &l->later[l->expressions];
    next->leaf = l->leaf, next->array = l->array, next->wanted = wanted;
}

static int encoded(const call *l, CUresult status) {
    return status ? failed(l->kernel->name, "encoding a tensor map for", status) : 0;
}

#define MAP_OF (CUtensorMapDataType)form->dtype, form->rank, (void *)(uintptr_t)address, (const cuuint64_t *)sizes, \
               (const cuuint64_t *)jumps
#define MAP_SETTINGS CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)form->swizzle, \
                     CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
#define ENCODE_TILED(l, out, form, address, sizes, jumps, steps) \
    encoded(l, cuTensorMapEncodeTiled(out, MAP_OF, form->box, steps, MAP_SETTINGS))
#define ENCODE_IM2COL(l, out, form, address, sizes, jumps, steps) \
    encoded(l, cuTensorMapEncodeIm2col(out, MAP_OF, form->lower, form->upper, form->box[0], form->box[1], steps, \
                                       MAP_SETTINGS))

typedef struct { /* of a tensor map, and which argument it is of */
    u32 leaf;
    map_form form;
} leaf_map;

#define WRONG(what, ...) wrong_##what(__VA_ARGS__)
#define NOTE(what, ...) note_##what(__VA_ARGS__)
#define NOT_MINE(condition) 0
@@rules.c@@

/* Arguments, each with its words: `leaf` is the number of it, `i` that of it among arrays. */

static inline int fit_array(call *l, u32 leaf, u32 i, const cutelite_tensor *from, i64 *own) {
    tensor *t = tensors_of(l) + i;
    l->leaf = l->kernel->leaves + leaf, l->array = i;
    if (!i) l->first = l->leaf, key_of(l)[2] = ~(u64)0;
    if (!from) return wrong(l, "must be an array, not NULL");
    if (from->ndim < 0 || from->ndim > MOST_MODES) return wrong(l, "has %d modes", from->ndim);
    if (from->device_type != 2 && from->device_type != 13) /* kDLCUDA, kDLCUDAManaged */
        return wrong(l, "is in host memory, and an exported kernel runs on GPUs alone");
    t->rank = (u32)from->ndim, t->extents = from->shape, t->strides = from->strides;
    if (!t->strides) { /* row-major without gaps */
        i64 step = 1;
        for (u32 mode = t->rank; mode--; step *= t->extents[mode]) own[mode] = step;
        t->strides = own;
    }
    seen s = {(u64)(uintptr_t)from->data + from->byte_offset, (u32)from->device_id, t->rank,
              from->code | (u32)from->bits << 8 | (u32)from->lanes << 16, t->extents, t->strides};
    u8 *large = (u8 *)key_of(l) + l->is->large_at + i;
    int bad = check_array(l, row_of(l), &s, key_of(l) + 2, dims_of(l), told_of(l), flags_of(l) + i, large,
                          frame_of(l) + i);
    if (!bad && *large && !row_of(l)->map && !l->kernel->wide) {
        i64 size = 1;
        for (u32 mode = 0; mode < t->rank; mode++) size *= t->extents[mode];
        return wrong(l, "has %lld elements, but the kernel was exported for 32-bit dims: export it with wide_dims=True",
                     (long long)size);
    }
    return bad ? -1 : 0;
}

static inline int fit_number(call *l, u32 leaf, u32 kind, double value, void *out) {
    u64 bits;
    memcpy(&bits, &value, sizeof bits);
    l->leaf = l->kernel->leaves + leaf;
    if (fit_float(l, bits, kind, &bits)) return -1;
    memcpy(out, &bits, sizeof bits);
    return 0;
}

static inline int fit_pointer(call *l, u32 leaf, u32 kind, u64 address, void *out) {
    l->leaf = l->kernel->leaves + leaf;
    memcpy(out, &address, sizeof address);
    return fit_address(l, address, kind) ? -1 : 0;
}

/* All arguments are fitted: every dim has its value, expressions agree, tensor maps are encoded. */
static inline int fit_dims(call *l, const leaf_map *maps) {
    const kernel_rule *kernel = l->kernel;
    if (unsure_dims(l)) return -1;
    for (u32 d = 0; d < l->is->dims; d++) {
        if (!told_of(l)[2 * d])
            return refuse("%s(): nothing tells %s: no argument has it as an extent or stride of its own", kernel->name,
                          kernel->dims[d].name);
        if (!l->told[d]) l->told[d] = l->unsure[d];
    }
    if (agree(l)) return -1;
    for (u32 d = 0; d < l->is->dims; d++)
        if (told_of(l)[2 * d + 1] && !kernel->dims[d].wide) {
            l->leaf = l->told[d];
            return wrong(l, "makes %s %lld, but the kernel was exported for 32-bit dims: export it with wide_dims=True",
                         kernel->dims[d].name, (long long)dims_of(l)[d]);
        }
    for (l->array = 0; l->array < l->is->arrays; l->array++) {
        u32 at = row_of(l)->map;
        if (!at) continue;
        l->leaf = kernel->leaves + maps->leaf;
        int bad = encode(l, &maps++->form, tensors_of(l) + l->array, frame_of(l)[l->array], l->memory + at);
        if (bad) return bad;
    }
    return 0;
}

/* Loading. */

struct cutelite_loaded {
    CUcontext context;
    CUmodule module;
    CUfunction function;
    int allowed_smem, most_smem;
};

static int runs_on(const image_entry *entry, int major, int minor) {
    int own_major = entry->number / 10, own_minor = entry->number % 10;
    if (entry->suffix == 'a') return own_major == major && own_minor == minor;
    if (entry->is_ptx && !entry->suffix) return own_major < major || (own_major == major && own_minor <= minor);
    return own_major == major && own_minor <= minor;
}

static const image_entry *choose(const image_entry *entries, int count, int major, int minor) {
    const image_entry *best = NULL; /* entries come worst first, PTX before cubins */
    for (int i = 0; i < count; i++)
        if (runs_on(&entries[i], major, minor)) best = &entries[i];
    return best;
}

static int load(const kernel_rule *kernel, const image_entry *entries, int count, struct cutelite_loaded **result) {
    CUdevice device;
    int major = 0, minor = 0;
    CUresult status = CUDA_SUCCESS;
    struct cutelite_loaded *made = calloc(1, sizeof *made);
    if (!made) return refuse("%s: out of memory", kernel->name);
#define STEP(what) if (!status) status = (what)
    STEP(cuCtxGetCurrent(&made->context));
    STEP(cuCtxGetDevice(&device));
    STEP(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    STEP(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    STEP(cuDeviceGetAttribute(&made->most_smem, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device));
    STEP(cuDeviceGetAttribute(&made->allowed_smem, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, device));
    const image_entry *entry = status ? NULL : choose(entries, count, major, minor);
    if (!status && !entry) {
        free(made);
        refuse("loading `%s`: it was exported for other GPUs than sm_%d%d", kernel->name, major, minor);
        return (int)CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    STEP(cuModuleLoadData(&made->module, entry->image));
    STEP(cuModuleGetFunction(&made->function, made->module, kernel->name));
    if (kernel->cluster_blocks > 8)
        STEP(cuFuncSetAttribute(made->function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    if (status) {
        int said = failed(kernel->name, "loading", status);
        if (made->module) cuModuleUnload(made->module);
        free(made);
        return said;
    }
    made->allowed_smem -= (int)kernel->static_smem;
    *result = made;
    return 0;
}

static void unload(struct cutelite_loaded *loaded) {
    if (!loaded) return;
    if (cuCtxPushCurrent(loaded->context) == CUDA_SUCCESS) {
        cuModuleUnload(loaded->module);
        cuCtxPopCurrent(NULL);
    }
    free(loaded);
}

static CUresult launch_here(const kernel_rule *kernel, struct cutelite_loaded *loaded, const cutelite_launch *launch,
                            unsigned smem, void **parameters) {
    CUlaunchAttribute attributes[3 + 8];
    CUlaunchConfig config;
    memset(&config, 0, sizeof config);
    memset(attributes, 0, sizeof attributes);
    config.gridDimX = launch->grid[0], config.gridDimY = launch->grid[1], config.gridDimZ = launch->grid[2];
    config.blockDimX = kernel->block[0], config.blockDimY = kernel->block[1], config.blockDimZ = kernel->block[2];
    config.sharedMemBytes = smem;
    config.hStream = launch->stream;
    config.attrs = attributes;
    if (kernel->cluster_blocks) {
        CUlaunchAttribute *next = &attributes[config.numAttrs++];
        next->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        next->value.clusterDim.x = kernel->cluster[0];
        next->value.clusterDim.y = kernel->cluster[1];
        next->value.clusterDim.z = kernel->cluster[2];
    }
    if (launch->cooperative) {
        attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attributes[config.numAttrs++].value.cooperative = 1;
    }
    if (launch->pdl) {
        attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attributes[config.numAttrs++].value.programmaticStreamSerializationAllowed = 1;
    }
    for (unsigned i = 0; i < launch->attribute_count; i++) attributes[config.numAttrs++] = launch->attributes[i];
    if ((int)smem > loaded->allowed_smem) {
        CUresult status =
            cuFuncSetAttribute(loaded->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)smem);
        if (status) return status;
        loaded->allowed_smem = (int)smem;
    }
    return cuLaunchKernelEx(&config, loaded->function, parameters, NULL);
}

static int launch_kernel(const kernel_rule *kernel, struct cutelite_loaded *loaded, const cutelite_launch *launch,
                         void **parameters) {
    CUcontext current = NULL;
    if (launch->attribute_count > 8) return refuse("%s: %u launch attributes; 8 are taken", kernel->name, launch->attribute_count);
    if (!launch->grid[0] || !launch->grid[1] || !launch->grid[2]) return 0;
    for (int i = 0; i < 3; i++)
        if (!kernel->wide && (int64_t)launch->grid[i] * (int64_t)kernel->block[i] > 1073741824)
            return refuse("%s: the grid's %c extent is %u, in blocks of %u threads along it: the kernel was exported for "
                          "32-bit dims: export it with wide_dims=True", kernel->name, "xyz"[i], launch->grid[i],
                          kernel->block[i]);
    for (int i = 0; i < 3; i++)
        if (kernel->cluster_blocks && launch->grid[i] % kernel->cluster[i])
            return refuse("%s: the grid's %c extent %u is no multiple of the cluster's, %u", kernel->name, "xyz"[i],
                          launch->grid[i], kernel->cluster[i]);
    uint64_t smem = (uint64_t)launch->smem + kernel->dynamic_smem;
    if (smem + kernel->static_smem > (uint64_t)loaded->most_smem)
        return refuse("%s: a block needs %u bytes of shared memory and %u are asked for on top; this GPU has %d",
                      kernel->name, kernel->dynamic_smem + kernel->static_smem, launch->smem, loaded->most_smem);
    CUresult status = cuCtxGetCurrent(&current);
    int elsewhere = current != loaded->context;
    if (!status && elsewhere) status = cuCtxPushCurrent(loaded->context);
    if (!status) {
        status = launch_here(kernel, loaded, launch, (unsigned)smem, parameters);
        if (elsewhere) cuCtxPopCurrent(NULL);
    }
    return status ? failed(kernel->name, "launching", status) : 0;
}
