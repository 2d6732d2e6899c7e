"""tigris_add_model in a CMake project that records calls of ESP-IDF's functions. The steps that ninja would run
(Project.planned) show whether a change is noticed; few tests build the plan."""

import hashlib
import itertools
import os
import re
import shutil
import zlib
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests import retrained
from tests.compiler.models import make, node
from tests.harness.command import tigris
from tests.networks.folders import OWN
from tigris_pio import compile_model
from tigris_pio.format.records import Header

from .project import HERE, ROOT, Project, copy_compiler, link_component, python_with, tool, words

ONE = "tigris_add_model(NAME digits MODEL models/digits.onnx MEM 64K)"


@pytest.fixture
def project(tmp_path):
    """One model in partition `model`, in folders with spaces and an umlaut."""
    base = tmp_path / "prüf project"
    shutil.copytree(HERE / "fake_idf", base)
    (base / "models").mkdir()
    shutil.copyfile(retrained.DIGITS, base / "models" / "digits.onnx")
    component = link_component(tmp_path)
    variables = {"FAKE_COMPONENT": str(component), "FAKE_IDF_PYTHON": str(python_with(ROOT / "tigris_pio", tmp_path)),
                 "FAKE_CHIP": "esp32s3", "FAKE_ENCRYPTED": "OFF"}  # fmt: skip
    return Project(base, variables, {"TIGRIS_PYTHON": "", "IDF_PATH": str(tmp_path / "esp-idf")}, timeout=120)


def manifest_dependencies(folder: Path) -> list[str]:
    """The lines of the dependencies in a component's manifest, without comments."""
    lines = (folder / "idf_component.yml").read_text("utf-8").partition("\ndependencies:\n")[2].splitlines()
    own = itertools.takewhile(lambda line: line.startswith((" ", "#")), lines)
    return [text for line in own if (text := line.partition("#")[0].rstrip())]


def test_the_component_has_its_name_in_a_checkout_of_any_name(project, tmp_path):
    """All its files are found, and its dependencies are those of the component itself."""
    checkout = tmp_path / "tigris-pio-main"
    (tmp_path / "tigris-pio").rename(checkout)
    own = checkout / "cmake" / "tigris-pio"
    script = tmp_path / "registers.cmake"
    script.write_text(
        "macro(idf_component_register)\nmessage(\"${ARGV}\")\nreturn()\nendmacro()\n"
        f'include("{own}/CMakeLists.txt")\nmessage("end")\n', "utf-8")  # fmt: skip
    done = project.run(tool("cmake"), "-P", script)
    *_, said, end = done.stdout.strip().splitlines()
    paths = [Path(word) for word in said.split(";") if "/" in word]
    assert end == "end" and len(paths) >= 6 and all(path.is_absolute() and path.is_dir() for path in paths)
    project.variables["FAKE_COMPONENT"] = str(own)
    project.configure()
    ours, same = (manifest_dependencies(folder) for folder in (own, ROOT))
    assert ours == same and len(ours) == 5
    example = ROOT / "examples" / "digits-esp32s3-espidf" / "main"
    (path,) = re.findall(r"tigris-pio:\n    path: (.*)", (example / "idf_component.yml").read_text("utf-8"))
    assert (example / path).resolve() == ROOT / "cmake" / "tigris-pio"


def with_arguments(arguments: str, name: str = "digits") -> str:
    """The call with further arguments and another name."""
    return f"{ONE.replace('NAME digits', f'NAME {name}')[:-1]} {arguments})"


def call(project, *calls):
    (project.folder / "main" / "CMakeLists.txt").write_text("\n".join(calls), "utf-8")


def train(model: Path, value: int, **external: object) -> None:
    """Writes a model of one layer with this weight everywhere."""
    weights = {"w": np.full((64, 64), value, np.float32)}
    onnx.save(make([node("MatMul", "x w", "y")], {"x": (1, 64)}, ["y"], weights), model, **external)


