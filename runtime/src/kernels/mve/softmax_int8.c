/* The loops of SOFTMAX of int8 with MVE, four elements at a time. */
#include "mve.h"

#if TIGRIS_MVE

int32_t tigris_mve_largest(const int8_t *values, uint32_t length)
{
    int8_t largest = INT8_MIN;
    for (int32_t left = (int32_t)length; left > 0; left -= TIGRIS_MVE_BYTES) {
        const mve_pred16_t lanes = vctp8q((uint32_t)left);
        largest = vmaxvq_p_s8(largest, vldrbq_z_s8(values, lanes), lanes);
        values += TIGRIS_MVE_BYTES;
    }
    return largest;
}

/* The exponentials of four elements. */
static inline uint32x4_t exponentials_of(const int32_t *exponentials, const int8_t *input, int32_t largest,
                                         mve_pred16_t lanes)
{
    const int32x4_t below = vsubq_s32(vdupq_n_s32(largest), vldrbq_z_s32(input, lanes));
    return vldrwq_gather_shifted_offset_z_u32((const uint32_t *)(const void *)exponentials,
                                              vreinterpretq_u32_s32(below), lanes);
}

uint32_t tigris_mve_sum_of_exponentials(const int32_t *exponentials, const int8_t *input, uint32_t length,
                                        int32_t largest)
{
    uint32_t sum = 0U;
    for (int32_t left = (int32_t)length; left > 0; left -= 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)left);
        const uint32x4_t terms = exponentials_of(exponentials, input, largest, lanes);
        sum = vaddvaq_p_u32(sum, vrshrq_n_u32(terms, 12), lanes);
        input += 4;
    }
    return sum;
}

void tigris_mve_shares(const int32_t *exponentials, const int8_t *input, uint32_t length, int32_t largest,
                       int32_t reciprocal, int32_t shift, int8_t *output)
{
    for (int32_t left = (int32_t)length; left > 0; left -= 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)left);
        const int32x4_t terms = vreinterpretq_s32_u32(exponentials_of(exponentials, input, largest, lanes));
        const uint32x4_t values = vreinterpretq_u32_s32(vqrdmulhq_n_s32(terms, reciprocal));
        const uint32x4_t shares = vminq_u32(vrshlq_n_u32(values, -shift), vdupq_n_u32(UINT8_MAX));
        vstrbq_p_s32(output, vaddq_n_s32(vreinterpretq_s32_u32(shares), INT8_MIN), lanes);
        input += 4;
        output += 4;
    }
}

#endif
