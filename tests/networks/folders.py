"""Where the networks lie: the project's own in the clone, and in addition those of the folder TIGRIS_MODELS names."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

OWN = Path(__file__).resolve().parents[2] / "networks"
INT8 = ("ad", "kws", "micro_speech", "person_detect", "resnet", "sww", "vww")


@dataclass(frozen=True)
class Network:
    """An int8 network with its recorded vectors."""

    folder: Path
    name: str

    def __str__(self) -> str:
        return self.name if self.folder == OWN else f"given-{self.name}"

    @property
    def path(self) -> Path:
        """The ONNX file."""
        return self.folder / f"{self.name}_int8.onnx"

    def recorded(self) -> list[dict[str, np.ndarray]]:
        """The arrays of its files of vectors."""
        paths = [self.folder / f"{self.name}_{kind}.npz" for kind in ("vectors", "real")]
        return [dict(np.load(path)) for path in paths if path.exists()]


def networks() -> list[Network]:
    """All, the project's own first."""
    found = [Network(OWN, name) for name in INT8]
    if given := os.environ.get("TIGRIS_MODELS"):
        names = sorted(path.name.removesuffix("_int8.onnx") for path in Path(given).glob("*_int8.onnx"))
        if not names:
            raise pytest.UsageError(f"TIGRIS_MODELS: {given} holds no *_int8.onnx; unset it or name another folder")
        found += [Network(Path(given), name) for name in names]
    return found


def pruned(path: Path) -> onnx.ModelProto:
    """The network with the smaller half of each layer's weights made zero: what compression is for."""
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.name.endswith(".weight_q"):
            values = numpy_helper.to_array(tensor)
            kept = np.where(np.abs(values) >= np.median(np.abs(values)), values, 0).astype(np.int8)
            tensor.CopyFrom(numpy_helper.from_array(kept, tensor.name))
    return model
