"""Cast. Integers and booleans are stored as float32, so only a cast that changes values needs a kernel."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_types import STORED_TYPES
from tigris_pio.compiler.lower.operators.activation import Unary, emit_unary
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.format.enums import UnaryFunction


@operator("Cast", "CastLike", summary="between float32, bool and integers where no integer can overflow")
def lower_cast(builder: Builder, node: Node) -> None:
    """UNARY for a truncation or a comparison with 0; an alias for all other casts."""
    source, target = (builder.tensors[name].value_dtype for name in (node.inputs[0], node.outputs[0]))
    for dtype in (source, target):
        if dtype.name not in STORED_TYPES:
            raise Refusal(f"it casts {source} to {target}; float32, bool and integers are supported")
    if target == np.bool_ and source != np.bool_:
        emit_unary(builder, node, Unary(lambda x: x != 0, UnaryFunction.IS_TRUE))
    elif target.kind in "iu" and target.itemsize < 4 and not np.can_cast(source, target):
        raise Refusal(f"it casts {source} to {target}, which cannot hold all values")
    elif target.kind in "iu" and source.kind == "f":
        emit_unary(builder, node, Unary(np.trunc, UnaryFunction.TRUNCATE))
    else:
        Composer(builder, node).finish("Identity", node.inputs[:1])
