"""Errors that a user can act on, and the error for faults of tigris-pio itself.

The command line prints them without a traceback. Each message names what is wrong (node, file, option, value), and
what to do.
"""

from __future__ import annotations

from collections.abc import Sequence


class TigrisError(Exception):
    """Base of all errors that the input causes: a model, a plan, an option, a missing tool."""

    exit_status = 1  #: the command line's


class ModelError(TigrisError):
    """The model cannot be read, or breaks ONNX's rules."""


class UnsupportedError(TigrisError):
    """The model is valid, but has nodes that are not supported; `refused`: name, operator and reason of each."""

    def __init__(self, text: str, refused: Sequence[tuple[str, str, str]] = ()) -> None:
        super().__init__(text)
        self.refused = tuple(refused)


class BudgetError(TigrisError):
    """The model does not fit the memory given; the message names the smallest that works."""


class PlanError(TigrisError):
    """A `.tgrs` file is refused: damaged, of another version, or against the rules of the format."""


class RuntimeFailure(TigrisError):
    """The runtime refused a plan or failed to run it; the message has the runtime's status text."""


class ToolError(TigrisError):
    """This machine lacks a compiler, an emulator or a package; the message says how to install it."""


class UsageError(TigrisError):
    """An option's name or value is wrong."""

    exit_status = 2


class ArgumentError(UsageError, TypeError):
    """A Python argument has the wrong type or an unknown name."""


class FileError(UsageError):
    """A file that the user named does not exist, or cannot be read or written; exit status 2."""


class ModelFileError(FileError, ModelError):
    """A model file does not exist or cannot be read; exit status 2."""


class PlanFileError(FileError, PlanError):
    """A plan file does not exist or cannot be read; exit status 2."""


class InternalError(Exception):
    """A fault of tigris-pio, not of the input: please report it. The message names the pass and the node, if known."""

    exit_status = 4


def internal_error(where: str, cause: Exception) -> InternalError:
    """The error for an unforeseen exception in a step of the compiler, or in a command."""
    reason = f"{type(cause).__name__}: {cause}".removesuffix(": ")
    return InternalError(f"internal error in {where} ({reason}): this is a fault of tigris-pio; please report it "
                         "with the traceback")
