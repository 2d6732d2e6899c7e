"""Fixtures for the compiler's tests."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest

_STATES: dict[int, Any] = {}


@pytest.fixture(autouse=True)
def same_numbers(request: pytest.FixtureRequest) -> None:
    """Reseeds a module's RANDOM for each test, so that the order of tests and the worker change no test's data."""
    module: ModuleType = request.module
    noise = getattr(module, "noise", None)  # of another module, perhaps
    for generator in {getattr(module, "RANDOM", None), getattr(noise, "__globals__", {}).get("RANDOM")}:
        if isinstance(generator, np.random.Generator):
            generator.bit_generator.state = _STATES.setdefault(id(generator), generator.bit_generator.state)
