/* Opens a model as firmware does: argv = flash file, partition's bytes, free pages of the window, what the firmware was
 * built with. Prints the status, that for a partition which the table lacks, and how many bytes were mapped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "tigris_models.h"

static tigris_model built_with(const char *what)
{
    tigris_model model = TIGRIS_MODEL_DIGITS;
    if (strcmp(what, "exact") == 0)
        model.plan_crc32 = EXACT_CRC32;
    else if (strcmp(what, "another name") == 0)
        model.name = "digit";
    else if (strcmp(what, "less fast memory") == 0)
        model.fast_bytes -= 1U;
    else if (strcmp(what, "unchecked") == 0)
        model.unchecked = 1U;
    else if (strcmp(what, "another offset") == 0)
        model.offset = 0x1000U;
    return model;
}

int main(int argc, char **argv)
{
    tigris_plan plan;
    if (argc != 5 || !chip_start(argv[1], (uint32_t)strtoul(argv[2], NULL, 0)))
        return 2;
    chip.window_pages = (uint32_t)strtoul(argv[3], NULL, 0);
    const tigris_model model = built_with(argv[4]);
    tigris_model elsewhere = model;
    elsewhere.partition = "elsewhere";
    const int status = (int)tigris_model_open(&model, &plan);
    printf("%d %d %u\n", status, (int)tigris_model_open(&elsewhere, &plan), (unsigned)chip.mapped_bytes);
    return 0;
}
