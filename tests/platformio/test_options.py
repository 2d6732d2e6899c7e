"""Options of platformio.ini: what is read, and what each refusal says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tigris_pio.compiler.backends import BACKENDS, chips
from tigris_pio.compiler.backends.backend import PORTABLE
from tigris_pio.platformio import backend, options, plans, table
from tigris_pio.platformio.options import Model, OptionError

from .project import ROOT


@pytest.fixture
def folder(tmp_path):
    for name in ("kws.onnx", "my model.onnx", "a=b.onnx"):
        (tmp_path / name).write_bytes(b"model")
    return tmp_path


def parse(folder, **values):
    values = {"models": "kws.onnx", "mem": "64K", **values}
    return options.parse({f"custom_tigris_{k}": v for k, v in values.items() if v is not None}, folder)


def test_defaults(folder):
    settings = parse(folder)
    assert settings.models == (Model("kws", folder / "kws.onnx"),)
    assert (settings.mem, settings.flash, settings.flash_bytes) == ("64K", None, None)
    assert (settings.xip, settings.compress, settings.labels, settings.backend) == (False, "none", ("model",), "auto")


def test_all_options(folder):
    settings = parse(
        folder, mem="256K + 8M", flash="1.5M", xip="Yes", compress="None", partition="nn", backend="portable"
    )
    assert (settings.mem, settings.flash, settings.flash_bytes) == ("256K+8M", "1.5M", 3 << 19)
    assert (settings.xip, settings.compress, settings.labels, settings.backend) == (True, "none", ("nn",), "portable")
    assert parse(folder, compress="LZ4").compress == "lz4"


def test_several_models_with_names(folder):
    settings = parse(folder, models="\nfirst = kws.onnx\nmy model.onnx\n\na=b.onnx")
    assert settings.models == (
        Model("first", folder / "kws.onnx"),
        Model("my_model", folder / "my model.onnx"),
        Model("a_b", folder / "a=b.onnx"),
    )


@pytest.mark.parametrize(
    "text", ['"kws.onnx"', "'kws.onnx'", '"kws" = "kws.onnx"', '\n"kws.onnx"', 'kws = "./kws.onnx"']
)
def test_quotes_around_a_path_are_none_of_it(folder, text):
    assert parse(folder, models=text, mem='"64K"').models == (Model("kws", folder / "kws.onnx"),)
    assert parse(folder, models=text, mem="'64K+1M'", xip='"yes"').mem == "64K+1M"


def test_quotes_in_a_file_name_are_its_own(folder):
    (folder / '"kws".onnx').write_bytes(b"model")
    assert parse(folder, models='"kws".onnx').models == (Model("_kws_", folder / '"kws".onnx'),)


@pytest.mark.parametrize(
    ("stem", "name"), [("kws-v2", "kws_v2"), ("3kws", "_3kws"), ("naïve net", "na_ve_net"), ("a.b", "a_b")]
)
def test_names_made_of_files_follow_the_rule(folder, stem, name):
    (folder / f"{stem}.onnx").write_bytes(b"model")
    (model,) = parse(folder, models=f"{stem}.onnx").models
    assert model.name == name and options.name_fault(name) is None


@pytest.mark.parametrize(
    ("mem", "maximum", "warned"),
    [("8M", 409600, True), ("401K", "409600", True), ("400K", 409600, False), ("64K+8M", 409600, False),
     ("8M", 0, False), ("8M", "", False)],
)  # fmt: skip
def test_more_sram_than_the_board_has_is_said(mem, maximum, warned):
    said = options.beyond_the_board(mem, maximum)
    assert [f"custom_tigris_mem = {mem}: " in line and "409600" in line for line in said] == [True] * warned


def test_other_options_are_not_looked_at(folder):
    values = {"custom_tigris_models": "kws.onnx", "custom_tigris_mem": "1K", "custom_other": "x", "board": "y"}
    assert options.parse(values, folder).mem == "1K"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"memm": "1K"}, r"custom_tigris_memm = 1K: no such option; did you mean custom_tigris_mem\?"),
        ({"zzzz": "1"}, "custom_tigris_zzzz = 1: no such option; known are custom_tigris_models, custom_tigris_mem"),
        ({"models": None}, "custom_tigris_models: is not set; give the path of an .onnx or .tflite file"),
        (
            {"models": "no.onnx"},
            r"custom_tigris_models = no.onnx: the file .*/no.onnx does not exist; give the path of an .onnx or",
        ),
        ({"models": "a = no.onnx"}, "custom_tigris_models = a = no.onnx: the file .*/no.onnx does not exist"),
        ({"models": "."}, "is a folder"),
        ({"models": "kws.onnx\nKWS = my model.onnx"}, "two models are called `KWS`; name them by lines of NAME = PATH"),
        ({"models": "n" * 48 + " = kws.onnx"}, "more than 47 characters"),
        ({"models": "kws-v2 = kws.onnx"}, "`kws-v2` cannot be part of a C name .*; use `kws_v2`"),
        ({"models": "3kws = kws.onnx"}, "`3kws` cannot be part of a C name .*; use `_3kws`"),
        ({"models": "my kws = kws.onnx"}, "`my kws` cannot be part of a C name .*; use `my_kws`"),
        ({"models": "kws.onnx, my model.onnx"}, "give one model a line, without commas between them"),
        ({"models": '"kws.onnx", "my model.onnx"'}, "give one model a line, without commas between them"),
        ({"models": "kws.onnx kws.onnx"}, "give one model a line, without commas between them"),
        ({"models": "*.onnx"}, r"patterns are not looked up; give one model a line: a=b\.onnx, kws\.onnx, my"),
        ({"models": "none/*.onnx"}, "patterns are not looked up; give one model a line$"),
        ({"models": "/x/*.onnx"}, "patterns are not looked up; give one model a line$"),
        ({"mem": None}, "custom_tigris_mem: is not set; give the RAM for the model, such as 256K"),
        ({"mem": "256Q"}, r"custom_tigris_mem = 256Q: `256Q` is no size; write 256K, or 256K\+8M"),
        ({"mem": "64K+"}, r"custom_tigris_mem = 64K\+: is not FAST or FAST\+SLOW"),
        ({"mem": "1K+2K+3K"}, r"is not FAST or FAST\+SLOW"),
        ({"mem": "0"}, "custom_tigris_mem = 0: `0` is no size"),
        ({"flash": "big"}, "custom_tigris_flash = big: is no size; give bytes or a number with K or M"),
        ({"xip": "maybe"}, "custom_tigris_xip = maybe: is neither yes nor no"),
        ({"xip": "yes", "compress": "lz4"}, "custom_tigris_xip = yes: .* custom_tigris_compress = lz4 brings weights"),
        ({"compress": "zip"}, "custom_tigris_compress = zip: must be one of none, lz4"),
        ({"partition": "a234567890123456_"}, "custom_tigris_partition = a234567890123456_: .* 1 to 16 letters"),
        ({"partition": "far too long a name"}, "custom_tigris_partition = far too long a name: .* 1 to 16 letters"),
        ({"backend": "esp-nn", "backend_path": "no"}, r"custom_tigris_backend_path = no: .*/no is no folder; give a"),
        ({"backend_path": "."}, r"custom_tigris_backend_path = \.: is for a kernel library; set custom_tigris_backend"),
        ({"backend": "gpu"}, "custom_tigris_backend = gpu: must be one of auto, portable, esp-nn, cmsis-nn, pie"),
        ({"backend": "pie", "backend_path": "."}, r"custom_tigris_backend_path = \.: is for a kernel library"),
    ],
)
def test_refusals_name_option_value_and_remedy(folder, values, message):
    with pytest.raises(OptionError, match=message):
        parse(folder, **values)


def test_a_kernel_library_reaches_the_compiler_with_the_chip(folder):
    settings = replace(parse(folder, backend="ESP-NN", backend_path="."), chip="esp32s3")
    assert settings.backend_path == folder
    arguments = plans.compile_arguments(settings.models[0], settings)
    assert arguments[-4:] == ["--backend", "esp-nn", "--chip", "esp32s3"]
    for name in options.PORTABLE_BACKENDS:
        settings = parse(folder, backend=name)
        assert "--backend" not in plans.compile_arguments(settings.models[0], settings)


class Environment:
    """What of SCons's takes definitions."""

    def __init__(self) -> None:
        self.defines = []

    def Append(self, CPPDEFINES):
        self.defines += CPPDEFINES


