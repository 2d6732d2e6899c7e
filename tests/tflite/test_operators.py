"""Every operator in int8 and int16, and its float32 and integer forms: TensorFlow Lite Micro's bytes."""

import itertools
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.codegen.c_model import CModel, build
from tests.compiler.models import make, nodes
from tests.fuzz.tflite import outcome
from tests.fuzz.tflite_cases import INT16, MAKERS, Draw
from tests.harness.tiers import examples, sampled
from tests.tflite.cases import CORNERS, Case, merged, weighted, x, y
from tests.tflite.cases_int16 import mixed_network
from tests.tflite.compare import check_exact, random_input
from tests.tflite.tflm import Tflm
from tests.tflite.writer import Operator, Tensor, constant, write
from tigris_pio import ModelError, Session, UnsupportedError, compile_model
from tigris_pio.compiler.load.tflite.operators.registry import read_operators
from tigris_pio.compiler.lower.numerics import multiply_rounded, quantize_multiplier
from tigris_pio.format.enums import DType, OpKind, Strategy

#: Operators of other tests: layers with a memory, constants, control flow, custom operators.
ELSEWHERE = frozenset((
    "ASSIGN_VARIABLE", "CALL_ONCE", "CIRCULAR_BUFFER", "COMPLEX_ABS", "Convolution2DTransposeBias", "DENSIFY", "IF",
    "IMAG", "LOCAL_RESPONSE_NORMALIZATION", "ONE_HOT", "RANGE", "READ_VARIABLE", "REAL", "RELU_0_TO_1",
    "REVERSE_SEQUENCE", "RFFT2D", "SCATTER_ND", "SELECT", "STABLEHLO_COMPOSITE", "SVDF", "SignalEnergy",
    "SignalFftAutoScale", "SignalFilterBank", "SignalFilterBankLog", "SignalFilterBankSpectralSubtraction",
    "SignalFilterBankSquareRoot", "SignalPCAN", "SignalRfft", "SignalWindow", "TFLM_DECODE",
    "TFLite_Detection_PostProcess", "TOPK_V2", "UNIDIRECTIONAL_SEQUENCE_LSTM", "VAR_HANDLE", "WHILE",
))  # fmt: skip
#: Operators that compute in integers alone, so no operator of the plan is float32.
INTEGER = ("ADD", "SUB", "MUL", "MEAN", "CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "AVERAGE_POOL_2D",
           "MAX_POOL_2D", "FULLY_CONNECTED", "SOFTMAX", "LOGISTIC", "TANH", "LEAKY_RELU", "TRANSPOSE",
           "CONCATENATION", "RESIZE_NEAREST_NEIGHBOR")  # fmt: skip


def quantised(op: str, int16: bool) -> Iterator[Case]:
    """Random cases in int8 or int16."""
    made = (MAKERS[op](Draw(seed, int16), op) for seed in itertools.count())
    return (case for case in made if {case.inputs[0].dtype, case.outputs[0].dtype} & {"int8", "int16"})


def test_every_operator_has_cases() -> None:
    read = {entry.operator for entry in read_operators() if "TensorList" not in entry.operator}
    assert read - set(MAKERS) == ELSEWHERE


@pytest.mark.parametrize("name", CORNERS)
def test_edge_cases(name: str) -> None:
    """All cases in one file, and each in little memory."""
    cases = list(CORNERS[name]())
    model, values = merged(cases)
    check_exact(model, model, values, tight=False)
    for case in cases[:: examples(8, 2)]:
        check_exact(case.file(), case.file(), case.arrays())


@pytest.mark.parametrize("int16", (False, True), ids=("int8", "int16"))
@pytest.mark.parametrize("seed", sampled(range(10), 2))
def test_random_cases(seed: int, int16: bool) -> None:
    """One case of each operator; some also in little memory."""
    logging.disable(logging.WARNING)
    found = {name: outcome(MAKERS[name](Draw(seed, int16), name), (index + seed) % examples(16, 4) == 0)
             for index, name in enumerate(INT16 if int16 else MAKERS)}
    differing = {name: text for name, text in found.items() if text.startswith("differs")}
    assert not differing
    assert sum(text == "exact" for text in found.values()) > len(found) * (0.9 if int16 else 0.55)


