/* Prints what an adapter asks its library for: for the plans that the arguments name, or for the operators on stdin. A
 * line there has NUMBERS for `asked`, how many answers of the library follow, and these; a line of output has the bytes
 * and the answers.
 *
 * ADAPTER: its source; LIBRARY: the library's header; CONV_SIZE, DEPTHWISE_SIZE, DENSE_SIZE: the library's functions,
 * or `next_answer` with RECORDED, which takes the answers of the line; PLAN_BYTES, BACKEND: for plans. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include LIBRARY

enum { NUMBERS = 16, ANSWERS = 4 };
static int answers[ANSWERS], given;

#if defined(RECORDED)
static int next_answer(const void *sizes, ...)
{
    (void)sizes;
    return answers[given++];
}
#define noted(answer) (answer)
#else
static int noted(int answer)
{
    if (given < ANSWERS) {
        answers[given++] = answer;
    }
    return answer;
}
#endif

#undef esp_nn_get_conv_scratch_size
#undef esp_nn_get_depthwise_conv_scratch_size
#define esp_nn_get_conv_scratch_size(...) noted(CONV_SIZE(__VA_ARGS__))
#define esp_nn_get_depthwise_conv_scratch_size(...) noted(DEPTHWISE_SIZE(__VA_ARGS__))
#define arm_convolve_wrapper_s8_get_buffer_size(...) noted(CONV_SIZE(__VA_ARGS__))
#define arm_depthwise_conv_wrapper_s8_get_buffer_size(...) noted(DEPTHWISE_SIZE(__VA_ARGS__))
#define arm_fully_connected_s8_get_buffer_size(...) noted(DENSE_SIZE(__VA_ARGS__))

#include ADAPTER

/* A convolution (n[0] = 0, depthwise 1), or a fully connected layer (2). */
static int32_t asked(const int n[NUMBERS])
{
    const tigris_tensor_record input = {.channels = (uint32_t)n[2], .width = (uint32_t)n[4]};
    const tigris_tensor_record output = {.channels = (uint32_t)n[3], .width = (uint32_t)n[5]};
    const tigris_conv_int8_params params = {
        .kernel_height = (uint16_t)n[8], .kernel_width = (uint16_t)n[9], .stride_height = (uint16_t)n[10],
        .stride_width = (uint16_t)n[11], .dilation_height = (uint16_t)n[12], .dilation_width = (uint16_t)n[13],
        .pad_left = (uint16_t)n[15], .groups = 1};
    const tigris_plain_conv conv = {&params, &input, &output, n[6], n[7], n[14], n[0] == 1, n[1]};
    if (n[0] != 2) {
        return conv_bytes(&conv);
    }
#if defined(DENSE_SIZE)
    const tigris_fully_connected_int8_params dense = {.in_features = (uint32_t)n[2], .out_features = (uint32_t)n[3]};
    return fully_connected_bytes(&dense);
#else
    return 0;
#endif
}

static int read_numbers(int *numbers, int count)
{
    int read = 0;
    while (read < count && scanf("%d", &numbers[read]) == 1) {
        read++;
    }
    return read == count;
}

#if defined(PLAN_BYTES)
static uint32_t asked_for_plan(const char *path)
{
    static uint64_t data[1 << 20];
    tigris_plan plan;
    FILE *file = fopen(path, "rb");
    const size_t size = file != NULL ? fread(data, 1, sizeof data, file) : 0U;
    if (file == NULL || fclose(file) != 0 || tigris_plan_open(&plan, data, size) != TIGRIS_OK) {
        exit(EXIT_FAILURE);
    }
    return PLAN_BYTES(&plan, &BACKEND);
}
#endif

int main(int count, char **paths)
{
    int numbers[NUMBERS], known;
#if defined(PLAN_BYTES)
    for (int i = 1; i < count; i++) {
        printf("%u\n", (unsigned)asked_for_plan(paths[i]));
    }
#else
    (void)paths;
#endif
    while (count == 1 && read_numbers(numbers, NUMBERS) && read_numbers(&known, 1) && read_numbers(answers, known)) {
        given = 0;
        printf("%d", (int)asked(numbers));
        for (int i = 0; i < given; i++) {
            printf(" %d", answers[i]);
        }
        printf("\n");
    }
    return EXIT_SUCCESS;
}
