"""PlatformIO extra script: compiles models with the firmware and flashes them beside it.

    extra_scripts = pre:<this file>
    custom_tigris_models = models/kws.onnx
    custom_tigris_mem = 256K+8M

Before the platform's own script it calls `configure` in scons.py, afterwards `finish`. It is the library's own extra
script, too, which compiles models as C without `extra_scripts`.
"""

import importlib.util
import inspect
import os
import sys

import SCons.Errors

Import("env")  # noqa: F821  (SCons provides it)

PACKAGE = "tigris_platformio"


def _own_path():
    """The path of this file. SCons runs it without `__file__`, compiled under a name relative to the project."""
    path = os.path.abspath(inspect.getfile(inspect.currentframe()))
    if os.path.isfile(os.path.join(os.path.dirname(path), "scons.py")):
        return path
    scripts = [*env.GetExtraScripts("pre"), *env.GetExtraScripts("post")]  # noqa: F821
    return next(script for script in scripts if os.path.isfile(os.path.join(os.path.dirname(script), "scons.py")))


def _load(folder):
    """Loads the package of this folder under another name, because `platformio` is PlatformIO's own package here."""
    if PACKAGE not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules[PACKAGE] = module
        spec.loader.exec_module(module)
    return importlib.import_module(f"{PACKAGE}.scons")


def _is_library():
    """Whether PlatformIO sets up the library."""
    try:
        Import("pio_lib_builder")  # noqa: F821
    except SCons.Errors.UserError:
        return False
    return True


_path = _own_path()
_scons = _load(os.path.dirname(_path))
# The platform's own script sets both; with `-t nobuild` only the second.
if _is_library():
    _scons.configure_library(env, _path)  # noqa: F821
elif env.get("PIOMAINPROG") or env.get("UPLOADCMD"):  # noqa: F821
    _scons.finish(env)  # noqa: F821
else:
    _scons.configure(env, _path)  # noqa: F821
