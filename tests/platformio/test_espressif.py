"""The hook in the build order of espressif32 and pioarduino, flashed by esptool to a chip's ROM bootloader."""

import json
from pathlib import Path

import pytest

from tests.harness.tiers import sampled
from tigris_pio.platformio import partitions, psram, upload

from .mock_chip import mock_chip
from .project import ESPRESSIF_LIKE, FAKE_HEAD, ROOT

BOARDS = {"esp32": "esp32dev", "esp32s3": "esp32-s3-devkitc-1", "esp32c3": "esp32-c3-devkitm-1",
          "esp32c6": "esp32-c6-devkitc-1"}  # fmt: skip
ARDUINO = '#include <Arduino.h>\n#include <tigris_models.h>\nvoid loop() {}\n' \
          'void setup() { Serial.printf("%s", TIGRIS_MODEL_ALPHA.name); }\n'  # fmt: skip
ESPIDF = "#include <stdio.h>\n#include <tigris_models.h>\nvoid app_main(void);\n" \
         "void app_main(void) { puts(TIGRIS_MODEL_ALPHA.name); }\n"  # fmt: skip
PLAN = b"0123456789abcdef" * 300
MODEL = json.dumps({"plan": "0123456789abcdef", "repeat": 300, "slow": 4096})
OTA_TABLE = "nvs,data,nvs,0x9000,0x5000\notadata,data,ota,0xe000,0x2000\napp0,app,ota_0,0x10000,0x180000\n"
OWN = "board_build.partitions = own.csv"


@pytest.fixture
def make(new_project, fake_compiler):
    """A project for one chip; `like` is espressif32 or pioarduino."""

    def make(chip, framework, like, *options, **files):
        lines = ["[env:board]", f"board = {BOARDS[chip]}", f"custom_like = {like}",
                 f"build_flags = '-I{ROOT}/runtime/include'", f"custom_tigris_python = {fake_compiler.python}",
                 "custom_tigris_models = models/alpha.onnx", "custom_tigris_mem = 64K", *options]  # fmt: skip
        main = {"src/main.cpp": ARDUINO} if framework == "arduino" else {"src/main.c": ESPIDF}
        sources = {**main, "models/alpha.onnx": MODEL, "own.csv": OTA_TABLE, **files}
        return new_project(sources, "\n".join(lines) + "\n", platform=ESPRESSIF_LIKE, framework=framework,
                           shares_objects=False)  # fmt: skip

    return make


