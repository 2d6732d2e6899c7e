/* What compilers shall put in line, and what not. */
#ifndef TIGRIS_INLINING_H
#define TIGRIS_INLINING_H

#if defined(__GNUC__)
#define TIGRIS_NOINLINE __attribute__((noinline, unused))
#define TIGRIS_FLATTEN __attribute__((flatten))
#else
#define TIGRIS_NOINLINE
#define TIGRIS_FLATTEN
#endif

#endif
