"""ConvInteger and MatMulInteger: products of integers minus their zero points, in float32.

Sums are exact up to 2^24, as every sum of 258 products is. Larger sums are rounded to 24 bits, which results that are
scaled to 8 bits do not show.
"""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.registry import operator


@operator("ConvInteger", "MatMulInteger", summary="computed in float32: exact within 2^24")
def lower_integer_product(builder: Builder, node: Node) -> None:
    """Conv or MatMul behind two Subs; constants are subtracted by the compiler."""
    composer = Composer(builder, node)
    first, second = (_centred(composer, index) for index in (0, 1))
    plain = node.op.removesuffix("Integer")
    composer.finish(plain, [first, second], dict(node.attributes))


def _centred(composer: Composer, index: int) -> str:
    """An operand minus its zero point, of which MatMulInteger may have one for each row of A or column of B."""
    builder, node = composer.builder, composer.node
    name = node.inputs[index]
    zero_point = node.inputs[index + 2] if index + 2 < len(node.inputs) else ""
    shape = builder.shape(name)
    if not zero_point:
        return composer.constant(builder.float_constant(name)) if builder.is_constant(name) else name
    own = builder.shape(zero_point)
    wanted = own
    if len(own) == 1 and own[0] > 1 and (node.op == "ConvInteger" or index == 0):
        behind = len(shape) - 1 if node.op == "ConvInteger" else 1
        wanted = (own[0], *(1,) * behind)
    if builder.is_constant(zero_point):
        taken = composer.constant(builder.float_constant(zero_point).reshape(wanted))
        if builder.is_constant(name):
            return composer.constant(builder.float_constant(name) - builder.float_constant(taken))
    else:
        taken = zero_point if wanted == own else composer.add("Reshape", [zero_point], wanted)
    return composer.add("Sub", [name, taken], shape)
