"""ESP-NN's assembly for layers on the ESP32-S3 gives TensorFlow Lite's bytes under the interpreter, and stays where it
may.

That shows two things: that the interpreter runs what Espressif's own engineers wrote for the chip, and what that code
wants of those who call it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bench.assembly.arithmetic import Output
from tests.emulation.xtensa import esp_nn

pytestmark = pytest.mark.vendor(esp_nn.VARIABLE)

SHAPES = 12
#: Bytes from an operand that are read ahead and not used: a vector and a half of the next.
READ_AHEAD = 48
#: One more number of 16 bits than asked for, for some sizes.
WRITES_ONE_MORE = {"esp_nn_s8_to_s16_esp32s3"}


@pytest.mark.parametrize("make", esp_nn.CASES, ids=lambda make: make(np.random.default_rng(0)).function)
def test_bytes_and_addresses(make: Callable[[np.random.Generator], esp_nn.Call]) -> None:
    outputs = 0
    for seed in range(SHAPES):
        call = make(np.random.default_rng(seed))
        wrong, count = call.run()
        assert wrong == 0, call.shape
        assert call.furthest_read() <= READ_AHEAD, call.shape
        allowed = 1 if call.function in WRITES_ONE_MORE else -1
        assert all(0 <= stray.distance <= allowed for stray in call.writes_outside()), call.shape
        outputs += count
    assert outputs >= SHAPES


def test_every_function_of_layers_is_run() -> None:
    functions = {make(np.random.default_rng(0)).function for make in esp_nn.CASES}
    assert functions == esp_nn.called_by_layers()
    assert len(functions) == 15


@pytest.mark.parametrize("offset, wrong", [(0, False), (8, False), (4, True), (1, True)])
def test_layers_want_inputs_on_eights(offset: int, wrong: bool) -> None:
    """What runtime/backends/esp_nn.c looks at before it hands them one."""
    choose, inputs = np.random.default_rng(5), 40
    x, w = choose.integers(-128, 128, inputs), choose.integers(-128, 128, (6, inputs))
    scales = Output(np.array([1 << 30]), np.array([-7]), 3, -128, 127)
    call = esp_nn.Call("esp_nn_fc_s16_esp32s3", "")
    call.data(x.astype(np.int8), align=16, offset=offset)
    call.numbers(5, inputs)
    call.data(w.astype(np.int8))
    call.numbers(0)
    call.words(np.zeros(6, np.int64))
    call.output(scales.of(w @ (x + 5)))
    call.numbers(6, 3, -7, 1 << 30, -128, 127)
    assert (call.run()[0] > 0) == wrong
