"""C identifiers for whatever a model calls things."""

from __future__ import annotations

import re

#: Words of C99 and C++, and macros of usual headers and compilers: none of these can name a member of a struct.
RESERVED = frozenset(
    re.findall(r"\w+", """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
    concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete
    do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
    requires restrict return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while
    xor xor_eq _bool _complex _imaginary
    assert complex errno far huge i386 imaginary interrupt linux main max min near null offsetof packed pascal
    signbit stderr stdin stdout unix isinf isnan isfinite isnormal fpclassify
    """)
)
_LONGEST = 40


class Names:
    """Gives each thing an identifier of its own: lower case, letters, digits and underscores.

    `changed`: what had to have another name than its own spelled in these characters, and why.
    """

    def __init__(self, reserved: frozenset[str] = frozenset()) -> None:
        self._taken: set[str] = set()
        self._reserved = reserved
        self.changed: list[tuple[str, str, str]] = []

    def give(self, text: str, otherwise: str) -> str:
        """An identifier made of `text`, or of `otherwise` where nothing of it can be part of one."""
        plain = plain_identifier(text) or plain_identifier(otherwise)
        name, reason = plain, ""
        if name in self._reserved or name[0].isdigit():
            name, reason = f"{name}_" if name in self._reserved else f"_{name}", "is no name in C"
            name = f"n{name}" if name.startswith("_") else name
        free = name
        number = 2
        while free in self._taken:
            free, reason = f"{name}_{number}", reason or "is the name of something else too"
            number += 1
        self._taken.add(free)
        if reason:
            self.changed.append((text, free, reason))
        return free


def plain_identifier(text: str) -> str:
    """`text` in the characters of an identifier, without underscores at its ends; empty when nothing is left."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return "_".join(words)[:_LONGEST].strip("_")
