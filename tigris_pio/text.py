"""Escapes untrusted text (names in a model, a board's answers) for C, terminals, JSON and HTML.

A model's names may be any bytes. C gets string literals of plain characters only, terminals no control characters, and
JSON and HTML no characters that reorder the text around them.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable
from typing import Any

#: Control characters (C0 without tab and newline, DEL, C1), marks that reorder or hide text, separators of lines,
#: lone surrogates. Not the joiners U+200C and U+200D, which words of some languages need.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\uffff"
    "\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_PLAIN_C = re.compile(rb"[^ !#->@-\[\]-~]")


def c_string(text: str) -> str:
    r"""A C string literal with the bytes of `text` in UTF-8: in octal, unless plain ASCII other than `\`, `"`, `?`."""
    plain = _PLAIN_C.sub(lambda match: b"\\%03o" % match[0][0], text.encode("utf-8", "surrogatepass"))
    return f'"{plain.decode("ascii")}"'


def c_comment(text: str) -> str:
    """`text` for a C comment, without characters that end a comment, open one or continue a line."""
    return re.sub(r"[^ -~]|[*/\\?]", "_", text)


def c_identifier(name: str) -> str:
    """`name` for the middle of a C constant: upper case, and underscores for characters that C does not allow."""
    return re.sub(r"\W", "_", name, flags=re.ASCII).upper()


def visible(text: str) -> str:
    r"""`text` for people: control characters and marks that reorder text are escaped, as \x1b or \u202e."""
    return _UNSAFE.sub(lambda match: _escape(match[0]), text)


def visible_name(name: str) -> str:
    """`name` for people, like `visible`, with tabs and line ends escaped too."""
    return re.sub(r"[\t\n]", lambda match: _escape(match[0]), visible(name))


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 operator`, `2 operators`; `plural` for a noun whose plural is not made by an s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def suggest_names(name: str, known: Iterable[str]) -> str:
    """For a message about an unknown name: `it has: x, h`, or `did you mean x? It has: x, h`."""
    known = tuple(known)
    close = difflib.get_close_matches(name, known, n=1)
    names = ", ".join(map(visible_name, known)) or "none"
    return f"did you mean {visible_name(close[0])}? It has: {names}" if close else f"it has: {names}"


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_text(document: Any) -> str:
    """`document` as indented JSON, with unsafe characters escaped; an infinity or NaN becomes null."""
    text = json.dumps(_without_infinities(document), indent=2, ensure_ascii=False, allow_nan=False)
    return _UNSAFE.sub(lambda match: json.dumps(match[0])[1:-1], text)


def _without_infinities(document: Any) -> Any:
    """JSON has neither infinities nor NaN, though Python would write them."""
    if isinstance(document, dict):
        return {key: _without_infinities(value) for key, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [_without_infinities(value) for value in document]
    return None if isinstance(document, float) and not math.isfinite(document) else document
