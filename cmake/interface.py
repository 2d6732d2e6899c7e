"""keep FOLDER: remembers the inputs and outputs that the firmware with the headers in FOLDER has, which is flashed.
check FOLDER LABEL: fails where it would refuse the plans that FOLDER has now, before LABEL's partition is written.

Runs in the Python that has the compiler.
"""

import sys
from pathlib import Path

from tigris_pio.platformio import interface

folder = Path(sys.argv[2])
kept = folder / "flashed.json"
if sys.argv[1] == "keep":
    interface.keep(kept, interface.of(folder))
else:
    label = sys.argv[3]
    written = {name: of for name, of in interface.of(folder).items() if of["PLACE"].startswith(f"partition {label}, ")}
    refused = interface.refusal(interface.kept(kept), written, "idf.py flash")
    if refused:
        sys.exit(f"Error: {label}-flash: {refused}")
