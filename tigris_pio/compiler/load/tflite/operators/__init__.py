"""Handlers for operators, a file for each family. Importing this package imports all, which fills the registry."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
