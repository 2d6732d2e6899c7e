"""Command groups that import a command's module only when it is called, and suggest names for misspelled ones."""

import difflib
import importlib
from pathlib import Path
from typing import Any

import click

#: Option names of other tools and of the Python interface, to ours; too different for click's own suggestions.
SYNONYMS = {"--fast": "--mem", "--slow": "--mem", "--memory": "--mem", "--ram": "--mem", "--arena": "--mem"}


class LazyGroup(click.Group):
    """A group with one module per command; an unknown command's message suggests the nearest one."""

    #: Package of the modules.
    package: str
    #: Command, which is also its module's name, to the function in that module; in the order of the help.
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
            options = error.ctx.command.params if error.ctx is not None else []
            meant = SYNONYMS.get(error.option_name)
            if any(meant in option.opts for option in options):
                raise click.UsageError(
                    f"No such option '{error.option_name}'. Did you mean '{meant}'?", error.ctx
                ) from None
            raise

    def nearest(self, word: str) -> str | None:
        """The command nearest to `word`; None if `word` is a command or an option, or nothing is near."""
        if word in self.modules or word.startswith("-"):
            return None
        close = difflib.get_close_matches(word, self.modules, n=1)
        return close[0] if close else None


class DefaultGroup(LazyGroup):
    """A group with a default command: it gets the arguments that do not begin with a command's name."""

    default: str

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.modules and args[0] not in ctx.help_option_names):
            close = self.nearest(args[0]) if args else None
            if close is not None and Path(args[0]).suffix == "" and not Path(args[0]).exists():
                ctx.fail(f"No such command '{args[0]}'. Did you mean {close}?")
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands, then the options of the default command."""
        self.format_commands(ctx, formatter)
        command = self.get_command(ctx, self.default)
        assert command is not None
        with click.Context(command, parent=ctx, info_name=self.default) as own:
            options = [item for item in command.get_params(own) if isinstance(item, click.Option)]
            records = [record for item in options if (record := item.get_help_record(own))]
        with formatter.section(f"Options of {self.default}"):
            formatter.write_dl(records)
