/* The part of ESP-IDF's esp_http_client.h and esp_crt_bundle.h that docs/updates.md uses, as its API reference documents it.
 * A URL is a file here, in pieces of up to 777 bytes; one that is missing is status 404. */
#ifndef ESP_HTTP_CLIENT_H
#define ESP_HTTP_CLIENT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef int esp_err_t;
#define ESP_OK 0
#define ESP_FAIL (-1)

typedef struct esp_http_client *esp_http_client_handle_t;
typedef struct esp_http_client_config {
    const char *url;
    esp_err_t (*crt_bundle_attach)(void *conf);
} esp_http_client_config_t;

static struct esp_http_client {
    int is_open;
} only;
static FILE *server;

static esp_err_t esp_crt_bundle_attach(void *conf)
{
    return conf == NULL ? ESP_FAIL : ESP_OK;
}

static esp_http_client_handle_t esp_http_client_init(const esp_http_client_config_t *config)
{
    server = fopen(config->url, "rb");
    return config->crt_bundle_attach == esp_crt_bundle_attach ? &only : NULL;
}

static esp_err_t esp_http_client_open(esp_http_client_handle_t client, int write_len)
{
    client->is_open = 1;
    return write_len == 0 ? ESP_OK : ESP_FAIL;
}

static int64_t esp_http_client_fetch_headers(esp_http_client_handle_t client)
{
    return client->is_open ? 0 : -1;
}

static int esp_http_client_get_status_code(esp_http_client_handle_t client)
{
    return client->is_open && server != NULL ? 200 : 404;
}

static int esp_http_client_read(esp_http_client_handle_t client, char *buffer, int len)
{
    return client->is_open ? (int)fread(buffer, 1, (size_t)(len < 777 ? len : 777), server) : -1;
}

static esp_err_t esp_http_client_close(esp_http_client_handle_t client)
{
    client->is_open = 0;
    return ESP_OK;
}

static esp_err_t esp_http_client_cleanup(esp_http_client_handle_t client)
{
    if (client->is_open)
        abort();
    if (server != NULL)
        (void)fclose(server);
    return ESP_OK;
}

#endif
