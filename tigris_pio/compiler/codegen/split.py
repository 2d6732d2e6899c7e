"""Kernels in files of their own: several models in one firmware have each of them once."""

from __future__ import annotations

import re

from tigris_pio.compiler.codegen.call_layout import Layout, laid_out, types_text
from tigris_pio.compiler.codegen.kernels import bundle
from tigris_pio.compiler.codegen.model import Model


def types_file(layout: Layout) -> str:
    """The header of calls, one for each layout that shared kernels may have."""
    return "tigris_calls_with_weights.h" if layout.weights_in_calls else "tigris_calls.h"


def kernel_name(symbol: str, layout: Layout) -> str:
    """The C name of a shared kernel."""
    return symbol.replace("tigris_", "tigris_w_" if layout.weights_in_calls else "tigris_c_", 1)


def declarations(model: Model) -> str:
    """What the model's file says of shared kernels."""
    names = [kernel_name(symbol, model.layout) for symbol in model.kernels.functions]
    return "".join(f"void {name}(const tigris_kernel_call *call);\n" for name in names)


def shared_files(model: Model) -> dict[str, str]:
    """The files beside the model's; none where kernels are in its own."""
    if not model.split:
        return {}
    guard = types_file(model.layout).upper().replace(".", "_")
    includes = "#include <stddef.h>\n#include <stdint.h>\n"
    head = "/* How kernels are called, written by tigris codegen. Do not edit. */\n"
    types = f"{head}#ifndef {guard}\n#define {guard}\n\n{includes}\n{types_text(model.layout)}\n#endif\n"
    return {types_file(model.layout): types} | {
        f"{kernel_name(symbol, model.layout)}.c": _kernel(symbol, model.layout) for symbol in model.kernels.functions
    }


def _kernel(symbol: str, layout: Layout) -> str:
    found = bundle([symbol])
    name, function = kernel_name(symbol, layout), found.functions[symbol]
    text = laid_out(found.text, layout)
    text = re.sub(rf"^static TIGRIS_APART void {function}\(", f"void {name}(", text, flags=re.MULTILINE)
    includes = "".join(f"#include {include}\n" for include in found.includes)
    return (
        f"/* A kernel that models share, written by tigris codegen. Do not edit. */\n"
        f'#include "{types_file(layout)}"\n\n{includes}\n{text}'.replace(
            f"\nvoid {name}(", f"\nvoid {name}(const tigris_kernel_call *call);\n\nvoid {name}(", 1
        )
    )
