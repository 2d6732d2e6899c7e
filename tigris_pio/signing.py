"""Signs plans for firmware that opens verified plans only; SPEC.md, section 12, has the rules.

The signatures come from the package `cryptography`, the extra `sign`, which is imported when a key is needed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import zlib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tigris_pio.errors import FileError, PlanError, ToolError, UsageError
from tigris_pio.files import check_target, read_named, write_atomically
from tigris_pio.format.enums import SignatureAlgorithm
from tigris_pio.format.reader import read_plan
from tigris_pio.format.records import CRC_COVERS_FROM, SIGNATURE_MAGIC, Header, SignatureRecord
from tigris_pio.installation import install_command

#: Names of the algorithms on the command line.
ALGORITHMS = {"p256": SignatureAlgorithm.P256, "ed25519": SignatureAlgorithm.ED25519}
_WORD_BYTES = 32  #: of r and of s
_KEY_FILE_MODE = 0o600


@dataclass(frozen=True, eq=False)
class Key:
    """A key of a PEM file; `private` is None if the file has only the public key."""

    private: Any
    public: Any
    algorithm: SignatureAlgorithm

    @property
    def public_bytes(self) -> bytes:
        """The public key as firmware has it: of P-256 the uncompressed point, 65 bytes; of Ed25519 32 bytes."""
        serialization = _part("hazmat.primitives.serialization")
        if self.algorithm is SignatureAlgorithm.ED25519:
            raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
        else:
            raw = serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        data: bytes = self.public.public_bytes(*raw)
        return data

    def signature(self, digest: bytes) -> bytes:
        """The 64 bytes of the trailer; `digest` is a plan's SHA-256."""
        if self.algorithm is SignatureAlgorithm.ED25519:
            made: bytes = self.private.sign(digest)
            return made
        ec, utils = _part("hazmat.primitives.asymmetric.ec"), _part("hazmat.primitives.asymmetric.utils")
        prehashed = utils.Prehashed(_part("hazmat.primitives.hashes").SHA256())
        try:
            der = self.private.sign(digest, ec.ECDSA(prehashed, deterministic_signing=True))
        except _part("exceptions").UnsupportedAlgorithm:  # OpenSSL before 3.2
            der = self.private.sign(digest, ec.ECDSA(prehashed))
        return b"".join(number.to_bytes(_WORD_BYTES, "big") for number in utils.decode_dss_signature(der))

    def is_valid(self, digest: bytes, signature: bytes) -> bool:
        """Whether the signature is this key's for the digest."""
        try:
            if self.algorithm is SignatureAlgorithm.ED25519:
                self.public.verify(signature, digest)
            else:
                ec, utils = _part("hazmat.primitives.asymmetric.ec"), _part("hazmat.primitives.asymmetric.utils")
                words = (int.from_bytes(signature[at : at + _WORD_BYTES], "big") for at in (0, _WORD_BYTES))
                prehashed = utils.Prehashed(_part("hazmat.primitives.hashes").SHA256())
                self.public.verify(utils.encode_dss_signature(*words), digest, ec.ECDSA(prehashed))
        except _part("exceptions").InvalidSignature:
            return False
        return True


def _part(module: str) -> Any:
    """A module of the package cryptography. Raises ToolError if the package is missing."""
    try:
        return import_module(f"cryptography.{module}")
    except ImportError as error:
        raise ToolError("keys and signatures need the package cryptography, the extra `sign` of tigris-pio; install "
                        f"it: {install_command('cryptography>=43')}") from error  # fmt: skip


def write_key(path: Path, algorithm: SignatureAlgorithm) -> Path:
    """Writes a new private key to `path`, readable by its owner alone, and its public key beside it, whose path is
    returned. Raises FileError if one of both files exists."""
    public_path = path.with_suffix(f".pub{path.suffix}")
    for each in (path, public_path):
        check_target(each)
        if each.exists():
            raise FileError(f"{each}: exists, and firmware in the field may need its key; give another path")
    if algorithm is SignatureAlgorithm.ED25519:
        private = _part("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey.generate()
    else:
        ec = _part("hazmat.primitives.asymmetric.ec")
        private = ec.generate_private_key(ec.SECP256R1())
    serialization = _part("hazmat.primitives.serialization")
    pem = serialization.Encoding.PEM
    secret = private.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _KEY_FILE_MODE), "wb") as file:
            file.write(secret)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror}; choose another path") from error
    public = private.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    write_atomically(public_path, public)
    return public_path


