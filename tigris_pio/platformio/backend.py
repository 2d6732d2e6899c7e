"""Chooses the firmware's kernels, and compiles a kernel library if the options name one. Runs inside SCons."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .options import BACKEND_CHIPS, OptionError, Settings


@dataclass(frozen=True)
class Library:
    """Paths in a library's checkout. `sources` are SCons filters, `chips` further filters by the chip's name."""

    define: str
    symbol: str
    repository: str
    header: str
    sources: tuple[str, ...]
    includes: tuple[str, ...]
    chips: dict[str, tuple[str, ...]]
    defines: tuple[str, ...] = ()


LIBRARIES = {
    "esp-nn": Library(
        "TIGRIS_ESP_NN",
        "tigris_esp_nn_backend",
        "github.com/espressif/esp-nn",
        "include/esp_nn.h",
        ("+<src/**/*_ansi.c>", "+<src/**/*_opt.c>"),
        ("include", "src/common"),
        {name: (f"+<src/**/*_{name}.c>", f"+<src/**/*_{name}.S>") for name in ("esp32s3", "esp32p4")},
        ("CONFIG_NN_OPTIMIZED",),
    ),
    "cmsis-nn": Library(
        "TIGRIS_CMSIS_NN",
        "tigris_cmsis_nn_backend",
        "github.com/ARM-software/CMSIS-NN",
        "Include/arm_nnfunctions.h",
        (
            *("+<Source/ConvolutionFunctions/*_s8*.c>", "+<Source/FullyConnectedFunctions/*_s8*.c>"),
            *("+<Source/NNSupportFunctions/*_s8*.c>", "+<Source/NNSupportFunctions/arm_q7*.c>"),
            *("-<Source/NNSupportFunctions/*lstm*>", "+<Source/TransposeFunctions/*_s8.c>"),
        ),
        ("Include",),
        {},
    ),
}


#: The release of ESP-NN with the portable kernels' outputs; docs/backends.md has the outputs of others.
RELEASE = "1.2.3"
#: Its commit, and the dependency on it.
_CHECKOUT, _DEPENDENCY = "5f0a807", 'espressif/esp-nn: ">=1.2.3,<1.2.4"'
#: The backend of `auto` by chip, and the cost of the portable kernels instead. A test compares this copy with
#: compiler/backends/chips.py, which needs numpy; PlatformIO's Python may not have it.
FASTEST = {
    "esp32s3": ("pie", "networks take 3 to 34 times the instructions"),
    "esp32p4": ("esp-nn", "networks take 1.4 to 6 times the instructions"),
    **dict.fromkeys(BACKEND_CHIPS["mve"], ("mve", "networks take 1.03 to 1.24 times the instructions")),
}
#: Folders of a library's component in an ESP-IDF project, and manifests that may name it as a dependency.
_COMPONENTS = ("managed_components/espressif__{}", "components/espressif__{}", "components/{}")
_MANIFESTS = ("src/idf_component.yml", "main/idf_component.yml")


def resolve(settings: Settings, frameworks: list[str], project: Path) -> Settings:
    """Replaces the backend `auto` by the fastest one for the chip that the project has.

    That is the runtime's own kernels for the chip, or a library that is an ESP-IDF component of the project. Otherwise
    it is `portable`, and a line says what a faster backend needs.
    """
    if settings.backend != "auto" or settings.chip not in FASTEST:
        return settings
    name, cost = FASTEST[settings.chip]
    if name in BACKEND_CHIPS or ("espidf" in frameworks and _has_component(project, name)):
        print(f"Kernels of the models: {name}, the fastest on {settings.chip}")
        return replace(settings, backend=name)
    library = LIBRARIES[name]
    print(f"Kernels of the models: portable. On {settings.chip} {name} is faster: without it {cost}. To use it, clone "
          f"{library.repository} and set custom_tigris_backend = {name}, and custom_tigris_backend_path to the "
          "folder")  # fmt: skip
    return replace(settings, backend="portable")


def _has_component(project: Path, name: str) -> bool:
    if any((project / folder.format(name)).is_dir() for folder in _COMPONENTS):
        return True
    texts = [(project / path).read_text("utf-8", "replace") for path in _MANIFESTS if (project / path).is_file()]
    return any(re.search(rf"^\s*[\"']?espressif/{name}[\"']?\s*:", text, re.MULTILINE) for text in texts)


def add(env: Any, settings: Settings) -> None:
    """Makes tigris_session_init take the models' kernels only, sets the cores, compiles the library of `backend`.

    With a key, the runtime opens signed plans only.
    """
    env.Append(CPPDEFINES=["TIGRIS_MODELS_BACKEND", ("TIGRIS_DEFAULT_BACKEND", "tigris_models_backend")])
    if settings.cores > 1:
        env.Append(CPPDEFINES=[("TIGRIS_CORES", settings.cores)])
    if settings.sign is not None:
        env.Append(CPPDEFINES=["TIGRIS_SIGNED"])
    if settings.backend in BACKEND_CHIPS:
        _use_runtime_kernels(env, settings)
    library = LIBRARIES.get(settings.backend)
    if library is None:
        return
    env.Append(CPPDEFINES=[library.define, *library.defines])
    if settings.backend_path is None:
        if "espidf" not in (env.get("PIOFRAMEWORK") or []):
            raise OptionError(
                "backend",
                settings.backend,
                f"needs the library's sources; clone {library.repository} and set custom_tigris_backend_path to it",
            )
        return  # a component of ESP-IDF brings the library; see docs/backends.md
    folder = settings.backend_path
    if not (folder / library.header).is_file():
        raise OptionError(
            "backend_path",
            str(folder),
            f"has no {library.header}; give the folder of a checkout of {library.repository}",
        )
    if settings.backend == "esp-nn":
        _check_release("backend_path", str(folder), folder, f"for {RELEASE}: git -C {folder} checkout {_CHECKOUT}")
    filters = (*library.sources, *library.chips.get(chip(env), ()))
    env.Append(CPPPATH=[str(folder / include) for include in library.includes])
    env.BuildSources(str(Path("$BUILD_DIR", "tigris_backend")), str(folder), ["-<*>", *filters])


def check_component(project: Path) -> None:
    """Refuses an ESP-NN component of a release with other outputs. ESP-IDF's build has fetched it before this call."""
    for name in _COMPONENTS:
        folder = project / name.format("esp-nn")
        if folder.is_dir():
            _check_release("backend", "esp-nn", folder, f"write {_DEPENDENCY} where the project asks for it")
            return


