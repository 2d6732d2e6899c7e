/* Compiler hints: inlining, and the order of loads and sums on small machines. */
#ifndef TIGRIS_INLINING_H
#define TIGRIS_INLINING_H

#include "../hot.h"

#if defined(__GNUC__)
#define TIGRIS_NOINLINE TIGRIS_HOT __attribute__((noinline, unused))
#define TIGRIS_FLATTEN __attribute__((flatten))
#define TIGRIS_LIKELY(condition) (__builtin_expect((condition), 1) != 0)
#define TIGRIS_UNROLL(times) TIGRIS_PRAGMA(GCC unroll times)
#define TIGRIS_PRAGMA(text) _Pragma(#text)
#else
#define TIGRIS_NOINLINE
#define TIGRIS_FLATTEN
#define TIGRIS_LIKELY(condition) (condition)
#define TIGRIS_UNROLL(times)
#endif

/* GCC gathers the loads of several taps, and adds products to each other before it adds them to the sums. Without
 * spare registers that spills the sums, so on small machines the macros below keep the order of the source. They are
 * used where they save a network 1 % of its instructions or more (python -m bench.instructions --machines rv32imc), with
 * that figure beside them, and empty for compilers that vectorise. */
#if defined(__GNUC__) && (defined(__riscv) || defined(__arm__) || defined(__XTENSA__))
#define TIGRIS_IN_ORDER
#define TIGRIS_INLINE static inline __attribute__((always_inline))
#define TIGRIS_STEP() __asm__ volatile("" : : : "memory")
/* Later summands are added to `sum` itself, not to each other first. */
#define TIGRIS_HOLD(sum) __asm__("" : "+r"(sum))
#else
#define TIGRIS_INLINE static inline
#define TIGRIS_STEP() (void)0
#define TIGRIS_HOLD(sum) (void)0
#endif

#endif