def test_kernels_of_the_runtime_itself_are_defined_on_their_chip(folder):
    settings = parse(folder, backend="pie")
    environment = Environment()
    backend.add(environment, replace(settings, chip="esp32s3"))
    assert "TIGRIS_PIE" in environment.defines
    for chip, named in (("esp32c3", "esp32c3"), ("", "another chip")):
        with pytest.raises(OptionError, match=f"backend = pie: is for esp32s3, and the board has {named}; leave it"):
            backend.add(Environment(), replace(settings, chip=chip))
    assert set(options.BACKENDS) == {*PORTABLE, *BACKENDS}
    assert {name: known.chips for name, known in BACKENDS.items() if known.chips} == options.CHIPS_OF


@pytest.mark.parametrize(("chip", "made", "expected"), [
    ("esp32s3", "managed_components/espressif__esp-nn", "esp-nn"), ("esp32p4", "components/esp-nn", "esp-nn"),
    ("esp32s3", "src/idf_component.yml", "esp-nn"), ("esp32s3", "", "portable"), ("cortex-m55", "", "auto"),
    ("esp32c3", "components/esp-nn", "auto"), ("", "components/esp-nn", "auto"),
])  # fmt: skip
def test_auto_is_the_fastest_that_the_project_has(folder, chip, made, expected, capsys):
    if made.endswith(".yml"):
        (folder / "src").mkdir()
        (folder / made).write_text('dependencies:\n  espressif/esp-nn: "*"\n', "utf-8")
    elif made:
        (folder / made).mkdir(parents=True)
    settings = replace(parse(folder), chip=chip)
    assert backend.resolve(settings, ["espidf"], folder).backend == expected
    said = capsys.readouterr().out
    assert ("it convolutions take" in said) is (expected == "portable")
    assert backend.resolve(replace(settings, backend="portable"), ["espidf"], folder).backend == "portable"
    arguments = plans.compile_arguments(settings.models[0], backend.resolve(settings, ["espidf"], folder))
    known = arguments[arguments.index("--backend") + 1] if "--backend" in arguments else "auto"
    assert known == expected
    if chip == "esp32s3":
        assert backend.resolve(settings, ["arduino"], folder).backend == "portable"


