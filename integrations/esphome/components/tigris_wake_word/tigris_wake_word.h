#pragma once

#include "model.h"

#include "esphome/components/microphone/microphone_source.h"
#include "esphome/core/automation.h"
#include "esphome/core/component.h"

// Copied into the build by __init__.py.
#include "tigris/speech_features.h"

#include <atomic>
#include <string>
#include <vector>

namespace esphome::tigris_wake_word {

/// Runs the front end and the networks in the microphone's task, as its sound arrives. Detections reach the main loop.
class TigrisWakeWord : public Component {
 public:
  void setup() override;
  void loop() override;
  void dump_config() override;
  float get_setup_priority() const override { return setup_priority::AFTER_CONNECTION; }

  void set_microphone_source(microphone::MicrophoneSource *source) { this->microphone_source_ = source; }
  void set_stop_after_detection(bool stops) { this->stop_after_detection_ = stops; }
  void set_vad(Model *vad) { this->vad_ = vad; }
  void add_model(Model *model) { this->models_.push_back(model); }
  Trigger<std::string> *get_wake_word_detected_trigger() { return &this->wake_word_detected_trigger_; }

  void start();
  void stop();
  bool is_running() const { return this->is_running_; }

 protected:
  /// In the microphone's task: 16-bit samples of one channel.
  void listen_(const std::vector<uint8_t> &data);
  void add_row_(const int8_t row[FEATURES]);

  microphone::MicrophoneSource *microphone_source_{nullptr};
  Trigger<std::string> wake_word_detected_trigger_;
  std::vector<Model *> models_;
  Model *vad_{nullptr};
  speech_features front_end_;
  bool stop_after_detection_{true};
  std::atomic<bool> is_running_{false};
  std::atomic<bool> is_fresh_{true};
};

/// An action that calls a member function of `Parent`.
template<typename Parent, void (Parent::*CALL)(), typename... Ts> class CallAction : public Action<Ts...> {
 public:
  explicit CallAction(Parent *parent) : parent_(parent) {}
  void play(const Ts &...x) override { (this->parent_->*CALL)(); }

 protected:
  Parent *parent_;
};

/// A condition that a member function of `Parent` returns.
template<typename Parent, bool (Parent::*CALL)() const, typename... Ts> class CallCondition : public Condition<Ts...> {
 public:
  explicit CallCondition(Parent *parent) : parent_(parent) {}
  bool check(const Ts &...x) override { return (this->parent_->*CALL)(); }

 protected:
  Parent *parent_;
};

template<typename... Ts> using StartAction = CallAction<TigrisWakeWord, &TigrisWakeWord::start, Ts...>;
template<typename... Ts> using StopAction = CallAction<TigrisWakeWord, &TigrisWakeWord::stop, Ts...>;
template<typename... Ts> using IsRunningCondition = CallCondition<TigrisWakeWord, &TigrisWakeWord::is_running, Ts...>;
template<typename... Ts> using EnableModelAction = CallAction<Model, &Model::enable, Ts...>;
template<typename... Ts> using DisableModelAction = CallAction<Model, &Model::disable, Ts...>;
template<typename... Ts> using ModelIsEnabledCondition = CallCondition<Model, &Model::is_enabled, Ts...>;

}  // namespace esphome::tigris_wake_word
