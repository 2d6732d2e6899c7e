"""Options of platformio.ini: their values, and the message of each refusal."""

import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tigris_pio.compiler.backends import BACKENDS, chips
from tigris_pio.compiler.backends.backend import PORTABLE
from tigris_pio.errors import UsageError
from tigris_pio.platformio import backend, options, plans
from tigris_pio.platformio.options import Model, OptionError
from tigris_pio.sizes import parse_memory, parse_size

from .project import ROOT


@pytest.fixture
def folder(tmp_path):
    for name in ("kws.onnx", "my model.onnx", "a=b.onnx"):
        (tmp_path / name).write_bytes(b"model")
    return tmp_path


def parse(folder, **values):
    values = {"models": "kws.onnx", "mem": "64K", **values}
    return options.parse({f"custom_tigris_{k}": v for k, v in values.items() if v is not None}, folder)


@pytest.mark.parametrize(("values", "read"), [
    ({}, {"mem": "64K", "flash": None, "flash_bytes": None, "xip": False, "compress": "none", "labels": ("model",),
          "backend": "auto", "match": "interface", "auto_install": False, "check": True, "slots": 1, "mode": "plan",
          "weights": "c", "slot_size": None, "cores": 1, "hop": None, "stream": (), "hot": False}),
    ({"mem": "256K + 8M", "flash": "1.5M", "xip": "Yes", "compress": "None", "partition": "nn", "match": "Exact",
      "auto_install": "yes", "check": "no", "backend": "portable", "hot": "on"},
     {"mem": "256K+8M", "flash": "1.5M", "flash_bytes": 3 << 19, "xip": True, "compress": "none", "labels": ("nn",),
      "match": "exact", "auto_install": True, "check": False, "backend": "portable", "hot": True}),
    ({"compress": "LZ4", "partition": "a234567890123456"}, {"compress": "lz4", "labels": ("a234567890123456",)}),
    ({"slots": "2", "flash": "100000"}, {"slots": 2, "slot_size": 102400}),
    ({"slots": "2", "slot_size": "9K", "flash": "1M"}, {"slot_size": 12288}),
    ({"mode": "C"}, {"mode": "c", "weights": "c"}), ({"weights": "c"}, {"mode": "plan"}),
    ({"mode": "c", "weights": "Partition"}, {"weights": "partition", "labels": ("model",)}),
])  # fmt: skip
def test_options_are_read(folder, values, read):
    settings = parse(folder, **values)
    assert settings.models[0].path == folder / "kws.onnx" and settings.models[0].name == "kws"
    assert {name: getattr(settings, name) for name in read} == read


@pytest.mark.parametrize(("text", "models"), [
    ("\nfirst = kws.onnx\nmy model.onnx\n\na=b.onnx",
     {"first": "kws.onnx", "my_model": "my model.onnx", "a_b": "a=b.onnx"}),
    # Quotes around a path do not belong to it; within a file's name they do.
    *((text, {"kws": "kws.onnx"}) for text in ("'kws.onnx'", '\n"kws.onnx"', 'kws = "./kws.onnx"')),
    ('"kws".onnx', {"_kws_": '"kws".onnx'}), ("3kws.onnx", {"_3kws": "3kws.onnx"}),
    ("naïve net.a.onnx", {"na_ve_net_a": "naïve net.a.onnx"}),
])  # fmt: skip
def test_models_and_their_names(folder, text, models):
    for name in models.values():
        (folder / name).write_bytes(b"model")
    found = parse(folder, models=text, mem='"64K"').models
    assert found == tuple(Model(name, folder / file) for name, file in models.items())


@pytest.mark.parametrize(("mem", "maximum", "warned"), [
    ("401K", "409600", True), ("400K", 409600, False), ("64K+8M", 409600, False), ("8M", "", False),
])  # fmt: skip
def test_more_sram_than_the_boards_gives_a_warning(mem, maximum, warned):
    said = options.ram_warnings(mem, maximum)
    assert [f"custom_tigris_mem = {mem}: " in line and "409600" in line for line in said] == [True] * warned


