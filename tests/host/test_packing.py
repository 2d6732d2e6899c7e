"""Plans packed for other kernels than the host's: sessions compute the same bytes, the runtime itself refuses them."""

import dataclasses
import zlib
from pathlib import Path

import numpy as np
import pytest

from tigris_pio import Session, compile_model
from tigris_pio.compiler.backends import BACKENDS
from tigris_pio.compiler.backends.backend import Backend
from tigris_pio.errors import PlanError
from tigris_pio.format.enums import OpKind, Packing
from tigris_pio.format.packing import PACKED_KINDS
from tigris_pio.format.reader import read_plan
from tigris_pio.host import session
from tigris_pio.host.packing import portable_plan

OWN = {kind: kind for kind in PACKED_KINDS}
LANES = Backend("lanes", "tigris_lanes", lambda shape: None, lambda shape, chip: 0, OWN)


@pytest.fixture(params=[packing for packing in Packing if packing is not Packing.PORTABLE], ids=lambda p: p.name)
def packing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Packing:
    found: Packing = request.param
    own = BACKENDS["pie"] if found is Packing.PIE else dataclasses.replace(LANES, packing=found)
    monkeypatch.setitem(BACKENDS, "lanes", dataclasses.replace(own, name="lanes"))
    return found


@pytest.mark.parametrize("options", [{"xip": True}, {"compress": "lz4"}], ids=("in place", "compressed"))
def test_sessions_read_any_packing(packing: Packing, options: dict, models_dir: Path) -> None:
    model = models_dir / "kws_int8.onnx"
    plain = compile_model(model, fast="64K", **options)
    packed = compile_model(model, fast="64K", backend="lanes", **options)
    ops = read_plan(packed.data).ops
    assert {op.packing for op in ops if op.kind in PACKED_KINDS} == {packing}
    assert {op.packing for op in ops if op.kind not in PACKED_KINDS} == {Packing.PORTABLE}
    with Session(plain) as expected, Session(packed) as found:
        (io,) = expected.inputs
        values = np.random.default_rng(5).integers(-128, 128, io.stored_shape).astype(np.int8)
        for wanted, got in zip(expected.run_raw({io.name: values}).values(), found.run_raw({io.name: values}).values(),
                               strict=True):  # fmt: skip
            np.testing.assert_array_equal(got, wanted)


def test_the_portable_kernels_refuse_them(packing: Packing, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = compile_model(models_dir / "kws_int8.onnx", fast="64K", backend="lanes")
    monkeypatch.setattr(session, "portable_plan", lambda data: data)
    with pytest.raises(PlanError, match=r"kernels that are not linked \(status -32\) at stage 0, operator 0"):
        Session(packed)


def test_padding_counts_in_the_plan(monkeypatch: pytest.MonkeyPatch, models_dir: Path) -> None:
    """The first layer of one input channel has 16 weights a tap."""
    monkeypatch.setitem(BACKENDS, "lanes", dataclasses.replace(LANES, packing=Packing.LANES_16))
    model = models_dir / "kws_int8.onnx"
    plain, packed = compile_model(model), compile_model(model, backend="lanes")
    more = len(packed.data) - len(plain.data)
    first = packed.plan.program.ops[0]
    outputs = packed.plan.program.tensors[first.output].channels
    assert more >= 15 * first.params.kernel_height * first.params.kernel_width * outputs
    assert packed.report["flash"]["weights"] - plain.report["flash"]["weights"] == more
    assert packed.report["backend"]["name"] == "lanes"


def test_weights_outside_their_block_are_refused(packing: Packing, models_dir: Path) -> None:
    packed = compile_model(models_dir / "kws_int8.onnx", backend="lanes")
    plan = read_plan(packed.data)
    index = next(i for i, op in enumerate(plan.ops) if op.kind == OpKind.FULLY_CONNECTED)
    op = plan.ops[index]
    params = dataclasses.replace(plan.params(op), weights=plan.header.weights_bytes)
    damaged = bytearray(packed.data)
    place = plan.header.params + op.params
    damaged[place : place + op.params_bytes] = params.pack()
    damaged[16:20] = zlib.crc32(memoryview(damaged)[20:]).to_bytes(4, "little")
    with pytest.raises(PlanError, match="are outside their block"):
        portable_plan(bytes(damaged))
