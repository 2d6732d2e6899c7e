"""Plans of TensorFlow Lite files on a board: their own element types and order of axes, and their variables."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.harness.command import tigris
from tests.hil.conftest import Serve
from tests.tflite.writer import Operator, Tensor, constant, write
from tigris_pio import compile_model

VARIABLE = {"sharedName": "held", "container": ""}


def pictures() -> bytes:
    """uint8 pictures [1, 4, 3, 2], each added to half of the sum before; the sum is kept."""
    pixels = (1, 4, 3, 2)
    tensors = [Tensor("x", pixels, "uint8", 0.1, 120), Tensor("q", pixels, "int8", 0.1, -8),
               Tensor("handle", (1,), "resource"), Tensor("old", pixels, "int8", 0.1, -8),
               constant("half", np.array([64], np.int8), 1 / 128), Tensor("part", pixels, "int8", 0.1, -8),
               Tensor("sum", pixels, "int8", 0.1, -8), Tensor("y", pixels, "uint8", 0.1, 120)]
    operators = [
        Operator("QUANTIZE", ["x"], ["q"]), Operator("VAR_HANDLE", [], ["handle"], VARIABLE),
        Operator("READ_VARIABLE", ["handle"], ["old"]), Operator("MUL", ["old", "half"], ["part"]),
        Operator("ADD", ["q", "part"], ["sum"]), Operator("ASSIGN_VARIABLE", ["handle", "sum"], []),
        Operator("QUANTIZE", ["sum"], ["y"]),
    ]  # fmt: skip
    return write(tensors, operators, ["x"], ["y"])


def test_sequences_in_the_files_own_form_are_the_hosts(serve: Serve, tmp_path: Path) -> None:
    """Two sequences of three."""
    plan = compile_model(pictures(), fast="4K")
    plan.save(tmp_path / "pictures.tgrs")
    x = np.random.default_rng(0).integers(0, 256, (2, 3, 4, 3, 2), dtype=np.uint8)
    np.savez(tmp_path / "x.npz", x=x)
    url = serve(tmp_path / "pictures.tgrs")
    done = tigris("hil", tmp_path / "pictures.tgrs", "--port", url, "--data", tmp_path / "x.npz")
    assert done.stdout.splitlines()[-1] == "6/6 outputs equal to the host"
