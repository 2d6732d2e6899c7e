"""Loading: a model file becomes a graph (ir/graph.py) with static shapes, constants and an execution order.

    model.py          load_model(): chooses the front end
    onnx/             the front end for ONNX files (protobuf)
    tflite/           the front end for TensorFlow Lite files (flatbuffers)
    dimensions.py     free dimensions get their sizes
    fixed_values.py   the values of inputs that the user sets
    states.py         outputs that the user ties to inputs
    consistency.py    checks of sizes and shapes
    describe.py       a model's contents, for `tigris inspect`
"""

from tigris_pio.compiler.load.model import load_model

__all__ = ["load_model"]
