/* The part of a generated header that all models have. `tigris codegen` copies what follows the guard, with the model's
 * name for `model_` and `MODEL_`. */
#ifndef TIGRIS_MODEL_TYPES_H
#define TIGRIS_MODEL_TYPES_H

#include <stdint.h>

/* Aligns an arena; write it before the type. */
#if !defined(MODEL_ALIGNED)
#if defined(__GNUC__)
#define MODEL_ALIGNED __attribute__((aligned(MODEL_ALIGNMENT)))
#elif defined(_MSC_VER)
#define MODEL_ALIGNED __declspec(align(MODEL_ALIGNMENT))
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define MODEL_ALIGNED _Alignas(MODEL_ALIGNMENT)
#else
#error "define MODEL_ALIGNED so that this compiler aligns a variable to MODEL_ALIGNMENT bytes"
#endif
#endif

/* Return values of the functions. After an error, outputs are undefined. */
enum model_status {
    MODEL_OK = 0,
    MODEL_ERROR_ARGUMENT = -1,  /* a null pointer */
    MODEL_ERROR_ALIGNMENT = -4, /* an arena does not start on a multiple of MODEL_ALIGNMENT */
    MODEL_ERROR_CANCELLED = -5, /* MODEL_CANCEL returned nonzero */
    MODEL_ERROR_ROWS = -7,      /* the firmware's function for rows returned nonzero */
    MODEL_ERROR_WEIGHTS = -31   /* compressed weights are damaged */
};

/* Description of the model, for programs that show or check it. */
struct model_io {
    const char *name;
    const char *type;
    uint32_t rank;
    uint32_t shape[8]; /* as stored */
    float scale;       /* 0: not quantised */
    int32_t zero_point;
};

struct model_model {
    const char *name;
    uint8_t source_sha256[32];
    uint32_t fast_bytes;
    uint32_t slow_bytes;
    uint32_t alignment;
    uint32_t input_count;
    uint32_t output_count;
    const struct model_io *inputs;
    const struct model_io *outputs;
};

extern const struct model_model model_model;

#endif