@pytest.mark.parametrize("int16", (False, True), ids=("int8", "int16"))
def test_no_operator_is_computed_in_float32(int16: bool) -> None:
    program = compile_model(merged([next(quantised(name, int16)) for name in INTEGER])[0]).plan.program
    assert not {op.kind for op in program.ops if op.dtype == DType.FLOAT32 and op.kind != OpKind.CAST}


#: Float operators between DEQUANTIZE and QUANTIZE, each with a constant if a second word follows; and a zero point.
SANDWICHES = (
    ("ABS", 3), ("NEG", 3), ("SQUARE", 3), ("SQRT", 3), ("RSQRT", -128), ("EXP", 9), ("ELU", 3),
    ("LOG", -128), ("SIN", 3), ("COS", 3), ("TANH", 3), ("LOGISTIC", 3), ("HARD_SWISH", 3), ("CEIL", 3),
    ("FLOOR", 3), ("ROUND", 3), ("LEAKY_RELU", 3), ("RELU6", 3), ("ADD 0.31", 3), ("SUB 0.3", 3), ("MUL -1.7", 3),
    ("DIV 0.7", 3), ("MAXIMUM 0.4", 3), ("SQUARED_DIFFERENCE 0.25", 3), ("NEG ABS SQRT RSQRT EXP", -128),
    ("MUL 0.5 ADD 1.5 ABS SQRT NEG", 3),
)  # fmt: skip


def sandwich(words: str, zero: int, shape: tuple[int, ...]) -> tuple[list[Tensor], list[Operator]]:
    """DEQUANTIZE, the operators of `words`, QUANTIZE, from int8 to int8 with two scales whose ratio is 2."""
    name, tensors, operators = "f", [x(shape, (0.0625, zero)), Tensor("f", shape, "float32")], []
    operators.append(Operator("DEQUANTIZE", ["x0"], ["f"]))
    for word in words.split():
        if word[-1].isdigit() and word[0] in "-0123456789":
            tensors.append(constant(f"{name}c", np.array(float(word), np.float32)))
            operators[-1].inputs.append(f"{name}c")
            continue
        operators.append(Operator(word, [name], [name + "f"]))
        name += "f"
        tensors.append(Tensor(name, shape, "float32"))
    operators.append(Operator("QUANTIZE", [name], ["y0"]))
    return [*tensors, y(shape, (0.125, zero))], operators


@pytest.mark.parametrize(("words", "zero"), SANDWICHES)
def test_functions_between_dequantize_and_quantize_are_a_table(words: str, zero: int) -> None:
    """All 256 inputs are tested, including those that give NaN or infinity."""
    shape = (1, 4, 8, 8)
    data = write(*sandwich(words, zero, shape), ["x0"], ["y0"])
    compiled = compile_model(data)
    assert [op.kind for op in compiled.plan.program.ops] == [OpKind.LOOKUP]
    every = np.arange(-128, 128, dtype=np.int8).reshape(shape)
    with Session(compiled) as session:
        assert np.array_equal(session.run({"x0": every})["y0"], Tflm(data).run([every])[0])


@pytest.mark.parametrize(("op", "scale", "expected"), [
    ("SQRT", 0.03, [0, 10, 14, 18, 21, 23, 25, 27]), ("LOG", 0.1, [-128, -23, -16, -12, -9, -7, -5, -4]),
])
def test_int8_functions_of_litert_alone(op: str, scale: float, expected: list[int]) -> None:
    """Square roots are rounded down, and log(0) is the lowest integer."""
    tensors = [x((1, 8), (0.1, -128)), y((1, 8), (scale, 0))]
    data = write(tensors, [Operator(op, ["x0"], ["y0"])], ["x0"], ["y0"])
    with Session(compile_model(data)) as session:
        assert session.run({"x0": np.arange(-128, -120, dtype=np.int8)[np.newaxis]})["y0"][0].tolist() == expected


