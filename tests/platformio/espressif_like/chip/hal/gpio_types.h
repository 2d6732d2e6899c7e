/* The part of ESP-IDF's hal/gpio_types.h that examples use, as its API reference documents it. */
#ifndef HAL_GPIO_TYPES_H
#define HAL_GPIO_TYPES_H

typedef enum { GPIO_NUM_NC = -1, GPIO_NUM_0 = 0, GPIO_NUM_4 = 4, GPIO_NUM_5, GPIO_NUM_6, GPIO_NUM_7 } gpio_num_t;

#endif
