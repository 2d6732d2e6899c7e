/* Opens a model as firmware does: argv = flash file, partition's bytes, "free" or "full". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "tigris_models.h"

int main(int argc, char **argv)
{
    tigris_model elsewhere = TIGRIS_MODEL_DIGITS;
    tigris_plan plan;
    if (argc != 4 || !chip_start(argv[1], (uint32_t)strtoul(argv[2], NULL, 0)))
        return 2;
    chip.window_is_full = strcmp(argv[3], "full") == 0;
    elsewhere.partition = "elsewhere";
    printf("%d %d\n", (int)tigris_model_open(&TIGRIS_MODEL_DIGITS, &plan), (int)tigris_model_open(&elsewhere, &plan));
    return 0;
}
