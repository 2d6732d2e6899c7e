"""tigris_add_model in a CMake project whose ESP-IDF functions are recorded instead of run."""

from __future__ import annotations

import hashlib
import re
import shutil
import zlib

import numpy as np
import onnx
import pytest

from tests import retrained
from tests.compiler.models import make, node
from tests.networks.folders import OWN
from tigris_pio.format.records import Header

from .project import HERE, ROOT, Project, copy_compiler, link_component, words

ONE = "tigris_add_model(NAME digits MODEL models/digits.onnx MEM 64K)"


@pytest.fixture
def project(tmp_path):
    """One model in partition `model`, in folders with spaces and an umlaut."""
    base = tmp_path / "prüf project"
    shutil.copytree(HERE / "fake_idf", base)
    (base / "models").mkdir()
    shutil.copyfile(ROOT / "examples" / "digits" / "model" / "digits.onnx", base / "models" / "digits.onnx")
    variables = {
        "FAKE_COMPONENT": str(link_component(tmp_path)),
        "FAKE_IDF_PYTHON": str(copy_compiler(tmp_path)),
        "FAKE_CHIP": "esp32s3",
        "FAKE_ENCRYPTED": "OFF",
    }
    return Project(base, variables, {"TIGRIS_PYTHON": "", "IDF_PATH": str(tmp_path / "esp-idf")}, timeout=120)


#: What every project's first model asks for: firmware with the kernels of its models only.
KERNELS = [
    "define runtime PUBLIC TIGRIS_MODELS_BACKEND TIGRIS_DEFAULT_BACKEND=tigris_models_backend",
    "link runtime PRIVATE tigris_generated",
]


def calls(project):
    return (project.build_folder / "calls.txt").read_text("utf-8").splitlines()


def test_a_model_is_compiled_and_laid_out(project):
    project.configure()
    output = project.build()
    assert "Compiling model digits" in output
    assert "Model: [" in output
    plan = (project.build_folder / "tigris" / "digits.tgrs").read_bytes()
    assert (project.build_folder / "tigris" / "model.bin").read_bytes() == plan
    assert Header.unpack(plan).name.rstrip(b"\0") == b"digits"
    header = (project.build_folder / "tigris" / "tigris_models.h").read_text("utf-8")
    assert '"model"' in header
    assert "TIGRIS_MODEL_DIGITS = {" in header
    assert (project.build_folder / "tigris" / "tigris_model_digits.h").is_file()


def test_it_is_compiled_again_when_something_decisive_changed_only(project):
    project.configure()
    project.build()
    assert "no work to do" in project.build()
    project.edit("main/CMakeLists.txt", "64K", "32K")
    assert "Compiling model digits" in project.build()
    model = project.folder / "models" / "digits.onnx"
    model.write_bytes(model.read_bytes())
    output = project.build()
    assert "Compiling model digits" in output
    project.edit("../compiler/tigris_pio/compiler/plan/search.py", "from __future__", "# changed\nfrom __future__")
    assert "Compiling model digits" in project.build()
    new = project.folder / ".." / "compiler" / "tigris_pio" / "compiler" / "added.py"
    new.write_text("", "utf-8")
    assert "Compiling model digits" in project.build()
    new.unlink()
    project.build()
    assert "no work to do" in project.build()


def test_files_whose_content_stays_are_left_alone(project):
    project.configure()
    project.build()
    names = ("tigris_models.h", "tigris_model_digits.h", "model.bin")
    files = [project.build_folder / "tigris" / name for name in names]
    before = [path.stat().st_mtime_ns for path in files]
    model = project.folder / "models" / "digits.onnx"
    model.write_bytes(model.read_bytes())
    assert "Compiling model digits" in project.build()
    assert [path.stat().st_mtime_ns for path in files] == before


