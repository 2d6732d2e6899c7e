"""`pio test` on boards: what a project's test/test_custom_runner.py names, with `test_framework = custom`.

    import runpy
    CustomTestRunner = runpy.run_path("/path/to/tigris_pio/platformio/test_runner.py")["CustomTestRunner"]

PlatformIO runs that file in its own Python, which need not have the package: the modules beside this file are loaded by
their path, as hook.py does.
"""

import importlib.util
import os
import sys

PACKAGE = "tigris_platformio"


def _load(folder):
    if PACKAGE not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules[PACKAGE] = module
        spec.loader.exec_module(module)
    return importlib.import_module(f"{PACKAGE}.vector_runner")


CustomTestRunner = _load(os.path.dirname(os.path.abspath(__file__))).CustomTestRunner
