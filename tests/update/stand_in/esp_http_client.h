/* The part of ESP-IDF's esp_http_client.h that docs/updates.md uses, as its API reference documents it. */
#ifndef ESP_HTTP_CLIENT_H
#define ESP_HTTP_CLIENT_H

#include <stdint.h>

typedef int esp_err_t;
#define ESP_OK 0
#define ESP_FAIL (-1)

typedef struct esp_http_client *esp_http_client_handle_t;
typedef struct esp_http_client_config {
    const char *url;
    esp_err_t (*crt_bundle_attach)(void *conf);
} esp_http_client_config_t;

esp_http_client_handle_t esp_http_client_init(const esp_http_client_config_t *config);
esp_err_t esp_http_client_open(esp_http_client_handle_t client, int write_len);
int64_t esp_http_client_fetch_headers(esp_http_client_handle_t client);
int esp_http_client_get_status_code(esp_http_client_handle_t client);
int esp_http_client_read(esp_http_client_handle_t client, char *buffer, int len);
esp_err_t esp_http_client_close(esp_http_client_handle_t client);
esp_err_t esp_http_client_cleanup(esp_http_client_handle_t client);

#endif
