"""How kernels see a call in C: an array of bands, the output's and behind it the inputs'.

In the runtime a call is a record that the executor fills in for each, 36 bytes and 24 for each band. Here most of it
is known: what changes from call to call is in the bands, 8 bytes each on the stack, and what does not (rows,
padding, tensor, parameters) are constants that they point at. Kernels' texts are changed accordingly, member by member.
A member that is not recognised is one that the types below lack, so the C does not compile.
"""

from __future__ import annotations

import re

#: Types of the runtime, and a function, that are defined here instead.
OWN_TYPES = frozenset({"tigris_tensor_record", "tigris_band", "tigris_kernel_call", "tigris_yield_from_kernel"})
_CONSTANT_MEMBERS = "rows|pad_top|pad_bottom|tensor"


#: The types of a call.
TYPES = """\
/* Kernels and their callers have stack frames of their own: one for all would take what the deepest needs all along. */
#if defined(__GNUC__)
#define TIGRIS_APART __attribute__((noinline))
#else
#define TIGRIS_APART
#endif

/* Functions that several kernels call, seldom. On RISC-V gcc takes more instructions where they are inlined. */
#if defined(__riscv)
#define TIGRIS_SHARED static TIGRIS_APART
#else
#define TIGRIS_SHARED static
#endif

/* Before each use of a loop's variable: else compilers keep what each of the uses computes from it in a register of its
 * own, all the time, and so need more stack. */
#if defined(__GNUC__)
#define TIGRIS_TURN(i) __asm__("" : "+r"(i))
#else
#define TIGRIS_TURN(i) (void)(i)
#endif

/* Behind an address: else, on Arm, gcc computes those near it from what it was made of, and so needs more stack. Not
 * where it optimises for size, and so does not, or is to be analysed: analysers then know less of what kernels read. */
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

/* What is constant of some rows of a tensor. */
typedef struct tigris_band_rows {
    const tigris_tensor_record *tensor;
    int32_t rows;
    int32_t pad_top; /* rows that an input lacks above and below */
    int32_t pad_bottom;
    int32_t first_row; /* number of the first of them; 0 where the kernel does not ask */
} tigris_band_rows;

/* What is constant of an operator: of its output's rows, and for all. */
typedef struct tigris_operation {
    tigris_band_rows rows;
    uint32_t input_count;
    const void *params;
    const uint8_t *weights; /* data fields of params are offsets into it; NULL: the address is in the call */
} tigris_operation;

/* Rows of a tensor; `data` points at the first of them. */
typedef struct tigris_band {
    uint8_t *data;
    const tigris_band_rows *of;
} tigris_band;

/* An operator's output, then its inputs, weights and scratch: of the last two those that it has at run time only. */
typedef tigris_band tigris_kernel_call;

static inline const tigris_operation *tigris_operation_of(const tigris_kernel_call *call)
{
    return (const tigris_operation *)(const void *)call->of;
}

/* Whether a run is to stop within a kernel that takes long: here none is stopped. */
#define tigris_yield_from_kernel(call) ((void)(call), 0)
"""


def as_bands(text: str) -> str:
    """`text` of the runtime's kernels with calls as bands. Where weights lie is marked, for laid_out."""
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


def laid_out(text: str, weights_in_calls: bool) -> str:
    """`text` of as_bands. weights_in_calls: where weights lie is known at run time only, so a call has a band that
    points at them."""
    of = "tigris_operation_of(@)"
    weights = f"@[{of}->input_count + 1U].data" if weights_in_calls else f"{of}->weights"
    text = re.sub(r"((?:\w+->)*)WEIGHTS_OF\(call\)", lambda match: weights.replace("@", f"{match[1]}call"), text)
    return text.replace("SCRATCH_BAND", "2U" if weights_in_calls else "1U")
