"""The cache of plans: the inputs of its key, and that only complete plans come out of it."""

import dataclasses
import errno
import json
import os
import struct
import zlib
from pathlib import Path

import onnx
import pytest

from tests.compiler.load.onnx.test_external_data import PLACES, elsewhere, placed
from tests.compiler.load.onnx.test_external_data import model as float_model
from tests.networks.folders import OWN
from tigris_pio.compiler.load.onnx.external_data import locations
from tigris_pio.platformio import options, plans
from tigris_pio.platformio.compiler import Compiler, CompilerError

COMPILER = Compiler(("python", "-m", "tigris_pio"), "fingerprint")


def settings(project: Path, **values: str) -> options.Settings:
    texts = {"models": "m.onnx", "mem": "64K", **values}
    return options.parse({f"custom_tigris_{name}": text for name, text in texts.items()}, project)


@pytest.fixture
def model(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"the model")
    return options.Model("m", tmp_path / "m.onnx")


@pytest.fixture
def runs(monkeypatch):
    """The compiler's runs; its plans hold the model's bytes."""
    made = []

    def run(compiler, arguments, folder):
        made.append(list(arguments))
        content = Path(arguments[0]).read_bytes()
        head = struct.pack("<4sHHIII", b"TGRS", 1, 20, 0, 20 + len(content), zlib.crc32(content))
        Path(arguments[arguments.index("-o") + 1]).write_bytes(head + content)
        Path(arguments[arguments.index("--header") + 1]).write_text("#define TIGRIS_MODEL_M_FAST_BYTES 64u\n", "utf-8")
        return {"memory": {"fast_peak": 64}}

    monkeypatch.setattr(plans, "run", run)
    return made


@pytest.fixture
def provide(model, tmp_path, runs):
    """Fills the outputs; returns their contents."""

    def provide():
        outputs = plans.Outputs(*(tmp_path / "build" / name for name in ("m.tgrs", "m.h", "m.json")))
        before = len(runs)
        compiled = plans.compile_or_copy(model, settings(tmp_path), COMPILER, tmp_path / "cache", outputs)
        assert compiled == (len(runs) > before)
        return outputs

    return provide


def contents(outputs):
    return [path.read_bytes() for path in (outputs.plan, outputs.header, outputs.report, outputs.digests)]


def test_no_damage_of_the_cache_reaches_the_build(provide, runs, tmp_path, capsys):
    good = contents(provide())
    (entry,) = (tmp_path / "cache").iterdir()
    tried = 1
    for file in sorted(entry.iterdir()):
        written = file.read_bytes()
        for data in (b"", written[:-1], bytes([written[0] ^ 1]) + written[1:], None):
            file.unlink()
            if data is not None:
                file.write_bytes(data)
            assert contents(provide()) == good
            tried += 1
            assert len(runs) == tried and file.read_bytes() == written, (file.name, data)
    assert f"model m in {tmp_path / 'cache'} is damaged, so it is compiled again\n" in capsys.readouterr().out
    provide()
    assert len(runs) == tried
    assert capsys.readouterr().out == ""


def test_no_damage_of_the_build_folder_reaches_the_board(provide, runs):
    outputs = provide()
    good = contents(outputs)
    for path in (outputs.plan, outputs.header, outputs.report, outputs.digests):
        path.write_bytes(path.read_bytes()[:-1])
        plans.drop_damaged(outputs)
        assert not outputs.plan.exists(), path.name
        assert contents(provide()) == good
    plans.drop_damaged(outputs)
    assert contents(outputs) == good
    assert len(runs) == 1


def test_a_plan_with_a_wrong_checksum_is_never_used(provide, runs, tmp_path):
    provide()
    (entry,) = (tmp_path / "cache").iterdir()
    for plan in (b"", b"TGRS", b"not a plan" * 9, (entry / "plan.tgrs").read_bytes()[:-1] + b"?"):
        compiled = plans.Compiled(plan, (entry / "model.h").read_bytes(), (entry / "report.json").read_bytes())
        (entry / "plan.tgrs").write_bytes(plan)
        (entry / "digests.json").write_text(compiled.digests, "utf-8")
        provide()
    assert len(runs) == 5


