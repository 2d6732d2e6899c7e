"""Command lines of pages: each is read by what would run it, without running it."""

import functools
import importlib.util
import itertools
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from platformio.__main__ import cli as platformio

from tests.docs.pages import ROOT
from tigris_pio.cli.lazy import DefaultGroup
from tigris_pio.cli.main import cli as tigris
from tigris_pio.hil.pytest_plugin import OPTIONS

#: What `-t` may name: PlatformIO's own, and those of the hook and the emulated boards.
TARGETS = {
    *("upload", "clean", "monitor", "compiledb", "envdump", "size", "nobuild"),
    *("uploadmodel", "tigris_table", "stop_board"),
}
IDF = {"build", "flash", "monitor", "model-flash", "set-target", "reconfigure", "menuconfig", "add-dependency"}
#: Programs of others, taken as they are.
FOREIGN = {"apt", "apt-get", "brew", "cmake", "winget", "cd", "export", "gdb", "git", "espeak-ng", "xcode-select"}


class Wrong(AssertionError):
    """The line cannot be run as it stands."""


def check(line: str, folder: Path) -> None:
    """Raises Wrong unless every command of a line is known with its options; `folder` is the page's."""
    for part in re.split(r"\s(?:&&|\|\|?|;)\s", line):
        words = shlex.split(re.sub(r"\s>\s\S+$", "", part), comments=True)
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            del words[0]
        if words and words[0] == "sudo":
            del words[0]
        if words:
            _check(words, folder)


def _check(words: Sequence[str], folder: Path) -> None:
    program = Path(words[0]).name
    if program in FOREIGN:
        return
    if program not in CHECKS:
        raise Wrong(f"{words[0]}: no rule for this program in tests/docs/commands.py")
    CHECKS[program](list(words[1:]), folder)


def parsed(group: click.Command, words: list[str], parent: click.Context | None = None) -> None:
    """The words as click parses them: command, options with the number of their values, no word too many."""
    # With the settings that a run has: click keeps the help option of a command's first context.
    context = click.Context(group, parent, info_name=group.name, resilient_parsing=True, **group.context_settings)
    if isinstance(group, DefaultGroup) and (not words or words[0] not in group.modules):
        words = [group.default, *words]
    try:
        options, rest, _ = group.make_parser(context).parse_args(list(words))
        if isinstance(group, click.Group):
            if rest or not any(options.get(name) for name in ("version", "help")):
                _, command, rest = group.resolve_command(context, rest)
                assert command is not None
                parsed(command, rest, context)
            return
        for parameter in group.params:
            given = options.get(parameter.name or "")
            if given is not None and not isinstance(parameter.type, click.Path | click.File):
                parameter.type_cast_value(context, given)
    except click.ClickException as error:
        raise Wrong(error.format_message()) from None
    if rest:
        raise Wrong(f"{group.name} takes no {' '.join(rest)}")


def _tigris(words: list[str], folder: Path) -> None:
    parsed(tigris, words)


def _pio(words: list[str], folder: Path) -> None:
    parsed(platformio, words)
    for option, value in itertools.pairwise(words):
        if option in ("-t", "--target") and value not in TARGETS:
            raise Wrong(f"-t {value}: no such target")
        ini = folder / "platformio.ini"
        if option == "-e" and ini.is_file() and f"[env:{value}]" not in ini.read_text("utf-8"):
            raise Wrong(f"-e {value}: {ini} has no such environment")


def _make(words: list[str], folder: Path) -> None:
    own = folder / "Makefile"  # an example's
    text = (own if own.is_file() else ROOT / "Makefile").read_text("utf-8")
    targets = set(next(line for line in text.splitlines() if line.startswith(".PHONY:")).split()[1:])
    for word in words:
        name, _, value = word.partition("=")
        if (name not in targets) if not value else not re.search(rf"\b{name}\b", text):
            raise Wrong(f"make {word}: the Makefile has no such target or variable")


def _idf(words: list[str], folder: Path) -> None:
    commands = [word for word in words if not word.startswith("-")]
    if not commands or commands[0] not in IDF:
        raise Wrong(f"idf.py {' '.join(words)}: no such command")


def _python(words: list[str], folder: Path) -> None:
    if words[0] == "-m" and words[1] == "pip":
        _pip(words[2:], folder)
    elif words[0] == "-c":
        try:
            compile(words[1], "-c", "exec")
        except SyntaxError as error:
            raise Wrong(f"python -c: {error}") from None
    elif words[0] == "-m":
        if words[1] != "venv" and importlib.util.find_spec(words[1]) is None:
            raise Wrong(f"python -m {words[1]}: no such module")
    elif not any((base / words[0]).is_file() for base in (ROOT, folder)):
        raise Wrong(f"python {words[0]}: no such file")


@functools.cache
def _extras() -> set[str]:
    section = (ROOT / "pyproject.toml").read_text("utf-8").partition("[project.optional-dependencies]")[2]
    return set(re.findall(r"(?m)^(\w+) = \[", section.partition("\n[")[0]))


def _pip(words: list[str], folder: Path) -> None:
    if words[0] not in ("install", "wheel", "download"):
        raise Wrong(f"pip {words[0]}: no such command")
    for word in words[1:]:
        own = re.fullmatch(r"(?:\S*tigris-pio|\.)\[([\w,]+)\]", word)
        if own and not set(own[1].split(",")) <= _extras():
            raise Wrong(f"pip install {word}: pyproject.toml has no such extra")


def _pytest(words: list[str], folder: Path) -> None:
    for word in words:
        if word.startswith("--tigris") and word.partition("=")[0] not in (f"--tigris-{name}" for name, *_ in OPTIONS):
            raise Wrong(f"pytest {word}: the plugin has no such option")


CHECKS: dict[str, Callable[[list[str], Path], None]] = {
    "tigris": _tigris, "pio": _pio, "platformio": _pio, "make": _make, "idf.py": _idf, "python": _python,
    "python3": _python, "pip": _pip, "pytest": _pytest,
}  # fmt: skip
