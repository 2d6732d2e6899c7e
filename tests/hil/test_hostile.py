"""For any received bytes, the server accesses only its own buffers, and keeps serving."""

import random
import subprocess
from pathlib import Path

import pytest

from tests.harness.tiers import examples
from tests.hil.conftest import HERE, SANITISERS, SERVER, compile_c
from tests.hil.fuzz_seeds import GREET, NEXT, SAME, piece, seeds
from tigris_pio.hil.protocol import Request, TransferFrame

KINDS = [*Request, *TransferFrame] * 5 + list(range(256))
SIZES = (0, 1, 7, 8, 299, 300, 301, 999, 1000, 1001, 2**31, 2**32 - 1)


def payload_of(generator: random.Random) -> bytes:
    """Half of them plain noise, half a record with extreme fields and some data."""
    noise = generator.randbytes(generator.choice((0, 1, 4, 12, generator.randrange(240))))
    if generator.random() < 0.5:
        return noise
    head = bytes(generator.choice(edges) for edges in ((0, 0, 0, 1, 2, 255), (0, 1), (0, 1, 2), (0,)))
    first, count = (generator.choice(SIZES).to_bytes(4, "little") for _ in range(2))
    if generator.random() < 0.5:
        count = len(noise).to_bytes(4, "little")
    return generator.choice((head, head + first + count, head + first + count + noise))


@pytest.mark.parametrize("payload", [112, 1024])
def test_any_requests_and_noise(tmp_path: Path, payload: int) -> None:
    """Requests with valid checksums and numbers, transfers among them, and raw noise between; greetings are served."""
    generator, greetings = random.Random(payload), 0
    flags = (GREET, NEXT, NEXT, NEXT, SAME, SAME, 0)
    inputs = list(seeds().values())
    for _ in range(examples(400, 4_000)):
        pieces = b""
        for flag in (GREET, *generator.choices(flags, k=30)):
            kind = Request.TRANSFER if generator.random() < 0.2 else generator.choice(KINDS)
            pieces += piece(flag, kind, payload_of(generator)[:250])
            greetings += flag == GREET
            if generator.random() < 0.1:
                pieces += bytes([0, 40]) + generator.randbytes(40)
        inputs.append(pieces)
    data = b"".join((1 + len(given)).to_bytes(4, "little") + b"\1" + given for given in inputs)
    sources = [HERE / "hostile.c", HERE / "standin.c", *SERVER]
    program = compile_c(tmp_path / "hostile", sources, f"-DTIGRIS_SERVE_PAYLOAD={payload}", *SANITISERS)
    done = subprocess.run([program], input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert int(done.stdout) > greetings