def _check_release(option: str, value: str, folder: Path, remedy: str) -> None:
    manifest = folder / "idf_component.yml"
    text = manifest.read_text("utf-8", "replace") if manifest.is_file() else ""
    found = re.search(r"^version:\s*[\"']?([0-9.]+)", text, re.MULTILINE)
    if found is None or found[1] != RELEASE:
        shown = f"{found[1]}, whose outputs may be wrong" if found else f"of no known release ({manifest} names none)"
        raise OptionError(option, value, f"ESP-NN in {folder} is {shown}; the release held to the portable kernels' "
                          f"outputs is {RELEASE}; {remedy}")  # fmt: skip


def _use_runtime_kernels(env: Any, settings: Settings) -> None:
    """Defines the macro of the runtime's kernels in a chip's instructions, if the compiler has none."""
    chips = BACKEND_CHIPS[settings.backend]
    if settings.chip not in chips:
        raise OptionError("backend", settings.backend, f"is for {', '.join(chips)}, and the board has "
                          f"{settings.chip or 'another chip'}; leave it out")  # fmt: skip
    if settings.backend == "pie":
        env.Append(CPPDEFINES=["TIGRIS_PIE"])


def chip(env: Any) -> str:
    """The compiler's name of the board's chip: a Cortex core or a chip of Espressif; empty for others.

    The size of a library's scratch depends on it. Without it the compiler takes a size that is enough for any chip.
    """
    board = env.BoardConfig()
    core, mcu = str(board.get("build.cpu", "")).lower(), str(board.get("build.mcu", "")).lower()
    return core if core.startswith("cortex-") else mcu if mcu.startswith("esp") else ""
