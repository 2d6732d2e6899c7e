"""Operators of TensorFlow Lite whose arithmetic is that of no ONNX operator: nodes of domain "tflite"."""

from tigris_pio.compiler.lower.operators.tflite import (
    arithmetic,
    comparison,
    functions,
    log_softmax,
    lstm,
    quantize,
    sums,
    svdf,
)

__all__ = ["arithmetic", "comparison", "functions", "log_softmax", "lstm", "quantize", "sums", "svdf"]
