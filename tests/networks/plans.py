"""Plans of the project's own networks, compiled once for all tests of a process."""

import functools

from tests.networks.folders import OWN
from tigris_pio import compile_model
from tigris_pio.compiler.pipeline import Compiled


@functools.cache
def compiled(name: str, **options: object) -> Compiled:
    """`compile_model` of `networks/NAME_int8.onnx`; the tests share what it returns and change nothing in it."""
    return compile_model(OWN / f"{name}_int8.onnx", **options)  # type: ignore[arg-type]
