/* Kernels with Arm's vector instructions for the M profile (MVE, "Helium"), and helpers that they share. Instructions:
 * Armv8-M Architecture Reference Manual, part C2.4.
 *
 * Outputs are bit-exact with the portable kernels. Assembler serves operands that must lie in certain registers, and
 * loops with a predicated tail. */
#ifndef TIGRIS_MVE_H
#define TIGRIS_MVE_H

#include "../instruction_set.h"
#include "tigris_kernel.h"

#if TIGRIS_MVE
#include <arm_mve.h>

#include "../inlining.h"
#include "../requantise.h"

/* The functions of TIGRIS_SET_ENTRY (set.h). */
int tigris_add_int8_by_set(const tigris_kernel_call *call);
int tigris_average_pool_int8_by_set(const tigris_kernel_call *call);
int tigris_conv_2d_int8_by_set(const tigris_kernel_call *call);
int tigris_fully_connected_int8_by_set(const tigris_kernel_call *call);
int tigris_max_pool_int8_by_set(const tigris_kernel_call *call);
int tigris_mul_int8_by_set(const tigris_kernel_call *call);
int tigris_sub_int8_by_set(const tigris_kernel_call *call);

int tigris_mve_depthwise_3x3(const tigris_kernel_call *call);
int tigris_mve_depthwise_lanes(const tigris_kernel_call *call);

static inline int tigris_depthwise_conv_2d_int8_by_set(const tigris_kernel_call *call)
{
    return tigris_mve_depthwise_3x3(call) || tigris_mve_depthwise_lanes(call);
}

/* Adds pixels to the sums of their channels. */
void tigris_mve_sum_pixels(int32_t *sums, const int8_t *from, uint32_t pixels, uint32_t channels);

/* The loops of softmax_int8.c over a vector. Up to this length a sum of exponentials does not saturate. */
#define TIGRIS_MVE_SOFTMAX_LENGTH 4095U
int32_t tigris_mve_largest(const int8_t *values, uint32_t length);
uint32_t tigris_mve_sum_of_exponentials(const int32_t *exponentials, const int8_t *input, uint32_t length,
                                        int32_t largest);
/* Exponentials times reciprocal / 2^31, divided by 2^shift, shift 1 … 32. */
void tigris_mve_shares(const int32_t *exponentials, const int8_t *input, uint32_t length, int32_t largest,
                       int32_t reciprocal, int32_t shift, int8_t *output);

#define TIGRIS_MVE_BYTES 16 /* bytes of a vector register */

/* Marks functions whose assembler changes the predicate register: Clang's clobber lists have no name for it, but calls
 * change it too. */
#if defined(__clang__)
#define TIGRIS_MVE_PREDICATE "cc"
#define TIGRIS_MVE_PREDICATED static TIGRIS_NOINLINE
#else
#define TIGRIS_MVE_PREDICATE "p0"
#define TIGRIS_MVE_PREDICATED TIGRIS_INLINE
#endif

/* Copies `count` bytes, 0 or more. */
TIGRIS_INLINE void tigris_mve_copy(int8_t *to, const int8_t *from, int32_t count)
{
    __asm__ volatile("wlstp.8 lr, %[count], 1f\n"
                     "2: vldrb.8 q0, [%[from]], #16\n\t"
                     "vstrb.8 q0, [%[to]], #16\n\t"
                     "letp lr, 2b\n"
                     "1:"
                     : [to] "+r"(to), [from] "+r"(from)
                     : [count] "r"(count)
                     : "lr", "q0", "memory");
}

/* Writes `count` bytes of `value`, 0 or more. */
TIGRIS_INLINE void tigris_mve_fill(int8_t *to, int8_t value, int32_t count)
{
    __asm__ volatile("vdup.8 q0, %[value]\n\t"
                     "wlstp.8 lr, %[count], 1f\n"
                     "2: vstrb.8 q0, [%[to]], #16\n\t"
                     "letp lr, 2b\n"
                     "1:"
                     : [to] "+r"(to)
                     : [count] "r"(count), [value] "r"((int32_t)value)
                     : "lr", "q0", "memory");
}

/* tigris_requantise of four sums with shifts of -1 and less: right shifts. Rounding half away from zero is rounding half
 * up of one less, for a negative value. */
TIGRIS_INLINE int32x4_t tigris_mve_scale_right(int32x4_t sums, int32x4_t multiplier, int32x4_t shift)
{
    const int32x4_t high = vqrdmulhq_s32(sums, multiplier);
    return vrshlq_s32(vaddq_s32(high, vshrq_n_s32(high, 31)), shift);
}

/* tigris_requantise of four sums for any shift. */
TIGRIS_INLINE int32x4_t tigris_mve_scale(int32x4_t sums, int32x4_t multiplier, int32x4_t shift)
{
    const int32x4_t none = vdupq_n_s32(0);
    const int32x4_t right = vminq_s32(shift, none);
    const int32x4_t high = vqrdmulhq_s32(vqshlq_s32(sums, vmaxq_s32(shift, none)), multiplier);
    return vrshlq_s32(vaddq_s32(high, vshrq_n_s32(vandq_s32(high, right), 31)), right);
}

/* Whether all shifts are of -1 and less. */
static inline int tigris_mve_shifts_right(const int8_t *shift, int32_t count)
{
    for (int32_t i = 0; i < count; i += TIGRIS_MVE_BYTES) {
        const mve_pred16_t lanes = vctp8q((uint32_t)(count - i));
        if (vcmpgeq_m_n_s8(vldrbq_z_s8(shift + i, lanes), 0, lanes) != 0U) {
            return 0;
        }
    }
    return 1;
}

/* tigris_output_stage for vectors. */
typedef struct tigris_mve_end {
    int16x8_t low;
    int16x8_t high;
    int16_t zero_point;
} tigris_mve_end;

static inline tigris_mve_end tigris_mve_end_of(int32_t zero_point, int32_t low, int32_t high)
{
    const tigris_mve_end end = {vdupq_n_s16((int16_t)low), vdupq_n_s16((int16_t)high), (int16_t)zero_point};
    return end;
}

/* Outputs of scaled values: `even` in the even lanes, `odd` in the odd ones. */
TIGRIS_INLINE int16x8_t tigris_mve_outputs(int32x4_t even, int32x4_t odd, const tigris_mve_end *end)
{
    int16x8_t both = vqmovnbq_s32(vdupq_n_s16(0), even);
    both = vqaddq_n_s16(vqmovntq_s32(both, odd), end->zero_point);
    return vminq_s16(vmaxq_s16(both, end->low), end->high);
}

#endif
#endif
