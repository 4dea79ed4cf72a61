"""GPU generations: limits, features, PTX version. A leaf: imports nothing of ours."""

from cutelite.target.arch import TARGETS, Target, UnknownTarget

__all__ = ["TARGETS", "Target", "UnknownTarget"]