def test_the_compiler_knows_the_same_fastest_backends():
    chosen = {chip: chips.fastest(chip) for chip in chips.CHIPS}
    libraries = {chip: (choice.backend, choice.lost) for chip, choice in chosen.items() if choice.backend != "portable"}
    assert libraries == backend.FASTEST


def test_free_dimensions_reach_the_compiler(folder):
    settings = parse(folder, limits="nodes=200000 constants=1000000")
    arguments = plans.compile_arguments(settings.models[0], settings)
    assert arguments[-4:] == ["--limit", "nodes=200000", "--limit", "constants=1000000"]
    with pytest.raises(OptionError, match="limits = nodes: `nodes` is not NAME=NUMBER; write nodes=200000"):
        parse(folder, limits="nodes")
    settings = parse(folder, dims="length=512, batch=2\nchannels=3")
    assert settings.dims == ("length=512", "batch=2", "channels=3")
    arguments = plans.compile_arguments(settings.models[0], settings)
    assert arguments[-6:] == ["--dim", "length=512", "--dim", "batch=2", "--dim", "channels=3"]


@pytest.mark.parametrize("text", ["length", "length=", "=3", "length=long", "length=0"])
def test_a_wrong_dimension_is_named(folder, text):
    with pytest.raises(OptionError, match=r"custom_tigris_dims = .*is not NAME=NUMBER"):
        parse(folder, dims=text)


def test_inputs_that_are_set_reach_the_compiler(folder):
    settings = parse(folder, set="sr=16000 a=b=-1.5\nlist=1,2,3")
    assert settings.set == ("sr=16000", "a=b=-1.5", "list=1,2,3")
    arguments = plans.compile_arguments(settings.models[0], settings)
    assert arguments[-6:] == ["--set", "sr=16000", "--set", "a=b=-1.5", "--set", "list=1,2,3"]


