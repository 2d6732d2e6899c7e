"""Writes docs/operators.md from the operator contracts; `python -m tigris_pio.compiler.lower.documentation`."""

from __future__ import annotations

from pathlib import Path

from tigris_pio.compiler.lower.registry import supported_operators

DOCUMENT_PATH = Path(__file__).resolve().parents[3] / "docs" / "operators.md"

_HEAD = """# Supported operators

Written from the compiler's operator contracts by `python -m tigris_pio.compiler.lower.documentation`; a test keeps it
so. Operators that are not listed compile too when ONNX defines them as functions of listed ones. What does not
compile is refused by name, every such node at once.

| ONNX operator | how it runs |
|---|---|
"""


def render() -> str:
    """The document's text."""
    rows = [f"| {contract.operator} | {contract.summary} |" for contract in supported_operators()]
    return _HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    DOCUMENT_PATH.write_text(render(), encoding="utf-8")
