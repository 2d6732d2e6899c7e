"""keep FOLDER: saves the interfaces of the flashed firmware, whose headers are in FOLDER.
check FOLDER LABEL: fails if that firmware would refuse the plans of FOLDER that are in partition LABEL.

flash.cmake runs it in the compiler's Python.
"""

import sys
from pathlib import Path

from tigris_pio.platformio import interface

folder = Path(sys.argv[2])
saved = folder / "flashed.json"
interfaces = interface.read(folder)
if sys.argv[1] == "keep":
    interface.save(saved, interfaces)
else:
    label = sys.argv[3]
    written = {name: own for name, own in interfaces.items() if own["PLACE"].startswith(f"partition {label}, ")}
    refused = interface.refusal(interface.load(saved), written, "idf.py flash")
    if refused:
        sys.exit(f"Error: {label}-flash: {refused}")
