"""Parses and checks the `custom_tigris_*` options of one environment of platformio.ini.

Sizes are bytes. Every OptionError names the option, its value and the remedy.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

PREFIX = "custom_tigris_"
NAMES = (
    *("models", "mem", "flash", "xip", "compress", "dims", "partition", "match", "check", "backend", "backend_path"),
    *("python", "auto_install", "limits", "set", "state", "stream", "hop", "slots", "slot_size", "mode", "weights"),
    *("cores", "optimize", "hot", "sign", "security_version"),
)
MATCHES = ("interface", "shape", "exact")
COMPRESSIONS = ("none", "lz4")
MODES = ("plan", "c")
# Weights of models compiled as C: constants in the code, or in a partition.
WEIGHTS = ("c", "partition")
# Options of plans, which are flashed beside the firmware.
PLAN_OPTIONS = ("partition", "match", "check", "slots", "slot_size", "cores", "sign", "security_version")
OPTIMIZE = ("speed", "size")
BACKENDS = ("auto", "portable", "esp-nn", "cmsis-nn", "pie", "mve")
# Backends of the runtime's own kernels in a chip's instructions, with these chips.
BACKEND_CHIPS = {"pie": ("esp32s3",), "mve": ("cortex-m52", "cortex-m55", "cortex-m85")}
# Backends that need no library and no chip. `auto` is one: backend.py replaces it on chips with a faster backend.
PORTABLE_BACKENDS = ("auto", "portable")
TRUE, FALSE = ("yes", "true", "on", "1"), ("no", "false", "off", "0")
LABEL_LENGTH = 16
SECTOR = 4096
MAX_SECURITY_VERSION = 0xFFFF  # 16 bits of a plan's header
# A plan stores the model's name in 48 bytes, the last one zero.
NAME_LENGTH = 47

_UNITS = {"": 1, "B": 1, "K": 1 << 10, "KB": 1 << 10, "KIB": 1 << 10, "M": 1 << 20, "MB": 1 << 20, "MIB": 1 << 20}


class OptionError(Exception):
    """An option of platformio.ini is wrong."""

    def __init__(self, name: str, value: str, remedy: str) -> None:
        shown = f" = {value}" if value else ""
        super().__init__(f"{PREFIX}{name}{shown}: {remedy}")


@dataclass(frozen=True)
class Model:
    """A line of custom_tigris_models. `partition` is the label of the flash partition that holds the plan."""

    name: str
    path: Path
    partition: str = "model"


@dataclass(frozen=True)
class Settings:
    """The checked options. `mem` and `flash` are as written, for the compiler; `flash_bytes` None: no limit.

    `chip` is the board's. `slot_size` is in whole flash sectors, by default `flash`; None: as the plan needs.
    """

    models: tuple[Model, ...]
    mem: str
    flash: str | None
    flash_bytes: int | None
    xip: bool
    compress: str
    backend: str
    python: str | None
    auto_install: bool = False
    dims: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    set: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    stream: tuple[str, ...] = ()
    hop: int | None = None
    match: str = "interface"
    check: bool = True
    backend_path: Path | None = None
    chip: str = ""
    slots: int = 1
    slot_size: int | None = None
    mode: str = "plan"  #: "c": models are compiled as C with the firmware
    cores: int = 1
    optimize: str = "speed"  #: of the runtime's sources; or "size"
    hot: bool = False  #: executor and int8 layers lie in internal memory
    weights: str = "c"  #: in mode "c"; "partition": flashed alone
    sign: Path | None = None  #: the key that signs plans, and whose public half the firmware has
    security_version: int | None = None  #: of signed plans; None: 0

    @property
    def labels(self) -> tuple[str, ...]:
        """The partitions, each once."""
        return tuple(dict.fromkeys(model.partition for model in self.models))

    def models_in(self, label: str) -> tuple[Model, ...]:
        return tuple(model for model in self.models if model.partition == label)


def parse(options: Mapping[str, str], project_dir: Path) -> Settings:
    """Checks the environment's options; OptionError also for a misspelt prefix. `project_dir` resolves paths."""
    own = {name[len(PREFIX) :]: _unquoted(str(value)) for name, value in options.items() if name.startswith(PREFIX)}
    for name in options:
        close = difflib.get_close_matches(name, [PREFIX + known for known in NAMES], n=1, cutoff=0.85)
        if name.startswith("custom_") and not name.startswith(PREFIX) and close:
            found = f"is set, and so is {name}" if close[0] in options else f"is not set, but {name} is"
            raise OptionError(close[0].removeprefix(PREFIX), "", f"{found}, which is no option")
    for name, value in own.items():
        if name not in NAMES:
            raise OptionError(name, value, _suggestion(name))
    flash = own.get("flash") or None
    xip = _boolean("xip", own.get("xip") or "no")
    compress = _choice("compress", own.get("compress") or "none", COMPRESSIONS)
    if xip and compress == "lz4":
        raise OptionError("xip", own["xip"], "promises that no weight is copied to RAM, but custom_tigris_compress = "
                          "lz4 unpacks weights there; leave one out")  # fmt: skip
    weights = _choice("weights", own.get("weights") or WEIGHTS[0], WEIGHTS)
    mode = _mode(own, weights)
    return Settings(
        mode=mode,
        weights=weights,
        models=_assign_partitions(_models(own.get("models", ""), project_dir), own.get("partition") or "model"),
        mem=_memory(own.get("mem", "")),
        flash=flash,
        flash_bytes=parse_size("flash", flash) if flash else None,
        xip=xip,
        compress=compress,
        backend=_choice("backend", own.get("backend") or "auto", BACKENDS),
        python=own.get("python") or None,
        auto_install=_boolean("auto_install", own.get("auto_install") or "no"),
        dims=_numbers("dims", own.get("dims", ""), "length=512"),
        set=_values("set", own.get("set", ""), "sr=16000"),
        state=_values("state", own.get("state", ""), "h_out=h", "OUT=IN"),
        stream=tuple(own.get("stream", "").split()),
        hop=_hop(own.get("hop", "")),
        limits=_numbers("limits", own.get("limits", ""), "nodes=200000"),
        cores=int(_choice("cores", own.get("cores") or "1", ("1", "2"))),
        optimize=_choice("optimize", own.get("optimize") or OPTIMIZE[0], OPTIMIZE),
        hot=_boolean("hot", own.get("hot") or "no"),
        match=_choice("match", own.get("match") or MATCHES[0], MATCHES),
        check=_boolean("check", own.get("check") or "yes"),
        slots=_slots(own),
        slot_size=_slot_size(own, flash),
        backend_path=_backend_path(own.get("backend_path", ""), own.get("backend") or "auto", project_dir),
        sign=_key_file(own.get("sign", ""), project_dir),
        security_version=_security_version(own),
    )


