"""Python function -> typed SSA."""
