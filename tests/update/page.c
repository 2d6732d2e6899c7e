/* Runs the firmware of docs/updates.md: argv = the plan in slot 0, and pairs of a way and a file: `http` with the body that a
 * server sends (a file that is missing is status 404), `file`, `line`. After each a start; prints the status of the update,
 * that of the start, and the weights' checksum of the plan that is open. */
#include PAGE

#include <stdlib.h>
#include <string.h>

#include "nor.h"

static FILE *server;
static const char *answered = "";

struct esp_http_client {
    int is_open;
} only;

esp_http_client_handle_t esp_http_client_init(const esp_http_client_config_t *config)
{
    server = fopen(config->url, "rb");
    return config->crt_bundle_attach == esp_crt_bundle_attach ? &only : NULL;
}

esp_err_t esp_crt_bundle_attach(void *conf)
{
    return conf == NULL ? ESP_FAIL : ESP_OK;
}

esp_err_t esp_http_client_open(esp_http_client_handle_t client, int write_len)
{
    client->is_open = 1;
    return write_len == 0 ? ESP_OK : ESP_FAIL;
}

int64_t esp_http_client_fetch_headers(esp_http_client_handle_t client)
{
    return client->is_open ? 0 : -1;
}

int esp_http_client_get_status_code(esp_http_client_handle_t client)
{
    return client->is_open && server != NULL ? 200 : 404;
}

int esp_http_client_read(esp_http_client_handle_t client, char *buffer, int len)
{
    return client->is_open ? (int)fread(buffer, 1, (size_t)(len < 777 ? len : 777), server) : -1;
}

esp_err_t esp_http_client_close(esp_http_client_handle_t client)
{
    client->is_open = 0;
    return ESP_OK;
}

esp_err_t esp_http_client_cleanup(esp_http_client_handle_t client)
{
    if (client->is_open)
        abort();
    if (server != NULL)
        (void)fclose(server);
    return ESP_OK;
}

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
    memset(nor.bytes, 0xFF, sizeof nor.bytes);
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL || fread(nor.bytes + TIGRIS_MODEL_KWS.offset, 1, TIGRIS_MODEL_KWS.slots->bytes, file) == 0)
        return 2;
    nor_start(UINT32_MAX, NOR_AFTER);
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
