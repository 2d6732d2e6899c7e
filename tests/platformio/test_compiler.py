"""The search for the model compiler, and the compiler's runs."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tigris_pio.platformio import compiler, install, options, plans
from tigris_pio.platformio.compiler import CompilerError
from tigris_pio.platformio.install import InstallError

from .project import FAKE_HEAD, ROOT


@pytest.fixture
def bare_python(tmp_path):
    """A Python without packages."""
    path = tmp_path / "bare"
    path.write_text(f'#!/bin/sh\nunset PYTHONPATH\nexec "{sys.executable}" -S -E "$@"\n', "utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_text('{"plan": "abc"}', "utf-8")
    return options.Model("m", path)


def settings(model, **values):
    texts = {"models": str(model.path), "mem": "64K", **values}
    return options.parse({f"custom_tigris_{name}": text for name, text in texts.items()}, model.path.parent)


def outputs(folder):
    return plans.Outputs(folder / "m.tgrs", folder / "m.h", folder / "m.json")


def test_the_order_of_the_search(fake_compiler, bare_python, tmp_path):
    """Option, environment variable, PlatformIO's own Python, command in PATH."""
    made, plain = str(fake_compiler.python), tmp_path / "python-unspaced"
    plain.symlink_to(made)
    for option, variables, own in ((made, {"TIGRIS_PYTHON": bare_python}, bare_python),
                                   (None, {"TIGRIS_PYTHON": made}, bare_python), (None, {}, made)):  # fmt: skip
        assert compiler.find(option, variables, own).command == (made, "-m", "tigris_pio")
    script = tmp_path / "bin" / "tigris"
    script.parent.mkdir()
    for python, head in ((str(plain), f"#!{plain}\n"),
                         (made, f"#!/bin/sh\n'''exec' \"{made}\" \"$0\" \"$@\"\n' '''\n")):  # fmt: skip
        script.write_text(head + "import sys\n", "utf-8")
        script.chmod(0o755)
        assert compiler.find(None, {"PATH": str(script.parent)}, bare_python).command[0] == python
    with pytest.raises(CompilerError, match="the model compiler was not found") as error:
        compiler.find(None, {"PATH": "/nonexistent"}, bare_python)
    assert f'"{bare_python}" -m pip install "{ROOT}"    ' in str(error.value)
    assert compiler.find(None, {"PATH": ""}, "/no/python", lambda: made).command == (made, "-m", "tigris_pio")


@pytest.mark.parametrize("name", ["library", "50% $HOME", 'a "b"'])
def test_a_shell_accepts_the_command(tmp_path, name):
    (root := tmp_path / name).mkdir()
    assert "pip install FOLDER, a checkout of tigris-pio" in compiler.pip_command("python3", root)
    (root / "pyproject.toml").touch()
    words = subprocess.check_output(["sh", "-c", f"printf '%s\\n' {compiler.pip_command(name, root)}"], text=True)
    assert words.splitlines() == [name, "-m", "pip", "install", str(root)]


def test_a_named_python_without_the_compiler_is_refused(bare_python):
    with pytest.raises(CompilerError, match=r"custom_tigris_python = .*bare: has no package tigris-pio"):
        compiler.find(bare_python, {}, sys.executable)
    with pytest.raises(CompilerError, match=r"TIGRIS_PYTHON = /nonexistent/python: no such file\. Give"):
        compiler.find(None, {"TIGRIS_PYTHON": "/nonexistent/python"}, sys.executable)
    for python, why in ((str(ROOT), "cannot be run"), (shutil.which("false"), "is no working Python 3")):
        with pytest.raises(CompilerError, match=rf": {why}\. Give the path of a Python"):
            compiler.find(python, {}, sys.executable)