@pytest.mark.parametrize(("values", "message"), [
    ({"memm": "1K"}, r"custom_tigris_memm = 1K: no such option; did you mean custom_tigris_mem\?"),
    ({"zzzz": "1"}, "custom_tigris_zzzz = 1: no such option; known are custom_tigris_models, custom_tigris_mem"),
    ({"models": None}, "custom_tigris_models: is not set; give the path of an .onnx or .tflite file"),
    ({"models": "a = no.onnx"}, "custom_tigris_models = a = no.onnx: the file .*/no.onnx does not exist; give"),
    ({"models": "."}, "is a folder"),
    ({"models": "kws.onnx\nKWS = my model.onnx"}, "two models are called `KWS`; name them by lines of NAME = PATH"),
    ({"models": "n" * 48 + " = kws.onnx"}, "more than 47 characters"),
    ({"models": "3kws = kws.onnx"}, "`3kws` cannot be part of a C name .*; use `_3kws`"),
    ({"models": '"kws.onnx", "my model.onnx"'}, "write one model on each line, without commas"),
    ({"models": "kws.onnx kws.onnx"}, "write one model on each line, without commas"),
    ({"models": "*.onnx"}, r"patterns are not expanded; write one model on each line: a=b\.onnx, kws\.onnx, my"),
    ({"models": "none/*.onnx"}, "patterns are not expanded; write one model on each line$"),
    ({"mem": None}, "custom_tigris_mem: is not set; give the RAM for the model, such as 256K"),
    ({"mem": "256Q"}, r"custom_tigris_mem = 256Q: `256Q` is no size; write 256K, or 256K\+8M"),
    ({"mem": "1K+2K+3K"}, r"custom_tigris_mem = .*: is not FAST or FAST\+SLOW"),
    ({"flash": "big"}, "custom_tigris_flash = big: is no size; give bytes or a number with K or M"),
    ({"xip": "maybe"}, "custom_tigris_xip = maybe: must be yes or no"),
    ({"xip": "yes", "compress": "lz4"}, "custom_tigris_xip = yes: .* custom_tigris_compress = lz4 unpacks weights"),
    ({"compress": "zip"}, "custom_tigris_compress = zip: must be one of none, lz4"),
    ({"partition": "a234567890123456_"}, "custom_tigris_partition = a234567890123456_: .* 1 to 16 letters"),
    ({"partition": "a name"}, "custom_tigris_partition = a name: .* 1 to 16 letters"),
    ({"backend": "esp-nn", "backend_path": "no"}, r"custom_tigris_backend_path = no: .*/no is no folder; give a"),
    *(({"dims": text}, r"custom_tigris_dims = .*is not NAME=NUMBER") for text in ("length", "=3", "n=long", "n=0")),
    *(({"set": text}, r"custom_tigris_set = .*is not NAME=VALUE; write sr=16000") for text in ("sr=", "=3", "s = 1")),
    *(({"state": text}, r"custom_tigris_state = .*is not OUT=IN; write h_out=h") for text in ("h=", "=h", "o = h")),
    *(({"hop": text}, r"custom_tigris_hop = .*is no number of rows; write 1 or more") for text in ("0", "1.5", "x=1")),
    ({"limits": "nodes"}, "limits = nodes: `nodes` is not NAME=NUMBER; write nodes=200000"),
    ({"cores": "3"}, "custom_tigris_cores = 3: must be one of 1, 2"),
    ({"optimize": "fast"}, "custom_tigris_optimize = fast: must be one of speed, size"),
    ({"cores": "2", "mode": "c"}, "custom_tigris_cores = 2: is for plans, but custom_tigris_mode = c makes"),
    ({"slots": "2", "match": "exact"}, "custom_tigris_slots = 2: .* custom_tigris_match = exact .*; leave one"),
    ({"sign": "key.pem"}, "custom_tigris_sign = key.pem: the file .*key.pem does not exist; write a key with"),
    ({"security_version": "1"}, "custom_tigris_security_version = 1: is for signed plans; set custom_tigris_sign, too"),
    ({"sign": "kws.onnx", "security_version": "70000"}, "security_version = 70000: must be a number from 0 to 65535"),
    ({"slot_size": "64K"}, "custom_tigris_slot_size = 64K: .*; set custom_tigris_slots = 2, too"),
    ({"mode": "c", "backend": "cmsis-nn"}, "backend = cmsis-nn: only plans call its kernels"),
    ({"weights": "partition"}, "_weights = partition: is for models compiled as C.*custom_tigris_mode = c, or"),
    ({"partition": "nn", "mode": "c"}, "_partition = nn: .*or set custom_tigris_weights = partition"),
    ({"slots": "2", "mode": "c", "weights": "partition"}, "_slots = 2: is for plans, .*leave one out$"),
    *(({"models": "\nkws = kws.onnx\nother = kws.onnx", "partition": text}, message) for text, message in (
        ("\nkws = a", "custom_tigris_partition = kws = a: a line is missing: other = LABEL"),
        ("\nkws = a\nothr = b", "custom_tigris_partition = othr = b: write LABEL, or lines of NAME = LABEL with"),
        ("\na\nb", "_partition = a: write LABEL, or lines of NAME = LABEL with models' names: kws, other"),
    )),
    ({"backend": "pie", "backend_path": "."}, r"custom_tigris_backend_path = \.: is for a kernel library"),
])  # fmt: skip
def test_refusals_name_option_value_and_remedy(folder, values, message):
    with pytest.raises(OptionError, match=message):
        parse(folder, **values)


