"""The programs and files that the system must provide, and their installation on Debian and Ubuntu."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Megabytes of packages that are unpacked and set up in a second, measured on two cores.
MB_A_SECOND = 40
APT_ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive"}


class MissingPackages(Exception):
    """Packages are missing and cannot be installed from here; the text is the remedy."""


@dataclass(frozen=True)
class Need:
    """A program or file to look for; `packages` are the names that contain it, the newest distribution's first."""

    what: str
    is_there: Callable[[], bool]
    packages: tuple[str, ...]
    optional: bool = False  #: it makes things faster


def _program(*names: str) -> Callable[[], bool]:
    return lambda: any(shutil.which(name) for name in names)


def _compiler_file(compiler: str, file: str) -> Callable[[], bool]:
    """Whether the cross compiler finds one of its C library's files."""

    def check() -> bool:
        if shutil.which(compiler) is None:
            return False
        answer = subprocess.run([compiler, f"-print-file-name={file}"], capture_output=True, text=True, check=False)
        return os.path.isabs(answer.stdout.strip())

    return check


def _venv_works() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("venv", "ensurepip"))


def _header(name: str) -> Callable[[], bool]:
    def check() -> bool:
        compiler = shutil.which("gcc") or shutil.which("cc")
        if compiler is None:
            return False
        command = [compiler, "-E", "-x", "c", "-", "-o", os.devnull]
        text = f"#include <{name}>".encode()
        return subprocess.run(command, input=text, check=False, capture_output=True).returncode == 0

    return check


def _clang_fuzzes() -> bool:
    """Whether clang finds the libraries of its sanitisers and its fuzzer."""
    if shutil.which("clang") is None:
        return False
    command = ["clang", "-fsanitize=fuzzer,address", "-x", "c", "-", "-o", os.devnull]
    source = b"#include <stddef.h>\nint LLVMFuzzerTestOneInput(const char *d, size_t n) { return d == 0 && n != 0; }"
    return subprocess.run(command, input=source, check=False, capture_output=True).returncode == 0


# Debian's package names carry the minor version where several Pythons are installed.
_VENV = Need("Python's venv module", _venv_works, (f"python3.{sys.version_info.minor}-venv", "python3-venv"))
_HOST = (
    Need("a C compiler", _program("gcc", "cc"), ("gcc",)),
    Need("the C library's headers", _header("stdio.h"), ("libc6-dev",)),
)
_RISCV = (
    Need("qemu-system-riscv32", _program("qemu-system-riscv32"), ("qemu-system-riscv", "qemu-system-misc")),
    Need("riscv64-unknown-elf-gcc", _program("riscv64-unknown-elf-gcc"), ("gcc-riscv64-unknown-elf",)),
    Need(
        "picolibc for RISC-V",
        _compiler_file("riscv64-unknown-elf-gcc", "picolibc.specs"),
        ("picolibc-riscv64-unknown-elf",),
    ),
)
_ARM = (
    Need("qemu-system-arm", _program("qemu-system-arm"), ("qemu-system-arm",)),
    Need("arm-none-eabi-gcc", _program("arm-none-eabi-gcc"), ("gcc-arm-none-eabi",)),
    Need("newlib for Arm", _compiler_file("arm-none-eabi-gcc", "nano.specs"), ("libnewlib-arm-none-eabi",)),
)
_XTENSA = (Need("xtensa-lx106-elf-gcc", _program("xtensa-lx106-elf-gcc"), ("gcc-xtensa-lx106",)),)
_ARM64 = (
    Need("aarch64-linux-gnu-gcc", _program("aarch64-linux-gnu-gcc"), ("gcc-aarch64-linux-gnu",)),
    Need("the C library for 64-bit Arm", _compiler_file("aarch64-linux-gnu-gcc", "libc.a"), ("libc6-dev-arm64-cross",)),
    Need("qemu-aarch64", _program("qemu-aarch64"), ("qemu-user",)),
)
_GXX = Need("g++", _program("g++"), ("g++",))
_CHECKS = (
    Need("clang", _program("clang"), ("clang",)),
    # CLANG stands for the version that the package clang brings.
    Need("the libraries of clang's sanitisers and fuzzer", _clang_fuzzes, ("libclang-rt-dev", "libclang-rt-CLANG-dev")),
    Need("clang-tidy", _program("clang-tidy"), ("clang-tidy",)),
    Need("cppcheck", _program("cppcheck"), ("cppcheck",)),
    _GXX,
    Need("mbedTLS", _header("mbedtls/ecdsa.h"), ("libmbedtls-dev",)),
    Need("libsodium", _header("sodium.h"), ("libsodium-dev",)),
    Need("gdb", _program("gdb"), ("gdb",)),
    Need("valgrind", _program("valgrind"), ("valgrind",)),
    Need("ccache", _program("ccache"), ("ccache",), optional=True),
)
NEEDS: dict[str, tuple[Need, ...]] = {
    "demo": (_VENV, *_HOST, *_RISCV),
    "test": (_VENV, *_HOST, *_RISCV, *_ARM, *_ARM64, *_XTENSA, *_CHECKS),
    "fuzz": (_VENV, *_HOST, *_RISCV, *_ARM, *_ARM64, *_XTENSA, *_CHECKS),
    "dist": (_VENV,),
    "release": (_VENV, *_HOST, *_RISCV, _GXX),
    "docs": (_VENV, *_HOST),
}


