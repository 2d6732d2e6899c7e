"""Prints the code lines of each room beside its budget in tools/size.toml; exit status 1 if one is above it.

    python -m tools.size

Code lines are the lines of Python and C without blank lines, comments and docstrings. Generated C does not count.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
BUDGET = Path(__file__).with_name("size.toml")
LANGUAGES = {".py": "Python", ".c": "C", ".h": "C", ".cpp": "C"}
GENERATED = ("tigris_params.h", "tigris_format.h", "tigris_kernels.h", "kinds.h", "portable.c")


def python_lines(text: str) -> int:
    """Counts the lines that are neither blank nor comment nor part of a docstring."""
    docstrings = set[int]()
    nodes: list[ast.AST] = [ast.parse(text)]
    while nodes:
        body = getattr(nodes.pop(), "body", None)
        for node in body if isinstance(body, list) else ():
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                docstrings.update(range(node.lineno, (node.end_lineno or 0) + 1))
            nodes.append(node)
    rows = enumerate(text.split("\n"), 1)
    return sum(row.strip()[:1] not in ("", "#") and number not in docstrings for number, row in rows)


def c_lines(text: str) -> int:
    """Counts the lines that are neither blank nor comment."""
    bare = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.DOTALL)
    return sum(bool(line.strip()) for line in re.sub(r"//[^\n]*", "", bare).split("\n"))


def lines_of(path: Path) -> int:
    """The code lines of a file."""
    text = path.read_text("utf-8")
    return python_lines(text) if path.suffix == ".py" else c_lines(text)


def room_of(name: str, rooms: dict[str, int]) -> str | None:
    """The longest of the rooms that a file's path begins with."""
    return max((room for room in rooms if name.startswith(room + "/")), key=len, default=None)


def counted(rooms: dict[str, int]) -> dict[str, int]:
    """Code lines by room, of the files that git knows."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = dict.fromkeys(rooms, 0)
    for name in names.splitlines():
        path, room = ROOT / name, room_of(name, rooms)
        if room is not None and path.suffix in LANGUAGES and path.name not in GENERATED and path.is_file():
            found[room] += lines_of(path)
    return found


def main() -> int:
    rooms: dict[str, int] = tomllib.loads(BUDGET.read_text("utf-8"))["lines"]
    found = counted(rooms)
    print(f"{'code lines':<24}    now  budget")
    for room, budget in rooms.items():
        above = "  above its budget: delete what the new lines replace, or raise it in the same commit and say why"
        print(f"{room:<24} {found[room]:>6} {budget:>7}{above if found[room] > budget else ''}")
    print(f"{'total':<24} {sum(found.values()):>6} {sum(rooms.values()):>7}")
    return any(found[room] > budget for room, budget in rooms.items())


if __name__ == "__main__":
    sys.exit(main())
