"""Every operator in int8 and int16, and its float32 and integer forms: TensorFlow Lite Micro's bytes."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
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
from tests.tflite.compare import check_exact, random_input
from tests.tflite.tflm import Tflm
from tests.tflite.writer import Operator, Tensor, constant, write
from tigris_pio import Session, UnsupportedError, compile_model
from tigris_pio.compiler.load.tflite.operators.registry import read_operators
from tigris_pio.format.enums import DType, OpKind

#: Operators of other tests: layers with a memory, constants, control flow, custom operators.
ELSEWHERE = frozenset((
    "ASSIGN_VARIABLE", "CALL_ONCE", "CIRCULAR_BUFFER", "COMPLEX_ABS", "Convolution2DTransposeBias", "DENSIFY", "IF",
    "IMAG", "LOCAL_RESPONSE_NORMALIZATION", "ONE_HOT", "RANGE", "READ_VARIABLE", "REAL", "RELU_0_TO_1",
    "REVERSE_SEQUENCE", "RFFT2D", "SCATTER_ND", "SELECT", "STABLEHLO_COMPOSITE", "SVDF",
    "TFLM_DECODE", "TFLite_Detection_PostProcess", "TOPK_V2", "UNIDIRECTIONAL_SEQUENCE_LSTM", "VAR_HANDLE", "WHILE",
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
    found = {name: outcome(MAKERS[name](Draw(seed, int16), name), (place + seed) % examples(16, 4) == 0)
             for place, name in enumerate(INT16 if int16 else MAKERS)}
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
    """All 256 values; some give NaN or infinity."""
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
    """As in LiteRT; TensorFlow Lite Micro aborts."""
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
