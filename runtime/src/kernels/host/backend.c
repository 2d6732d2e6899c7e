/* The backend of this folder's kernels, with the portable kernels behind it, and the test whether this processor has
 * their instructions. */
#include "host.h"
#include "tigris_kernels.h"

#if TIGRIS_HOST_AVX2 || TIGRIS_HOST_NEON

static const tigris_kernel_entry *const kernels[] = {
    &tigris_host_conv_2d_int8, &tigris_host_depthwise_conv_2d_int8, &tigris_host_fully_connected_int8,
    &tigris_host_add_int8,     &tigris_host_sub_int8,
};
const tigris_backend tigris_host_backend = {TIGRIS_HOST_AVX2 ? "avx2" : "neon", kernels,
                                            sizeof kernels / sizeof kernels[0], NULL, &tigris_portable_backend};

#endif

#if TIGRIS_HOST_AVX2
#include <cpuid.h>

/* Intel's manual, volume 1, 14.7.1: the processor has AVX2, and the system saves its registers. CPUID is read directly,
 * because not every compiler's library supports __builtin_cpu_supports. */
static int has_avx2(void)
{
    uint32_t a, b, c, d, states, unused;
    const uint32_t most = (uint32_t)__get_cpuid_max(0, NULL);
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0U || (c & bit_AVX) == 0U) {
        return 0;
    }
    __asm__ volatile("xgetbv" : "=a"(states), "=d"(unused) : "c"(0));
    if ((states & 6U) != 6U || most < 7U) {
        return 0;
    }
    __cpuid_count(7, 0, a, b, c, d);
    return (b & bit_AVX2) != 0U;
}

const tigris_backend *tigris_host_fastest(void)
{
    return has_avx2() ? &tigris_host_backend : NULL;
}

#elif TIGRIS_HOST_NEON

const tigris_backend *tigris_host_fastest(void)
{
    return &tigris_host_backend;
}

#endif
