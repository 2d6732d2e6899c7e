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
PAGE = Path(__file__).resolve().parents[1] / "docs" / "operators.md"

_HEAD = """# Supported operators

`python -m tests.docs.operator_types` writes this page from the compiler's operator contracts; a test keeps it current.
The types are measured on the smallest models of each operator. int8 and int16 mean that nothing is computed in
float32. `-` means that no model of the operator alone takes float32 or quantised integers.

ONNX operators that are not listed compile if ONNX defines them as functions of listed ones. Operators of onnxruntime
and scikit-learn compile if they are [read as others](#read-as-others). Every other operator is refused by name, all of
a model at once, with the remedy: `tigris check MODEL` lists them.

A Conv without groups, a Gemm or a MatMul multiplies in int8 if its input is int8, its int8 weights have no zero points
and its result is not quantised. The result is a 32-bit sum times a scale.

If activations are int16 and weights int8 (ONNX with QuantizeLinear to int16 or uint16, TensorFlow Lite's 16x8), these
operators run in int16: convolutions, Gemm, MatMul, Add, Sub, Mul, Max, Min, pools, ReduceSum, ReduceMean, ReduceMax,
ReduceMin, Softmax, Relu and similar activations, LeakyRelu, Abs, Neg, and all that move elements. So does any other
function of one number, if 512 line segments approximate it within a step. A network may mix int8 and int16 layers;
tensors between them are requantised. Other operators compute in float32 between int16 tensors. int16 activations are
symmetric. A tensor with a zero point, as onnxruntime quantises by default, is stored without it, in steps of up to
twice the size. Inputs and outputs that are integers in the model are then converted.

## ONNX

| ONNX operator | computes in | how it runs |
|---|---|---|
"""


_TFLITE = """
## TensorFlow Lite

A `.tflite` file may have float32, int8, uint8, and int16 with int8 weights. Operators in int8 compute the bytes of
TensorFlow Lite Micro, and so do those in int16 that it has in int16. Weights may be float16, four or two bits wide,
with a scale for each block of a row, sparse, or packed by TensorFlow Lite Micro's compressor. Narrow weights between
float32 tensors (dynamic range and weight-only quantisation) are computed in float32 and take four bytes each, with a
warning. LiteRT also quantises the inputs of dynamic-range layers, so its outputs differ by 1 or 2 % of the largest
(two-bit weights: 6 %). Scale 0 means that all values are 0. The declared shape of a computed tensor is a hint: the
shape that follows from the inputs counts. LOCAL_RESPONSE_NORMALIZATION has TensorFlow's window, the radius on both
sides, like LiteRT's default kernel; the reference kernel omits the last channel. int16 Softmax saturates where
TensorFlow Lite's arithmetic overflows, at input scales beyond about 5. Custom operators that are not listed, strings,
and WHILE or IF with a condition that depends on data are refused.

| operator | computes in | how it is read |
|---|---|---|
"""

_REWRITTEN = """
## Read as others

Operators of onnxruntime's optimiser and quantisers, and of skl2onnx, are replaced by ONNX's own, also in opsets that
lack these. float16 and bfloat16 are computed in float32, with a warning. A text label becomes its index, and a ZipMap
becomes the array of its numbers. The names are in `labels` of the output in the report, and in the metadata of models
that `tigris quantize` writes. Probabilities of a two-class SVM are exact; onnxruntime ends an iteration within 0.005
of them.

| domain | operators |
|---|---|
"""

_REFUSED = """
## Refused

`tigris check MODEL` and every other command name all refused operators of a model at once. They also name types,
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