#: Skips CMake's tests of the compiler.
IN_C = {"FAKE_LANGUAGE": "C", "CMAKE_C_COMPILER_WORKS": "1", "CMAKE_C_ABI_COMPILED": "1"}


def recorded(project):
    """The recorded calls of ESP-IDF's functions."""
    return (project.build_folder / "calls.txt").read_text("utf-8").splitlines()


#: Firmware with plans links the kernels of its models only.
KERNELS = [
    "define runtime PUBLIC TIGRIS_MODELS_BACKEND TIGRIS_DEFAULT_BACKEND=tigris_models_backend",
    "link runtime PRIVATE tigris_generated",
    "define runtime PRIVATE TIGRIS_PIE",
]


def test_models_and_partitions(project):
    """One model is a TensorFlow Lite file that is added after project()."""
    speech = OWN / "micro_speech_int8.tflite"
    shutil.copyfile(speech, project.folder / "models" / "speech commands.tflite")
    call(project, with_arguments("OFFSET 0x20000 COPY_WEIGHTS MATCH exact CHECK no"))
    (project.folder / "after_project.cmake").write_text(
        'tigris_add_model(MODEL "models/speech commands.tflite" MEM 64K+64K XIP FLASH 128K PARTITION extra\n'
        "                 NAME second SLOTS 2 SLOT_SIZE 50000)\n",
        "utf-8",
    )
    project.configure()
    said = project.build()
    assert "Compiling model digits" in said
    assert "Model: [" in said
    folder = project.build_folder / "tigris"
    plans = {name: (folder / f"{name}.tgrs").read_bytes() for name in ("digits", "second")}
    headers = {name: Header.unpack(plan) for name, plan in plans.items()}
    assert (folder / "model.bin").read_bytes() == b"\xff" * 0x20000 + plans["digits"]
    assert (folder / "extra.bin").read_bytes() == b"\xff" * 0x2000 + plans["second"]
    assert headers["digits"].name.rstrip(b"\0") == b"digits"
    assert headers["digits"].fast_reserved > 0
    assert headers["second"].flags & 1
    assert bytes(headers["second"].source_sha256) == hashlib.sha256(speech.read_bytes()).digest()
    text = (folder / "tigris_models.h").read_text("utf-8")
    for line in ("TIGRIS_MODEL_DIGITS = {", '"model"', '"extra"', "0x20000u", "0x2000u, /* offset",
                 "0xd000u, /* bytes of each slot */", f"0x{headers['digits'].crc32:08x}u, /* this plan only */",
                 "1, /* the checksum is not compared */"):  # fmt: skip
        assert line in text
    assert text.count("&TIGRIS_MODEL_SECOND_SLOTS,") == text.count("_SLOTS,") == 1
    assert (folder / "tigris_model_digits.h").is_file()
    assert sum("-flash model" in line or "-flash extra" in line for line in recorded(project)) == 2
    assert "no work to do" in project.planned()


def test_a_model_is_compiled_again_only_after_a_relevant_change(project):
    """Another partition table places the plan again only. Other weights change the plan and no header."""
    package = Path(copy_compiler(project.folder.parent)).with_name("compiler") / "tigris_pio" / "compiler"
    project.edit("partitions.csv", "0x110000, 0x40000", "0x110000, 0x2000")
    project.configure()
    assert "partition `model` is too small" in refused(project)
    project.edit("partitions.csv", "0x110000, 0x2000", "0x110000, 0x40000")
    assert "Compiling" not in project.build()
    assert "no work to do" in project.planned()
    project.edit("main/CMakeLists.txt", "64K", "32K")
    assert "Compiling model digits" in project.planned()
    project.edit("main/CMakeLists.txt", "32K", "64K")
    source = package / "plan" / "search.py"
    before = source.stat().st_mtime
    source.touch()
    assert "Compiling model digits" in project.planned()
    os.utime(source, (before, before))
    (package / "added.py").touch()
    assert "Compiling model digits" in project.planned()
    (package / "added.py").unlink()
    assert "no work to do" in project.planned()

    folder = project.build_folder / "tigris"
    headers = [folder / name for name in ("tigris_models.h", "tigris_model_digits.h")]
    before, plan = [path.stat().st_mtime_ns for path in headers], (folder / "digits.tgrs").read_bytes()
    retrained.digits(project.folder / "models" / "digits.onnx", weights=3)
    assert "Compiling model digits" in project.build()
    assert plan != (folder / "digits.tgrs").read_bytes() == (folder / "model.bin").read_bytes()
    assert [path.stat().st_mtime_ns for path in headers] == before