def test_a_compiler_found_through_pythonpath_is_run_with_it(fake_compiler, model, tmp_path, monkeypatch):
    """espressif32's script for espidf removes the variable between search and run."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "platformio" / "fake_compiler"))
    monkeypatch.setenv("FAKE_COMPILER_LOG", str(fake_compiler.log))
    found = compiler.find(sys.executable, {}, "")
    monkeypatch.delenv("PYTHONPATH")
    assert plans.compile_or_copy(model, settings(model), found, tmp_path / "cache", outputs(tmp_path))
    assert len(fake_compiler.runs()) == 1


def test_a_refused_model_leaves_nothing(fake_compiler, model, tmp_path):
    model.path.write_text('{"refuse": "too large: 1 byte does not fit"}', "utf-8")
    found = compiler.find(str(fake_compiler.python), {}, "")
    with pytest.raises(CompilerError, match="too large: 1 byte does not fit"):
        plans.compile_or_copy(model, settings(model), found, tmp_path / "cache", outputs(tmp_path / "out"))
    assert list(Path(tmp_path / "cache").iterdir()) == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("script", "message"), [
    ('echo "error: $TIGRIS_CALLER" >&2; exit 1', "^platformio$"),  # messages then name its options
    ("echo Traceback >&2; exit 130", "^interrupted$"), ("kill -INT $$", "^interrupted$"),
])  # fmt: skip
def test_the_compilers_exit_statuses(tmp_path, script, message):
    with pytest.raises(CompilerError, match=message):
        compiler.run(compiler.Compiler(("sh", "-c", script), ""), ["m.onnx"], tmp_path)


def test_old_entries_leave_the_cache(fake_compiler, model, tmp_path, monkeypatch):
    monkeypatch.setattr(plans, "KEPT_ENTRIES", 2)
    found = compiler.find(str(fake_compiler.python), {}, "")
    for text in ("one", "two", "three"):
        model.path.write_text(f'{{"plan": "{text}"}}', "utf-8")
        plans.compile_or_copy(model, settings(model), found, tmp_path / "cache", outputs(tmp_path / "out"))
    kept = sorted(path.read_bytes()[FAKE_HEAD:] for path in (tmp_path / "cache").glob("*/plan.tgrs"))
    assert kept == [b"three", b"two"]


# The compiler's own environment, by a Python that only records its arguments; test_packed.py installs a real one.

#: `-m venv DIR` copies it to DIR/bin/python; `-m pip install` fails while a file `broken` lies beside the log.
PYTHON = """#!/bin/sh
echo "$@" >> "{log}"
[ "$2" = venv ] && mkdir -p "$3/bin" && cp "$0" "$3/bin/python"
[ "$2" = venv ] || [ ! -e "{log}.broken" ]
"""


@pytest.fixture
def python(tmp_path):
    path = tmp_path / "python"
    path.write_text(PYTHON.format(log=tmp_path / "log"), "utf-8")
    path.chmod(0o755)
    return path


def test_there_is_one_environment_for_each_state_of_the_sources(python, tmp_path, capfd):
    """And again after a failed installation."""
    core, checkout, log = tmp_path / "core folder", tmp_path / "my checkout", tmp_path / "log"
    (checkout / "tigris_pio").mkdir(parents=True)
    (checkout / "pyproject.toml").touch()
    (checkout / "tigris_pio" / "a.py").write_text("1", "utf-8")
    (tmp_path / "log.broken").touch()
    failed = "pip install .* failed with exit status 1, see above. Install the compiler yourself, .* pip install "
    with pytest.raises(InstallError, match=failed):
        install.install_compiler(core, checkout, str(python))
    (tmp_path / "log.broken").unlink()
    capfd.readouterr()
    made = install.install_compiler(core, checkout, str(python))
    assert f"Installing the model compiler, {checkout}, in {core}" in capfd.readouterr().out
    asked = [f"-m venv {made.removesuffix('/bin/python')}",
             f"-m pip install --disable-pip-version-check {checkout}"]  # fmt: skip
    assert log.read_text("utf-8").splitlines() == asked * 2

    assert install.install_compiler(core, checkout, "/no/python") == made
    assert capfd.readouterr().out == ""

    (checkout / "tigris_pio" / "a.py").write_text("22", "utf-8")
    with pytest.raises(InstallError, match="neither a checkout of tigris-pio nor its PlatformIO library"):
        install.source_of(tmp_path / "elsewhere")
    with pytest.raises(InstallError, match="/no/python cannot be run"):
        install.install_compiler(core, checkout, "/no/python")
