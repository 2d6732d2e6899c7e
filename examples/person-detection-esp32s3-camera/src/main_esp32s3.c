/* On an ESP32-S3, pictures come from a camera. */
#include <stdio.h>

#include "camera.h"
#include "person.h"

/* The driver has whole pictures; the network needs its lines one after the other. */
static void look(person *watcher, const camera_fb_t *picture)
{
    const size_t bytes = picture->len / picture->height;
    for (size_t line = 0; line < picture->height; line++) {
        if (person_line(watcher, picture->buf + line * bytes, bytes))
            printf(watcher->seen ? "%ld person\n" : "%ld\n", (long)watcher->score);
    }
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
        look(&watcher, picture);
        esp_camera_fb_return(picture);
    }
}
