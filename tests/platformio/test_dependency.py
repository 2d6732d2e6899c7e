"""The library as users get it: from git, with the hook inside the library's folder; and what a build costs."""

from __future__ import annotations

import os
import shutil
import subprocess

from .project import EMULATED, ROOT

MAIN = """
#include <board.h>
#include <tigris_models.h>
static tigris_plan plan;
int main(void)
{
    volatile int status = tigris_model_open(&TIGRIS_MODEL_DIGITS, &plan);
    (void)status;
    for (;;)
        board_wait_uart();
}
"""
DIGITS = ROOT / "examples" / "digits" / "model" / "digits.onnx"


def git(folder, *arguments):
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_a_git_dependency_brings_library_and_hook(new_project, tmp_path):
    origin = tmp_path / "origin"
    ignore = shutil.ignore_patterns("__pycache__", "*.so", "host")
    for name in ("runtime", "tigris_pio"):
        shutil.copytree(ROOT / name, origin / name, ignore=ignore)
    shutil.copy(ROOT / "library.json", origin)
    git(origin, "init", "-q")
    git(origin, "add", ".")
    git(origin, "commit", "-q", "-m", "library")
    hook = "pre:${platformio.libdeps_dir}/${this.__env__}/tigris-pio/tigris_pio/platformio/hook.py"
    ini = (
        f"[env:emu_rv32]\nboard = emu_rv32\nlib_deps = tigris-pio=git+file://{origin}\nextra_scripts = {hook}\n"
        f"custom_tigris_models = {DIGITS}\ncustom_tigris_mem = 64K\n"
    )
    project = new_project({"src/main.c": MAIN}, ini, name="with git", platform=EMULATED)
    text = project.run()
    assert "Model: [" in text
    assert (project.folder / ".pio" / "libdeps" / "emu_rv32" / "tigris-pio" / "library.json").is_file()
    assert "Compiling" not in project.run()


def processor_seconds():
    """Of all processes that were started and have ended."""
    times = os.times()
    return times.children_user + times.children_system


def test_a_build_without_changes_spends_little_in_the_hook(new_project):
    """Against a project that has the same generated headers as sources; the better of two builds each, taken in turn.

    Processor time, which other programs on the machine lengthen less than the wall clock's, and both builds alike.
    """
    common = f"[env:emu_rv32]\nboard = emu_rv32\nlib_deps = tigris-pio=symlink://{ROOT}\n"
    options = f"custom_tigris_models = {DIGITS}\ncustom_tigris_mem = 64K\n"
    hooked = new_project({"src/main.c": MAIN}, common + options, name="hooked")
    hooked.run()
    generated = hooked.build("emu_rv32") / "tigris"
    headers = {f"include/{path.name}": path.read_text("utf-8") for path in generated.glob("*.h")}
    plain = new_project({"src/main.c": MAIN, **headers}, common + "extra_scripts =\n", name="plain")
    plain.run()
    seconds: dict[str, list[float]] = {"hooked": [], "plain": []}
    for _ in range(2):
        for name, project in (("hooked", hooked), ("plain", plain)):
            started = processor_seconds()
            assert "Compiling" not in project.run()
            seconds[name].append(processor_seconds() - started)
    plain_seconds = min(seconds["plain"])
    overhead = min(seconds["hooked"]) - plain_seconds
    print(f"the hook takes {overhead:.2f} s of a build without changes, the rest {plain_seconds:.2f} s")
    assert overhead < 0.3 * plain_seconds
