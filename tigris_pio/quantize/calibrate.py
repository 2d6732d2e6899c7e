"""Finds the range of every tensor of a float model over samples, by onnxruntime's calibrators."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import onnx

from tigris_pio.errors import ModelError
from tigris_pio.quantize.build import quantised_kinds
from tigris_pio.quantize.library import quantization, quiet
from tigris_pio.quantize.prepare import Prepared
from tigris_pio.quantize.samples import Sample

#: Name of --calibration to onnxruntime's name.
METHODS = {"minmax": "MinMax", "percentile": "Percentile", "entropy": "Entropy"}
#: Samples per batch of the calibrators that count values, which keep every tensor of a batch.
_AT_ONCE = 8

#: Progress callback: current step, number done, total.
Steps = Callable[[str, int, int], None]


class _Reader:
    """Samples with the interface of onnxruntime's calibrators."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._samples = iter(samples)

    def get_next(self) -> Sample | None:
        """The next sample, or None at the end."""
        return next(self._samples, None)


def find_ranges(prepared: Prepared, samples: Sequence[Sample], method: str, percentile: float | None,
                steps: Steps) -> Any:
    """onnxruntime's TensorsData: lowest and highest value of each tensor by `method`, a key of METHODS."""
    library = quantization()
    settings: dict[str, Any] = {"symmetric": False}
    if method == "percentile" and percentile is not None:
        settings = {**settings, "percentile": percentile}
    with quiet(prepared.label, "calibrating"), tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "float.onnx"
        onnx.save(prepared.model, path)
        calibrator = library.create_calibrator(
            path, sorted(quantised_kinds(prepared.model)), str(Path(folder) / "augmented.onnx"),
            library.CalibrationMethod[METHODS[method]], extra_options=settings,
        )  # fmt: skip
        try:
            for begin in range(0, len(samples), _AT_ONCE):
                steps("calibrating", begin, len(samples))
                calibrator.collect_data(_Reader(samples[begin : begin + _AT_ONCE]))
            steps("calibrating", len(samples), len(samples))
            return calibrator.compute_data()
        except ValueError as error:
            if method == "minmax":
                raise
            raise ModelError(f"{prepared.label}: a tensor has infinite values, or values too far from each other to "
                             f"be counted ({error}); use --calibration minmax") from error
