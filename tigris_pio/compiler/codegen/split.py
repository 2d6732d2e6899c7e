"""Writes kernels as files of their own, so that several models in one firmware share them."""

from __future__ import annotations

import re

from tigris_pio.compiler.codegen.call_layout import TYPES, WEIGHTS_IN_CALLS
from tigris_pio.compiler.codegen.kernels import bundle
from tigris_pio.compiler.codegen.model import Model

TYPES_FILE = "tigris_calls.h"


def kernel_name(symbol: str, weights_in_calls: bool) -> str:
    """The C name of a shared kernel. Each has two forms: weights in constants, or their address in the call."""
    return symbol.replace("tigris_", "tigris_w_" if weights_in_calls else "tigris_c_", 1)


def declarations(model: Model) -> str:
    """Prototypes of the shared kernels, for the model's file."""
    names = [kernel_name(symbol, model.weights_in_calls) for symbol in model.kernels.functions]
    return "".join(f"void {name}(const tigris_kernel_call *call);\n" for name in names)


def shared_files(model: Model) -> dict[str, str]:
    """Contents of the shared files by name; empty without the layout "split"."""
    if not model.split:
        return {}
    guard = TYPES_FILE.upper().replace(".", "_")
    includes = "#include <stddef.h>\n#include <stdint.h>\n"
    head = "/* Types of kernel calls, written by tigris codegen. Do not edit. */\n"
    types = f"{head}#ifndef {guard}\n#define {guard}\n\n{includes}\n{TYPES}\n#endif\n"
    return {TYPES_FILE: types} | {
        f"{kernel_name(symbol, model.weights_in_calls)}.c": _kernel(symbol, model.weights_in_calls)
        for symbol in model.kernels.functions
    }


def _kernel(symbol: str, weights_in_calls: bool) -> str:
    found = bundle([symbol])
    name, function = kernel_name(symbol, weights_in_calls), found.functions[symbol]
    text = re.sub(rf"^static TIGRIS_OWN_FRAME void {function}\(", f"void {name}(", found.text, flags=re.MULTILINE)
    includes = "".join(f"#include {include}\n" for include in found.includes)
    return (
        f"/* A kernel that several models can share, written by tigris codegen. Do not edit. */\n"
        f'{WEIGHTS_IN_CALLS if weights_in_calls else ""}#include "{TYPES_FILE}"\n\n{includes}\n{text}'.replace(
            f"\nvoid {name}(", f"\nvoid {name}(const tigris_kernel_call *call);\n\nvoid {name}(", 1
        )
    )
