"""`tigris quantize` on the project's networks and on small ones: what it costs, what can be chosen, what is refused."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compiler.models import make, node, nodes
from tests.harness import tiers
from tests.harness.command import tigris
from tests.quantize.twins import DIGITS, written
from tests.runtime.build import ensure_library
from tigris_pio import Session, compile_model
from tigris_pio.quantize import narrow
from tigris_pio.quantize.library import quantization
from tigris_pio.quantize.masks import bound_masks, may_mask
from tigris_pio.quantize.prepare import LayerNodes
from tigris_pio.quantize.search import Found, search

FUZZ = tiers.chosen() == "fuzz"
#: Samples, and how many of them are held out. What some samples say of a network whose classes are near to each other
#: is no more exact than one in the root of their number: visual wake words needs many.
SAMPLES = {"digits": (450, 250), "kws": (1200, 1000) if FUZZ else (120, 60), "resnet": (600, 500),
           "vww": (1100, 1000)}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    ensure_library()


def quantize(model: object, *arguments: object, status: int = 0) -> dict[str, Any]:
    out = Path(str(model)).with_name("out.onnx")
    document: dict[str, Any] = json.loads(tigris("quantize", model, "-o", out, "--json", *arguments,
                                                 status=status).stdout)  # fmt: skip
    return document


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return written("digits", 100, tmp_path_factory.mktemp("digits"))


@pytest.mark.fuzzed
@pytest.mark.timeout(600 if FUZZ else 60)
@pytest.mark.parametrize("name", list(SAMPLES) if FUZZ else ["digits", "kws"])
def test_accuracy_stays_within_a_point_and_all_is_int8(name: str, tmp_path: Path) -> None:
    count, held_out = SAMPLES[name]
    model, archive = written(name, count, tmp_path)
    found = quantize(model, "--data", archive, "--held-out", held_out)
    assert found["accuracy"]["int8"] >= found["accuracy"]["float"] - 0.01 and found["accuracy"]["float"] > 0.8
    assert found["float_ops"] == [] and {row["dtype"] for row in found["layers"]} == {"int8"}
    assert found["samples"] == {"calibration": count - held_out, "held_out": held_out}
    assert found["outputs_from"] == "plan"
    assert found["after"]["ram"] < 0.3 * found["before"]["ram"]
    assert found["after"]["flash"] < 0.4 * found["before"]["flash"]
    assert found["after"]["macs"] == found["before"]["macs"]
    assert found["after"]["instructions"]["without_fpu"] < 0.1 * found["before"]["instructions"]["without_fpu"]
    assert found["before"]["instructions"]["with_fpu"] < 0.2 * found["before"]["instructions"]["without_fpu"]


def test_the_model_written_is_the_one_measured(digits: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "int8.onnx"
    text = tigris("quantize", digits[0], "--data", digits[1], "-o", out).stdout
    compiled = compile_model(out)
    assert compiled.report["dtype"] == "int8"
    with np.load(digits[1]) as arrays, Session(compiled) as session:
        (io,) = session.inputs
        assert io.scale > 0 and str(io.stored_dtype) == "int8"
        right = sum(int(np.argmax(session.run({io.name: image[np.newaxis]})["probability"])) == label
                    for image, label in zip(arrays[io.name], arrays["labels"], strict=True))  # fmt: skip
    assert right >= 94
    words = ("conv_0", "cosine", "accuracy: float", "RAM:", "flash:", "multiply-accumulates", "estimated instructions",
             "25 held-out samples")
    assert [word for word in words if word not in text] == []


def test_a_model_trained_again_keeps_the_scales_that_firmware_knows(digits: tuple[Path, Path], tmp_path: Path) -> None:
    """As if its inputs were three times as large now; a range that is named comes before the old model's."""
    old, new, louder = (tmp_path / name for name in ("old.onnx", "new.onnx", "louder.npz"))
    with np.load(digits[1]) as arrays:
        np.savez(louder, **{name: array * 3 if name == "image" else array for name, array in arrays.items()})
    tigris("quantize", digits[0], "--data", digits[1], "-o", old)

    def ports(*arguments: object) -> list[tuple[float, int]]:
        tigris("quantize", digits[0], "--data", louder, "-o", new, *arguments)
        report = compile_model(new).report
        return [(port["scale"], port["zero_point"]) for port in (*report["inputs"], *report["outputs"])]

    report = compile_model(old).report
    before = [(port["scale"], port["zero_point"]) for port in (*report["inputs"], *report["outputs"])]
    assert ports()[0] != before[0] and ports("--like", old) == before
    named = ports("--like", old, "--range", "image=-1:4.1")
    assert named == [(pytest.approx(5.1 / 255), -78), *before[1:]]


