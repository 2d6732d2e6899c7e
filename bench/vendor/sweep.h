/* Random layers for a kernel library: sweep.c makes them and judges the outputs, a file for each library calls it. */
#ifndef SWEEP_H
#define SWEEP_H

#include <stdint.h>

enum { CONV, DEPTHWISE, DENSE };
enum { ROWS, COLUMNS };

/* A layer with its operands. Weights and scales are in TensorFlow Lite's order. */
typedef struct sweep_layer {
    int32_t kind;
    int32_t images; /* of a fully connected layer: vectors */
    int32_t groups;
    int32_t inputs;
    int32_t outputs;
    int32_t size[2];
    int32_t output_size[2];
    int32_t kernel[2];
    int32_t stride[2];
    int32_t dilation[2];
    int32_t before[2]; /* padding above and on the left */
    int32_t behind[2]; /* padding that the last windows read below and on the right */
    int32_t by_channel; /* 0: one scale for all outputs of a fully connected layer */
    int32_t extreme;    /* 1: sums as far from 0 as they can be */
    int32_t input_zero_point;
    int32_t output_zero_point;
    int32_t low;
    int32_t high;
    const int8_t *input;
    const int8_t *weights;
    const int32_t *bias;
    int32_t *multiplier;
    int32_t *shift;
    int8_t *output;
    void *scratch; /* as many bytes as library_scratch returned */
} sweep_layer;

typedef int sweep_run(const sweep_layer *layer, int32_t scratch_bytes);

/* Bytes of scratch that the library requests. */
int32_t library_scratch(const sweep_layer *layer);

/* Runs the layer. Returns 0 if the library refuses it. */
sweep_run library_run;

/* Judges SHAPES layers from SEED on, none of more than PRODUCTS products, and prints a line for each. */
void sweep(void);

/* Provided by the file with the main function: memory for all operands, output, and a call of `run`, which returns
 * SWEEP_CRASHED if that function does not return. */
uint8_t *sweep_memory(void);
void sweep_print(const char *text);
int sweep_call(sweep_run *run, const sweep_layer *layer, int32_t scratch_bytes);

#define SWEEP_CRASHED 2

/* Set by a stub that cannot run its function: the layer then counts as not run. */
extern int sweep_not_run;

#define SWEEP_BYTES 0x300000

#endif
