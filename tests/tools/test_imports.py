"""Imports run downhill: within each folder of the package, its files and folders import each other in no circle.

Imports within functions and for type checkers count, too.
"""

import ast
import functools
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.docs.pages import ROOT

PACKAGE = "tigris_pio"


@functools.cache
def modules() -> dict[str, Path]:
    """The package's files by module."""
    files = sorted((ROOT / PACKAGE).rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


def imports(path: Path) -> set[str]:
    """The modules of the package that a file imports."""
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {item.name for item in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{item.name}" for item in node.names}
            found |= {name if name in modules() else str(node.module) for name in names}
    return found & {*modules()}


def circles(imported: dict[str, set[str]]) -> list[list[str]]:
    """For each folder that has one, a circle of its files and folders."""
    graphs = defaultdict[str, dict[str, set[str]]](lambda: defaultdict(set))
    for reader, read in imported.items():
        for module in read - {reader}:
            ends = [modules()[name].relative_to(ROOT).parts for name in (reader, module)]
            depth = next(place for place, (one, other) in enumerate(zip(*ends, strict=False)) if one != other)
            one, other = ("/".join(parts[: depth + 1]) for parts in ends)
            graphs["/".join(ends[0][:depth])][one].add(other)
    found = []
    for graph in graphs.values():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            found.append(error.args[1])
    return found


def test_no_circle() -> None:
    assert circles({name: imports(path) for name, path in modules().items()}) == []


def test_a_circle_is_found() -> None:
    a, b, c = "tigris_pio.host.io", "tigris_pio.compiler.ir.names", "tigris_pio.compiler.ir.graph"
    (found,) = circles({a: {b}, c: {a}})
    assert {*found} == {"tigris_pio/compiler", "tigris_pio/host"}
    assert circles({a: {b}, b: {c}}) == []
