"""Wheels that need no C compiler: what `make dist` packs installs and runs plans."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.networks.folders import OWN
from tigris_pio.host import library

ROOT = Path(__file__).resolve().parents[2]


def load() -> ModuleType:
    """tools/dist.py, which is no package."""
    spec = importlib.util.spec_from_file_location("tigris_dist", ROOT / "tools" / "dist.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tigris_dist"] = module
    spec.loader.exec_module(module)
    return module


dist = load()


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
    assert "tigris_pio/host/_runtime.so" in names and "tigris_pio/project/template/harness.h.j2" in names
    assert "tigris_pio/platformio/hook.py" in names and not [name for name in names if name.endswith(".o")]
    with zipfile.ZipFile(wheel) as content:
        content.extractall(tmp_path / "site")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PATH": "/nowhere"}

    def tigris(*words: object) -> None:
        command = [sys.executable, "-m", "tigris_pio", *map(str, words)]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    tigris("compile", OWN / "kws_int8.onnx", "-m", "64K", "-o", "kws.tgrs", "-q")
    np.save(tmp_path / "x.npy", np.load(OWN / "kws_vectors.npz")["input_f32"][:1])
    tigris("run", "kws.tgrs", "--input", "x.npy")


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs Zig: pip install ziglang")
@pytest.mark.parametrize("label", dist.TARGETS)
def test_zig_builds_the_library_for_each_platform(label: str, tmp_path: Path) -> None:
    """By their first bytes: ELF of either processor, PE, Mach-O of either processor."""
    built = dist.build_library(dist.TARGETS[label], tmp_path / label)
    head = built.read_bytes()[:20]
    machine = {
        "linux-x86_64": (head[:4] == b"\x7fELF", head[18]),
        "linux-aarch64": (head[:4] == b"\x7fELF", head[18]),
        "windows-x86_64": (head[:2] == b"MZ", 0),
        "macos-arm64": (head[:4] == b"\xcf\xfa\xed\xfe", head[4]),
        "macos-x86_64": (head[:4] == b"\xcf\xfa\xed\xfe", head[4]),
    }[label]
    expected = {"linux-x86_64": 62, "linux-aarch64": 183, "windows-x86_64": 0, "macos-arm64": 12, "macos-x86_64": 7}
    assert machine == (True, expected[label])


def test_without_zig_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(dist.DistError, match="pip install ziglang wheel"):
        dist.build_library(dist.TARGETS["windows-x86_64"], tmp_path / "x")
