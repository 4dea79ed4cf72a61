"""cuDNN's attention in fp8, which torch does not offer: by its own frontend, `pip install nvidia-cudnn-frontend`.

In    q, k, v in e4m3, (B, S, H, D) of torch, on a GPU
Out   the same in e4m3, all scales being 1
"""

from typing import Any

import cudnn  # type: ignore[import-not-found]
import torch


def attention(arrays: list[Any], causal: bool) -> Any:
    """Return a function of q, k and v like these `arrays` that computes their attention into one output."""
    (q, _, v), handle = arrays, cudnn.create_handle()
    kind, scalar = cudnn.data_type, {"dim": [1, 1, 1, 1], "stride": [1, 1, 1, 1]}
    graph = cudnn.pygraph(
        io_data_type=kind.FP8_E4M3, intermediate_data_type=kind.FLOAT, compute_data_type=kind.FLOAT, handle=handle
    )
    given = [
        graph.tensor(dim=list(x.shape), stride=list(x.stride()), data_type=kind.FP8_E4M3)
        for x in (y.transpose(1, 2) for y in arrays)
    ]
    names = "descale_q", "descale_k", "descale_v", "descale_s", "scale_s", "scale_o"
    scales = {name: graph.tensor(**scalar, data_type=kind.FLOAT) for name in names}
    how = {"is_inference": True, "attn_scale": q.shape[-1] ** -0.5, "use_causal_mask": causal}
    o, _, *greatest = graph.sdpa_fp8(**dict(zip("qkv", given, strict=True)), **scales, **how)
    out = torch.empty(*q.shape[:3], v.shape[3], device=q.device, dtype=q.dtype)
    by_head = out.transpose(1, 2)
    o.set_output(True).set_dim(list(by_head.shape)).set_stride(list(by_head.stride())).set_data_type(kind.FP8_E4M3)
    for x in greatest:
        x.set_output(True).set_dim(scalar["dim"]).set_stride(scalar["stride"]).set_data_type(kind.FLOAT)
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    graph.check_support()
    graph.build_plans()
    one = torch.ones(1, 1, 1, 1, device=q.device)
    held = {o: by_head, **{x: torch.empty_like(one) for x in greatest}, **dict.fromkeys(scales.values(), one)}
    work = torch.empty(max(1, graph.get_workspace_size()), device=q.device, dtype=torch.uint8)

    def call(*given_now: Any) -> Any:
        cudnn.set_stream(handle=handle, stream=torch.cuda.current_stream().cuda_stream)
        graph.execute(held | dict(zip(given, (x.transpose(1, 2) for x in given_now), strict=True)), work, handle=handle)
        return out

    return call
