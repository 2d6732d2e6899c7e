"""`tigris hil` is a group whose command `check` needs not be named."""

from pathlib import Path

import click
import pytest

from tests.harness.command import tigris
from tigris_pio.cli.hil import hil
from tigris_pio.cli.hil.group import COMMANDS
from tigris_pio.cli.main import cli


def command_called(name: str, group: click.Group = hil) -> click.Command:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    return command


def read_words(name: str, words: list[str]) -> None:
    """Reads a command's words without running it. click keeps the help option of a command's first context, so this
    has the same settings as every other."""
    command_called(name).make_context(name, words, parent=click.Context(cli, **cli.context_settings))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_with_options_that_there_are(name: str) -> None:
    command = command_called(name)
    assert command.name == name
    lines = [line.strip().partition("   ")[0].partition(" >")[0] for line in (command.help or "").splitlines()]
    examples = [line.split()[3:] for line in lines if line.startswith(f"tigris hil {name}")]
    assert examples
    for words in examples:
        read_words(name, words)


def test_help_lists_the_commands_and_the_options_of_the_one_that_needs_no_name() -> None:
    text = tigris("hil", "--help").stdout
    assert [name for name in COMMANDS if f"\n  {name} " not in text] == []
    assert "--samples N" in text
    assert tigris("hil", "-h").stdout == text
    for name in COMMANDS:
        assert tigris("hil", name, "-h").stdout == tigris("hil", name, "--help").stdout != text


def test_check_needs_not_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in ([], ["none.tgrs", "--port", "loop://"], ["--port", "loop://"], ["--samples", "0"], ["--what"]):
        unnamed, named = tigris("hil", *words, status=2), tigris("hil", "check", *words, status=2)
        assert unnamed.stderr == named.stderr != ""


def test_a_misspelled_command_is_answered_with_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "No such command 'chek'. Did you mean check?" in tigris("hil", "chek", status=2).stderr
    assert "chek.tgrs: no such file" in tigris("hil", "chek.tgrs", "--port", "loop://", status=2).stderr
    Path("check").write_bytes(b"no plan")
    assert "no port" in tigris("hil", "check", status=2).stderr
    assert "check: " in tigris("hil", "./check", "--port", "loop://", status=1).stderr
    Path("chek").write_bytes(b"no plan")
    assert "Did you mean" not in tigris("hil", "chek", "--port", "loop://", status=1).stderr
