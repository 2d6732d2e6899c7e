"""Comparison of a compiled model with onnxruntime, layer by layer."""