def _mode(own: Mapping[str, str], weights: str) -> str:
    """Checks that mode `c`, which makes no plan, has no options of plans."""
    mode = _choice("mode", own.get("mode") or MODES[0], MODES)
    if mode != "c" and weights == "partition":
        raise OptionError("weights", weights, "is for models compiled as C, a plan contains its weights; set "
                          "custom_tigris_mode = c, or leave it out")  # fmt: skip
    if mode == "c":
        for name in PLAN_OPTIONS:
            if name == "partition" and weights == "partition":
                continue
            if own.get(name):
                alternative = ", or set custom_tigris_weights = partition" if name == "partition" else ""
                raise OptionError(name, own[name], "is for plans, but custom_tigris_mode = c makes none; leave one out"
                                  f"{alternative}")  # fmt: skip
        if (own.get("backend") or "auto") not in PORTABLE_BACKENDS:
            raise OptionError("backend", own["backend"], "only plans call its kernels; leave it out, or "
                              "custom_tigris_mode = c")  # fmt: skip
    return mode


def _unquoted(text: str) -> str:
    """Removes quotes around a whole value or line: platformio.ini keeps them."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" and text.count(text[0]) == 2:
        return text[1:-1].strip()
    return text


def name_fault(name: str) -> str | None:
    """Why a model's name is invalid, and a valid one; None if it is valid. `tigris new` and `tigris layout` call it."""
    if len(name) > NAME_LENGTH:
        return f"the name `{name}` has more than {NAME_LENGTH} characters"
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        rule = "letters, digits and underscores, no digit first"
        return f"`{name}` cannot be part of a C name ({rule}); use `{plain_name(name)}`"
    return None


