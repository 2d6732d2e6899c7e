"""Makes every package of a release, installs each in a clean folder, and runs the digits from it. Uploads nothing.

    make release
    python tools/release.py [--only arduino] [--output dist]

| package | made by | installed by |
|---|---|---|
| wheels | tools/dist.py | pip, in a new environment |
| PlatformIO library | `pio pkg pack` | `lib_deps = file`, in a new core folder |
| ESP-IDF component | `compote component pack`, which checks the manifest | CMake reads it in a project's components |
| Arduino library | this script | unpacked as the IDE does; g++ compiles it, as there is no arduino-cli on PyPI |
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import dist
import platformio_core

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tigris_pio.identity import IDENTITY  # noqa: E402 - of the checkout

DIGITS = "examples/digits"
#: A demo's project from packages alone. {core}: the unpacked library, for the emulated board.
INI = """[env:emu_rv32]
platform = symlink://{core}/tigris_pio/platformio/emulated
framework = baremetal
board = emu_rv32
lib_deps = tigris-pio=file://{package}
extra_scripts = pre:${{platformio.libdeps_dir}}/${{this.__env__}}/tigris-pio/tigris_pio/platformio/hook.py
custom_tigris_python = {python}
custom_tigris_models = model/digits.onnx
custom_tigris_mem = 64K
"""
#: `pio pkg pack` downloads SPDX's list of licences, to look up the project's; this one is known without it.
PACK = """
from platformio.package.manifest.schema import ManifestSchema
ManifestSchema.load_spdx_licenses = staticmethod(lambda: {"licenses": [{"licenseId": "Apache-2.0"}]})
from platformio.__main__ import main
main()
"""
#: arduino.github.io/arduino-cli/library-specification says what the fields mean.
PROPERTIES = """name={name}
version={version}
author={author}
maintainer={author}
sentence={runtime}.
paragraph=The compiler, a Python package, writes the plans: {summary}.
category=Data Processing
url={url}
architectures=*
includes=tigris.h
dot_a_linkage=true
"""


class ReleaseError(Exception):
    """The message names the package and the step that failed."""


def run(*command: str | Path, folder: Path = ROOT, **variables: str) -> str:
    """Runs a command; returns what it prints, or raises ReleaseError with it."""
    done = subprocess.run(list(map(str, command)), cwd=folder, env={**os.environ, **variables}, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
    if done.returncode:
        raise ReleaseError(f"{' '.join(map(str, command[:6]))} … failed:\n{done.stdout}")
    return done.stdout


def wheels(output: Path, work: Path) -> str:
    """All wheels; the one for this machine compiles the digits and runs them."""
    if dist.main(["--output", str(output)]):
        raise ReleaseError("wheels: see above")
    python = environment(work, output)
    plan, inputs = work / "digits.tgrs", work / "x.npy"
    model = ROOT / DIGITS / "model" / "digits.onnx"
    run(python, "-m", "tigris_pio", "compile", model, "-m", "64K", "-o", plan, folder=work, PATH="/nowhere")
    run(python, "-c", f"import numpy; numpy.save({str(inputs)!r}, numpy.zeros((1, 1, 8, 8), numpy.float32))")
    run(python, "-m", "tigris_pio", "run", plan, "--input", inputs, folder=work, PATH="/nowhere")
    return "compiled the digits and ran them on this machine, without a C compiler"


def environment(work: Path, wheel_folder: Path) -> Path:
    """The Python of a new environment with the wheel for this machine."""
    python = work / "environment" / "bin" / "python"
    run(sys.executable, "-m", "venv", work / "environment")
    run(python, "-m", "pip", "install", "-q", "--find-links", wheel_folder, f"{IDENTITY.name}=={IDENTITY.version}",
        folder=work)  # fmt: skip
    return python


def platformio(output: Path, work: Path) -> str:
    """The library for PlatformIO; a project takes it from the file."""
    package = output / f"{IDENTITY.name}-{IDENTITY.version}.tar.gz"
    core = work / "core"
    platformio_core.ensure(Path(sys.executable), core)
    settings = {"PLATFORMIO_CORE_DIR": str(core), "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no",
                "PLATFORMIO_SETTING_CHECK_PLATFORMIO_INTERVAL": "36500"}  # fmt: skip
    run(sys.executable, "-c", PACK, "pkg", "pack", "-o", package, _clean_copy(work), **settings)
    with tarfile.open(package) as archive:
        archive.extractall(work / "library", filter="data")
    project = work / "digits"
    shutil.copytree(work / "library" / DIGITS, project)
    ini = INI.format(core=work / "library", package=package, python=sys.executable)
    (project / "platformio.ini").write_text(ini, "utf-8")
    run(sys.executable, "-m", "platformio", "run", "-t", "upload", folder=project, **settings)
    try:
        told = run(sys.executable, "-m", "tigris_pio", "hil", "--project", project, "--data",
                   project / "model" / "digits_test.npz", "--samples", "64", PYTHONPATH=str(ROOT))  # fmt: skip
    finally:
        run(sys.executable, "-m", "platformio", "run", "-t", "stop_board", folder=project, **settings)
    return told.strip().splitlines()[-1]


def esp_idf(output: Path, work: Path) -> str:
    """The component for Espressif's registry; CMake reads it in a project that stands in for ESP-IDF's."""
    compote = Path(sys.executable).with_name("compote")
    run(compote, "component", "pack", "--name", IDENTITY.name, "--project-dir", _clean_copy(work), "--dest-dir", work)
    (packed,) = work.glob("*.tgz")
    package = output / packed.name
    shutil.copy(packed, package)
    component = work / "managed_components" / IDENTITY.name
    with tarfile.open(package) as archive:
        archive.extractall(component, filter="data")
    project = work / "digits-espidf"
    shutil.copytree(ROOT / "tests" / "esp_idf" / "fake_idf", project)
    shutil.copytree(component / DIGITS / "model", project / "models")
    python = work / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{component}" exec "{sys.executable}" "$@"\n', "utf-8")
    python.chmod(0o755)
    (project / "main" / "CMakeLists.txt").write_text("tigris_add_model(MODEL models/digits.onnx MEM 64K)\n", "utf-8")
    defined = {"COMPONENT": component, "IDF_PYTHON": python, "CHIP": "esp32s3", "ENCRYPTED": "OFF"}
    run("cmake", "-G", "Ninja", "-B", "build", *(f"-DFAKE_{name}={value}" for name, value in defined.items()),
        folder=project, IDF_PATH=str(work / "esp-idf"), TIGRIS_PYTHON="")  # fmt: skip
    run("cmake", "--build", "build", "--target", "flash", folder=project)
    (plan,) = (project / "build").rglob("digits.tgrs")
    return f"{plan.name}, {plan.stat().st_size} bytes, by tigris_add_model; without ESP-IDF, so no firmware"


def _clean_copy(work: Path) -> Path:
    """The checkout's files that git knows; an archive of a working folder would have what lies about in it."""
    copy = work / "checkout"
    for name in run("git", "ls-files", "-co", "--exclude-standard").splitlines():
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    return copy