def test_external_weights_of_any_name_are_compiled_again(project):
    """Also if only the .onnx names their new file, and if that is removed."""
    folder = project.folder / "models"

    def train_beside(location, value):
        train(folder / "digits.onnx", value, save_as_external_data=True, location=location, size_threshold=0)
        return folder / location

    first = train_beside("weights 1.bin", 1)
    project.configure()
    project.build()
    assert "no work to do" in project.planned()
    first.touch()
    assert "Compiling model digits" in project.planned()
    second = train_beside("wéights#2.bin", 3)
    first.unlink()
    project.build()
    assert "no work to do" in project.planned()
    plan = (project.build_folder / "tigris" / "digits.tgrs").read_bytes()
    assert np.full(64 * 64, 3, np.float32).tobytes() in plan
    second.unlink()
    assert "Compiling model digits" in project.planned()


def test_every_argument_reaches_the_compiler(project):
    call(project, "tigris_add_model(NAME one MODEL models/digits.onnx MEM 64K+1M FLASH 2M COMPRESS lz4 COPY_WEIGHTS\n"
         "DIMS length=3 x:1=2 SET sr=16000 list=1,2 LIMITS nodes=9 STATE h_out=h c_out=c HOP 2 STREAM image y CORES 2)",
         "tigris_add_model(NAME two MODEL models/digits.onnx MEM 32K XIP PARTITION extra OFFSET 0x1000)")  # fmt: skip
    project.configure()
    rules = (project.build_folder / "build.ninja").read_text("utf-8")
    commands = {name: line for line in rules.splitlines() for name in ("one", "two") if f"--name {name} " in line}
    for words_of_one in ("-m 64K+1M", "-f 2M", "--compress lz4", "--copy-weights", "--dim length=3 --dim x:1=2",
                         "--set sr=16000 --set list=1,2", "--state h_out=h --state c_out=c",
                         "--stream image --stream y", "--hop 2", "--cores 2", "--limit nodes=9"):  # fmt: skip
        assert f" {words_of_one} " in commands["one"]
    assert " -m 32K --name two --xip " in commands["two"]
    for absent in (" -f ", "--compress", "--copy-weights", "--dim", "--set", "--state", "--stream", "--hop", "--cores"):
        assert absent not in commands["two"]
    assert "two.tgrs extra 0x1000" in rules.replace('"', "").replace(str(project.build_folder / "tigris") + "/", "")


def test_a_key_reaches_the_compiler_and_the_runtime(project):
    (project.folder / "key.pem").write_text("a key")
    call(project, with_arguments("SIGN key.pem SECURITY_VERSION 2"))
    project.configure()
    (command,) = (line for line in (project.build_folder / "build.ninja").read_text("utf-8").splitlines()
                  if " --security-version 2 " in line)  # fmt: skip
    assert f" --sign {project.folder / 'key.pem'} " in command.replace('"', "")
    made = {"define runtime PRIVATE TIGRIS_SIGNED", "link runtime PRIVATE mbedtls.COMPONENT_LIB"}
    assert made <= set(recorded(project))


TARGET = "esptool_py_flash_target model-flash esptool_py.FLASH_ARGS esptool_py.FLASH_SUB_ARGS"
FLASHED = ["esptool_py_flash_to_partition model-flash model IMAGE", "esptool_py_flash_to_partition flash model IMAGE"]


