"""`platform: recording`: plays the samples of a file, int16 of one channel at 16 kHz, then ends the program."""

import esphome.codegen as cg
import esphome.config_validation as cv
from esphome.components import audio, microphone
from esphome.const import CONF_ID, CONF_PATH

Recording = cg.esphome_ns.namespace("recording").class_("Recording", microphone.Microphone, cg.Component)


def _stream(config):
    audio.set_stream_limits(
        min_bits_per_sample=16, max_bits_per_sample=16, min_channels=1, max_channels=1, min_sample_rate=16000,
        max_sample_rate=16000,
    )(config)  # fmt: skip
    return config


CONFIG_SCHEMA = cv.All(
    microphone.MICROPHONE_SCHEMA.extend(
        {cv.GenerateID(): cv.declare_id(Recording), cv.Required(CONF_PATH): cv.file_}
    ).extend(cv.COMPONENT_SCHEMA),
    _stream,
)


async def to_code(config):
    var = cg.new_Pvariable(config[CONF_ID], str(config[CONF_PATH]))
    await cg.register_component(var, config)
    await microphone.register_microphone(var, config)
