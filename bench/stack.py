"""Stack of plain C from the compiler's call graph: of the whole program, and of the deepest kernel alone.

GCC writes it beside the object with -fcallgraph-info=su. Calls through pointers, of small functions from loops within
kernels, are not in it; painting the stack of an emulated board counts them.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path


def plain(name: str) -> str:
    """A function's name without its path and a clone's suffix."""
    return name.rsplit(":", 1)[-1].split(".", maxsplit=1)[0]


def call_graph(path: Path, named: Callable[[str], str] = plain) -> tuple[dict[str, int], dict[str, set[str]]]:
    """Frame bytes of each function of a `.ci` file, and whom it calls."""
    frames: dict[str, int] = {}
    calls: dict[str, set[str]] = defaultdict(set)
    for line in path.read_text().splitlines():
        node = re.search(r'node: \{ title: "([^"]+)" label: "[^"]*?(\d+) bytes \((?:static|dynamic,bounded)\)', line)
        edge = re.search(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', line)
        if node:
            frames[named(node[1])] = max(int(node[2]), frames.get(named(node[1]), 0))
        elif edge:
            calls[named(edge[1])].add(named(edge[2]))
    return frames, calls


def deepest(name: str, frames: Mapping[str, int], calls: Mapping[str, set[str]]) -> int:
    """Bytes of stack below and including a function."""
    below = (deepest(target, frames, calls) for target in calls.get(name, set()) - {name})
    return frames.get(name, 0) + max(below, default=0)


def beside_kernels(path: Path, run: str, kernels: Iterable[str]) -> int:
    """Bytes that `run` takes beyond what the deepest of the kernels takes by itself."""
    frames, calls = call_graph(path)
    assert run in frames, f"{run} is not in {path}"
    return deepest(run, frames, calls) - max((deepest(name, frames, calls) for name in kernels), default=0)
