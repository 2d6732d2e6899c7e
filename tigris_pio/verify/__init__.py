"""Compares a compiled model with a reference, layer by layer; `tigris verify` calls it.

- `compare` judges an ONNX model's layers and outputs; it also makes random inputs and reads samples
- `reference` runs the model in onnxruntime
- `own_inputs` measures each layer on the plan's own values
- `tflite` compares with TensorFlow Lite Micro's interpreter
- `hop` compares runs on overlapping windows with runs on whole ones
- `traces` records what each operator of the plan wrote
"""
