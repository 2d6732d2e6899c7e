"""The commands as their users call them: exit status, one JSON document, no half-written files, no tracebacks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.compiler.models import make, node
from tests.harness.command import tigris
from tigris_pio.format.records import Header


@pytest.fixture(scope="module")
def kws(models_dir: Path) -> Path:
    return models_dir / "kws_int8.onnx"


def test_analyze_json_has_every_key_and_nothing_else_is_printed(kws):
    done = tigris("analyze", kws, "-m", "8K+1M", "-f", "4M", "--json")
    report = json.loads(done.stdout)
    assert [report[key] for key in ("model", "dtype", "ops", "fits")] == ["kws_int8", "int8", 13, True]
    assert report["budget"] == {"fast": 8192, "slow": 1 << 20, "flash": 4 << 20}
    assert set(report["memory"]) >= {"unscheduled_peak", "lower_bound", "fast_peak", "slow_peak"}
    assert set(report["traffic"]) >= {"slow_read", "slow_written"}
    assert report["compute"]["macs"] == 2_656_768 and report["compute"]["recomputed_macs"] == 0
    assert set(report["flash"]) >= {"plan", "weights"}
    assert isinstance(report["warnings"], list)
    for stage in report["stages"]:
        assert stage["strategy"] in ("normal", "tiled", "chain", "rolling")
        assert set(stage) >= {"ops", "bands", "band_rows", "fast_peak"}
    assert sum(len(stage["ops"]) for stage in report["stages"]) == 13
    assert done.stderr == ""


def test_analyze_says_what_does_not_fit(models_dir):
    model = models_dir / "micro_speech_int8.onnx"
    done = tigris("analyze", model, "-m", "2K", "--json", status=1)
    report = json.loads(done.stdout)
    assert report["fits"] is False
    smallest = report["reason"].split("works is ")[1].split(" bytes")[0]
    assert json.loads(tigris("analyze", model, "-m", smallest, "--json").stdout)["fits"] is True


def test_compile_run_and_inspect(kws, models_dir, tmp_path):
    plan, header, output = tmp_path / "kws.tgrs", tmp_path / "kws.h", tmp_path / "y.npy"
    files = ("-o", plan, "--header", header)
    done = tigris("compile", kws, "-m", "16K", "--xip", "--name", "words", *files, "--json")
    report = json.loads(done.stdout)
    assert report["flash"]["plan"] == plan.stat().st_size
    assert "TIGRIS_MODEL_WORDS_FAST_BYTES" in header.read_text()
    data = np.load(models_dir / "kws_vectors.npz")
    np.save(tmp_path / "x.npy", data["input_f32"][0][np.newaxis])
    files = ("--input", tmp_path / "x.npy", "--output", output)
    document = json.loads(tigris("run", plan, *files, "--json").stdout)
    expected = (data["output_tflm_q"][0].astype(np.float32) + 128) / 256
    np.testing.assert_array_equal(np.load(output).ravel(), expected)
    assert document["memory"]["fast_peak"] <= 16384
    smaller = tmp_path / "smaller.npy"
    tigris("run", plan, "-m", "8K+1M", "--input", tmp_path / "x.npy", "--output", smaller)
    assert smaller.read_bytes() == output.read_bytes()
    refused = tigris("run", plan, "-m", "8K", "--input", tmp_path / "x.npy", status=1)
    assert re.search(r"at least \d+ bytes of fast memory are missing", refused.stderr.replace("\n", " "))
    inspected = json.loads(tigris("inspect", plan, "--json").stdout)
    assert inspected["model"] == "words" and inspected["xip"] is True and len(inspected["operators"]) == 13
    assert json.loads(tigris("inspect", kws, "--json").stdout)["opset"] == 17
    assert tigris("inspect", plan).stdout and tigris("run", plan, "--input", tmp_path / "x.npy").stdout


def test_verify_takes_the_plan_of_a_kernel_library(kws):
    words = ("verify", kws, "-m", "64K", "--backend", "esp-nn", "--chip", "esp32s3", "--samples", "1", "--json")
    assert json.loads(tigris(*words).stdout)["passed"]
    assert "esp32s3" in tigris("verify", kws, "--backend", "esp-nn", "--chip", "esp32s9", status=2).stderr


def test_a_plan_is_never_left_half_written(kws, models_dir, tmp_path):
    model = models_dir / "micro_speech_int8.onnx"
    done = tigris("compile", model, "-m", "2K", "-o", tmp_path / "kws.tgrs", status=1)
    assert "smallest fast memory that works" in done.stderr
    files = ("-o", tmp_path / "kws.tgrs", "--header", tmp_path / "k.h")
    done = tigris("compile", kws, "-m", "64K", "-f", "8K", *files, status=1)
    assert "-f 31K" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_every_unsupported_operator_is_named_at_once(tmp_path):
    nodes = [node("Relu", "x", "a"), node("RandomUniformLike", "a", "b", "odd one"),
             node("RandomNormalLike", "a", "c", "odd two")]
    onnx.save(make(nodes, {"x": (1, 2, 4, 4)}, ["b", "c"]), tmp_path / "odd.onnx")
    done = tigris("compile", tmp_path / "odd.onnx", "-m", "64K", "-o", tmp_path / "x.tgrs", status=1)
    assert all(word in done.stderr for word in ("RandomUniformLike", "odd one", "RandomNormalLike", "odd two"))
    assert not (tmp_path / "x.tgrs").exists()


def test_missing_and_wrong_files_are_named(tmp_path, kws):
    text = tmp_path / "text.onnx"
    text.write_text("not a model")
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(kws.read_bytes()[:20000])
    for path in (text, cut):
        done = tigris("analyze", path, "-m", "64K", status=1)
        assert path.name in done.stderr


def test_damaged_plans_are_refused_with_the_reason(kws, tmp_path):
    plan = tmp_path / "kws.tgrs"
    tigris("compile", kws, "-m", "16K", "-o", plan)
    good = plan.read_bytes()
    damage = {
        "no .tgrs plan": b"nonsense" * 40,
        "truncated": good[: len(good) // 2],
        "checksum": good[:-1] + bytes([good[-1] ^ 1]),
        "another format version": good[:4] + b"\x63\x00" + good[6:],
    }
    for word, data in damage.items():
        plan.write_bytes(data)
        assert word in tigris("inspect", plan, status=1).stderr
    plan.write_bytes(good[: Header.size()])
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 49, 10), np.float32))
    assert "plan" in tigris("run", plan, "--input", tmp_path / "x.npy", status=1).stderr
    plan.write_bytes(good)
    assert "input" in tigris("run", plan, "--input", f"other={tmp_path / 'x.npy'}", status=2).stderr
