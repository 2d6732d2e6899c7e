"""Writes docs/api.md, the reference of the Python package, from signatures and docstrings.

    python -m tools.api

A docstring has paragraphs, and at its end lines `name: text` or `name, name: text` for arguments and attributes; a line
with more indentation continues the line before. A test compares the page with this module's output.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tigris_pio
from tigris_pio.compiler.passes import PassStatistics
from tigris_pio.host.io import IoDescriptor
from tigris_pio.host.session import Memory, OpProfile

PAGE = Path(__file__).resolve().parent.parent / "docs" / "api.md"
HEAD = """# Python reference

Written from the package's docstrings by `python -m tools.api`; a test keeps it so. [From Python](python.md) shows
how it is used. All names are imported from `tigris_pio`, but for the small records at the end, which calls return.
"""
_FIELD = re.compile(r"(\w+(?:, \w+)*): (.*)")


def page() -> str:
    """The whole text."""
    errors = [item for item in _public() if inspect.isclass(item) and issubclass(item, Exception)]
    parts = [HEAD, _function("compile_model", tigris_pio.compile_model), _class(tigris_pio.Compiled, constructor=False),
             _class(tigris_pio.Session), _errors(errors)]  # fmt: skip
    parts += [_class(item, constructor=False) for item in (IoDescriptor, Memory, OpProfile, PassStatistics)]
    return "\n".join(parts)


def _public() -> list[Any]:
    return [getattr(tigris_pio, name) for name in tigris_pio.__all__]


def _signature(function: Callable[..., Any], name: str, leave_out: tuple[str, ...] = ()) -> str:
    """Names and defaults, without types."""
    words = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in leave_out or parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        words.append(f"{parameter.name}{default}".replace("'", '"'))
    return f"{name}({', '.join(words)})"


def _body(text: str) -> Iterator[str]:
    """A docstring's paragraphs, then a table of its fields."""
    prose, rows = [], list[list[str]]()
    for line in inspect.cleandoc(text).splitlines():
        field = _FIELD.fullmatch(line)
        if field and (rows or (prose and not prose[-1])):
            rows.append([field[1], field[2]])
        elif rows and line:
            rows[-1][1] += f" {line.strip()}"
        elif not rows:
            prose.append(line)
    yield "\n".join(prose).strip() + "\n"
    if rows:
        yield "| | |\n|---|---|"
        for names, said in rows:
            yield f"| {', '.join(f'`{name}`' for name in names.split(', '))} | {_cell(said)} |"
        yield ""


def _cell(text: str) -> str:
    """A text in one line; each field of a docstring begins a new one."""
    return " ".join(re.sub(r"\n+(\w+): ", r"<br>`\1`: ", text).split()).replace("|", "\\|")


def _function(name: str, function: Callable[..., Any]) -> str:
    return "\n".join([f"## {name}\n", f"`{_signature(function, name)}`\n", *_body(function.__doc__ or "")])


def _class(item: type, constructor: bool = True) -> str:
    lines = [f"## {item.__name__}\n"]
    if constructor:
        lines.append(f"`{_signature(item.__init__, item.__name__, ('self',))}`\n")
    lines += _body(item.__doc__ or "")
    members = [(name, value) for name, value in vars(item).items() if not name.startswith("_")]
    rows = []
    for name, value in members:
        if isinstance(value, property):
            rows.append((name, inspect.getdoc(value)))
        elif callable(value):
            rows.append((_signature(value, name, ("self",)), inspect.getdoc(value)))
    if rows:
        lines.append("| | |\n|---|---|")
        lines += [f"| `{name}` | {_cell(said or '')} |" for name, said in rows]
        lines.append("")
    return "\n".join(lines)


def _errors(errors: list[type]) -> str:
    rows = [f"| `{item.__name__}` | {', '.join(f'`{base.__name__}`' for base in item.__bases__)} | {item.__doc__} |"
            for item in errors]  # fmt: skip
    return "\n".join(["## Errors\n", "Each message is one that says what is wrong, and what would be right.\n",
                      "| error | is also a | when |\n|---|---|---|", *rows, ""])  # fmt: skip


def main() -> None:
    PAGE.write_text(page(), "utf-8", newline="\n")


if __name__ == "__main__":
    main()