@settings(max_examples=examples(30, 100))
@given(st.integers(1, 60), st.sampled_from(("int64", "int32", "")), st.floats(1e-6, 3e-3), st.floats(1e-6, 3e-2),
       st.integers(0, 9))
def test_requantisation_of_int16_sums(inputs: int, bias: str, source: float, result: float, seed: int) -> None:
    """Any ratio of scales that both accept, with sums of 32 and 64 bits."""
    case = Case("FULLY_CONNECTED", [x((3, inputs), (source, 0), 0, "int16"), *weighted((6, inputs), 0, source, bias)],
                [y((3, 6), (result, 0), "int16")])
    values = case.arrays(seed)
    with Session(compile_model(case.file())) as session:
        assert np.array_equal(session.run(values)["y0"], Tflm(case.file()).run(list(values.values()))[0])


def test_scales_too_far_apart_are_refused() -> None:
    tensors = [Tensor("x", (1, 4), "int16", 1.0), constant("w", np.ones((2, 4), np.int8), 1.0),
               Tensor("y", (1, 2), "int16", 1e-6)]
    data = write(tensors, [Operator("FULLY_CONNECTED", ["x", "w", ""], ["y"])], ["x"], ["y"])
    with pytest.raises(UnsupportedError, match=r"FULLY_CONNECTED_0 .*scale ratio of 1e\+06 is too large for int16"):
        compile_model(data)


@pytest.mark.parametrize("scale", (0.0, 1e-40, 7.84e-9))
@pytest.mark.parametrize("length", (3, 10, 37))
def test_softmax_of_a_tiny_scale_is_uniform(length: int, scale: float) -> None:
    """LiteRT gives these values; TensorFlow Lite Micro aborts."""
    for result, dtype in (((1 / 256, -128), "int8"), ((1 / 65536, -32768), "int16")):
        case = Case("SOFTMAX", [x((3, length), (scale, -5))], [y((3, length), result, dtype)], {"beta": 1.0})
        with Session(compile_model(case.file())) as session:
            got = session.run(case.arrays())["y0"]
        assert np.all(got == round(1 / length / result[0]) + result[1])


def test_operators_without_int16_run_in_float() -> None:
    """TensorFlow Lite Micro has no int16 for them either."""
    tensors = [Tensor(name, (2, 5), "int16", 2e-4) for name in ("x", "z", "y")]
    data = write(tensors, [Operator("DIV", ["x", "z"], ["y"])], ["x", "z"], ["y"])
    compiled = compile_model(data)
    kinds = [op.kind for op in compiled.plan.program.ops]
    assert kinds == [OpKind.DEQUANTIZE, OpKind.DEQUANTIZE, OpKind.BINARY, OpKind.QUANTIZE]
    a, b = random_input((2, 5), "int16", 1), random_input((2, 5), "int16", 2)
    with Session(compiled) as session:
        got = session.run({"x": a, "z": b})["y"]
    assert np.array_equal(got, np.clip(np.rint(a / b.astype(float) / np.float64(np.float32(2e-4))), -32768, 32767))


@pytest.mark.fuzzed
@pytest.mark.parametrize("name", sampled(INT16, ("MEAN", "DEPTHWISE_CONV_2D")))
def test_plain_c_has_the_plans_bytes(name: str, tmp_path: Path) -> None:
    """Cases of int8 and int16 in one file."""
    cases = [*itertools.islice(quantised(name, False), 3), *itertools.islice(quantised(name, True), 3)]
    model, values = merged(cases)
    plan = compile_model(model)
    generated = plan.codegen(None, "m", layout="split")
    with Session(plan) as session:
        stored = {io.name: io.to_stored(io.check_model_array(values[io.name])) for io in session.inputs}
        got = CModel(build([generated], tmp_path), plan, generated, session).run(stored)
        expected = session.run_raw(stored)
        assert [name for name, array in expected.items() if got[name].tobytes() != array.tobytes()] == []


