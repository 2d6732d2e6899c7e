"""Runs the blocks of a page in their order: its commands of tigris and its Python, in a folder with what they name."""

import shlex
from collections.abc import Callable
from typing import Any

from tests.docs.pages import ROOT, Block, blocks
from tests.harness.command import tigris


def run_page(
    name: str, names: dict[str, Any] | None = None, command: Callable[[list[str]], bool] = lambda words: False
) -> dict[str, Any]:
    """Runs the page in the current folder; returns the names of its Python as it leaves them, `names` among them.

    `command` may run a command's words itself, and then says True. What is not of tigris is left to commands.py.
    """
    found = {} if names is None else names
    for block in blocks(ROOT / name, "sh", "python"):
        if block.is_run:
            run_block(block, found, command)
    return found


def run_block(block: Block, names: dict[str, Any], command: Callable[[list[str]], bool]) -> None:
    if block.language == "python":
        exec(compile("\n" * (block.line - 1) + block.text, block.page, "exec"), names)
        return
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words and not command(words) and words[0] == "tigris":
            tigris(*words[1:])
