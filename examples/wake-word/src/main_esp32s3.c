/* On an ESP32-S3, sound comes from an I2S microphone such as INMP441: 24 bits in 32, the left channel. */
#include <stdio.h>

#include <driver/i2s_std.h>

#include "wake_word.h"

#define CLOCK GPIO_NUM_4
#define WORD_SELECT GPIO_NUM_5
#define DATA GPIO_NUM_6
#define PATIENCE_MS 1000
/* 16 would be the microphone's full scale, 120 dB of sound pressure. Speech has 60: it is taken four times as loud. */
#define UNUSED_BITS 14

static i2s_chan_handle_t open_microphone(void)
{
    i2s_chan_handle_t microphone;
    const i2s_chan_config_t channel = I2S_CHANNEL_DEFAULT_CONFIG(I2S_NUM_AUTO, I2S_ROLE_MASTER);
    i2s_std_config_t config = {
        .clk_cfg = I2S_STD_CLK_DEFAULT_CONFIG(SPEECH_FEATURES_RATE),
        .slot_cfg = I2S_STD_PHILIPS_SLOT_DEFAULT_CONFIG(I2S_DATA_BIT_WIDTH_32BIT, I2S_SLOT_MODE_MONO),
        .gpio_cfg = {.mclk = I2S_GPIO_UNUSED, .bclk = CLOCK, .ws = WORD_SELECT, .dout = I2S_GPIO_UNUSED, .din = DATA},
    };
    config.slot_cfg.slot_mask = I2S_STD_SLOT_LEFT;
    ESP_ERROR_CHECK(i2s_new_channel(&channel, NULL, &microphone));
    ESP_ERROR_CHECK(i2s_channel_init_std_mode(microphone, &config));
    ESP_ERROR_CHECK(i2s_channel_enable(microphone));
    return microphone;
}

/* 10 ms of sound. Returns when the microphone has made them. */
static void record(i2s_chan_handle_t microphone, int16_t samples[WAKE_WORD_SAMPLES])
{
    static int32_t raw[WAKE_WORD_SAMPLES];
    size_t bytes;
    ESP_ERROR_CHECK(i2s_channel_read(microphone, raw, sizeof raw, &bytes, PATIENCE_MS));
    for (int i = 0; i < WAKE_WORD_SAMPLES; i++) {
        const int32_t sample = raw[i] >> UNUSED_BITS;
        samples[i] = (int16_t)(sample < INT16_MIN ? INT16_MIN : sample > INT16_MAX ? INT16_MAX : sample);
    }
}

void app_main(void)
{
    static wake_word word;
    static int16_t samples[WAKE_WORD_SAMPLES];
    const tigris_status status = wake_word_begin(&word);
    printf("wake: %s\n", tigris_status_text(status));
    if (status != TIGRIS_OK)
        return;
    const i2s_chan_handle_t microphone = open_microphone();
    for (;;) {
        record(microphone, samples);
        if (wake_word_listen(&word, samples) && word.heard)
            printf("heard\n");
    }
}
