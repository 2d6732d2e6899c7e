"""Lowering: the normalised graph becomes a program of kernel calls on channels-last tensors."""

from tigris_pio.compiler.lower.program import lower
from tigris_pio.compiler.lower.registry import supported_operators

__all__ = ["lower", "supported_operators"]
