/* Runs a sweep on an emulated board. */
#include "bench.h"

#include "sweep.h"

uint8_t *sweep_memory(void)
{
    static uint8_t memory[SWEEP_BYTES];
    return memory;
}

void sweep_print(const char *text)
{
    bench_print(text);
}

int sweep_call(sweep_run *run, const sweep_layer *layer, int32_t scratch_bytes)
{
    return run(layer, scratch_bytes);
}

void bench_main(void)
{
    sweep();
    bench_print("end\n");
    bench_exit();
}
