"""TensorFlow Lite Micro's interpreter, the reference for int8."""

from collections.abc import Sequence

import numpy as np
from tflite_micro.python.tflite_micro import runtime

#: Enough for any network of the tests.
_ARENA = 1 << 22


class Tflm:
    """One loaded model; its variables keep their values between runs."""

    def __init__(self, model: bytes) -> None:
        self._interpreter = runtime.Interpreter.from_bytes(
            model, arena_size=_ARENA, intrepreter_config=runtime.InterpreterConfig.kAllocationRecording)

    def run(self, inputs: Sequence[np.ndarray], outputs: int = 1) -> list[np.ndarray]:
        """The outputs, in the model's order."""
        for index, array in enumerate(inputs):
            self._interpreter.set_input(np.ascontiguousarray(array), index)
        self._interpreter.invoke()
        return [np.array(self._interpreter.get_output(index)) for index in range(outputs)]