def test_a_model_trained_anew_changes_no_header(project):
    project.configure()
    project.build()
    headers = [project.build_folder / "tigris" / name for name in ("tigris_models.h", "tigris_model_digits.h")]
    plan = project.build_folder / "tigris" / "digits.tgrs"
    before, first = [path.stat().st_mtime_ns for path in headers], plan.read_bytes()
    retrained.digits(project.folder / "models" / "digits.onnx", weights=3)
    assert "Compiling model digits" in project.build()
    assert plan.read_bytes() != first
    assert [path.stat().st_mtime_ns for path in headers] == before
    retrained.digits(project.folder / "models" / "digits.onnx", input_scale=2.0)
    project.build()
    now = [path.stat().st_mtime_ns for path in headers]
    assert (now[0] == before[0], now[1] == before[1]) == (True, False)


def test_firmware_for_one_training_alone_has_its_checksum(project):
    project.edit("main/CMakeLists.txt", "MEM 64K", "MEM 64K MATCH exact CHECK no")
    project.configure()
    project.build()
    crc = Header.unpack((project.build_folder / "tigris" / "digits.tgrs").read_bytes()).crc32
    header = (project.build_folder / "tigris" / "tigris_models.h").read_text("utf-8")
    assert f"0x{crc:08x}u, /* this plan only */" in header
    assert "1, /* the checksum is not compared */" in header


def test_plans_have_pages_of_their_own_where_there_is_room(project):
    (project.folder / "main" / "CMakeLists.txt").write_text(
        f"{ONE}\n{ONE.replace('NAME digits', 'NAME second')}\n", "utf-8"
    )
    for size, offset in (("0x40000", "0x10000u"), ("0x10000", "0x5000u")):
        table = (project.folder / "partitions.csv").read_text("utf-8")
        (project.folder / "partitions.csv").write_text(
            re.sub(r"(?m)^(model,.*, 0x110000, )\w+", rf"\g<1>{size}", table), "utf-8"
        )
        project.configure()
        project.build()
        assert offset in (project.build_folder / "tigris" / "tigris_models.h").read_text("utf-8")


def test_flash_targets_before_esp_idf_6_1(project):
    project.configure()
    image = project.build_folder / "tigris" / "model.bin"
    assert calls(project) == [
        *KERNELS,
        "esptool_py_flash_target model-flash esptool_py.FLASH_ARGS esptool_py.FLASH_SUB_ARGS ALWAYS_PLAINTEXT",
        f"esptool_py_flash_to_partition model-flash model {image}",
        f"esptool_py_flash_to_partition flash model {image}",
    ]
    assert "Compiling model digits" in project.build("model-flash")


def test_a_partition_that_needs_encryption_is_flashed_encrypted(project):
    project.variables["FAKE_ENCRYPTED"] = "ON"
    project.configure()
    assert "esptool_py_flash_target model-flash esptool_py.FLASH_ARGS esptool_py.FLASH_SUB_ARGS" in calls(project)


def test_every_argument_reaches_the_compiler(project):
    (project.folder / "main" / "CMakeLists.txt").write_text(
        "tigris_add_model(NAME one MODEL models/digits.onnx MEM 64K+1M FLASH 2M COMPRESS lz4 COPY_WEIGHTS\n"
        "                 DIMS length=3 x:1=2 SET sr=16000 list=1,2\n"
        "                 STATE h_out=h c_out=c HOP 2 STREAM image y CORES 2)\n"
        "tigris_add_model(NAME two MODEL models/digits.onnx MEM 32K XIP PARTITION extra OFFSET 0x1000)\n",
        "utf-8",
    )
    project.configure()
    rules = (project.build_folder / "build.ninja").read_text("utf-8")
    commands = {name: line for line in rules.splitlines() for name in ("one", "two") if f"--name {name} " in line}
    for words_of_one in ("-m 64K+1M", "-f 2M", "--compress lz4", "--copy-weights", "--dim length=3 --dim x:1=2",
                         "--set sr=16000 --set list=1,2", "--state h_out=h --state c_out=c",
                         "--stream image --stream y", "--hop 2", "--cores 2"):
        assert f" {words_of_one} " in commands["one"]
    assert " -m 32K --name two --xip " in commands["two"]
    for absent in (" -f ", "--compress", "--copy-weights", "--dim", "--set", "--state", "--stream", "--hop", "--cores"):
        assert absent not in commands["two"]
    assert "two.tgrs extra 0x1000" in rules.replace('"', "").replace(str(project.build_folder / "tigris") + "/", "")


