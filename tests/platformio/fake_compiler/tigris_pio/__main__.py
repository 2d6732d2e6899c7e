"""`python -m tigris_pio compile MODEL … --json`, with plans whose every byte the test knows."""

import argparse
import json
import os
import struct
import sys
import zlib
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("command", choices=["compile"])
parser.add_argument("model", type=Path)
parser.add_argument("-m", required=True)
parser.add_argument("-f")
parser.add_argument("--xip", action="store_true")
parser.add_argument("--compress", default="none")
parser.add_argument("--name", required=True)
parser.add_argument("--header", type=Path, required=True)
parser.add_argument("-o", type=Path, required=True)
parser.add_argument("--json", action="store_true", required=True)
options, _ = parser.parse_known_args()

with open(os.environ["FAKE_COMPILER_LOG"], "a", encoding="utf-8") as log:
    log.write(f"{options.name} -m {options.m} -f {options.f} xip={options.xip} compress={options.compress}\n")
# A model of JSON, or an ONNX file, whose plan has no content.
text = options.model.read_bytes()
model = json.loads(text) if text.startswith(b"{") else {"plan": "onnx"}
if "refuse" in model:
    sys.exit(f"error: {model['refuse']}")
plan = model["plan"].encode() * model.get("repeat", 1)
constant = f"TIGRIS_MODEL_{options.name.upper()}"
# The fields of the header that the build reads: magic, size and checksum.
head = struct.pack("<4sHHIII", b"TGRS", 1, 20, 0, 20 + len(plan), zlib.crc32(plan))
options.o.write_bytes(head + plan)
options.header.write_text(
    f"#define {constant}_FAST_BYTES {model.get('fast', 64)}u\n#define {constant}_SLOW_BYTES {model.get('slow', 0)}u\n"
    f"#define {constant}_INTERFACE_CRC32 {model.get('interface', 0)}u\n#define {constant}_SHAPE_CRC32 1u\n"
    f'#define {constant}_INPUTS 1u\n#define {constant}_INPUT0_NAME "x"\n'
    f"#define {constant}_INPUT0_SCALE {model.get('scale', 1.0)}f\n",
    "utf-8",
)
memory = {"fast_peak": model.get("fast", 64), "slow_peak": model.get("slow", 0)}
print(json.dumps({"memory": memory, "warnings": []}))
