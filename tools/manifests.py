"""Writes version, address and descriptions into every manifest and page that repeats them.

    python -m tools.manifests [--check]

The values come from `tigris_pio/identity.py`; the rest of each file stays. With --check it writes nothing, and exits
with 1 if a file would change.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tigris_pio.identity import IDENTITY, Identity

ROOT = Path(__file__).resolve().parent.parent
#: What pages show while there is no address: a domain that is reserved for examples (RFC 2606).
PLACEHOLDER = "https://example.org/tigris-pio"
LINE = 110


def library_json(text: str, identity: Identity) -> str:
    """PlatformIO's manifest of the library."""
    return _json(text, {
        "name": identity.name, "version": identity.version, "description": identity.runtime,
        "license": identity.license, "homepage": identity.repository,
        "repository": {"type": "git", "url": f"{identity.repository}.git"} if identity.repository else None,
        "authors": [{"name": identity.authors}], "examples": _examples(),
    })  # fmt: skip


def _examples() -> list[dict[str, Any]]:
    """PlatformIO projects among the examples, with their files."""
    folders = sorted(path.parent for path in (ROOT / "examples").glob("*/platformio.ini"))
    kept = ("model", "src", "main", "include")
    return [
        {"name": folder.name, "base": f"examples/{folder.name}",
         "files": sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
                         and (path.parent == folder or path.relative_to(folder).parts[0] in kept))}
        for folder in folders
    ]  # fmt: skip


def platform_json(text: str, identity: Identity) -> str:
    """PlatformIO's manifest of the emulated boards."""
    return _json(text, {"version": identity.version, "license": identity.license, "homepage": identity.repository})


def idf_component(text: str, identity: Identity) -> str:
    """The manifest of ESP-IDF's component manager."""
    address = identity.repository
    return _yaml(text, {
        "version": f'"{identity.version}"', "description": identity.runtime, "license": identity.license,
        "url": address, "repository": address and f"{address}.git", "issues": address and f"{address}/issues",
    })  # fmt: skip


def mkdocs(text: str, identity: Identity) -> str:
    """The site's configuration."""
    return _yaml(text, {
        "site_name": identity.name, "site_description": identity.summary, "repo_url": identity.repository,
    })  # fmt: skip


def pyproject(text: str, identity: Identity) -> str:
    """The Python package's; without an address it has no [project.urls]."""
    values = {"name": identity.name, "version": identity.version, "description": identity.summary}
    for key, value in values.items():
        text = re.sub(rf'(?m)^{key} = ".*"$', lambda _, line=f'{key} = "{value}"': line, text, count=1)
    text = re.sub(r"\[project\.urls\]\n.*?\n\n", "", text, flags=re.DOTALL)
    if identity.repository:
        urls = f'[project.urls]\nRepository = "{identity.repository}"\n\n'
        text = text.replace("[project.optional-dependencies]", f"{urls}[project.optional-dependencies]", 1)
    return text


def page(text: str, identity: Identity) -> str:
    """A page: addresses to clone, to put into `lib_deps`, and for ESPHome."""
    address = identity.repository or PLACEHOLDER
    text = re.sub(r"(tigris-pio=)https?://\S+?\.git#v[\d.]+", rf"\g<1>{address}.git#v{identity.version}", text)
    return re.sub(r"(git clone |url: \"?)https?://[^\s\"]+\.git", rf"\g<1>{address}.git", text)


def header(text: str, identity: Identity) -> str:
    """tigris.h: TIGRIS_VERSION as a number."""
    major, minor, patch = map(int, identity.version.split("."))
    return re.sub(r"(?m)^(#define TIGRIS_VERSION ).*", rf"\g<1>{10000 * major + 100 * minor + patch}", text)


def _json(text: str, values: dict[str, Any]) -> str:
    """The document with `values` set, in its own order; empty values are removed."""
    merged = {key: value for key, value in {**json.loads(text), **values}.items() if value or key not in values}
    lines = [f"  {json.dumps(key)}: {_value(value, 2)}" for key, value in merged.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _value(value: Any, indent: int) -> str:
    """JSON on one line if it fits, else one item per line."""
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) or len(text) + indent <= LINE:
        return text
    inside, outside = " " * (indent + 2), " " * indent
    if isinstance(value, dict):
        items = [f"{inside}{json.dumps(key)}: {_value(item, indent + 2)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + f"\n{outside}}}"
    return "[\n" + ",\n".join(f"{inside}{_value(item, indent + 2)}" for item in value) + f"\n{outside}]"


def _yaml(text: str, values: dict[str, str]) -> str:
    """The text with top-level scalars set; empty ones are removed, new ones follow the one before them in `values`."""
    lines, place = text.splitlines(), 0
    for key, value in values.items():
        at = next((number for number, line in enumerate(lines) if line.startswith(f"{key}:")), None)
        if at is not None:
            del lines[at]
            place = at
        if value:
            lines.insert(place, f"{key}: {value}")
            place += 1
    return "\n".join(lines) + "\n"


def targets(root: Path = ROOT) -> dict[Path, Callable[[str, Identity], str]]:
    """Every file that repeats values of the identity, with the function that writes it."""
    found: dict[Path, Callable[[str, Identity], str]] = {
        root / "library.json": library_json,
        root / "runtime" / "include" / "tigris.h": header,
        root / "idf_component.yml": idf_component,
        root / "mkdocs.yml": mkdocs,
        root / "pyproject.toml": pyproject,
        root / "tigris_pio" / "platformio" / "emulated" / "platform.json": platform_json,
    }
    pages = [*root.glob("*.md"), *(root / "docs").glob("*.md"), *(root / "examples").glob("*/README.md")]
    return {**found, **dict.fromkeys(sorted(pages), page)}


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    changed = []
    for path, make in targets().items():
        before = path.read_text("utf-8")
        after = make(before, IDENTITY)
        if after != before:
            changed.append(path.relative_to(ROOT).as_posix())
            if not arguments:
                path.write_text(after, "utf-8", newline="\n")
    for name in changed:
        print(f"{name}: {'differs from tigris_pio/identity.py' if arguments else 'written'}")
    return 1 if changed and arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
