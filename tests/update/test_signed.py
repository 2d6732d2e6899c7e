"""Firmware with a public key: no changed, foreign, unsigned or older plan opens, from flash or through an update."""

import ctypes
import hashlib
import re
import subprocess
from pathlib import Path

import pytest

from tests.harness.tiers import examples, sampled
from tests.runtime.build import C99, INCLUDE, PLAIN, ROOT, RUNTIME, SANITIZERS
from tests.update.cuts import cut
from tests.update.plans import HERE, build, key, plan, write_model
from tigris_pio.format.enums import SignatureAlgorithm
from tigris_pio.platformio import interface

PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
#: A library by the flags that choose it, and the key that it verifies.
LIBRARIES = {
    "mbedTLS": (("-DTIGRIS_MBEDTLS", "-lmbedcrypto"), key()),
    "PSA": (("-DTIGRIS_PSA", "-lmbedcrypto"), key()),
    "own": (("-lsodium",), key("ed25519", SignatureAlgorithm.ED25519)),
}


@pytest.mark.parametrize("library", sampled(LIBRARIES, ("mbedTLS", "own")))
def test_every_case(tmp_path: Path, library: str) -> None:
    flags, signer = LIBRARIES[library]
    sources = [HERE / "cases.c"]
    if library == "own":
        sources.append(tmp_path / "verifier.c")
        (example,) = re.findall(r"```c\n(#include <sodium.h>\n.*?)```", PAGE, re.DOTALL)
        sources[1].write_text(example, "utf-8")
    program = build(tmp_path, sources, SANITIZERS, signer, flags)
    signed = {
        "newer": plan(1, signer=signer, version=2),
        "older": plan(1, signer=signer, version=0),
        "inputs": plan(0, columns=23, signer=signer, version=1),
        "name": plan(1, name="tin2", signer=signer, version=1),
        "key": plan(1, signer=key("third", signer.algorithm), version=1),
    }
    for name, (data, _) in signed.items():
        (tmp_path / f"{name}.tgrs").write_bytes(data)
    arguments = [tmp_path / f"{name}.tgrs" for name in ("0", "1", "2", "inputs", "name", "newer", "older", "key")]
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split() == re.findall(r"CASE\((\w+)\),", (HERE / "cases.c").read_text("utf-8"))


def test_mbedtls_without_ed25519_stops_the_build(tmp_path: Path) -> None:
    write_model(tmp_path, signer=key("ed25519", SignatureAlgorithm.ED25519))
    flags = [*C99, "-DTIGRIS_SIGNED", "-DTIGRIS_MBEDTLS", f"-I{INCLUDE}", f"-I{tmp_path}", "-fsyntax-only"]
    command = ["gcc", *flags, RUNTIME / "port" / "verify_library.c"]
    assert "mbedtls_verifies_p256_only" in subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_every_flipped_bit(tmp_path: Path) -> None:
    program = build(tmp_path, [HERE / "flips.c"], PLAIN, key(), columns=1)
    step, size = examples(131, 7), len(plan(0, 1, signer=key(), version=1)[0])
    command = [str(program), str(tmp_path / "0.tgrs"), str(step)]
    tried, accepted, opens = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert (accepted, opens) == ("0", "1")
    assert int(tried) > 2 * 8 * size // step + 8 * (size - 300) // step


def test_every_power_cut(tmp_path: Path) -> None:
    every, cuts_of = examples(1280, 8), examples(42, 1)
    counted = re.findall(r"(\d+) cuts(?:, (\d+) pairs)?", cut(tmp_path, every, 70, cuts_of, signer=key()))
    assert len(counted) == 11
    assert sum(int(cuts) for cuts, _ in counted) > 1700 + 9000 // cuts_of
    assert sum(int(pairs or 0) for _, pairs in counted) > 137_000 // every


def test_its_sha256(tmp_path: Path) -> None:
    library = tmp_path / "sha256.so"
    flags = [*C99, *PLAIN, "-DTIGRIS_SIGNED", f"-I{INCLUDE}", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, RUNTIME / "port" / "sha256.c", "-o", library], check=True)
    digest = ctypes.create_string_buffer(32)
    for size in (*range(200), 4095, 70_000):
        data = bytes(3 * at % 251 for at in range(size))
        ctypes.CDLL(str(library)).tigris_port_sha256(data, ctypes.c_size_t(size), digest)
        assert digest.raw == hashlib.sha256(data).digest(), size


def test_a_plan_for_another_key_is_not_uploaded(tmp_path: Path) -> None:
    write_model(tmp_path, signer=key())
    flashed = interface.read(tmp_path)
    assert interface.refusal(flashed, interface.read(tmp_path), "all") is None
    for signer in (key("another"), None):
        write_model(tmp_path, signer=signer)
        assert "tiny: the firmware opens only plans that another" in str(
            interface.refusal(flashed, interface.read(tmp_path), "all")
        )
