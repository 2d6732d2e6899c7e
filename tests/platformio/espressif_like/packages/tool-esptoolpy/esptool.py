"""Runs the installed esptool, and records its arguments in the file that ESPTOOL_LOG names."""

import json
import os
import sys

# This file has the same name as the package.
sys.path.remove(os.path.dirname(os.path.abspath(__file__)))
from esptool import _main

log = os.environ.get("ESPTOOL_LOG")
if log and any(word in sys.argv for word in ("write_flash", "write-flash", "read_flash", "read-flash")):
    with open(log, "a", encoding="utf-8") as file:
        file.write(json.dumps(sys.argv[1:]) + "\n")
_main()
