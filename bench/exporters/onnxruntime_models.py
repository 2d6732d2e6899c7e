"""By onnxruntime's quantiser and optimiser, from what torch wrote."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnxruntime import quantization
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from onnxruntime.quantization.shape_inference import quant_pre_process
from recorded import Arrays, Maker, inputs_of, write_all

SOURCES = ("cnn_dynamo", "gru_dynamo", "lstm_legacy", "causal_dynamo", "padded_legacy", "towers_dynamo", "boxes_legacy")
QDQ, QOPERATOR = quantization.QuantFormat.QDQ, quantization.QuantFormat.QOperator
WIDE, NARROW = quantization.QuantType.QInt16, quantization.QuantType.QInt8


class _Samples(quantization.CalibrationDataReader):
    """The recorded input and seven that are moved a little."""

    def __init__(self, arrays: Arrays) -> None:
        random = np.random.default_rng(0)
        self._left = [{name: np.roll(value, step, -1) if value.dtype.kind != "f" else
                       (value + 0.1 * step * random.normal(size=value.shape)).astype(value.dtype)
                       for name, value in arrays.items()} for step in range(8)]  # fmt: skip

    def get_next(self) -> dict[str, np.ndarray] | None:
        return self._left.pop() if self._left else None


def _static(source: Path, target: Path, inputs: Arrays, **options: object) -> None:
    prepared = target.with_suffix(".prepared")
    quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
    quantization.quantize_static(str(prepared), str(target), _Samples(inputs), **options)
    prepared.unlink()


def _dynamic(source: Path, target: Path, _: Arrays) -> None:
    quantization.quantize_dynamic(str(source), str(target))


def _optimised(source: Path, target: Path, _: Arrays) -> None:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def _four_bits(source: Path, target: Path, _: Arrays) -> None:
    quantizer = MatMulNBitsQuantizer(onnx.load(source), block_size=32)
    quantizer.process()
    quantizer.model.save_model_to_file(str(target))


WAYS: dict[str, Callable[[Path, Path, Arrays], None]] = {
    "qdq": lambda *files: _static(*files, quant_format=QDQ, activation_type=NARROW, per_channel=True),
    "qoperator": lambda *files: _static(*files, quant_format=QOPERATOR),
    "a16w8": lambda *files: _static(*files, quant_format=QDQ, activation_type=WIDE, weight_type=NARROW),
    "dynamic": _dynamic,
    "extended": _optimised,
    "nbits": _four_bits,
}


def _maker(source: str, way: str) -> Maker:
    def make(folder: Path) -> Iterator[tuple[Path, Arrays]]:
        path = Path(sys.argv[2]) / f"{source}.onnx"
        inputs = inputs_of(path)
        target = folder / f"{source}_{way}.onnx"
        WAYS[way](path, target, inputs)
        yield target, inputs

    return make


if __name__ == "__main__":
    write_all({f"{source}_{way}": _maker(source, way) for source in SOURCES for way in WAYS
               if way != "nbits" or source in ("causal_dynamo", "towers_dynamo")})
