"""What firmware relies on of its models: kept when everything is uploaded, compared before a plan alone is.

A network that was trained again often has other scales, with which the firmware on the board refuses its plan. It is
said before the plan that works is overwritten. Nothing is compared where nothing was uploaded from this project.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FIELDS = ("dtype", "stored_dtype", "shape", "scale", "zero_point")
#: By model, what `tigris compile --json` says of its inputs and outputs.
Interfaces = Mapping[str, Mapping[str, Any]]


def of(reports: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """Of the models' reports."""
    found = {}
    for name, path in reports.items():
        report = json.loads(path.read_text("utf-8"))
        found[name] = {side: [{field: port[field] for field in ("name", *FIELDS)} for port in report[side]]
                       for side in ("inputs", "outputs")}  # fmt: skip
    return found


def keep(file: Path, interfaces: Interfaces) -> None:
    """Remembers what was uploaded."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(interfaces), "utf-8")


def kept(file: Path) -> Interfaces:
    """What was remembered; nothing if the file is missing or damaged."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def changes(before: Interfaces, now: Interfaces) -> list[str]:
    """One line for each number that the firmware on the board has otherwise."""
    lines = []
    for model, ports in now.items():
        for side in ("inputs", "outputs") if model in before else ():
            old, new = before[model].get(side, []), ports[side]
            if len(old) != len(new):
                lines.append(f"  {model}: {len(old)} {side} in the firmware, {len(new)} in the plan")
                continue
            for one, other in zip(old, new, strict=True):
                where = f"  {model}, {side[:-1]} {other['name']}:"
                lines += [f"{where} {field.replace('_', ' ')} {_shown(one.get(field))} -> {_shown(other[field])}"
                          for field in FIELDS if one.get(field) != other[field]]  # fmt: skip
    return lines


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
