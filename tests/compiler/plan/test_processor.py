"""A plan is judged by the instructions of the chip that it is made for."""

import dataclasses

import pytest

from bench.float_twin import float_twin
from tests.networks.folders import OWN
from tests.networks.plans import compiled
from tigris_pio import compile_model
from tigris_pio.compiler.plan.cost import cost_of


@pytest.mark.parametrize(("chip", "of_int8", "of_float32"), [
    ("", "rv32imc", "rv32imc"), ("esp32c3", "rv32imc", "rv32imc"), ("esp32s3", "esp32s3", "cortex-m7"),
    ("esp32p4", "esp32p4", "cortex-m7"),
    ("cortex-m33", "cortex-m4", "cortex-m4"), ("cortex-m7", "cortex-m7", "cortex-m7"),
    ("cortex-m85", "cortex-m55", "cortex-m55"),
])  # fmt: skip
def test_of_networks_in_float32_a_chip_with_floating_point_is_one(chip: str, of_int8: str, of_float32: str) -> None:
    network = OWN / "ad_int8.onnx"
    for model, processor in ((network, of_int8), (float_twin(network), of_float32)):
        made = compile_model(model, fast="16K", chip=chip)
        assert made.plan.processor == made.report["planned_for"] == processor


@pytest.mark.thorough
def test_plans_for_two_chips_differ_and_each_is_good_on_its_own() -> None:
    differ = 0
    for network, fast in (("kws", "4K"), ("vww", "8K")):
        plans = [compiled(network, fast=fast, slow="1M", chip=chip).plan for chip in ("", "cortex-m4")]
        differ += plans[0].stages != plans[1].stages
        for own, other in (plans, plans[::-1]):
            assert cost_of(own) < 1.001 * cost_of(dataclasses.replace(other, processor=own.processor))
    assert differ
