/* An OV2640 on an ESP32-S3, by Espressif's component esp32-camera: QVGA in RGB565. */
#ifndef CAMERA_H
#define CAMERA_H

#include <esp_camera.h>

#define CAMERA_WIDTH 320
#define CAMERA_HEIGHT 240

/* Starts the camera; its pictures are then upright. Errors are those of esp_camera_init. */
esp_err_t camera_open(void);

#endif
