"""`tigris run`: a plan on this machine, by the same C runtime as on a board."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape
from rich.table import Table

from tigris_pio.cli import console
from tigris_pio.cli.tables import facts
from tigris_pio.errors import UsageError
from tigris_pio.files import check_target, write_atomically
from tigris_pio.host import Session
from tigris_pio.sizes import format_size, parse_memory
from tigris_pio.text import visible_name


@click.command(short_help="Run a plan here with the board's C runtime.")
@click.argument("plan", type=click.Path(), metavar="PLAN.tgrs")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    required=True,
    metavar="[NAME=]X.npy",
    help="Input array as the ONNX model takes it; once per input, or one .npz with all of them.",
)
@click.option(
    "--output",
    "outputs",
    multiple=True,
    metavar="[NAME=]Y.npy",
    help="Where to write an output; an .npz takes all of them.",
)
@click.option(
    "-m",
    "--mem",
    "memory",
    metavar="FAST[+SLOW]",
    help="Memory to run in, like 48K+1M, instead of what the plan asks for; less makes it slower, never different.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout and nothing else.")
def run(plan: str, inputs: tuple[str, ...], outputs: tuple[str, ...], memory: str | None, as_json: bool) -> None:
    """Run PLAN.tgrs on this machine: same C sources, same arenas, same bytes as on the board.

    \b
    Example:
      tigris run kws.tgrs --input features.npy --output scores.npy
    """
    for text in outputs:
        check_target(Path(text.partition("=")[2] or text))
    fast, slow = (None, None) if memory is None else parse_memory(memory, "-m")
    with Session(plan, fast_bytes=fast, slow_bytes=slow) as session:
        arrays = _read_inputs(inputs, [port.name for port in session.inputs])
        begin = time.perf_counter()
        results = session.run(arrays)
        elapsed = time.perf_counter() - begin
        document = _document(session, results, elapsed)
    _write_outputs(outputs, results)
    if as_json:
        console.print_json(document)
    else:
        _print(document, results)


def _load(path: str) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"--input {path}: cannot be read as .npy or .npz: {error}") from error


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
                raise UsageError(f"--input {text}: the plan has {len(names)} inputs; name each: NAME=FILE with "
                                 f"{', '.join(names)}")  # fmt: skip
            arrays[name or (free[0] if free else names[0])] = loaded
        else:
            arrays.update({key: loaded[key] for key in loaded.files})
    return arrays


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
                raise UsageError(f"--output {text}: the plan has {len(names)} outputs; name one: NAME=FILE with "
                                 f"{', '.join(names)}, or give an .npz")  # fmt: skip
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
    console.out.print(
        facts(
            [
                ("plan", document["plan"]),
                ("time", f"{1000 * document['seconds']:.3f} ms on this machine"),
                ("fast memory", format_size(memory["fast_peak"])),
                ("slow memory", f"{format_size(memory['slow_peak'])}, {format_size(memory['slow_read'])} read, "
                                f"{format_size(memory['slow_written'])} written"),
            ]
        )
    )  # fmt: skip
    table = Table(title="outputs", title_justify="left")
    for name in ("name", "shape", "min", "max", "argmax", "first values"):
        table.add_column(name)
    for name, y in results.items():
        flat = y.ravel()
        shape = "x".join(map(str, y.shape))
        values = ", ".join(f"{v:.5g}" for v in flat[:8]) + (", …" if flat.size > 8 else "")
        numbers = (f"{flat.min():.5g}", f"{flat.max():.5g}", str(int(flat.argmax()))) if flat.size else ("", "", "")
        table.add_row(escape(visible_name(name)), shape, *numbers, values)
    console.out.print(table)
