/* A CUDA driver for tests of C stubs: one device, whose launches a callback sees. */
#include <cuda.h>
#include <stdint.h>
#include <string.h>

int fake_major = 9, fake_minor = 0, fake_status = 0;
const void *fake_image;
int fake_smem_attribute, fake_unloaded, fake_pushed;
static CUcontext current = (CUcontext)0x1000;
static void (*on_launch)(const CUlaunchConfig *, void **);

void fake_on_launch(void (*callback)(const CUlaunchConfig *, void **)) { on_launch = callback; }
void fake_current(CUcontext context) { current = context; }

CUresult cuInit(unsigned flags) { return (CUresult)(flags * 0); }
CUresult cuCtxGetCurrent(CUcontext *context) { *context = current; return CUDA_SUCCESS; }
CUresult cuCtxPushCurrent_v2(CUcontext context) { fake_pushed++; (void)context; return CUDA_SUCCESS; }
CUresult cuCtxPopCurrent_v2(CUcontext *context) { fake_pushed--; (void)context; return CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice *device) { *device = 0; return CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice *device, int ordinal) { *device = ordinal; return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) { (void)device; *context = current; return CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    (void)device;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = fake_major; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = fake_minor; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 232448; break;
    default: *value = 49152;
    }
    return CUDA_SUCCESS;
}
int fake_allocated;
CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t size) { *at = 0x7000000; fake_allocated = (int)size; return CUDA_SUCCESS; }
CUresult cuMemFree_v2(CUdeviceptr at) { (void)at; fake_allocated = 0; return CUDA_SUCCESS; }
CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    fake_image = image;
    *module = (CUmodule)0x2000;
    return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) { (void)module; fake_unloaded++; return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    (void)module, (void)name;
    *function = (CUfunction)0x3000;
    return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    (void)function;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) fake_smem_attribute = value;
    return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult status, const char **name) { (void)status; *name = "CUDA_ERROR_FAKE"; return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult status, const char **text) { (void)status; *text = "made up"; return CUDA_SUCCESS; }
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra) {
    (void)function, (void)extra;
    if (!fake_status) on_launch(config, parameters);
    return (CUresult)fake_status;
}
/* Writes what it is given into the map, as 64-bit numbers: type, rank, swizzle, and per dimension extent, box, stride. */
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill) {
    (void)steps, (void)interleave, (void)l2, (void)fill;
    uint64_t said[16] = {(uint64_t)type, rank, (uint64_t)swizzle, (uint64_t)(uintptr_t)address};
    for (cuuint32_t i = 0; i < rank && i < 4; i++) {
        said[4 + 3 * i] = dims[i], said[5 + 3 * i] = box[i];
        if (i) said[6 + 3 * (i - 1)] = strides[i - 1];
    }
    memcpy(map, said, sizeof said);
    return (uintptr_t)map % 64 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
/* The same, with corners, channels and pixels: type, rank, swizzle, address, channels, pixels, extents, corners. */
CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                 const cuuint64_t *dims, const cuuint64_t *strides, const int *lower, const int *upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill) {
    (void)strides, (void)steps, (void)interleave, (void)l2, (void)fill;
    uint64_t said[16] = {(uint64_t)type, rank, (uint64_t)swizzle, (uint64_t)(uintptr_t)address, channels, pixels};
    for (cuuint32_t i = 0; i < rank && i < 5; i++) said[6 + i] = dims[i];
    for (cuuint32_t i = 0; i + 2 < rank && i < 2; i++)
        said[11 + i] = (uint64_t)(int64_t)lower[i], said[13 + i] = (uint64_t)(int64_t)upper[i];
    memcpy(map, said, sizeof said);
    return (uintptr_t)map % 64 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
