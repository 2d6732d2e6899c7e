/* Kernels with RISC-V's vector instructions (RVV 1.0), and helpers that they share. Instructions: The RISC-V
 * Instruction Set Manual, "V" Standard Extension for Vector Operations.
 *
 * A portable kernel calls the function here first. It returns 0, with nothing written, if it cannot compute the call.
 * Outputs are bit-exact with the portable kernel for any length of a vector: the length only changes the number of
 * steps. Each load and store has a count, so none passes the end of its operand. Assembler serves loops for which the
 * compiler would run out of vector registers.
 *
 * Elements have 8, 16 and 32 bits, so the extension's part for small processors (Zve32x) suffices. Firmware turns
 * the vector unit on (mstatus.VS), and saves its registers where tasks or interrupts share it. */
#ifndef TIGRIS_RVV_H
#define TIGRIS_RVV_H

#include "../instruction_set.h"
#include "tigris_kernel.h"

#if TIGRIS_RVV
#include <riscv_vector.h>
#include <stddef.h>

#include "../inlining.h"
#include "../requantise.h"

int tigris_rvv_conv_2d(const tigris_kernel_call *call);
int tigris_rvv_depthwise(const tigris_kernel_call *call);
int tigris_rvv_fully_connected(const tigris_kernel_call *call);
int tigris_rvv_add(const tigris_kernel_call *call);
int tigris_rvv_subtract(const tigris_kernel_call *call);
int tigris_rvv_mul(const tigris_kernel_call *call);

/* ---- compilers ----
 *
 * Version 0.11 of the C intrinsics gave all names a prefix, rounding modes an argument and segments a type. Clang 14 has
 * what came before, Clang 22 what came after: both are tested. GCC, from 14 on, has met none of it yet. */
#if defined(__riscv_v_intrinsic) && __riscv_v_intrinsic >= 11000
#define RVV(name) __riscv_##name

/* The bytes of four vectors by turns. */
#define TIGRIS_RVV_LOAD_4(a, b, c, d, from, count)                                                                     \
    do {                                                                                                               \
        const vint8m2x4_t four_ = __riscv_vlseg4e8_v_i8m2x4(from, count);                                              \
        a = __riscv_vget_v_i8m2x4_i8m2(four_, 0), b = __riscv_vget_v_i8m2x4_i8m2(four_, 1);                            \
        c = __riscv_vget_v_i8m2x4_i8m2(four_, 2), d = __riscv_vget_v_i8m2x4_i8m2(four_, 3);                            \
    } while (0)
#define TIGRIS_RVV_STORE_4(to, a, b, c, d, count)                                                                      \
    __riscv_vsseg4e8_v_i8m2x4(to, __riscv_vcreate_v_i8m2x4(a, b, c, d), count)
/* The sum of a vector's lanes and of lane 0 of `sum`, in lane 0. */
#define TIGRIS_RVV_SUM_UP(sum, lanes, count) __riscv_vwredsum_vs_i16m8_i32m1(lanes, sum, count)
#define TIGRIS_RVV_HIGH_MULTIPLY(a, b, count) __riscv_vsmul_vv_i32m4(a, b, __RISCV_VXRM_RNU, count)
#define TIGRIS_RVV_ROUNDING_SHIFT(a, b, count) __riscv_vssra_vv_i32m4(a, b, __RISCV_VXRM_RNU, count)
/* TIGRIS_RVV_HIGH_MULTIPLY and TIGRIS_RVV_ROUNDING_SHIFT with one number for all lanes. */
#define TIGRIS_RVV_HIGH_MULTIPLY_BY(a, b, count) __riscv_vsmul_vx_i32m4(a, b, __RISCV_VXRM_RNU, count)
#define TIGRIS_RVV_ROUNDING_SHIFT_BY(a, b, count) __riscv_vssra_vx_i32m4(a, b, __RISCV_VXRM_RNU, count)
#define TIGRIS_RVV_ROUND_UP() (void)0
#else
#define RVV(name) name

