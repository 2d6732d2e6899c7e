"""Stack of plain C from the compiler's call graph: of the whole program, and of the deepest kernel alone.

GCC writes it beside the object with -fcallgraph-info=su. Calls through pointers, of small functions from loops within
kernels, are not in it; painting the stack of an emulated board counts them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path


def call_graph(path: Path) -> tuple[dict[str, int], dict[str, set[str]]]:
    """Frame bytes of each function of a `.ci` file, and whom it calls, by names without paths and clones' suffixes."""
    frames: dict[str, int] = {}
    calls: dict[str, set[str]] = defaultdict(set)
    for line in path.read_text().splitlines():
        node = re.search(r'node: \{ title: "([^"]+)" label: "[^"]*?(\d+) bytes \((?:static|dynamic,bounded)\)', line)
        edge = re.search(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', line)
        if node:
            frames[_plain(node[1])] = max(int(node[2]), frames.get(_plain(node[1]), 0))
        elif edge:
            calls[_plain(edge[1])].add(_plain(edge[2]))
    return frames, calls


def _plain(name: str) -> str:
    return name.rsplit(":", 1)[-1].split(".", maxsplit=1)[0]


def deepest(name: str, frames: Mapping[str, int], calls: Mapping[str, set[str]]) -> int:
    """Bytes of stack below and including a function."""
    below = (deepest(target, frames, calls) for target in calls.get(name, set()) - {name})
    return frames.get(name, 0) + max(below, default=0)


def beside_kernels(path: Path, run: str, kernels: Iterable[str]) -> int:
    """Bytes that `run` takes beyond what the deepest of the kernels takes by itself."""
    frames, calls = call_graph(path)
    assert run in frames, f"{run} is not in {path}"
    return deepest(run, frames, calls) - max((deepest(name, frames, calls) for name in kernels), default=0)
