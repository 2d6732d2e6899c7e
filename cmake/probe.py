"""Prints where this Python has the model compiler: `found FOLDER` or `lacks PACKAGES`."""

import importlib.util
import os
import sys

sys.path[:] = [path for path in sys.path[1:] if path not in ("", os.getcwd())]
spec = importlib.util.find_spec("tigris_pio")
if spec is None or not spec.origin:
    print("lacks the package tigris-pio")
    sys.exit()
NEEDED = ("click", "flatbuffers", "lz4", "numpy", "onnx", "rich", "tflite")
missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
print("lacks " + ", ".join(missing) if missing else "found " + os.path.dirname(os.path.abspath(spec.origin)))
