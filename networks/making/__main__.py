"""Makes the networks: python -m networks.making [NAME …] [--keep] [--folder FOLDER]

Trains each network, converts it to NAME_int8.tflite, writes its ONNX twin and records vectors. Needs TensorFlow:
pip install '.[networks]'.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import onnx

from networks.making.recording import accuracy, check_ranges, record
from networks.making.topologies import NETWORKS
from networks.making.training import converted, trained
from networks.making.twin import twin

FOLDER = Path(__file__).resolve().parents[1]


def make(name: str, folder: Path, keep: bool) -> None:
    """The three files of a network; prints a line about it."""
    network, started = NETWORKS[name], time.process_time()
    file = folder / f"{name}_int8.tflite"
    if not keep:
        file.write_bytes(converted(network, trained(network)))
    content = file.read_bytes()
    onnx.save(twin(name, content, network.global_pool), folder / f"{name}_int8.onnx")
    arrays = record(network, content)
    np.savez_compressed(folder / f"{name}_vectors.npz", allow_pickle=False, **arrays)
    ranges = check_ranges(network, content, arrays["input_q"])
    files = (file, folder / f"{name}_int8.onnx", folder / f"{name}_vectors.npz")
    sizes = ", ".join(f"{path.stat().st_size:,}" for path in files)
    seconds = time.process_time() - started
    print(f"{name}: accuracy {accuracy(network, content):.1%}, {ranges}; {sizes} bytes; {seconds:.0f} s", flush=True)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: {', '.join(NETWORKS)}")
    parser.add_argument("--keep", action="store_true", help="the .tflite files stay; write twins and vectors again")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in NETWORKS]:
        parser.error(f"no network {', '.join(unknown)}; there are {', '.join(NETWORKS)}")
    for name in options.names or NETWORKS:
        make(name, options.folder, options.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
