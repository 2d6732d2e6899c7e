"""By ai-edge-quantizer, from what Keras wrote."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from ai_edge_quantizer import quantizer, recipe
from recorded import Arrays, Maker, as_taken, inputs_of, write_all

SOURCES = ("cnn", "dense_rank_3", "transformer", "lstm_unrolled", "norms", "upsampling")
WAYS = ("static_wi8_ai8", "static_wi8_ai16", "dynamic_wi8_afp32", "weight_only_wi8_afp32", "weight_only_wi4_afp32")


def _maker(source: str, way: str) -> Maker:
    def make(folder: Path) -> Iterator[tuple[Path, Arrays]]:
        path = Path(sys.argv[2]) / f"{source}_export.tflite"
        inputs = inputs_of(path)
        work: Any = quantizer.Quantizer(str(path), getattr(recipe, way)())
        calibration = None
        if way.startswith("static"):
            random = np.random.default_rng(0)
            samples = [{name: (value + random.normal(size=value.shape)).astype(np.float32)
                        for name, value in inputs.items()} for _ in range(8)]  # fmt: skip
            (signature,) = Interpreter(str(path)).get_signature_list()
            calibration = work.calibrate({signature: samples})
        target = folder / f"{source}_{way}.tflite"
        target.unlink(missing_ok=True)
        work.quantize(calibration).export_model(str(target))
        yield target, as_taken(target, inputs)

    return make


if __name__ == "__main__":
    write_all({f"{source}_{way}": _maker(source, way) for source in SOURCES for way in WAYS})