@pytest.mark.parametrize(("name", "meant"), [
    ("custom_tigirs_xip", "xip: is not set, but custom_tigirs_xip is"), ("custom_tigrishop", "hop: is not set, but"),
    ("custom_trigis_mem", "mem: is set, and so is custom_trigis_mem, which is no option"), ("custom_tiger_food", None),
])  # fmt: skip
def test_misspelt_prefixes_are_refused(folder, name, meant):
    values = {"custom_tigris_models": "kws.onnx", "custom_tigris_mem": "64K", name: "yes"}
    if meant is None:
        assert options.parse(values, folder).mem == "64K"
    else:
        with pytest.raises(OptionError, match=f"custom_tigris_{meant}"):
            options.parse(values, folder)


@pytest.mark.parametrize(("values", "read", "words"), [
    ({"dims": "length=512, batch=2\nchannels=3"}, ("length=512", "batch=2", "channels=3"),
     "--dim length=512 --dim batch=2 --dim channels=3"),
    ({"set": "sr=16000 a=b=-1.5\nlist=1,2,3"}, ("sr=16000", "a=b=-1.5", "list=1,2,3"),
     "--set sr=16000 --set a=b=-1.5 --set list=1,2,3"),
    ({"state": "h_out=h a=b=c\ncell=c"}, ("h_out=h", "a=b=c", "cell=c"),
     "--state h_out=h --state a=b=c --state cell=c"),
    ({"stream": "image\n  mask"}, ("image", "mask"), "--stream image --stream mask"),
    ({"hop": "2"}, 2, "--hop 2"), ({"cores": "2"}, 2, "--cores 2"),
    ({"limits": "nodes=200000 constants=1000000"}, ("nodes=200000", "constants=1000000"),
     "--limit nodes=200000 --limit constants=1000000"),
    ({"security_version": "3", "sign": "kws.onnx"}, 3, "--security-version 3"),
    ({"backend": "ESP-NN", "backend_path": "."}, "esp-nn", "--backend esp-nn --chip esp32s3"),
])  # fmt: skip
def test_options_that_reach_the_compiler(folder, values, read, words):
    settings = replace(parse(folder, **values), chip="esp32s3")
    assert getattr(settings, next(iter(values))) == read
    arguments = " ".join(plans.compile_arguments(settings.models[0], settings))
    assert words in arguments
    plain = parse(folder, backend="portable" if "backend" in values else None)
    assert words.split()[0] not in plans.compile_arguments(plain.models[0], plain)


