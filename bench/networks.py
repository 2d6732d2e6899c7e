"""The networks that the bench measures, and their plans at budgets."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from bench.emulator import NETWORKS, BenchError, samples
from bench.zoo import ZOO
from tigris_pio import Session, compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import BudgetError

Model = Path | onnx.ModelProto
SLOW = "1M"  #: given where a network does not fit without


def int8_networks(folder: Path) -> list[str]:
    """Names of the networks in a folder."""
    names = sorted(path.name.removesuffix("_int8.onnx") for path in folder.glob("*_int8.onnx"))
    if not names:
        raise BenchError(f"{folder} holds no *_int8.onnx")
    return names


def recorded(folder: Path, name: str) -> tuple[Path, bytes]:
    """A network's file, and the samples of its first recorded vector for the firmware."""
    if name not in (there := int8_networks(folder)):
        raise BenchError(f"--models: {name} is not in {folder}; there are {', '.join(there)}")
    data = np.load(folder / f"{name}_vectors.npz")
    return folder / f"{name}_int8.onnx", samples(data["input_q"][0].tobytes(), data["output_tflm_q"][0].tobytes())


def narrowed(network: Path, way: str) -> onnx.ModelProto:
    """A network with other weights: of 4 bits with "int4", of 16 uneven values with "table"."""
    model, values = onnx.load(network), np.arange(-8, 8)
    if way == "table":
        values = values * abs(values) * 127 // 64
    for tensor in model.graph.initializer:
        weights = onnx.numpy_helper.to_array(tensor)
        if weights.dtype == np.int8 and weights.ndim > 1:
            tensor.CopyFrom(onnx.numpy_helper.from_array(values[(weights >> 4) + 8].astype(np.int8), tensor.name))
    return model


def content_of(compiled: Compiled, inputs: np.ndarray | None = None) -> bytes:
    """The samples of a plan for the firmware: `inputs` or noise, and the host's output."""
    with Session(compiled) as session:
        (source,), result = session.inputs, session.outputs[0]
        if inputs is None:
            stored = np.random.default_rng(1).integers(-128, 128, source.stored_shape)
            is_float = source.stored_dtype == np.float32
            x = stored.astype(np.float32) / 32 if is_float else stored.astype(source.stored_dtype)
        else:
            x = source.to_stored(inputs.reshape(source.shape))
        return samples(x.tobytes(), session.run_raw({source.name: x})[result.name].tobytes())


def planned_models(folder: Path = NETWORKS) -> dict[str, Callable[[], Model]]:
    """Makers of the models that the planner is measured on: the int8 networks of a folder, and the zoo's."""
    return {name: partial(Path, folder / f"{name}_int8.onnx") for name in int8_networks(folder)} | dict(ZOO)


def fit(model: Model, fast: str | None, **options: Any) -> tuple[Compiled, str]:
    """The plan at a budget, and the budget: with slow memory where it does not fit without."""
    try:
        return compile_model(model, fast=fast, **options), fast or "-"
    except BudgetError:
        return compile_model(model, fast=fast, slow=SLOW, **options), f"{fast}+{SLOW}"


def smallest(model: Model, **options: Any) -> int:
    """Bytes of the smallest fast memory that works without slow memory, as the refusal of 64 bytes names it."""
    try:
        compile_model(model, fast=64, **options)
    except BudgetError as error:
        return named_smallest(error)
    return 64


def named_smallest(error: BudgetError) -> int:
    """The bytes that a refusal names."""
    named = re.search(r"smallest fast memory that works is (\d+)", str(error))
    assert named is not None, error
    return int(named[1])