@pytest.mark.parametrize(("variables", "expected"), [
    ({}, [f"{TARGET} ALWAYS_PLAINTEXT", *FLASHED]), ({"FAKE_ENCRYPTED": "ON"}, [TARGET, *FLASHED]),
    ({"FAKE_REGISTERS": "ON"}, ["esp_partition_register_target model IMAGE DEPENDS tigris_models FLASH_IN_PROJECT"]),
], ids=["before ESP-IDF 6.1", "encrypted", "since ESP-IDF 6.1"])  # fmt: skip
def test_flash_targets(project, variables, expected):
    project.variables |= variables
    project.configure()
    image = str(project.build_folder / "tigris" / "model.bin")
    assert recorded(project) == [*KERNELS, *(line.replace("IMAGE", image) for line in expected)]


@pytest.mark.thorough
def test_a_plan_that_the_firmware_would_refuse_is_not_flashed_alone(project):
    """Firmware is flashed whole, or by the target app-flash; one of two models accepts other scales."""
    model, folder = project.folder / "models" / "digits.onnx", project.build_folder / "tigris"
    call(project, ONE, with_arguments("MATCH shape PARTITION extra", "shaped"), "add_custom_target(app-flash)")
    project.configure()
    project.build("model-flash")
    assert not (folder / "flashed.json").exists()
    project.build("flash")
    retrained.digits(model, weights=3)
    project.build("model-flash", "extra-flash")
    before = (folder / "flashed.json").read_bytes()
    retrained.digits(model, input_scale=2.0)
    said = project.try_build("model-flash")
    assert said.returncode != 0 and "Error: model-flash: the firmware that was flashed last" in said.stdout
    assert "\n  digits, input image: scale " in said.stdout and "everything: idf.py flash. To keep" in said.stdout
    project.build("extra-flash")
    assert (folder / "flashed.json").read_bytes() == before
    assert "TIGRIS_MODEL_SHAPED_SHAPE_CRC32," in (folder / "tigris_models.h").read_text("utf-8")
    project.build("app-flash")
    project.build("model-flash")


#: Calls, or arguments after the required ones, and a part of the message.
WRONG = {
    "SIZE 4": "unknown argument SIZE",
    "FLASH": "FLASH lacks its value",
    "MATCH any": "MATCH = any: must be interface, shape or exact",
    "SIGN key.pem": "SIGN = key.pem: there is no such file",
    "SECURITY_VERSION 1": "SECURITY_VERSION = 1: is for signed plans; add SIGN key.pem",
    f"{ONE}\n{with_arguments('SIGN models/digits.onnx', 'b')}": "SIGN = models/digits.onnx: another model has SIGN",
    "SLOT_SIZE 64K": "SLOT_SIZE = 64K: is for models with two slots; add SLOTS 2",
    "SLOTS 2 MATCH exact": "SLOTS 2 with MATCH exact",
    "OPTIMIZE fast": "OPTIMIZE = fast: must be speed or size",
    "BACKEND gpu": "BACKEND = gpu: must be auto, portable, esp-nn or pie",
    "BACKEND esp-nn": "BACKEND = esp-nn: the component is not part of the project",
    "BACKEND pie": "BACKEND = pie: is for esp32s3, but the project's target is esp32c3; leave it out",
    "XIP COMPRESS LZ4": "XIP with COMPRESS LZ4: the first promises that no weight is copied",
    "WEIGHTS partition": "WEIGHTS = partition: is for models compiled as C, a plan contains its weights; add MODE c",
    "MODE c WEIGHTS partition SLOTS 2": "SLOTS = 2: is for plans, but MODE c makes none; leave one out",
    "MODE c PARTITION nn": "PARTITION = nn: is for plans, but MODE c makes none; leave one out, or add WEIGHTS part",
    "MODE c BACKEND pie": "BACKEND = pie: only plans call its kernels",
    "tigris_add_model(MODEL models/digits.onnx)": "MODEL and MEM are needed",
    "tigris_add_model(MODEL models/digit.onnx MEM 64K)": "MODEL = models/digit.onnx: there is no such file",
    "tigris_add_model(NAME 3kws MODEL models/digits.onnx MEM 64K)": "NAME = 3kws: use letters, digits",
    f"{ONE}\n{with_arguments('', 'DIGITS')}": "NAME = DIGITS: two models have this name (digits); names must differ",
    f"{with_arguments('OPTIMIZE size')}\n{with_arguments('OPTIMIZE speed', 'b')}":
        "OPTIMIZE = speed: another model has OPTIMIZE size, and the runtime is compiled once; give all of",
    f"{with_arguments('MODE c', 'max')}\n{with_arguments('MODE c', 'model_max')}":
        "NAME = model_max: two models have this name (model_max)",
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG.items(), ids=WRONG)
def test_wrong_arguments_stop_the_configuration(project, text, message):
    call(project, text if text.startswith("tigris") else with_arguments(text))
    project.variables["FAKE_CHIP"] = "esp32c3"
    done = project.try_configure()
    assert done.returncode != 0
    assert f"tigris_add_model: {message}" in words(done.stdout)


