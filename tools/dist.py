"""Builds wheels that need no C compiler, for every platform from one machine.

    make dist
    python tools/dist.py [--only linux-x86_64] [--output dist]

ctypes loads the runtime's library, which needs no Python API, so one wheel `py3-none-PLATFORM` serves all Python
versions. Zig's clang (PyPI: ziglang) has the C libraries of all targets.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAGS = (
    *("-std=c99", "-O3", "-g0", "-shared", "-fvisibility=hidden", "-DTIGRIS_TENSOR_ALIGN=4"),
    # No fused multiply-add: the results must equal those of boards without it.
    *("-ffp-contract=off", "-I", str(ROOT / "runtime" / "include")),
)


@dataclass(frozen=True)
class Target:
    """A platform: `zig` is its name for the compiler, `tag` the wheel's, `library` the file that Python loads."""

    zig: str
    tag: str
    library: str
    flags: tuple[str, ...] = ("-fPIC",)


#: glibc 2.17 is that of manylinux2014, macOS 11 the first on Apple's own processors.
TARGETS = {
    "linux-x86_64": Target("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64", "_runtime.so", ("-fPIC", "-lm")),
    "linux-aarch64": Target("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64", "_runtime.so", ("-fPIC", "-lm")),
    "windows-x86_64": Target("x86_64-windows-gnu", "win_amd64", "_runtime.dll", ()),
    "macos-arm64": Target("aarch64-macos.11.0", "macosx_11_0_arm64", "_runtime.dylib"),
    "macos-x86_64": Target("x86_64-macos.11.0", "macosx_11_0_x86_64", "_runtime.dylib"),
    # For all other systems: it compiles models, and runs none.
    "any": Target("", "any", ""),
}


class DistError(Exception):
    """The message says what is missing and how to get it."""


def sources() -> list[Path]:
    """The C files that setup.py builds."""
    return sorted([*(ROOT / "runtime" / "src").rglob("*.c"), *(ROOT / "runtime" / "host").glob("*.c")])


def build_library(target: Target, folder: Path) -> Path:
    """Compiles the runtime for a target in `folder`; returns the library."""
    if importlib.util.find_spec("ziglang") is None:
        raise DistError(f"compiling for other systems takes Zig: {sys.executable} -m pip install ziglang wheel")
    folder.mkdir(parents=True)
    environment = {**os.environ, "ZIG_LOCAL_CACHE_DIR": str(folder / "cache")}
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", target.zig, *FLAGS, *target.flags]

    def run(command: list[str]) -> None:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise DistError(f"{target.zig}: {' '.join(command[:5])} … failed:\n{done.stderr}")

    run([*compiler, "-o", target.library, *map(str, sources())])
    return folder / target.library


def plain_wheel(folder: Path) -> Path:
    """Builds the package without a library; returns the unpacked wheel's folder."""
    options = ("-q", "--no-deps", "--no-build-isolation", "-w", str(folder))
    command = [sys.executable, "-m", "pip", "wheel", *options, str(ROOT)]
    environment = {**os.environ, "CC": "no-c-compiler-is-wanted-here"}
    environment.pop("TIGRIS_REQUIRE_RUNTIME", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DistError(f"{' '.join(command)} failed:\n{done.stderr}")
    (wheel,) = folder.glob("*.whl")
    _wheel("unpack", "-d", str(folder), str(wheel))
    (unpacked,) = (path for path in folder.iterdir() if path.is_dir())
    for path in (unpacked / "tigris_pio" / "host").glob("_runtime*"):
        path.unlink()
    return unpacked


def _wheel(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "wheel", *arguments], check=True, capture_output=True)


def pack(plain: Path, target: Target, library: Path | None, output: Path) -> Path:
    """Packs the wheel of one platform from `plain`, its library and its tag; without a library, the one for all."""
    with tempfile.TemporaryDirectory(prefix="tigris-wheel-") as work:
        return _packed(Path(shutil.copytree(plain, Path(work, plain.name))), target, library, output)


def _packed(folder: Path, target: Target, library: Path | None, output: Path) -> Path:
    if library:
        shutil.copy(library, folder / "tigris_pio" / "host" / target.library)
    (metadata,) = folder.glob("*.dist-info/WHEEL")
    lines = [line for line in metadata.read_text("utf-8").splitlines() if not line.startswith("Tag:")]
    metadata.write_text("\n".join([*filter(None, lines), f"Tag: py3-none-{target.tag}", ""]), "utf-8")
    output.mkdir(parents=True, exist_ok=True)
    _wheel("pack", "-d", str(output), str(folder))
    (wheel,) = output.glob(f"*-py3-none-{target.tag}.whl")
    return wheel


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="dist.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", choices=TARGETS, action="append", help="a platform; repeatable. Default: all")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="where wheels go. Default: dist")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="tigris-dist-") as name:
        try:
            plain = plain_wheel(Path(name, "plain"))

            def one(label: str) -> Path:
                target = TARGETS[label]
                library = build_library(target, Path(name, label)) if target.zig else None
                return pack(plain, target, library, given.output)

            with ThreadPoolExecutor(os.cpu_count()) as pool:
                for wheel in pool.map(one, given.only or TARGETS):
                    print(f"{wheel.name}  {wheel.stat().st_size} bytes", flush=True)
        except (DistError, subprocess.CalledProcessError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
