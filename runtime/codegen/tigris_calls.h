/* Kernel calls in C that `tigris codegen` writes: a call is an array of bands, the output's first.
 *
 * In the runtime a call is a record of 36 bytes and 24 for each band, which the executor fills in. Here a band has 8
 * bytes on the stack: an address, and a pointer to constants. Kernels read both kinds of calls by the same macros, which
 * the runtime defines in kernels/access.h.
 *
 * Before the include a file may define TIGRIS_WEIGHTS_IN_CALLS: the address of weights is known only at run time, so a
 * call has a band for them behind its inputs. */
#ifndef TIGRIS_CALLS_H
#define TIGRIS_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* Keeps a kernel out of its caller's stack frame, which else would be as large as the deepest kernel's all along. */
#if defined(__GNUC__)
#define TIGRIS_OWN_FRAME __attribute__((noinline))
#define TIGRIS_UNUSED __attribute__((unused))
#else
#define TIGRIS_OWN_FRAME
#define TIGRIS_UNUSED
#endif

/* For functions that kernels rarely call. On RISC-V gcc needs more instructions if it inlines them. */
#if defined(__riscv)
#define TIGRIS_SHARED TIGRIS_UNUSED static TIGRIS_OWN_FRAME
#else
#define TIGRIS_SHARED TIGRIS_UNUSED static
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
#if defined(__GNUC__) && defined(__arm__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) \
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

/* How kernels read a call. */
#define tigris_params(call) (tigris_operation_of(call)->params)
#define tigris_input_count(call) (tigris_operation_of(call)->input_count)
#define tigris_input_band(call, index) (&(call)[(index) + 1])
#define tigris_output_band(call) (call)
#define tigris_output_data(call) ((call)->data)
#if defined(TIGRIS_WEIGHTS_IN_CALLS)
#define tigris_weights(call) ((call)[tigris_input_count(call) + 1U].data)
#define tigris_scratch(call) ((call)[tigris_input_count(call) + 2U].data)
#else
#define tigris_weights(call) (tigris_operation_of(call)->weights)
#define tigris_scratch(call) ((call)[tigris_input_count(call) + 1U].data)
#endif

/* How kernels read a band. */
#define tigris_first_row(band) ((band)->of->first_row)
#define tigris_row_count(band) ((band)->of->rows)
#define tigris_pad_top(band) ((band)->of->pad_top)
#define tigris_tensor_of(band) ((band)->of->tensor)

/* In the runtime, whether a run shall stop within a long kernel; generated C never stops there. */
#define tigris_yield_from_kernel(call) ((void)(call), 0)

#endif
