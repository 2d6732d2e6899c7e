"""A checkout of ESP-NN."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def checkout() -> Path:
    return Path(os.environ["TIGRIS_ESP_NN"])
