/* What all kernels share: the rules of cutelite_rt/signature/settled.py in C, over tables that come after. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    int64_t divisible_by, min, max; /* max INT64_MAX: any */
    int wide;                       /* 64 bits in the kernel */
} dim_rule;

typedef struct {
    enum { NUMBER, DIM, EXPRESSION } kind;
    int64_t value; /* the number, or which dim */
    int64_t (*evaluate)(const int64_t *dims);
    const char *text;
    unsigned long long dims; /* a bit for each dim in the expression */
} extent_rule;

typedef struct {
    const char *name, *says, *dtype;
    uint8_t code, bits;
    int modes;
    enum { STRIDES, ROW_MAJOR, COLUMN_MAJOR, NESTED } order;
    const extent_rule *shape, *strides;
    int64_t cosize; /* of nested modes */
    const char *layout;
    int64_t align;
    const uint32_t *box; /* innermost first; NULL: the address itself is passed */
    int map_type, swizzle;
} array_rule;

typedef struct {
    const char *name;
    const dim_rule *dims;
    int dim_count;
    const unsigned char *by_name; /* dims in alphabetical order */
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

typedef struct {
    const array_rule *array;
    const extent_rule *wanted;
    const char *what;
    int64_t found;
    char words[192];
} deferred;

#define MOST_DIMS 64
#define MOST_DEFERRED 64
#define MOST_MODES 32

typedef struct {
    const kernel_rule *kernel;
    int64_t dims[MOST_DIMS], unsure[MOST_DIMS];
    const char *told[MOST_DIMS], *untold[MOST_DIMS]; /* by which argument */
    const char *large; /* an array of more elements than the kernel can count */
    int64_t large_size;
    deferred later[MOST_DEFERRED];
    int later_count;
    const char *first; /* argument that is an array */
    int device;
} call_state;

/* As Python divides. */
static inline int64_t floor_divided(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

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

static const char *tuple_text(const int64_t *numbers, int count, char *text, size_t size) {
    size_t at = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < count && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, i ? ", %lld" : "%lld", (long long)numbers[i]);
    if (at < size) snprintf(text + at, size - at, count == 1 ? ",)" : ")");
    return text;
}

static const char *words_for(const char *what, int mode, const int64_t *found, int count, char *text, size_t size) {
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

static int dim_problem(const dim_rule *dim, int64_t value, char *text, size_t size) {
    const char *n = dim->name;
    if (value % dim->divisible_by)
        return snprintf(text, size, "%s is declared divisible by %lld", n, (long long)dim->divisible_by);
    if (value < 0) return snprintf(text, size, "a dim is never negative: pass a copy");
    if (value < dim->min)
        return snprintf(text, size, "%s is at least %lld; if it can be %lld, declare it cl.Dim('%s', min=%lld)", n,
                        (long long)dim->min, (long long)value, n, (long long)value);
    if (value > dim->max) return snprintf(text, size, "%s is declared at most %lld", n, (long long)dim->max);
    return 0;
}

static int fit_extent(call_state *call, const array_rule *array, const extent_rule *wanted, const int64_t *found,
                      int count, int mode, const char *what, int sure) {
    char words[192], problem[160];
    int64_t value = found[mode];
    const char *kernel = call->kernel->name;
    if (wanted->kind == DIM) {
        int d = (int)wanted->value;
        if (!sure) {
            if (!call->untold[d]) call->untold[d] = array->name, call->unsure[d] = value;
        } else if (!call->told[d]) {
            if (dim_problem(&call->kernel->dims[d], value, problem, sizeof problem))
                return refuse("%s(): argument `%s` has %s, but %s", kernel, array->name,
                              words_for(what, mode, found, count, words, sizeof words), problem);
            call->told[d] = array->name, call->dims[d] = value;
        } else if (call->dims[d] != value) {
            return refuse("%s(): argument `%s` has %s, but %s is %lld, from `%s`", kernel, array->name,
                          words_for(what, mode, found, count, words, sizeof words), call->kernel->dims[d].name,
                          (long long)call->dims[d], call->told[d]);
        }
    } else if (!sure) {
        return 0;
    } else if (wanted->kind == EXPRESSION) {
        deferred *next = &call->later[call->later_count++];
        next->array = array, next->wanted = wanted, next->found = value;
        words_for(what, mode, found, count, next->words, sizeof next->words);
    } else if (wanted->value != value) {
        return refuse("%s(): argument `%s` has %s, but its annotation says %lld", kernel, array->name,
                      words_for(what, mode, found, count, words, sizeof words), (long long)wanted->value);
    }
    return 0;
}

static void compact(const int64_t *shape, int count, int row_major, int64_t *strides) {
    int64_t step = 1;
    for (int i = 0; i < count; i++) {
        int mode = row_major ? count - 1 - i : i;
        strides[mode] = step;
        step *= shape[mode];
    }
}

static int differs(const int64_t *shape, const int64_t *found, const int64_t *wanted, int count) {
    for (int i = 0; i < count; i++)
        if (shape[i] > 1 && found[i] != wanted[i]) return 1;
    return 0;
}

static int fit_layout(call_state *call, const array_rule *array, const cutelite_tensor *tensor,
                      const int64_t *strides, int64_t size) {
    const char *kernel = call->kernel->name;
    int64_t wanted[MOST_MODES];
    char a[128], b[128], c[128];
    if (array->order == NESTED) {
        compact(tensor->shape, tensor->ndim, 1, wanted);
        if (size > 1 && memcmp(strides, wanted, sizeof(int64_t) * (size_t)tensor->ndim))
            return refuse("%s(): argument `%s` must be contiguous to be seen through the layout %s", kernel,
                          array->name, array->layout);
        if (size < array->cosize)
            return refuse("%s(): argument `%s` has %lld elements, but the layout %s reaches %lld", kernel,
                          array->name, (long long)size, array->layout, (long long)array->cosize);
        return 0;
    }
    if (tensor->ndim != array->modes)
        return refuse("%s(): argument `%s` has shape %s, but %s has %d modes", kernel, array->name,
                      tuple_text(tensor->shape, tensor->ndim, a, sizeof a), array->says, array->modes);
    for (int mode = 0; mode < array->modes; mode++) {
        int bad = fit_extent(call, array, &array->shape[mode], tensor->shape, array->modes, mode, "extent", 1);
        if (bad) return bad;
    }
    if (array->order == STRIDES) {
        for (int mode = 0; mode < array->modes; mode++) {
            int sure = tensor->shape[mode] > 1 && size > 0;
            int bad = fit_extent(call, array, &array->strides[mode], strides, array->modes, mode, "stride", sure);
            if (bad) return bad;
        }
        return 0;
    }
    compact(tensor->shape, array->modes, array->order == ROW_MAJOR, wanted);
    if (size && differs(tensor->shape, strides, wanted, array->modes))
        return refuse("%s(): argument `%s` has strides %s for its shape %s, but must be %s, %s; make it contiguous, "
                      "or annotate its strides: Tensor[dtype, shape, strides], with None for any",
                      kernel, array->name, tuple_text(strides, array->modes, a, sizeof a),
                      tuple_text(tensor->shape, array->modes, b, sizeof b),
                      array->order == ROW_MAJOR ? "row-major" : "column-major",
                      tuple_text(wanted, array->modes, c, sizeof c));
    return 0;
}

static int fit_place(call_state *call, const array_rule *array, const cutelite_tensor *tensor) {
    const char *kernel = call->kernel->name;
    if (tensor->device_type != 2 && tensor->device_type != 13) /* kDLCUDA, kDLCUDAManaged */
        return refuse("%s(): argument `%s` is in host memory, and an exported kernel runs on GPUs alone", kernel,
                      array->name);
    if (!call->first) {
        call->first = array->name, call->device = tensor->device_id;
    } else if (call->device != tensor->device_id) {
        return refuse("%s(): argument `%s` is on GPU %d, but `%s` is on GPU %d; move them to one place", kernel,
                      call->first, call->device, array->name, tensor->device_id);
    }
    return 0;
}

/* As `cutelite_rt.gpu.tensormap.check_tensormap`; what the tile alone says has been checked when this was written. */
static int encode_map(call_state *call, const array_rule *array, const cutelite_tensor *tensor, const int64_t *strides,
                      uint64_t address, CUtensorMap *map) {
    const char *kernel = call->kernel->name;
    int rank = tensor->ndim, last = rank - 1, bytes = array->bits / 8;
    cuuint64_t extents[5], steps[5];
    cuuint32_t ones[5] = {1, 1, 1, 1, 1};
#define UNTAKABLE "%s(): argument `%s` cannot be read by TMA: "
    if (address % 16)
        return refuse(UNTAKABLE "the tensor starts at 0x%llx; TMA needs a multiple of 16 bytes [base-alignment]",
                      kernel, array->name, (unsigned long long)address);
    if (strides[last] != 1 && tensor->shape[last] != 1)
        return refuse(UNTAKABLE "the last dimension has stride %lld; TMA needs its elements side by side "
                      "[inner-stride]", kernel, array->name, (long long)strides[last]);
    for (int i = 0; i < rank; i++) {
        int64_t step = strides[i] * bytes;
        if (tensor->shape[i] < 1 || tensor->shape[i] > (int64_t)1 << 32)
            return refuse(UNTAKABLE "dimension %d has %lld elements; TMA takes 1 to 2^32 [extent]", kernel,
                          array->name, i, (long long)tensor->shape[i]);
        if (tensor->shape[i] == 1 || i == last) continue; /* its stride is never used */
        if (step % 16)
            return refuse(UNTAKABLE "dimension %d has a stride of %lld elements, %lld bytes; TMA needs a multiple of "
                          "16 bytes [stride-alignment]", kernel, array->name, i, (long long)strides[i],
                          (long long)step);
        if (step < 0 || step >= (int64_t)1 << 40)
            return refuse(UNTAKABLE "dimension %d has a stride of %lld bytes; TMA takes 0 to 2^40 - 1 [stride-range]",
                          kernel, array->name, i, (long long)step);
    }
    uint64_t most = ((uint64_t)1 << 40) - 32;
    uint64_t within = ((uint64_t)(tensor->shape[last] * bytes) + 31) / 32 * 32;
    for (int i = 0; i < rank; i++) {
        int mode = last - i;
        extents[i] = (cuuint64_t)tensor->shape[mode];
        if (!i) continue;
        /* a dimension of one element may come with any stride; it gets one that the hardware takes */
        steps[i - 1] = tensor->shape[mode] > 1 ? (cuuint64_t)(strides[mode] * bytes) : within;
        uint64_t reach = steps[i - 1] * extents[i];
        within = reach > within ? reach : within;
        within = within < most ? within : most;
    }
    CUresult status = cuTensorMapEncodeTiled(
        map, (CUtensorMapDataType)array->map_type, (cuuint32_t)rank, (void *)(uintptr_t)address, extents, steps,
        array->box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)array->swizzle,
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return status ? failed(kernel, "encoding a tensor map for", status) : 0;
}

/* Fit an array: its address to `pointer`, or its tensor map to `map`. */
static inline int fit_array(call_state *call, const array_rule *array, const cutelite_tensor *tensor, CUdeviceptr *pointer,
                     CUtensorMap *map) {
    const char *kernel = call->kernel->name;
    int64_t own[MOST_MODES], size = 1;
    if (!tensor) return refuse("%s(): argument `%s` must be an array, not NULL", kernel, array->name);
    if (tensor->ndim < 0 || tensor->ndim > MOST_MODES)
        return refuse("%s(): argument `%s` has %d modes", kernel, array->name, tensor->ndim);
    if (tensor->code != array->code || tensor->bits != array->bits || tensor->lanes != 1)
        return refuse("%s(): argument `%s` has DLPack type (%d, %d), but its annotation says %s", kernel, array->name,
                      tensor->code, tensor->bits, array->dtype);
    for (int mode = 0; mode < tensor->ndim; mode++) size *= tensor->shape[mode];
    const int64_t *strides = tensor->strides;
    if (!strides) compact(tensor->shape, tensor->ndim, 1, own), strides = own;
    int bad = fit_layout(call, array, tensor, strides, size);
    bad = bad ? bad : fit_place(call, array, tensor);
    if (bad) return bad;
    uint64_t address = (uint64_t)(uintptr_t)tensor->data + tensor->byte_offset;
    if (array->box) return encode_map(call, array, tensor, strides, address, map);
    if (size > 1073741824 && !call->kernel->wide && !call->large) call->large = array->name, call->large_size = size;
    if (size && address % (uint64_t)array->align)
        return refuse("%s(): argument `%s` is at 0x%llx, but must be at a multiple of %lld bytes", kernel, array->name,
                      (unsigned long long)address, (long long)array->align);
    *pointer = (CUdeviceptr)address;
    return 0;
}

static inline int fit_pointer(const char *kernel, const char *name, CUdeviceptr address, unsigned align) {
    if (address % align)
        return refuse("%s(): argument `%s` is at 0x%llx, but must be at a multiple of %u bytes", kernel, name,
                      (unsigned long long)address, align);
    return 0;
}

/* All arguments are fitted: every dim has its value, and expressions agree. */
static int fit_dims(call_state *call) {
    const kernel_rule *kernel = call->kernel;
    for (int d = 0; d < kernel->dim_count; d++) {
        if (call->told[d]) continue;
        if (!call->untold[d])
            return refuse("%s(): nothing tells %s: no argument has it as an extent or stride of its own", kernel->name,
                          kernel->dims[d].name);
        call->told[d] = call->untold[d], call->dims[d] = call->unsure[d];
    }
    for (int i = 0; i < call->later_count; i++) {
        deferred *later = &call->later[i];
        int64_t expected = later->wanted->evaluate(call->dims);
        char sources[256];
        size_t at = 0;
        if (expected == later->found) continue;
        for (int n = 0; n < kernel->dim_count && at < sizeof sources; n++) {
            int d = kernel->by_name[n];
            if (later->wanted->dims >> d & 1)
                at += (size_t)snprintf(sources + at, sizeof sources - at, "%s%s = %lld from `%s`", at ? ", " : "",
                                       kernel->dims[d].name, (long long)call->dims[d], call->told[d]);
        }
        return refuse("%s(): argument `%s` has %s, but %s is %lld (%s)", kernel->name, later->array->name,
                      later->words, later->wanted->text, (long long)expected, sources);
    }
    for (int d = 0; d < kernel->dim_count; d++)
        if (!kernel->dims[d].wide && call->dims[d] > 2147418112) /* cutelite_rt.signature.settled.WIDEST_I32 */
            return refuse("%s(): argument `%s` makes %s %lld, but the kernel was exported for 32-bit dims: export it "
                          "with wide_dims=True", kernel->name, call->told[d], kernel->dims[d].name,
                          (long long)call->dims[d]);
    if (call->large)
        return refuse("%s(): argument `%s` has %lld elements, but the kernel was exported for 32-bit dims: export it with "
                      "wide_dims=True", kernel->name, call->large, (long long)call->large_size);
    return 0;
}

/* Bits of the nearest value (ties to even) of a float format; as `cutelite_rt.gpu.params.float_code`. -1: out of range */
static inline long float_code(double value, int exponent_bits, int mantissa_bits, int infinite) {
    int bits = exponent_bits + mantissa_bits, exponent;
    long sign = (signbit(value) ? 1L : 0L) << bits, ones = (1L << bits) - 1;
    long beyond = infinite ? ones >> mantissa_bits << mantissa_bits : ones;
    int least = 2 - (1 << (exponent_bits - 1));
    if (isnan(value)) return sign | (infinite ? beyond | 1L << (mantissa_bits - 1) : ones);
    if (isinf(value)) return infinite ? sign | beyond : -1;
    if (value == 0) return sign;
    frexp(value, &exponent);
    exponent = exponent - 1 > least ? exponent - 1 : least;
    long magnitude = (long)nearbyint(ldexp(fabs(value), mantissa_bits - exponent));
    long code = ((long)(exponent - least) << mantissa_bits) + magnitude;
    return code >= beyond ? -1 : sign | code;
}

static inline int fit_float(const char *kernel, const char *name, const char *dtype, double value, int exponent_bits,
                            int mantissa_bits, int infinite, long *code) {
    *code = float_code(value, exponent_bits, mantissa_bits, infinite);
    if (*code >= 0) return 0;
    return refuse("%s(): argument `%s` is %g, which is beyond what %s holds", kernel, name, value, dtype);
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
    CUlaunchAttribute attributes[3];
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
