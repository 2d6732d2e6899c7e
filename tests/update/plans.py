"""Plans of one small model with other weights, and programs that update it on a simulated chip."""

import functools
import random
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx

from tests.compiler.models import make, node
from tests.runtime.build import C99, INCLUDE, PLAIN, RUNTIME, compile_each
from tigris_pio import compile_model, signing
from tigris_pio.compiler.emit.model_header import render_model_header
from tigris_pio.format.enums import SignatureAlgorithm
from tigris_pio.platformio import layout
from tigris_pio.platformio.partitions import Partition

HERE = Path(__file__).parent
SLOT_BYTES = 0x2000
#: As nor.h has it.
PARTITION = Partition("model", "data", "0x40", 0, 8 * 4096)
LOADER = ("plan", "extents", "records", "band", "crc32", "status")
PORT = ("model", "slots", "slot_log", "update")
SIGNED = ("signature", "sha256", "verify_library")


def network(generation: int, columns: int = 22) -> onnx.ModelProto:
    """One layer, whose plan takes two flash sectors."""
    weights = np.random.default_rng(generation).normal(size=(40, columns)).astype(np.float32)
    return make([node("MatMul", "x w", "y")], {"x": (1, 40)}, ["y"], {"w": weights})


@functools.cache
def key(name: str = "key", algorithm: SignatureAlgorithm = SignatureAlgorithm.P256) -> signing.Key:
    """A new key for each name."""
    with tempfile.TemporaryDirectory() as folder:
        signing.write_key(Path(folder, f"{name}.pem"), algorithm)
        return signing.read_key(Path(folder, f"{name}.pem"))


@functools.cache
def plan(
    generation: int, columns: int = 22, name: str = "tiny", signer: signing.Key | None = None, version: int = 0
) -> tuple[bytes, str]:
    """A plan of two flash sectors, and its header; `signer` signs it, with a security version."""
    made = compile_model(network(generation, columns), fast="16K", name=name)
    data = made.data if signer is None else signing.sign(made.data, signer, version)
    return data, render_model_header(made.plan, data, "" if signer is None else signing.c_public_key(signer))


def write_model(folder: Path, name: str = "tiny", signer: signing.Key | None = None, columns: int = 22) -> None:
    """Plans 0, 1 and 2, and the headers of a firmware with the first; `signer` signs all three, as version 1."""
    plans = [plan(generation, columns, name, signer, 1) for generation in range(3)]
    for generation, (data, _) in enumerate(plans):
        (folder / f"{generation}.tgrs").write_bytes(data)
    (folder / f"tigris_model_{name}.h").write_text(plans[0][1], "utf-8")
    placed = layout.place([(name, plans[0][0])], PARTITION, 2, SLOT_BYTES)
    (folder / "tigris_models.h").write_text(layout.models_header({"model": placed}), "utf-8")


def write_fuzzed(folder: Path) -> None:
    """For fuzz_records.c: the headers of a firmware, fuzz_plan.c with its plan, and first inputs in `records`."""
    write_model(folder)
    data, draw = plan(0)[0], random.Random(0)
    (folder / "records").mkdir(exist_ok=True)
    for number in range(40):
        strokes = [struct.pack("<HBBH", draw.randrange(1 << 16), draw.choice((0, 1, 2, 3, 4)), draw.randrange(256),
                               draw.randrange(1 << 16)) for _ in range(draw.randrange(60))]  # fmt: skip
        sent = data[: draw.choice((len(data), draw.randrange(len(data))))]
        (folder / "records" / f"seed-{number}").write_bytes(b"".join(strokes) + b"\0\0\xff\0\0\0" + sent)
    (folder / "fuzz_plan.c").write_text(
        "#include <stdint.h>\nextern const uint8_t fuzz_plan[];\nextern const uint32_t fuzz_plan_bytes;\n"
        f"const uint32_t fuzz_plan_bytes = {len(data)}U;\n"
        f"const uint8_t fuzz_plan[] = {{{', '.join(map(str, data))}}};\n", "utf-8",
    )  # fmt: skip


def build(
    folder: Path,
    sources: Sequence[Path],
    flags: Sequence[str] = PLAIN,
    signer: signing.Key | None = None,
    library: Sequence[str] = ("-DTIGRIS_MBEDTLS", "-lmbedcrypto"),
    columns: int = 22,
) -> Path:
    """A program of these sources, the simulated chip and the loader; plans 0, 1 and 2 lie beside it.

    The program opens plans of `signer` only, if it is given, whose signatures `library` verifies."""
    write_model(folder, signer=signer, columns=columns)
    flags = [*flags, *(["-DTIGRIS_SIGNED", *library] if signer is not None else ())]
    command = ["gcc", *C99, *flags, "-DTIGRIS_TENSOR_ALIGN=4", f"-I{INCLUDE}", f"-I{RUNTIME / 'port'}", f"-I{folder}"]
    port = PORT if signer is None else (*PORT, *SIGNED)
    parts = [*(RUNTIME / "port" / f"{name}.c" for name in port), *(RUNTIME / "src" / f"{name}.c" for name in LOADER)]
    command = [word for word in command if not word.startswith("-l")]
    objects = compile_each(command, [*parts, HERE / "nor.c", *sources], folder)
    program = folder / sources[0].stem
    libraries = [flag for flag in flags if flag.startswith("-l")]
    subprocess.run(["gcc", *flags, *map(str, objects), "-o", str(program), *libraries], check=True)
    return program


if __name__ == "__main__":
    write_fuzzed(Path(sys.argv[1]))