@pytest.mark.parametrize("text", ["sr", "sr=", "=3", "sr = 16000"])
def test_a_wrong_value_of_an_input_is_named(folder, text):
    with pytest.raises(OptionError, match=r"custom_tigris_set = .*is not NAME=VALUE; write sr=16000"):
        parse(folder, set=text)


def test_states_reach_the_compiler(folder):
    settings = parse(folder, state="h_out=h a=b=c\ncell=c")
    assert settings.state == ("h_out=h", "a=b=c", "cell=c")
    arguments = plans.compile_arguments(settings.models[0], settings)
    assert arguments[-6:] == ["--state", "h_out=h", "--state", "a=b=c", "--state", "cell=c"]


@pytest.mark.parametrize("text", ["h", "h=", "=h", "h_out = h"])
def test_a_wrong_state_is_named(folder, text):
    with pytest.raises(OptionError, match=r"custom_tigris_state = .*is not OUT=IN; write h_out=h"):
        parse(folder, state=text)


def test_streams_reach_the_compiler(folder):
    settings = parse(folder, stream="image\n  mask")
    assert settings.stream == ("image", "mask") and parse(folder).stream == ()
    assert plans.compile_arguments(settings.models[0], settings)[-4:] == ["--stream", "image", "--stream", "mask"]


def test_two_cores_reach_the_compiler(folder):
    settings = parse(folder, cores="2")
    assert settings.cores == 2 and parse(folder).cores == 1
    assert plans.compile_arguments(settings.models[0], settings)[-2:] == ["--cores", "2"]
    assert "--cores" not in plans.compile_arguments(settings.models[0], parse(folder))
    with pytest.raises(OptionError, match="custom_tigris_cores = 3: must be one of 1, 2"):
        parse(folder, cores="3")
    with pytest.raises(OptionError, match="custom_tigris_cores = 2: is for plans, and custom_tigris_mode = c makes"):
        parse(folder, cores="2", mode="c")


def test_a_hop_reaches_the_compiler(folder):
    settings = parse(folder, hop="2")
    assert settings.hop == 2 and parse(folder).hop is None
    assert plans.compile_arguments(settings.models[0], settings)[-2:] == ["--hop", "2"]


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "x=1"])
def test_a_wrong_hop_is_named(folder, text):
    with pytest.raises(OptionError, match=r"custom_tigris_hop = .*is no number of rows; write 1 or more"):
        parse(folder, hop=text)


def test_matching_checking_and_installing(folder):
    assert (parse(folder).match, parse(folder).auto_install) == ("interface", False)
    settings = parse(folder, match="Exact", auto_install="yes")
    assert (settings.match, settings.auto_install) == ("exact", True)
    assert (parse(folder).check, parse(folder, check="no").check) == (True, False)
    with pytest.raises(OptionError, match="custom_tigris_check = sometimes: is neither yes nor no"):
        parse(folder, check="sometimes")
    with pytest.raises(OptionError, match="custom_tigris_match = any: must be one of interface, exact"):
        parse(folder, match="any")


def test_a_partitions_name_has_up_to_16_letters(folder):
    assert parse(folder, partition="a234567890123456").models[0].partition == "a234567890123456"


def test_each_model_may_have_a_partition_of_its_own(folder):
    models = "\nkws = kws.onnx\nother = kws.onnx\nthird = kws.onnx"
    settings = parse(folder, models=models, partition="\nkws = a\nthird = a\nother = b")
    assert settings.labels == ("a", "b")
    assert [model.name for model in settings.models_in("a")] == ["kws", "third"]
    assert {model.partition for model in parse(folder, models=models, partition="c").models} == {"c"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nkws = a", "custom_tigris_partition = kws = a: a line is missing: other = LABEL"),
        ("\nkws = a\nothr = b", "custom_tigris_partition = othr = b: write LABEL, or lines of NAME = LABEL with"),
        ("\na\nb", "custom_tigris_partition = a: write LABEL, or lines of NAME = LABEL with models' names: kws, other"),
        ("\nkws = a b\nother = c", "custom_tigris_partition = a b: a partition's name has 1 to 16 letters"),
    ],
)
def test_wrong_partitions_of_models_are_named(folder, text, message):
    with pytest.raises(OptionError, match=message):
        parse(folder, models="\nkws = kws.onnx\nother = kws.onnx", partition=text)


