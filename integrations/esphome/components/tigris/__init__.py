"""Compiles the models of a configuration to plain C, which ESPHome builds with the firmware's other sources.

The sensor platform `tigris` and the component `tigris_wake_word` load this component. It has no options of its own.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import esphome.codegen as cg
import esphome.config_validation as cv
from esphome.components.esp32 import get_esp32_variant
from esphome.core import CORE, EsphomeError
from esphome.coroutine import CoroPriority, coroutine_with_priority
from esphome.helpers import copy_file_if_changed

ROOT = Path(__file__).resolve().parents[4]
sys.path.append(str(ROOT))

from tigris_pio.platformio import compiler, install  # noqa: E402

_LOGGER = logging.getLogger(__name__)

CONFIG_SCHEMA = cv.Schema({})

#: The folder of generated and copied C files, in `src` of the build.
FOLDER = "tigris"


def _size(value: Any) -> str:
    """Bytes, or a number with K or M."""
    text = cv.string(value)
    if not re.fullmatch(r"[0-9]+[KM]?", text):
        raise cv.Invalid(f"{text}: give bytes, or a number with K or M, such as 20K")
    return text


_FLAGS = {"memory": "--mem", "hop": "--hop", "state": "--state", "set": "--set", "dims": "--dim"}
#: How a model is compiled: options in YAML, each with an option of `tigris codegen`.
OPTIONS = {
    cv.Optional("memory", default="64K"): _size,
    cv.Optional("hop"): cv.positive_not_null_int,
    **{cv.Optional(name): cv.ensure_list(cv.string_strict) for name in ("state", "set", "dims")},
}
_TYPES = {"int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "float32": "float"}

ns = cg.esphome_ns.namespace("tigris")

# C++ that gives a model its arena.
_NETWORK = """\
static {upper}_ALIGNED uint8_t {name}_arena[{upper}_FAST_BYTES];
static const tigris::Network {name}{{
    {{{upper}_INPUT_IN({name}_arena), {upper}_INPUT_ELEMENTS, {input}}},
    {{{upper}_OUTPUT_IN({name}_arena), {upper}_OUTPUT_ELEMENTS, {output}}},
    [] {{ return {name}_run({upper}_INPUT_IN({name}_arena), {upper}_OUTPUT_IN({name}_arena), {name}_arena); }},
    [] {{ return {reset}; }}}};"""


@coroutine_with_priority(CoroPriority.FINAL)
async def to_code(config: dict[str, Any]) -> None:
    """Removes C files of models that the configuration no longer has."""
    folder = CORE.relative_src_path(FOLDER)
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path not in _written():
            path.unlink()


def add_sources(paths: Iterable[Path], below: Path) -> None:
    """Copies C files into the build, each to its place relative to the folder `below`."""
    for path in paths:
        target = CORE.relative_src_path(FOLDER, *path.relative_to(below).parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        copy_file_if_changed(path, target)
        _written().add(target)


def add_network(model: Path, id_: Any, options: dict[str, Any]) -> tuple[cg.RawExpression, dict[str, Any]]:
    """Compiles a model to C and adds it to the build. Returns its `tigris::Network` and the compiler's report."""
    with tempfile.TemporaryDirectory() as work:
        report = _compile(model, Path(work), f"network_{id_}", options)
        made = report["c"]
        add_sources(map(Path, made["files"]), Path(work))
        header = Path(work, f"{made['name']}.h").read_text("utf-8")
    name, upper = made["name"], made["name"].upper()
    ends = {}
    for side in ("input", "output"):
        found = report[f"{side}s"]
        if len(found) != 1 or found[0]["stored_dtype"] not in _TYPES:
            listed = ", ".join(f"{end['name']} of {end['stored_dtype']}" for end in found)
            raise EsphomeError(f"{model.name}: needs one {side} of {', '.join(_TYPES)}, but the model has {listed}")
        end, kind = found[0], _TYPES[found[0]["stored_dtype"]]
        scale, zero_point = float(end["scale"] or 1), end["zero_point"] or 0
        even = str("halves to even" in header).lower()
        ends[side] = f"sizeof({kind}), {scale}f, {zero_point}, {even}, tigris::store<{kind}>, tigris::load<{kind}>"
    reset = f"{name}_reset({name}_arena)" if f"int {name}_reset(" in header else "0"
    cg.add_global(cg.RawStatement(f'#include "{FOLDER}/{name}.h"'))
    cg.add_global(cg.RawStatement(_NETWORK.format(name=name, upper=upper, reset=reset, **ends)))
    _LOGGER.info("%s: %d bytes of memory", model.name, made["fast_bytes"])
    return cg.RawExpression(name), report


def _compile(model: Path, work: Path, name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Writes the model as C into the folder `work` and returns the compiler's report."""
    arguments = [str(model.resolve()), "--output", str(work), "--name", name, "--layout", "split"]
    for option, flag in _FLAGS.items():
        values = options.get(option, [])
        for value in values if isinstance(values, list) else [values]:
            arguments += [flag, str(value)]
    if CORE.is_esp32:
        arguments += ["--chip", get_esp32_variant().lower()]
    try:
        found = compiler.find(None, os.environ, sys.executable, _install)
        return compiler.run(found, arguments, work, "codegen", "esphome")
    except (compiler.CompilerError, install.InstallError) as error:
        raise EsphomeError(f"{model.name}: {error}") from None


def _install() -> str:
    """Installs the compiler into an environment in ESPHome's data folder. Returns its Python."""
    return install.install_compiler(Path(CORE.data_dir), ROOT, sys.executable)


def _written() -> set[Path]:
    """The C files of this build."""
    return CORE.data.setdefault(FOLDER, set())
