"""The front end of audio networks: levels of frequency bands, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import default_dims, row_major
from tigris_pio.compiler.lower.element_types import UINT32
from tigris_pio.compiler.lower.registry import TFLITE, operator
from tigris_pio.compiler.lower.storage import Cell, Numeric
from tigris_pio.format.enums import DType, LevelFunction, OpKind
from tigris_pio.format.params import LevelParams, SpectrumParams

_INT16, _INT8 = Numeric(DType.INT16), Numeric(DType.INT8)
_LOG_SEGMENTS = 128


@operator("SPECTRUM", domain=TFLITE, summary="levels of frequency bands from int16 samples")
def lower_spectrum(builder: Builder, node: Node) -> None:
    """SPECTRUM. Inputs: samples, window, bands and weights as the record has them. Attributes: points, shift."""
    samples, output = node.inputs[0], node.outputs[0]
    window, bands, weights = (builder.graph.weights[name] for name in node.inputs[1:])
    points = int(node.attributes["points"])
    own = builder.numeric(samples)
    stored = own if own.dtype is DType.INT16 else _INT16
    source = builder.value_in_order(samples, row_major(builder.shape(samples)), stored)
    sine = np.floor(32767 * np.sin(2 * np.pi * np.arange(points) / points) + 0.5).astype(np.int16)
    params = SpectrumParams(len(window), points, int(node.attributes["shift"]), len(weights), 0, 0, 0, 0)
    layout = row_major(builder.shape(output))
    builder.emit(OpKind.SPECTRUM, DType.INT16, [(source.storage, None)], output, layout, UINT32,
                 Cell(default_dims(layout.stored_shape)), params,
                 blobs={"window": window, "sine": sine, "bands": bands, "weights": weights},
                 scratch_bytes=4 * (points // 2 + 1))


@operator("NOISE", domain=TFLITE, summary="the mean of levels from run to run")
def lower_noise(builder: Builder, node: Node) -> None:
    """LEVEL of a level and the noise before. Attributes: the record's fields."""
    _emit(builder, node, LevelFunction.NOISE, UINT32, {})


@operator("LOUDER", domain=TFLITE, summary="levels less noise")
def lower_louder(builder: Builder, node: Node) -> None:
    """LEVEL of a level and the noise."""
    _emit(builder, node, LevelFunction.LOUDER, UINT32, {})


@operator("GAIN", domain=TFLITE, summary="levels times a gain that falls with the noise")
def lower_gain(builder: Builder, node: Node) -> None:
    """LEVEL of a level, the noise and the table of gains."""
    _emit(builder, node, LevelFunction.GAIN, UINT32, {"table": builder.graph.weights[node.inputs[2]]})


@operator("LOG_LEVEL", domain=TFLITE, summary="logarithm of levels, to int16, or to int8 by steps")
def lower_log_level(builder: Builder, node: Node) -> None:
    """LEVEL of a level, and the numbers from which on the output is a step higher, if it is int8."""
    fractions = np.arange(_LOG_SEGMENTS + 1) / _LOG_SEGMENTS
    table = np.append(np.floor(65536 * (np.log2(1 + fractions) - fractions) + 0.5), 0).astype(np.uint16)
    if len(node.inputs) == 1:
        _emit(builder, node, LevelFunction.LOG, _INT16, {"table": table})
    else:
        _emit(builder, node, LevelFunction.LOG, _INT8,
              {"table": table, "steps": builder.graph.weights[node.inputs[1]]})


def _emit(builder: Builder, node: Node, function: LevelFunction, numeric: Numeric,
          blobs: Mapping[str, np.ndarray]) -> None:
    output = node.outputs[0]
    layout = row_major(builder.shape(output))
    count = 1 if function is LevelFunction.LOG else 2
    sources = [(builder.value_in_order(name, row_major(builder.shape(name)), UINT32).storage, RowMap.same())
               for name in node.inputs[:count]]
    builder.emit(OpKind.LEVEL, DType.INT32, sources, output, layout, numeric, Cell(default_dims(layout.stored_shape)),
                 LevelParams(function, **node.attributes), blobs=blobs)
