"""Stage 1: a model file becomes a graph with static shapes, constants and an execution order.

    onnx/      ONNX (protobuf)
    tflite/    TensorFlow Lite (flatbuffers)

Both end in the same graph (ir/graph.py): nothing behind them knows where a model came from. What they share lies here.
"""

from tigris_pio.compiler.load.model import load_model

__all__ = ["load_model"]