@pytest.fixture
def esptool_calls(tmp_path, monkeypatch):
    """The arguments of esptool's calls that read or write flash."""
    log = tmp_path / "esptool.log"
    monkeypatch.setenv("ESPTOOL_LOG", str(log))
    return lambda: [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []


# Each chip, framework and spelling of options.
CASES = [
    ("esp32", "arduino", "espressif32", "own.csv", 0x190000), ("esp32s3", "espidf", "pioarduino", None, 0x110000),
    ("esp32c3", "espidf", "espressif32", "own.csv", 0x190000), ("esp32c6", "arduino", "pioarduino", None, 0x210000),
]  # fmt: skip


@pytest.mark.parametrize(("chip", "framework", "like", "table", "offset"), sampled(CASES, ["esp32s3"]))
def test_one_call_flashes_everything_and_then_the_plan_alone(
    make, esptool_calls, fake_compiler, chip, framework, like, table, offset
):
    """Bootloader, table, firmware and plan. A warning about slow memory appears unless sdkconfig.defaults enables
    PSRAM."""
    options = [f"board_build.partitions = {table}"] * bool(table) + ["upload_flags = --no-stub"]
    settings = {"sdkconfig.defaults": "CONFIG_SPIRAM=y\n"} if like == "espressif32" else {}
    project = make(chip, framework, like, *options, **settings)
    build = project.build("board")
    with mock_chip(chip) as mock:
        text = project.run("-t", "upload", "--upload-port", mock.port)
        warned = "Warning: slow memory is PSRAM, but this firmware has none: alpha 4096 bytes." in text
        assert "Model: [" in text and warned == (like == "pioarduino")
        (call,) = esptool_calls()
        assert ("write-flash" if like == "pioarduino" else "write_flash") in call
        flashed = {0x1000 if chip == "esp32" else 0: "bootloader.bin", 0x8000: "partitions.bin",
                   0x10000: "firmware.bin", offset: "tigris/alpha.tgrs"}  # fmt: skip
        for at, name in flashed.items():
            data = (build / name).read_bytes()
            found = mock.read(at, len(data))
            if name == "bootloader.bin":
                # esptool writes flash mode, size and frequency into it.
                data, found = data[:2] + data[4:31], found[:2] + found[4:31]
            assert found == data, name
        assert mock.read(offset, FAKE_HEAD + 4800)[FAKE_HEAD:] == PLAN
        rows = partitions.parse_binary((build / "partitions.bin").read_bytes())
        assert (rows[-1].label, rows[-1].offset) == ("model", offset)
        if like == "pioarduino":
            assert "Successfully created combined binary image." in text
            merged = (build / "firmware.factory.bin").read_bytes()
            assert merged[offset + FAKE_HEAD : offset + FAKE_HEAD + 4800] == PLAN

        again = project.run()
        assert not [word for word in ("Compiling", "Linking", "Generating", "Building .pio") if word in again]
        assert len(fake_compiler.runs()) == 1

        (project.folder / "models" / "alpha.onnx").write_text('{"plan": "fresh", "repeat": 1000}', "utf-8")
        assert "Linking" not in project.run("-t", "uploadmodel", "--upload-port", mock.port)
        read, mark, write = esptool_calls()[1:]
        assert read[-3:-1] == ["0x8000", "0xc00"]
        assert [word for word in mark if word.startswith("0x")] == [hex(offset)]
        assert [word for word in write if word.startswith("0x")] == [hex(offset + 0x1000), hex(offset)]
        assert mock.read(offset, FAKE_HEAD + 5000)[FAKE_HEAD:] == b"fresh" * 1000
        assert mock.read(0x10000, 4096) == (build / "firmware.bin").read_bytes()[:4096]

        project.add_option("custom_tigris_flash = 64K")
        text = project.refused("-t", "uploadmodel", "--upload-port", mock.port)
        assert "the board's partition table at 0x8000 is not this project's:" in text and "Nothing was written." in text
        assert len(esptool_calls()) == 5 and esptool_calls()[-1][-3:-1] == ["0x8000", "0xc00"]


def test_an_impossible_upload_of_the_model_alone_names_the_remedy():
    with pytest.raises(upload.UploadError, match="the board has no partition table at 0x8000; upload everything first"):
        upload.compare_tables(b"\xff" * 0xC00, b"", "0x8000")
    with pytest.raises(upload.UploadError, match=r"needs esptool or an emulated board, but this .* uploads by espota"):
        upload.parse_command("espota.py $UPLOADERFLAGS -f $SOURCE", ["-i", "10.0.0.1"], [], "espota")


@pytest.mark.parametrize(("frameworks", "flags", "settings", "remedy"), [
    (["arduino"], "", [], "build_flags = -DBOARD_HAS_PSRAM"), (["arduino"], "-DBOARD_HAS_PSRAM", [], None),
    (["espidf"], "-DBOARD_HAS_PSRAM", ["CONFIG_SPIRAM=n\n"], "set CONFIG_SPIRAM=y in sdkconfig.defaults"),
    (["espidf"], "", ["A=y\nCONFIG_SPIRAM=y\n"], None), (["arduino", "espidf"], "", [], "set CONFIG_SPIRAM=y in sdk"),
])  # fmt: skip
def test_psram_needs_the_frameworks_setting(frameworks, flags, settings, remedy):
    said = psram.missing_setting(frameworks, flags, settings)
    assert said is None if remedy is None else said.startswith(remedy)


@pytest.mark.thorough
def test_partitions_lie_after_a_table_at_another_offset(make):
    """With the offset from ESP-IDF's settings, and with one that only CMake knows before the first build."""
    setting = {"sdkconfig.defaults": "CONFIG_PARTITION_TABLE_OFFSET=0x10000\n"}
    project = make("esp32s3", "espidf", "espressif32", **setting)
    project.run()
    image = project.build("board") / "partitions.bin"
    assert (0x10000, image) in project.images("board")
    rows = [(row.label, row.offset) for row in partitions.parse_binary(image.read_bytes())]
    assert rows == [("nvs", 0x11000), ("phy_init", 0x17000), ("factory", 0x20000), ("model", 0x120000)]
    (project.folder / "sdkconfig.board").unlink()
    (project.folder / "sdkconfig.defaults").rename(project.folder / "elsewhere")
    project.add_option("board_build.cmake_extra_args = elsewhere")
    assert "one at 0x8000; set board_upload.partition_table_offset = 0x10000" in project.refused()
    assert "Model: [" in project.run()


# ---- partition tables --------------------------------------------------------------------------------------------


def test_the_advised_table_is_written_on_request(make):
    """By -t tigris_table. With it the build succeeds, and a user's own table is not overwritten. esp32-s3-devkitc-1
    names default_8MB.csv for Arduino, which fills its chip."""
    project = make("esp32s3", "arduino", "espressif32")
    text = project.refused()
    assert "Shrinking `spiffs` from 1536 KB to 1472 KB and moving `coredump` down would make room" in text
    assert "pio run -t tigris_table" in text
    text = project.run("-t", "tigris_table")
    assert "Wrote partitions.csv" in text and "board_build.partitions = partitions.csv" in text
    written = project.folder / "partitions.csv"
    table = partitions.parse_csv(written.read_text("utf-8"), "csv")
    partitions.check(table, 8 << 20)
    assert partitions.find(table, "model").size == 256 << 10
    project.add_option("board_build.partitions = partitions.csv")
    assert "Model: [" in project.run()
    written.write_text(OTA_TABLE, "utf-8")
    refused = project.refused("-t", "tigris_table")
    assert "partitions.csv: the project already has this file, with another table" in refused
    assert written.read_text("utf-8") == OTA_TABLE


HOOK = f"pre:{Path(upload.__file__).with_name('hook.py')}"
#: A project, the first offsets of its table's rows, and the images beside the firmware.
TABLES = [
    # Arduino's table for the board, on a larger chip.
    ("esp32s3", "arduino", "espressif32", ["board_upload.flash_size = 16MB"], {"app0": 0x10000, "model": 0x800000},
     {0, 0x8000, 0xE000, 0x800000}),
    # A name by which Arduino recognises UF2 bootloaders.
    ("esp32s3", "arduino", "espressif32", ["board_build.partitions = own-tinyuf2.csv"], {"model": 0x190000},
     {0, 0x8000, 0xE000, 0x190000, 0x410000}),
    # Blank offsets become explicit.
    ("esp32c3", "espidf", "espressif32", [], {"nvs": 0x9000, "phy_init": 0xF000, "factory": 0x10000, "model": 0x110000},
     {0, 0x8000, 0x110000}),
    # A hook that is named twice acts once.
    ("esp32c3", "espidf", "pioarduino", [OWN, f"extra_scripts =\n  {HOOK}\n  {HOOK}"], {"model": 0x190000},
     {0, 0x8000, 0xE000, 0x190000}),
]  # fmt: skip


@pytest.mark.parametrize(("chip", "framework", "like", "options", "offsets", "images"), sampled(TABLES, fast=2))
def test_the_frameworks_table_is_the_base(make, chip, framework, like, options, offsets, images):
    project = make(chip, framework, like, *options, **{"own-tinyuf2.csv": OTA_TABLE})
    data = project.metadata("board")
    assert sorted(int(image["offset"], 0) for image in data["extra"]["flash_images"]) == sorted(images)
    assert any(str(path).endswith("/tigris") for path in data["includes"]["build"])
    (table,) = (project.build("board") / "tigris").glob("*.csv")
    found = {row.label: row.offset for row in partitions.parse_csv(table.read_text("utf-8"), "csv")}
    assert offsets.items() <= found.items() and list(found)[-1] == "model"
