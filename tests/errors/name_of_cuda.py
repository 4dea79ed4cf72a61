from cutelite import Tensor, f32, kernel


@kernel
def first_kernel(a: Tensor[f32, (None,)]) -> None:
    a[threadIdx.x] = 0.0


first_kernel.compile(block=128)
