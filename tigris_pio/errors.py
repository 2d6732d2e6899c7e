"""Errors a user can act on. The command line prints them without a traceback.

Each message names what is wrong (node, file, option, value) and what would be right.
"""

from __future__ import annotations

from collections.abc import Sequence


class TigrisError(Exception):
    """Base of all errors that are the input's fault."""

    exit_status = 1  #: of the command line


class ModelError(TigrisError):
    """The model cannot be read, or breaks ONNX's rules."""


class UnsupportedError(TigrisError):
    """The model is valid but asks for something this compiler lacks; lists every such node.

    `refused`: name, operator and reason of each.
    """

    def __init__(self, text: str, refused: Sequence[tuple[str, str, str]] = ()) -> None:
        super().__init__(text)
        self.refused = tuple(refused)


class BudgetError(TigrisError):
    """The model does not fit the memory given; says the smallest that works."""


class PlanError(TigrisError):
    """A `.tgrs` file is damaged, of another version or otherwise refused."""


class RuntimeFailure(TigrisError):
    """The runtime refused or failed to run a plan; carries its status text."""


class ToolError(TigrisError):
    """Something the machine lacks: a compiler, an emulator, a package; says how to get it."""


class UsageError(TigrisError):
    """An option's name or value is wrong."""

    exit_status = 2


class ArgumentError(UsageError, TypeError):
    """A Python argument has the wrong type, or a name that is none."""


class FileError(UsageError):
    """A file that was named does not exist, or cannot be read or written; exit status 2."""


class ModelFileError(FileError, ModelError):
    """The same of a model."""


class PlanFileError(FileError, PlanError):
    """The same of a plan."""