@pytest.mark.parametrize("method", [("percentile", "--percentile", "99.9"), ("entropy",)])
def test_every_way_of_calibrating(method: tuple[str, ...], digits: tuple[Path, Path]) -> None:
    found = quantize(digits[0], "--data", digits[1], "--held-out", 40, "--calibration", *method)
    assert found["samples"] == {"calibration": 60, "held_out": 40}
    assert found["calibration"] == method[0] and found["error"] < 0.2


def test_an_array_alone_and_labels_by_name(digits: tuple[Path, Path], tmp_path: Path) -> None:
    with np.load(digits[1]) as arrays:
        images, labels = arrays["image"][:40], arrays["labels"][:40]
    np.save(tmp_path / "x.npy", images)
    assert quantize(digits[0], "--data", tmp_path / "x.npy")["accuracy"] == {"float": None, "int8": None}
    np.savez(tmp_path / "x.npz", image=images, kind=labels)
    assert quantize(digits[0], "--data", tmp_path / "x.npz", "--labels", "kind")["accuracy"]["float"] > 0.9


def outlier(folder: Path) -> tuple[Path, Path]:
    """Three convolutions with Relus; in the second one channel is a hundred times the others, and unused behind it."""
    rng = np.random.default_rng(1)
    weights = {f"w{index}": rng.normal(0, 0.3, (8, channels, 3, 3)).astype(np.float32)
               for index, channels in enumerate((3, 8, 8))}
    weights["w1"][0] *= 100
    weights["w2"][:, 0] = 0
    layers = []
    for index, source in enumerate(("x", "r0", "r1")):
        layers += [node("Conv", f"{source} w{index}", f"c{index}", f"conv{index}", pads=[1] * 4),
                   node("Relu", f"c{index}", f"r{index}", f"relu{index}")]
    path, data = folder / "outlier.onnx", folder / "outlier.npz"
    onnx.save(make(layers, {"x": ("n", 3, "size", 8)}, ["r2"], weights), path)
    np.savez(data, x=rng.normal(0, 1, (32, 3, 8, 8)).astype(np.float32))
    return path, data


def test_sensitive_layers_are_named_and_can_stay_in_float(tmp_path: Path) -> None:
    model, data = outlier(tmp_path)
    given = ("--data", data, "--dim", "size=8")
    whole = quantize(model, *given)
    assert whole["error"] > 0.1 and "conv2" in whole["sensitive"]
    assert "--int16 conv2" in tigris("quantize", model, *given, "-o", tmp_path / "out.onnx").stdout
    for name in ("conv1", "relu1", "r1"):
        some = quantize(model, *given, "--keep-float", name, "--keep-float", "conv2")
        assert some["kept_float"] == ["conv1", "conv2"] and some["error"] < whole["error"]
        assert {row["name"]: row["dtype"] for row in some["layers"]}["conv1"] == "float32"


def test_layers_in_int16_lose_little_and_stay_integers(tmp_path: Path) -> None:
    model, data = outlier(tmp_path)
    given = ("--data", data, "--dim", "size=8")
    whole, some = quantize(model, *given), quantize(model, *given, "--int16", "r1", "--int16", "conv2")
    assert some["int16"] == ["conv1", "conv2"] and some["error"] < 0.02 and whole["error"] > 0.1
    assert some["float_ops"] == [] and some["sensitive"] == [] and some["outputs_from"] == "plan"
    rows = {row["name"]: row["dtype"] for row in some["layers"]}
    assert rows == {"conv0": "int16", "conv1": "int16", "conv2": "int16"}  # whose output conv1 reads
    both = tigris("quantize", model, *given, "-o", tmp_path / "o.onnx", "--int16", "conv1", "--keep-float", "r1",
                  status=2)  # fmt: skip
    assert "--int16 conv1: --keep-float names this layer, too" in both.stderr
    compiled = compile_model(tmp_path / "out.onnx")
    assert sum(op.dtype.name == "INT16" for op in compiled.plan.program.ops) >= 3
    tigris("verify", tmp_path / "out.onnx", "--samples", 2)


