"""Contracts of nodes of domain "tflite": TensorFlow Lite operators whose arithmetic no ONNX operator has."""

from tigris_pio.compiler.lower.operators.tflite import (
    arithmetic,
    comparison,
    functions,
    levels,
    log_softmax,
    lstm,
    quantize,
    sums,
    svdf,
)

__all__ = ["arithmetic", "comparison", "functions", "levels", "log_softmax", "lstm", "quantize", "sums", "svdf"]