#define TIGRIS_RVV_LOAD_4(a, b, c, d, from, count) vlseg4e8_v_i8m2(&(a), &(b), &(c), &(d), from, count)
#define TIGRIS_RVV_STORE_4(to, a, b, c, d, count) vsseg4e8_v_i8m2(to, a, b, c, d, count)
#define TIGRIS_RVV_SUM_UP(sum, lanes, count) vwredsum_vs_i16m8_i32m1(sum, lanes, sum, count)
#define TIGRIS_RVV_HIGH_MULTIPLY(a, b, count) vsmul_vv_i32m4(a, b, count)
#define TIGRIS_RVV_ROUNDING_SHIFT(a, b, count) vssra_vv_i32m4(a, b, count)
#define TIGRIS_RVV_HIGH_MULTIPLY_BY(a, b, count) vsmul_vx_i32m4(a, b, count)
#define TIGRIS_RVV_ROUNDING_SHIFT_BY(a, b, count) vssra_vx_i32m4(a, b, count)
/* The rounding mode of these, of which others may have another: halves towards +infinity. */
#define TIGRIS_RVV_ROUND_UP() __asm__ volatile("csrwi vxrm, 0")
#endif

/* In lists of what assembler changes: Clang takes it for granted. */
#if defined(__clang__)
#define TIGRIS_RVV_LENGTH
#else
#define TIGRIS_RVV_LENGTH "vl", "vtype",
#endif

/* ---- outputs ---- */

/* tigris_requantise of each lane, when TIGRIS_RVV_ROUND_UP came before. Rounding half away from zero is rounding half up
 * of one less, for a negative value. */
TIGRIS_INLINE vint32m4_t tigris_rvv_scale(vint32m4_t sum, vint32m4_t multiplier, vint32m4_t shift, size_t count)
{
    const vint32m4_t left = RVV(vmax_vx_i32m4)(shift, 0, count), right = RVV(vmin_vx_i32m4)(shift, 0, count);
    const vint32m4_t bits = RVV(vsub_vv_i32m4)(left, RVV(vsra_vx_i32m4)(RVV(vrsub_vx_i32m4)(left, 0, count), 31, count), count);
    const vint32m4_t most = RVV(vsra_vv_i32m4)(RVV(vmv_v_x_i32m4)(INT32_MAX, count), /* tigris_bounded_left */
                                               RVV(vreinterpret_v_i32m4_u32m4)(bits), count);
    sum = RVV(vmin_vv_i32m4)(RVV(vmax_vv_i32m4)(sum, RVV(vnot_v_i32m4)(most, count), count), most, count);
    sum = RVV(vsll_vv_i32m4)(sum, RVV(vreinterpret_v_i32m4_u32m4)(left), count);
    sum = TIGRIS_RVV_HIGH_MULTIPLY(sum, multiplier, count);
    sum = RVV(vadd_vv_i32m4)(sum, RVV(vsra_vx_i32m4)(RVV(vand_vv_i32m4)(sum, right, count), 31, count), count);
    const vint32m4_t by = RVV(vrsub_vx_i32m4)(right, 0, count);
    return TIGRIS_RVV_ROUNDING_SHIFT(sum, RVV(vreinterpret_v_i32m4_u32m4)(by), count);
}

/* Values as outputs. */
TIGRIS_INLINE void tigris_rvv_store(int8_t *to, vint32m4_t values, int32_t low, int32_t high, size_t count)
{
    values = RVV(vmin_vx_i32m4)(RVV(vmax_vx_i32m4)(values, low, count), high, count);
    const vint16m2_t half = RVV(vncvt_x_x_w_i16m2)(values, count);
    RVV(vse8_v_i8m1)(to, RVV(vncvt_x_x_w_i8m1)(half, count), count);
}

/* Requantisation of the sums of channels. */
typedef struct tigris_rvv_end {
    const int32_t *multiplier;
    const int8_t *shift;
    tigris_output_stage stage;
} tigris_rvv_end;

/* The outputs of `count` channels, of which multipliers and shifts are at `first`, or the only ones if that is -1. */
TIGRIS_INLINE void tigris_rvv_outputs(const tigris_rvv_end *end, int32_t first, vint32m4_t sum, size_t count,
                                      int8_t *output)
{
    vint32m4_t multiplier, shift;
    if (first < 0) {
        multiplier = RVV(vmv_v_x_i32m4)(*end->multiplier, count);
        shift = RVV(vmv_v_x_i32m4)(*end->shift, count);
    } else {
        multiplier = RVV(vle32_v_i32m4)(end->multiplier + first, count);
        shift = RVV(vsext_vf4_i32m4)(RVV(vle8_v_i8m1)(end->shift + first, count), count);
    }
    const vint32m4_t value = tigris_rvv_scale(sum, multiplier, shift, count);
    tigris_rvv_store(output, RVV(vadd_vx_i32m4)(value, end->stage.zero_point, count), end->stage.low, end->stage.high,
                     count);
}

#endif
#endif
