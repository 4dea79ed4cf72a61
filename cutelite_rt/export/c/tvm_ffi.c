#ifdef CUTELITE_TVM_FFI
/* The kernel as a function of TVM-FFI, for which its headers are needed, and its library at run time. */
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#define TVM_DEVICES 64
#define ARRAY (-1)

typedef struct {
    int kind; /* of a number, as the tables have it; or ARRAY */
    const char *name, *dtype;
} tvm_argument;

static const cutelite_tensor *tvm_tensor(const TVMFFIAny *any) {
    if (any->type_index == kTVMFFIDLTensorPtr) return any->v_ptr;
    if (any->type_index != kTVMFFITensor) return NULL;
    return (const cutelite_tensor *)((const char *)any->v_obj + sizeof(TVMFFIObject));
}

static inline double tvm_float(const TVMFFIAny *any) {
    return any->type_index == kTVMFFIFloat ? any->v_float64 : (double)any->v_int64;
}

static int tvm_raise(const char *kind) {
    TVMFFIErrorSetRaisedFromCStr(kind, last_error);
    return -1;
}

static int tvm_misfit(const kernel_rule *kernel, const tvm_argument *wanted, const TVMFFIAny *any) {
    int type = any->type_index;
    int kind = wanted->kind, whole = (kind > BOOL && kind <= U64) || kind >= POINTER;
    if (kind == ARRAY)
        return tvm_tensor(any) ? 0 : refuse("%s(): argument `%s` must be a tensor", kernel->name, wanted->name);
    if (kind == BOOL ? type != kTVMFFIBool : type != kTVMFFIInt && type != (whole ? kTVMFFIBool : kTVMFFIFloat))
        return refuse("%s(): argument `%s` must be a number of dtype %s", kernel->name, wanted->name, wanted->dtype);
    u32 integer = kind >= POINTER ? U64 : (u32)kind;
    i64 value = any->v_int64;
    if (whole && (value < low_of(integer) || value > high_of(integer)))
        return refuse("%s(): argument `%s` is %lld, but %s holds %lld to %llu", kernel->name, wanted->name,
                      (long long)value, wanted->dtype, (long long)low_of(integer),
                      integer == U64 ? ~0ull : (unsigned long long)high_of(integer));
    return 0;
}

/* Arguments of the right kinds; the device, stream, and grid and shared memory where `settings` of them come first. */
static int tvm_begin(const kernel_rule *kernel, const tvm_argument *wanted, int wanted_count, const TVMFFIAny *args,
                     int32_t count, int settings, cutelite_launch *launch, int *device) {
    unsigned *places[] = {&launch->grid[0], &launch->grid[1], &launch->grid[2], &launch->smem};
    if (count != settings + wanted_count)
        return refuse("%s() takes %s%d arguments, but %d were given", kernel->name,
                      settings ? "grid x, y, z, bytes of shared memory and " : "", wanted_count, (int)count);
    for (int i = 0; i < settings; i++) {
        if (args[i].type_index != kTVMFFIInt || args[i].v_int64 < 0 || args[i].v_int64 > INT32_MAX)
            return refuse("%s: the grid and the dynamic shared memory take whole numbers from 0", kernel->name);
        *places[i] = (unsigned)args[i].v_int64;
    }
    *device = 0;
    for (int i = wanted_count; i--;) {
        const TVMFFIAny *any = &args[settings + i];
        if (tvm_misfit(kernel, &wanted[i], any)) return -1;
        if (wanted[i].kind == ARRAY) *device = tvm_tensor(any)->device_id;
    }
    if (*device < 0 || *device >= TVM_DEVICES) return refuse("%s: there is no GPU %d", kernel->name, *device);
    launch->stream = (CUstream)TVMFFIEnvGetStream(2, *device);
    return 0;
}

/* The kernel in the primary context of a device. Threads that come first together may load it twice: one is kept. */
static int tvm_load(const kernel_rule *kernel, const image_entry *entries, int count, int device,
                    struct cutelite_loaded **slot) {
    CUdevice handle;
    CUcontext context;
    struct cutelite_loaded *made;
    if (*slot) return 0;
    CUresult status = cuInit(0);
    STEP(cuDeviceGet(&handle, device));
    STEP(cuDevicePrimaryCtxRetain(&context, handle));
    STEP(cuCtxPushCurrent(context));
    if (status) return failed(kernel->name, "loading", status);
    int bad = load(kernel, entries, count, &made);
    cuCtxPopCurrent(NULL);
    if (!bad) *slot = made;
    return bad;
}
#endif
