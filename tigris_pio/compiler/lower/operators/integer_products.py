"""ConvInteger and MatMulInteger: products of integers less their zero points, in float32.

Sums are exact as long as they stay within 2^24, which any sum of 258 products does; larger ones are rounded to 24 bits,
less than anything that is made of them by a scale can tell.
"""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.registry import operator


@operator("ConvInteger", "MatMulInteger", summary="computed in float32: exact within 2^24")
def lower_integer_product(builder: Builder, node: Node) -> None:
    """Conv or MatMul behind two subtractions; those of constants are done now."""
    composer = Composer(builder, node)
    first, second = (_centred(composer, index) for index in (0, 1))
    plain = node.op.removesuffix("Integer")
    composer.last(plain, [first, second], dict(node.attributes))


def _centred(composer: Composer, index: int) -> str:
    """An operand less its zero point; MatMulInteger may have one a row of the first, a column of the other."""
    builder, node = composer.builder, composer.node
    name = node.inputs[index]
    zero_point = node.inputs[index + 2] if index + 2 < len(node.inputs) else ""
    shape = builder.shape(name)
    if not zero_point:
        return composer.constant(builder.real(name)) if builder.is_constant(name) else name
    own = builder.shape(zero_point)
    wanted = own
    if len(own) == 1 and own[0] > 1 and (node.op == "ConvInteger" or index == 0):
        behind = len(shape) - 1 if node.op == "ConvInteger" else 1
        wanted = (own[0], *(1,) * behind)
    if builder.is_constant(zero_point):
        taken = composer.constant(builder.real(zero_point).reshape(wanted))
        if builder.is_constant(name):
            return composer.constant(builder.real(name) - builder.real(taken))
    else:
        taken = zero_point if wanted == own else composer.part("Reshape", [zero_point], wanted)
    return composer.part("Sub", [name, taken], shape)
