/* Runs the model of its partition once and prints the output bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdkconfig.h"

#include "tigris_esp_idf.h"
#include "tigris_models.h"

#if CONFIG_IDF_TARGET_LINUX
#include "esp_private/partition_linux.h"

/* FLASH_FILE replaces the flash image that ESP-IDF would make; older versions make none. */
static void choose_flash(void)
{
    const char *file = getenv("FLASH_FILE");
    if (file != NULL)
        strlcpy(esp_partition_get_file_mmap_ctrl_input()->flash_file_name, file, PATH_MAX);
}

/* INPUT_FILE holds the input's bytes as stored. */
static int read_input(void *input, size_t bytes)
{
    FILE *file = fopen(getenv("INPUT_FILE"), "rb");
    const int is_read = file != NULL && fread(input, 1, bytes, file) == bytes;
    if (file != NULL)
        fclose(file);
    return is_read;
}
#else
static void choose_flash(void) {}

static int read_input(void *input, size_t bytes)
{
    memset(input, 0, bytes);
    return 1;
}
#endif

static tigris_plan plan;
static tigris_session session;
static tigris_esp_pauses pauses = {.period_ms = 10};

static tigris_status infer(void)
{
    const tigris_model *model = &TIGRIS_MODEL_KWS;
    const tigris_arenas arenas = tigris_esp_arenas(model->fast_bytes, model->slow_bytes);
    tigris_status status = tigris_model_open(model, &plan);
    if (status == TIGRIS_OK)
        status = tigris_session_init(&session, &plan, &arenas, NULL);
    if (status != TIGRIS_OK)
        return status;
    session.hooks.yield = tigris_esp_yield;
    session.hooks.yield_context = &pauses;
    if (!read_input(tigris_input(&session, 0), tigris_input_bytes(&session, 0)))
        return TIGRIS_ERR_ARGUMENT;
    return tigris_run(&session);
}

void app_main(void)
{
    choose_flash();
    const uint32_t start = tigris_esp_microseconds(NULL);
    const tigris_status status = infer();
    printf("status %d: %s\n", (int)status, tigris_status_text(status));
    if (status == TIGRIS_OK) {
        const uint8_t *output = tigris_output(&session, 0);
        printf("output");
        for (uint32_t i = 0; i < tigris_output_bytes(&session, 0); i++)
            printf(" %02x", output[i]);
        printf("\ntook %u us\n", (unsigned)(tigris_esp_microseconds(NULL) - start));
    }
    fflush(stdout);
#if CONFIG_IDF_TARGET_LINUX
    exit(0);
#endif
}
