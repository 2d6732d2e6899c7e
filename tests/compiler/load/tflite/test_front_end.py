"""The front end for TensorFlow Lite: shapes, names, types, constants, refusals."""

import struct
from pathlib import Path

import numpy as np
import pytest
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

from tests.networks.folders import OWN
from tests.tflite.compare import check_exact, random_input
from tests.tflite.tflm import Tflm
from tests.tflite.writer import SAME, VALID, Operator, Tensor, changed, constant, write
from tigris_pio import ModelError, Session, UnsupportedError, UsageError, compile_model
from tigris_pio.compiler.load import load_model


def numbers(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def run(data: bytes, **inputs: np.ndarray) -> dict[str, np.ndarray]:
    with Session(compile_model(data)) as session:
        return session.run(inputs)


def shape_chain() -> bytes:
    """Flatten as converters write it, with the batch from the input's shape."""
    tensors = [
        Tensor("x", (1, 4, 3), "float32"), Tensor("n", (3,), "int32"), Tensor("one", (), "int32"),
        Tensor("target", (2,), "int32"), Tensor("y", (1, 1), "float32"), constant("rest", np.array(-1, np.int32)),
        constant("a", numbers(0)), constant("b", numbers(1)), constant("c", numbers(1)),
    ]  # fmt: skip
    operators = [
        Operator("SHAPE", ["x"], ["n"], {"outType": schema.TensorType.INT32}),
        Operator("STRIDED_SLICE", ["n", "a", "b", "c"], ["one"], {"shrinkAxisMask": 1}),
        Operator("PACK", ["one", "rest"], ["target"], {"valuesCount": 2, "axis": 0}),
        Operator("RESHAPE", ["x", "target"], ["y"]),
    ]

    def free(model) -> None:
        model.subgraphs[0].tensors[0].shapeSignature = [-1, 4, 3]
        model.subgraphs[0].tensors[4].shapeSignature = [-1, -1]

    return changed(write(tensors, operators, ["x"], ["y"]), free)


@pytest.mark.parametrize("dims,batch", (({}, 1), ({"x:0": 3}, 3)))
def test_computed_shapes_become_constants(dims: dict[str, int], batch: int) -> None:
    graph = load_model(shape_chain(), dims)
    assert [node.op for node in graph.nodes] == ["Reshape"]
    assert graph.tensors["x"].shape == (batch, 4, 3) and graph.tensors["y"].shape == (batch, 12)
    warnings = ('input x: free first axis x:0 taken as a batch of 1; set it with dims={"x:0": VALUE}',)
    assert graph.warnings == (() if dims else warnings)


def test_inputs_and_outputs_have_the_signatures_names() -> None:
    def sign(model) -> None:
        signature = schema.SignatureDefT()
        signature.signatureKey, signature.subgraphIndex = "serving_default", 0
        source, result = schema.TensorMapT(), schema.TensorMapT()
        source.name, source.tensorIndex, result.name, result.tensorIndex = "features", 0, "scores", 4
        signature.inputs, signature.outputs = [source], [result]
        model.signatureDefs = [signature]

    graph = load_model(changed(shape_chain(), sign))
    assert (graph.inputs, graph.outputs) == (("features",), ("scores",))


def relu() -> bytes:
    tensors = [Tensor(name, (1, 4), "float32") for name in ("placeholder", "y")]
    return write(tensors, [Operator("RELU", ["placeholder"], ["y"])], ["placeholder"], ["y"])


@pytest.mark.parametrize("given,name", (("", "output_0"), ("a;b;c", "a"), ("placeholder", "placeholder_0")))
def test_tensor_names_become_short_and_unique(given: str, name: str) -> None:
    def rename(model) -> None:
        model.subgraphs[0].tensors[1].name = given

    graph = load_model(changed(relu(), rename))
    assert graph.outputs == (name,) and graph.inputs == ("placeholder",)


@pytest.mark.parametrize("fields", (("builtinCode",), ("deprecatedBuiltinCode",),
                                    ("builtinCode", "deprecatedBuiltinCode")))
def test_operator_codes_in_either_field(fields: tuple[str, ...]) -> None:
    def code(model) -> None:
        item = model.operatorCodes[0]
        item.builtinCode = item.deprecatedBuiltinCode = 0
        for field in fields:
            setattr(item, field, schema.BuiltinOperator.ABS)

    x = random_input((1, 4), "float32")
    assert np.array_equal(run(changed(relu(), code), placeholder=x)["y"], np.abs(x))


@pytest.mark.parametrize("declared", ([1, 5], [4], [], [2, 3, 4]))
def test_declared_shapes_of_outputs_are_hints(declared: list[int]) -> None:
    x = random_input((1, 4), "float32")
    data = changed(relu(), lambda model: setattr(model.subgraphs[0].tensors[1], "shape", declared))
    assert np.array_equal(run(data, placeholder=x)["y"], np.maximum(x, 0))


def test_a_composite_becomes_its_subgraph() -> None:
    tensors = [Tensor("x", (1, 4), "float32"), constant("k", np.float32([[1, -2, 3, -4]])),
               Tensor("y", (1, 4), "float32")]
    inner = [Tensor(name, (1, 4), "float32") for name in "abc"]
    data = write(tensors, [Operator("ADD", ["x", "k"], ["y"])], ["x"], ["y"],
                 subgraphs=[(inner, [Operator("SUB", ["b", "a"], ["c"])])])

    def composite(model) -> None:
        main, part = model.subgraphs
        part.inputs, part.outputs = [0, 1], [2]
        operator, options = main.operators[0], schema.StableHLOCompositeOptionsT()
        options.name, options.decompositionSubgraphIndex = "odml.backwards", 1
        operator.builtinOptions, operator.builtinOptionsType, operator.builtinOptions2 = None, 0, options
        operator.builtinOptions2Type = schema.BuiltinOptions2.StableHLOCompositeOptions
        code = model.operatorCodes[operator.opcodeIndex]
        code.builtinCode, code.deprecatedBuiltinCode = schema.BuiltinOperator.STABLEHLO_COMPOSITE, 127

    x = random_input((1, 4), "float32")
    assert np.array_equal(run(changed(data, composite), x=x)["y"], np.float32([[1, -2, 3, -4]]) - x)


def test_data_and_options_may_lie_behind_the_tables() -> None:
    values = np.float32([[1, -2, 3, -4]])
    tensors = [Tensor("x", (1, 4), "float32"), constant("k", values), Tensor("y", (1, 4), "float32")]
    data = write(tensors, [Operator("ADD", ["x", "k"], ["y"])], ["x"], ["y"])

    def outside(start: int) -> bytes:
        def move(model) -> None:
            buffer = model.buffers[model.subgraphs[0].tensors[1].buffer]
            buffer.data, buffer.offset, buffer.size = None, start, values.nbytes
        return changed(data, move)

    start = len(outside(1 << 20))
    x = random_input((1, 4), "float32")
    assert np.array_equal(run(outside(start) + values.tobytes(), x=x)["y"], x + values)
    with pytest.raises(ModelError, match="outside of the file; it is truncated"):
        load_model(outside(start))


#: Operators on the height 4 and the width 5 of an image, with results 9, 20, 2, ….
SCALARS = {
    "MUL": 20, "ADD": 9, "SUB": -1, "MAXIMUM": 5, "MINIMUM": 4, "FLOOR_DIV": 0, "FLOOR_MOD": 4, "DIV": 0,
    "SQUARED_DIFFERENCE": 1, "REDUCE_PROD": 20, "SUM": 9, "REDUCE_MAX": 5, "ARG_MAX": 1, "GREATER": 0,
}


@pytest.mark.parametrize("op", SCALARS)
def test_arithmetic_on_scalars_of_a_shape(op: str) -> None:
    """The result, clamped to at least 1, is the size of a vector."""
    types = {"ARG_MAX": "int32", "GREATER": "bool"}
    tensors = [Tensor("x", (1, 4, 5, 1), "float32"), Tensor("shape", (4,), "int32"), Tensor("size", (2,), "int32"),
               Tensor("h", (), "int32"), Tensor("w", (), "int32"), Tensor("raw", (), types.get(op, "int32")),
               Tensor("r", (), "int32"), Tensor("more", (), "int32"), Tensor("sizes", (2,), "int32"),
               Tensor("filled", (1, 1), "float32"), Tensor("y", (1, 1), "float32"),
               *(constant(name, numbers(value)) for name, value in (("1", 1), ("3", 3))),
               constant("0", np.array(0, np.int32)), constant("2", np.array(2, np.int32)),
               constant("value", np.array(0.5, np.float32)), constant("axes", numbers(0, 1, 2, 3)),
               Tensor("sum", (), "float32")]
    pair = ["size", "0"] if op.startswith(("REDUCE", "SUM", "ARG")) else ["h", "w"]
    options = {"ARG_MAX": {"outputType": 2}}.get(op, {})
    operators = [
        Operator("SHAPE", ["x"], ["shape"]), Operator("STRIDED_SLICE", ["shape", "1", "3", "1"], ["size"]),
        Operator("UNPACK", ["size"], ["h", "w"], {"num": 2}), Operator(op, pair, ["raw"], options),
        Operator("CAST", ["raw"], ["r"]), Operator("MAXIMUM", ["r", "2"], ["more"]),
        Operator("PACK", ["more", "2"], ["sizes"], {"valuesCount": 2}), Operator("SUM", ["x", "axes"], ["sum"]),
        Operator("FILL", ["sizes", "value"], ["filled"]), Operator("ADD", ["filled", "sum"], ["y"]),
    ]  # fmt: skip
    x = random_input((1, 4, 5, 1), "float32")
    got = run(write(tensors, operators, ["x"], ["y"]), x=x)["y"]
    assert got.shape == (max(SCALARS[op], 2), 2)
    np.testing.assert_allclose(got, 0.5 + x.sum(), rtol=1e-5)


def test_weights_of_half_precision_are_widened() -> None:
    half = np.linspace(-2, 2, 12).astype(np.float16).reshape(3, 4)
    tensors = [Tensor("x", (1, 4), "float32"), constant("half", half), Tensor("w", (3, 4), "float32"),
               Tensor("y", (1, 3), "float32")]
    data = write(tensors, [Operator("DEQUANTIZE", ["half"], ["w"]), Operator("FULLY_CONNECTED", ["x", "w", ""], ["y"])],
                 ["x"], ["y"])
    x = random_input((1, 4), "float32")
    np.testing.assert_allclose(run(data, x=x)["y"], x @ half.astype(np.float32).T, rtol=1e-5)


def test_int8_weights_between_float_tensors_run_in_float_with_a_warning() -> None:
    weights = random_input((3, 4))
    tensors = [Tensor("x", (1, 4), "float32"), constant("w", weights, 0.5), Tensor("y", (1, 3), "float32")]
    data = write(tensors, [Operator("FULLY_CONNECTED", ["x", "w", ""], ["y"])], ["x"], ["y"])
    x = random_input((1, 4), "float32")
    np.testing.assert_allclose(run(data, x=x)["y"], x @ (weights * np.float32(0.5)).T, rtol=1e-5)
    (warning,) = compile_model(data).report["warnings"]
    assert warning.startswith("layer FULLY_CONNECTED_0 has quantised weights between float tensors")


def test_dequantised_weights_run_in_float_with_a_warning() -> None:
    weights = random_input((3, 4))
    tensors = [Tensor("x", (1, 4), "float32"), constant("q", weights, 0.5), Tensor("w", (3, 4), "float32"),
               Tensor("y", (1, 3), "float32")]
    operators = [Operator("DEQUANTIZE", ["q"], ["w"]), Operator("FULLY_CONNECTED", ["x", "w", ""], ["y"])]
    data = write(tensors, operators, ["x"], ["y"])
    x = random_input((1, 4), "float32")
    np.testing.assert_allclose(run(data, x=x)["y"], x @ (weights * np.float32(0.5)).T, rtol=1e-5)
    assert sum("quantised weights between" in item for item in compile_model(data).report["warnings"]) == 1


def test_weights_with_a_scale_for_each_block() -> None:
    random = np.random.default_rng(2)
    scales, zeros = random.uniform(0.1, 2, (3, 2)).astype(np.float16), random.integers(-3, 3, (3, 2)).astype(np.int8)
    weights = random.integers(-8, 7, (3, 64), np.int8)
    tensors = [Tensor("x", (1, 64), "float32"), constant("w", weights, 1.0), Tensor("y", (1, 3), "float32"),
               constant("s", scales), constant("z", zeros)]
    data = write(tensors, [Operator("FULLY_CONNECTED", ["x", "w", ""], ["y"])], ["x"], ["y"])

    def blocks(size: int):
        def change(model) -> None:
            quantisation, details = schema.QuantizationParametersT(), schema.BlockwiseQuantizationT()
            details.scales, details.zeroPoints, details.blockSize = 3, 4, size
            quantisation.details, quantisation.detailsType = details, schema.QuantizationDetails.BlockwiseQuantization
            model.subgraphs[0].tensors[1].quantization = quantisation
        return change

    x = random_input((1, 64), "float32")
    real = (weights - np.repeat(zeros, 32, 1).astype(np.float32)) * np.repeat(scales.astype(np.float32), 32, 1)
    np.testing.assert_allclose(run(changed(data, blocks(32)), x=x)["y"], x @ real.T, rtol=1e-4)
    with pytest.raises(ModelError, match=r"scales \[3, 2\] of blocks of 16 for \[3, 64\]"):
        load_model(changed(data, blocks(16)))


#: A matrix of zeros and a few other elements, as rows of indices, and in blocks of 1 x 2.
SPARSE = np.array([[1, 2, 0, 0], [0, 0, 0, 0], [0, 0, 3, 4], [5, 6, 7, 8]], np.float32)


@pytest.mark.parametrize(("blocks", "densify"), ((False, True), (True, False)))
def test_sparse_constants_are_made_dense(blocks: bool, densify: bool) -> None:
    tensors = [Tensor("x", (1, 4), "float32"), constant("s", SPARSE), Tensor("w", (4, 4), "float32"),
               Tensor("y", (1, 4), "float32")]
    operators = [Operator("FULLY_CONNECTED", ["x", "w" if densify else "s", ""], ["y"])]
    if densify:
        operators.insert(0, Operator("DENSIFY", ["s"], ["w"]))

    def thin(model) -> None:
        sparsity = schema.SparsityParametersT()
        sparsity.traversalOrder, sparsity.blockMap = ([0, 1, 2], [1]) if blocks else ([0, 1], [])
        rows, columns, block = (schema.DimensionMetadataT() for _ in range(3))
        rows.format, rows.denseSize = 0, 4
        columns.format = 1
        columns.arraySegmentsType = columns.arrayIndicesType = schema.SparseIndexVector.Uint8Vector
        columns.arraySegments, columns.arrayIndices = schema.Uint8VectorT(), schema.Uint8VectorT()
        columns.arraySegments.values = [0, 1, 1, 2, 4] if blocks else [0, 2, 2, 4, 8]
        columns.arrayIndices.values = [0, 1, 0, 1] if blocks else [0, 1, 2, 3, 0, 1, 2, 3]
        block.format, block.denseSize = 0, 2
        sparsity.dimMetadata = [rows, columns, block] if blocks else [rows, columns]
        model.subgraphs[0].tensors[1].sparsity = sparsity
        number = model.subgraphs[0].tensors[1].buffer
        model.buffers[number].data = np.frombuffer(SPARSE[SPARSE != 0].tobytes(), np.uint8)

    x = random_input((1, 4), "float32")
    result = run(changed(write(tensors, operators, ["x"], ["y"]), thin), x=x)["y"]
    np.testing.assert_allclose(result, x @ SPARSE.T, rtol=1e-5)


@pytest.mark.parametrize(("bits", "shape"), ((4, (3, 8)), (2, (3, 8)), (4, (64, 96)), (4, (48, 3, 3, 32))))
def test_packed_weights_give_the_references_results(bits: int, shape: tuple[int, ...]) -> None:
    """The reference gets them in whole bytes. The last two stay packed in the plan."""
    least = -(1 << (bits - 1))
    values = np.random.default_rng(bits).integers(least, -least, shape, np.int8)
    each = 8 // bits
    packed = sum((values.reshape(-1)[index::each] & ((1 << bits) - 1)).astype(np.uint8) << index * bits
                 for index in range(each))
    image = len(shape) == 4
    before, after = ((1, 7, 6, shape[3]), (1, 7, 6, shape[0])) if image else ((1, shape[1]), (1, shape[0]))
    scales = np.linspace(0.2, 0.3, shape[0] if image else 1)
    tensors = [Tensor("x", before, "int8", 0.1, 2), constant("w", values, list(scales)),
               Tensor("y", after, "int8", 1.3, -1),
               constant("b", np.arange(shape[0], dtype=np.int32) * 40, list(scales * 0.1))]

    def pack(model) -> None:
        tensor = model.subgraphs[0].tensors[1]
        tensor.type = {4: schema.TensorType.INT4, 2: schema.TensorType.INT2}[bits]
        model.buffers[tensor.buffer].data = packed

    options = {"strideH": 1, "strideW": 1, "padding": SAME, "dilationHFactor": 1, "dilationWFactor": 1}
    layer = (Operator("CONV_2D", ["x", "w", "b"], ["y"], options) if image
             else Operator("FULLY_CONNECTED", ["x", "w", "b"], ["y"]))
    plain = write(tensors, [layer], ["x"], ["y"])
    check_exact(plain, changed(plain, pack), {"x": random_input(before)})


@pytest.mark.parametrize("taken", (True, False))
def test_the_branch_of_a_known_condition_is_read(taken: bool) -> None:
    tensors = [Tensor("x", (1, 4), "float32"), constant("c", np.array([taken])), Tensor("y", (1, 4), "float32")]
    parts = [([Tensor("a", (1, 4), "float32"), Tensor("b", (1, 4), "float32")], [Operator(op, ["a"], ["b"])])
             for op in ("ABS", "NEG")]

    def ends(model) -> None:
        for graph in model.subgraphs[1:]:
            graph.inputs, graph.outputs = [0], [1]

    branch = Operator("IF", ["c", "x"], ["y"], {"thenSubgraphIndex": 1, "elseSubgraphIndex": 2})
    x = random_input((1, 4), "float32")
    result = run(changed(write(tensors, [branch], ["x"], ["y"], subgraphs=parts), ends), x=x)["y"]
    assert np.array_equal(result, np.abs(x) if taken else -x)


def test_all_refused_operators_are_listed_at_once() -> None:
    tensors = [Tensor(name, (1, 4), "int8", 0.1) for name in "xabcy"]
    operators = [Operator("SEGMENT_SUM", ["x"], ["a"]), Operator("RELU", ["a"], ["b"]),
                 Operator("Sink", ["a"], [], custom=b""),
                 Operator("MyOp", ["b"], ["c"], custom=b""), Operator("ADD", ["c", "c"], ["y"])]
    with pytest.raises(UnsupportedError) as refusal:
        compile_model(write([*tensors, Tensor("text", (1,), "string")], operators, ["x", "text"], ["y"]))
    assert [(name, op, reason.partition(";")[0]) for name, op, reason in refusal.value.refused] == [
        ("text", "graph input", "type string"),
        ("Sink_2", "tflite.Sink", "this operator is not supported"),
        ("SEGMENT_SUM_0", "tflite.SEGMENT_SUM", "this operator is not supported"),
        ("MyOp_3", "tflite.MyOp", "this operator is not supported"),
    ]


WRONG = {
    "no tensor": (lambda model: setattr(model.subgraphs[0].operators[0], "inputs", [99]),
                  r"operator 0 \(RELU\): its inputs name tensor 99 of 2; the file is damaged"),
    "no buffer": (lambda model: setattr(model.subgraphs[0].tensors[0], "buffer", 77),
                  r"tensor 0 \(placeholder\): its data are in buffer 77 of 1; the file is damaged"),
    "an external buffer": (lambda model: setattr(model.subgraphs[0].tensors[0], "externalBuffer", 2),
                           "its data are in another file; convert the model into one file"),
    "no code": (lambda model: setattr(model.subgraphs[0].operators[0], "opcodeIndex", 5),
                "operator 0: its code is number 5 of 1; the file is damaged"),
    "a size below zero": (lambda model: setattr(model.subgraphs[0].tensors[0], "shape", [1, -4]),
                          r"tensor 0 \(placeholder\): shape \[1, -4\]"),
    "a name that is no text": (lambda model: setattr(model.subgraphs[0].tensors[1], "name", b"\xff\xfe"),
                               "tensor 1: its name is no UTF-8 text"),
    "read before it is computed": (lambda model: setattr(model.subgraphs[0].operators[0], "inputs", [1]),
                                   r"node RELU_0: it reads tensor 1 \(y\), which nothing before it computes"),
    "computed twice": (lambda model: model.subgraphs[0].operators.append(model.subgraphs[0].operators[0]),
                       r"node RELU_1: it writes tensor 1 \(y\), which is defined already"),
    "another version": (lambda model: setattr(model, "version", 4), "version 4 of TensorFlow Lite's format"),
    "a huge tensor": (lambda model: [setattr(tensor, "shape", [1 << 20, 1 << 20])
                                     for tensor in model.subgraphs[0].tensors], "2 GB|elements"),
    "no outputs": (lambda model: setattr(model.subgraphs[0], "outputs", []), "it has no outputs"),
    "a long name": (lambda model: setattr(model.subgraphs[0].tensors[0], "name", "n" * 2000), "2,000 bytes in a name"),
}


@pytest.mark.parametrize("what", WRONG)
def test_errors_in_a_file_name_their_place(what: str, tmp_path: Path) -> None:
    change, message = WRONG[what]
    path = tmp_path / "net.tflite"
    path.write_bytes(changed(relu(), change))
    with pytest.raises(ModelError, match=message) as refusal:
        load_model(path)
    assert "net" in str(refusal.value)


@pytest.mark.parametrize("op, remedy", (("ethos-u", "before Vela"), ("edgetpu-custom-op", "from before")))
def test_a_file_for_an_npu_is_refused_in_one_line(op: str, remedy: str) -> None:
    tensors = [Tensor("x", (1, 4), "int8", 0.1), constant("commands", random_input((64,), "uint8")),
               Tensor("scratch", (4096,), "uint8"), Tensor("y", (1, 2), "int8", 0.1)]
    operator = Operator(op, ["commands", "scratch", "x"], ["y"], custom=b"\1\4\1")
    with pytest.raises(UnsupportedError) as refusal:
        compile_model(write(tensors, [operator], ["x"], ["y"]))
    assert str(refusal.value).splitlines()[1:] == [
        f"  {op}_0 (tflite.{op}): this operator is not supported; the file was compiled "
        f"{'by Vela ' * (op == 'ethos-u')}for an NPU: give the file {'from ' * (op == 'ethos-u')}{remedy} (output y)"]


def test_truncated_files_are_refused() -> None:
    data = (OWN / "micro_speech_int8.tflite").read_bytes()
    for size in (*range(0, 64, 3), *range(64, len(data), 401)):
        with pytest.raises(ModelError):
            compile_model(data[:size] if size >= 8 else data[:8])


def test_old_shapes_of_reshape() -> None:
    """The shape is an option alone."""
    tensors = [Tensor("x", (1, 50), "int8", 0.1, 3), Tensor("y", (1, 5, 5, 2), "int8", 0.1, 3)]
    data = write(tensors, [Operator("RESHAPE", ["x"], ["y"], {"newShape": [1, 5, 5, -1]})], ["x"], ["y"])
    check_exact(data, data, {"x": random_input((1, 50))})


def test_inputs_that_are_set() -> None:
    """Values of a quantised input are the file's integers."""
    tensors = [Tensor("x", (1, 4), "uint8", 0.1, 120), Tensor("b", (1, 4), "uint8", 0.2, 130),
               Tensor("y", (1, 4), "uint8", 0.3, 125)]
    data = write(tensors, [Operator("MAXIMUM", ["x", "b"], ["y"])], ["x", "b"], ["y"])
    x = random_input((1, 4), "uint8")
    whole = run(data, x=x, b=np.array([[1, 2, 3, 200]], np.uint8))["y"]
    with Session(compile_model(data, set={"b": "1,2,3,200"})) as session:
        assert [io.name for io in session.inputs] == ["x"]
        assert np.array_equal(session.run({"x": x})["y"], whole)
    for name, value, message in (("c", 1, "has no input of that name; it has: x, b"), ("b", 256, "from 0 to 255")):
        with pytest.raises(UsageError, match=message):
            compile_model(data, set={name: value})


@pytest.mark.parametrize("padding,strides", ((SAME, (2, 2)), (SAME, (1, 3)), (VALID, (2, 1))))
def test_mediapipes_transposed_convolution_is_tensorflow_lites_with_a_bias(padding: int, strides) -> None:
    """The reference runs TRANSPOSE_CONV; the compiled file has the custom operator instead."""
    (rows, columns), (height, width) = strides, (5, 4)
    lost = [max(0, 2 - (number - 1) % stride) if padding == SAME else 0
            for number, stride in zip((height, width), strides, strict=True)]
    size = [(number - 1) * stride + 3 - less
            for number, stride, less in zip((height, width), strides, lost, strict=True)]
    weights, bias = random_input((6, 3, 3, 4), "float32", 1), random_input((6,), "float32", 2)
    tensors = [Tensor("x", (1, height, width, 4), "float32"), constant("size", numbers(1, *size, 6)),
               constant("w", weights), constant("b", bias), Tensor("y", (1, *size, 6), "float32")]
    plain = write(tensors, [Operator("TRANSPOSE_CONV", ["size", "w", "x", "b"], ["y"], {
        "padding": padding, "strideH": rows, "strideW": columns})], ["x"], ["y"])
    options = struct.pack("<3i", 1 if padding == SAME else 2, columns, rows)
    names = ["x", "w", "b"], ["y"]
    made, cut = (write(tensors, [Operator("Convolution2DTransposeBias", *names, custom=item)], ["x"], ["y"])
                 for item in (options, options[:4]))
    x = random_input((1, height, width, 4), "float32")
    np.testing.assert_allclose(run(made, x=x)["y"], Tflm(plain).run([x])[0], rtol=1e-4, atol=1e-4)
    with pytest.raises(ModelError, match="4 bytes of options instead of 12"):
        load_model(cut)


def test_the_shape_of_a_scalar_has_no_buffer() -> None:
    tensors = [Tensor("x", (1, 1), "float32"), Tensor("shape", (0,), "int32"), Tensor("s", (), "float32"),
               constant("k", np.array([2, 3], np.float32)), Tensor("y", (2,), "float32")]
    operators = [Operator("RESHAPE", ["x", "shape"], ["s"]), Operator("MUL", ["s", "k"], ["y"])]
    data = write(tensors, operators, ["x"], ["y"])
    assert run(data, x=np.array([[1.5]], np.float32))["y"].tolist() == [3.0, 4.5]


@pytest.mark.parametrize("dtype", ("float32", "int8", "int32"))
@pytest.mark.parametrize("shape, part, begin", (
    ((4, 5), (2, 3), (0, 9)), ((4, 5), (2, 3), (-4, 0)), ((1, 6, 2, 3), (1, 1, 2, 3), (0, 4, 0, 0)),
    ((2, 3, 4), (2, 3, 1), (9, -1, 2)), ((4, 5), (4, 5), (1, 1)),
))  # fmt: skip
def test_a_slice_update_is_moved_inside_the_tensor(shape, part, begin, dtype: str) -> None:
    """At constant and at computed indices."""
    scale = 0.1 if dtype == "int8" else None
    at = numbers(*begin)
    x, u = (random_input(size, "int8", index).astype(dtype) for index, size in enumerate((shape, part)))
    got, refs = [], []
    for index in (constant("at", at), Tensor("at", at.shape, "int32")):
        tensors = [Tensor("x", shape, dtype, scale), Tensor("u", part, dtype, scale), index,
                   Tensor("y", shape, dtype, scale)]
        given = {"x": x, "u": u} if index.data is not None else {"x": x, "u": u, "at": at}
        data = write(tensors, [Operator("DYNAMIC_UPDATE_SLICE", ["x", "u", "at"], ["y"])], list(given), ["y"])
        got.append(run(data, **given)["y"])
        refs += Tflm(data).run(list(given.values())) if index.data is not None else []
    assert np.array_equal(got[0], refs[0]) and np.array_equal(got[1], refs[0])


@pytest.mark.parametrize("op, source, target, message", [("QUANTIZE", "int32", "int16", "from int32 (x)"),
                                                      ("QUANTIZE", "float32", "int32", "its output y is int32 of"),
                                                      ("QUANTIZE", "int16", "int32", "its output y holds numbers"),
                                                      ("DEQUANTIZE", "int32", "float32", "from int32 (x)")])
def test_wide_integers_with_a_scale_are_refused(op: str, source: str, target: str, message: str) -> None:
    """Lowered as plain integers, these tensors would lose their scale."""
    scales = {"float32": None, "int32": 1e-6, "int16": 1e-3}
    tensors = [Tensor("x", (1, 4), source, scales[source]), Tensor("y", (1, 4), target, scales[target])]
    with pytest.raises(UnsupportedError) as refusal:
        compile_model(write(tensors, [Operator(op, ["x"], ["y"])], ["x"], ["y"]))
    assert f"{op}_0 (tflite.{op}): {message}" in str(refusal.value)


def test_a_transposed_convolution_uses_its_outputs_shape() -> None:
    """Its sizes are computed at run time; the reference ignores them as well."""
    random = np.random.default_rng(3)
    weights = random.integers(-127, 127, (6, 3, 3, 4), dtype=np.int8, endpoint=True)
    tensors = [Tensor("sizes", (4,), "int32"), constant("w", weights, [0.01] * 6, 0, 0),
               Tensor("x", (1, 5, 4, 4), "int8", 0.1, 3), Tensor("y", (1, 10, 8, 6), "int8", 0.4, -7)]
    options = {"strideH": 2, "strideW": 2, "padding": SAME}
    data = write(tensors, [Operator("TRANSPOSE_CONV", ["sizes", "w", "x"], ["y"], options)], ["sizes", "x"], ["y"])
    check_exact(data, data, {"sizes": np.array([1, 10, 8, 6], np.int32), "x": random_input((1, 5, 4, 4))})
