/* Runs the firmware of docs/updates.md: argv = the plan in slot 0, and pairs of a way and a file: `http` with the body that a
 * server sends (a file that is missing is status 404), `file`, `line`. After each a start; prints the status of the update,
 * that of the start, and the weights' checksum of the plan that is open. */
#include PAGE

#include <stdlib.h>
#include <string.h>

#include "nor.h"

static const char *answered = "";

size_t line_read(void *bytes, size_t most)
{
    return fread(bytes, 1, most < 100 ? most : 100, server);
}

void line_write(char byte)
{
    answered = byte == '+' ? "more" : byte == '=' ? "taken" : "refused";
}

static tigris_status line_from(const char *path)
{
    server = fopen(path, "rb");
    if (server == NULL || fseek(server, 0, SEEK_END) != 0)
        abort();
    const long bytes = ftell(server);
    rewind(server);
    const tigris_status status = update_from_line((uint32_t)bytes);
    (void)fclose(server);
    if (strcmp(answered, status == TIGRIS_OK ? "taken" : "refused") != 0)
        abort();
    return status;
}

int main(int argc, char **argv)
{
    static image first;
    if (argc < 2 || !nor_load(argv[1], &first))
        return 2;
    nor_format(TIGRIS_MODEL_KWS.offset, first.bytes, first.size);
    for (int i = 2; i + 1 < argc; i += 2) {
        const char *way = argv[i], *path = argv[i + 1];
        const tigris_status updated = way[0] == 'h'   ? update_from(path)
                                      : way[0] == 'f' ? update_from_file(path)
                                                      : line_from(path);
        const tigris_status started = start();
        printf("%d %d %u\n", (int)updated, (int)started, (unsigned)plan.header->crc32);
        tigris_model_close(&plan);
    }
    return 0;
}