def test_weights_in_a_file_of_any_name_are_compiled_anew(project):
    """Also when only the .onnx says where they are now; a file that goes away is named."""
    folder = project.folder / "models"

    def train(location, value):
        weights = {"w": np.full((64, 64), value, np.float32)}
        model = make([node("MatMul", "x w", "y")], {"x": (1, 64)}, ["y"], weights)
        onnx.save(model, folder / "digits.onnx", save_as_external_data=True, location=location, size_threshold=0)
        return folder / location

    def plan():
        return (project.build_folder / "tigris" / "digits.tgrs").read_bytes()

    weights = train("weights 1.bin", 1)
    project.configure()
    project.build()
    first = plan()
    assert "no work to do" in project.build()
    weights.write_bytes(np.full((64, 64), 2, np.float32).tobytes())
    assert "Compiling model digits" in project.build()
    second = plan()
    assert first != second
    assert Header.unpack(first).source_sha256 != Header.unpack(second).source_sha256
    again = train("wéights#2.bin", 3)
    weights.unlink()
    project.build()
    assert "no work to do" in project.build()
    again.write_bytes(weights_of_zeros := bytes(64 * 64 * 4))
    assert "Compiling model digits" in project.build()
    assert weights_of_zeros in plan()
    again.unlink()
    assert "external data `wéights#2.bin` is missing" in words(project.try_build().stdout)


def test_flash_targets_since_esp_idf_6_1(project):
    project.variables["FAKE_REGISTERS"] = "ON"
    project.configure()
    image = project.build_folder / "tigris" / "model.bin"
    assert calls(project) == [
        *KERNELS,
        f"esp_partition_register_target model {image} DEPENDS tigris_models FLASH_IN_PROJECT",
    ]


