"""Kernels in files: bundles, launching from them, and C that does so."""
