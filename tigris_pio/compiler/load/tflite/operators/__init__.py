"""How operators are read, one file a family. Importing this package fills the registry."""

from tigris_pio.compiler.load.tflite.operators import (
    activation,
    arithmetic,
    blocks,
    control,
    convolution,
    filling,
    fully_connected,
    joining,
    pooling,
    quantising,
    recurrent,
    reduction,
    reshaping,
    resizing,
    selecting,
    svdf,
)

__all__ = [
    "activation",
    "arithmetic",
    "blocks",
    "control",
    "convolution",
    "filling",
    "fully_connected",
    "joining",
    "pooling",
    "quantising",
    "recurrent",
    "reduction",
    "reshaping",
    "resizing",
    "selecting",
    "svdf",
]
