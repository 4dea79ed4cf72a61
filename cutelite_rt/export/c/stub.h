#ifndef CUTELITE_STUB_H
#define CUTELITE_STUB_H
#include <cuda.h>
#include <stdint.h>

/* An array, laid out as DLPack's DLTensor is: a pointer to one of those may be cast to a pointer to this. */
typedef struct {
    void *data; /* device address */
    int32_t device_type, device_id; /* 2: CUDA */
    int32_t ndim;
    uint8_t code, bits; /* DLPack's type code: 0 int, 1 uint, 2 float, 4 bfloat, 6 bool, 10 e4m3, 12 e5m2 */
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: row-major without gaps */
    uint64_t byte_offset;
} cutelite_tensor;

/* Everything about a launch but the arguments. A grid with a 0 in it launches nothing. */
typedef struct {
    unsigned grid[3];
    unsigned smem; /* bytes of dynamic shared memory on top of what the kernel declares */
    CUstream stream;
    int cooperative; /* all blocks are resident at once */
    int pdl;         /* may start before the kernel ahead of it in the stream ends */
    unsigned attribute_count;
    const CUlaunchAttribute *attributes; /* further ones: priority, memory domain, carve-out, events; at most 8 */
} cutelite_launch;

#endif