def test_several_models_and_partitions(project):
    """One of them a TensorFlow Lite file."""
    speech = OWN / "micro_speech_int8.tflite"
    shutil.copyfile(speech, project.folder / "models" / "speech commands.tflite")
    (project.folder / "main" / "CMakeLists.txt").write_text(
        f"{ONE}\ntigris_add_model(NAME second MODEL ../models/digits.onnx MEM 64K OFFSET 0x20000 COPY_WEIGHTS)\n",
        "utf-8",
    )
    (project.folder / "after_project.cmake").write_text(
        'tigris_add_model(MODEL "models/speech commands.tflite" MEM 64K+64K XIP FLASH 128K PARTITION extra\n'
        "                 NAME third SLOTS 2 SLOT_SIZE 50000)\n",
        "utf-8",
    )
    project.configure()
    project.build()
    folder = project.build_folder / "tigris"
    plans = {name: (folder / f"{name}.tgrs").read_bytes() for name in ("digits", "second", "third")}
    assert (folder / "model.bin").read_bytes() == plans["digits"].ljust(0x20000, b"\xff") + plans["second"]
    assert (folder / "extra.bin").read_bytes() == b"\xff" * 0x2000 + plans["third"]
    assert Header.unpack(plans["third"]).flags & 1
    assert bytes(Header.unpack(plans["third"]).source_sha256) == hashlib.sha256(speech.read_bytes()).digest()
    assert Header.unpack(plans["second"]).fast_reserved > Header.unpack(plans["digits"]).fast_reserved == 0
    header = (folder / "tigris_models.h").read_text("utf-8")
    assert header.count("static const tigris_model ") == 3
    assert "0x20000u" in header
    assert "0x2000u, /* offset" in header and "0xd000u, /* bytes of each slot */" in header
    assert header.count("&TIGRIS_MODEL_THIRD_SLOTS,") == header.count("_SLOTS,") == 1
    assert '"extra"' in header
    assert sum("-flash model" in call or "-flash extra" in call for call in calls(project)) == 2


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        ("tigris_add_model(MEM 64K)", ["MODEL and MEM are needed"]),
        ("tigris_add_model(MODEL models/digits.onnx)", ["MODEL and MEM are needed"]),
        ("tigris_add_model(MODEL models/digit.onnx MEM 64K)", ["MODEL = models/digit.onnx", "no such file"]),
        ("tigris_add_model(MODEL models/digits.onnx MEM 64K SIZE 4)", ["unknown argument SIZE", "known are NAME"]),
        ("tigris_add_model(MODEL models/digits.onnx MEM)", ["MEM lacks its value"]),
        ("tigris_add_model(MODEL models/digits.onnx MEM 64K MATCH any)", ["MATCH = any: must be interface or exact"]),
        ("tigris_add_model(MODEL models/digits.onnx MEM 64K CHECK maybe)", ["CHECK = maybe: must be yes or no"]),
        ("tigris_add_model(MODEL models/digits.onnx MEM 64K SLOTS 3)", ["SLOTS = 3: must be 1 or 2"]),
        ("tigris_add_model(MODEL models/digits.onnx MEM 64K CORES 3)", ["CORES = 3: must be 1 or 2"]),
        ("tigris_add_model(MODEL models/digits.onnx MEM 64K SLOT_SIZE 64K)", ["SLOT_SIZE = 64K", "add SLOTS 2"]),
        ("tigris_add_model(MODEL models/digits.onnx MEM 64K SLOTS 2 MATCH exact)", ["SLOTS 2 with MATCH exact"]),
        (
            "tigris_add_model(MODEL models/digits.onnx MEM 64K BACKEND gpu)",
            ["BACKEND = gpu: must be auto, portable, esp-nn or pie"],
        ),
        (
            "tigris_add_model(MODEL models/digits.onnx MEM 64K BACKEND esp-nn)",
            ["BACKEND = esp-nn: the component is not part of the project", "idf.py add-dependency espressif/esp-nn"],
        ),
        ("tigris_add_model(NAME a-b MODEL models/digits.onnx MEM 64K)", ["NAME = a-b", "letters, digits"]),
        ("tigris_add_model(NAME 3kws MODEL models/digits.onnx MEM 64K)", ["NAME = 3kws", "no digit first"]),
        (f"{ONE}\n{ONE}", ["NAME = digits", "names must differ"]),
    ],
)
def test_wrong_arguments_stop_the_configuration(project, call, parts):
    (project.folder / "main" / "CMakeLists.txt").write_text(call, "utf-8")
    done = project.try_configure()
    assert done.returncode != 0
    for part in parts:
        assert part in words(done.stdout)


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (ONE.replace("64K", "lots"), ["MEM: 'lots' is no size"]),
        (ONE.replace("64K", "1K"), ["smallest", "(MEM "]),
        (ONE.replace("MEM", "PARTITION factory MEM"), ["partition `factory` is for an application"]),
        (ONE.replace("MEM", "PARTITION modell MEM"), ["no partition `modell`, only nvs, factory, model, extra"]),
        (ONE.replace("MEM", "SLOTS 2 SLOT_SIZE 4K MEM"), ["digits: the plan takes", "SLOT_SIZE 4096; give", "or more"]),
        (ONE.replace("MEM", "SLOTS 2 SLOT_SIZE 200K MEM"), ["partition `model` is too small", "2 slots of 204800"]),
        (ONE.replace("MEM", "OFFSET 0x100 MEM"), ["OFFSET 0x100 is no multiple", "0x1000"]),
        (
            ONE.replace("MEM", "OFFSET 0x3f000 MEM"),
            ["partition `model` is too small", "262144", "320K", "try COMPRESS lz4"],
        ),
        (
            f"{ONE}\n{ONE.replace('NAME digits', 'NAME second OFFSET 0x1000')}",
            ["second: OFFSET 0x1000 lies within digits, which ends at 0x5000"],
        ),
    ],
)
def test_what_the_compiler_refuses_stops_the_build(project, call, parts):
    (project.folder / "main" / "CMakeLists.txt").write_text(call, "utf-8")
    project.configure()
    done = project.try_build()
    assert done.returncode != 0
    assert "Traceback" not in done.stdout
    for part in parts:
        assert part in words(done.stdout)


