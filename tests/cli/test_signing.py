"""`tigris keygen`, `tigris sign` and `tigris compile --sign`."""

import json
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from tests.harness.command import tigris
from tests.runtime.build import ROOT
from tigris_pio import signing
from tigris_pio.format.records import Header, SignatureRecord

MODEL = ROOT / "examples" / "digits" / "model" / "digits.onnx"
TRAILER = SignatureRecord.size()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two keys of each algorithm, and a plan with its header, without and with a signature."""
    folder = tmp_path_factory.mktemp("signing")
    for algorithm in signing.ALGORITHMS:
        for name in (algorithm, f"other-{algorithm}"):
            tigris("keygen", "-o", folder / f"{name}.pem", "--algorithm", algorithm)
    files = ("-o", folder / "plain.tgrs", "--header", folder / "plain.h")
    tigris("compile", MODEL, "-m", "64K", "--quiet", "--name", "digits", *files)
    return folder


@pytest.mark.parametrize("algorithm", signing.ALGORITHMS)
def test_a_plan_is_signed_and_checked(folder, tmp_path, algorithm):
    plain, signed = folder / "plain.tgrs", tmp_path / "signed.tgrs"
    key, public, other = (folder / f"{name}.pem" for name in (algorithm, f"{algorithm}.pub", f"other-{algorithm}"))
    tigris("sign", plain, "--key", key, "-o", signed)
    data = signed.read_bytes()
    assert data[:-TRAILER] == plain.read_bytes()
    assert "its signature is right" in tigris("sign", signed, "--key", public, "--check").stdout
    for wrong, said in ((other, "is not of this key"), (plain, "is no key in PEM form")):
        assert said in tigris("sign", signed, "--key", wrong, "--check", status=None).stderr
    assert "the plan is not signed" in tigris("sign", plain, "--key", public, "--check", status=1).stderr
    tigris("sign", signed, "--key", other, "--security-version", 7)
    assert len(signed.read_bytes()) == len(data) and Header.unpack(signed.read_bytes()).security_version == 7
    tigris("sign", signed, "--key", other, "--check")
    tigris("sign", signed, "--key", key)
    found = json.loads(tigris("inspect", signed, "--json").stdout)
    assert (found["signature"], found["security_version"]) == (algorithm, 7)
    tigris("sign", signed, "--key", key, "--security-version", 0)
    assert signed.read_bytes() == data  # the same bytes give the same signature


def test_the_compiler_signs(folder, tmp_path):
    files = ("-o", tmp_path / "signed.tgrs", "--header", tmp_path / "signed.h")
    tigris("compile", MODEL, "-m", "64K", "--name", "digits", "--quiet", "--sign", folder / "p256.pem", *files)
    signed, header = (tmp_path / "signed.tgrs").read_bytes(), (tmp_path / "signed.h").read_text("utf-8")
    assert signed[:-TRAILER] == (folder / "plain.tgrs").read_bytes()
    key = signing.c_public_key(signing.read_key(folder / "p256.pem"))
    assert "TIGRIS_SIGNATURE_ALGORITHM_P256\n" in key
    plain = (folder / "plain.h").read_text("utf-8")
    assert header.replace(f"{key}#endif\n", "#endif\n") == plain
    assert "signature" in tigris("inspect", tmp_path / "signed.tgrs").stdout  # which this computer's runtime opens
    public = ("--sign", folder / "p256.pub.pem")
    assert "sign with the private key" in tigris("compile", MODEL, "-m", "64K", *public, *files, status=2).stderr
    assert "add --sign" in tigris("compile", MODEL, "-m", "64K", "--security-version", 1, *files, status=2).stderr


def test_a_signature_is_one_of_the_plans_file(folder, tmp_path):
    """ECDSA of the file with SHA-256, as other tools make it."""
    plain, signed = folder / "plain.tgrs", tmp_path / "signed.tgrs"
    tigris("sign", plain, "--key", folder / "p256.pem", "-o", signed)
    words = signed.read_bytes()[-64:-32], signed.read_bytes()[-32:]
    numbers = encode_dss_signature(*(int.from_bytes(word, "big") for word in words))
    key = signing.read_key(folder / "p256.pub.pem")
    key.public.verify(numbers, plain.read_bytes(), ec.ECDSA(hashes.SHA256()))


def test_keys_are_secret_and_never_overwritten(folder, tmp_path):
    assert stat.S_IMODE((folder / "p256.pem").stat().st_mode) == 0o600
    assert "exists" in tigris("keygen", "-o", folder / "p256.pem", status=2).stderr
    (tmp_path / "key.pub.pem").write_text("")
    assert "key.pub.pem: exists" in tigris("keygen", "-o", tmp_path / "key.pem", status=2).stderr
    assert not (tmp_path / "key.pem").exists()


def pem(key: object, secret: bytes | None = None) -> bytes:
    hidden = serialization.BestAvailableEncryption(secret) if secret else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden)


@pytest.mark.parametrize(("content", "said"), [
    (lambda: pem(ec.generate_private_key(ec.SECP256R1()), b"secret"), "is encrypted; decrypt it with: openssl pkey"),
    (lambda: pem(ec.generate_private_key(ec.SECP384R1())), "is no key of P-256 or Ed25519"),
    (lambda: pem(rsa.generate_private_key(65537, 2048)), "is no key of P-256 or Ed25519"),
    (lambda: b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "is no key in PEM form"),
])  # fmt: skip
def test_other_keys_are_refused(folder, tmp_path, content, said):
    (tmp_path / "key.pem").write_bytes(content())
    done = tigris("sign", folder / "plain.tgrs", "--key", tmp_path / "key.pem", "-o", tmp_path / "x.tgrs", status=2)
    assert said in done.stderr and not (tmp_path / "x.tgrs").exists()


def test_a_damaged_plan_is_not_signed(folder, tmp_path):
    plain, damaged = (folder / "plain.tgrs").read_bytes(), tmp_path / "damaged.tgrs"
    changes = {plain[:-1]: "cut short", plain[:-1] + b"?": "checksum differs", plain + b"?": "1 bytes follow"}
    for data, said in changes.items():
        damaged.write_bytes(data)
        assert said in tigris("sign", damaged, "--key", folder / "p256.pem", status=1).stderr
        assert damaged.read_bytes() == data


def test_without_the_package_the_extra_is_named(folder, monkeypatch):
    def import_module(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(signing, "import_module", import_module)
    done = tigris("sign", folder / "plain.tgrs", "--key", folder / "p256.pem", status=1)
    assert "the extra `sign`" in done.stderr and "pip install cryptography>=43" in done.stderr
    assert tigris("inspect", folder / "plain.tgrs")
