"""The commands that complete an installation so that plans run on this machine.

Compiling models needs Python alone. Running them here needs the runtime's library, which a C compiler builds when the
package is installed. setup.py imports this module, so it needs nothing but the standard library.
"""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from tigris_pio.errors import UsageError
from tigris_pio.platformio.compiler import is_source, quoted

#: The file in which the build says why there is no library; it lies in the library's folder.
REASON_FILE = "_runtime_missing.txt"
#: Commands that install a C compiler, by sys.platform.
COMPILERS = {
    "linux": "apt install gcc libc6-dev (Debian, Ubuntu), dnf install gcc (Fedora)",
    "darwin": "xcode-select --install",
    "win32": "the Build Tools for Visual Studio, with C++ (winget install Microsoft.VisualStudio.2022.BuildTools)",
}


def install_command(package: str) -> str:
    """The command that installs a package for this Python."""
    return f"{quoted(sys.executable)} -m pip install {package}"


def compiler_hint(platform: str = sys.platform) -> str:
    """The command that installs a C compiler on this system."""
    return COMPILERS.get(platform, COMPILERS["linux"])


def reinstall_command(package: Path) -> str:
    """The command that installs tigris-pio again from the same source; `package` is the folder it is installed in."""
    checkout = package.parent
    if is_source(checkout):
        return install_command(f"-e {quoted(str(checkout))}")
    origin = _origin()
    if origin is None:
        return install_command("--force-reinstall --no-deps --no-cache-dir tigris-pio")
    return install_command(f"--force-reinstall --no-deps {quoted(origin)}")


def library_folder(given: str | None) -> Path:
    """The folder whose library.json adds runtime and hook to a PlatformIO project: `given`, or the folder from which
    the package was installed. Raises UsageError if there is none."""
    candidates = [Path(given)] if given is not None else [Path(__file__).parent.parent, Path(_origin() or "")]
    for folder in candidates:
        if (folder / "library.json").is_file() and (folder / "runtime" / "include" / "tigris.h").is_file():
            return folder.resolve()
    what = f"--library {given}: " if given is not None else ""
    raise UsageError(
        f"{what}a project needs the C runtime, which lies in a checkout of tigris-pio, library.json beside runtime; "
        "give its folder by --library DIR"
    )


def _origin() -> str | None:
    """The folder or address that pip installed from, by its own record (PEP 610); None for a package index."""
    try:
        record = json.loads(metadata.distribution("tigris-pio").read_text("direct_url.json") or "")
        url = str(record["url"])
    except (metadata.PackageNotFoundError, OSError, ValueError, KeyError):
        return None
    if url.startswith("file:"):
        return url2pathname(urlsplit(url).path)
    tool = record.get("vcs_info", {}).get("vcs")
    return f"{tool}+{url}" if tool else url
