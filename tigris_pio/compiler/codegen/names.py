"""C identifiers for whatever a model calls things."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tigris_pio.compiler.codegen.runtime_sources import kernel_files

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
#: Headers of C, and of frameworks: a model's header of such a name would be found in their place.
HEADERS = frozenset(
    re.findall(r"\w+", """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string strings tgmath threads time uchar wchar wctype unistd
    arduino sdkconfig
    """)
)
#: How other names in a model's file begin, beside those of operators' functions.
_FORMED = re.compile(r"(?:stage|weights|tensor|constant|keep|back|load|store)(?:_|$)")
_LONGEST = 40


class Names:
    """Gives each thing an identifier of its own: lower case, letters, digits and underscores.

    `changed`: what had to have another name than its own spelled in these characters, and why.
    """

    def __init__(self, reserved: frozenset[str] = frozenset(), taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._reserved = reserved
        self.changed: list[tuple[str, str, str]] = []

    def give(self, text: str, otherwise: str, beside: Sequence[str] = ()) -> str:
        """An identifier made of `text`, or of `otherwise` where nothing of it can be part of one. beside: endings with
        which it is a name as well."""
        plain = plain_identifier(text) or plain_identifier(otherwise)
        name, reason = plain, ""
        if name in self._reserved or name[0].isdigit():
            name, reason = f"{name}_" if name in self._reserved else f"_{name}", "is no name in C"
            name = f"n{name}" if name.startswith("_") else name
        free = name
        number = 2
        endings = ("", *beside)
        while any(free + ending in self._taken for ending in endings):
            free, reason = f"{name}_{number}", reason or "is the name of something else too"
            number += 1
        self._taken.update(free + ending for ending in endings)
        if reason:
            self.changed.append((text, free, reason))
        return free


def function_name(text: str) -> str:
    """`text` for an operator's function: it does not begin like names that are formed here."""
    return f"own {text}" if _FORMED.match(plain_identifier(text)) else text


def plain_identifier(text: str) -> str:
    """`text` in the characters of an identifier, without underscores at its ends; empty when nothing is left."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return "_".join(words)[:_LONGEST].strip("_")


def prefix_of(name: str) -> str:
    """The beginning of public names and files for a model called `name`: that name, where it can be one."""
    if re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) and not _is_taken(name):
        return name
    plain = plain_identifier(name) or "model"
    return f"model_{plain}" if plain[0].isdigit() or _is_taken(plain) else plain


def _is_taken(name: str) -> bool:
    """Whether files or functions of that beginning are somebody else's: C's, the runtime's or a kernel's."""
    lower = name.lower()
    return lower in RESERVED | HEADERS | kernel_files() or re.match(r"tigris(?:_|$)", lower) is not None
