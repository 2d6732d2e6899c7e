"""Plans of an ESP-IDF project, and its build."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

from tigris_pio.errors import ToolError, UsageError


@dataclasses.dataclass(frozen=True)
class IdfProject:
    """A project's build folder, which `idf.py build` makes."""

    folder: Path

    def port(self) -> str:
        """Raises UsageError: ESP-IDF keeps no port in the project."""
        raise UsageError(f"{self.folder}: an ESP-IDF project names no port; give --port or --qemu")

    def plan(self, name: str | None = None) -> Path:
        """The plan of the build; of model `name` if there are several."""
        plans = {path.stem: path for path in sorted(self.folder.rglob("*.tgrs"))}
        if not plans:
            raise UsageError(f"{self.folder}: no plan yet; run idf.py build")
        if name is None and len(plans) == 1:
            return next(iter(plans.values()))
        if name not in plans:
            wanted = "choose one with --model" if name is None else f"there is no {name}"
            raise UsageError(f"{self.folder}: plans of {', '.join(plans)}; {wanted}")
        return plans[name]

    def compile(self) -> None:
        """Builds; ToolError if that fails. The build's output goes to stderr."""
        command = ["cmake", "--build", str(self.folder)]
        try:
            status = subprocess.run(command, stdout=sys.stderr, check=False).returncode
        except FileNotFoundError:
            raise ToolError("cmake is not in PATH; set up ESP-IDF's environment first (export.sh)") from None
        if status:
            raise ToolError(f"{' '.join(command)} failed with status {status}; see its messages above")


def is_idf_build(folder: Path) -> bool:
    """True if ESP-IDF has built in this folder."""
    return (folder / "flasher_args.json").is_file()
