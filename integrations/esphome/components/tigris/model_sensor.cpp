#include "model_sensor.h"

#ifdef USE_SENSOR

#include "esphome/core/log.h"

#include <algorithm>

namespace esphome::tigris {

static const char *const TAG = "tigris";

void ModelSensor::setup() {
  this->network_.reset();
#ifdef USE_TIGRIS_CAMERA
  if (this->camera_ == nullptr)
    return;
  Tensor table = this->network_.input;
  table.data = const_cast<void *>(this->camera_->config.tables[0]);
  for (uint32_t component = 0; component < 256; component++)
    table.store(table, component, (component - this->camera_->mean) / this->camera_->deviation);
#endif
}

void ModelSensor::dump_config() {
  LOG_SENSOR("", "Model", this);
  LOG_UPDATE_INTERVAL(this);
}

void ModelSensor::update() {
  for (const auto *source : this->sources_) {
    if (!source->has_state())
      return;
  }
  for (const auto *source : this->sources_)
    this->add_value(source->state);
}

void ModelSensor::add_value(float value) {
  const Tensor &input = this->network_.input;
  input.store(input, this->filled_, value);
  if (++this->filled_ < input.elements)
    return;
  this->filled_ = 0;
  this->publish_state(this->run_());
}

float ModelSensor::run_() {
  if (this->network_.run() != 0)
    return NAN;
  const Tensor &output = this->network_.output;
  if (this->output_ < output.elements)
    return output.load(output, this->output_);
  uint32_t largest = 0;
  for (uint32_t index = 1; index < output.elements; index++) {
    if (output.load(output, index) > output.load(output, largest))
      largest = index;
  }
  return largest;
}

#ifdef USE_TIGRIS_CAMERA
void ModelSensor::feed(const uint8_t *picture, size_t bytes) {
  Camera &camera = *this->camera_;
  if (bytes < camera.line_bytes * camera.config.frame_height) {
    ESP_LOGW(TAG, "A picture has %u bytes, which are too few; does its format fit?", unsigned(bytes));
    return;
  }
  float number = 0;
  for (uint32_t index = 0; index < camera.crops_count; index++) {
    const Crop &crop = camera.crops[index];
    camera.config.crop_x = crop.x;
    camera.config.crop_y = crop.y;
    camera.config.crop_width = crop.width;
    camera.config.crop_height = crop.height;
    const Tensor &input = this->network_.input;
    tigris_status status = tigris_camera_init(&camera.adapter, &camera.config, camera.sums, camera.sums_count);
    if (status == TIGRIS_OK)
      status = tigris_camera_begin_frame(&camera.adapter, input.data, input.elements * input.element_bytes);
    for (uint32_t line = 0; status == TIGRIS_OK && !tigris_camera_is_complete(&camera.adapter); line++)
      status = tigris_camera_add_line(&camera.adapter, picture + line * camera.line_bytes, camera.line_bytes);
    const float result = status == TIGRIS_OK ? this->run_() : NAN;
    number = camera.crops_count == 1 || result < 10 ? number * 10 + result : NAN;
  }
  this->publish_state(number);
}
#endif

}  // namespace esphome::tigris

#endif
