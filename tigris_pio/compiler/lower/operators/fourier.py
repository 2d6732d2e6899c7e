"""DFT as a product with a constant matrix, STFT as a convolution with a constant basis."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.select import integer_input
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator

_AXIS_IS_AN_INPUT_SINCE = 20


@operator("DFT", summary="constant axis and length; computed in float32")
def lower_dft(builder: Builder, node: Node) -> None:
    """MatMul of [outer, length * parts] and a constant matrix, between two Transposes of the axis."""
    composer = Composer(builder, node)
    shape, target = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    rank, given = len(shape), int(node.attributes.get("axis", 1))
    if builder.graph.opset >= _AXIS_IS_AN_INPUT_SINCE:
        found = integer_input(builder, node, 2, "axis")
        given = -2 if found is None else int(found.reshape(-1)[0])
    axis = given % rank
    if axis == rank - 1:
        raise Refusal(f"its axis {given} is the one of real and imaginary parts")
    wanted = integer_input(builder, node, 1, "length")
    onesided, inverse = (bool(node.attributes.get(name, 0)) for name in ("onesided", "inverse"))
    terms = target[axis]
    length = terms if wanted is None and inverse and onesided else shape[axis]
    length = int(wanted.reshape(-1)[0]) if wanted is not None else length
    matrix = _matrix((shape[axis], shape[-1]), (terms, target[-1]), length, onesided, inverse)
    others = [place for place in range(rank - 1) if place != axis]
    order = (*others, axis, rank - 1)
    moved = composer.add("Transpose", [node.inputs[0]], [shape[place] for place in order], {"perm": order})
    outer = [shape[place] for place in others]
    flat = composer.add("Reshape", [moved], (*outer, shape[axis] * shape[-1]))
    product = composer.add("MatMul", [flat, composer.constant(matrix)], (*outer, matrix.shape[1]))
    parts = composer.add("Reshape", [product], (*outer, terms, target[-1]))
    composer.finish("Transpose", [parts], {"perm": tuple(int(place) for place in np.argsort(order))})


@operator("STFT", summary="constant window, step and length of frames; computed in float32")
def lower_stft(builder: Builder, node: Node) -> None:
    """Conv1D of [batch, parts, samples], with a filter for the real and the imaginary part of each term."""
    composer, (signal, _, window, _) = Composer(builder, node), (*node.inputs, "", "")[:4]
    (step, given), target = (integer_input(builder, node, place, what) for place, what in (
        (1, "step"), (3, "length of frames"))), builder.shape(node.outputs[0])
    if window and not builder.is_constant(window):
        raise Refusal(f"its window {window} is computed at run time; store it as a constant")
    shape = builder.shape(signal)
    shape = shape if len(shape) > 2 else (*shape, 1)
    length = int(given.reshape(-1)[0]) if given is not None else builder.shape(window)[0]
    factors = builder.float_constant(window).reshape(-1) if window else np.ones(length)
    if step is None or len(factors) != length:
        raise Refusal(f"a window of {len(factors)} numbers for frames of {length}; export it with one for each sample")
    batch, frames, terms, _ = target
    onesided = bool(node.attributes.get("onesided", 1))
    basis = _matrix((length, shape[2]), (terms, 2), length, onesided, False).reshape(length, shape[2], 2 * terms)
    filters = composer.constant((basis * factors[:, np.newaxis, np.newaxis]).transpose(2, 1, 0))
    rows = composer.add("Reshape", [signal], shape)
    columns = composer.add("Transpose", [rows], (batch, shape[2], shape[1]), {"perm": (0, 2, 1)})
    parts = composer.add("Conv1D", [columns, filters], (batch, 2 * terms, frames),
                         {"strides": (int(step.reshape(-1)[0]),), "kernel_shape": (length,)})
    turned = composer.add("Transpose", [parts], (batch, frames, 2 * terms), {"perm": (0, 2, 1)})
    composer.finish("Reshape", [turned])


def _matrix(source: tuple[int, int], result: tuple[int, int], length: int, onesided: bool, inverse: bool) -> np.ndarray:
    """The matrix [elements * input parts][terms * output parts]; rows of elements beyond `length` are 0."""
    (elements, parts), (terms, given) = source, result
    at = np.arange(elements)[:, np.newaxis] * np.arange(terms) % length
    turn = np.exp((2j if inverse else -2j) * np.pi * at / length) / (length if inverse else 1)
    turn[min(elements, length) :] = 0
    matrix = np.zeros((elements, parts, terms, given))
    matrix[:, 0, :, 0] = turn.real
    if parts > 1:
        matrix[:, 1, :, 0] = -turn.imag
    if given > 1:
        matrix[:, 0, :, 1] = turn.imag
        if parts > 1:
            matrix[:, 1, :, 1] = turn.real
    if inverse and onesided:  # the missing terms are conjugates of the given ones
        twice = np.full(elements, 2.0)
        twice[0] = 1.0
        if length % 2 == 0 and elements > length // 2:
            twice[length // 2] = 1.0
        matrix *= twice[:, np.newaxis, np.newaxis, np.newaxis]
    return matrix.reshape(elements * parts, terms * given).astype(np.float32)
