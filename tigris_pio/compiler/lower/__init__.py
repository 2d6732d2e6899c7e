"""Lowering: the normalised graph becomes a program, which is kernel calls on [batch, height, width, channels] tensors.

`pipeline.py` calls `lower`; README.md shows the call chain.
"""

from tigris_pio.compiler.lower import operators  # fills the registry
from tigris_pio.compiler.lower.program import lower
from tigris_pio.compiler.lower.registry import supported_operators

__all__ = ["lower", "operators", "supported_operators"]
