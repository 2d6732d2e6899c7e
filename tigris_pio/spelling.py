"""Writes the compiler's options as each caller does, so that a message names the option that its reader can change.

Five callers run the compiler: the command line, a build with platformio.ini, tigris_add_model in CMake, Python, and
ESPHome.
Messages that recommend an option write it by these functions, never as text of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum

#: Environment variable in which a build names its Caller.
CALLER_VARIABLE = "TIGRIS_CALLER"


class Caller(Enum):
    """The caller whose option names messages use; its value is that of TIGRIS_CALLER."""

    COMMAND = "command"
    PLATFORMIO = "platformio"
    CMAKE = "cmake"
    PYTHON = "python"
    ESPHOME = "esphome"


_CALLERS = (Caller.COMMAND, Caller.PLATFORMIO, Caller.CMAKE, Caller.PYTHON)

#: Every option that a refusal or a warning may name, in the order of _CALLERS.
OPTIONS: Mapping[str, tuple[str, str, str, str]] = {
    "mem": ("-m", "custom_tigris_mem", "MEM", "fast"),
    "flash": ("-f", "custom_tigris_flash", "FLASH", "flash"),
    "dims": ("--dim", "custom_tigris_dims", "DIMS", "dims"),
    **{name: (f"--{name.replace('_', '-')}", f"custom_tigris_{name}", name.upper(), name)
       for name in ("set", "state", "hop", "stream", "slot_size", "xip", "compress", "backend", "cores")},
    # Builds set these two themselves: platformio.ini has an option for neither, CMake none for the alignment.
    "copy_weights": ("--copy-weights", "copy_weights", "COPY_WEIGHTS", "copy_weights"),
    "alignment": ("--align", "alignment", "alignment", "alignment"),
    "chip": ("--chip", "board_build.mcu", "IDF_TARGET", "chip"),
    "limit": ("--limit", "custom_tigris_limits", "LIMITS", "limits"),
    "name": ("--name", "custom_tigris_models", "NAME", "name"),
    "table": ("--table", "board_build.partitions", "the partition table", "table"),
}  # fmt: skip

_caller: ContextVar[Caller] = ContextVar("caller", default=Caller.PYTHON)


@contextmanager
def messages_for(caller: Caller) -> Iterator[None]:
    """Within this context messages use the option names of `caller`."""
    token = _caller.set(caller)
    try:
        yield
    finally:
        _caller.reset(token)


def caller_of_command() -> Caller:
    """The caller of the command line: the build that TIGRIS_CALLER names, or a person."""
    try:
        return Caller(os.environ.get(CALLER_VARIABLE, Caller.COMMAND.value))
    except ValueError:
        return Caller.COMMAND


def option(name: str, value: str | int | None = None) -> str:
    """The option, and `value` for it if given: `-f 30K`, `custom_tigris_flash = 30K`, `FLASH 30K`, `flash="30K"`."""
    caller = _caller.get()
    if caller is Caller.ESPHOME:  # its YAML has Python's names, but for memory
        word = "memory" if name == "mem" else OPTIONS[name][_CALLERS.index(Caller.PYTHON)]
        return word if value is None else f"{word}: {value}"
    word = OPTIONS[name][_CALLERS.index(caller)]
    if value is None:
        return word
    if caller is Caller.PYTHON:
        return f"{word}={value}" if isinstance(value, int) else f'{word}="{value}"'
    return f"{word} = {value}" if caller is Caller.PLATFORMIO else f"{word} {value}"


def memory(fast: str, slow: str | None = None) -> str:
    """The option for memory: `-m 4K+9K`, or `fast="4K", slow="9K"`."""
    if _caller.get() is Caller.PYTHON:
        return option("mem", fast) + (f', slow="{slow}"' if slow else "")
    return option("mem", f"{fast}+{slow}" if slow else fast)


def dims(sizes: Mapping[str, int | str]) -> str:
    """The options for the sizes of free dimensions: `--dim height=64 --dim width=VALUE`."""
    pairs = [f"{name}={value}" for name, value in sizes.items()]
    caller = _caller.get()
    if caller is Caller.PYTHON:
        return "dims={" + ", ".join(f'"{name}": {value}' for name, value in sizes.items()) + "}"
    if caller is Caller.COMMAND:
        return " ".join(option("dims", pair) for pair in pairs)
    return option("dims", " ".join(pairs))


def fixed(name: str, value: str) -> str:
    """The option that sets an input: `--set sr=16000`, or `set={"sr": 16000}`."""
    if _caller.get() is Caller.PYTHON:
        shown = f"[{value}]" if "," in value else value
        return f'{option("set")}={{"{name}": {shown}}}'
    return option("set", f"{name}={value}")


def state(output: str, held: str) -> str:
    """The option that ties an output to an input: `--state h_out=h`, or `state={"h_out": "h"}`."""
    if _caller.get() is Caller.PYTHON:
        return f'{option("state")}={{"{output}": "{held}"}}'
    return option("state", f"{output}={held}")


def switch(name: str, on: bool = True) -> str:
    """A switch turned on or off: `--xip` and `no --xip`, `custom_tigris_xip = yes`, `xip=True`."""
    caller = _caller.get()
    if caller is Caller.PLATFORMIO:
        return option(name, "yes" if on else "no")
    if caller is Caller.PYTHON:
        return f"{option(name)}={on}"
    return option(name) if on else f"no {option(name)}"


def limit(name: str, value: object) -> str:
    """The option for a limit: `--limit nodes=200000`, or `limits={"nodes": 200000}`."""
    if _caller.get() is Caller.PYTHON:
        return f'{option("limit")}={{"{name}": {value}}}'
    return option("limit", f"{name}={value}")
