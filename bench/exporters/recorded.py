"""Writes an exporter's models, each with inputs and with the outputs of its reference."""

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

Arrays = Mapping[str, np.ndarray]
#: Writes models to a folder and yields each one's path with what it is given.
Maker = Callable[[Path], Iterator[tuple[Path, Arrays]]]


def inputs_of(path: Path) -> dict[str, np.ndarray]:
    """What a model was given."""
    with np.load(path.with_suffix(".npz")) as recorded:
        return {name[3:]: recorded[name] for name in recorded.files if name.startswith("in:")}


def run_onnx(path: Path, inputs: Arrays) -> dict[str, np.ndarray]:
    """By onnxruntime, as the file is: its optimiser would change what quantised nodes compute."""
    import onnxruntime  # noqa: PLC0415  (not in every environment)

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    outputs = [item.name for item in session.get_outputs()]
    return dict(zip(outputs, session.run(outputs, dict(inputs)), strict=True))


def _interpreter(path: Path) -> Any:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType  # noqa: PLC0415

    return Interpreter(str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)


def as_taken(path: Path, inputs: Arrays) -> dict[str, np.ndarray]:
    """Real numbers as integers, where a .tflite file's signature takes these."""
    result = dict(inputs)
    for name, detail in _interpreter(path).get_signature_runner().get_input_details().items():
        scale, zero = detail["quantization"]
        if scale:
            ends = np.iinfo(detail["dtype"])
            result[name] = np.clip(np.round(inputs[name] / scale) + zero, ends.min, ends.max).astype(detail["dtype"])
    return result


def run_tflite(path: Path, inputs: Arrays) -> dict[str, np.ndarray]:
    """By LiteRT, through the file's signature."""
    result: dict[str, np.ndarray] = _interpreter(path).get_signature_runner()(**inputs)
    return result


def write_all(makers: Mapping[str, Maker]) -> None:
    """Writes the models of all makers to the folder of the command line, with NAME.npz beside each; what an exporter
    itself does not do is said in NAME.txt. Each maker has a process of its own, for converters crash."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, maker in makers.items():
        child = os.fork()
        if not child:
            _write(folder, name, maker)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            (folder / f"{name}.txt").write_text(f"the exporter died with status {status}")


def _numbers(value: Any) -> np.ndarray:
    """An output as an array; a ZipMap's without its labels."""
    maps = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    return np.array([list(item.values()) for item in value], np.float32) if maps else np.asarray(value)


def _write(folder: Path, name: str, maker: Maker) -> NoReturn:
    try:
        for path, inputs in maker(folder):
            outputs = (run_tflite if path.suffix == ".tflite" else run_onnx)(path, inputs)
            arrays = {f"in:{key}": np.asarray(value) for key, value in inputs.items()}
            arrays |= {f"out:{key}": _numbers(value) for key, value in outputs.items()}
            np.savez(path.with_suffix(".npz"), **arrays)
    except Exception as error:
        traceback.print_exc()
        (folder / f"{name}.txt").write_text(f"{type(error).__name__}: {error}")
    sys.stderr.flush()
    os._exit(0)