def missing(purpose: str) -> list[Need]:
    """The missing needs of `purpose`; optional ones only if apt has them and root needs no password."""
    lacking = [need for need in NEEDS[purpose] if not need.is_there()]
    easy = shutil.which("apt-get") is not None and _root_prefix() is not None
    return [need for need in lacking if not need.optional or (easy and _has_candidate(need.packages[0]))]


def is_first(need: Need) -> bool:
    """Whether the virtual environment cannot be made without it."""
    return need is _VENV or need in _HOST


def check(lacking: Sequence[Need]) -> None:
    """Prints what is missing; raises MissingPackages with the command to install it if only the user can."""
    needed = [need for need in lacking if not need.optional]
    if not needed:
        return
    print(f"Missing on this system: {', '.join(need.what for need in needed)}", flush=True)
    if shutil.which("apt-get") is None:
        raise MissingPackages(
            "Install them with this system's package manager (there is no apt-get), then run this command again."
        )
    if _root_prefix() is None:
        line = "sudo apt-get install -y --no-install-recommends " + " ".join(_choose(need) for need in needed)
        raise MissingPackages(f"Install them with:\n\n    sudo apt-get update && {line}\n")


def install(lacking: Sequence[Need], log: Path) -> None:
    """Installs them, or raises MissingPackages. The output of apt goes to `log`."""
    if not lacking:
        return
    apt = Apt(_root_prefix() or [], log)
    apt.run("update")
    apt.install([_choose(need) for need in lacking])
    still = [need.what for need in lacking if not need.is_there() and not need.optional]
    if still:
        raise MissingPackages(f"Installed, but still not found: {', '.join(still)}. Check PATH.")


class Apt:
    """apt-get as root. Its output goes to a file; the screen shows the packages and the progress."""

    def __init__(self, prefix: Sequence[str], log: Path) -> None:
        self.command = [*prefix, "apt-get", "-o", "Acquire::Retries=3"]
        self.log = log
        log.parent.mkdir(exist_ok=True)
        log.write_bytes(b"")

    def run(self, *arguments: str, wants: int = 0) -> None:
        """Raises MissingPackages if it fails. `wants`: so many packages are unpacked and set up meanwhile."""
        progress = Progress("apt", 2 * wants)
        with (
            subprocess.Popen([*self.command, *arguments], env={**os.environ, **APT_ENVIRONMENT}, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace") as process,
            self.log.open("a", encoding="utf-8") as log,
        ):  # fmt: skip
            assert process.stdout is not None
            for line in process.stdout:
                log.write(line)
                if wants and line.startswith(("Unpacking ", "Setting up ")):
                    progress.step(" ".join(line.split()[:2 if line[0] == "U" else 3]))
        if process.returncode != 0:
            tail = "".join(self.log.read_text("utf-8").splitlines(keepends=True)[-15:])
            raise MissingPackages(f"`apt-get {arguments[0]}` failed; {self.log} ends with:\n\n{tail}")

    def install(self, packages: Sequence[str]) -> None:
        """Says first how much it is: apt's own figures."""
        install = ["install", "--no-install-recommends", *packages]
        asked = subprocess.run([*self.command, "--assume-no", *install], env={**os.environ, **APT_ENVIRONMENT},
                               capture_output=True, text=True, check=False).stdout  # fmt: skip
        count = re.search(r"(\d+) newly installed", asked)
        download = re.search(r"Need to get ([\d,.]+ .B)", asked)
        disk = re.search(r"([\d,.]+) MB of additional disk space", asked)
        how_long = f", about {float(disk[1].replace(',', '')) / MB_A_SECOND:.0f} s beside the download" if disk else ""
        print(f"Installing {count[1] if count else len(packages)} packages with apt"
              f"{f', {download[1]} to download' if download else ''}{f', {disk[1]} MB on disk' if disk else ''}"
              f"{how_long}; its words are in {self.log.name}", flush=True)  # fmt: skip
        self.run("install", "-y", *install[1:], wants=int(count[1]) if count else 0)


class Progress:
    """Progress of a long task: on a terminal one line that changes, elsewhere a line at each tenth."""

    def __init__(self, name: str, steps: int) -> None:
        self.name, self.steps, self.done = name, steps, 0

    def step(self, what: str) -> None:
        before, self.done = self.done, min(self.done + 1, self.steps)
        text = f"{self.name}: {100 * self.done // self.steps:3} %  {what}"
        if sys.stdout.isatty():
            print(f"\r{text[:78]:<78}", end="\n" if self.done == self.steps else "", flush=True)
        elif 10 * self.done // self.steps > 10 * before // self.steps:
            print(text, flush=True)


def _root_prefix() -> list[str] | None:
    """The command prefix that runs a command as root without a password; None if there is none."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    if sudo and subprocess.run([sudo, "-n", "true"], capture_output=True, check=False).returncode == 0:
        return [sudo, "-n", "--preserve-env=DEBIAN_FRONTEND"]
    return None


def _choose(need: Need) -> str:
    """The first package name that this distribution has."""
    names = [name.replace("CLANG", _clang_version()) if "CLANG" in name else name for name in need.packages]
    for package in names[:-1]:
        if _has_candidate(package):
            return package
    return names[-1]


def _has_candidate(package: str) -> bool:
    answer = subprocess.run(["apt-cache", "policy", package], capture_output=True, text=True, check=False)
    return "Candidate:" in answer.stdout and "Candidate: (none)" not in answer.stdout


def _clang_version() -> str:
    answer = subprocess.run(["apt-cache", "depends", "clang"], capture_output=True, text=True, check=False)
    match = re.search(r"Depends: clang-(\d+)", answer.stdout)
    return match[1] if match else "14"
