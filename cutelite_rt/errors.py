"""Errors before a kernel is launched, of the compiler's launches and those of exported kernels alike."""

from __future__ import annotations


class ArgumentError(TypeError):
    """An argument does not fit its parameter: the kernel, the parameter, what was expected and what came."""


class LaunchError(ValueError):
    """A launch that cannot be: what was asked for, and what the limit is."""
