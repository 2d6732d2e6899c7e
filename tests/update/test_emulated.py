"""Updates on an emulated board, which writes its own flash chip; killing the emulator cuts its power."""

import hashlib
import random
import shutil
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
import pytest

from tests.harness.command import tigris
from tests.harness.tiers import examples
from tests.platformio.project import EMULATED, ROOT, Project, board_process
from tests.update.plans import network, plan
from tigris_pio import signing
from tigris_pio.format.records import Header

OK, NOT_A_PLAN, UNCONFIRMED, SIGNATURE = 0, -10, -50, -52
KILLS = examples(3, 8)


class Board:
    """The power switch and the line of one board."""

    def __init__(self, project: Project, environment: str) -> None:
        self.folder = project.board_folder(environment)
        self.spec = board_process.read_spec(project.build(environment) / "emulator.json")
        self.line: socket.socket | None = None

    def start(self) -> tuple[int, int]:
        """Kills and restarts the board; returns the status of opening the plan, and the plan's checksum."""
        self.stop()
        port = board_process.start(self.folder, self.spec, 26000, fixed_port=False)
        self.line = socket.create_connection(("127.0.0.1", port), timeout=20)
        status, crc32 = self.said("opened")
        return status, crc32

    def stop(self) -> None:
        if self.line is not None:
            self.line.close()
            self.line = None
        board_process.stop(self.folder)

    def said(self, word: str) -> list[int]:
        """The numbers of the next line that begins with the word."""
        assert self.line is not None
        heard = b""
        while True:
            byte = self.line.recv(1)
            assert byte, heard
            heard += byte
            if byte == b"\n":
                words = heard.decode("utf-8", "replace").split()
                if words and words[0] == word:
                    return [int(number) for number in words[1:]]
                heard = b""

    def send(self, plan: bytes) -> None:
        assert self.line is not None
        self.line.sendall(b"u" + struct.pack("<I", len(plan)) + plan)

    def update(self, plan: bytes) -> int:
        self.send(plan)
        return self.said("updated")[0]

    def confirm(self) -> int:
        assert self.line is not None
        self.line.sendall(b"c")
        return self.said("confirmed")[0]


@pytest.fixture(scope="module")
def plans() -> list[bytes]:
    return [plan(generation)[0] for generation in range(3)]


SOURCE = Path(__file__).with_name("emulated.c").read_text("utf-8")
INI = (
    f"lib_deps = tigris-pio=symlink://{ROOT}\ncustom_tigris_models = tiny.onnx\ncustom_tigris_mem = 16K\n"
    f"custom_tigris_slots = 2\ncustom_tigris_slot_size = 64K\n[env:emu_rv32]\nboard = emu_rv32\n"
)


@pytest.fixture(scope="module")
def flashed(tmp_path_factory: pytest.TempPathFactory, core_dir: Path) -> Iterator[Callable[[str], Board]]:
    """A board by its environment, built and flashed with plan 0."""
    project = Project(tmp_path_factory.mktemp("update") / "prüf project", core_dir)
    project.write({"src/main.c": SOURCE}, INI, EMULATED, "baremetal")
    onnx.save(network(0), project.folder / "tiny.onnx")

    def flash(environment: str) -> Board:
        said = project.run("-e", environment, "-t", "upload")
        assert "in 2 slots of 65536 bytes" in said
        return Board(project, environment)

    yield flash
    project.switch_off()
    shutil.rmtree(project.folder / ".pio", ignore_errors=True)


@pytest.fixture(scope="module")
def rv32(flashed: Callable[[str], Board]) -> Iterator[Board]:
    board = flashed("emu_rv32")
    yield board
    board.stop()


def sums(plans: list[bytes]) -> list[int]:
    return [Header.unpack(plan).crc32 for plan in plans]


def test_an_update_lasts_when_it_is_confirmed(rv32: Board, plans: list[bytes]) -> None:
    """The first bytes are no plan; a plan on trial is not overwritten; a stray write to flash is a fault."""
    old, new, _ = sums(plans)
    assert rv32.start() == (OK, old)
    assert rv32.update(b"<html>" + bytes(1000)) == NOT_A_PLAN
    assert rv32.update(plans[1]) == OK
    assert rv32.start() == (OK, new)
    assert rv32.update(plans[2]) == UNCONFIRMED
    assert rv32.confirm() == OK
    assert rv32.start() == rv32.start() == (OK, new)
    assert rv32.line is not None
    rv32.line.sendall(b"w")
    heard = b""
    while b"value 0x20000000" not in heard:
        heard += rv32.line.recv(100)
    assert b"exception 7" in heard


def test_a_board_killed_at_any_time_opens_one_of_both_plans(rv32: Board, plans: list[bytes]) -> None:
    """At random times over an update and somewhat longer; also during the record of opening a plan on trial."""
    draw = random.Random(1)
    _, now = rv32.start()
    kept = sums(plans).index(now)
    other = plans[(kept + 1) % 3]
    began = time.monotonic()
    assert rv32.update(other) == OK
    lasts = time.monotonic() - began
    assert rv32.start()[0] == OK and rv32.start() == (OK, now)  # on trial, then rejected
    committed = 0
    for _ in range(KILLS):
        rv32.send(other)
        time.sleep(draw.uniform(0.0, 1.2 * lasts))
        status, crc32 = rv32.start()
        assert status == OK and crc32 in (now, Header.unpack(other).crc32)
        if crc32 != now:
            committed += 1
            assert rv32.start() == (OK, now)
    assert committed < KILLS
    assert rv32.update(other) == OK
    assert rv32.start() == (OK, Header.unpack(other).crc32)
    assert rv32.confirm() == OK


@pytest.mark.thorough
def test_a_build_with_a_key(tmp_path: Path, core_dir: Path, plans: list[bytes]) -> None:
    """The stand-in of a verifier knows the digest of plan 0 alone, which the board computes itself."""
    digest = ", ".join(map(str, hashlib.sha256(plans[0]).digest()))
    verifier = (
        "\nint tigris_port_verify(const tigris_public_key *key, const uint8_t *digest, const uint8_t *signature)\n"
        f"{{\n    static const uint8_t known[] = {{{digest}}};\n    (void)signature;\n"
        "    return key->bytes == 65 && memcmp(digest, known, sizeof known) == 0;\n}\n"
    )
    project = Project(tmp_path / "signed", core_dir)
    project.write({"src/main.c": SOURCE + verifier}, INI + "custom_tigris_sign = key.pem\n", EMULATED, "baremetal")
    onnx.save(network(0), project.folder / "tiny.onnx")
    tigris("keygen", "-o", project.folder / "key.pem")
    project.run("-e", "emu_rv32", "-t", "upload")
    board = Board(project, "emu_rv32")
    signed = (project.build("emu_rv32") / "tigris" / "tiny.tgrs").read_bytes()
    signing.check(signed, signing.read_key(project.folder / "key.pem"))
    try:
        assert board.start() == (OK, Header.unpack(plans[0]).crc32)
        assert board.update(signed) == OK
        assert board.update(plans[0]) == board.update(plans[1] + signed[-72:]) == SIGNATURE
        project.run("-e", "emu_rv32", "-t", "uploadmodel")
        assert board.start()[0] == OK
    finally:
        board.stop()
        project.switch_off()
