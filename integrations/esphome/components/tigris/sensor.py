"""A sensor whose state is the output of a model, fed by the states of other sensors or by the pictures of a camera."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import esphome.codegen as cg
import esphome.config_validation as cv
from esphome.components import sensor
from esphome.const import CONF_FORMAT, CONF_HEIGHT, CONF_ID, CONF_MODEL, CONF_OUTPUT, CONF_WIDTH
from esphome.core import EsphomeError

from . import OPTIONS, ROOT, add_network, add_sources, ns

AUTO_LOAD = ["tigris"]

ModelSensor = ns.class_("ModelSensor", sensor.Sensor, cg.PollingComponent)

LARGEST = "largest"
#: Pixel formats of `esp32_camera`, each with the camera adapter's name.
FORMATS = {"GRAYSCALE": "GREY", "RGB565": "RGB565_BE", "YUV422": "YUYV"}
SIDE = cv.int_range(1, 4096)


def _crops_lie_inside(camera: dict[str, Any]) -> dict[str, Any]:
    for crop in camera["crops"]:
        for start, side in (("x", CONF_WIDTH), ("y", CONF_HEIGHT)):
            if crop[start] + crop[side] > camera[side]:
                raise cv.Invalid(f"a crop ends at {start} = {crop[start] + crop[side]}, beyond {camera[side]}")
    return camera


CROP_SCHEMA = cv.Schema(
    {
        cv.Optional("x", default=0): cv.positive_int,
        cv.Optional("y", default=0): cv.positive_int,
        cv.Required(CONF_WIDTH): SIDE,
        cv.Required(CONF_HEIGHT): SIDE,
    }
)
CAMERA_SCHEMA = cv.All(
    cv.Schema(
        {
            cv.Required(CONF_WIDTH): SIDE,
            cv.Required(CONF_HEIGHT): SIDE,
            cv.Required(CONF_FORMAT): cv.one_of(*FORMATS, upper=True),
            cv.Required("crops"): cv.All(cv.ensure_list(CROP_SCHEMA), cv.Length(1, 7)),
            cv.Optional("mean", default=0.0): cv.float_,
            cv.Optional("deviation", default=1.0): cv.All(cv.float_, cv.Range(min=0, min_included=False)),
        }
    ),
    _crops_lie_inside,
)
CONFIG_SCHEMA = cv.All(
    sensor.sensor_schema(ModelSensor)
    .extend(
        {
            cv.Required(CONF_MODEL): cv.file_,
            cv.Optional(CONF_OUTPUT, default=LARGEST): cv.Any(cv.one_of(LARGEST), cv.positive_int),
            cv.Optional("sources"): cv.All(cv.ensure_list(cv.use_id(sensor.Sensor)), cv.Length(min=1)),
            cv.Optional("camera"): CAMERA_SCHEMA,
            **OPTIONS,
        }
    )
    .extend(cv.polling_component_schema("never")),
    cv.has_at_most_one_key("sources", "camera"),
)


async def to_code(config: dict[str, Any]) -> None:
    model = Path(config[CONF_MODEL])
    network, report = add_network(model, config[CONF_ID], config)
    (source,), (result,) = report["inputs"], report["outputs"]
    elements, output = _product(result["shape"]), config[CONF_OUTPUT]
    if output != LARGEST and output >= elements:
        raise EsphomeError(f"{model.name}: has {elements} numbers as output; give an `output` below that")
    var = await sensor.new_sensor(config, network, elements if output == LARGEST else output)
    await cg.register_component(var, config)
    for id_ in config.get("sources", []):
        cg.add(var.add_source(await cg.get_variable(id_)))
    if _product(source["shape"]) % (len(config.get("sources", [])) or 1):
        raise EsphomeError(f"{model.name}: its input {source['shape']} is no number of rows of these sources")
    if "camera" in config:
        cg.add(var.set_camera(_add_camera(model, config["camera"], source, network)))


def _add_camera(model: Path, camera: dict[str, Any], source: dict[str, Any], network: Any) -> cg.RawExpression:
    """Adds the camera adapter, its table and its sums. Returns the struct of all."""
    runtime = ROOT / "runtime"
    add_sources((runtime / "include" / f"{name}.h" for name in ("tigris", "tigris_format", "tigris_camera")),
                runtime / "include")  # fmt: skip
    add_sources([runtime / "src" / "camera.c"], runtime / "src")
    cg.add_define("USE_TIGRIS_CAMERA")
    order = (1, 2, 0) if model.suffix == ".onnx" else (0, 1, 2)  # ONNX has the channels first
    height, width, channels = ([0, 0, 0, *source["shape"]][-3:][axis] for axis in order)
    if channels not in (1, 3):
        raise EsphomeError(f"{model.name}: a camera's model takes pictures of 1 or 3 channels, but this one "
                           f"takes {source['shape']}")  # fmt: skip
    pixels = 1 if camera[CONF_FORMAT] == "GRAYSCALE" else 2
    places = ("x", "y", CONF_WIDTH, CONF_HEIGHT)
    crops = ", ".join("{" + ", ".join(str(crop[place]) for place in places) + "}" for crop in camera["crops"])
    name = f"{network}_camera"
    cg.add_global(cg.RawStatement(f"""\
static float {name}_table[256];  // room for 256 stored values of any type
static uint32_t {name}_sums[TIGRIS_CAMERA_SUMS({width}, {channels})];
static const tigris::Crop {name}_crops[]{{{crops}}};
static tigris::Camera {name}{{
    {{.format = TIGRIS_PIXELS_{FORMATS[camera[CONF_FORMAT]]}, .resize = TIGRIS_RESIZE_AREA,
     .dtype = TIGRIS_DTYPE_{source["stored_dtype"].upper()}, .channels = {channels},
     .frame_width = {camera[CONF_WIDTH]}, .frame_height = {camera[CONF_HEIGHT]},
     .crop_x = 0, .crop_y = 0, .crop_width = 0, .crop_height = 0, .width = {width}, .height = {height},
     .tables = {{{name}_table, {name}_table, {name}_table}}}},
    {camera[CONF_WIDTH] * pixels}, {camera["mean"]}f, {camera["deviation"]}f, {name}_sums, {width * channels},
    {name}_crops, {len(camera["crops"])}, {{}}}};"""))
    return cg.RawExpression(f"&{name}")


def _product(shape: list[int]) -> int:
    """The number of elements of a shape."""
    product = 1
    for extent in shape:
        product *= extent
    return product