@pytest.mark.parametrize(("op", "tflite"), [("ReduceMean", "MEAN"), ("ReduceSum", "SUM"), ("ReduceMax", "REDUCE_MAX"),
                                            ("ReduceMin", "REDUCE_MIN")])  # fmt: skip
def test_reductions_of_onnx(op: str, tflite: str) -> None:
    """ONNX with QuantizeLinear and DequantizeLinear gives the bytes of the TensorFlow Lite operator, in int8."""
    one = op in ("ReduceMax", "ReduceMin")  # TensorFlow Lite Micro requires one scale
    scale, zero = (0.05, -128) if one else (0.021, 127)
    numbers = {"s": np.float32(0.05), "z": np.int8(-128), "t": np.float32(scale), "o": np.int8(zero)}
    for shape, axes in (((5, 9), (1,)), ((2, 4, 3, 6), (1, 2)), ((1, 7, 5, 3), (0, 3)), ((2, 4, 3, 6), (0, 1, 2, 3))):
        out = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
        reference = Case(tflite, [x(shape, (0.05, -128)), constant("axes", np.array(axes, np.int32))],
                         [y(out, (scale, zero))], {"keepDims": True})
        text = f"DequantizeLinear x0 s z d; {op} d axes r; QuantizeLinear r t o y0"
        model = make(nodes(text), {"x0": shape}, ["y0"], numbers | {"axes": np.array(axes)}, 18, {"x0": 3, "y0": 3})
        compiled = check_exact(reference.file(), model, reference.arrays())
        assert all(item.dtype == DType.INT8 for item in compiled.plan.program.ops), axes


# A network of int16 and int8: TensorFlow Lite Micro's bytes at any budget.


def test_every_budget_gives_the_references_bytes() -> None:
    """Plans have copied or compressed weights, slow memory, or rolling stages."""
    data = mixed_network()
    x = random_input((1, 24, 10, 4))
    compiled = check_exact(data, data, {"x": x})
    expected = Tflm(data).run([x])[0]
    types = {op.dtype for op in compiled.plan.program.ops}
    assert types == {DType.INT8, DType.INT16}
    assert len(np.unique(expected)) > 2
    for options in ({"copy_weights": True}, {"compress": "lz4"}, {"fast": "2K", "slow": "64K"}, {"fast": "3K"}):
        plan = compile_model(data, **options)  # type: ignore[arg-type]
        with Session(plan) as session:
            assert np.array_equal(session.run({"x": x})["y"], expected), options
        if options == {"fast": "3K"}:
            assert any(stage.strategy is Strategy.ROLLING for stage in plan.plan.stages)


# Multipliers to the last bit: sums whose output depends on whether the scales' product is rounded to float32.


def decisive_sums() -> tuple[float, float, float, np.ndarray]:
    """Scales of input, weights and output, and sums whose output depends on the rounding of their product."""
    random = np.random.default_rng(0)
    sums = np.arange(-1_000_000, 1_000_000, dtype=np.int64)
    while True:
        first, second = (np.float32(random.uniform(0.01, 0.1)) for _ in range(2))
        result = np.float32(first * second * 8000)
        double, single = float(first) * float(second), float(np.float32(first * second))
        found = [multiply_rounded(sums, *quantize_multiplier(product / float(result))) for product in (double, single)]
        differ = sums[found[0] != found[1]]
        differ = differ[np.abs(multiply_rounded(differ, *quantize_multiplier(double / float(result)))) < 100]
        if len(differ) >= 4:
            return float(first), float(second), float(result), differ[:64]


def test_a_fully_connected_layer_keeps_the_scales_product_in_double() -> None:
    """The input is zero, so the sums are the biases."""
    first, second, result, sums = decisive_sums()
    tensors = [Tensor("x", (1, 4), "int8", first, 7), constant("w", np.ones((len(sums), 4), np.int8), second),
               constant("b", sums.astype(np.int32), first * second), Tensor("y", (1, len(sums)), "int8", result, 0)]
    data = write(tensors, [Operator("FULLY_CONNECTED", ["x", "w", "b"], ["y"])], ["x"], ["y"])
    check_exact(data, data, {"x": np.full((1, 4), 7, np.int8)})


