"""Text of a model in C, in JSON and on a terminal: any name at all, and nothing but text."""

import dataclasses
import io
import json
import math
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.markup import escape
from rich.table import Table

from tests import retrained
from tests.harness.tiers import examples
from tigris_pio import compile_model
from tigris_pio.cli import console
from tigris_pio.compiler.emit.model_header import render_model_header
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.text import c_comment, c_identifier, c_string, counted, json_text, suggest_names, visible, visible_name

NASTY = (
    *("x\nint pwned;\n//", 'x"; int pwned; "', "x\\", "x\\\n", "??/", "??/\n", "a??'b", "*/ int pwned; /*", "/*", "//"),
    *("\0", "1\0002", "\x1b]0;title\x07", "\x9b31m", "[bold red]x[/]", "[/]", "\u202eabc", "\u2066x\u2069", "\u2028"),
    *("é", "名前", "\U0001f600", "%s%n", "${x}", "#define x", "\r", "\t", "\x7f", 'R"(', ')"', "u8", "\ufeff", "", "0"),
    *("777", "\\x41", "<script>"),
)
NAMES = st.one_of(st.sampled_from(NASTY), st.text(max_size=40), st.text(alphabet='\\"?*/\n01\x00\x1b', max_size=20))
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")
REORDERING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
LANGUAGES = (("c", "-std=c99"), ("c++", "-std=c++11"))


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile_model(retrained.DIGITS, fast="64K")


def named(compiled: Compiled, model: str, port: str) -> Compiled:
    """The same model under other names."""
    program = compiled.plan.program
    inputs = tuple(dataclasses.replace(item, name=port) for item in program.inputs)
    program = dataclasses.replace(program, name=model, inputs=inputs)
    return dataclasses.replace(compiled, plan=dataclasses.replace(compiled.plan, program=program))


def header(compiled: Compiled, model: str, port: str) -> str:
    return render_model_header(named(compiled, model, port).plan, compiled.data)


def gcc(*arguments: object) -> str:
    done = subprocess.run(["gcc", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@settings(max_examples=2)
@given(st.lists(st.tuples(NAMES, NAMES), min_size=len(NASTY), max_size=60))
def test_any_name_is_a_string_of_its_bytes_and_nothing_else(compiled, tmp_path_factory, pairs):
    folder: Path = tmp_path_factory.mktemp("header")
    pairs = [*pairs, *zip(NASTY, reversed(NASTY), strict=True)]
    models = [(f"{place}_{model}", port) for place, (model, port) in enumerate(pairs)]
    text = "".join(header(compiled, model, port) for model, port in models)
    (folder / "alone.c").write_text(text, "utf-8")
    prefixes = tuple(f"TIGRIS_MODEL_{c_identifier(model)}_" for model, _ in models)
    own = {line.split()[1] for line in gcc("-dM", "-E", folder / "alone.c").splitlines()}
    builtin = {line.split()[1] for line in gcc("-dM", "-E", "-x", "c", "/dev/null").splitlines()}
    assert all(name.startswith(prefixes) for name in own - builtin)
    lines = ["#include <string.h>", text, "int main(void)", "{", "    int wrong = 0;"]
    for prefix, (_, port) in zip(prefixes, models, strict=True):
        lines += ["    {", f"        static const char text[] = {prefix}INPUT0_NAME;",
                  f"        static const unsigned char bytes[] = {{ {', '.join(map(str, (*port.encode(), 0)))} }};",
                  "        wrong += sizeof text != sizeof bytes || memcmp(text, bytes, sizeof bytes) != 0;", "    }"]
    (folder / "check.c").write_text("\n".join([*lines, "    return wrong;", "}", ""]), "utf-8")
    for language, standard in LANGUAGES:
        gcc(*STRICT, "-x", language, standard, folder / "check.c", "-o", folder / language)
        assert subprocess.run([str(folder / language)], check=False).returncode == 0
        gcc(*STRICT[:-1], "-x", language, standard, "-c", folder / "alone.c", "-o", folder / "alone.o")
    assert subprocess.run(["nm", folder / "alone.o"], capture_output=True, text=True, check=True).stdout == ""


def test_names_that_give_the_same_constants_are_not_mixed_up(compiled, tmp_path):
    file = tmp_path / "both.c"
    for other, twice, accepted in (("kws-1", "kws-1", True), ("kws-1", "KWS_1", False), ("kws_1", "kws 1", False)):
        file.write_text(header(compiled, other, "x") + header(compiled, twice, "x"), "utf-8")
        done = subprocess.run(["gcc", "-fsyntax-only", file], capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == accepted
        assert accepted or "two models have the constants TIGRIS_MODEL_KWS_1_" in done.stderr


@given(NAMES)
def test_comments_and_strings_of_c_are_plain(name):
    text, literal = c_comment(name), c_string(name)
    assert text.isascii() and (text == "" or text.isprintable()) and len(text) == len(name)
    assert not set("*/\\?\n") & set(text)
    assert literal.isascii() and literal.isprintable() and "?" not in literal and '"' not in literal[1:-1]


def obeyed(character: str) -> bool:
    """Whether a terminal or a reader's eye obeys a character instead of showing it; by Unicode's categories."""
    kind = unicodedata.category(character)
    return kind in ("Cc", "Zl", "Zp", "Cs") or unicodedata.bidirectional(character) in REORDERING


@given(st.one_of(NAMES, st.text(alphabet=st.characters(categories=["Cc", "Cf", "Zl", "Zp", "Cs"]))))
def test_people_see_what_they_read(text):
    assert not any(obeyed(character) for character in visible_name(text))
    assert not any(obeyed(character) for character in visible(text) if character not in "\t\n")
    words = "".join(character for character in text if character.isalnum() or character == " ")
    assert visible_name(words) == words


@settings(max_examples=examples(40, 100))
@given(st.dictionaries(NAMES, NAMES))
def test_json_is_the_same_document_without_them(document):
    text = json_text(document)
    assert json.loads(text) == document
    assert not any(obeyed(character) for character in text if character != "\n")


@settings(max_examples=examples(30, 100))
@given(NAMES)
def test_a_terminal_gets_text_only(name):
    for target in (console.out, console.err):
        file, terminal, kept = io.StringIO(), target._force_terminal, target._file  # `file` is sys.stdout of now
        try:
            target.file, target._force_terminal = file, True
            table = Table(title=escape(name))
            table.add_column("column")
            table.add_row(escape(name))
            target.print(table)
            target.print(escape(name))
            console.print_error(name)
            console.print_warnings([name])
        finally:
            target._file, target._force_terminal = kept, terminal
        assert not any(obeyed(character) for character in file.getvalue() if character not in "\n\t")


def test_a_name_that_is_none_is_answered_with_the_nearest_or_with_all():
    assert suggest_names("fetures", ["x", "features"]) == "did you mean features? It has: x, features"
    assert suggest_names("zzz", ["x", "\x1b[31m"]) == r"it has: x, \x1b[31m"
    assert suggest_names("zzz", []) == "it has: none"


def test_json_has_no_numbers_that_json_does_not_know():
    document = {"largest": math.inf, "all": [math.nan, -math.inf, 1.5], "pair": (1, math.nan)}
    expected = {"largest": None, "all": [None, None, 1.5], "pair": [1, None]}
    assert json.loads(json_text(document), parse_constant=pytest.fail) == expected


def test_counts_with_their_nouns() -> None:
    said = [counted(number, "axis", "axes") for number in (0, 1, 2)] + [counted(1, "MAC"), counted(1200, "MAC")]
    assert said == ["0 axes", "1 axis", "2 axes", "1 MAC", "1,200 MACs"]
