/* Operators that an instruction set takes over whole. */
#ifndef TIGRIS_SET_H
#define TIGRIS_SET_H

#include "instruction_set.h"
#include "tigris_kernel.h"

/* TIGRIS_KERNEL_ENTRY of a kernel whose calls the set's function `name`_by_set() may compute. The function returns 0,
 * with nothing written, if it cannot compute the call; then `run` does. */
#define TIGRIS_BY_SET_ENTRY(name, kind, dtype, record, run, check)                                                     \
    static void name##_run(const tigris_kernel_call *call)                                                             \
    {                                                                                                                  \
        if (!name##_by_set(call)) {                                                                                    \
            run(call);                                                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    TIGRIS_KERNEL_ENTRY(name, kind, dtype, record, name##_run, check)

/* TIGRIS_SET_ENTRY: of kernels that MVE takes over; TIGRIS_PIE_ENTRY: PIE; TIGRIS_POOL_ENTRY: both. */
#if TIGRIS_MVE
#include "mve/mve.h"
#define TIGRIS_SET_ENTRY TIGRIS_BY_SET_ENTRY
#define TIGRIS_PIE_ENTRY TIGRIS_KERNEL_ENTRY
#define TIGRIS_POOL_ENTRY TIGRIS_BY_SET_ENTRY
#elif defined(TIGRIS_PIE)
#include "pie/layer.h"
#define TIGRIS_SET_ENTRY TIGRIS_KERNEL_ENTRY
#define TIGRIS_PIE_ENTRY TIGRIS_BY_SET_ENTRY
#define TIGRIS_POOL_ENTRY TIGRIS_BY_SET_ENTRY
#else
#define TIGRIS_SET_ENTRY TIGRIS_KERNEL_ENTRY
#define TIGRIS_PIE_ENTRY TIGRIS_KERNEL_ENTRY
#define TIGRIS_POOL_ENTRY TIGRIS_KERNEL_ENTRY
#endif

#endif