def test_a_partition_that_is_made_larger_is_enough_for_the_next_build(project):
    project.edit("partitions.csv", "0x110000, 0x40000", "0x110000, 0x2000")
    project.configure()
    assert "partition `model` is too small" in words(project.try_build().stdout)
    project.edit("partitions.csv", "0x110000, 0x2000", "0x110000, 0x40000")
    project.build()


def test_without_a_compiler_one_command_is_shown(project, tmp_path):
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec "{project.variables["FAKE_IDF_PYTHON"]}" -S "$@"\n', "utf-8")
    bare.chmod(0o755)
    shutil.rmtree(tmp_path / "compiler")
    project.variables["FAKE_IDF_PYTHON"] = str(bare)
    project.environment = {**project.environment, "PATH": "/usr/bin:/bin"}
    done = project.try_configure()
    assert done.returncode != 0
    assert f'"{bare}" -m pip install FOLDER, a checkout of tigris-pio' in words(done.stdout)
    (tmp_path / "tigris-pio" / "pyproject.toml").touch()
    assert f'"{bare}" -m pip install "{tmp_path / "tigris-pio"}"' in words(project.try_configure().stdout)
    assert "-DTIGRIS_PYTHON=" in words(done.stdout)


def test_a_named_python_is_the_only_one_asked(project, tmp_path):
    project.variables["TIGRIS_PYTHON"] = str(tmp_path / "absent")
    done = project.try_configure()
    assert done.returncode != 0
    assert f"TIGRIS_PYTHON = {tmp_path / 'absent'} cannot be run" in words(done.stdout)


def test_the_environment_names_a_python_too(project):
    project.environment = {**project.environment, "TIGRIS_PYTHON": project.variables["FAKE_IDF_PYTHON"]}
    project.variables["FAKE_IDF_PYTHON"] = "/nonexistent/python"
    project.configure()
    project.build()