def refuse(error=errno.EROFS):
    raise OSError(error, os.strerror(error))


def test_a_read_only_cache_serves_its_entries(provide, runs, tmp_path, monkeypatch, capsys):
    provide()
    monkeypatch.setattr(plans.os, "utime", lambda *_, **__: refuse())
    real = plans.tempfile.mkdtemp
    monkeypatch.setattr(plans.tempfile, "mkdtemp",
                        lambda **given: refuse() if given["dir"] == tmp_path / "cache" else real(**given))  # fmt: skip
    provide()
    assert (len(runs), capsys.readouterr().out) == (1, "")
    (tmp_path / "m.onnx").write_bytes(b"another")
    outputs = provide()
    assert outputs.plan.read_bytes()[20:] == b"another"
    said = f"Plans cannot be cached in {tmp_path / 'cache'} (Read-only file system): m is compiled for this build"
    assert said in capsys.readouterr().out


def test_a_full_disk_is_no_error_if_the_build_has_its_plan(provide, tmp_path, monkeypatch, capsys):
    with monkeypatch.context() as patched:
        patched.setattr(plans.os, "replace", lambda *_, **__: refuse(errno.ENOSPC))
        assert provide().plan.is_file()
    assert "(No space left on device)" in capsys.readouterr().out
    assert list((tmp_path / "cache").iterdir()) == []
    provide()
    assert len(list((tmp_path / "cache").iterdir())) == 1


@pytest.fixture
def around(monkeypatch):
    """`around(step)`: `step(run)` replaces the compiler's next run."""

    def replaced(step):
        run = plans.run

        def once(compiler, arguments, folder):
            monkeypatch.setattr(plans, "run", run)
            return step(lambda: run(compiler, arguments, folder), arguments)

        monkeypatch.setattr(plans, "run", once)

    return replaced


def test_two_builds_at_once_leave_one_whole_entry(provide, tmp_path, runs, around):
    around(lambda run, _: (provide(), run())[1])
    good = contents(provide())
    assert len(list((tmp_path / "cache").iterdir())) == 1
    assert contents(provide()) == good
    assert len(runs) == 2


def test_a_model_that_changes_while_it_is_compiled_is_not_cached(provide, tmp_path, runs, around):
    around(lambda run, _: ((tmp_path / "m.onnx").write_bytes(b"saved again"), run())[1])
    provide()
    (tmp_path / "m.onnx").write_bytes(b"the model")
    assert provide().plan.read_bytes()[20:] == b"the model"


def test_an_incomplete_plan_is_refused(provide, tmp_path, runs, around):
    def cut(run, arguments):
        report, plan = run(), Path(arguments[arguments.index("-o") + 1])
        plan.write_bytes(plan.read_bytes()[:-1])
        return report

    around(cut)
    with pytest.raises(CompilerError, match=r"a damaged plan \(28 bytes of 29\)"):
        provide()
    assert list((tmp_path / "cache").iterdir()) == []


# ---- inputs of the key -------------------------------------------------------------------------------------------

#: For each option two values that give different plans; None: the option does not influence the plan.
VALUES: dict[str, tuple[str, str] | None] = {
    "models": ("m.onnx", "other = m.onnx"), "mem": ("64K", "64K+1M"), "flash": ("1M", "2M"), "xip": ("yes", "no"),
    "compress": ("none", "lz4"), "dims": ("length=512", "length=256"), "backend": ("esp-nn", "cmsis-nn"),
    "set": ("sr=16000", "sr=8000"), "state": ("h_out=h", "c_out=c"), "stream": ("image", "sound"), "hop": ("1", "2"),
    "limits": ("nodes=200000", "nodes=300000"), "cores": ("1", "2"), "sign": ("a.pem", "b.pem"),
    "security_version": ("1", "2"),
    **dict.fromkeys(("partition", "match", "check", "backend_path", "python", "auto_install", "slots", "slot_size")),
    **dict.fromkeys(("mode", "weights", "optimize", "hot")),  # a model compiled as C has no plan
}  # fmt: skip


