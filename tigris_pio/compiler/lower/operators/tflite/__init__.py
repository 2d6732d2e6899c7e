"""Operators of TensorFlow Lite whose arithmetic is that of no ONNX operator: nodes of domain "tflite"."""

from tigris_pio.compiler.lower.operators.tflite import arithmetic, functions, lstm, quantize, svdf

__all__ = ["arithmetic", "functions", "lstm", "quantize", "svdf"]
