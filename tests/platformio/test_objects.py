"""The runtime's sources that a build compiles, and their flags."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.networks.folders import OWN
from tigris_pio import compile_model
from tigris_pio.compiler.emit.model_header import kernel_symbols
from tigris_pio.platformio import objects

from .project import ROOT

RUNTIME = ROOT / "runtime"


class Environment(dict):
    """The part of SCons's environment that determines how a source is compiled."""

    def AddBuildMiddleware(self, middleware):
        self.middleware = middleware

    def Clone(self):
        return Environment(self)

    def Append(self, CCFLAGS):
        self["CCFLAGS"] = [*self.get("CCFLAGS", []), *CCFLAGS]

    def CacheDir(self, path):
        self["cache"] = path

    def Flatten(self, parts):
        return [item for part in parts for item in (part if isinstance(part, list) else [part])]

    def Object(self, node, **values):
        return node.path, Environment(self, **values)


def made(environment, path):
    """The result for a source: None, the source itself, or the environment that compiles it."""
    node = SimpleNamespace(path=path, srcnode=lambda: SimpleNamespace(get_abspath=lambda: str(path)))
    found = environment.middleware(environment, node)
    return found[1] if isinstance(found, tuple) else found


def compiled(environment, path, optimize="speed", folders=(), **options):
    objects.add(environment, optimize, folders, Path("kept"), list, (), **options)
    return made(environment, path)


def names(texts, lacks=()):
    """The names of the compiled sources of kernels and adapters, of all such sources."""
    environment = Environment()
    objects.add(environment, "speed", (), Path("kept"), lambda: texts, lacks)
    found = [*(RUNTIME / "src" / "kernels").rglob("*.[cS]"), *(RUNTIME / "backends").glob("*.c")]
    return {str(path.relative_to(RUNTIME)) for path in found if made(environment, path)}


def test_kernels_that_no_model_needs_are_not_compiled():
    """Except those that portable kernels share. Firmware that names a table gets all its kernels."""
    every, none = names(None), names([])
    assert len(none) < 30 and not any(name.endswith(("portable.c", "libraries.c")) for name in none)
    kws = names(kernel_symbols(compile_model(OWN / "kws_int8.onnx", backend="portable").plan))
    assert {name.rpartition("/")[2] for name in kws - none} == {
        "conv_2d_int8.c", "depthwise_conv_2d_int8.c", "fully_connected_int8.c", "map_mean_int8.c", "softmax_int8.c",
    }  # fmt: skip
    portable = names(["tigris_session_init(&session, &plan, &arenas, &tigris_portable_backend)"])
    assert portable > kws and every - portable > {"backends/libraries.c", "src/kernels/pie/conv_2d_int8.c"}


def test_a_library_has_its_adapter_and_the_adapters_fallbacks():
    found = names(kernel_symbols(compile_model(OWN / "kws_int8.onnx", backend="esp-nn").plan)) - names([])
    assert {name for name in found if "plain" in name or "backends" in name} == {
        "backends/esp_nn.c", "src/kernels/plain_conv_2d_int8.c", "src/kernels/plain_fully_connected_int8.c",
    }  # fmt: skip


def test_libraries_of_the_project_may_name_kernels(tmp_path):
    """Sources that the project depends on; the runtime itself names all kernels."""
    folders = {name: tmp_path / name / "src" for name in ("used", "unused")}
    for folder in folders.values():
        folder.mkdir(parents=True)
        (folder / "own.cpp").write_text("&tigris_portable_backend")
    builders = [SimpleNamespace(path=str(path), is_dependent=path.name != "unused")
                for path in (ROOT, tmp_path / "used", tmp_path / "unused")]  # fmt: skip
    found = objects.libraries(SimpleNamespace(GetLibBuilders=lambda: builders))
    assert found == [tmp_path / "used"] and list(objects.texts_in(found)) == ["&tigris_portable_backend"]


@pytest.mark.parametrize(("chip", "backend", "skipped"), [
    ("", "portable", set()), ("esp32s3", "pie", {"mve"}),
    ("esp32s3", "esp-nn", {"mve", "pie"}), ("cortex-m55", "portable", {"pie"}),
])  # fmt: skip
def test_instruction_sets_of_other_chips_are_not_compiled(chip, backend, skipped):
    lacks = objects.unusable_folders(chip, backend)
    assert set(lacks) == skipped
    assert not {name for name in names(["tigris_pie_backend"], lacks) if Path(name).parent.name in skipped}


@pytest.mark.parametrize(("given", "values", "optimize", "level"), [
    ("-Os", {}, "speed", "-O2"), ("-Og", {}, "speed", "-O2"), ("", {}, "speed", "-O2"), ("-O3", {}, "speed", "-O3"),
    ("-O3", {}, "size", "-Os"), ("-Og", {"BUILD_TYPE": "debug, test"}, "speed", "-Og"),
])  # fmt: skip
def test_the_last_level_is_that_of_the_option(given, values, optimize, level):
    """For the runtime, whose objects are cached, and for models compiled as C, whose flags are set later."""
    flags = ["-Wall", *([given] if given else [])]
    own = compiled(Environment(values, CCFLAGS=flags), RUNTIME / "src" / "plan.c", optimize=optimize)
    assert [flag for flag in own["CCFLAGS"] if flag.startswith("-O")][-1] == level and own["cache"] == "kept"
    shared = Environment(values, CCFLAGS=flags, BUILD_CACHE_DIR="elsewhere")
    assert "cache" not in compiled(shared, RUNTIME / "src" / "plan.c")
    base = Environment(values)
    model = compiled(base, ROOT / "c" / "kws" / "kws.c", optimize=optimize, folders=[ROOT / "c"])
    base["CCFLAGS"] = flags
    assert [flag for flag in model["CCFLAGS"](None, None, None, None) if flag.startswith("-O")][-1] == level
    assert isinstance(compiled(base, ROOT / "src" / "main.c", optimize=optimize), SimpleNamespace)


def test_hot_code_is_defined_for_the_runtime_and_for_models_compiled_as_c():
    folders = [ROOT / "c"]
    for hot in (False, True):
        own = compiled(Environment(), RUNTIME / "src" / "plan.c", hot=hot)
        model = compiled(Environment(), ROOT / "c" / "kws" / "kws.c", folders=folders, hot=hot)
        assert ("-DTIGRIS_HOT_IN_IRAM" in own["CCFLAGS"]) == hot
        assert ("-DTIGRIS_HOT_IN_IRAM" in model["CCFLAGS"](None, None, None, None)) == hot
