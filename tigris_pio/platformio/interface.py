"""The interfaces of models that firmware relies on: saved when firmware is flashed, compared before a plan is flashed.

A retrained network often has other scales, so the firmware on the board would refuse its plan. The build says so before
the working plan is overwritten. If this build has flashed no firmware, nothing is compared.

The interfaces come from the headers of the firmware: tigris_models.h and tigris_model_<NAME>.h, and tigris_weights.h
for models compiled as C with weights in a partition.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .weights import FILE as WEIGHTS_HEADER

HEADER = "tigris_models.h"
#: By model: the constants of its header; PLACE; PLAN_CRC32 of the only accepted plan or weights; ACCEPTED, the name of
#: the constant by which plans are compared; PUBLIC_KEY, empty if plans need no signature.
Interfaces = Mapping[str, Mapping[str, str]]

_MODEL = re.compile(
    r'tigris_model (?P<constant>\w+) = \{\s*"(?P<name>[^"]*)",\s*"(?P<label>[^"]*)",\s*(?P<offset>\w+),.*?'
    r"(?P<accepted>INTERFACE|SHAPE)_CRC32,\s*(?P<plan>\w+),",
    re.DOTALL,
)
_WEIGHTS = re.compile(
    r'#define (?P<name>\w+)_WEIGHTS_PARTITION "(?P<label>[^"]*)"\n'
    r"#define \w+_OFFSET (?P<offset>\w+).*\n#define \w+_CRC32 (?P<crc32>\w+)"
)
_PUBLIC_KEY = re.compile(r"#define TIGRIS_PUBLIC_KEY ((?:.*\\\n)*.*)\n")
_ANY_PLAN = "0u"
_SCALES = ("SCALE", "ZERO_POINT")
_IO_FIELDS = ("DTYPE", "SHAPE", "ROWS", *_SCALES)


def read(folder: Path) -> dict[str, dict[str, str]]:
    """Reads the interfaces of the models whose headers lie in `folder`."""
    found = {}
    for model in _MODEL.finditer(_text(folder / HEADER)):
        header = (folder / f"tigris_model_{model['name']}.h").read_text("utf-8")
        constants = dict(re.findall(rf"^#define {model['constant']}_(\w+) +(.+)$", header, re.MULTILINE))
        own = {"PLACE": _place(model), "ACCEPTED": f"{model['accepted']}_CRC32", "PLAN_CRC32": model["plan"]}
        key = _PUBLIC_KEY.search(header)
        found[model["name"]] = constants | own | {"PUBLIC_KEY": "".join(key[1].split()) if key else ""}
    for model in _WEIGHTS.finditer(_text(folder / WEIGHTS_HEADER)):
        found[model["name"]] = {"PLACE": _place(model), "ACCEPTED": "PLAN_CRC32", "PLAN_CRC32": model["crc32"]}
    return found


def _text(file: Path) -> str:
    return file.read_text("utf-8") if file.is_file() else ""


def _place(model: re.Match[str]) -> str:
    return f"partition {model['label']}, offset {model['offset'].rstrip('uU')}"


def save(file: Path, interfaces: Interfaces) -> None:
    """Saves the interfaces of flashed firmware."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(interfaces), "utf-8")


def load(file: Path) -> Mapping[str, Any]:
    """Loads saved interfaces, or another object of JSON; empty if the file is missing or damaged."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def refusal(before: Interfaces, now: Interfaces, everything: str) -> str | None:
    """Why the flashed firmware, with the interfaces `before`, would refuse the plans of `now`, and the remedy; or None.

    `everything` is the command that flashes firmware and plans.
    """
    lines = [line for name in now for line in _changes(name, before, now[name])] if before else []
    if not lines:
        return None
    pin = ". To keep the firmware, quantize the network with its scales: tigris quantize --like"
    is_scale = any(f": {_words(field)} " in line for line in lines for field in _SCALES)
    return (
        "the firmware that was flashed last would refuse the plan, because these differ:\n"
        + "\n".join(lines)
        + f"\nNothing was written. Build and flash everything: {everything}{pin if is_scale else ''}"
    )


def _changes(name: str, before: Interfaces, now: Mapping[str, str]) -> Iterator[str]:
    """Yields a line for each difference between the firmware's model and the plan."""
    old = before.get(name)
    if old is None:
        yield f"  {name}: the firmware has no model of this name"
        return
    if not old.get("ACCEPTED"):  # not written by this version
        return
    if old["PLAN_CRC32"] not in (_ANY_PLAN, now["PLAN_CRC32"]):
        what = "weights" if old["ACCEPTED"] == "PLAN_CRC32" else "plan"
        yield f"  {name}: the firmware accepts the {what} of its own build only"
    if old.get("PUBLIC_KEY") and old["PUBLIC_KEY"] != now.get("PUBLIC_KEY"):
        yield f"  {name}: the firmware opens only plans that another key signed"
    if old["PLACE"] != now["PLACE"]:
        yield f"  {name}: {old['PLACE']} -> {now['PLACE']}"
    for kind in ("fast", "slow"):
        there, wanted = (_number(constants.get(f"{kind.upper()}_BYTES", "0")) for constants in (old, now))
        if wanted > there:
            yield f"  {name}: {kind} memory {there} -> {wanted} bytes"
    io_changes = list(_io_changes(name, old, now))
    yield from io_changes
    if not io_changes and old["ACCEPTED"] != "PLAN_CRC32" and old.get(old["ACCEPTED"]) != now.get(old["ACCEPTED"]):
        yield f"  {name}: the types or the axis order of its inputs or outputs"


def _io_changes(name: str, old: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for side in ("INPUT", "OUTPUT"):
        there, wanted = (_number(constants.get(f"{side}S", "0")) for constants in (old, now))
        if there != wanted:
            yield f"  {name}: {side.lower()}s: {there} -> {wanted}"
            continue
        for index in range(wanted):
            io = now.get(f"{side}{index}_NAME", str(index)).strip('"')
            for field in _IO_FIELDS:
                values = [constants.get(f"{side}{index}_{field}", "none") for constants in (old, now)]
                if values[0] != values[1] and not (field in _SCALES and old["ACCEPTED"] == "SHAPE_CRC32"):
                    shown = " -> ".join(_shown(value) for value in values)
                    yield f"  {name}, {side.lower()} {io}: {_words(field)} {shown}"


def _words(field: str) -> str:
    return {"DTYPE": "type"}.get(field, field.lower().replace("_", " "))


def _shown(value: str) -> str:
    if value.startswith("TIGRIS_DTYPE_"):
        return value.removeprefix("TIGRIS_DTYPE_").lower()
    if re.fullmatch(r"[-+0-9.e]+f", value):
        return value[:-1].removesuffix(".0")
    return value.strip("{ }()").removesuffix("u").replace(", ", " x ")


def _number(text: str) -> int:
    return int(text.rstrip("uU"), 0)
