"""The compiler's own environment, by a Python that only notes what it is asked; test_packed.py makes a real one."""

from __future__ import annotations

import pytest

from tigris_pio.platformio import install
from tigris_pio.platformio.install import InstallError

#: `-m venv DIR` makes itself DIR/bin/python; `-m pip install` fails while there is a file `broken` beside the log.
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


def test_the_environment_is_made_once_for_each_state_of_the_sources(python, tmp_path, capfd):
    """And again after an installation that failed."""
    core, checkout, log = tmp_path / "core folder", tmp_path / "my checkout", tmp_path / "log"
    (checkout / "tigris_pio").mkdir(parents=True)
    (checkout / "pyproject.toml").touch()
    (checkout / "tigris_pio" / "a.py").write_text("1", "utf-8")
    (tmp_path / "log.broken").touch()
    failed = "pip install .* failed with exit status 1, see above. Install the compiler yourself, .* pip install "
    with pytest.raises(InstallError, match=failed):
        install.provide(core, checkout, str(python))
    (tmp_path / "log.broken").unlink()
    capfd.readouterr()
    made = install.provide(core, checkout, str(python))
    assert f"Installing the model compiler, {checkout}, in {core}" in capfd.readouterr().out
    asked = [f"-m venv {made.removesuffix('/bin/python')}",
             f"-m pip install --disable-pip-version-check {checkout}"]  # fmt: skip
    assert log.read_text("utf-8").splitlines() == asked * 2

    assert install.provide(core, checkout, "/no/python") == made
    assert capfd.readouterr().out == ""

    (checkout / "tigris_pio" / "a.py").write_text("22", "utf-8")
    with pytest.raises(InstallError, match="neither a checkout of tigris-pio nor its PlatformIO library"):
        install.source_of(tmp_path / "elsewhere")
    with pytest.raises(InstallError, match="/no/python cannot be run"):
        install.provide(core, checkout, "/no/python")
