"""Operator contracts, one file for each family. Importing this package imports all, which fills the registry.

int16 holds the arithmetic of int16 activations, tflite the operators of TensorFlow Lite that ONNX lacks. Helpers:
broadcast, calls, compose, fused, kernel_geometry, per_channel, select, sums, vectors and weights.
"""

import importlib
import pkgutil

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
