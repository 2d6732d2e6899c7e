"""What firmware relies on of its models: kept when firmware is flashed, compared before a plan alone is.

A network that was trained again often has other scales, with which the firmware on the board refuses its plan. It is
said before the plan that works is overwritten. Nothing is compared where nothing was flashed from this build.

What firmware relies on stands in the headers that it is compiled with: tigris_models.h and tigris_model_<NAME>.h; of
models that are C, whose weights are flashed alone, tigris_weights.h.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from .weights import FILE as WEIGHTS_HEADER

HEADER = "tigris_models.h"
#: By model: constants of its header, and PLACE, PLAN_CRC32 of the only plan or weights that are taken, and ACCEPTED,
#: the constant that plans are compared by.
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
_ANY_PLAN = "0u"
_SCALES = ("SCALE", "ZERO_POINT")
_OF_PORTS = ("DTYPE", "SHAPE", "ROWS", *_SCALES)


def of(folder: Path) -> dict[str, dict[str, str]]:
    """Of the models whose headers lie in `folder`."""
    found = {}
    for model in _MODEL.finditer(_text(folder / HEADER)):
        header = (folder / f"tigris_model_{model['name']}.h").read_text("utf-8")
        constants = dict(re.findall(rf"^#define {model['constant']}_(\w+) +(.+)$", header, re.MULTILINE))
        own = {"PLACE": _place(model), "ACCEPTED": f"{model['accepted']}_CRC32", "PLAN_CRC32": model["plan"]}
        found[model["name"]] = constants | own
    for model in _WEIGHTS.finditer(_text(folder / WEIGHTS_HEADER)):
        found[model["name"]] = {"PLACE": _place(model), "ACCEPTED": "PLAN_CRC32", "PLAN_CRC32": model["crc32"]}
    return found


def _text(file: Path) -> str:
    return file.read_text("utf-8") if file.is_file() else ""


def _place(model: re.Match[str]) -> str:
    return f"partition {model['label']}, offset {model['offset'].rstrip('uU')}"


def keep(file: Path, interfaces: Interfaces) -> None:
    """Remembers what was flashed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(interfaces), "utf-8")


def kept(file: Path) -> Interfaces:
    """What was remembered; nothing if the file is missing or damaged."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def refusal(before: Interfaces, now: Interfaces, everything: str) -> str | None:
    """Why the firmware that was flashed would refuse the plans of now, and what to do; None: it takes them.

    `everything` is the command that flashes firmware and plans.
    """
    lines = [line for name in now for line in _changes(name, before, now[name])] if before else []
    if not lines:
        return None
    pin = ". To keep the firmware, give the network the scales that it has: tigris quantize --like"
    is_scale = any(f": {_words(field)} " in line for line in lines for field in _SCALES)
    return (
        "the firmware that was flashed last was built for something else, and would refuse the plan:\n"
        + "\n".join(lines)
        + f"\nNothing was written. Build and flash everything: {everything}{pin if is_scale else ''}"
    )


def _changes(name: str, before: Interfaces, now: Mapping[str, str]) -> Iterator[str]:
    """One line for each thing that the firmware has otherwise."""
    old = before.get(name)
    if old is None:
        yield f"  {name}: the firmware has no model of this name"
        return
    if not old.get("ACCEPTED"):  # not written by this version
        return
    if old["PLAN_CRC32"] not in (_ANY_PLAN, now["PLAN_CRC32"]):
        what = "weights" if old["ACCEPTED"] == "PLAN_CRC32" else "plan"
        yield f"  {name}: the firmware takes the {what} of its own build only"
    if old["PLACE"] != now["PLACE"]:
        yield f"  {name}: {old['PLACE']} -> {now['PLACE']}"
    for kind in ("fast", "slow"):
        there, wanted = (_number(of_model.get(f"{kind.upper()}_BYTES", "0")) for of_model in (old, now))
        if wanted > there:
            yield f"  {name}: {kind} memory {there} -> {wanted} bytes"
    ports = list(_port_changes(name, old, now))
    yield from ports
    if not ports and old["ACCEPTED"] != "PLAN_CRC32" and old.get(old["ACCEPTED"]) != now.get(old["ACCEPTED"]):
        yield f"  {name}: the inputs' or outputs' own types, or the order of their axes"


def _port_changes(name: str, old: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for side in ("INPUT", "OUTPUT"):
        there, wanted = (_number(of_model.get(f"{side}S", "0")) for of_model in (old, now))
        if there != wanted:
            yield f"  {name}: {side.lower()}s: {there} -> {wanted}"
            continue
        for index in range(wanted):
            port = now.get(f"{side}{index}_NAME", str(index)).strip('"')
            for field in _OF_PORTS:
                values = [of_model.get(f"{side}{index}_{field}", "none") for of_model in (old, now)]
                if values[0] != values[1] and not (field in _SCALES and old["ACCEPTED"] == "SHAPE_CRC32"):
                    shown = " -> ".join(_shown(value) for value in values)
                    yield f"  {name}, {side.lower()} {port}: {_words(field)} {shown}"


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