def test_a_convolution_of_uint8_with_a_zero_point_of_its_weights_rounds_it() -> None:
    """LiteRT's reference kernels round it; TensorFlow Lite Micro has no such kernel."""
    first, second, result, sums = decisive_sums()
    single = float(np.float32(first) * np.float32(second))
    tensors = [
        Tensor("x", (1, 1, 1, 4), "uint8", first, 7), Tensor("y", (1, 1, 1, len(sums)), "uint8", result, 128),
        constant("w", np.full((len(sums), 1, 1, 4), 255, np.uint8), second, 0),
        constant("b", sums.astype(np.int32), first * second),
    ]  # fmt: skip
    options = {"strideW": 1, "strideH": 1, "dilationWFactor": 1, "dilationHFactor": 1}
    data = write(tensors, [Operator("CONV_2D", ["x", "w", "b"], ["y"], options)], ["x"], ["y"])
    with Session(compile_model(data)) as session:
        got = session.run({"x": np.full((1, 1, 1, 4), 7, np.uint8)})["y"].reshape(-1)
    expected = multiply_rounded(sums, *quantize_multiplier(single / result)) + 128
    assert got.tolist() == expected.tolist()


# Operators that TensorFlow Lite Micro lacks, against LiteRT's results, written in numpy.

#: Types, with scale and zero point of the quantised ones.
TYPES = {"float32": (), "int8": (0.05, 3), "uint8": (0.05, 100), "int32": (), "bool": ()}
Made = tuple[Case, list[np.ndarray]]


def tensor(name: str, array: np.ndarray) -> Tensor:
    return Tensor(name, array.shape, array.dtype.name, *TYPES.get(array.dtype.name, ()))