@pytest.mark.parametrize("value", [-1e4, -3.4028235e38, -np.inf])
def test_masks_leave_the_range_to_the_scores(value: float) -> None:
    """Constant, computed, or chosen in place of the scores; not what differs within a vector, or is read elsewhere."""
    triangle = np.triu(np.full((4, 4), value, np.float32), 1)
    steps = np.linspace(-99, -40, 16, dtype=np.float32).reshape(4, 4)
    constants = {"m": triangle, "keep": triangle == 0, "fill": np.array(value, np.float32), "steps": steps}
    nodes = [node(*words) for layer in (
        ("Add", "x m", "a"), ("Where", "keep x fill", "b"), ("Add", "n x", "c"), ("Add", "x steps", "d"),
        ("Add", "x read", "e"),
    ) for words in (layer, ("Softmax", layer[2], f"p{layer[2]}"))]  # fmt: skip
    shapes = dict.fromkeys(("x", "n", "read"), (4, 4))
    model = make([*nodes, node("Neg", "read", "q")], shapes, [*(f"p{name}" for name in "abcde"), "q"], constants)
    ends = dict.fromkeys("abcde", (value, 3)) | {"x": (-2, 3), "n": (value, 0), "read": (value, 0)}
    calibrate = quantization("calibrate")
    ranges = calibrate.TensorsData(calibrate.CalibrationMethod.MinMax, {
        name: tuple(np.array([end], np.float32) for end in pair) for name, pair in ends.items()})  # fmt: skip
    bound_masks(model, ranges)
    found = {name: ranges[name].lowest.item() for name in ends}
    assert found == {"a": -27, "b": -22, "c": -27, "d": np.float32(value), "e": -27, "x": -2, "n": -25,
                     "read": np.float32(value)}  # fmt: skip
    values = {item.name: onnx.numpy_helper.to_array(item) for item in model.graph.initializer}
    used = [values[name] for layer in model.graph.node for name in layer.input if name in values]
    assert [array.min() for array in used] == [-25, 0, -22, -99]