class Environment:
    """The part of SCons's environment that takes definitions and sources."""

    def __init__(self) -> None:
        self.defines, self.built = [], []

    def Append(self, CPPDEFINES=(), **_):
        self.defines += CPPDEFINES

    def BuildSources(self, *words):
        self.built.append(words)

    def BoardConfig(self):
        return {"build.mcu": "esp32s3"}

    def get(self, name):
        return None


def test_kernels_of_the_runtime_itself_are_defined_on_their_chip(folder):
    settings = parse(folder, backend="pie")
    environment = Environment()
    backend.add(environment, replace(settings, chip="esp32s3"))
    assert "TIGRIS_PIE" in environment.defines
    for chip, named in (("esp32c3", "esp32c3"), ("", "another chip")):
        with pytest.raises(OptionError, match=f"backend = pie: is for esp32s3, and the board has {named}; leave it"):
            backend.add(Environment(), replace(settings, chip=chip))
    assert set(options.BACKENDS) == {*PORTABLE, *BACKENDS}
    assert {name: known.chips for name, known in BACKENDS.items() if known.chips} == options.BACKEND_CHIPS


def write_release(folder, release):
    """Writes the manifest of a release of ESP-NN, as in its checkout."""
    text = f'version: "{release}"\n' if release else "description: none\n"
    (folder / "idf_component.yml").write_text(text + 'dependencies:\n  idf:\n    version: ">=4.2"\n', "utf-8")


def test_a_librarys_sources_are_compiled_for_the_chip(folder):
    with pytest.raises(OptionError, match=r"esp-nn: needs the library's sources; clone github.com/espressif/esp-nn"):
        backend.add(Environment(), parse(folder, backend="esp-nn"))
    with pytest.raises(OptionError, match=r"_path = .*: has no include/esp_nn.h; give the folder of a checkout of"):
        backend.add(Environment(), parse(folder, backend="esp-nn", backend_path="."))
    (folder / "include").mkdir()
    (folder / "include" / "esp_nn.h").touch()
    for release, said in ((None, "is of no known release .*idf_component.yml names none"), ("1.2.0", "is 1.2.0, whose"),
                          ("1.2.30", "is 1.2.30, whose"),
                          ("1.3.0", r"outputs is 1.2.3; for 1.2.3: git -C ")):  # fmt: skip
        write_release(folder, release)
        with pytest.raises(OptionError, match=rf"custom_tigris_backend_path = .*: ESP-NN in .* {said}"):
            backend.add(Environment(), parse(folder, backend="esp-nn", backend_path="."))
    write_release(folder, "1.2.3")
    environment = Environment()
    backend.add(environment, parse(folder, backend="esp-nn", backend_path="."))
    assert {"TIGRIS_ESP_NN", "TIGRIS_MODELS_BACKEND"} <= set(environment.defines)
    ((target, sources, filters),) = environment.built
    assert (target, sources) == ("$BUILD_DIR/tigris_backend", str(folder))
    assert {"+<src/**/*_ansi.c>", "+<src/**/*_esp32s3.S>"} <= set(filters)


@pytest.mark.parametrize("made", ["managed_components/espressif__esp-nn", "components/esp-nn"])
def test_a_component_of_another_release_is_refused(folder, made):
    backend.check_component(folder)
    (folder / made).mkdir(parents=True)
    for release in (backend.RELEASE, "1.2.2", None):
        write_release(folder / made, release)
        if release == backend.RELEASE:
            backend.check_component(folder)
            continue
        with pytest.raises(OptionError, match=r'backend = esp-nn: ESP-NN in .*; write espressif/esp-nn: ">=1'):
            backend.check_component(folder)


@pytest.mark.parametrize("place", ["idf_component.yml", "cmake/tigris-pio/idf_component.yml", "cmake/esp_nn.cmake",
                                   "docs/backends.md", "docs/esp-idf.md", "tigris_pio/platformio/backend.py"])