def key_of(project: Path, **values: str) -> str:
    for name in ("a.pem", "b.pem"):
        (project / name).write_text("a key")
    values |= {"sign": "a.pem"} if "security_version" in values else {}
    chosen = dataclasses.replace(settings(project, **values), chip="esp32s3")
    return plans.key(chosen.models[0], chosen, COMPILER)


@pytest.mark.parametrize("name", [name for name, values in VALUES.items() if values])
def test_every_option_that_influences_the_plan_changes_the_key(model, tmp_path, name):
    assert set(VALUES) == set(options.NAMES), "say in VALUES what the new option does to a plan"
    one, other = VALUES[name]
    keys = [key_of(tmp_path), key_of(tmp_path, **{name: one}), key_of(tmp_path, **{name: other})]
    assert keys[1] != keys[2]
    assert keys[1:] == [key_of(tmp_path, **{name: value}) for value in (one, other)]


def test_dimensions_chip_and_compiler_change_the_key(model, tmp_path):
    chosen = settings(tmp_path, backend="esp-nn", dims="a=1 b=2")
    keys = {plans.key(model, dataclasses.replace(chosen, chip=chip), COMPILER) for chip in ("esp32s3", "esp32p4")}
    keys.add(plans.key(model, dataclasses.replace(chosen, chip="esp32s3"),
                       dataclasses.replace(COMPILER, fingerprint="newer")))
    keys |= {key_of(tmp_path, backend="esp-nn", dims=dims) for dims in ("a=1 b=3", "a=3 b=2", "a=1", "b=2", "a=2 b=1")}
    assert len(keys) == 8


def test_another_key_in_the_same_file_changes_the_key(model, tmp_path):
    keys = {key_of(tmp_path, sign="a.pem")}
    chosen = settings(tmp_path, sign="a.pem")
    (tmp_path / "a.pem").write_text("another key")
    assert plans.key(model, dataclasses.replace(chosen, chip="esp32s3"), COMPILER) not in keys


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
def test_a_data_file_changes_the_key_wherever_the_model_names_it(tmp_path, place):
    (tmp_path / "m.onnx").write_bytes(placed(place, "weights.bin").SerializeToString())
    keys = [key_of(tmp_path)]
    for content in (b"one", b"two"):
        (tmp_path / "weights.bin").write_bytes(content)
        keys.append(key_of(tmp_path))
    (tmp_path / "weights.bin").unlink()
    assert len(set(keys)) == 3
    assert key_of(tmp_path) == keys[0]


def test_a_file_that_must_not_be_read_is_not(tmp_path):
    """Reading a pipe would block the build."""
    os.mkfifo(tmp_path / "pipe")
    proto = float_model()
    elsewhere(proto.graph.initializer[0], location="pipe")
    onnx.save(proto, tmp_path / "m.onnx")
    assert len(key_of(tmp_path)) == 64
    assert json.dumps(plans.sources.digest(options.Model("m", tmp_path / "m.onnx"))).count("no regular file") == 1


def test_the_key_of_a_tensorflow_lite_file_is_its_content(tmp_path):
    """Text in it that looks like the place of ONNX's data files has no effect."""
    model = options.Model("speech", tmp_path / "speech.tflite")
    model.path.write_bytes(data := (OWN / "micro_speech_int8.tflite").read_bytes())
    given = settings(tmp_path, models="speech.tflite")
    before = plans.key(model, given, COMPILER)
    model.path.write_bytes(data + b"\x6a\x08location\x12\x05a.bin")
    assert plans.key(model, given, COMPILER) != before
    assert locations(model.path) == ()