def plain_name(text: str) -> str:
    """A valid name made of `text`, such as a file's name."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return name if re.match(r"[A-Za-z_]", name) else "_" + name


def _suggestion(name: str) -> str:
    close = difflib.get_close_matches(name, NAMES, n=1)
    known = ", ".join(PREFIX + known for known in NAMES)
    return f"no such option; did you mean {PREFIX}{close[0]}?" if close else f"no such option; known are {known}"


# ---- models ------------------------------------------------------------------------------------------------------


def _models(text: str, project_dir: Path) -> tuple[Model, ...]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise OptionError("models", "", "is not set; give the path of an .onnx or .tflite file, or lines NAME = PATH")
    models = [_model(line, project_dir) for line in lines]
    seen: dict[str, Model] = {}
    for model in models:
        key = model.name.upper()
        if key in seen:
            raise OptionError(
                "models",
                f"{model.path.name}",
                f"two models are called `{model.name}`; name them by lines of NAME = PATH",
            )
        seen[key] = model
    return tuple(models)


def _model(line: str, project_dir: Path) -> Model:
    match = re.fullmatch(r"([^=]+?)\s*=\s*(.+)", line)
    if match and not os.path.isfile(_resolve(_unquoted(line), project_dir)):
        name, path_text = _unquoted(match[1]), _unquoted(match[2])
    else:
        path_text = _unquoted(line)
        name = plain_name(Path(path_text).stem)
    path = _resolve(path_text, project_dir)
    if not os.path.isfile(path):  # unlike Path.is_file, it accepts any text
        raise OptionError("models", line, _missing_model_reason(path_text, path, project_dir))
    fault = name_fault(name)
    if fault:
        raise OptionError("models", line, fault + ("" if match else "; give another one by NAME = PATH"))
    return Model(name, path)


def _missing_model_reason(text: str, path: Path, project_dir: Path) -> str:
    """Why the path of a model names no file, and the remedy."""
    right = "give the path of an .onnx or .tflite file, relative to the project"
    if os.path.isdir(path):
        return f"{path} is a folder; {right}"
    parts = [part for part in (_unquoted(part) for part in re.split(r"[,;]\s*|\s+", text)) if part]
    if len(parts) > 1 and any(os.path.isfile(_resolve(part, project_dir)) for part in parts):
        return "write one model on each line, without commas"
    if re.search(r"[*?\[]", text):
        found = sorted(str(item.relative_to(project_dir)) for item in _matching(text, project_dir))
        return f"patterns are not expanded; write one model on each line{': ' if found else ''}{', '.join(found)}"
    return f"the file {path} does not exist; {right}"


def _matching(pattern: str, project_dir: Path) -> list[Path]:
    try:
        return list(project_dir.glob(pattern))[:8]
    except (NotImplementedError, ValueError):  # absolute, or no pattern
        return []


def _resolve(text: str, project_dir: Path) -> Path:
    return Path(os.path.normpath(project_dir / os.path.expanduser(text)))


# ---- values ------------------------------------------------------------------------------------------------------


def parse_size(name: str, text: str) -> int:
    # No memory size has more digits, and float is exact with these.
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([a-zA-Z]*)", text.strip())
    unit = match and _UNITS.get(match[2].upper())
    if not match or not unit:
        raise OptionError(name, text, "is no size; give bytes or a number with K or M, such as 256K or 8M")
    value = int(float(match[1]) * unit)
    if value == 0:
        raise OptionError(name, text, "is zero; give bytes or a number with K or M, such as 256K or 8M")
    return value


def ram_warnings(mem: str, maximum: object) -> list[str]:
    """A warning if `mem` has more SRAM than the board; `maximum` is the board's upload.maximum_ram_size."""
    fast = parse_size("mem", mem.partition("+")[0])
    known = int(str(maximum)) if str(maximum).isdecimal() else 0
    if not known or fast <= known:
        return []
    return [
        f"{PREFIX}mem = {mem}: {fast} bytes of SRAM are more than the board's {known} (board_upload.maximum_ram_size); "
        "a plan that needs them will not run. Write external memory, such as PSRAM, after a plus: 128K+8M"
    ]


def _memory(text: str) -> str:
    if not text:
        raise OptionError("mem", "", "is not set; give the RAM for the model, such as 256K, or 256K+8M with PSRAM")
    parts = text.split("+")
    if len(parts) > 2 or not all(part.strip() for part in parts):
        raise OptionError("mem", text, "is not FAST or FAST+SLOW; write 256K, or 256K+8M with PSRAM")
    for part in parts:
        try:
            parse_size("mem", part)
        except OptionError:
            remedy = f"`{part.strip()}` is no size; write 256K, or 256K+8M with PSRAM"
            raise OptionError("mem", text, remedy) from None
    return "+".join(part.strip() for part in parts)


