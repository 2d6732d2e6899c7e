"""Instructions of operators that run whole, without bands, against what an emulated processor counted."""

import pytest

from bench.float_twin import float_twin
from tests.networks.folders import OWN
from tigris_pio.compiler.instructions.predict import instructions
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import front

#: Instructions of an inference without a budget, by bench.emulator.measure: int8 and float32 on rv32imc, float32 on
#: a Cortex-M7.
COUNTED = {
    "ad": (935_577, 43_796_660, 2_301_800),
    "kws": (8_913_253, 423_200_700, 14_308_400),
    "micro_speech": (1_640_157, 57_079_638, 1_789_680),
    "sww": (2_898_249, 153_519_743, 3_692_400),
}


@pytest.mark.parametrize("name", COUNTED)
def test_networks_are_within_a_tenth(name: str) -> None:
    int8 = front(OWN / f"{name}_int8.onnx", CompileOptions()).program
    real = front(float_twin(OWN / f"{name}_int8.onnx"), CompileOptions()).program
    found = (instructions(int8, fpu=False), instructions(real, fpu=False), instructions(real, fpu=True))
    for estimate, counted in zip(found, COUNTED[name], strict=True):
        assert 0.9 * counted < estimate < 1.1 * counted, (found, COUNTED[name])
    assert instructions(int8, fpu=True) == found[0]


