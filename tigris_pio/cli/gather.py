"""Options that a command gets as one argument instead of one parameter each."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Command: TypeAlias = Callable[..., Any]
#: A decorator that click.option returns, or one that adds several options.
Option: TypeAlias = Callable[[Command], Command]


def gathering(argument: str, make: Callable[..., Any], options: Sequence[Option]) -> Option:
    """Adds `options`. The command gets their values as `argument`, which `make` makes of them, by name."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def gathered(**values: Any) -> Any:
            given = {name: values.pop(name) for name in names}
            return command(**{argument: make(**given)}, **values)

        before = len(getattr(gathered, "__click_params__", ()))
        for option in reversed(options):
            option(gathered)
        names = [parameter.name for parameter in vars(gathered).get("__click_params__", [])[before:]]
        return gathered

    return decorate
