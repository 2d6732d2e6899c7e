"""Models as C in a real `pio run`: the board prints the host's outputs."""

import functools
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.docs.pages import blocks
from tests.networks.folders import OWN
from tigris_pio import Session, compile_model
from tigris_pio.cli.codegen import codegen
from tigris_pio.platformio import compiler as compilers
from tigris_pio.platformio import layout, options, partitions, plain_c

from .project import ROOT

#: `CALL` runs the model; `BEFORE` stands before `main`.
MAIN = """
#include <stdio.h>
#include <board.h>
BEFORE
int main(void)
{
    for (unsigned i = 0; i < KWS_INPUT_BYTES; i++)
        KWS_INPUT_IN(fast)[i] = (int8_t)(uint8_t)(i * 37U);
    printf("[%d", CALL);
    for (unsigned i = 0; i < KWS_OUTPUT_BYTES; i++)
        printf(" %d", KWS_OUTPUT_IN(fast)[i]);
    printf("]\\n");
    for (;;)
        board_wait_uart();
}
"""
PLAIN = MAIN.replace("BEFORE", '#include "kws.h"\nstatic KWS_ALIGNED uint8_t fast[KWS_FAST_BYTES];').replace(
    "CALL", "kws_run(KWS_INPUT_IN(fast), KWS_OUTPUT_IN(fast), fast)")  # fmt: skip
#: By the page's own function, which calls a model with its weights.
PAGE = next(block.text for block in blocks(ROOT / "docs" / "codegen.md", "text") if "<tigris_port.h>" in block.text)
BESIDE_WEIGHTS = MAIN.replace("BEFORE", PAGE).replace("CALL", "run(KWS_INPUT_IN(fast), KWS_OUTPUT_IN(fast))")
INI = f"""
[env:emu_cortex_m4]
board = emu_cortex_m4
custom_tigris_python = {sys.executable}
custom_tigris_models = kws.onnx
custom_tigris_mem = 6K
custom_tigris_mode = c
"""


#: The library's own extra script takes the hook's place.
LIBRARY = f"extra_scripts =\nlib_deps = tigris-pio=symlink://{ROOT}\n"


@functools.cache
def expected() -> bytes:
    compiled = compile_model(OWN / "kws_int8.onnx", fast="6K")
    with Session(compiled) as session:
        (source,) = session.inputs
        given = (np.arange(490) * 37).astype(np.uint8).view(np.int8).reshape(source.stored_shape)
        (output,) = session.run_raw({source.name: given}).values()
    return b"[0 " + b" ".join(str(value).encode() for value in output.reshape(-1)) + b"]"


@pytest.mark.parametrize("lines", ["", LIBRARY], ids=["the hook", "the library alone"])
def test_a_board_runs_a_model_compiled_as_c(new_project, lines):
    project = new_project({"src/main.c": PLAIN}, INI + lines)
    shutil.copyfile(OWN / "kws_int8.onnx", project.folder / "kws.onnx")
    said = project.run("-t", "upload")
    assert "Writing model kws as C for 6K" in said
    assert re.search(r"Model kws: kws_run takes \d{4} bytes of fast and 0 of slow memory", said)
    assert project.serial("emu_cortex_m4", b"]").strip().endswith(expected())
    assert not (project.build("emu_cortex_m4") / "tigris" / "tigris_models.h").exists()
    again = project.run()
    assert "Writing model" not in again and "Compiling" not in again


def test_plans_need_the_hook(new_project):
    project = new_project({"src/main.c": PLAIN}, INI.replace("mode = c", "mode = plan") + LIBRARY)
    shutil.copyfile(OWN / "kws_int8.onnx", project.folder / "kws.onnx")
    assert "custom_tigris_mode = plan: needs the line extra_scripts = pre:" in project.refused()


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """`compiled(names, **options)`: settings of a project whose compiler gives the models these C names."""

    def given(names, **options_):
        (tmp_path / "kws.onnx").write_bytes(b"model")
        texts = {"models": "kws.onnx", "mem": "6K", "mode": "c", **options_}
        named = iter(names)

        def run(compiler, arguments, *_):
            codegen.make_context("codegen", list(arguments))  # takes all of them
            name, folder = next(named), Path(arguments[arguments.index("-o") + 1])
            folder.mkdir(parents=True, exist_ok=True)
            shared = ["tigris_c_k.c"] if "split" in arguments else []
            files = [f"{name}.c", f"{name}.h", f"{name}_weights.bin", *shared]
            for file in files:
                (folder / file).write_bytes(b"x" * 9000)
            return {"c": {"name": name, "files": files, "fast_bytes": 1, "slow_bytes": 0}}

        monkeypatch.setattr(compilers, "run", run)
        return options.parse({f"custom_tigris_{name}": text for name, text in texts.items()}, tmp_path)

    return given


