"""Replaces the fused operators of onnxruntime's optimiser by ONNX's operators.

Signatures: onnxruntime's docs/ContribOperators.md. Attention and operators for one processor's element order stay, and
are refused later.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx

from tigris_pio.compiler.load.onnx.replace import Replacement, replace_nodes, without

_MICROSOFT = "com.microsoft"
#: The first opset with Gelu.
_GELU = 20
#: Activations, with the attributes to which `activation_params` are assigned, in order.
_ACTIVATIONS = {
    "Elu": ("alpha",), "HardSigmoid": ("alpha", "beta"), "LeakyRelu": ("alpha",), "Relu": (),
    "Selu": ("alpha", "gamma"), "Sigmoid": (), "Softplus": (), "Softsign": (), "Tanh": (),
    "ThresholdedRelu": ("alpha",),
}  # fmt: skip
#: Attributes of a fused layer that belong to its activation.
_OWN = ("activation", "activation_params", "activation_alpha", "activation_beta", "activation_gamma")


def expand_fused(model: onnx.ModelProto, origin: str, runnable: bool = False) -> onnx.ModelProto:
    """The model without onnxruntime's fused operators; `model` itself if it has none.

    runnable: onnxruntime will run the result, so operators stay if the model's opset lacks their replacement
    """
    table = {key: replace for key, replace in FUSED.items() if not (runnable and "Simplified" in key[1])}
    return replace_nodes(model, table, origin)


def _conv(part: Replacement) -> bool:
    name = part.attributes.get("activation", b"").decode()
    if name and name not in _ACTIVATIONS and name != "Clip":
        return False
    inputs = [part.input(index) for index in range(3 if part.input(2) else 2)]
    result = part.part("Conv", *inputs, **without(part.attributes, _OWN))
    result = part.part("Add", result, part.input(3)) if part.input(3) else result
    numbers = part.attributes.get("activation_params", ())
    if name == "Clip":
        return part.last("Clip", result, *(part.constant("end", float(end)) for end in numbers))
    return part.last(name or "Identity", result, **dict(zip(_ACTIVATIONS.get(name, ()), numbers, strict=False)))


def _gemm(part: Replacement) -> bool:
    name = part.attributes.get("activation", b"").decode()
    if name not in _ACTIVATIONS:
        return False
    result = part.part("Gemm", *part.node.input, **without(part.attributes, _OWN))
    numbers = {number: part.attributes[f"activation_{number}"] for number in _ACTIVATIONS[name]
               if f"activation_{number}" in part.attributes}
    return part.last(name, result, **numbers)


def _mat_mul(part: Replacement) -> bool:
    """A product of transposed operands as Einsum, which needs no rank. With transBatch, rows precede the batch axes."""
    terms = []
    for letter, rows, columns in (("A", "i", "j"), ("B", "j", "k")):
        first, last = (columns, rows) if part.attributes.get(f"trans{letter}", 0) else (rows, columns)
        terms.append(f"{first}...{last}" if part.attributes.get(f"transBatch{letter}", 0) else f"...{first}{last}")
    plain = terms == ["...ij", "...jk"]
    alpha = part.attributes.get("alpha", 1.0)
    how: dict[str, Any] = {} if plain else {"equation": f"{terms[0]},{terms[1]}->...ik"}
    op = "MatMul" if plain else "Einsum"
    if alpha == 1.0:
        return part.last(op, *part.node.input, **how)
    return part.last("Mul", part.part(op, *part.node.input, **how), part.constant("alpha", alpha))


def _gelu(part: Replacement) -> bool:
    """Gelu. In an opset without it, the operators that exporters write; table_fuse recognises them."""
    x = part.part("Add", part.input(0), part.input(1)) if part.input(1) else part.input(0)
    by_tanh = part.node.op_type == "FastGelu"
    if part.opset >= _GELU:
        return part.last("Gelu", x, approximate="tanh" if by_tanh else "none")
    if by_tanh:
        cube = part.part("Mul", part.part("Mul", x, part.part("Mul", x, x)), part.constant("cubic", 0.044715))
        scaled = part.part("Mul", part.part("Add", x, cube), part.constant("root", math.sqrt(2 / math.pi)))
        step = part.part("Tanh", scaled)
    else:
        step = part.part("Erf", part.part("Div", x, part.constant("root", math.sqrt(2))))
    share = part.part("Add", step, part.constant("one", 1.0))
    return part.last("Mul", part.part("Mul", x, share), part.constant("half", 0.5))


def _quick_gelu(part: Replacement) -> bool:
    x, alpha = part.input(0), part.attributes.get("alpha", 1.702)
    scaled = x if alpha == 1.0 else part.part("Mul", x, part.constant("alpha", alpha))
    return part.last("Mul", x, part.part("Sigmoid", scaled))


def _normalisation(part: Replacement) -> bool:
    """LayerNormalization or RMSNormalization; with a residual, of its sum with the input, which may be an output."""
    skips, simple = part.node.op_type.startswith("Skip"), "Simplified" in part.node.op_type
    if simple and (part.output(1) or part.output(2)):
        return False  # RMSNormalization gives no deviations
    scale, bias = (part.input(2), part.input(4 - simple)) if skips else (part.input(1), "")
    total = part.part("Add", part.input(0), part.input(1)) if skips else part.input(0)
    total = part.part("Add", total, bias) if bias else total
    if part.output(3):
        part.nodes[-1].output[0] = total = part.output(3)
    inputs = [total, scale, *([part.input(3)] if not simple and part.input(3) else [])]
    part.last("RMSNormalization" if simple else "LayerNormalization", *inputs,
              **{"axis": -1, "epsilon": 1e-5, **without(part.attributes, ("stash_type",))})
    part.nodes[-1].output.extend([] if simple else list(part.node.output[1:3]))
    return True


def _mat_mul_of_bits(part: Replacement) -> bool:
    """A product with a constant matrix [outputs][blocks][bytes] of 2, 4 or 8 bits an element, in float32. Nodes with a
    group index stay."""
    packed, scales, zeros = (part.value(part.input(index)) for index in (1, 2, 3))
    given = part.attributes
    depth, count, bits, size = (int(given[name]) for name in ("K", "N", "bits", "block_size"))
    if packed is None or scales is None or (zeros is None and part.input(3)) or part.input(4) or bits not in (2, 4, 8):
        return False
    blocks = -(-depth // size)
    values = _unpacked(packed.reshape(count, -1), bits)[:, : blocks * size].reshape(count, blocks, size)
    if zeros is None:
        offsets = np.float32(1 << (bits - 1))
    elif zeros.dtype == np.uint8:
        offsets = _unpacked(zeros.reshape(count, -1), bits)[:, :blocks, np.newaxis]
    else:
        offsets = zeros.astype(np.float32).reshape(count, blocks, 1)
    real = (values - offsets) * scales.astype(np.float32).reshape(count, blocks, 1)
    matrix = part.constant("matrix", np.ascontiguousarray(real.reshape(count, -1)[:, :depth].T, np.float32))
    bias = part.input(5)
    return part.last("Add", part.part("MatMul", part.input(0), matrix), bias) if bias else part.last(
        "MatMul", part.input(0), matrix)


def _unpacked(packed: np.ndarray, bits: int) -> np.ndarray:
    """Integers of `bits` bits, packed in bytes with the lowest bits first, as float32."""
    positions = np.arange(0, 8, bits, dtype=np.uint8)
    integers = (packed[..., np.newaxis] >> positions) & ((1 << bits) - 1)
    return integers.reshape(*packed.shape[:-1], -1).astype(np.float32)


FUSED = {
    (_MICROSOFT, "FusedConv"): _conv, (_MICROSOFT, "FusedGemm"): _gemm, (_MICROSOFT, "FusedMatMul"): _mat_mul,
    (_MICROSOFT, "TransposeMatMul"): _mat_mul, (_MICROSOFT, "QuickGelu"): _quick_gelu,
    **{(_MICROSOFT, name): _gelu for name in ("Gelu", "BiasGelu", "FastGelu")},
    **{(_MICROSOFT, name): _normalisation for name in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")},
    (_MICROSOFT, "MatMulNBits"): _mat_mul_of_bits, ("", "SimplifiedLayerNormalization"): _normalisation,
}  # fmt: skip