def _numbers(option: str, text: str, example: str) -> tuple[str, ...]:
    items = tuple(text.replace(",", " ").split())
    for item in items:
        name, _, value = item.partition("=")
        if not name or not re.fullmatch(r"0*[1-9][0-9]{0,9}", value):
            raise OptionError(
                option, text, f"`{item}` is not NAME=NUMBER; write {example}, several with spaces between"
            )
    return items


def _values(option: str, text: str, example: str, form: str = "NAME=VALUE") -> tuple[str, ...]:
    """Checks items NAME=VALUE; the compiler checks the values. A list of values has commas."""
    items = tuple(text.split())
    for item in items:
        name, _, value = item.rpartition("=")
        if not name or not value:
            raise OptionError(option, text, f"`{item}` is not {form}; write {example}, several with spaces between")
    return items


def _hop(text: str) -> int | None:
    if text and not re.fullmatch(r"0*[1-9][0-9]{0,9}", text):
        raise OptionError("hop", text, "is no number of rows; write 1 or more")
    return int(text) if text else None


def _boolean(name: str, text: str) -> bool:
    if text.lower() not in TRUE + FALSE:
        raise OptionError(name, text, "must be yes or no")
    return text.lower() in TRUE


def _choice(name: str, text: str, choices: tuple[str, ...]) -> str:
    if text.lower() not in choices:
        raise OptionError(name, text, f"must be one of {', '.join(choices)}")
    return text.lower()


def _slots(own: Mapping[str, str]) -> int:
    slots = int(_choice("slots", own.get("slots") or "1", ("1", "2")))
    if slots == 2 and (own.get("match") or MATCHES[0]).lower() == "exact":
        raise OptionError("slots", "2", "is for plans that are updated in the field, but custom_tigris_match = exact "
                          "accepts only the plan of the firmware's build; leave one out")  # fmt: skip
    return slots


def _slot_size(own: Mapping[str, str], flash: str | None) -> int | None:
    text, twice = own.get("slot_size"), (own.get("slots") or "1") == "2"
    if text and not twice:
        raise OptionError("slot_size", text, "is for models with two slots; set custom_tigris_slots = 2, too")
    # A slot holds any plan within the limit of the option flash.
    size = parse_size("slot_size", text) if text else parse_size("flash", flash) if twice and flash else None
    return -(-size // SECTOR) * SECTOR if size else None


def _backend_path(text: str, backend: str, project_dir: Path) -> Path | None:
    if not text:
        return None
    if backend in (*PORTABLE_BACKENDS, *BACKEND_CHIPS):
        raise OptionError("backend_path", text, "is for a kernel library; set custom_tigris_backend to its name, too")
    path = _resolve(text, project_dir)
    if not os.path.isdir(path):
        raise OptionError("backend_path", text, f"{path} is no folder; give a checkout of the library")
    return path


def _key_file(text: str, project_dir: Path) -> Path | None:
    path = _resolve(text, project_dir)
    if text and not os.path.isfile(path):
        raise OptionError("sign", text, f"the file {path} does not exist; write a key with: tigris keygen -o {path}")
    return path if text else None


def _security_version(own: Mapping[str, str]) -> int | None:
    text = own.get("security_version", "")
    if text and not own.get("sign"):
        raise OptionError("security_version", text, "is for signed plans; set custom_tigris_sign, too")
    if text and (not re.fullmatch(r"[0-9]{1,5}", text) or int(text) > MAX_SECURITY_VERSION):
        raise OptionError("security_version", text, f"must be a number from 0 to {MAX_SECURITY_VERSION}")
    return int(text) if text else None


def _assign_partitions(models: tuple[Model, ...], text: str) -> tuple[Model, ...]:
    """`text` is one label for all models, or a line NAME = LABEL for each."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and "=" not in lines[0]:
        label = _label(lines[0])
        return tuple(replace(model, partition=label) for model in models)
    labels: dict[str, str] = {}
    for line in lines:
        name, _, label = (part.strip() for part in line.partition("="))
        if name not in [model.name for model in models]:
            known = ", ".join(model.name for model in models)
            raise OptionError("partition", line, f"write LABEL, or lines of NAME = LABEL with models' names: {known}")
        labels[name] = _label(label)
    missing = [model.name for model in models if model.name not in labels]
    if missing:
        raise OptionError("partition", " ".join(lines), f"a line is missing: {missing[0]} = LABEL")
    return tuple(replace(model, partition=labels[model.name]) for model in models)


def _label(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", text) or len(text) > LABEL_LENGTH:
        raise OptionError(
            "partition",
            text,
            f"a partition's name has 1 to {LABEL_LENGTH} letters, digits, dots, dashes or underscores",
        )
    return text