def provide(settings, folder, fingerprint=""):
    for model in settings.models:
        plain_c.write_c(model, settings, compilers.Compiler(("python",), fingerprint, None), folder / "c" / model.name)


def test_files_of_an_earlier_name_are_removed(compiled, tmp_path):
    """Otherwise they would be compiled too."""
    settings = replace(compiled(["a", "b", "b"]), chip="esp32s3")
    for number in range(3):
        provide(settings, tmp_path, str(number))
    found = {path.name for path in (tmp_path / "c" / "kws").iterdir()}
    assert found == {"b.c", "b.h", "b_weights.bin", "made.json"}


def test_two_models_with_one_c_name_stop_the_build(compiled, tmp_path):
    settings = compiled(["model_max"] * 2, models="\n  max = kws.onnx\n  model_max = kws.onnx")
    environment = SimpleNamespace(subst=lambda text: str(tmp_path), Append=lambda **_: None,
                                  BuildSources=lambda *_: None)  # fmt: skip
    message = "the models max and model_max both have the C name model_max; name them by lines of"
    with pytest.raises(options.OptionError, match=message):
        plain_c.add(environment, settings, compilers.Compiler(("python",), "", None))


def test_kernels_of_several_models_are_compiled_once(compiled, tmp_path):
    settings = compiled(["a", "b"], models="\n  a = kws.onnx\n  b = kws.onnx")
    filters = []
    environment = SimpleNamespace(subst=lambda text: str(tmp_path), Append=lambda **_: None,
                                  BuildSources=lambda objects, folder, chosen: filters.append(chosen))  # fmt: skip
    plain_c.add(environment, settings, compilers.Compiler(("python",), "", None))
    assert filters == [["+<*>"], ["+<*>", "-<tigris_c_k.c>"]]


def test_weights_that_do_not_fit_their_partition_stop_the_build(compiled, tmp_path):
    settings = compiled("ab", models="\n  a = kws.onnx\n  b = kws.onnx", weights="partition")
    provide(settings, tmp_path)
    place = partitions.Partition("model", "data", "0x40", 0x110000, 0x6000)
    images = plain_c.place_weights(settings, {"model": place}, tmp_path)
    assert images[tmp_path / "model.bin"] == (b"x" * 9000).ljust(0x3000, b"\xff") + b"x" * 9000
    with pytest.raises(layout.LayoutError, match=r"model: the weights take .* has 16384"):
        plain_c.place_weights(settings, {"model": replace(place, size=0x4000)}, tmp_path)


PARTITION = f"lib_deps = tigris-pio=symlink://{ROOT}\ncustom_tigris_weights = partition\n"


@pytest.mark.thorough
def test_weights_are_flashed_in_their_own_partition(new_project):
    """Weights of another training stop a firmware that compares them; the right ones are flashed alone."""
    project = new_project({"src/main.c": BESIDE_WEIGHTS}, INI + PARTITION + "custom_tigris_partition = nn\n")
    shutil.copyfile(OWN / "kws_int8.onnx", project.folder / "kws.onnx")
    said = project.run("-t", "upload")
    files = compile_model(OWN / "kws_int8.onnx", fast="6K").codegen(None, "kws", weights="partition").files
    weights = files["kws_weights.bin"]
    assert f"Weights of kws: {len(weights)} bytes at 0x0 of partition nn" in said
    flash = project.flash("emu_cortex_m4")
    partition = partitions.find(partitions.parse_binary(flash[0x8000:0x8C00]), "nn")
    assert partition is not None and flash[partition.offset :].startswith(weights)
    assert weights[:64] not in (project.build("emu_cortex_m4") / "firmware.bin").read_bytes()
    assert project.serial("emu_cortex_m4", b"]").strip().endswith(expected())
    wrong = bytearray(weights)
    wrong[-20] ^= 1
    project.restart("emu_cortex_m4", (partition.offset, bytes(wrong)))
    assert b"\n[-1 " in project.serial("emu_cortex_m4", b"]")
    project.run("-t", "uploadmodel")
    assert project.flash("emu_cortex_m4") == flash
    assert project.serial("emu_cortex_m4", b"]").strip().endswith(expected())
    assert re.search(r"(?m)^nn, data, 0x40, 0x\w+, 0x\w+0000$", project.run("-t", "tigris_table"))
