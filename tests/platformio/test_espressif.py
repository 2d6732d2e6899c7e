"""The hook in the builder order of espressif32 and pioarduino, flashed by esptool to a chip's ROM bootloader."""

from __future__ import annotations

import json
import stat

import pytest

from tigris_pio.platformio import partitions

from .mock_chip import mock_chip
from .project import ESPRESSIF_LIKE, FAKE_HEAD, ROOT, load_by_path

gen_table = load_by_path("like_gen_table", ROOT / "tests" / "platformio" / "espressif_like" / "tools" / "gen_table.py")

BOARDS = {
    "esp32": "esp32dev",
    "esp32s3": "esp32-s3-devkitc-1",
    "esp32c3": "esp32-c3-devkitm-1",
    "esp32c6": "esp32-c6-devkitc-1",
}
ARDUINO = '#include <Arduino.h>\n#include <tigris_models.h>\nvoid setup() { Serial.printf("%s", TIGRIS_MODEL_ALPHA.name); }\nvoid loop() {}\n'  # noqa: E501
ESPIDF = "#include <stdio.h>\n#include <tigris_models.h>\nvoid app_main(void);\nvoid app_main(void) { puts(TIGRIS_MODEL_ALPHA.name); }\n"  # noqa: E501
MODEL = json.dumps({"plan": "0123456789abcdef", "repeat": 300})
OTA_TABLE = "nvs,data,nvs,0x9000,0x5000\notadata,data,ota,0xe000,0x2000\napp0,app,ota_0,0x10000,0x180000\n"


@pytest.fixture
def make(new_project, fake_compiler, tmp_path):
    """A project for one chip; `like` is espressif32 or pioarduino."""

    def make(chip, framework, like, *options, **files):
        lines = [
            "[env:board]",
            f"board = {BOARDS[chip]}",
            f"custom_like = {like}",
            f"build_flags = '-I{ROOT}/runtime/include'",
            f"custom_tigris_python = {fake_compiler.python}",
            "custom_tigris_models = models/alpha.onnx",
            "custom_tigris_mem = 64K",
            *options,
        ]
        main = {"src/main.cpp": ARDUINO} if framework == "arduino" else {"src/main.c": ESPIDF}
        sources = {**main, "models/alpha.onnx": MODEL, "own.csv": OTA_TABLE, **files}
        return new_project(sources, "\n".join(lines) + "\n", platform=ESPRESSIF_LIKE, framework=framework)

    return make


