"""`tigris run`: runs a plan on this machine with the board's C runtime."""

import io
import math
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from tigris_pio.cli import console
from tigris_pio.errors import UsageError
from tigris_pio.files import check_target, write_atomically
from tigris_pio.fitted import Column, Facts, FittedTable
from tigris_pio.hil.samples import match_inputs
from tigris_pio.host import Session
from tigris_pio.host.io import IoDescriptor
from tigris_pio.sizes import format_size, parse_memory


@click.command(short_help="Run a plan on this machine with the board's C runtime.")
@click.argument("plan", type=click.Path(), metavar="PLAN.tgrs")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    required=True,
    metavar="[NAME=]X.npy",
    help="Input array in the model's shape; once per input, or one .npz with all inputs. An additional first axis "
    "counts samples. For a model with states it counts steps, and one more axis before it counts sequences.",
)
@click.option(
    "--output",
    "outputs",
    multiple=True,
    metavar="[NAME=]Y.npy",
    help="File of an output; an .npz gets all outputs.",
)
@click.option(
    "-m",
    "--mem",
    "memory",
    metavar="FAST[+SLOW]",
    help="Sizes of the arenas, like 48K+1M. Default: the sizes that the plan needs. Outputs do not depend on them.",
)
@console.WIDE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout and nothing else.")
def run(plan: str, inputs: tuple[str, ...], outputs: tuple[str, ...], memory: str | None, as_json: bool) -> None:
    """Run PLAN.tgrs on this machine: the same C sources and arenas as on the board give the same output bytes.

    \b
    Example:
      tigris run kws.tgrs --input features.npy --output scores.npy

    A model with states keeps them from step to step; each sequence starts with the initial states.
    """
    for text in outputs:
        check_target(Path(text.partition("=")[2] or text))
    fast, slow = (None, None) if memory is None else parse_memory(memory, "-m")
    with Session(plan, fast_bytes=fast, slow_bytes=slow) as session:
        arrays = _read_inputs(inputs, [descriptor.name for descriptor in session.inputs])
        start = time.perf_counter()
        count, results = _run_all(session, arrays)
        elapsed = (time.perf_counter() - start) / count
        document = {**_document(session, results, elapsed), "samples": count}
    _write_outputs(outputs, results)
    if as_json:
        console.print_json(document)
    else:
        _print(document, results)


def _load(path: str) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except OSError as error:
        raise UsageError(f"--input {path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError) as error:
        raise UsageError(f"--input {path}: is no .npy or .npz file of numbers; write it with numpy.save") from error


def _read_inputs(texts: tuple[str, ...], names: list[str]) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or not path:
            name, path = "", text
        loaded = _load(path)
        if isinstance(loaded, np.ndarray):
            free = [n for n in names if n not in arrays]
            if not name and len(names) > 1:
                raise UsageError(f"--input {text}: the plan has {len(names)} inputs; write NAME={text} with one of "
                                 f"{', '.join(names)}")  # fmt: skip
            arrays[name or (free[0] if free else names[0])] = loaded
        else:
            found = match_inputs(names, {key: loaded[key] for key in loaded.files}, path)
            arrays.update({name: array for name, (_, array) in found.items() if name})
    return arrays


def _run_all(session: Session, arrays: dict[str, np.ndarray]) -> tuple[int, dict[str, np.ndarray]]:
    """The number of runs, and the outputs, which have the inputs' axes of samples and sequences."""
    axes = {_axes(session, io, arrays[io.name]) for io in session.inputs if io.name in arrays}
    if axes in ({()}, set()) or len(axes) > 1 or len(arrays) != len(session.inputs):
        return 1, session.run(arrays)  # raises UsageError with the wrong input
    (lead,) = axes
    count = math.prod(lead)
    rows = {io.name: arrays[io.name].reshape(count, *io.shape) for io in session.inputs}
    found = []
    for index in range(count):
        if index % lead[-1] == 0:  # a new sequence
            session.reset()
        found.append(session.run({name: array[index] for name, array in rows.items()}))
    return count, {name: np.stack([one[name] for one in found]).reshape(*lead, *found[0][name].shape)
                   for name in found[0]}


def _axes(session: Session, descriptor: IoDescriptor, array: np.ndarray) -> tuple[int, ...]:
    """Sizes of the axes of samples and sequences before an input's own axes.

    Empty if the array is one sample or does not fit.
    """
    for count in range(1, 3 if session.states else 2):
        lead, shape = array.shape[:count], descriptor.shape
        is_whole = array.size == math.prod(lead) * math.prod(shape) != 0
        if array.shape != shape and is_whole and array.shape[count:] in (shape, shape[1:]):
            return lead
    return ()


def _write_outputs(texts: tuple[str, ...], results: dict[str, np.ndarray]) -> None:
    names = list(results)
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals:
            name, path = names[0], text
        if name not in results:
            raise UsageError(f"--output {text}: the plan has no output '{name}'; it has {', '.join(names)}")
        buffer = io.BytesIO()
        if path.endswith(".npz"):
            np.savez(buffer, **results)  # type: ignore[arg-type]
        else:
            if len(names) > 1 and not equals:
                raise UsageError(f"--output {text}: the plan has {len(names)} outputs; write NAME={text} with one of "
                                 f"{', '.join(names)}, or give an .npz for all")  # fmt: skip
            np.save(buffer, results[name])
        write_atomically(Path(path), buffer.getvalue())


def _document(session: Session, results: dict[str, np.ndarray], seconds: float) -> dict[str, Any]:
    memory = session.memory
    return {
        "plan": session.name,
        "seconds": seconds,
        "memory": memory if isinstance(memory, dict) else vars(memory),
        "outputs": [
            {"name": name, "shape": list(y.shape), "dtype": str(y.dtype), "values": y.ravel()[:64].tolist()}
            for name, y in results.items()
        ],
        "profile": [dict(row) if isinstance(row, dict) else vars(row) for row in session.profile],
    }


def _print(document: dict[str, Any], results: dict[str, np.ndarray]) -> None:
    memory = document["memory"]
    of_runs = f", mean of {document['samples']} runs" if document["samples"] > 1 else ""
    slow = [format_size(memory[name]) for name in ("slow_peak", "slow_read", "slow_written")]
    console.out.print(Facts([
        ("plan", document["plan"]),
        ("time", f"{1000 * document['seconds']:.3f} ms on this machine{of_runs}"),
        ("fast memory", format_size(memory["fast_peak"])),
        ("slow memory", f"{slow[0]}, {slow[1]} read, {slow[2]} written"),
    ]))  # fmt: skip
    columns = (Column("name", is_name=True), Column("shape"), Column("min"), Column("max"), Column("argmax"),
               Column("first values", detail=1))  # fmt: skip
    rows = []
    for name, y in results.items():
        flat = y.ravel()
        shape = "x".join(map(str, y.shape))
        values = ", ".join(f"{v:.5g}" for v in flat[:8]) + (", …" if flat.size > 8 else "")
        numbers = (f"{flat.min():.5g}", f"{flat.max():.5g}", str(int(flat.argmax()))) if flat.size else ("", "", "")
        rows.append((name, shape, *numbers, values))
    console.out.print(FittedTable("outputs", columns, rows))