def refused(project):
    """The message of a failing build."""
    done = project.try_build()
    assert done.returncode != 0
    assert "Traceback" not in done.stdout
    return words(done.stdout)


def test_an_error_of_the_compiler_stops_the_build(project):
    call(project, ONE.replace("64K", "1K"))
    project.configure()
    assert "(MEM " in refused(project)


#: Arguments for a plan's place, and parts of the message.
MISPLACED = [
    (["factory", "auto"], ["partition `factory` is for an application"]),
    (["modell", "auto"], ["no partition `modell`, only nvs, factory, model, extra"]),
    (["model", "auto", "--slots", "digits", "--slot-size", "digits", "4K"],
     ["digits: the plan takes", "SLOT_SIZE 4096; give", "or more"]),
    (["model", "0x100"], ["OFFSET 0x100 is no multiple", "0x1000"]),
    (["model", "0x3f000"], ["partition `model` is too small", "262144", "320K", "try COMPRESS lz4"]),
    (["model", "0", "--model", "second", "PLAN", "model", "0x1000"],
     ["second: OFFSET 0x1000 lies within digits, which ends at 0x5000"]),
]  # fmt: skip


@pytest.mark.parametrize(("place", "parts"), MISPLACED)
def test_misplaced_plans_are_refused_with_cmakes_arguments(tmp_path, monkeypatch, place, parts):
    """By the command that the build runs."""
    monkeypatch.setenv("TIGRIS_CALLER", "cmake")
    plan = tmp_path / "digits.tgrs"
    compile_model(retrained.DIGITS, fast="64K").save(plan)
    table = HERE / "fake_idf" / "partitions.csv"
    arguments = [plan if word == "PLAN" else word for word in ("PLAN", *place)]
    done = tigris("layout", "--model", "digits", *arguments, "--table", table, "-o", tmp_path, status=None)
    assert done.returncode != 0
    for part in parts:
        assert part in words(done.stderr)


def test_without_a_compiler_one_command_is_shown(project, tmp_path):
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nPYTHONPATH= exec "{shutil.which("python3", path="/usr/bin")}" -S "$@"\n', "utf-8")
    bare.chmod(0o755)
    project.variables["FAKE_IDF_PYTHON"] = str(bare)
    project.environment = {**project.environment, "PATH": "/usr/bin:/bin"}
    done = project.try_configure()
    assert done.returncode != 0
    assert f'"{bare}" -m pip install FOLDER, a checkout of tigris-pio' in words(done.stdout)
    (tmp_path / "tigris-pio" / "pyproject.toml").touch()
    assert f'"{bare}" -m pip install "{tmp_path / "tigris-pio"}"' in words(project.try_configure().stdout)
    assert "-DTIGRIS_PYTHON=" in words(done.stdout)
    project.variables["TIGRIS_PYTHON"] = str(tmp_path / "absent")
    said = words(project.try_configure().stdout)
    assert f"TIGRIS_PYTHON = {tmp_path / 'absent'} cannot be run. Give the path of a Python" in said


