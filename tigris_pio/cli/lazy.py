"""Command groups that import a command when it is asked for."""

from __future__ import annotations

import difflib
import importlib
from pathlib import Path
from typing import Any

import click

#: What other tools and the Python interface call an option of ours that is spelled quite otherwise.
CALLED = {"--fast": "--mem", "--slow": "--mem", "--memory": "--mem", "--ram": "--mem", "--arena": "--mem"}


class LazyGroup(click.Group):
    """A group whose commands each lie in a module of their own; a misspelled one is answered with the nearest."""

    #: Where the modules lie, and in the order of the help: name and module of each command, its name there.
    package: str
    modules: dict[str, str]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.modules:
            return None
        module = importlib.import_module(f"{self.package}.{cmd_name}")
        command: click.Command = getattr(module, self.modules[cmd_name])
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if (close := self.nearest(args[0])) is not None:
            ctx.fail(f"No such command '{args[0]}'. Did you mean {close}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            takes = error.ctx.command.params if error.ctx is not None else []
            meant = CALLED.get(error.option_name)
            if any(meant in option.opts for option in takes):
                raise click.UsageError(
                    f"No such option '{error.option_name}'. Did you mean '{meant}'?", error.ctx
                ) from None
            raise

    def nearest(self, word: str) -> str | None:
        """The command that a word which is none may have meant."""
        if word in self.modules or word.startswith("-"):
            return None
        close = difflib.get_close_matches(word, self.modules, n=1)
        return close[0] if close else None


class DefaultGroup(LazyGroup):
    """A group one of whose commands needs not be named: words that begin with no command's name are that command's."""

    default: str

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.modules and args[0] not in ctx.help_option_names):
            close = self.nearest(args[0]) if args else None
            if close is not None and Path(args[0]).suffix == "" and not Path(args[0]).exists():
                ctx.fail(f"No such command '{args[0]}'. Did you mean {close}?")
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, then the options of the one that needs not be named."""
        self.format_commands(ctx, formatter)
        command = self.get_command(ctx, self.default)
        assert command is not None
        with click.Context(command, parent=ctx, info_name=self.default) as own:
            options = [item for item in command.get_params(own) if isinstance(item, click.Option)]
            records = [record for item in options if (record := item.get_help_record(own))]
        with formatter.section(f"Options of {self.default}"):
            formatter.write_dl(records)
