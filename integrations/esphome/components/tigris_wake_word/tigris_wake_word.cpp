#include "tigris_wake_word.h"

#include "esphome/core/application.h"
#include "esphome/core/log.h"

namespace esphome::tigris_wake_word {

static const char *const TAG = "tigris_wake_word";

void TigrisWakeWord::setup() {
  this->microphone_source_->add_data_callback([this](const std::vector<uint8_t> &data) { this->listen_(data); });
}

void TigrisWakeWord::dump_config() {
  ESP_LOGCONFIG(TAG, "Wake words:");
  for (const auto *model : this->models_) {
    ESP_LOGCONFIG(TAG, "  '%s': cutoff %.2f, sliding window %u", model->get_wake_word(), model->get_cutoff(),
                  model->get_window_size());
  }
  ESP_LOGCONFIG(TAG, "  Voice activity: %s", YESNO(this->vad_ != nullptr));
}

void TigrisWakeWord::start() {
  if (!this->is_running_) {
    this->is_fresh_ = true;
    this->is_running_ = true;
    ESP_LOGD(TAG, "Started");
  }
}

void TigrisWakeWord::stop() {
  if (this->is_running_) {
    this->is_running_ = false;
    ESP_LOGD(TAG, "Stopped");
  }
}

void TigrisWakeWord::loop() {
  for (auto *model : this->models_) {
    const Event event = model->take_event();
    if (event == NONE || !this->is_running_)
      continue;
    if (event == HEARD_WITHOUT_VOICE) {
      ESP_LOGD(TAG, "'%s' was heard, but no voice", model->get_wake_word());
      continue;
    }
    ESP_LOGD(TAG, "'%s' was heard", model->get_wake_word());
    this->wake_word_detected_trigger_.trigger(model->get_wake_word());
    if (this->stop_after_detection_)
      this->stop();
  }
  // Actions may run before the microphone's setup, as on_boot does; the first loop runs after it.
  if (this->is_running_) {
    this->microphone_source_->start();
  } else {
    this->microphone_source_->stop();
  }
}

void TigrisWakeWord::listen_(const std::vector<uint8_t> &data) {
  if (!this->is_running_)
    return;
  if (this->is_fresh_.exchange(false)) {
    speech_features_reset(&this->front_end_);
    for (auto *model : this->models_)
      model->restart();
    if (this->vad_ != nullptr)
      this->vad_->restart();
  }
  const auto *samples = reinterpret_cast<const int16_t *>(data.data());
  size_t count = data.size() / sizeof(int16_t);
  while (count > 0) {
    const size_t taken = speech_features_take(&this->front_end_, samples, count);
    samples += taken;
    count -= taken;
    uint16_t levels[FEATURES];
    if (speech_features_row(&this->front_end_, levels)) {
      int8_t row[FEATURES];
      speech_features_int8(levels, row);
      this->add_row_(row);
    }
  }
}

void TigrisWakeWord::add_row_(const int8_t row[FEATURES]) {
  bool is_voice = true;
  if (this->vad_ != nullptr) {
    this->vad_->add_row(row);
    is_voice = this->vad_->is_above_cutoff();
  }
  for (auto *model : this->models_) {
    if (!model->add_row(row))
      continue;
    if (is_voice)
      model->forget();
    model->report(is_voice ? HEARD : HEARD_WITHOUT_VOICE);
    App.wake_loop_threadsafe();
  }
}

}  // namespace esphome::tigris_wake_word