def test_every_place_names_the_same_release(place):
    text = (ROOT / place).read_text("utf-8")
    release = tuple(map(int, backend.RELEASE.split(".")))
    numbers = re.findall(r">=([0-9.]+),<([0-9.]+)", text)
    assert numbers and {tuple(map(int, low.split("."))) for low, _ in numbers} == {release}
    assert {tuple(map(int, high.split("."))) for _, high in numbers} == {(*release[:2], release[2] + 1)}
    assert place != "cmake/esp_nn.cmake" or f"RELEASE {backend.RELEASE})" in text


@pytest.mark.parametrize(("chip", "made", "expected"), [
    ("esp32p4", "managed_components/espressif__esp-nn", "esp-nn"), ("esp32p4", "components/esp-nn", "esp-nn"),
    ("esp32p4", "src/idf_component.yml", "esp-nn"), ("esp32p4", "", "portable"),
    ("esp32s3", "components/esp-nn", "pie"), ("esp32s3", "", "pie"),
    ("esp32c3", "components/esp-nn", "auto"),
])  # fmt: skip
def test_auto_is_the_fastest_available_backend(folder, chip, made, expected, capsys):
    if made.endswith(".yml"):
        (folder / "src").mkdir()
        (folder / made).write_text('dependencies:\n  espressif/esp-nn: "*"\n', "utf-8")
    elif made:
        (folder / made).mkdir(parents=True)
    settings = replace(parse(folder), chip=chip)
    assert backend.resolve(settings, ["espidf"], folder).backend == expected
    said = capsys.readouterr().out
    assert ("it networks take" in said) is (expected == "portable")
    assert backend.resolve(replace(settings, backend="portable"), ["espidf"], folder).backend == "portable"
    arguments = plans.compile_arguments(settings.models[0], backend.resolve(settings, ["espidf"], folder))
    known = arguments[arguments.index("--backend") + 1] if "--backend" in arguments else "auto"
    assert known == expected
    elsewhere = {"esp32s3": "pie", "esp32p4": "portable", "esp32c3": "auto"}
    assert backend.resolve(settings, ["arduino"], folder).backend == elsewhere[chip]


def test_the_compiler_knows_the_same_fastest_backends():
    chosen = {chip: chips.auto_choice(chip) for chip in chips.CHIPS}
    libraries = {chip: (choice.backend, choice.lost) for chip, choice in chosen.items() if choice.backend != "portable"}
    assert libraries == backend.FASTEST


def test_each_model_may_have_its_own_partition(folder):
    models = "\nkws = kws.onnx\nother = kws.onnx\nthird = kws.onnx"
    settings = parse(folder, models=models, partition="\nkws = a\nthird = a\nother = b")
    assert settings.labels == ("a", "b")
    assert [model.name for model in settings.models_in("a")] == ["kws", "third"]
    assert {model.partition for model in parse(folder, models=models, partition="c").models} == {"c"}


def test_every_option_is_documented_with_its_default():
    text = (ROOT / "docs" / "platformio.md").read_text("utf-8")
    sections = {part.split("\n", 1)[0]: part for part in text.split("\n### ")[1:]}
    assert {name[len(options.PREFIX) :] for name in sections} == set(options.NAMES)
    for name, section in sections.items():
        assert "efault" in section or "Required" in section, name


#: Parts of options, and texts that are no numbers and no paths.
PIECES = st.sampled_from(
    ["models", "kws.onnx", "a = kws.onnx", "64K", "1.5M", "0", "00", "-1", "1e400", "9" * 320, "9" * 5000, "٣", "²",
     "K", "+", "=", "n=5", "~", "~nobody/x", "\0", "\n", " ", ",", "yes", "no", "lz4", "model", "esp-nn", "a" * 300,
     "\ud800"]
)  # fmt: skip
VALUES = st.lists(PIECES, max_size=4).map("".join) | st.text(max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60, 300))
@given(values=st.dictionaries(st.sampled_from(options.NAMES) | st.text(max_size=12), VALUES, max_size=5), size=VALUES)
def test_any_options_are_read_or_refused_by_name(folder, values, size):
    try:
        parse(folder, **values)
    except OptionError as error:
        assert str(error).startswith(options.PREFIX), error
    for read in (parse_size, parse_memory):
        try:
            read(size, "-m")
        except UsageError as error:
            assert "-m" in str(error)
