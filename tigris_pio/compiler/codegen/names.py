"""Makes C identifiers of the names in a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tigris_pio.compiler.codegen.kernels import kernel_files

#: Keywords of C99 and C++, and macros of common headers and compilers; no member of a struct can have these names.
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
#: Headers of C and of frameworks; a model's header with such a name would hide them.
HEADERS = frozenset(
    re.findall(r"\w+", """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string strings tgmath threads time uchar wchar wctype unistd
    arduino sdkconfig
    """)
)
#: Prefixes of other names in a model's file, which operators' functions avoid.
_FORMED = re.compile(r"(?:stage|weights|tensor|constant|keep|park|back|load|store)(?:_|$)")
_LONGEST = 40


class Names:
    """Assigns unique identifiers of lower-case letters, digits and underscores.

    `changed`: (name, identifier, reason) of each name whose spelling in these characters was reserved or taken.
    """

    def __init__(self, reserved: frozenset[str] = frozenset(), taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._reserved = reserved
        self.changed: list[tuple[str, str, str]] = []

    def assign(self, text: str, fallback: str, suffixes: Sequence[str] = ()) -> str:
        """An identifier made of `text`, or of `fallback` if `text` has no usable character.

        suffixes: the identifier is also unique with each of these endings.
        """
        plain = plain_identifier(text) or plain_identifier(fallback)
        name, reason = plain, ""
        if name in self._reserved or name[0].isdigit():
            name, reason = f"{name}_" if name in self._reserved else f"_{name}", "is not allowed in C"
            name = f"n{name}" if name.startswith("_") else name
        free = name
        number = 2
        endings = ("", *suffixes)
        while any(free + ending in self._taken for ending in endings):
            free, reason = f"{name}_{number}", reason or "is already used"
            number += 1
        self._taken.update(free + ending for ending in endings)
        if reason:
            self.changed.append((text, free, reason))
        return free


def function_name(text: str) -> str:
    """`text` as an operator's name, changed if it begins with a prefix of other names."""
    return f"own {text}" if _FORMED.match(plain_identifier(text)) else text


def plain_identifier(text: str) -> str:
    """`text` reduced to an identifier's characters, without underscores at its ends; may be empty."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return "_".join(words)[:_LONGEST].strip("_")


def prefix_of(name: str) -> str:
    """Prefix of public names and files for a model called `name`: that name if C allows it."""
    if re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) and not _is_taken(name):
        return name
    plain = plain_identifier(name) or "model"
    return f"model_{plain}" if plain[0].isdigit() or _is_taken(plain) else plain


def _is_taken(name: str) -> bool:
    """Whether C, the runtime or a kernel uses files or functions with that prefix."""
    lower = name.lower()
    return lower in RESERVED | HEADERS | kernel_files() or re.match(r"tigris(?:_|$)", lower) is not None