def arduino(output: Path, work: Path) -> str:
    """The library for Arduino's Library Manager: public headers in src, the runtime in folders below it."""
    library = work / "arduino" / IDENTITY.name
    for part in ("src", "port", "backends"):
        shutil.copytree(ROOT / "runtime" / part, library / "src" / part)
    for path in (ROOT / "runtime" / "include").glob("*.h"):
        shutil.copy(path, library / "src")
    for name in ("LICENSE", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, library)
    url = IDENTITY.repository or "https://example.org/tigris-pio"
    text = PROPERTIES.format(**vars(IDENTITY) | {"url": url, "author": IDENTITY.authors})
    (library / "library.properties").write_text(text, "utf-8")
    _sketch(library / "examples" / "Digits")
    if faults := arduino_faults(library):
        raise ReleaseError("the Arduino library: " + "; ".join(faults))
    package = output / f"{IDENTITY.name}-{IDENTITY.version}-arduino.zip"
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(library.rglob("*")):
            archive.write(path, path.relative_to(library.parent))
    with zipfile.ZipFile(package) as archive:
        archive.extractall(work / "libraries")
    return _digits_of(work / "libraries" / IDENTITY.name, work)


def _sketch(folder: Path) -> None:
    """The example: digits on the serial line, with the plan as an array."""
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "arduino" / "Digits.ino", folder)
    plan = folder / "digits.tgrs"
    run(sys.executable, "-m", "tigris_pio", "compile", ROOT / DIGITS / "model" / "digits.onnx", "-m", "64K", "-o", plan,
        PYTHONPATH=str(ROOT))  # fmt: skip
    rows = re.sub(r"((?:\d+, ){16})", r"\1\n    ", "".join(f"{byte}, " for byte in plan.read_bytes()))
    text = f"static const TIGRIS_ALIGNED uint8_t digits_plan[] = {{\n    {rows}\n}};\n"
    (folder / "digits_plan.h").write_text(text, "utf-8")


