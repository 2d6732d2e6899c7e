"""Releases of kernel libraries, held to the bytes of the portable kernels."""
