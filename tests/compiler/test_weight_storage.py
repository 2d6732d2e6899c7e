"""Storage of weights: in place, copied, compressed, in the plan and in its report."""

import dataclasses

import lz4.block
import numpy as np
import onnx
import pytest

from bench.quantised_net import QuantisedNet
from tests.compiler.models import make, node, ort
from tigris_pio import Session, compile_model
from tigris_pio.cli.options import compile_options
from tigris_pio.compiler.plan import weight_blocks
from tigris_pio.compiler.plan.memory.allocate import allocate
from tigris_pio.errors import UsageError
from tigris_pio.format.enums import WeightMode
from tigris_pio.format.reader import read_plan
from tigris_pio.spelling import Caller, messages_for

SIZE = 64


def layers(*zeros: float):
    """Fully connected layers of random weights, with the given share of zeros."""
    random = np.random.default_rng(1)
    weights = {}
    for index, share in enumerate(zeros):
        flat = random.normal(size=SIZE * SIZE).astype(np.float32)
        flat[: int(share * flat.size)] = 0
        weights[f"w{index}"] = flat.reshape(SIZE, SIZE)
    names = ["x", *(f"h{index}" for index in range(1, len(zeros))), "y"]
    nodes = [node("Gemm", f"{names[index]} w{index}", names[index + 1], transB=1) for index in range(len(zeros))]
    return make(nodes, {"x": (1, SIZE)}, ["y"], weights)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.2, 1.0])
def test_a_stage_is_compressed_when_that_saves_a_twentieth(share):
    model = layers(share)
    plain, packed = compile_model(model, fast="64K"), compile_model(model, fast="64K", compress="lz4")
    plan = read_plan(plain.data)
    (stage,) = plan.stages
    raw = plain.data[plan.header.weights + stage.block :][: stage.block_raw_bytes]
    saves = 1 - len(lz4.block.compress(raw, mode="high_compression", compression=12, store_size=False)) / len(raw)
    (stage,) = packed.report["stages"]
    assert stage["compression_saves"] == pytest.approx(saves)
    assert stage["weights"] == ("lz4" if saves >= 0.05 else "in_place")
    assert (len(packed.data) < len(plain.data)) == (saves >= 0.05)
    assert plain.report["stages"][0]["compression_saves"] is None


def test_the_report_names_stages_that_are_not_compressed():
    compiled = compile_model(layers(0.5, 0.03, 0.0), fast="18K", compress="lz4")
    assert [stage["weights"] for stage in compiled.report["stages"]] == ["lz4", "in_place", "in_place"]
    first, second = compiled.report["warnings"]
    assert "gemm_h2" in first and " % smaller by lz4, which is less than 5 %; read in place" in first
    assert "gemm_y: " in second and " % smaller by lz4, which is less than 5 %; read in place" in second


def test_the_report_says_if_compression_saves_nothing():
    warnings = compile_model(layers(0.0), fast="64K", compress="lz4").report["warnings"]
    assert 'compress="lz4" saves nothing: no stage' in warnings[0]
    assert not any("saves nothing" in text for text in compile_model(layers(0.5), compress="lz4").report["warnings"])
    assert compile_model(layers(0.0), fast="64K").report["warnings"] == []


@pytest.mark.parametrize("most", [3, 2, 1, 0])
def test_as_many_weight_blocks_are_copied_as_fit(most, monkeypatch):
    """Fragmentation may leave less memory than the free bytes."""

    def holed(requests, alignment):
        fast = allocate(requests, alignment)
        blocks = sum(request.name.startswith("weights ") for request in requests)
        return dataclasses.replace(fast, peak=fast.peak if blocks <= most else (18 << 10) + 16)

    monkeypatch.setattr(weight_blocks, "allocate", holed)
    compiled = compile_model(layers(0.5, 0.4, 0.3), fast="18K", copy_weights=True)
    modes = [stage.weight_mode for stage in read_plan(compiled.data).stages]
    assert len(modes) == 3 and sum(mode != WeightMode.IN_PLACE for mode in modes) == most


