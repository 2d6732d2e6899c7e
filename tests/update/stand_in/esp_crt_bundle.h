#include "esp_http_client.h"
