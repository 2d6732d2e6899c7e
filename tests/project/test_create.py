"""Files of a new project, for boards of every kind, and the message of each refusal."""

import configparser
import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.compiler.models import make, node
from tests.harness.command import tigris
from tests.networks.folders import OWN
from tigris_pio.errors import UsageError
from tigris_pio.platformio import layout, partitions
from tigris_pio.project.boards import COMMON, emulated_boards, find_board
from tigris_pio.project.create import find_framework, slot_size, table


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A small one."""
    path = tmp_path / "mein-netz.onnx"
    onnx.save(make([node("Relu", "x", "y")], {"x": (1, 4)}, ["y"]), path)
    return path


@pytest.fixture(autouse=True)
def no_platforms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """None is installed, whatever this machine has."""
    monkeypatch.setenv("PLATFORMIO_CORE_DIR", str(tmp_path / "core"))


def settings(folder: Path) -> configparser.SectionProxy:
    config = configparser.ConfigParser()
    config.read(folder / "platformio.ini", "utf-8")
    (section,) = config.sections()
    return config[section]


@pytest.mark.parametrize("plan", [1000, 300_000, 700_000])
@pytest.mark.parametrize("framework", ["arduino", "espidf"])
@pytest.mark.parametrize("name", COMMON)
def test_tables_hold_application_and_plan(name: str, framework: str, plan: int) -> None:
    board = find_board(name)
    rows = partitions.parse_csv(table(board, framework, plan), "table")
    partitions.check(rows, board.flash_bytes)
    found = partitions.find(rows, "model")
    assert found is not None and found.size >= 2 * plan and partitions.application(rows).size >= 1 << 20


@pytest.mark.parametrize("framework", ["arduino", "espidf"])
@pytest.mark.parametrize("plan", [1000, 300_000, 700_000])
def test_tables_hold_two_slots_and_their_records(framework: str, plan: int) -> None:
    board = find_board("esp32dev")
    rows = partitions.parse_csv(table(board, framework, plan, 2), "table")
    partitions.check(rows, board.flash_bytes)
    model = partitions.find(rows, "model")
    assert model is not None
    (placed,) = layout.place([("m", bytes(plan))], model, 2, slot_size(board, plan))
    assert placed.slot_bytes >= min(2 * plan, 1_200_000) and placed.end <= model.size


def test_a_plan_beyond_the_flash_is_refused() -> None:
    board = find_board("esp32dev")
    with pytest.raises(UsageError, match=r"--slots 2: .* two slots have at most 1273856 bytes .* needs 1300000"):
        slot_size(board, 1_300_000)
    with pytest.raises(UsageError, match=r"4 MB of flash have 2555904 bytes .* needs 3000000; .*--flash-size"):
        table(board, "arduino", 3_000_000)
    assert "model" in table(find_board("esp32dev", flash_bytes=8 << 20), "arduino", 3_000_000)


def test_an_installed_platform_knows_its_boards(tmp_path: Path) -> None:
    folder = tmp_path / "core" / "platforms" / "espressif32@7" / "boards"
    folder.mkdir(parents=True)
    manifest = {"build": {"mcu": "esp32p4", "extra_flags": "-DBOARD_HAS_PSRAM"}, "upload": {"flash_size": "32MB"}}
    (folder / "mine.json").write_text(json.dumps(manifest), "utf-8")
    board = find_board("mine")
    assert (board.chip, board.flash_bytes, board.has_psram) == ("esp32p4", 32 << 20, True)
    assert find_board("mine", psram=False).has_psram is False
    (folder / "arm.json").write_text(json.dumps({"build": {"mcu": "stm32f446"}, "upload": {}}), "utf-8")
    with pytest.raises(UsageError, match="arm: has the chip stm32f446; tigris new supports Espressif's"):
        find_board("arm")


def test_unknown_boards_and_frameworks() -> None:
    for name, words in (("esp32-s3-devkit-c1", r"Did you mean esp32-s3-devkitc-1 or .*\? .*emu_rv32.*--flash-size"),
                        ("ESP32-S3", "is a chip; boards with it: esp32-s3-devkitc-1, esp32-s3-devkitm-1, esp"),
                        ("esp32p4", r"is a chip; give a board's name\. "),
                        ("nano33ble", r"is unknown\. Known boards: .*esp32dev.* For other chips see docs/boards\.md")):
        with pytest.raises(UsageError, match=words):
            find_board(name)
    with pytest.raises(UsageError, match="is a chip"):
        find_board("esp32p4", flash_bytes=4 << 20)
    assert find_board("esp32-mine", flash_bytes=4 << 20).flash_bytes == 4 << 20
    with pytest.raises(UsageError, match="zephyr: esp32dev supports arduino and espidf"):
        find_framework(find_board("esp32dev"), "zephyr")
    for name in emulated_boards():
        assert find_framework(find_board(name), None) == "baremetal"


def test_options_of_the_model_go_into_platformio_ini(tmp_path: Path) -> None:
    nodes = [node("Add", "x h", "s"), node("Mul", "s k", "y"), node("Relu", "y", "z")]
    graph = make(nodes, {"x": ("n", 4), "h": (1, 4), "k": (1,)}, ["y", "z"])
    path = tmp_path / "state.onnx"
    onnx.save(graph, path)
    tigris("new", tmp_path / "p", "--board", "esp32dev", "--framework", "espidf", "--model", path, "--dim", "n=1",
           "--set", "k=2", "--state", "y=h", "--name", "sum", "--slots", "2")  # fmt: skip
    found = settings(tmp_path / "p")
    assert found["custom_tigris_models"] == "sum = models/state.onnx"
    assert [found[f"custom_tigris_{name}"] for name in ("dims", "set", "state")] == ["n=1", "k=2", "y=h"]
    assert (found["custom_tigris_slots"], found["custom_tigris_slot_size"]) == ("2", "64K")
    assert "tigris_update_confirm(&TIGRIS_MODEL_SUM, &plan);" in (tmp_path / "p" / "src" / "main.c").read_text("utf-8")
    assert (found["board"], found["framework"], found["platform"]) == ("esp32dev", "espidf", "espressif32")


def test_a_hop_goes_into_platformio_ini(tmp_path: Path) -> None:
    tigris("new", tmp_path / "p", "--board", "emu_rv32", "--model", OWN / "sww_int8.onnx", "--hop", "1")
    assert settings(tmp_path / "p")["custom_tigris_hop"] == "1"


def test_weights_beside_the_model_come_along(tmp_path: Path) -> None:
    graph = make([node("MatMul", "x w", "y")], {"x": (1, 64)}, ["y"], {"w": np.ones((64, 64), np.float32)})
    onnx.save_model(graph, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    tigris("new", tmp_path / "p", "--board", "emu_rv32", "--model", tmp_path / "m.onnx")
    tigris("compile", tmp_path / "p" / "models" / "m.onnx", "-m", "16K", "-o", tmp_path / "m.tgrs")


def test_psram_where_the_board_has_it(tmp_path: Path) -> None:
    """An input and an output of 1 MB each."""
    onnx.save(make([node("Softmax", "x", "y", axis=1)], {"x": (1, 512, 16, 32)}, ["y"]), tmp_path / "large.onnx")
    refused = tigris("new", tmp_path / "p", "--board", "esp32dev", "--model", tmp_path / "large.onnx", status=1)
    assert "fast memory" in refused.stderr and not (tmp_path / "p").exists()
    tigris("new", tmp_path / "p", "--board", "esp-wrover-kit", "--model", tmp_path / "large.onnx")
    assert "+" in settings(tmp_path / "p")["custom_tigris_mem"]
    assert "tigris_esp_arenas" in (tmp_path / "p" / "src" / "main.cpp").read_text("utf-8")


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path, model: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "mine.txt").write_text("mine", "utf-8")
    refused = tigris("new", tmp_path / "p", "--board", "emu_rv32", "--model", model, status=2)
    assert "is not empty" in refused.stderr
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["mine.txt"]


def test_names_and_libraries(tmp_path: Path, model: Path) -> None:
    told = json.loads(tigris("new", tmp_path / "p", "--board", "emu_rv32", "--model", model, "--json").stdout)
    assert told["model"] == "mein_netz" and told["memory"] == "16K" and "TIGRIS_MODEL_MEIN_NETZ" in (
        tmp_path / "p" / "src" / "main.c").read_text("utf-8")  # fmt: skip
    refused = tigris("new", tmp_path / "q", "--board", "emu_rv32", "--model", model, "--name", "3 x", status=2)
    assert "--name 3 x" in refused.stderr
    refused = tigris("new", tmp_path / "q", "--board", "emu_rv32", "--model", model, "--library", tmp_path, status=2)
    assert "--library" in refused.stderr and "checkout" in refused.stderr


@pytest.mark.parametrize("board", ["emu_rv32", "esp32-s3-devkitc-1"])
def test_a_project_names_the_library_from_where_it_lies(tmp_path: Path, model: Path, board: str) -> None:
    """So it can be moved or checked out elsewhere, with the library beside it."""
    root, folder = OWN.parent, tmp_path / "one" / "project"
    tigris("new", folder, "--board", board, "--model", model)
    for path in (path for path in folder.rglob("*") if path.suffix in (".ini", ".py", ".c", ".cpp", ".h", ".md")):
        text = path.read_text("utf-8")
        assert f"/{root}" not in text and str(tmp_path) not in text, path
    found = settings(folder)
    hook, library = found["extra_scripts"].removeprefix("pre:"), found["lib_deps"].removeprefix("tigris-pio=symlink://")
    assert (folder / library).resolve() == root and (folder / hook).is_file() and not Path(library).is_absolute()
