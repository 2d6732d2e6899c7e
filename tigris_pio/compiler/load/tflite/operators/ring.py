"""CIRCULAR_BUFFER: a state with the newest rows of its input, one more in each run."""

from __future__ import annotations

from tigris_pio.compiler.load.tflite.custom import number
from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler

#: Buffers of so many rows run in each run of the model, unless their options give a number of cycles
#: (micro/kernels/circular_buffer_common.cc).
_EACH_RUN = (5, 13, 25)


@handler("CIRCULAR_BUFFER", summary="TensorFlow Lite Micro's custom operator: int8, one row a run")
def read_circular_buffer(layer: Layer) -> None:
    """A state that drops its oldest row and appends the input."""
    output = layer.output_like()
    shape, rows = output.shape, layer.shape(0)
    if len(shape) != 4 or len(rows) != 4 or (*rows[:1], *rows[2:]) != (*shape[:1], *shape[2:]) or rows[1] != 1:
        raise layer.fault(f"rows of {list(rows)} for a buffer of {list(shape)}")
    if layer.declared(0).type != "int8" or layer.quantisation(0) != output.quantisation or shape[0] != 1:
        raise Unsupported(f"{layer.declared(0).type} of {shape[0]} sequences; only one sequence of int8 with one scale "
                          "is supported")
    cycles = int(number(layer, "cycles_max", 0.0))
    if cycles <= 0:
        cycles = 1 if shape[1] in _EACH_RUN else 2
    if cycles != 1:
        raise Unsupported(f"it skips the rest of the model in all but one of {cycles} runs; make the rest a model of "
                          "its own")
    network, variables, tensor = layer.network, layer.scope.variables, layer.output()
    key = (layer.scope.prefix, "ring", tensor.index)
    variables.declare(key, f"{layer.name}/ring")
    held = variables.read(key, output)
    limits = [layer.numbers(values) for values in ([1], [shape[1]], [2], [1])]
    kept = (shape[0], shape[3], shape[1] - 1, shape[2])
    parts = [layer.image(0)]
    if shape[1] > 1:
        parts.insert(0, layer.part("Slice", [network.image(held), *limits], kept))
    layer.write("Concat", parts, shape, {"axis": 2}, image=True)
    variables.assign(key, layer.scope.names[tensor.index])