@pytest.mark.thorough
def test_causal_attention_in_int8(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    weights = {name: rng.normal(0, 0.4, (8, 8)).astype(np.float32) for name in ("wq", "wk", "wv")}
    weights["m"] = np.triu(np.full((8, 8), -1e9, np.float32), 1)
    layers = [*(node("MatMul", f"x w{name}", name) for name in "qkv"), node("Transpose", "k", "t", perm=[0, 2, 1]),
              node("MatMul", "q t", "s"), node("Add", "s m", "a"), node("Softmax", "a", "p"),
              node("MatMul", "p v", "y")]  # fmt: skip
    onnx.save(make(layers, {"x": (1, 8, 8)}, ["y"], weights), tmp_path / "float.onnx")
    np.savez(tmp_path / "x.npz", x=rng.normal(0, 1, (32, 8, 8)).astype(np.float32))
    for method in ("minmax", "percentile"):
        found = quantize(tmp_path / "float.onnx", "--data", tmp_path / "x.npz", "--calibration", method)
        assert found["error"] < 0.1 and found["float_ops"] == []


@pytest.mark.parametrize(("op", "style"), [
    ("Mul", "Sub one c i; Mul i fill a"), ("Where", "Cast m d to=9; Where d zero fill a")])
def test_masks_that_are_computed_of_constants(op: str, style: str) -> None:
    """The constants are bounded, not what another node reads; a Max against the lowest float counts for nothing."""
    constants = {"one": np.array(1, np.float32), "zero": np.array(0, np.float32), "fill": np.array(-1e9, np.float32)}
    layers = nodes(f"Cast m c to=1; {style}; Add x a s; Max s fill t; Softmax t y; Neg fill q")
    model = make(layers, {"x": (4, 4), "m": (4, 4)}, ["y", "q"], constants, types={"m": onnx.TensorProto.INT64})
    assert may_mask(model)
    ends = {"x": (-2, 3), "a": (-1e9, 0), "s": (-1e9, 3), "t": (-1e9, 3)}
    calibrate = quantization("calibrate")
    ranges = calibrate.TensorsData(calibrate.CalibrationMethod.MinMax, {
        name: tuple(np.array([end], np.float32) for end in pair) for name, pair in ends.items()})  # fmt: skip
    assert bound_masks(model, ranges)
    assert [ranges[name].lowest.item() for name in ends] == [-2, -25, -27, -27]
    values = {item.name: onnx.numpy_helper.to_array(item) for item in model.graph.initializer}
    used = {layer.op_type: [values[name].item() for name in layer.input if name in values]
            for layer in model.graph.node}
    assert used[op][-1] == -25 and used["Max"] == [-27] and used["Neg"] == [-1e9]


@pytest.mark.parametrize("method", ["minmax", "percentile"])
def test_what_has_no_end_is_said_once_for_each_layer(method: str, tmp_path: Path) -> None:
    onnx.save(make(nodes("Relu x r; Log r l; Sigmoid l y"), {"x": (1, 8)}, ["y"]), tmp_path / "float.onnx")
    np.savez(tmp_path / "x.npz", x=np.linspace(-1, 1, 320, dtype=np.float32).reshape(40, 8))
    said, kept = "", []
    for _ in range(2):
        done = tigris("quantize", tmp_path / "float.onnx", "--data", tmp_path / "x.npz", "--calibration", method, *kept,
                      "-o", tmp_path / "out.onnx", status=1)
        assert done.stderr != said
        said = done.stderr
        if method == "percentile":
            assert "use --calibration minmax" in said
            return
        kept += ["--keep-float", said.partition("--keep-float ")[2].split()[0]]
    tigris("quantize", tmp_path / "float.onnx", "--data", tmp_path / "x.npz", *kept, "-o", tmp_path / "out.onnx")


def test_a_search_meets_the_tolerance_with_few_layers(tmp_path: Path) -> None:
    model, data = outlier(tmp_path)
    found = quantize(model, "--data", data, "--dim", "size=8", "--auto", 0.03)
    assert found["auto"]["met"] and found["error"] <= 0.031 and found["kept_float"] == []
    assert 0 < len(found["int16"]) <= 2 and found["float_ops"] == []
    finer = quantize(model, "--data", data, "--dim", "size=8", "--auto", 0.002)
    assert finer["auto"]["met"] and finer["int16"] == [] and len(finer["kept_float"]) == 3
    short = quantize(model, "--data", data, "--dim", "size=8", "--auto", 1e-7, "--trials", 1, status=1)
    assert not short["auto"]["met"] and short["auto"]["trials"] == 1 and not short["auto"]["complete"]


def test_pictures_are_resized_and_their_folders_are_classes(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    model, _ = outlier(tmp_path)
    rng = np.random.default_rng(2)
    for index in range(12):
        folder = tmp_path / "pictures" / ("b" if index % 3 else "a")
        folder.mkdir(parents=True, exist_ok=True)
        image.fromarray(rng.integers(0, 256, (20, 30, 3), np.uint8)).save(folder / f"{index}.png")
    found = quantize(model, "--images", tmp_path / "pictures", "--dim", "size=8", "--image-mean", "0.5,0.4,0.3",
                     "--image-std", "0.2")  # fmt: skip
    assert found["samples"] == {"calibration": 9, "held_out": 3}
    (tmp_path / "pictures" / "a" / "broken.png").write_bytes(b"no picture")
    assert "broken.png" in tigris("quantize", model, "--images", tmp_path / "pictures", "--dim", "size=8", "-o",
                                  tmp_path / "o.onnx", status=2).stderr  # fmt: skip


def images(digits: tuple[Path, Path]) -> np.ndarray:
    with np.load(digits[1]) as arrays:
        found: np.ndarray = arrays["image"]
    return found


@pytest.mark.parametrize(("arrays", "says"), [
    (lambda x: {"picture": x, "other": x}, "holds picture, other"),
    (lambda x: {"image": x[:, :, :4]}, "takes [1, 1, 8, 8]"),
    (lambda x: {"image": x[:1]}, "at least 2 are needed"), (lambda x: {"image": x[:0]}, "at least 2 are needed"),
    (lambda x: {"image": np.where(np.arange(len(x)) == 7, np.nan, x.T).T}, "sample 7 has NaN"),
    (lambda x: {"image": x, "labels": np.zeros(3, int)}, "labels must be 100 integers"),
    (lambda x: {"image": np.full(x.shape, "a")}, "takes [1, 1, 8, 8]"),
    (lambda x: {"image": x.astype(np.float64) * 1e300}, "out of range of float32"),
])
def test_samples_that_do_not_fit_are_refused(arrays: Any, says: str, digits: tuple[Path, Path], tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", **arrays(images(digits)))
    done = tigris("quantize", digits[0], "--data", tmp_path / "x.npz", "-o", tmp_path / "out.onnx", status=2)
    assert says in done.stderr and "x.npz" in done.stderr.replace("at least 2 are needed", "x.npz")
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("damage", ["cut", "objects", "text"])
def test_files_that_hold_no_arrays_are_refused(damage: str, digits: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    if damage == "objects":
        np.savez(path, image=np.array([{}, None], object))
    else:
        path.write_bytes(digits[1].read_bytes()[:1000] if damage == "cut" else b"x,y\n1,2\n")
    done = tigris("quantize", digits[0], "--data", path, "-o", tmp_path / "out.onnx", status=2)
    assert f"{path}: not a NumPy .npy or .npz file" in done.stderr


@pytest.mark.parametrize(("arguments", "says"), [
    ("--data missing.npz", "missing.npz: no such file"), ("--images missing", "missing: no such folder"),
    ("", "no calibration data"), ("-o q.tflite", "writes an ONNX model; use -o q.onnx"),
    ("--data GOOD --images .", "exclude each other"),
    ("--data GOOD --keep-float conv_3", "did you mean conv_"),
    *((f"--data GOOD {option}", option) for option in (
        "--labels classes", "--held-out 100", "--auto 2", "--percentile 99", "--dim n=3", "--like missing.onnx",
        "--range image", "--range image=1:", "--range image=0:0", "--range image=nan:1")),
    ("--data GOOD --range imagf=0:1", "did you mean image"),
    ("--data GOOD --like MODEL", "none of its int8 inputs and outputs has a name of this model"),
])
def test_options_that_do_not_fit_are_refused(arguments: str, says: str, digits: tuple[Path, Path],
                                             tmp_path: Path) -> None:
    words = [{"GOOD": str(digits[1]), "MODEL": str(digits[0])}.get(word, word) for word in arguments.split()]
    done = tigris("quantize", digits[0], "-o", tmp_path / "out.onnx", *words, "--json", status=2)
    assert says in done.stderr and says in json.loads(done.stdout)["error"]


def test_models_that_cannot_be_quantised_are_refused(digits: tuple[Path, Path], tmp_path: Path) -> None:
    own = Path(__file__).parents[2] / "networks"
    rest = ("--data", digits[1], "-o", tmp_path / "out.onnx")
    assert "quantised already" in tigris("quantize", DIGITS / "digits.onnx", *rest, status=1).stderr
    assert "TensorFlow Lite" in tigris("quantize", own / "kws_int8.tflite", *rest, status=2).stderr
    assert "no such file" in tigris("quantize", tmp_path / "none.onnx", *rest, status=2).stderr
    assert "that file already" in tigris("quantize", digits[0], "--data", digits[1], "-o", digits[0], status=2).stderr


def test_without_onnxruntime_one_line_says_how_to_get_it(digits: tuple[Path, Path], tmp_path: Path,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    from tigris_pio.quantize import library

    def missing(name: str) -> Any:
        raise ImportError(f"No module named '{name}'")

    monkeypatch.setattr(library, "import_module", missing)
    done = tigris("quantize", digits[0], "--data", digits[1], "-o", tmp_path / "out.onnx", status=1)
    assert "-m pip install onnxruntime" in done.stderr and len(done.stderr.splitlines()) == 1


# The search for layers to keep in float, over made-up losses.

STEPS: list[tuple[str, int, int]] = []


def layers(count: int) -> list[LayerNodes]:
    return [LayerNodes(f"l{index}", "Conv", (f"l{index}",), (f"t{index}",)) for index in range(count)]


def found(losses: list[float], tolerance: float, most: int) -> tuple[Found, list[int]]:
    """The search where the outputs' error is the sum of what layers in int8 lose; and the sizes that were tried."""
    every, tried = layers(len(losses)), []

    def measure(kept: Collection[LayerNodes]) -> float:
        tried.append(len(kept))
        names = {layer.name for layer in kept}
        return sum(loss for layer, loss in zip(every, losses, strict=True) if layer.name not in names)

    result = search(every, measure, tolerance, most, lambda *step: STEPS.append(step))
    return result, tried


@given(st.lists(st.integers(0, 50), min_size=1, max_size=14), st.integers(0, 200))
def test_with_enough_trials_the_set_is_the_smallest(numbers: list[int], tolerance: int) -> None:
    losses = [float(number) for number in numbers]
    result, tried = found(losses, tolerance, 200)
    ordered = sorted(losses, reverse=True)
    smallest = next(count for count in range(len(losses) + 1) if sum(ordered[count:]) <= tolerance)
    assert result.met and result.complete and len(result.kept) == smallest
    assert result.error <= tolerance and result.trials == len(tried)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(0, 100), st.integers(1, 12))
def test_no_more_trials_than_allowed_and_what_is_found_meets_it(numbers: list[int], tolerance: int, most: int) -> None:
    result, tried = found([float(number) for number in numbers], tolerance, most)
    assert len(tried) <= most
    assert result.met == (result.error <= tolerance)
    assert STEPS[-1] == ("searching", most, most)


def test_a_tolerance_out_of_reach_ends_with_the_nearest() -> None:
    result = search(layers(3), lambda kept: 1.0 - 0.1 * len(kept), 0.1, 40, lambda *_: None)
    assert not result.met and result.complete and len(result.kept) == 3


@pytest.mark.parametrize("weights", ("int4", "auto"))
def test_weights_of_4_bits(weights: str, digits: tuple[Path, Path]) -> None:
    """The plan takes them in 4 bits, and the network still tells the digits."""
    model, archive = digits
    wide, found = (quantize(model, "--data", archive, "--weights", one) for one in ("int8", weights))
    assert found["int4_weights"] == ["conv_0", "conv_4", "conv_7", "gemm_11"] and wide["int4_weights"] == []
    assert found["accuracy"]["int8"] >= found["accuracy"]["float"] - 0.02
    assert found["error"] < 0.1
    assert found["after"]["flash"] < wide["after"]["flash"] - 4096


def test_a_layer_in_more_bits_keeps_weights_of_8(digits: tuple[Path, Path]) -> None:
    model, archive = digits
    found = quantize(model, "--data", archive, "--weights", "int4", "--int16", "conv_4", "--keep-float", "gemm_11")
    assert found["int4_weights"] == ["conv_0", "conv_7"]


@given(st.integers(1, 6), st.integers(1, 40), st.integers(0, 1000))
def test_4_bits_are_the_nearest_multiples(outputs: int, taps: int, seed: int) -> None:
    weights = np.random.default_rng(seed).normal(0, 1, (outputs, taps)).astype(np.float32)
    rounded, scales = narrow._rounded(weights)
    integers = rounded / scales[:, np.newaxis]
    np.testing.assert_allclose(integers, np.rint(integers), atol=1e-4)
    assert np.rint(integers).min() >= -8 and np.rint(integers).max() <= 7
    plain = np.abs(weights).max(axis=1, keepdims=True) / 7
    assert ((rounded - weights) ** 2).sum() <= ((np.rint(weights / plain) * plain - weights) ** 2).sum() * 1.000001
