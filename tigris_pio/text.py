"""Text that somebody else wrote (names in a model, a board's answers), made safe for where it goes.

A model's names are any bytes that its author liked. Into C they go as string literals of plain characters only, into a
terminal without anything that a terminal obeys, into JSON and HTML without what reorders the text around it.
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
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\uffff"
    "\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_PLAIN_C = re.compile(rb"[^ !#->@-\[\]-~]")


def c_string(text: str) -> str:
    r"""A C string literal with the bytes of `text` in UTF-8: what is not plain, and `\`, `"`, `?`, in octal."""
    plain = _PLAIN_C.sub(lambda match: b"\\%03o" % match[0][0], text.encode("utf-8", "surrogatepass"))
    return f'"{plain.decode("ascii")}"'


def c_comment(text: str) -> str:
    """`text` within a C comment: nothing in it ends the comment, opens one or continues a line."""
    return re.sub(r"[^ -~]|[*/\\?]", "_", text)


def c_identifier(name: str) -> str:
    """`name` as the middle of a C constant: upper case, other characters as underscores."""
    return re.sub(r"\W", "_", name, flags=re.ASCII).upper()


def visible(text: str) -> str:
    r"""`text` for people: what a terminal or a reader's eye would obey is written out, as \x1b or \u202e."""
    return _OBEYED.sub(lambda match: _written_out(match[0]), text)


def visible_name(name: str) -> str:
    """The same for a name, which has one line."""
    return re.sub(r"[\t\n]", lambda match: _written_out(match[0]), visible(name))


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 operator`, `2 operators`; `plural` of nouns that have another than with an s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def what_there_is(name: str, known: Iterable[str]) -> str:
    """For a message about a name that is none of `known`: `it has: x, h`, behind the nearest of them if one is near."""
    known = tuple(known)
    close = difflib.get_close_matches(name, known, n=1)
    names = ", ".join(map(visible_name, known)) or "none"
    return f"did you mean {visible_name(close[0])}? It has: {names}" if close else f"it has: {names}"


def _written_out(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_text(document: Any) -> str:
    """`document` as JSON, readable, with the same characters escaped as JSON has it; no finite number: null."""
    text = json.dumps(_without_infinities(document), indent=2, ensure_ascii=False, allow_nan=False)
    return _OBEYED.sub(lambda match: json.dumps(match[0])[1:-1], text)


def _without_infinities(document: Any) -> Any:
    """JSON has neither infinities nor NaN, though Python would write them."""
    if isinstance(document, dict):
        return {key: _without_infinities(value) for key, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [_without_infinities(value) for value in document]
    return None if isinstance(document, float) and not math.isfinite(document) else document
