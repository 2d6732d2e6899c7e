/* What a kernel sees, for authors of kernels and backends.
 *
 * A kernel computes the rows of one output band from bands of its inputs. It knows nothing of
 * stages, windows or tiling: a band is contiguous rows, and rows that the operator would read
 * outside the tensor are announced as padding. */
#ifndef TIGRIS_KERNEL_H
#define TIGRIS_KERNEL_H

#include "tigris.h"
#include "tigris_params.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tigris_kernel_call {
    const void *params;     /* the record for the kernel's kind and dtype */
    const uint8_t *weights; /* the stage's weight block; data fields of params are offsets into it */
    const tigris_band *inputs;
    uint16_t input_count;
    uint16_t weights_in_ram; /* 1: copied or unpacked, where a damaged plan may change them after they were checked */
    const tigris_band *output;
    uint8_t *output_data;     /* output->data, to be written */
    uint8_t *scratch;         /* op record's scratch_bytes, aligned like a tensor; NULL when 0 */
    uint8_t *backend_scratch; /* of what the backend's prepare asked for, aligned alike; NULL when 0 */
    uint32_t backend_scratch_bytes;
    tigris_session *session; /* that runs the call */
} tigris_kernel_call;

/* Calls the yield hook; a kernel that takes long does so between pieces of its work. If it returns other than 0, the run is
 * stopped and the kernel returns at once. Kernels that run on two cores (tigris_split) must not call it. */
int tigris_pauses(const tigris_kernel_call *call);

/* All a checker may look at: the operator with its whole tensors, and the size of its weight block. */
typedef struct tigris_check_call {
    const tigris_op_record *op;
    const void *params;
    const tigris_tensor_record *inputs[TIGRIS_MAX_OPERANDS + 1U]; /* op->operand_count of them, then the output */
    const tigris_operand_record *operands;                        /* op->operand_count of them */
    const tigris_tensor_record *output;
    const uint8_t *weights; /* NULL when the block is compressed */
    uint32_t weights_bytes; /* of the block once decompressed */
    tigris_session *session; /* counts the multipliers that checks have looked at, one by one; has the states */
} tigris_check_call;

/* Returns TIGRIS_OK when, for these parameters, the kernel reads and writes only inside its bands,
 * its weights and its scratch, whatever the band. COMMIT's also gives its state the first value. */
typedef tigris_status (*tigris_check)(const tigris_check_call *call);

/* It is for operators of its kind, type and packing. */
typedef struct tigris_kernel_entry {
    uint16_t kind;   /* tigris_op_kind */
    uint8_t dtype;   /* tigris_dtype */
    uint8_t packing; /* tigris_packing of the weights that it reads */
    uint16_t params_bytes;
    tigris_kernel run;
    tigris_check check;
} tigris_kernel_entry;

/* A set of kernels, tried before the portable ones. */
typedef struct tigris_backend {
    const char *name;
    const tigris_kernel_entry *const *kernels; /* pointers, so that each kernel can be linked alone */
    uint32_t kernel_count;
    /* Bytes of scratch the backend wants at the top of the fast arena, above the plan's own bytes, shared by all its
     * kernels; NULL: none. Calls may come with less (backend_scratch_bytes): kernels must do without what is missing. */
    uint32_t (*prepare)(const tigris_plan *plan);
    /* Kernels to fall back to; NULL ends the search. */
    const struct tigris_backend *fallback;
} tigris_backend;

#ifdef __cplusplus
}
#endif

#endif
