"""PlatformIO extra script: compiles models with the firmware and flashes them beside it.

    extra_scripts = pre:<this file>
    custom_tigris_models = models/kws.onnx
    custom_tigris_mem = 256K+8M

SCons runs this file without `__file__`; what it does is in the modules beside it.
"""

import importlib.util
import inspect
import os
import sys

Import("env")  # noqa: F821  (SCons provides it)

PACKAGE = "tigris_platformio"


def _own_path():
    """This file: the name that SCons compiled it under, which is relative to the project."""
    path = os.path.abspath(inspect.getfile(inspect.currentframe()))
    if os.path.isfile(os.path.join(os.path.dirname(path), "scons.py")):
        return path
    scripts = [*env.GetExtraScripts("pre"), *env.GetExtraScripts("post")]  # noqa: F821
    return next(script for script in scripts if os.path.isfile(os.path.join(os.path.dirname(script), "scons.py")))


def _load(folder):
    """The package beside this file under a name of its own: `platformio` itself is another package here."""
    if PACKAGE not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules[PACKAGE] = module
        spec.loader.exec_module(module)
    return importlib.import_module(f"{PACKAGE}.scons")


_path = _own_path()
_scons = _load(os.path.dirname(_path))
# Before the platform's own script there is neither; with `-t nobuild` there is no program afterwards.
if env.get("PIOMAINPROG") or env.get("UPLOADCMD"):  # noqa: F821
    _scons.finish(env)  # noqa: F821
else:
    _scons.configure(env, _path)  # noqa: F821
