"""Imports onnxruntime when it is needed, and suppresses its output."""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from typing import Any

from tigris_pio.errors import ModelError, ToolError
from tigris_pio.installation import install_command


def quantization(part: str = "") -> Any:
    """onnxruntime.quantization, or a module in it. ToolError if onnxruntime is not installed."""
    try:
        return import_module("onnxruntime.quantization" + (f".{part}" if part else ""))
    except ImportError as error:
        command = install_command("onnxruntime")
        raise ToolError(f"quantize needs onnxruntime ({error}); install it: {command}") from error


@contextmanager
def quiet(label: str, what: str) -> Iterator[None]:
    """Suppresses onnxruntime's advice, which is for other processors; its errors become a ModelError of one line."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with redirect_stdout(io.StringIO()):
            yield
    except (ToolError, ModelError):
        raise
    except Exception as error:
        said = (str(error).splitlines() or [""])[0]
        raise ModelError(f"{label}: onnxruntime fails {what}: {type(error).__name__}: {said}") from error
    finally:
        logging.disable(before)
