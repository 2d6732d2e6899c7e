"""Whole operators and networks on the ESP32-P4's ESP-NN: the runtime and its adapter on this machine, every call of the
library under the interpreter, in no more scratch than it asks for."""

import os
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from bench import p4
from bench.riscv import pie, whole
from bench.riscv.esp_nn import program
from tests.harness.tiers import examples
from tests.networks.folders import OWN
from tests.runtime.fuzz.geometries import Axis, conv, geometries
from tests.runtime.kernel_harness import Way, plan_for
from tigris_pio import Session, compile_model
from tigris_pio.format.enums import OpKind

pytestmark = pytest.mark.vendor("TIGRIS_ESP_NN")

GEOMETRIES = examples(20, 150)


@pytest.fixture(scope="module")
def checkout() -> Path:
    return Path(os.environ["TIGRIS_ESP_NN"])


@pytest.fixture(scope="module")
def built(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return whole.build(tmp_path_factory.mktemp("p4"), checkout)


def assert_portable(built: Path, checkout: Path, plan: bytes, seed: int) -> Mapping[str, int]:
    """That its output is the host's; the calls of the library, by function."""
    with Session(plan) as session:
        choose = np.random.default_rng(seed)
        inputs = {io.name: choose.integers(-128, 128, io.stored_shape).astype(np.int8) for io in session.inputs}
        expected = b"".join(output.tobytes() for output in session.run_raw(inputs).values())
    found = whole.run(built, checkout, plan, b"".join(data.tobytes() for data in inputs.values()))
    assert (found.status, found.output) == (0, expected), seed
    return found.calls


def test_every_geometry_gives_the_portable_bytes(built: Path, checkout: Path) -> None:
    """Padding, strides and bands as plans may have them: what the library cannot take, the adapter does not give it."""
    calls: Counter[str] = Counter()
    for seed, plan in enumerate(geometries(GEOMETRIES, dilated=False)):
        calls.update(assert_portable(built, checkout, plan, seed))
    assert min(calls["esp_nn_conv_s8_esp32p4"], calls["esp_nn_depthwise_conv_s8_esp32p4"]) > GEOMETRIES // 3


@pytest.mark.parametrize("kernel, before, behind", [(2, 0, 1), (3, 0, 1), (5, 0, 2), (5, 2, 2), (3, 0, 2)])
def test_padding_behind_the_input_alone(kernel: int, before: int, behind: int, built: Path, checkout: Path) -> None:
    """Of whole vectors, with strides of 2."""
    for size in (6, 7, 8):
        axis = Axis(size, kernel, 2, before, behind)
        plan = plan_for(conv(OpKind.PLAIN_CONV_2D, axis, axis, 16, 5, random.Random(size)), Way(axis.output))
        assert_portable(built, checkout, plan, size)


def test_more_channels_than_the_depthwise_kernel_knows(built: Path, checkout: Path) -> None:
    axis = Axis(4, 3, 1, 1, 1)
    plan = plan_for(conv(OpKind.PLAIN_DEPTHWISE_CONV_2D, axis, axis, 272, 272, random.Random(1)), Way(4))
    assert not assert_portable(built, checkout, plan, 1).get("esp_nn_depthwise_conv_s8_esp32p4")


def test_keyword_spotting_gives_its_recorded_output(built: Path, checkout: Path) -> None:
    """The project's own other networks take the interpreter longer; `python -m bench.p4` runs them."""
    compiled = compile_model(OWN / "kws_int8.onnx", fast="256K", backend="esp-nn", chip="esp32p4")
    data = np.load(OWN / "kws_vectors.npz")
    found = whole.run(built, checkout, compiled.data, data["input_q"][0].tobytes())
    assert found.status == 0
    np.testing.assert_array_equal(np.frombuffer(found.output, np.int8), data["output_tflm_q"][0].ravel())
    taken = {place for place, op in enumerate(compiled.plan.program.ops) if op.backend}
    assert {place for place, count in found.instructions.items() if count} == taken


@pytest.mark.thorough
def test_the_bench_sets_the_library_beside_portable_c(built: Path, checkout: Path, tmp_path: Path) -> None:
    *rows, total = p4.rows_of(OWN / "kws_int8.onnx", checkout, built, p4.portable(tmp_path))
    assert total["right"] is True
    assert total["library"] == sum(row["library"] for row in rows)
    assert total["library"] < total["portable"]
    assert {row["operator"]: row["library"] < row["portable"] for row in rows}["DEPTHWISE_CONV_2D"] is False


def test_vector_instructions_are_those_that_are_tested(checkout: Path) -> None:
    assert {one.name for one in program(checkout).code if one.name.startswith("esp.")} == set(pie.BUILDERS)
