"""Rewrites the access of kernels to their calls: in generated C a call is an array of bands, the output's first.

In the runtime a call is a record of 36 bytes and 24 for each band, which the executor fills in. In generated C a band
has 8 bytes on the stack: an address, and a pointer to constants (rows, padding, tensor, parameters). The kernels' text
is changed member by member. The types below lack a member that the rewriting misses, so the C does not compile.
"""

from __future__ import annotations

import re

#: Types and a function of the runtime that TYPES replaces.
OWN_TYPES = frozenset({"tigris_tensor_record", "tigris_band", "tigris_kernel_call", "tigris_yield_from_kernel"})
_CONSTANT_MEMBERS = "rows|pad_top|pad_bottom|tensor"


#: C text of the types of a call, and of macros for compilers.
TYPES = """\
/* Keeps a kernel out of its caller's stack frame, which else would be as large as the deepest kernel's all along. */
#if defined(__GNUC__)
#define TIGRIS_OWN_FRAME __attribute__((noinline))
#else
#define TIGRIS_OWN_FRAME
#endif

/* For functions that kernels rarely call. On RISC-V gcc needs more instructions if it inlines them. */
#if defined(__riscv)
#define TIGRIS_SHARED static TIGRIS_OWN_FRAME
#else
#define TIGRIS_SHARED static
#endif

/* Stands before each use of a loop's variable. Without it compilers keep the result of each use in a register of its
 * own for the whole loop, and so need more stack. */
#if defined(__GNUC__)
#define TIGRIS_ITERATION(i) __asm__("" : "+r"(i))
#else
#define TIGRIS_ITERATION(i) (void)(i)
#endif

/* Stands behind an address. Without it gcc for Arm recomputes near addresses from the parts of this one, and so needs
 * more stack. Not needed at -Os, and off for static analysers, from which it hides what kernels read. */
#if defined(__GNUC__) && defined(__arm__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) \\
    && !defined(TIGRIS_ANALYSED)
#define TIGRIS_ONCE(address) __asm__("" : "+r"(address))
#else
#define TIGRIS_ONCE(address) (void)(address)
#endif

/* A tensor as it is stored: [batch][height][width][channels]. */
typedef struct tigris_tensor_record {
    uint32_t batch;
    uint32_t height;
    uint32_t width;
    uint32_t channels;
    uint8_t dtype; /* tigris_dtype */
    uint8_t flags; /* tigris_tensor_flag */
} tigris_tensor_record;

/* Constants of some rows of a tensor. */
typedef struct tigris_band_rows {
    const tigris_tensor_record *tensor;
    int32_t rows;
    int32_t pad_top; /* padding rows above and below */
    int32_t pad_bottom;
    int32_t first_row; /* number of the first row in the tensor; 0 if the kernel does not read it */
} tigris_band_rows;

/* Constants of an operator's call; the rows are the output's. */
typedef struct tigris_operation {
    tigris_band_rows rows;
    uint32_t input_count;
    const void *params;
    const uint8_t *weights; /* base of the offsets in params; NULL: the address is in the call */
} tigris_operation;

/* Rows of a tensor; `data` points at the first row. */
typedef struct tigris_band {
    uint8_t *data;
    const tigris_band_rows *of;
} tigris_band;

/* First band of an array: an operator's output, then inputs, then weights and scratch with run-time addresses. */
typedef tigris_band tigris_kernel_call;

static inline const tigris_operation *tigris_operation_of(const tigris_kernel_call *call)
{
    return (const tigris_operation *)(const void *)call->of;
}

/* In the runtime, whether a run shall stop within a long kernel; generated C never stops there. */
#define tigris_yield_from_kernel(call) ((void)(call), 0)
"""


def rewrite_calls(text: str) -> str:
    """Rewrites the runtime's kernels for calls as bands; leaves marks for `place_weights`."""
    text = re.sub(r"\bcall->inputs\[(\d+)U?\]", lambda match: f"call[{int(match[1]) + 1}]", text)
    text = re.sub(r"\bcall->inputs\b", "(call + 1)", text)
    text = re.sub(r"\bcall->output->", "call->", text)
    text = re.sub(r"\bcall->output_data\b", "call->data", text)
    text = re.sub(r"\bcall->output\b", "call", text)
    text = re.sub(r"\bcall->scratch\b", "call[tigris_operation_of(call)->input_count + SCRATCH_BAND].data", text)
    text = re.sub(r"\bcall->weights\b", "WEIGHTS_OF(call)", text)
    text = re.sub(r"((?:\w+->)*)\bcall->(params|input_count)\b", r"tigris_operation_of(\1call)->\2", text)
    bands = "|".join(sorted({"call", "in", "out", *re.findall(r"\btigris_band \*(?:const )?(\w+)", text)}))
    for member, new in ((_CONSTANT_MEMBERS, r"of->\g<member>"), ("first", "of->first_row")):
        found = rf"(?P<member>{member})\b"
        text = re.sub(rf"(?P<band>\bcall\[[^]]*\]|\(call \+ 1\)\[[^]]*\])\.{found}", rf"\g<band>.{new}", text)
        text = re.sub(rf"(?<![.>])\b(?P<band>{bands})->{found}", rf"\g<band>->{new}", text)
        text = re.sub(rf"(?P<band>(?:->|\.)(?:call|in|out))->{found}", rf"\g<band>->{new}", text)
    return text


def place_weights(text: str, weights_in_calls: bool) -> str:
    """Replaces the marks of `rewrite_calls`.

    weights_in_calls: the address of weights is known only at run time, so a call has a band for them.
    """
    of = "tigris_operation_of(@)"
    weights = f"@[{of}->input_count + 1U].data" if weights_in_calls else f"{of}->weights"
    text = re.sub(r"((?:\w+->)*)WEIGHTS_OF\(call\)", lambda match: weights.replace("@", f"{match[1]}call"), text)
    return text.replace("SCRATCH_BAND", "2U" if weights_in_calls else "1U")
