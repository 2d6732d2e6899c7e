"""Layers whose weights fit 4 bits, or tables of 16 values: which of them are packed, and results of such models."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from bench.quantised_net import QuantisedNet
from tests.compiler.models import ort
from tigris_pio import Session, compile_model
from tigris_pio.format.enums import OpKind

SHAPE = (96, 64)


def layer(weights: np.ndarray, bits: int = 4, axis: int | None = 1) -> onnx.ModelProto:
    """A quantised product with `weights` [inputs][outputs], stored in `bits` bits; a scale for each output or one."""
    random = np.random.default_rng(3)
    inputs, outputs = weights.shape
    stored = (helper.make_tensor("w", TensorProto.INT4, weights.shape, weights.reshape(-1)) if bits == 4
              else numpy_helper.from_array(weights.astype(np.int8), "w"))
    scale = random.uniform(0.01, 0.02, outputs if axis is not None else ()).astype(np.float32)
    constants = {"s": scale, "xs": np.float32(0.02), "xz": np.int8(-3), "ys": np.float32(0.1), "yz": np.int8(5)}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w", "s"], ["wd"], **({} if axis is None else {"axis": axis})),
        helper.make_node("MatMul", ["xd", "wd"], ["z"]),
        helper.make_node("QuantizeLinear", ["z", "ys", "yz"], ["yq"]),
        helper.make_node("DequantizeLinear", ["yq", "ys", "yz"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "layer", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, inputs))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, outputs))],
        [stored, *(numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items())])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def random_weights(low: int = -8, high: int = 7, shape: tuple[int, int] = SHAPE) -> np.ndarray:
    return np.random.default_rng(1).integers(low, high, shape, np.int8, endpoint=True)


def kind_of(model: onnx.ModelProto, **options: str) -> OpKind:
    (kind,) = (op.kind for op in compile_model(model, **options).plan.program.ops if op.macs)
    return kind


@pytest.mark.parametrize("axis", (1, None))
def test_results_are_onnxruntimes(axis: int | None) -> None:
    model = layer(random_weights(), axis=axis)
    compiled = compile_model(model)
    x = np.random.default_rng(2).normal(0, 1, (1, SHAPE[0])).astype(np.float32)
    with Session(compiled) as session:
        ours = session.run({"x": x})["y"]
    assert kind_of(model) is OpKind.INT4_FULLY_CONNECTED
    np.testing.assert_allclose(ours, ort(model, {"x": x})["y"], atol=0.1001)


def test_a_plan_has_half_the_weights() -> None:
    """With one weight of 8 all weights stay in 8 bits; without it they take half."""
    large = random_weights()
    large[0, 0] = 8
    sizes = [len(compile_model(layer(weights, bits=8)).data) for weights in (random_weights(), large)]
    assert sizes[1] - sizes[0] == SHAPE[0] * SHAPE[1] // 2


#: Sixteen values that no factor makes small.
VALUES = np.array([-127, -100, -77, -60, -41, -30, -17, -5, 0, 3, 19, 33, 50, 71, 90, 118], np.int8)


def network(tables: int = 0) -> onnx.ModelProto:
    """Convolutions of 3x3 and 1x1, one of three input channels, a depthwise one and a product, all with few values:
    of 4 bits, with `tables` 1 of a table, with 2 of a table for each output channel of a convolution."""
    net = QuantisedNet("int4", 3, (12, 12))
    x = net.conv(net.conv(net.image, 32), 64, stride=2)
    x = net.conv(net.depthwise(x), 96, 1)
    model = net.model(net.classified(net.conv(x, 40, 1), 120))
    for tensor in model.graph.initializer:
        if tensor.name.startswith("weight_") and tensor.data_type == TensorProto.INT8 and len(tensor.dims) > 1:
            weights = numpy_helper.to_array(tensor) >> 4
            if tables:
                own = np.arange(len(weights)).reshape(-1, 1, 1, 1) % 5 if tables == 2 and weights.ndim == 4 else 0
                weights = VALUES[weights + 8] + own
            tensor.CopyFrom(numpy_helper.from_array(weights.astype(np.int8), tensor.name))
    return model


@pytest.mark.parametrize("tables", (0, 1, 2))
@pytest.mark.parametrize("fast", (None, "12K", "6K"))
def test_a_network_computes_what_it_does_in_8_bits(fast: str | None, tables: int) -> None:
    model = network(tables)
    image = np.random.default_rng(4).normal(0, 1, (1, 3, 12, 12)).astype(np.float32)
    wide = compile_model(model, fast=fast, chip="cortex-m55")
    packed = compile_model(model, fast=fast, flash=len(wide.data) * 7 // 10)
    conv, full = ((OpKind.INT4_CONV_2D, OpKind.INT4_FULLY_CONNECTED),
                  (OpKind.TABLE_CONV_2D, OpKind.TABLE_FULLY_CONNECTED))[tables > 0]
    assert [op.kind for op in packed.plan.program.ops if op.macs] == [
        OpKind.CONV_2D, conv, OpKind.DEPTHWISE_CONV_2D, conv, conv, full]
    results = []
    for compiled in (packed, wide):
        with Session(compiled) as session:
            results.append(next(iter(session.run({"image": image}).values())))
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("chip", ("esp32s3", "cortex-m55"))
def test_vector_instructions_get_8_bits(chip: str) -> None:
    assert kind_of(layer(random_weights()), chip=chip) is OpKind.FULLY_CONNECTED


def test_a_small_layer_stays_in_8_bits() -> None:
    assert kind_of(layer(random_weights(shape=(32, 64)))) is OpKind.FULLY_CONNECTED


def test_a_table_of_a_fully_connected_layer() -> None:
    """It saves time where weights stream from flash, and costs some elsewhere: then flash must be short."""
    model = layer(VALUES[random_weights() + 8], bits=8)
    assert kind_of(model) is OpKind.TABLE_FULLY_CONNECTED
    assert kind_of(model, chip="cortex-m4") is OpKind.FULLY_CONNECTED
    assert kind_of(model, chip="cortex-m4", flash="6K") is OpKind.TABLE_FULLY_CONNECTED
    seventeen = VALUES[random_weights() + 8]
    seventeen[0, 0] = 101
    assert kind_of(layer(seventeen, bits=8)) is OpKind.FULLY_CONNECTED


def test_tables_without_memory_for_their_scratch() -> None:
    model = network(1)
    smallest = compile_model(model, chip="cortex-m55").plan.fast_bytes // 2
    kinds = {op.kind for op in compile_model(model, fast=smallest).plan.program.ops}
    assert OpKind.TABLE_CONV_2D not in kinds and OpKind.CONV_2D in kinds


@pytest.mark.parametrize("chip", ("esp32s3", "cortex-m55"))
def test_vector_instructions_get_no_tables(chip: str) -> None:
    assert kind_of(layer(VALUES[random_weights() + 8], bits=8), chip=chip) is OpKind.FULLY_CONNECTED
