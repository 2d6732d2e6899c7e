/* The hooks of a generated file. `tigris codegen` copies what follows the guard, with the model's name for `MODEL_`. */
#ifndef TIGRIS_MODEL_HOOKS_H
#define TIGRIS_MODEL_HOOKS_H

#include <stdint.h>

/* -DMODEL_PROFILE=f: calls void f(uint32_t operation) with each operator's number before it runs, and with
 * MODEL_OPERATORS at the end. */
#if defined(MODEL_PROFILE)
void MODEL_PROFILE(uint32_t operation);
#define MODEL_REPORT(operation) MODEL_PROFILE(operation)
#else
#define MODEL_REPORT(operation) (void)0
#endif

/* -DMODEL_CANCEL=f: calls int f(void) before each operator; if it returns nonzero, the run stops. f may also feed a
 * watchdog. */
#if defined(MODEL_CANCEL)
int MODEL_CANCEL(void);
#define MODEL_BEFORE(operation) \
    do { \
        if (MODEL_CANCEL() != 0) { \
            return MODEL_ERROR_CANCELLED; \
        } \
        MODEL_REPORT(operation); \
    } while (0)
#else
#define MODEL_BEFORE(operation) MODEL_REPORT(operation)
#endif

#endif
