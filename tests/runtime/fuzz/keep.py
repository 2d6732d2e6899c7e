"""Chooses the corpus that the tree keeps: `python -m tests.runtime.fuzz.keep FUZZER INPUTS…`.

FUZZER is what run.sh builds, INPUTS are folders. A small set of small files that reaches every edge which the inputs
reach (greedily, most new edges a byte first) becomes corpus.tar.xz, named by content. Inputs called `crash-…`, as
libFuzzer names them, stay for good, as `found-…`: they once crashed the runtime.
"""

import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

ARCHIVE = Path(__file__).parent / "corpus.tar.xz"
FOUND = "found-"


def kept() -> dict[str, bytes]:
    """The corpus in the tree."""
    with tarfile.open(ARCHIVE) as archive:
        return {entry.name: file.read() for entry in archive if (file := archive.extractfile(entry)) is not None}


def extract(folder: Path) -> None:
    """Writes the corpus in the tree as files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in kept().items():
        (folder / name).write_bytes(data)


def edges(fuzzer: Path, inputs: list[Path]) -> dict[Path, frozenset[int]]:
    """What each input reaches, from the control file of libFuzzer's merge."""
    with tempfile.TemporaryDirectory() as folder:
        control, merged = Path(folder) / "control", Path(folder) / "merged"
        merged.mkdir()
        command = [str(fuzzer), "-set_cover_merge=1", "-use_counters=0", f"-merge_control_file={control}"]
        subprocess.run([*command, str(merged), *map(str, inputs)], check=True, capture_output=True)
        lines = control.read_text().splitlines()
    count = int(lines[0])
    paths = [Path(line) for line in lines[2 : 2 + count]]
    reached = (line.split() for line in lines[2 + count :])
    return {paths[int(index)]: frozenset(map(int, features)) for kind, index, *features in reached if kind == "FT"}


def cover(reached: Mapping[Path, frozenset[int]]) -> list[Path]:
    """Files that together reach everything."""
    left = frozenset().union(*reached.values())
    candidates = dict(reached)
    chosen = []
    while left:
        best = max(candidates, key=lambda path: (len(candidates[path]) / path.stat().st_size, path.name))
        left -= candidates.pop(best)
        chosen.append(best)
        candidates = {path: new for path, features in candidates.items() if (new := features & left)}
    return chosen


def main() -> None:
    """Prints what was kept."""
    fuzzer, *inputs = map(Path, sys.argv[1:])
    files = {name: data for name, data in kept().items() if name.startswith(FOUND)} if ARCHIVE.exists() else {}
    found = [path for folder in inputs for path in folder.glob("crash-*")]
    for path in (*found, *cover(edges(fuzzer, inputs))):
        data = path.read_bytes()
        files[(FOUND if path in found else "") + hashlib.sha256(data).hexdigest()[:12]] = data
    with tarfile.open(ARCHIVE, "w:xz") as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size = len(files[name])
            archive.addfile(entry, io.BytesIO(files[name]))
    print(f"{len(files)} inputs, {sum(map(len, files.values()))} bytes, {ARCHIVE.stat().st_size} in the archive")


if __name__ == "__main__":
    main()