def values(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Small numbers, some of them equal, whose sums fit any type."""
    random = np.random.default_rng(seed)
    return random.integers(0, 2 if dtype == "bool" else 40, shape).astype(dtype)


def case(op: str, inputs: dict[str, np.ndarray], known: set[str], outputs: list[np.ndarray], **options: float) -> Made:
    """`known`: inputs that are constants."""
    given = [constant(name, array, *TYPES.get(array.dtype.name, ())[:2]) if name in known else tensor(name, array)
             for name, array in inputs.items()]
    free = {name: array for name, array in inputs.items() if name not in known}
    return Case(op, given, [tensor(f"y{at}", array) for at, array in enumerate(outputs)], options, free), outputs


def largest() -> Iterator[Made]:
    """TOPK_V2; among equal elements, the one with the lower index comes first."""
    shapes = (((3, 9), 4), ((7,), 1), ((2, 5), 5))
    for dtype, (shape, k) in itertools.product(("float32", "int8", "uint8", "int32"), shapes):
        x = values(shape, dtype, k)
        order = np.argsort(-x.astype(np.int64), -1, kind="stable")[..., :k]
        yield case("TOPK_V2", {"x0": x, "k": np.array(k, np.int32)}, {"k"},
                   [np.take_along_axis(x, order, -1), order.astype(np.int32)])


def hot() -> Iterator[Made]:
    """ONE_HOT; negative indices, and indices from the depth on, select nothing."""
    for dtype, (axis, shape) in itertools.product(TYPES, ((-1, (4,)), (0, (3, 2)), (1, (2, 3)), (-1, ()))):
        positions = np.random.default_rng(7).integers(-3, 8, shape).astype(np.int32)
        on, off = values((2,), "int8", 3).astype(dtype)
        behind = len(shape) - axis % (len(shape) + 1)
        moved = np.expand_dims(positions, axis) == np.arange(5).reshape(-1, *(1,) * behind)
        yield case("ONE_HOT", {"x0": positions, "d": np.array(5, np.int32), "on": np.array(on), "off": np.array(off)},
                   {"d", "on", "off"}, [np.where(moved, on, off)], axis=axis)


def scattered() -> Iterator[Made]:
    """SCATTER_ND; updates of one element are added as integers."""
    positions = (([[4], [1], [6]], (8,)), ([[4], [1], [4]], (8,)), ([[3], [0], [3]], (4, 5)),
              ([[0, 1], [2, 3]], (3, 4, 2)))
    for dtype, (at, shape), fixed in itertools.product(("float32", "int8", "uint8", "int32"), positions, (True, False)):
        index = np.array(at, np.int32)
        updates, result = values((len(at), *shape[index.shape[1] :]), dtype), np.zeros(shape, dtype)
        np.add.at(result, tuple(index.T), updates)
        known = {"s", "i"} if fixed else {"s"}
        yield case("SCATTER_ND", {"i": index, "x0": updates, "s": np.array(shape, np.int32)}, known, [result])


def turned() -> Iterator[Made]:
    """REVERSE_SEQUENCE; the first elements of each sequence are reversed."""
    axes = ((1, 0, (3, 5)), (0, 1, (5, 3)), (1, 3, (2, 4, 3, 5)), (0, 3, (4, 2, 2, 3)), (1, 0, (2, 6, 3)))
    for dtype, (time, batch, shape), fixed in itertools.product(("float32", "uint8", "int32"), axes, (True, False)):
        lengths = np.random.default_rng(time).integers(0, shape[time] + 1, shape[batch]).astype(np.int32)
        x = values(shape, dtype)
        result = x.copy()
        rows, results = (np.moveaxis(array, (batch, time), (0, 1)) for array in (x, result))
        for row, length in enumerate(lengths):
            results[row, :length] = rows[row, :length][::-1]
        yield case("REVERSE_SEQUENCE", {"x0": x, "l": lengths}, {"l"} if fixed else set(), [result], seqDim=time,
                   batchDim=batch)


def responses() -> Iterator[Made]:
    """LRN with TensorFlow's window of `radius` on both sides, which LiteRT's default kernel also has."""
    factors = ((2, 1, 0.1, 0.75, 8), (1, 2, 0.5, 0.5, 3), (0, 1, 0.3, 1, 4), (9, 1, 0.05, 1, 5))
    for radius, bias, alpha, beta, count in factors:
        x = values((2, 3, 4, count), "float32") / 9
        sums = np.stack([(x[..., max(0, at - radius) : at + radius + 1] ** 2).sum(-1) for at in range(count)], -1)
        yield case("LOCAL_RESPONSE_NORMALIZATION", {"x0": x}, set(), [x / (bias + alpha * sums) ** beta], radius=radius,
                   bias=bias, alpha=alpha, beta=beta)


@pytest.mark.parametrize("make", (largest, hot, scattered, turned, responses))
def test_results_are_those_of_litert(make: Callable[[], Iterator[Made]]) -> None:
    """All cases in one file."""
    made = list(make())[:: examples(5, 1)]
    data, given = merged([item for item, _ in made])
    with Session(compile_model(data)) as session:
        got = list(session.run(given).values())
    for result, wanted in zip(got, itertools.chain(*(outputs for _, outputs in made)), strict=True):
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(result, wanted, rtol=1e-5)


WRONG = {
    "the largest 9": ("TOPK_V2", {"x0": values((3, 4), "int8"), "k": np.array(9, np.int32)}, {}),
    "depth -1": ("ONE_HOT", {"x1": values((3,), "int32"), "d": np.array(-1, np.int32), "on": np.float32(1),
                             "off": np.float32(0)}, {}),
    "an index outside of": ("SCATTER_ND", {"i": np.array([[4]], np.int32), "x0": values((1,), "int8"),
                                          "s": np.array([4], np.int32)}, {}),
    "lengths .9. of 5 steps": ("REVERSE_SEQUENCE", {"x0": values((1, 5), "float32"), "l": np.array([9], np.int32)},
                               {"seqDim": 1}),
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_contradictions_are_refused(message: str) -> None:
    op, inputs, options = WRONG[message]
    outputs = [np.zeros(1, np.float32)] * (1 + (op == "TOPK_V2"))
    item, _ = case(op, inputs, set(inputs) - {"x0", "x1"}, outputs, **options)
    with pytest.raises(ModelError, match=f"{op}_0: {message}"):
        compile_model(item.file())
