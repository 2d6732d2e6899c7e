"""Stage 1: an ONNX file becomes a graph with static shapes, constants and an execution order."""

from tigris_pio.compiler.load.model import load_model

__all__ = ["load_model"]
