"""What QuACK and Liger compute the operations of `rows.py` by, on the same inputs."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

EPS = 1e-6
Call = Callable[..., Any]


def quack(name: str) -> Call | None:
    """QuACK's function, or None where it has none."""
    if name == "softmax":
        return found("quack.softmax", "softmax_fwd")
    if name in ("rms_norm", "rms_norm_residual"):
        forward = found("quack.rmsnorm", "rmsnorm_fwd")
        return lambda x, w, r=None: forward(x, w, residual=r, eps=EPS)
    if name == "rms_norm_backward":
        backward = found("quack.rmsnorm", "rmsnorm_bwd")
        return lambda dy, x, w, rstd: backward(x, w, dy, rstd)
    if name == "layer_norm":
        layer = found("quack.rmsnorm", "layernorm_fwd")
        return lambda x, w, b: layer(x, w.float(), eps=1e-5)
    if name == "cross_entropy":
        loss = found("quack.cross_entropy", "cross_entropy_fwd")
        return lambda x, t: loss(x, t)
    if name == "cross_entropy_backward":
        gradient = found("quack.cross_entropy", "cross_entropy_bwd")
        return lambda x, t, lse, g: gradient(x, t, g, lse)
    return found("quack.softmax", "softmax_bwd") if name == "softmax_backward" else None


def liger(name: str) -> Call | None:
    """Liger's function, or None where it has none."""
    if name == "softmax":
        softmax = found("liger_kernel.ops.softmax", "_softmax_forward")
        return lambda x: softmax(x)
    if name == "rms_norm":
        norm = found("liger_kernel.ops.rms_norm", "rms_norm_forward")
        return lambda x, w: norm(x, w, EPS, 0.0, "llama", False)
    if name == "rms_norm_residual":
        added = found("liger_kernel.ops.fused_add_rms_norm", "fused_add_rms_norm_forward")
        return lambda x, w, r: added(x, r, w, EPS, 0.0, "llama")
    if name == "rms_norm_backward":
        backward = found("liger_kernel.ops.rms_norm", "rms_norm_backward")
        settings = found("liger_kernel.ops.utils", "calculate_settings")
        return lambda dy, x, w, rstd: backward(dy, x, w, rstd, 0.0, 0, *settings(x.shape[-1]), False, False)
    if name == "layer_norm":
        layer = found("liger_kernel.ops.layer_norm", "layer_norm_forward")
        return lambda x, w, b: layer(x, w, b, 1e-5)
    if name == "layer_norm_backward":
        gradients = found("liger_kernel.ops.layer_norm", "layer_norm_backward")
        return lambda dy, x, w, mean, rstd: gradients(dy, x, w, w, mean, rstd)
    return found("liger_kernel.ops.swiglu", "swiglu_forward") if name == "swiglu" else None


def found(module: str, name: str) -> Call:
    """A function of a package. Errors: ImportError or AttributeError where it is not there."""
    function: Call = getattr(import_module(module), name)
    return function


RIVALS: dict[str, Callable[[str], Call | None]] = {"quack": quack, "liger": liger}