def arduino_faults(library: Path) -> list[str]:
    """The rules of arduino-lint for Library Manager that this library could break."""
    lines = (library / "library.properties").read_text("utf-8").splitlines()
    fields = dict(line.split("=", 1) for line in lines)
    needed = ("name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures")
    faults = [f"library.properties has no {name}" for name in needed if not fields.get(name, "").strip()]
    if not re.fullmatch(r"[A-Za-z0-9][\w .-]{0,62}", fields["name"]) or fields["name"].lower().startswith("arduino"):
        faults.append(f"the name {fields['name']} is not allowed")
    if not re.fullmatch(r"\d+\.\d+\.\d+", fields["version"]):
        faults.append(f"the version {fields['version']} is not MAJOR.MINOR.PATCH")
    faults += [f"includes names {name}, which is not in src" for name in fields["includes"].split(",")
               if not (library / "src" / name).is_file()]  # fmt: skip
    faults += [f"{path.name}: no sketch of this name in it" for path in (library / "examples").iterdir()
               if not (path / f"{path.name}.ino").is_file()]  # fmt: skip
    bad = (".exe", ".o", ".a", ".so", ".pyc")
    return faults + [f"{path.name} must not be in it" for path in library.rglob("*")
                     if path.is_symlink() or path.suffix in bad
                     or path.name in (".development", "__pycache__")]  # fmt: skip


def _digits_of(library: Path, work: Path) -> str:
    """Compiles library and example for this machine with a stand-in of an Arduino core, and checks the digits."""
    objects, core = work / "objects", ROOT / "tests" / "project" / "stand_ins"
    objects.mkdir()
    flags = ("-O1", "-ffunction-sections", "-I", library / "src", "-DTIGRIS_TENSOR_ALIGN=4")
    for number, source in enumerate(sorted((library / "src").rglob("*.c"))):
        run("gcc", *flags, "-c", source, "-o", objects / f"{number}.o")
    program, sketch = work / "sketch", library / "examples" / "Digits"
    run("g++", *flags, "-I", core, "-include", "Arduino.h", "-x", "c++", sketch / "Digits.ino", "-x", "none",
        *objects.glob("*.o"), "-Wl,--gc-sections", "-lm", "-o", program)  # fmt: skip
    board, line = os.openpty()
    with subprocess.Popen([program], stdin=board, stdout=board) as process:
        try:
            told = run(
                sys.executable, "-m", "tigris_pio", "hil", sketch / "digits.tgrs", "--port", os.ttyname(line), "--data",
                ROOT / DIGITS / "model" / "digits_test.npz", "--samples", "64", PYTHONPATH=str(ROOT),
            )  # fmt: skip
            return told.strip().splitlines()[-1]
        finally:
            process.kill()
            os.close(board)
            os.close(line)


PACKAGES: dict[str, Callable[[Path, Path], str]] = {
    "wheels": wheels, "platformio": platformio, "esp-idf": esp_idf, "arduino": arduino,
}  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    formatter = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(prog="release.py", description=__doc__, formatter_class=formatter)
    parser.add_argument("--only", choices=PACKAGES, action="append", help="a package; repeatable. Default: all")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="where packages go. Default: dist")
    given = parser.parse_args(arguments)
    output = given.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    for name in given.only or PACKAGES:
        print(f"{name}: making, installing, running", flush=True)
        with tempfile.TemporaryDirectory(prefix="tigris-release-") as work:
            try:
                print(f"{name}: {PACKAGES[name](output, Path(work))}", flush=True)
            except (ReleaseError, platformio_core.CoreFailure) as error:
                print(f"error: {name}: {error}", file=sys.stderr)
                return 1
    for path in sorted(output.iterdir()):
        print(f"{path.name}  {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
