"""Code, instructions and memory of the check of a signature: python -m bench.signature [--mbedtls CHECKOUT]

The runtime's own SHA-256, on rv32imc and Cortex-M4. With --mbedtls, a folder with `library` and `include` of mbedTLS 3,
a P-256 signature is verified too, with what is added to the program's code, and with stack and heap.
"""

from pathlib import Path

from bench.command import Row, command, parser_of, print_table
from bench.emulator import MACHINES, ROOT, RUNTIME, Machine, compiler, emulate, link, numbers, run_tool, work_folder
from bench.text import NO_SYSTEM, text_bytes
from tigris_pio import compile_model, signing
from tigris_pio.format.enums import SignatureAlgorithm

MODEL = ROOT / "examples" / "digits" / "model" / "digits.onnx"
OWN = ("signature", "sha256")
COLUMNS = [("", "name"), "code", ("SHA-256 / byte", "a_byte", ".1f"), ("verification", "verify"), "stack",
           "heap"]  # fmt: skip
#: mbedTLS for the verification alone.
CONFIG = """
BIGNUM_C ECP_C ECDSA_C ASN1_PARSE_C ASN1_WRITE_C ECP_DP_SECP256R1_ENABLED ECP_NIST_OPTIM MD_C SHA256_C PLATFORM_C
PLATFORM_MEMORY PLATFORM_NO_STD_FUNCTIONS NO_PLATFORM_ENTROPY
"""
LIBRARY = ("bignum", "bignum_core", "constant_time", "ecp", "ecp_curves", "ecdsa", "asn1parse", "asn1write", "md",
           "platform", "platform_util", "sha256")  # fmt: skip


def measured(machine: Machine, name: str, plan: bytes, folder: Path, extra: list[str]) -> Row:
    """A row of the machine's table; `extra`: sources and flags."""
    port = [RUNTIME / "port" / f"{part}.c" for part in (*OWN, "verify_library")]
    flags = ["-DTIGRIS_SIGNED", f"-I{folder}", *NO_SYSTEM.get(machine.toolchain, ()), *extra]
    program = link(machine, folder / f"{machine.name}.elf", "signature.c", *port, *flags)
    found = numbers(emulate(machine, program, plan))
    small = link(machine, folder / f"{machine.name}-small.elf", "signature.c", *port, *flags, optimise="-Os")
    return {
        "name": f"{machine.name}, {name}", "code": text_bytes(machine, small), "a_byte": found["sha256"] / len(plan),
        "verify": found["check"] - found["sha256"], "stack": found["stack"], "heap": found["heap"],
    }  # fmt: skip


def own_code(machine: Machine, folder: Path) -> int:
    """Bytes of the runtime's own code."""
    run_tool([*compiler(machine), "-Os", "-DTIGRIS_SIGNED", f"-I{folder}", "-c",
              *(str(RUNTIME / "port" / f"{part}.c") for part in OWN)], folder)  # fmt: skip
    return text_bytes(machine, *(folder / f"{part}.o" for part in OWN))


@command
def main() -> None:
    """The command."""
    parser = parser_of(__doc__)
    parser.add_argument("--mbedtls", type=Path, metavar="CHECKOUT", help="measure with this mbedTLS 3 too")
    chosen = parser.parse_args().mbedtls
    with work_folder() as folder:
        signing.write_key(folder / "key.pem", SignatureAlgorithm.P256)
        key = signing.read_key(folder / "key.pem")
        plan = signing.sign(compile_model(MODEL, fast="64K").data, key)
        (folder / "tigris_models.h").write_text(signing.c_public_key(key), "utf-8")
        (folder / "config.h").write_text("".join(f"#define MBEDTLS_{name}\n" for name in CONFIG.split()), "utf-8")
        rows = []
        for machine in (MACHINES["rv32imc"], MACHINES["cortex-m4"]):
            without = measured(machine, "SHA-256", plan, folder, [])
            rows.append(without | {"code": own_code(machine, folder)})
            if chosen:
                files = [str(chosen / "library" / f"{part}.c") for part in LIBRARY]
                config = f'-DMBEDTLS_CONFIG_FILE="{folder / "config.h"}"'
                flags = ["-DTIGRIS_MBEDTLS", config, "-Wl,--defsym=_exit=bench_exit", f"-I{chosen / 'include'}"]
                row = measured(machine, "mbedTLS", plan, folder, [*flags, *files])
                rows.append(row | {"code": row["code"] - without["code"] + rows[-1]["code"]})
        print_table("code at -Os; instructions at -O2; bytes of stack and heap", rows, COLUMNS)