def test_slots_are_as_large_as_was_said(folder):
    assert (parse(folder).slots, parse(folder, flash="1M").slot_size) == (1, None)
    for words, slot_size in (({}, None), ({"flash": "100000"}, 102400), ({"slot_size": "9K", "flash": "1M"}, 12288)):
        settings = parse(folder, slots="2", **words)
        assert (settings.slots, settings.slot_size) == (2, slot_size)


@pytest.mark.parametrize(("words", "message"), [
    ({"slots": "3"}, "custom_tigris_slots = 3: must be one of 1, 2"),
    ({"slots": "2", "match": "exact"}, "custom_tigris_slots = 2: .* custom_tigris_match = exact .*; leave one out"),
    ({"slot_size": "64K"}, "custom_tigris_slot_size = 64K: .*; set custom_tigris_slots = 2, too"),
    ({"slots": "2", "slot_size": "big"}, "custom_tigris_slot_size = big: is no size"),
])  # fmt: skip
def test_slots_that_make_no_sense_are_refused(folder, words, message):
    with pytest.raises(OptionError, match=message):
        parse(folder, **words)


def test_a_table_has_room_for_slots():
    assert table.room(None, [20_000], 1) == 0x10000
    assert table.room(None, [60_000], 2) == 0x40000  # two of 120,000 and the records
    assert table.room(0x10000, [20_000, None], 2) == 2 * 0x30000


def test_every_option_is_documented_with_its_default():
    text = (ROOT / "docs" / "platformio.md").read_text("utf-8")
    sections = {part.split("\n", 1)[0]: part for part in text.split("\n### ")[1:]}
    assert {name[len(options.PREFIX) :] for name in sections} == set(options.NAMES)
    for name, section in sections.items():
        assert "efault" in section or "Required" in section, name


def test_models_as_c_go_without_what_is_flashed_alone(folder):
    assert parse(folder).mode == "plan"
    assert parse(folder, mode="C").mode == "c"
    for name, value in (("partition", "nn"), ("slots", "2"), ("match", "exact"), ("check", "no")):
        with pytest.raises(OptionError, match=f"custom_tigris_{name} = {value}: is for plans"):
            parse(folder, mode="c", **{name: value})
    with pytest.raises(OptionError, match="custom_tigris_backend = cmsis-nn: its kernels are called by plans only"):
        parse(folder, mode="c", backend="cmsis-nn")
    with pytest.raises(OptionError, match="custom_tigris_mode = asm: "):
        parse(folder, mode="asm")


def test_weights_of_models_as_c_may_have_a_partition(folder):
    assert (parse(folder).weights, parse(folder, mode="c").weights) == ("c", "c")
    chosen = parse(folder, mode="c", weights="Partition", partition="nn")
    assert (chosen.weights, chosen.labels) == ("partition", ("nn",))
    assert parse(folder, mode="c", weights="partition").labels == ("model",)
    assert parse(folder, weights="c").mode == "plan"


@pytest.mark.parametrize(("values", "message"), [
    ({"weights": "partition"}, "custom_tigris_weights = partition: is for models that are C.*custom_tigris_mode = c"),
    ({"weights": "partition", "mode": "plan"}, "custom_tigris_weights = partition: .*or leave it out"),
    ({"weights": "flash", "mode": "c"}, "custom_tigris_weights = flash: must be one of c, partition"),
    ({"partition": "nn", "mode": "c"}, "custom_tigris_partition = nn: .*or set custom_tigris_weights = partition"),
    ({"slots": "2", "mode": "c", "weights": "partition"}, "custom_tigris_slots = 2: is for plans, .*leave one out$"),
])  # fmt: skip
def test_weights_that_make_no_sense_are_refused(folder, values, message):
    with pytest.raises(OptionError, match=message):
        parse(folder, **values)
