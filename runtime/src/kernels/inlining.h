/* What compilers shall put in line, what not, and what they cannot know of the code. */
#ifndef TIGRIS_INLINING_H
#define TIGRIS_INLINING_H

#if defined(__GNUC__)
#define TIGRIS_NOINLINE __attribute__((noinline, unused))
#define TIGRIS_FLATTEN __attribute__((flatten))
#define TIGRIS_LIKELY(condition) (__builtin_expect((condition), 1) != 0)
#else
#define TIGRIS_NOINLINE
#define TIGRIS_FLATTEN
#define TIGRIS_LIKELY(condition) (condition)
#endif

/* GCC would gather the loads of several taps and add products among themselves before they go to the sums: faster
 * only with registers to spare, else the sums are spilled. On small machines kernels keep both in the order of the
 * source where that was counted to matter; vectorising compilers get their way. */
#if defined(__GNUC__) && (defined(__riscv) || defined(__arm__) || defined(__XTENSA__))
#define TIGRIS_IN_ORDER
#define TIGRIS_INLINE static inline __attribute__((always_inline))
#define TIGRIS_STEP() __asm__ volatile("" : : : "memory")
/* Each of the three in a register of its own, not computed from an earlier value. */
#define TIGRIS_KEEP(a, b, c) __asm__("" : "+r"(a), "+r"(b), "+r"(c))
/* What is added to it from here on is added to it, not to other summands first. */
#define TIGRIS_HOLD(sum) __asm__("" : "+r"(sum))
#else
#define TIGRIS_INLINE static inline
#define TIGRIS_STEP() (void)0
#define TIGRIS_KEEP(a, b, c) (void)0
#define TIGRIS_HOLD(sum) (void)0
#endif

#endif
