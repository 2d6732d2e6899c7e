/* On an ESP32-S3, pictures come from a camera. */
#include <stdio.h>

#include "camera.h"
#include "person.h"

/* Lines of a picture that the driver has. */
typedef struct {
    const camera_fb_t *picture;
    size_t line;
} pictured;

static const uint8_t *next_line(void *context, size_t *bytes)
{
    pictured *at = context;
    if (at->line == at->picture->height)
        return NULL;
    *bytes = at->picture->len / at->picture->height;
    return at->picture->buf + *bytes * at->line++;
}

void app_main(void)
{
    static person watcher;
    const tigris_status status = person_begin(&watcher, TIGRIS_PIXELS_RGB565_BE, CAMERA_WIDTH, CAMERA_HEIGHT);
    printf("person: %s\n", tigris_status_text(status));
    if (status != TIGRIS_OK)
        return;
    ESP_ERROR_CHECK(camera_open());
    for (;;) {
        camera_fb_t *picture = esp_camera_fb_get();
        if (picture == NULL) {
            printf("the camera gives no picture\n");
            continue;
        }
        pictured at = {picture, 0};
        if (person_look(&watcher, next_line, &at) == TIGRIS_OK)
            printf(watcher.seen ? "%ld person\n" : "%ld\n", (long)watcher.score);
        esp_camera_fb_return(picture);
    }
}
