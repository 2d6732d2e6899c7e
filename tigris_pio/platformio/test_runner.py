"""`pio test` on boards, for a project's test/test_custom_runner.py with `test_framework = custom`:

    import runpy
    CustomTestRunner = runpy.run_path("/path/to/tigris_pio/platformio/test_runner.py")["CustomTestRunner"]

PlatformIO runs that file in its own Python, which may not have the package. So this file loads its neighbours by path,
like hook.py.
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