@pytest.mark.parametrize("options", [{"compress": "lz4"}, {"copy_weights": True}])
def test_xip_is_refused_with_options_that_copy_weights(options):
    with pytest.raises(UsageError, match=r'xip=True with (compress="lz4"|copy_weights=True): .* leave one out'):
        compile_model(layers(0.0), xip=True, **options)
    text = "--xip with --(compress lz4|copy-weights): .* leave one out"
    with pytest.raises(UsageError, match=text), messages_for(Caller.COMMAND):
        compile_options("64K", None, (), xip=True, **options)


READS, WIDE = 4, 64
#: Layers, the shapes of their inputs, and those of the stored weights.
LAYERS = {
    "MatMul": ((1, WIDE), (WIDE, WIDE)), "Gemm": ((1, WIDE), (WIDE, WIDE)), "Conv": ((1, WIDE, 4), (WIDE, WIDE, 1)),
    "Add": ((1, WIDE, WIDE), (WIDE, WIDE)),
}  # fmt: skip


def layers_alike(kind: str, copies: int) -> onnx.ModelProto:
    """READS layers of equal weights, which have `copies` names; a third of the weights is zero."""
    shape, stored = LAYERS[kind]
    values = np.random.default_rng(2).normal(size=stored).astype(np.float32) / 8
    values[: WIDE // 3] = 0
    nodes = []
    for index in range(READS):
        nodes += [node(kind, f"y{index} w{index % copies}", f"m{index}"), node("Tanh", f"m{index}", f"y{index + 1}")]
    return make(nodes, {"y0": shape}, [f"y{READS}"], {f"w{index}": values.copy() for index in range(copies)})


STORED = [
    ({"fast": "60K"}, "in_place"), ({"copy_weights": True, "fast": "60K"}, "copy"),
    ({"compress": "lz4", "fast": "60K"}, "lz4"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "mode"), STORED)
@pytest.mark.parametrize("kind", LAYERS)
def test_equal_weights_are_stored_once(kind, options, mode):
    once = 4 * WIDE * WIDE
    found = {copies: compile_model(layers_alike(kind, copies), **options) for copies in (1, READS)}
    modes = {stage["weights"] for stage in found[1].report["stages"] if stage["weights_bytes"]}
    assert modes == (set() if kind == "Add" else {mode})
    for compiled in found.values():
        flash = compiled.report["flash"]
        assert flash["weights"] <= 1.05 * once and flash["plan"] <= 1.05 * once + flash["records"]
        assert flash["stored"] + flash["records"] == flash["plan"] == len(compiled.data)
    x = np.random.default_rng(3).normal(size=LAYERS[kind][0]).astype(np.float32)
    expected = ort(layers_alike(kind, 1), {"y0": x})[f"y{READS}"]
    with Session(found[READS]) as session:
        np.testing.assert_allclose(session.run({"y0": x})[f"y{READS}"], expected, rtol=1e-4, atol=1e-5)


def two_towers() -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """An int8 network, and a network that contains it twice under other names."""
    net = QuantisedNet("towers", 16, (8, 8))
    one = net.model(net.classified(net.depthwise(net.conv(net.image, 32)), 16))
    two = onnx.compose.add_prefix(one, "left/")
    two.MergeFrom(onnx.ModelProto(graph=onnx.compose.add_prefix(one, "right/").graph))
    return one, two


CHIPS = [{"backend": "pie", "chip": "esp32s3"}, {"backend": "esp-nn", "chip": "esp32s3"}]


@pytest.mark.parametrize("options", [*(options for options, _ in STORED), *CHIPS])
def test_two_copies_of_a_network_share_their_weights(options):
    """Also if the weights are packed for a chip."""
    one, two = two_towers()
    single, double = compile_model(one, **options), compile_model(two, **options)
    first, second = single.report["flash"], double.report["flash"]
    assert second["weights"] == first["weights"] and second["stored"] <= 1.05 * first["stored"]
    x = np.random.default_rng(4).normal(size=(1, 16, 8, 8)).astype(np.float32)
    with Session(single) as session:
        (expected,) = session.run({"image": x}).values()
    with Session(double) as session:
        for found in session.run({"left/image": x, "right/image": x}).values():
            np.testing.assert_array_equal(found, expected)
