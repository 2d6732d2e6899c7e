"""Predictions for the ESP32-S3 meet the recorded counts of firmware on the emulated chip."""

import pytest

from bench.emulated_s3 import EMULATED, rows
from tests.harness.tiers import sampled


@pytest.mark.parametrize("network", sampled(EMULATED, ["ad"]))
def test_predictions_are_within_a_tenth(network: str) -> None:
    """With portable kernels, ESP-NN and `pie`, at 64 KB."""
    found = rows([network])
    assert [row for row in found if abs(row["error"]) > 0.1] == []
