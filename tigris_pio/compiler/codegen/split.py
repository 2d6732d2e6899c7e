"""Writes kernels as files of their own, so that several models in one firmware share them."""

from __future__ import annotations

from tigris_pio.compiler.codegen.kernels import bundle, sources, text_of
from tigris_pio.compiler.codegen.model import Model

TYPES_FILE = "tigris_calls.h"


def weights_in_calls(needed: bool) -> str:
    """C text before the types of calls. needed: the address of weights is known only at run time."""
    return "#define TIGRIS_WEIGHTS_IN_CALLS\n\n" if needed else ""


def kernel_name(symbol: str, weights_in_calls: bool) -> str:
    """The C name of a shared kernel. Each has two forms: weights in constants, or their address in the call."""
    return symbol.replace("tigris_", "tigris_w_" if weights_in_calls else "tigris_c_", 1)


def shared_files(model: Model) -> dict[str, str]:
    """Contents of the shared files by name; empty without the layout "split"."""
    if not model.split:
        return {}
    return {TYPES_FILE: text_of(sources().parent / "codegen" / TYPES_FILE)} | {
        f"{kernel_name(symbol, model.weights_in_calls)}.c": _kernel(symbol, model)
        for symbol in model.kernels.functions
    }


def _kernel(symbol: str, model: Model) -> str:
    found, in_calls = bundle([symbol], chip=model.chip), model.weights_in_calls
    head = f"void {kernel_name(symbol, in_calls)}(const tigris_kernel_call *call)"
    includes = "".join(f"#include {include}\n" for include in found.includes)
    return f"""\
/* A kernel that several models can share, written by tigris codegen. Do not edit. */
{weights_in_calls(in_calls)}#include "{TYPES_FILE}"

{includes}
{found.text}
{head};

{head}
{{
    {found.functions[symbol]}(call);
}}
"""
