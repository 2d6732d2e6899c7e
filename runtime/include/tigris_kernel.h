/* The interface between the runtime and kernels, for authors of kernels and backends.
 *
 * A kernel computes the rows of one output band from bands of its inputs. It knows nothing of stages, windows or
 * tiling: a band is contiguous rows, and padding counts replace the rows outside the tensor that the operator would
 * read.
 *
 * All pointers belong to the runtime and are valid during the call only. A kernel keeps no state between calls, takes
 * no heap, and runs in the task that called tigris_run, or on two cores at once (tigris_split_rows). */
#ifndef TIGRIS_KERNEL_H
#define TIGRIS_KERNEL_H

#include "tigris.h"
#include "tigris_params.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tigris_kernel_call {
    const void *params;        /* the parameter record of the kernel's kind and type (tigris_params.h) */
    const uint8_t *weights;    /* the stage's weight block; data fields of params are offsets into it */
    const tigris_band *inputs; /* input_count of them */
    uint16_t input_count;
    uint16_t weights_in_ram; /* 1: in an arena, where a damaged plan may overwrite them after their check */
    const tigris_band *output;
    uint8_t *output_data;     /* output->data, for writing */
    uint8_t *scratch;         /* the operator's scratch_bytes, aligned like a tensor; NULL if 0 */
    uint8_t *backend_scratch; /* backend_scratch_bytes that the backend's prepare requested, aligned; NULL if 0 */
    uint32_t backend_scratch_bytes;
    tigris_session *session; /* the session that runs the call */
} tigris_kernel_call;

/* Calls the session's yield hook; a kernel that takes long calls it between pieces of its work. If the result is not
 * 0, the hook stopped the run and the kernel must return at once. Kernels that tigris_split_rows may split must not
 * call it. */
int tigris_yield_from_kernel(const tigris_kernel_call *call);

/* The arguments of a kernel's check: an operator with its whole tensors, and its weight block. */
typedef struct tigris_check_call {
    const tigris_op_record *op;
    const void *params;
    const tigris_tensor_record *inputs[TIGRIS_MAX_OPERANDS + 1U]; /* op->operand_count of them, then the output */
    const tigris_operand_record *operands;                        /* op->operand_count of them */
    const tigris_tensor_record *output;
    const uint8_t *weights;  /* NULL while the block is compressed: check everything but the weights */
    uint32_t weights_bytes;  /* of the decompressed block */
    tigris_session *session; /* counts checked_multipliers, and holds the states */
} tigris_check_call;

/* Returns TIGRIS_OK if the kernel, with these parameters, reads and writes only inside its bands, its weights and its
 * scratch, whatever the band and the data. The check of COMMIT also writes the first value of its state. */
typedef tigris_status (*tigris_check)(const tigris_check_call *call);

/* A kernel, and the operators that it runs: all of this kind, type and packing. */
typedef struct tigris_kernel_entry {
    uint16_t kind;   /* tigris_op_kind */
    uint8_t dtype;   /* tigris_dtype */
    uint8_t packing; /* tigris_packing of the weights that it reads */
    uint16_t params_bytes; /* size of the parameter record; an operator with another size is refused */
    tigris_kernel run;
    tigris_check check;
} tigris_kernel_entry;

/* Defines the entry `name` of a kernel that reads portable weights. `kind` and `dtype` without their prefixes; `record`:
 * the type of the parameter record. */
#define TIGRIS_KERNEL_ENTRY(name, kind, dtype, record, run, check)                                                     \
    const tigris_kernel_entry name = {                                                                                  \
        TIGRIS_OP_KIND_##kind, TIGRIS_DTYPE_##dtype, TIGRIS_PACKING_PORTABLE, sizeof(record), run, check}

/* A set of kernels. A session searches it and then its fallback for each operator's kernel. */
typedef struct tigris_backend {
    const char *name;
    const tigris_kernel_entry *const *kernels; /* pointers, so that the linker drops kernels that no table names */
    uint32_t kernel_count;
    /* Returns the bytes of scratch that the backend's kernels share, at the top of the fast arena above the plan's own;
     * NULL: none. If the arena has less, calls get less (backend_scratch_bytes), and kernels must work with that. */
    uint32_t (*prepare)(const tigris_plan *plan);
    const struct tigris_backend *fallback; /* searched next; NULL ends the search */
} tigris_backend;

#ifdef __cplusplus
}
#endif

#endif