def read_key(path: Path) -> Key:
    """Reads a PEM file with a private or a public key. Raises FileError or UsageError."""
    data = read_named(path, "a key that tigris keygen wrote")
    serialization = _part("hazmat.primitives.serialization")
    private = None
    try:
        if b"PUBLIC KEY" in data:
            public = serialization.load_pem_public_key(data)
        else:
            private = serialization.load_pem_private_key(data, password=None)
            public = private.public_key()
    except TypeError as error:
        raise UsageError(f"{path}: is encrypted; decrypt it with: openssl pkey -in {path} -out PLAIN") from error
    except (ValueError, _part("exceptions").UnsupportedAlgorithm) as error:
        raise UsageError(f"{path}: is no key in PEM form; write one with: tigris keygen -o {path}") from error
    if isinstance(public, _part("hazmat.primitives.asymmetric.ed25519").Ed25519PublicKey):
        return Key(private, public, SignatureAlgorithm.ED25519)
    if getattr(getattr(public, "curve", None), "name", "") == "secp256r1":
        return Key(private, public, SignatureAlgorithm.P256)
    raise UsageError(f"{path}: is no key of P-256 or Ed25519; write one with: tigris keygen -o KEY.pem")


def split(data: bytes) -> tuple[bytes, SignatureRecord | None]:
    """The plan, and its trailer or None. Raises PlanError if the plan is damaged or other bytes follow it."""
    plan = read_plan(data).data
    trailer = data[len(plan) :]
    if not trailer:
        return plan, None
    found = SignatureRecord.unpack(trailer) if len(trailer) == SignatureRecord.size() else None
    if (
        found is None
        or found.magic != SIGNATURE_MAGIC
        or found.record_bytes != len(trailer)
        or found.algorithm not in set(SignatureAlgorithm)
    ):
        raise PlanError(f"{len(trailer)} bytes follow the plan that are no signature; compile the model again")
    return plan, found


def sign(data: bytes, key: Key, security_version: int | None = None) -> bytes:
    """The plan with a trailer, in place of the one that it has. `security_version`: None keeps that of the plan."""
    if key.private is None:
        raise UsageError("the file has a public key, which verifies only; sign with the private key")
    plan, _ = split(data)
    if security_version is not None:
        header = dataclasses.replace(Header.unpack(plan), security_version=security_version)
        plan = header.pack() + plan[Header.size() :]
        plan = dataclasses.replace(header, crc32=zlib.crc32(plan[CRC_COVERS_FROM:])).pack() + plan[Header.size() :]
    signature = key.signature(hashlib.sha256(plan).digest())
    return plan + SignatureRecord(SIGNATURE_MAGIC, SignatureRecord.size(), key.algorithm, tuple(signature)).pack()


def check(data: bytes, key: Key) -> None:
    """Raises PlanError unless the plan is signed by this key."""
    plan, trailer = split(data)
    if trailer is None:
        raise PlanError("the plan is not signed; sign it with: tigris sign PLAN --key KEY")
    digest = hashlib.sha256(plan).digest()
    if trailer.algorithm != key.algorithm or not key.is_valid(digest, bytes(trailer.signature)):
        raise PlanError("the plan's signature is not of this key; sign it with: tigris sign PLAN --key KEY")


def c_public_key(key: Key) -> str:
    """The macros of the firmware's public key, for a model's C header."""
    words = [f"0x{byte:02x}" for byte in key.public_bytes]
    rows = [", ".join(words[at : at + 16]) for at in range(0, len(words), 16)]
    lines = ", \\\n    ".join(rows)
    return (
        f"#define TIGRIS_PUBLIC_KEY_ALGORITHM TIGRIS_SIGNATURE_ALGORITHM_{key.algorithm.name}\n"
        f"#define TIGRIS_PUBLIC_KEY \\\n    {lines}\n"
    )
