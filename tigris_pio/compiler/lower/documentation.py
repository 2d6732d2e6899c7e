"""The text of docs/operators.md, from the operator contracts and the readers of .tflite operators.

`python -m tests.docs.operator_types` measures the types in which operators compute, and writes the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tigris_pio.compiler.load.onnx.classical import CLASSICAL
from tigris_pio.compiler.load.onnx.fused import FUSED
from tigris_pio.compiler.load.onnx.qoperators import QUANTISED
from tigris_pio.compiler.load.tflite.operators.registry import read_operators
from tigris_pio.compiler.lower.registry import supported_operators
from tigris_pio.compiler.lower.remedies import REMEDIES

#: Names of element types by operator.
Types = Mapping[str, Sequence[str]]
DOCUMENT_PATH = Path(__file__).resolve().parents[3] / "docs" / "operators.md"

_HEAD = """# Supported operators

Written from the compiler's operator contracts by `python -m tests.docs.operator_types`; a test keeps it so. The types
are measured on the smallest models of each operator: int8 and int16 where nothing of it is computed in float32; `-`
where no model of it alone takes float32 or integers that stand for real numbers.

ONNX operators that are not listed compile too when ONNX defines them as functions of listed ones, and so do those
of onnxruntime and of scikit-learn that are [read as others](#read-as-others). What does not compile is refused by
name, every such node at once, with what to do: `tigris check MODEL` lists them.

A Conv without groups, a Gemm or a MatMul between an int8 input, int8 weights without zero points and a result that
nothing quantises multiplies in int8: its result is a sum of 32 bits times a scale.

Where activations are quantised to int16, weights to int8 (ONNX with QuantizeLinear to int16 or uint16, TensorFlow
Lite's 16x8), these run in int16: convolutions, Gemm, MatMul, Add, Sub, Mul, Max, Min, pools, ReduceSum, ReduceMean,
ReduceMax, ReduceMin, Softmax, Relu and its like, LeakyRelu, Abs, Neg, any other function of one number that 512
straight lines come within a step of, and all that moves elements. Layers of int8 and int16 live in one network; what
lies between them is requantised. Other operators take float32 between int16 tensors. Activations of int16 are
symmetric: one with a zero point, as onnxruntime quantises by default, is stored without it in steps of up to twice the
size, and inputs and outputs that are integers in the model are converted.

## ONNX

| ONNX operator | computes in | how it runs |
|---|---|---|
"""


_TFLITE = """
## TensorFlow Lite

Read from `.tflite` files: float32, int8, uint8 and int16 with weights of int8; what is computed in int8 or int16 has
TensorFlow Lite Micro's bytes, where that has the operator in int16. Weights may be float16, four bits or two wide,
with a scale for each block of a row, sparse, or packed by TensorFlow Lite Micro's compressor. Between float32 tensors
narrow weights (dynamic range and weight-only quantisation) are computed in float32 and take four bytes each, which a
warning says; LiteRT quantises the inputs of dynamic-range layers as well, so its outputs differ by 1 or 2 % of the
largest (weights of two bits: 6 %). Scale 0 means that all values are 0. Shapes that a file declares of what is
computed are hints: those that follow from the inputs count. LOCAL_RESPONSE_NORMALIZATION has TensorFlow's window of
the radius on both sides, as LiteRT's default kernel, of which its reference kernel lacks the last channel. int16
Softmax saturates where TensorFlow Lite's arithmetic overflows, at input scales beyond about 5. Custom operators that
are not listed, strings, and WHILE or IF whose condition depends on data are refused.

| operator | computes in | how it is read |
|---|---|---|
"""

_REWRITTEN = """
## Read as others

Operators that onnxruntime's optimiser and quantisers write, and those of skl2onnx, mean a few of ONNX's own, also in
opsets that lack these. float16 and bfloat16 are computed in float32, which a warning says. Labels that are texts are
their index, and a ZipMap is the array of its numbers; the names are `labels` of the output in the report, and of the
model's metadata in what `tigris quantize` writes. Probabilities of an SVM of two classes are exact, where onnxruntime
ends an iteration within 0.005 of them.

| domain | operators |
|---|---|
"""

_REFUSED = """
## Refused

All that a model has of these is named at once, by `tigris check MODEL` and every other command. So are types,
attributes and shapes that a row above excludes, each with its reason. `tflite.NAME` are operators of TensorFlow Lite.

| operators | what to do |
|---|---|
"""


def _row(operator: str, summary: str, types: Types) -> str:
    return f"| {operator} | {', '.join(types.get(operator, ())) or '-'} | {summary} |"


def _plain(patterns: str) -> str:
    return " ".join(f"`{pattern}`" for pattern in patterns.split())


def render(types: Types, read_types: Types) -> str:
    """The page's text.

    types, read_types: the types in which ONNX operators and TensorFlow Lite operators compute
    """
    rows = [_row(item.operator, item.summary, types) for item in supported_operators()]
    read = [_row(item.operator, item.summary, read_types) for item in read_operators()]
    refused = [f"| {_plain(item.operators)} | {item.remedy} |" for item in REMEDIES]
    keys = sorted({*QUANTISED, *FUSED, *CLASSICAL})
    keys = [key for key in keys if key[0] or ("com.microsoft", key[1]) not in keys]
    domains = [f"| `{domain or 'ai.onnx'}` | {', '.join(name for own, name in keys if own == domain)} |"
               for domain in sorted({domain for domain, _ in keys})]
    parts = ((_HEAD, rows), (_TFLITE, read), (_REWRITTEN, domains), (_REFUSED, refused))
    return "".join(head + "\n".join(lines) + "\n" for head, lines in parts)

