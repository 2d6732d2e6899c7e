"""Hears wake words by networks of microWakeWord, compiled to C with constant arenas.

The options are those of `micro_wake_word`, whose manifests name the networks.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import esphome.codegen as cg
import esphome.config_validation as cv
from esphome import automation
from esphome.components import micro_wake_word as mww
from esphome.components import microphone, tigris
from esphome.const import CONF_ID, CONF_MICROPHONE, CONF_MODEL
from esphome.core import EsphomeError

AUTO_LOAD = ["tigris"]
DEPENDENCIES = ["microphone"]

FEATURES = 40  # of a row that the front end makes
RATE = 16000
FRONT_END = tigris.ROOT / "examples" / "wake-word" / "lib" / "speech_features" / "src"

ns = cg.esphome_ns.namespace("tigris_wake_word")
TigrisWakeWord = ns.class_("TigrisWakeWord", cg.Component)
Model = ns.class_("Model")

MODEL_SCHEMA = cv.Schema(
    {
        cv.GenerateID(): cv.declare_id(Model),
        cv.Required(CONF_MODEL): mww.MODEL_SOURCE_SCHEMA,
        cv.Optional(mww.CONF_PROBABILITY_CUTOFF): cv.percentage,
        cv.Optional(mww.CONF_SLIDING_WINDOW_SIZE): cv.int_range(1, 255),
        **tigris.OPTIONS,
    }
)


def _vad(value: Any) -> Any:
    """The options of the network for voice activity; an empty value takes the public one."""
    return MODEL_SCHEMA({CONF_MODEL: "vad", **(value or {})})


CONFIG_SCHEMA = cv.Schema(
    {
        cv.GenerateID(): cv.declare_id(TigrisWakeWord),
        cv.Optional(CONF_MICROPHONE, default={}): microphone.microphone_source_schema(),
        cv.Required(mww.CONF_MODELS): cv.All(
            cv.ensure_list(cv.maybe_simple_value(MODEL_SCHEMA, key=CONF_MODEL)), cv.Length(min=1)
        ),
        cv.Optional(mww.CONF_VAD): _vad,
        cv.Optional(mww.CONF_ON_WAKE_WORD_DETECTED): automation.validate_automation(single=True),
        cv.Optional(mww.CONF_STOP_AFTER_DETECTION, default=True): cv.boolean,
    }
).extend(cv.COMPONENT_SCHEMA)


def _networks(config: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any], bytes]]:
    """Options, manifest and file of each network; that for voice activity is the last."""
    models = [*config[mww.CONF_MODELS], *([config[mww.CONF_VAD]] if mww.CONF_VAD in config else [])]
    return [(model, *mww._model_config_to_manifest_data(model[CONF_MODEL])) for model in models]


def _step_ms(config: dict[str, Any]) -> int:
    """Milliseconds from one row of features to the next, which all networks share."""
    steps = {manifest[mww.KEY_MICRO][mww.CONF_FEATURE_STEP_SIZE] for _, manifest, _ in _networks(config)}
    if len(steps) != 1 or steps == {0}:
        listed = " and ".join(map(str, sorted(steps)))
        raise cv.Invalid(f"all models need the same {mww.CONF_FEATURE_STEP_SIZE} above 0, but theirs are {listed}")
    return steps.pop()


def _final_validate(config: dict[str, Any]) -> dict[str, Any]:
    microphone.final_validate_microphone_source_schema("tigris_wake_word", RATE)(config[CONF_MICROPHONE])
    _step_ms(config)
    return config


FINAL_VALIDATE_SCHEMA = _final_validate


async def to_code(config: dict[str, Any]) -> None:
    var = cg.new_Pvariable(config[CONF_ID])
    await cg.register_component(var, config)
    cg.add(var.set_microphone_source(await microphone.microphone_source_to_code(config[CONF_MICROPHONE])))
    cg.add(var.set_stop_after_detection(config[mww.CONF_STOP_AFTER_DETECTION]))
    tigris.add_sources(FRONT_END.glob("*.[ch]"), FRONT_END)
    cg.add_build_flag(f"-DSPEECH_FEATURES_HOP={_step_ms(config) * RATE // 1000}")
    for options, manifest, data in _networks(config):
        model = _add_model(options, manifest, data)
        cg.add(var.set_vad(model) if options is config.get(mww.CONF_VAD) else var.add_model(model))
    if mww.CONF_ON_WAKE_WORD_DETECTED in config:
        await automation.build_automation(
            var.get_wake_word_detected_trigger(),
            [(cg.std_string, "wake_word")],
            config[mww.CONF_ON_WAKE_WORD_DETECTED],
        )


def _add_model(options: dict[str, Any], manifest: dict[str, Any], data: bytes) -> cg.MockObj:
    """Adds a network and the sliding window of its probabilities. Returns its variable."""
    micro = manifest[mww.KEY_MICRO]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, Path(manifest[CONF_MODEL]).name)
        file.write_bytes(data)
        network, report = tigris.add_network(file, options[CONF_ID], options)
    (source,), (probability,) = report["inputs"], report["outputs"]
    kinds = (source["stored_dtype"], probability["stored_dtype"], probability["bytes"])
    if kinds != ("int8", "int8", 1) or source["bytes"] % FEATURES:
        raise EsphomeError(
            f"{file.name}: a wake word's network takes rows of {FEATURES} int8 and has one int8 as output, but this "
            f"one takes {source['shape']} of {kinds[0]} and has {probability['shape']} of {kinds[1]}"
        )
    cutoff = options.get(mww.CONF_PROBABILITY_CUTOFF, micro[mww.CONF_PROBABILITY_CUTOFF])
    window = options.get(mww.CONF_SLIDING_WINDOW_SIZE, micro[mww.CONF_SLIDING_WINDOW_SIZE])
    array = f"{network}_window"
    cg.add_global(cg.RawStatement(f"static uint8_t {array}[{window}];"))
    word = manifest[mww.KEY_WAKE_WORD]
    return cg.new_Pvariable(options[CONF_ID], network, word, int(cutoff * 255), cg.RawExpression(array), window)


def _register(parent: Any, actions: dict[str, str], condition: str, condition_class: str) -> None:
    """Registers the actions and the condition of an object, each with its class."""

    async def to_code(config: Any, action_id: Any, template_arg: Any, args: Any) -> cg.Pvariable:
        return cg.new_Pvariable(action_id, template_arg, await cg.get_variable(config[CONF_ID]))

    schema = automation.maybe_simple_id({cv.GenerateID(): cv.use_id(parent)})
    for name, kind in actions.items():
        action = ns.class_(kind, automation.Action)
        automation.register_action(f"tigris_wake_word.{name}", action, schema, synchronous=True)(to_code)
    kind = ns.class_(condition_class, automation.Condition)
    automation.register_condition(f"tigris_wake_word.{condition}", kind, schema)(to_code)


_register(TigrisWakeWord, {"start": "StartAction", "stop": "StopAction"}, "is_running", "IsRunningCondition")
_register(
    Model,
    {"enable_model": "EnableModelAction", "disable_model": "DisableModelAction"},
    "model_is_enabled",
    "ModelIsEnabledCondition",
)