@pytest.fixture
def esptool_calls(tmp_path, monkeypatch):
    """The arguments of esptool's calls that read or write flash."""
    log = tmp_path / "esptool.log"
    monkeypatch.setenv("ESPTOOL_LOG", str(log))
    return lambda: [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []


# Each chip over both transports, each framework and spelling of options with each.
CASES = [
    ("esp32", "socket", "arduino", "espressif32", "own.csv", 0x190000),
    ("esp32", "pty", "espidf", "pioarduino", None, 0x110000),
    ("esp32s3", "socket", "espidf", "pioarduino", None, 0x110000),
    ("esp32s3", "pty", "arduino", "espressif32", "own.csv", 0x190000),
    ("esp32c3", "socket", "espidf", "espressif32", "own.csv", 0x190000),
    ("esp32c3", "pty", "arduino", "pioarduino", "own.csv", 0x190000),
    ("esp32c6", "socket", "arduino", "pioarduino", None, 0x210000),
    ("esp32c6", "pty", "espidf", "espressif32", None, 0x110000),
]


@pytest.mark.parametrize(("chip", "transport", "framework", "like", "table", "offset"), CASES)
def test_one_call_flashes_bootloader_table_firmware_and_plan(
    make, esptool_calls, chip, transport, framework, like, table, offset
):
    project = make(chip, framework, like, *([f"board_build.partitions = {table}"] if table else []))
    with mock_chip(chip, transport) as mock:
        text = project.run("-t", "upload", "--upload-port", mock.port)
        assert "Model: [" in text
        (call,) = esptool_calls()
        assert ("write-flash" if like == "pioarduino" else "write_flash") in call
        build = project.build("board")
        expected = {
            0x1000 if chip == "esp32" else 0: "bootloader.bin",
            0x8000: "partitions.bin",
            0x10000: "firmware.bin",
        }
        for at, name in {**expected, offset: "tigris/alpha.tgrs"}.items():
            data = (build / name).read_bytes()
            flashed = mock.read(at, len(data))
            if name == "bootloader.bin":
                # esptool writes flash mode, size and frequency into it.
                data, flashed = data[:2] + data[4:31], flashed[:2] + flashed[4:31]
            assert flashed == data, name
        assert mock.read(offset, FAKE_HEAD + 4800)[FAKE_HEAD:] == b"0123456789abcdef" * 300
    rows = partitions.parse_binary((build / "partitions.bin").read_bytes())
    assert (rows[-1].label, rows[-1].offset) == ("model", offset)
    if like == "pioarduino":
        assert "Successfully created combined binary image." in text
        merged = (build / "firmware.factory.bin").read_bytes()
        assert merged[offset + FAKE_HEAD : offset + FAKE_HEAD + 4800] == b"0123456789abcdef" * 300


@pytest.mark.parametrize(
    ("framework", "like", "transport"), [("arduino", "espressif32", "socket"), ("espidf", "pioarduino", "pty")]
)
def test_the_model_alone_is_uploaded_in_its_place(make, esptool_calls, framework, like, transport):
    options = ["board_build.partitions = own.csv", *(["upload_flags = --no-stub"] if transport == "socket" else [])]
    project = make("esp32c3", framework, like, *options)
    with mock_chip("esp32c3", transport) as mock:
        project.run("-t", "upload", "--upload-port", mock.port)
        firmware = mock.read(0x10000, 4096)
        (project.folder / "models" / "alpha.onnx").write_text('{"plan": "fresh", "repeat": 1000}', "utf-8")
        text = project.run("-t", "uploadmodel", "--upload-port", mock.port)
        assert "Linking" not in text
        read, mark, write = esptool_calls()[1:]
        assert read[-3:-1] == ["0x8000", "0xc00"]
        assert [word for word in mark if word.startswith("0x")] == ["0x190000"]
        assert [word for word in write if word.startswith("0x")] == ["0x191000", "0x190000"]
        assert mock.read(0x190000, FAKE_HEAD + 5000)[FAKE_HEAD:] == b"fresh" * 1000
        assert mock.read(0x10000, 4096) == firmware


def test_the_model_alone_is_refused_by_another_table(make, esptool_calls):
    project = make("esp32c3", "arduino", "espressif32", "board_build.partitions = own.csv", "upload_flags = --no-stub")
    with mock_chip("esp32c3", "socket") as mock:
        text = project.refused("-t", "uploadmodel", "--upload-port", mock.port)
        assert "Error: -t uploadmodel: the board has no partition table at 0x8000; upload everything first" in text
        other = partitions.parse_csv(OTA_TABLE + "model,data,0x40,0x200000,0x10000\nmore,data,fat,,4K\n", "other")
        mock.write(0x8000, partitions.to_binary(other))
        text = project.refused("-t", "uploadmodel", "--upload-port", mock.port)
        assert "the board's partition table at 0x8000 is not this project's:" in text
        assert "model: 0x200000 to 0x210000 (type 0x01/0x40) on the board, 0x190000 to 0x400000" in text
        assert "more: 0x210000 to 0x211000 (type 0x01/0x81) on the board, not in the project" in text
        assert "Nothing was written." in text
        assert not [call for call in esptool_calls() if "write_flash" in call]


def test_the_model_alone_needs_a_port_that_answers(make):
    project = make("esp32c3", "arduino", "espressif32", "board_build.partitions = own.csv")
    text = project.refused("-t", "uploadmodel", "--upload-port", "socket://127.0.0.1:9")
    assert "Error: -t uploadmodel: the board's partition table could not be read; see above." in text


def test_the_model_alone_needs_esptool(make):
    project = make(
        "esp32c3", "arduino", "espressif32", "board_build.partitions = own.csv", "upload_protocol = espota",
        "upload_port = 10.0.0.1",
    )  # fmt: skip
    text = project.refused("-t", "uploadmodel")
    assert "Error: -t uploadmodel needs esptool or an emulated board, but this environment uploads by espota" in text


# ---- partition tables --------------------------------------------------------------------------------------------


def table_of(project):
    text = project.pio("project", "metadata", "-e", "board", "--json-output").text
    assert "Error" not in text, text
    (table,) = (project.build("board") / "tigris").glob("*.csv")
    return partitions.parse_csv(table.read_text("utf-8"), "csv")


def test_a_boards_own_default_table_is_the_base(make):
    """esp32-s3-devkitc-1 names default_8MB.csv for Arduino, which fills its chip; a larger chip has room."""
    text = make("esp32s3", "arduino", "espressif32").refused()
    assert "Shrinking `spiffs` from 1536 KB to 1472 KB and moving `coredump` down would make room" in text
    table = table_of(make("esp32s3", "arduino", "espressif32", "board_upload.flash_size = 16MB"))
    assert [p.label for p in table] == ["nvs", "otadata", "app0", "app1", "spiffs", "coredump", "model"]
    assert table[-1].offset == 0x800000


def test_the_advised_table_builds(make):
    project = make("esp32s3", "arduino", "espressif32")
    text = project.refused()
    lines = [line for line in text[text.index("# Name") :].splitlines() if line.count(",") >= 4]
    (project.folder / "advised.csv").write_text("\n".join(lines), "utf-8")
    ini = project.folder / "platformio.ini"
    ini.write_text(ini.read_text("utf-8") + "board_build.partitions = advised.csv\n", "utf-8")
    assert "Model: [" in project.run()


def test_the_advised_table_is_written_on_request(make):
    """-t tigris_table; with it the build goes through, and a table of the user's own is not overwritten."""
    project = make("esp32s3", "arduino", "espressif32")
    assert "pio run -t tigris_table" in project.refused()
    text = project.run("-t", "tigris_table")
    assert "Wrote partitions.csv" in text and "board_build.partitions = partitions.csv" in text
    table = partitions.parse_csv((project.folder / "partitions.csv").read_text("utf-8"), "csv")
    partitions.check(table, 8 << 20)
    assert partitions.find(table, "model").size == 256 << 10
    ini = project.folder / "platformio.ini"
    ini.write_text(ini.read_text("utf-8") + "board_build.partitions = partitions.csv\n", "utf-8")
    assert "Model: [" in project.run()
    assert "Name it in platformio.ini" not in project.run("-t", "tigris_table")  # with the partition it has already
    (project.folder / "partitions.csv").write_text(OTA_TABLE, "utf-8")
    refused = project.refused("-t", "tigris_table")
    assert "partitions.csv: the project has this file already, with another table" in refused
    assert (project.folder / "partitions.csv").read_text("utf-8") == OTA_TABLE


@pytest.mark.parametrize(
    ("framework", "more"), [("arduino", "board_build.extra_flags = -DBOARD_HAS_PSRAM"), ("espidf", "")]
)
def test_slow_memory_that_the_firmware_lacks_is_warned_of(make, framework, more):
    model = {"models/alpha.onnx": json.dumps({"plan": "01234567", "slow": 4096})}
    options = ("board_build.partitions = own.csv",)
    text = make("esp32c3", framework, "pioarduino", *options, **model).run()
    assert "Warning: slow memory is PSRAM, and this firmware has none: alpha 4096 bytes." in text
    there = {**model, "sdkconfig.defaults": "CONFIG_SPIRAM=y\n"} if framework == "espidf" else model
    project = make("esp32c3", framework, "pioarduino", *options, *([more] if more else []), **there)
    assert "slow memory is PSRAM" not in project.run()


def test_a_board_variants_table_is_the_base(make):
    assert table_of(make("esp32c6", "arduino", "pioarduino"))[-1].offset == 0x210000


def test_the_table_keeps_its_name_by_which_arduino_tells_uf2_bootloaders(make):
    options = ["board_build.partitions = own-tinyuf2.csv"]
    project = make("esp32s3", "arduino", "espressif32", *options, **{"own-tinyuf2.csv": OTA_TABLE})
    result = project.pio("project", "metadata", "-e", "board", "--json-output").text
    images = json.loads(result[result.index("{") :])["board"]["extra"]["flash_images"]
    assert {"0x190000", "0x410000"} <= {image["offset"] for image in images}
    assert table_of(project)[-1].label == "model"


def test_blank_offsets_become_explicit(make):
    table = table_of(make("esp32c3", "espidf", "espressif32"))
    assert [(p.label, p.offset) for p in table] == [
        ("nvs", 0x9000),
        ("phy_init", 0xF000),
        ("factory", 0x10000),
        ("model", 0x110000),
    ]


def test_the_frameworks_default_without_room_names_both_applications(make):
    text = make("esp32", "arduino", "espressif32").refused()
    assert "the 2 applications for updates over the air, `app0` (1280 KB) and `app1` (1280 KB), take 2560 KB" in text
    assert "Shrinking `spiffs` from 1408 KB to 1344 KB and moving `coredump` down would make room" in text


# ---- other ways to build -----------------------------------------------------------------------------------------


def test_the_child_build_of_pioarduino_compiles_nothing_twice(make, fake_compiler):
    with mock_chip("esp32c3", "socket") as mock:
        options = ["board_build.partitions = own.csv", "custom_sdkconfig = X=y", f"upload_port = {mock.port}"]
        project = make("esp32c3", "arduino", "pioarduino", *options)
        text = project.run("-t", "upload")
        assert text.count("Model: [") >= 1
        assert mock.read(0x190000, FAKE_HEAD + 16)[FAKE_HEAD:] == b"0123456789abcdef"
    project.run()
    assert len(fake_compiler.runs()) == 1


@pytest.mark.parametrize("framework", ["arduino", "espidf"])
def test_a_second_build_does_nothing(make, fake_compiler, framework):
    project = make("esp32c3", framework, "espressif32", "board_build.partitions = own.csv")
    project.run()
    again = project.run()
    for word in ("Compiling", "Linking", "Generating", "Building .pio"):
        assert word not in again
    assert len(fake_compiler.runs()) == 1


def test_the_hook_named_twice_acts_once(make, fake_compiler):
    hook = ROOT / "tigris_pio" / "platformio" / "hook.py"
    project = make("esp32c3", "espidf", "espressif32", f"extra_scripts =\n  pre:{hook}\n  pre:{hook}")
    assert project.run().count("Model: [") == 1
    result = project.pio("project", "metadata", "-e", "board", "--json-output").text
    images = json.loads(result[result.index("{") :])["board"]["extra"]["flash_images"]
    assert [image["offset"] for image in images].count("0x110000") == 1


def test_integration_data_lists_every_image(make):
    project = make("esp32c3", "espidf", "pioarduino", "board_build.partitions = own.csv")
    result = project.pio("project", "metadata", "-e", "board", "--json-output").text
    data = json.loads(result[result.index("{") :])["board"]
    assert {image["offset"] for image in data["extra"]["flash_images"]} == {"0x0", "0x8000", "0xe000", "0x190000"}
    assert any(str(path).endswith("/tigris") for path in data["includes"]["build"])


def test_the_target_is_listed(make):
    text = make("esp32c3", "espidf", "espressif32").pio("run", "--list-targets").text
    assert "uploadmodel" in text
    assert "Upload Model" in text


def test_the_table_generator_of_the_tests_agrees_with_the_hooks():
    path = ROOT / "tests/platformio/espressif_like/packages/framework-arduinoespressif32/tools/partitions/default.csv"
    assert gen_table.table(path) == partitions.to_binary(partitions.parse_csv(path.read_text("utf-8"), "default"))
    assert not path.stat().st_mode & stat.S_IXUSR
