"""Writes docs/operators.md from the operator contracts and from what is read of .tflite files;
`python -m tigris_pio.compiler.lower.documentation`."""

from __future__ import annotations

from pathlib import Path

from tigris_pio.compiler.load.tflite.operators.registry import read_operators
from tigris_pio.compiler.lower.registry import supported_operators

DOCUMENT_PATH = Path(__file__).resolve().parents[3] / "docs" / "operators.md"

_HEAD = """# Supported operators

Written from the compiler's operator contracts by `python -m tigris_pio.compiler.lower.documentation`; a test keeps it
so. ONNX operators that are not listed compile too when ONNX defines them as functions of listed ones. What does not
compile is refused by name, every such node at once.

## ONNX

| ONNX operator | how it runs |
|---|---|
"""


_TFLITE = """
## TensorFlow Lite

Read from `.tflite` files: float32, int8 and uint8; what is computed in int8 has TensorFlow Lite Micro's bytes.
Weights may be float16, four bits wide or sparse. Custom operators that are not
listed, strings, and WHILE or IF whose condition depends on data are refused.

| operator | how it is read |
|---|---|
"""


def render() -> str:
    """The document's text."""
    rows = [f"| {contract.operator} | {contract.summary} |" for contract in supported_operators()]
    read = [f"| {entry.operator} | {entry.summary} |" for entry in read_operators()]
    return _HEAD + "\n".join(rows) + "\n" + _TFLITE + "\n".join(read) + "\n"


if __name__ == "__main__":
    DOCUMENT_PATH.write_text(render(), encoding="utf-8")
