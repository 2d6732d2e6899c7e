"""Wheels that need no C compiler: what `make dist` packs installs and runs plans."""

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.networks.folders import OWN
from tests.platformio.project import load_by_path
from tigris_pio import Session, compile_model
from tigris_pio.hil.samples import random_samples
from tigris_pio.host import library

ROOT = Path(__file__).resolve().parents[2]


dist = load_by_path("tigris_dist", ROOT / "tools" / "dist.py")


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="the library built for this machine takes the place of Linux' own")
def test_a_wheel_installs_and_runs_without_a_compiler(tmp_path: Path) -> None:
    """Packed around this machine's library; for every platform the same, but for library and tag."""
    plain = dist.plain_wheel(tmp_path / "plain")
    assert not [path for path in (plain / "tigris_pio" / "host").iterdir() if "_runtime" in path.name]
    built = tmp_path / "built"
    built.mkdir()
    target = dist.TARGETS["linux-x86_64"]
    wheel = dist.pack(plain, target, Path(shutil.copy(library.library_path(), built / "library.so")), tmp_path / "dist")
    assert wheel.name.endswith(f"-py3-none-{target.tag}.whl")
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        content.extractall(tmp_path / "site")
    assert "tigris_pio/host/_runtime.so" in names and "tigris_pio/project/template/harness.h.j2" in names
    assert "tigris_pio/platformio/hook.py" in names and not [name for name in names if name.endswith(".o")]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PATH": "/nowhere"}

    def tigris(*words: object) -> None:
        command = [sys.executable, "-m", "tigris_pio", *map(str, words)]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    tigris("compile", OWN / "kws_int8.onnx", "-m", "64K", "-o", "kws.tgrs", "-q")
    np.save(tmp_path / "x.npy", np.load(OWN / "kws_vectors.npz")["input_f32"][:1])
    tigris("run", "kws.tgrs", "--input", "x.npy")


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs Zig: pip install ziglang")
@pytest.mark.parametrize("label", [name for name, target in dist.TARGETS.items() if target.zig])
def test_zig_builds_the_library_for_each_platform(label: str, tmp_path: Path) -> None:
    """By their first bytes: ELF of either processor, PE, Mach-O of either processor."""
    built = dist.build_library(dist.TARGETS[label], tmp_path / label)
    head = built.read_bytes()[:20]
    magic, at, machine = {
        "linux-x86_64": (b"\x7fELF", 18, 62), "linux-aarch64": (b"\x7fELF", 18, 183),
        "windows-x86_64": (b"MZ", 0, ord("M")),
        "macos-arm64": (b"\xcf\xfa\xed\xfe", 4, 12), "macos-x86_64": (b"\xcf\xfa\xed\xfe", 4, 7),
    }[label]  # fmt: skip
    assert head.startswith(magic) and head[at] == machine


#: How programs of other systems are run here: QEMU's user mode with Debian's libraries for the processor, and Wine.
FOREIGN = {"linux-aarch64": ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"), "windows-x86_64": ("wine64",)}


@pytest.mark.timeout(300)
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs Zig: pip install ziglang")
@pytest.mark.parametrize("label", FOREIGN)
def test_the_library_runs_a_plan_on_its_own_system(label: str, tmp_path: Path) -> None:
    program, *arguments = FOREIGN[label]
    found = shutil.which(program, path=f"{os.environ['PATH']}{os.pathsep}/usr/lib/wine")
    if found is None or not all(Path(word).exists() for word in arguments[1:]):
        pytest.skip(f"needs {' '.join(FOREIGN[label])} to run programs of {label}")
    target = dist.TARGETS[label]
    built = dist.build_library(target, tmp_path / "built")
    loads = tmp_path / "loads.exe"
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", target.zig, "-I", str(ROOT / "runtime" / "include")]
    source = Path(__file__).with_name("loads.c")
    subprocess.run([*compiler, "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", source, "-o", loads], check=True)
    compile_model(OWN / "kws_int8.onnx", fast="16K").save(tmp_path / "kws.tgrs")
    with Session(tmp_path / "kws.tgrs") as session:
        samples = random_samples(session.inputs, 1)
        inputs = samples.inputs[0]
        (tmp_path / "x.bin").write_bytes(b"".join(inputs[io.name].tobytes() for io in session.inputs))
        outputs = session.run_raw(inputs)
        expected = b"".join(outputs[io.name].tobytes() for io in session.outputs).hex()
    environment = {**os.environ, "WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"}
    words = [found, *arguments, str(loads), str(built), "kws.tgrs", "x.bin"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, expected), done.stderr
