/* The part of ESP-IDF's esp_crt_bundle.h that docs/updates.md uses. */
#ifndef ESP_CRT_BUNDLE_H
#define ESP_CRT_BUNDLE_H

#include "esp_http_client.h"

esp_err_t esp_crt_bundle_attach(void *conf);

#endif
