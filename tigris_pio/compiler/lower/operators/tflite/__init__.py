"""Contracts of nodes of domain "tflite": TensorFlow Lite operators whose arithmetic no ONNX operator has."""
