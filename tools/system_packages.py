"""What the system itself must provide, and how it gets installed on Debian and Ubuntu."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

APT_ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive"}


class MissingPackages(Exception):
    """Packages are missing and cannot be installed from here; the text is the remedy."""


@dataclass(frozen=True)
class Need:
    """Something to be found; `packages`: names that have it, the newest distribution's first."""

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


def _c_headers() -> bool:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return False
    command = [compiler, "-E", "-x", "c", "-", "-o", os.devnull]
    return subprocess.run(command, input=b"#include <stdio.h>", check=False, capture_output=True).returncode == 0


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
    Need("the C library's headers", _c_headers, ("libc6-dev",)),
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
_CHECKS = (
    Need("clang", _program("clang"), ("clang",)),
    # CLANG stands for the version that the package clang brings.
    Need("the libraries of clang's sanitisers and fuzzer", _clang_fuzzes, ("libclang-rt-dev", "libclang-rt-CLANG-dev")),
    Need("clang-tidy", _program("clang-tidy"), ("clang-tidy",)),
    Need("cppcheck", _program("cppcheck"), ("cppcheck",)),
    Need("g++", _program("g++"), ("g++",)),
    Need("gdb", _program("gdb"), ("gdb",)),
    Need("valgrind", _program("valgrind"), ("valgrind",)),
    Need("ccache", _program("ccache"), ("ccache",), optional=True),
)
NEEDS: dict[str, tuple[Need, ...]] = {
    "demo": (_VENV, *_HOST, *_RISCV),
    "test": (_VENV, *_HOST, *_RISCV, *_ARM, *_ARM64, *_XTENSA, *_CHECKS),
    "fuzz": (_VENV, *_HOST, *_RISCV, *_ARM, *_ARM64, *_XTENSA, *_CHECKS),
    "dist": (_VENV,),
    "docs": (_VENV, *_HOST),
}


def ensure(purpose: str) -> None:
    """Installs what `purpose` lacks, or raises MissingPackages with the line that would."""
    missing = [need for need in NEEDS[purpose] if not need.is_there()]
    needed = [need for need in missing if not need.optional]
    if needed:
        _install(needed)
    _install_if_easy([need for need in missing if need.optional])


def _install(missing: Sequence[Need]) -> None:
    print(f"Missing on this system: {', '.join(need.what for need in missing)}", flush=True)
    prefix = _root_prefix()
    if shutil.which("apt-get") is None:
        raise MissingPackages(
            "Install them with this system's package manager (there is no apt-get), then run this command again."
        )
    if prefix is None:
        install = "sudo apt-get install -y --no-install-recommends " + " ".join(_choose(need) for need in missing)
        raise MissingPackages(f"Install them with:\n\n    sudo apt-get update && {install}\n")
    _apt(prefix, ["update"])
    _apt(prefix, ["install", "-y", "--no-install-recommends", *(_choose(need) for need in missing)])
    still = [need.what for need in missing if not need.is_there()]
    if still:
        raise MissingPackages(f"Installed, but still not found: {', '.join(still)}. Check PATH.")


def _install_if_easy(missing: Sequence[Need]) -> None:
    """What only makes things faster: from the lists that are there, or not at all."""
    prefix = _root_prefix() if missing and shutil.which("apt-get") else None
    if prefix is None:
        return
    for need in missing:
        if not _has_candidate(need.packages[0]):
            continue
        try:
            _apt(prefix, ["install", "-y", "--no-install-recommends", need.packages[0]])
        except MissingPackages:
            print(f"Going on without {need.what}: the tests take longer", flush=True)


def _root_prefix() -> list[str] | None:
    """What runs a command as root without asking; None if nothing does."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    if sudo and subprocess.run([sudo, "-n", "true"], capture_output=True, check=False).returncode == 0:
        return [sudo, "-n", "--preserve-env=DEBIAN_FRONTEND"]
    return None


def _choose(need: Need) -> str:
    """The first of the package names that this distribution has."""
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


def _apt(prefix: Sequence[str], arguments: Sequence[str]) -> None:
    command = [*prefix, "apt-get", "-o", "Acquire::Retries=3", *arguments]
    print("+ " + " ".join(command), flush=True)
    if subprocess.run(command, env={**os.environ, **APT_ENVIRONMENT}, check=False).returncode != 0:
        raise MissingPackages(f"`apt-get {arguments[0]}` failed; see its messages above.")