def test_the_command_on_the_path_is_the_last_resort(project, tmp_path):
    python = project.variables["FAKE_IDF_PYTHON"]
    commands = tmp_path / "commands"
    commands.mkdir()
    script = commands / "tigris"
    script.write_text(f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\nimport tigris_pio\n", "utf-8")
    script.chmod(0o755)
    project.variables["FAKE_IDF_PYTHON"] = "/nonexistent/python"
    project.environment = {**project.environment, "PATH": f"{commands}:/usr/bin:/bin"}
    project.configure()
    project.build()


@pytest.mark.parametrize("other", ["COPY_WEIGHTS", "COMPRESS lz4", "COMPRESS LZ4"])
def test_xip_and_what_copies_weights_are_refused_together(project, other):
    project.edit("main/CMakeLists.txt", "MEM 64K", f"MEM 64K XIP {other}")
    done = project.try_configure()
    assert done.returncode != 0
    assert f"tigris_add_model: XIP with {other}: the one promises that no weight is copied" in words(done.stdout)


@pytest.mark.parametrize("name", ["digits", "DIGITS"])
def test_two_models_have_two_names_in_c(project, name):
    project.edit("main/CMakeLists.txt", ONE, f"{ONE}\n{ONE.replace('NAME digits', f'NAME {name}')}")
    done = project.try_configure()
    assert done.returncode != 0
    assert f"NAME = {name}: two models have this name (digits); names must differ, and" in words(done.stdout)


@pytest.mark.parametrize("sign", ["the hook's variable", "the framework's folder"])
def test_platformio_compiles_and_flashes_itself(project, tmp_path, sign):
    folder = str(tmp_path / "packages" / "framework-espidf@3.50502.0")
    found = {"TIGRIS_PLATFORMIO": "1"} if sign == "the hook's variable" else {"IDF_PATH": folder}
    project.environment = {**project.environment, **found}
    (project.folder / "models" / "digits.onnx").unlink()
    output = project.configure()
    assert "tigris" not in output.replace(str(tmp_path), "")
    assert calls(project) == []


def test_a_model_that_is_c_is_a_library(project):
    project.variables["FAKE_LANGUAGE"] = "C"
    (project.folder.parent / "compiler" / "runtime").symlink_to(ROOT / "runtime")
    project.edit("main/CMakeLists.txt", ONE, ONE[:-1] + " MODE c)")
    project.configure()
    assert calls(project) == ["link tigris_generated INTERFACE tigris_c_digits"]
    assert "Writing model digits as C" in project.build("tigris_c_digits")
    folder = project.build_folder / "tigris" / "c" / "digits"
    assert {path.name for path in folder.iterdir()} == {"digits.c", "digits.h", "digits.d"}
    assert "int digits_run(" in (folder / "digits.h").read_text("utf-8")
    assert "no work to do" in project.build("tigris_c_digits")
    assert not (project.build_folder / "tigris" / "tigris_models.h").exists()
    project.edit("main/CMakeLists.txt", "64K", "32K")
    assert "Writing model digits as C" in project.build("tigris_c_digits")


def test_weights_of_a_model_that_is_c_are_flashed_alone(project):
    """Beside a plan in the same partition, too."""
    project.variables["FAKE_LANGUAGE"] = "C"
    (project.folder.parent / "compiler" / "runtime").symlink_to(ROOT / "runtime")
    both = f"{ONE.replace('NAME digits', 'NAME sum')[:-1]} MODE c WEIGHTS partition)"
    project.edit("main/CMakeLists.txt", ONE, both)
    project.configure()
    folder = project.build_folder / "tigris"
    image = folder / "model.bin"
    assert calls(project) == [
        "link tigris_generated INTERFACE tigris_c_sum",
        "esptool_py_flash_target model-flash esptool_py.FLASH_ARGS esptool_py.FLASH_SUB_ARGS ALWAYS_PLAINTEXT",
        f"esptool_py_flash_to_partition model-flash model {image}",
        f"esptool_py_flash_to_partition flash model {image}",
    ]
    weights = folder / "c" / "sum" / "sum_weights.bin"
    said = project.build("model-flash")
    assert f"Weights of sum: {weights.stat().st_size} bytes at 0x0 of partition model, which has 262144" in said
    assert image.read_bytes() == weights.read_bytes()
    assert "const void *weights" in (folder / "c" / "sum" / "sum.h").read_text("utf-8")
    header = (folder / "tigris_weights.h").read_text("utf-8")
    for line in (
        '#define SUM_WEIGHTS_PARTITION "model"',
        "#define SUM_WEIGHTS_OFFSET 0x0U /* in the partition */",
        f"#define SUM_WEIGHTS_CRC32 0x{zlib.crc32(weights.read_bytes()):08x}U",
    ):
        assert line in header
    assert not (folder / "tigris_models.h").exists()
    assert "no work to do" in project.build("model-flash")

    first = weights.read_bytes()
    retrained.digits(project.folder / "models" / "digits.onnx", weights=3)
    assert "Writing model sum as C" in project.build("model-flash")
    assert first != weights.read_bytes() == image.read_bytes()

    project.edit("main/CMakeLists.txt", both, f"{ONE}\n{both}")
    project.configure()
    project.build("model-flash")
    plan = (folder / "digits.tgrs").read_bytes()
    assert image.read_bytes() == plan.ljust(0x10000, b"\xff") + weights.read_bytes()
    assert "SUM_WEIGHTS_OFFSET 0x10000U" in (folder / "tigris_weights.h").read_text("utf-8")
    assert "SUM" not in (folder / "tigris_models.h").read_text("utf-8")


def test_a_name_that_c_has_already_is_another_one(project):
    """The build expects the files that are written, and says what to include."""
    project.variables["FAKE_LANGUAGE"] = "C"
    (project.folder.parent / "compiler" / "runtime").symlink_to(ROOT / "runtime")
    named = ONE.replace("digits MODEL", "string MODEL")
    project.edit("main/CMakeLists.txt", ONE, f"{named[:-1]} MODE c WEIGHTS partition)")
    said = words(project.configure())
    assert "NAME = string: the model is model_string in C" in said and "include model_string.h" in said
    assert calls(project)[0] == "link tigris_generated INTERFACE tigris_c_model_string"
    project.build("tigris_c_model_string", "model-flash")
    folder = project.build_folder / "tigris" / "c" / "model_string"
    endings = (".c", ".h", ".d", "_weights.bin")
    assert {path.name for path in folder.iterdir()} == {f"model_string{ending}" for ending in endings}
    assert "#define MODEL_STRING_WEIGHTS_CRC32" in (folder.parents[1] / "tigris_weights.h").read_text("utf-8")
    assert "no work to do" in project.build("tigris_c_model_string", "model-flash")


def test_two_models_that_are_one_in_c_are_refused(project):
    (project.folder.parent / "compiler" / "runtime").symlink_to(ROOT / "runtime")
    both = "\n".join(f"{ONE.replace('digits MODEL', f'{name} MODEL')[:-1]} MODE c)" for name in ("max", "model_max"))
    project.edit("main/CMakeLists.txt", ONE, both)
    said = words(project.try_configure().stdout)
    assert "tigris_add_model: NAME = model_max: two models have this name (model_max)" in said


@pytest.mark.parametrize(("arguments", "message"), [
    ("WEIGHTS partition", "WEIGHTS = partition: is for models that are C, a plan has its weights in it; add MODE c"),
    ("MODE c WEIGHTS flash", "WEIGHTS = flash: must be c or partition"),
    ("MODE c PARTITION nn", "PARTITION = nn: is for plans, and MODE c makes none; leave one out, or add WEIGHTS part"),
    ("MODE c WEIGHTS partition SLOTS 2", "SLOTS = 2: is for plans, and MODE c makes none; leave one out"),
])  # fmt: skip
def test_weights_that_make_no_sense_are_refused(project, arguments, message):
    project.edit("main/CMakeLists.txt", ONE, f"{ONE[:-1]} {arguments})")
    assert f"tigris_add_model: {message}" in words(project.try_configure().stdout)


@pytest.mark.parametrize(("chip", "component", "uses"), [
    ("esp32s3", "espressif__esp-nn", True), ("esp32p4", "esp-nn", True), ("esp32s3", "", False),
    ("esp32c3", "espressif__esp-nn", False),
])  # fmt: skip
def test_the_kernels_are_the_fastest_that_the_project_has(project, chip, component, uses):
    """With `auto`: ESP-NN where it has assembly, else the portable ones; a line says what is lost without."""
    project.variables |= {"FAKE_CHIP": chip, "FAKE_COMPONENTS": component}
    configured = words(project.configure())
    assert ("define runtime PRIVATE TIGRIS_ESP_NN" in calls(project)) is uses
    assert ("it convolutions take 4 to 6 times the instructions" in configured) is (not uses and chip == "esp32s3")
    if uses:
        project.build()
        header = (project.build_folder / "tigris" / "tigris_model_digits.h").read_text("utf-8")
        assert "&tigris_esp_nn_conv_2d_int8" in header


def test_the_kernels_in_vector_instructions_are_asked_for(project):
    project.edit("main/CMakeLists.txt", ONE, f"{ONE[:-1]} BACKEND pie)")
    project.variables |= {"FAKE_CHIP": "esp32c3"}
    refused = words(project.try_configure().stdout)
    assert "BACKEND = pie: is for esp32s3, and the project's target is esp32c3; leave it out" in refused
    project.variables |= {"FAKE_CHIP": "esp32s3"}
    project.configure()
    assert "define runtime PRIVATE TIGRIS_PIE" in calls(project)
    project.build()
    assert "&tigris_pie_conv_2d_int8" in (project.build_folder / "tigris/tigris_model_digits.h").read_text("utf-8")


@pytest.mark.parametrize("argument", ["PARTITION nn", "SLOTS 2", "BACKEND esp-nn", "BACKEND pie"])
def test_a_model_that_is_c_goes_without_what_is_flashed_alone(project, argument):
    project.edit("main/CMakeLists.txt", ONE, f"{ONE[:-1]} MODE c {argument})")
    said = words(project.try_configure().stdout)
    name, value = argument.split()
    assert f"tigris_add_model: {name} = {value}:" in said and "plans" in said