@pytest.mark.parametrize("found_by", ["environment", "command on the path"])
def test_other_pythons_that_are_searched(project, tmp_path, found_by):
    python = project.variables["FAKE_IDF_PYTHON"]
    project.variables["FAKE_IDF_PYTHON"] = "/nonexistent/python"
    if found_by == "environment":
        project.environment = {**project.environment, "TIGRIS_PYTHON": python}
    else:
        (script := tmp_path / "commands" / "tigris").parent.mkdir()
        script.write_text(f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\nimport tigris_pio\n", "utf-8")
        script.chmod(0o755)
        project.environment = {**project.environment, "PATH": f"{script.parent}:/usr/bin:/bin"}
    project.configure()
    assert f'"{python}" -m tigris_pio compile' in (project.build_folder / "build.ninja").read_text("utf-8")


@pytest.mark.parametrize("sign", ["the hook's variable", "the framework's folder"])
def test_platformio_compiles_and_flashes_itself(project, tmp_path, sign):
    folder = str(tmp_path / "packages" / "framework-espidf@3.50502.0")
    found = {"TIGRIS_PLATFORMIO": "1"} if sign == "the hook's variable" else {"IDF_PATH": folder}
    project.environment = {**project.environment, **found}
    (project.folder / "models" / "digits.onnx").unlink()
    output = project.configure()
    assert "tigris" not in output.replace(str(tmp_path), "")
    assert recorded(project) == []


def test_weights_of_a_model_compiled_as_c_are_flashed(project):
    """After a plan in the same partition. C has a function of the model's name."""
    project.variables |= IN_C
    train(project.folder / "models" / "digits.onnx", 1)
    call(project, ONE, with_arguments("MODE c WEIGHTS partition", "string"))
    said = words(project.configure())
    assert "so the model is model_string in C" in said and "include model_string.h" in said
    assert recorded(project)[len(KERNELS)] == "link tigris_generated INTERFACE tigris_c_model_string"
    said = project.build("tigris_c_model_string", "model-flash")
    assert "Writing model model_string as C" in said
    folder = project.build_folder / "tigris"
    endings = (".c", ".h", ".d", "_weights.bin")
    assert {path.name for path in (folder / "c/model_string").iterdir()} == {f"model_string{end}" for end in endings}
    assert "const void *weights" in (folder / "c/model_string/model_string.h").read_text("utf-8")
    weights = (folder / "c/model_string/model_string_weights.bin").read_bytes()
    plan = (folder / "digits.tgrs").read_bytes()
    assert (folder / "model.bin").read_bytes() == plan.ljust(0x10000, b"\xff") + weights
    assert f"Weights of model_string: {len(weights)} bytes at 0x10000 of partition model, which has 262144" in said
    header = (folder / "tigris_weights.h").read_text("utf-8")
    for line in ('PARTITION "model"', "OFFSET 0x10000U ", f"CRC32 0x{zlib.crc32(weights):08x}U"):
        assert f"#define MODEL_STRING_WEIGHTS_{line}" in header
    assert "STRING" not in (folder / "tigris_models.h").read_text("utf-8")
    assert "no work to do" in project.planned("tigris_c_model_string", "tigris_models")
    train(project.folder / "models" / "digits.onnx", 2)
    planned = project.planned("model-flash")
    assert "Writing model model_string as C" in planned and "Laying out models in flash" in planned


def test_a_project_without_a_plan(project):
    """Its model is compiled as C: either nothing is flashed beside the firmware, or the weights."""
    project.variables |= IN_C
    image = str(project.build_folder / "tigris" / "model.bin")
    flashed = [f"{TARGET} ALWAYS_PLAINTEXT", *(line.replace("IMAGE", image) for line in FLASHED)]
    for weights, targets in (("c", []), ("partition", flashed)):
        call(project, with_arguments(f"MODE c WEIGHTS {weights}"))
        project.configure()
        assert recorded(project) == ["link tigris_generated INTERFACE tigris_c_digits", *targets]
        assert "tigris_models.h" not in (project.build_folder / "build.ninja").read_text("utf-8")


def add_esp_nn(project, component, manifest):
    """Adds the component's folder with a manifest."""
    (folder := project.folder / "managed_components" / component).mkdir(parents=True, exist_ok=True)
    (folder / "idf_component.yml").write_text(f"{manifest}\ndependencies:\n  idf:\n    version: \">=4.2\"\n", "utf-8")


def test_other_releases_of_esp_nn_are_refused(project):
    project.variables |= {"FAKE_CHIP": "esp32s3", "FAKE_COMPONENTS": "esp-nn"}
    call(project, with_arguments("BACKEND esp-nn"))
    for manifest, said in (("version: 1.2.3~1", ""), ('version: "1.2.2"', "1.2.2, whose outputs may be wrong;"),
                           ("url: none", "of no known release (its idf_component.yml names none);")):  # fmt: skip
        add_esp_nn(project, "esp-nn", manifest)
        done = project.try_configure()
        assert (done.returncode == 0) is (said == "")
        refusal = (f"/managed_components/esp-nn is {said} the release with the portable kernels' outputs is "
                   '1.2.3; write espressif/esp-nn: ">=1.2.3,<1.2.4"')  # fmt: skip
        assert not said or refusal in words(done.stdout)


@pytest.mark.parametrize(("chip", "component", "arguments", "backend", "definition"), [
    ("esp32p4", "espressif__esp-nn", "", "esp-nn", "TIGRIS_ESP_NN"), ("esp32p4", "", "", "", ""),
    ("esp32s3", "esp-nn", "BACKEND esp-nn", "esp-nn", "TIGRIS_ESP_NN"), ("esp32c3", "esp-nn", "", "", ""),
    ("esp32s3", "esp-nn", "BACKEND auto", "pie", "TIGRIS_PIE"),
])  # fmt: skip
def test_the_kernels(project, chip, component, arguments, backend, definition):
    """With `auto` the fastest backend of the project; a line says what ESP-NN would improve."""
    project.variables |= {"FAKE_CHIP": chip, "FAKE_COMPONENTS": component}
    add_esp_nn(project, component, 'version: "1.2.3"')
    call(project, with_arguments(arguments))
    configured = words(project.configure())
    assert [line for line in recorded(project) if line.startswith("define runtime PRIVATE")] == (
        [f"define runtime PRIVATE {definition}"] if definition else [])  # fmt: skip
    lost = 'idf.py add-dependency "espressif/esp-nn>=1.2.3,<1.2.4"' in configured
    assert lost is (not backend and chip == "esp32p4")
    rules = (project.build_folder / "build.ninja").read_text("utf-8")
    assert (f"--backend {backend} --chip {chip} " in rules) if backend else ("--backend" not in rules)


def test_the_runtime_is_compiled_for_speed_and_in_flash_by_default(project):
    """An argument of one model holds for all."""
    for arguments, flags in (("", "-O2;"), ("OPTIMIZE size HOT", "-Os;-DTIGRIS_HOT_IN_IRAM")):
        call(project, with_arguments(arguments), with_arguments("", "b"))
        project.configure()
        assert (project.build_folder / "optimization.txt").read_text("utf-8") == flags


def test_hot_code_is_for_esp32s(project):
    project.variables |= {"FAKE_CHIP": "linux"}
    call(project, with_arguments("HOT"))
    done = project.try_configure()
    assert done.returncode != 0
    assert "HOT is for ESP32s, whose internal memory holds code too, but the project's target is linux" in words(
        done.stdout)  # fmt: skip
