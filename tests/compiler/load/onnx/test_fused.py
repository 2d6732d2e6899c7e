"""Operators and types that onnxruntime's optimiser and quantisers write give
onnxruntime's results."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.compiler.lower.compare import check, noise
from tests.compiler.models import make, node, ort
from tigris_pio import compile_model
from tigris_pio.errors import UnsupportedError
from tigris_pio.format.enums import DType

T = onnx.TensorProto


IMAGE, ROWS, HIDDEN = (1, 4, 6, 5), (2, 5, 8), (8,)
CONV = {"w": noise(4, 4, 3, 3), "b": noise(4)}
NORMAL = {"g": noise(8), "b": noise(8)}
#: The operator with its constants by name, or `-`; shapes of inputs; constants; attributes.
FUSED = [
    ("FusedConv x w b", {"x": IMAGE}, CONV, {"activation": "Relu", "pads": [1] * 4}),
    ("FusedConv x w b z", {"x": IMAGE, "z": (1, 4, 4, 3)}, CONV, {"activation": "Relu"}),
    ("FusedConv x w", {"x": IMAGE}, CONV, {"activation": "HardSigmoid", "activation_params": [0.1, 0.4]}),
    ("FusedConv x w b", {"x": IMAGE}, CONV, {"activation": "Clip", "activation_params": [-0.5, 1.0]}),
    ("FusedConv x w b", {"x": IMAGE}, CONV, {"activation": "LeakyRelu", "activation_params": [0.3], "strides": [2, 2]}),
    ("FusedGemm x w b", {"x": (3, 8)}, {"w": noise(5, 8), "b": noise(5)},
     {"activation": "LeakyRelu", "activation_alpha": 0.2, "transB": 1, "alpha": 0.5}),
    ("FusedGemm x w b", {"x": (3, 8)}, {"w": noise(8, 5), "b": noise(5)}, {"activation": "Tanh"}),
    ("FusedMatMul x w", {"x": ROWS, "w": (2, 5, 3)}, {}, {"transA": 1, "alpha": 0.5}),
    ("FusedMatMul x w", {"x": ROWS, "w": (2, 3, 8)}, {}, {"transB": 1}),
    ("FusedMatMul x w", {"x": (5, 2, 8), "w": (5, 2, 3)}, {}, {"transA": 1, "transBatchA": 1, "transBatchB": 1}),
    ("FusedMatMul x w", {"x": ROWS}, {"w": noise(8, 3)}, {"alpha": 2.0}),
    ("QuickGelu x", {"x": ROWS}, {}, {"alpha": 1.702}),
    ("Gelu x", {"x": ROWS}, {}, {}),
    ("BiasGelu x b", {"x": ROWS}, {"b": noise(8)}, {}),
    ("FastGelu x b", {"x": ROWS}, {"b": noise(8)}, {}),
    ("FastGelu x", {"x": ROWS}, {}, {}),
    ("SkipLayerNormalization x s g b c > y - - t", {"x": ROWS, "s": ROWS}, {**NORMAL, "c": noise(8)},
     {"epsilon": 1e-3}),
    ("SkipLayerNormalization x s g", {"x": ROWS, "s": ROWS}, NORMAL, {}),
    ("SkipSimplifiedLayerNormalization x s g > y - - t", {"x": ROWS, "s": ROWS}, NORMAL, {}),
    ("SimplifiedLayerNormalization x g", {"x": ROWS}, NORMAL, {"axis": -1}),
]


def contrib(*arguments) -> onnx.ModelProto:
    model = make(*arguments)
    model.opset_import.extend(onnx.helper.make_opsetid(f"com.microsoft{part}", 1) for part in ("", ".nchwc"))
    return model


@pytest.mark.parametrize(("text", "inputs", "constants", "attributes"), FUSED, ids=lambda item: str(item)[:24])
def test_operators_give_onnxruntimes_results(text, inputs, constants, attributes) -> None:
    op, *names = text.partition(" >")[0].split()
    results = text.partition("> ")[2] or "y"
    domain = "" if op == "SimplifiedLayerNormalization" else "com.microsoft"
    item = node(op, " ".join(names), results, domain=domain, **attributes)
    item.output[:] = ["" if name == "-" else name for name in item.output]
    outputs = [name for name in item.output if name]
    model = contrib([item], inputs, outputs, {name: constants[name] for name in names if name in constants}, 13)
    check(model, {name: noise(*shape) for name, shape in inputs.items()}, rtol=1e-4, little=False)


@pytest.mark.parametrize(("bits", "block", "zeros", "depth"), [(4, 16, "packed", 40), (4, 32, "none", 64),
                                                               (8, 32, "packed", 40), (2, 16, "real", 40)])
def test_matrices_of_few_bits(bits: int, block: int, zeros: str, depth: int) -> None:
    random = np.random.default_rng(bits)
    blocks = -(-depth // block)
    weights = {"w": random.integers(0, 256, (6, blocks, block * bits // 8)).astype(np.uint8),
               "s": random.uniform(0.01, 0.05, 6 * blocks).astype(np.float32), "b": noise(6)}
    if zeros == "packed":
        weights["z"] = random.integers(0, 256, 6 * -(-blocks * bits // 8)).astype(np.uint8)
    elif zeros == "real":
        weights["z"] = random.uniform(0, 3, 6 * blocks).astype(np.float32)
    ours = node("MatMulNBits", f"x w s {'z' if 'z' in weights else '-'} - b", "y", domain="com.microsoft", K=depth,
                N=6, bits=bits, block_size=block)
    check(contrib([ours], {"x": (2, 3, depth)}, ["y"], weights), {"x": noise(2, 3, depth)}, rtol=1e-3, atol=1e-3,
          little=False)


@pytest.mark.parametrize("quantised", [False, True])
def test_float16_is_float32(quantised: bool) -> None:
    """Also with Casts between QuantizeLinear, DequantizeLinear and a layer. One warning covers all."""
    half = T.FLOAT16
    weights = {"w": noise(8, 4).astype(np.float16), "b": noise(4).astype(np.float16)}
    nodes = [node("Cast", "x", "a", to=half), node("MatMul", "a w", "m"), node("Add", "m b", "s"),
             node("Cast", "s", "y", to=T.FLOAT), node("Softmax", "s", "p")]
    if quantised:
        weights |= {"s1": np.array(0.05, np.float32), "z": np.array(3, np.int8), "s2": np.array(0.1, np.float32),
                    "w": np.arange(-16, 16, dtype=np.int8).reshape(8, 4), "ws": np.array(0.02, np.float16)}
        nodes = [node("QuantizeLinear", "x s1 z", "q"), node("DequantizeLinear", "q s1 z", "d"),
                 node("Cast", "d", "a", to=half), node("DequantizeLinear", "w ws", "wd"), node("MatMul", "a wd", "m"),
                 node("Cast", "m", "r", to=T.FLOAT), node("QuantizeLinear", "r s2 z", "rq"),
                 node("DequantizeLinear", "rq s2 z", "y"), node("Cast", "y", "p", to=half)]
    model = make(nodes, {"x": (3, 8)}, ["y", "p"], weights, 21, types={"p": half})
    x = noise(3, 8)
    expected = {name: array.astype(np.float32) for name, array in ort(model, {"x": x}).items()}
    compiled = check(model, {"x": x}, expected, rtol=3e-3, atol=0.101 if quantised else 3e-3, little=False)
    assert compiled.report["warnings"] == ["float16 is computed in float32; output p is float32"]
    assert not quantised or not any(op.dtype is DType.FLOAT32 for op in compiled.plan.program.ops)


def optimised(model: onnx.ModelProto, level: str, folder: Path) -> onnx.ModelProto:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.optimized_model_filepath, options.log_severity_level = str(folder / "optimised.onnx"), 3
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return onnx.load(folder / "optimised.onnx")


@pytest.mark.parametrize(("opset", "level"), [(13, "ORT_ENABLE_EXTENDED"), (17, "ORT_ENABLE_ALL")])
def test_a_transformers_block_as_the_optimiser_saves_it(opset: int, level: str, tmp_path: Path) -> None:
    """The saved block declares no inner shapes, and has LayerNormalization in an opset that lacks it."""
    nodes = [node("MatMul", "x wq", "q"), node("MatMul", "x wk", "k"), node("Transpose", "k", "kt", perm=[0, 2, 1]),
             node("MatMul", "q kt", "s"), node("Div", "s two", "sd"), node("Softmax", "sd", "p", axis=-1),
             node("MatMul", "p x", "a"), node("Add", "a x", "h"), node("ReduceMean", "h", "m", axes=[-1]),
             node("Sub", "h m", "d"), node("Pow", "d two", "dd"), node("ReduceMean", "dd", "v", axes=[-1]),
             node("Add", "v e", "ve"), node("Sqrt", "ve", "r"), node("Div", "d r", "n"), node("Mul", "n g", "ng"),
             node("Add", "ng b", "l"), node("Mul", "l c", "u"), node("Sigmoid", "u", "f"), node("Mul", "l f", "t"),
             node("Add", "t h", "y")]
    weights = {"wq": noise(8, 8), "wk": noise(8, 8), **NORMAL}
    weights |= {name: np.array(value, np.float32) for name, value in (("two", 2), ("e", 1e-5), ("c", 1.702))}
    plain = make(nodes, {"x": (1, 5, 8)}, ["y"], weights, opset)
    saved = optimised(plain, level, tmp_path)
    assert {"FusedMatMul", "QuickGelu", "LayerNormalization"} <= {item.op_type for item in saved.graph.node}
    check(saved, {"x": noise(1, 5, 8)}, rtol=1e-4, little=False)


def test_integer_kernels_with_channels_last(tmp_path: Path) -> None:
    """QLinearConv, a pool and a global pool, as level `all` saves them for a processor with channels-last kernels."""
    constants = {"s": np.array(0.02, np.float32), "u": np.array(0.05, np.float32), "z": np.array(7, np.uint8),
                 "ws": np.full(6, 0.01, np.float32), "wz": np.zeros(6, np.int8),
                 "w": np.random.default_rng(3).integers(-127, 128, (6, 4, 3, 3)).astype(np.int8)}
    ours = [node("QuantizeLinear", "x s z", "xq"), node("Transpose", "xq", "xt", perm=[0, 2, 3, 1]),
            node("QLinearConv", "xt s z w ws wz u z", "c", domain="com.microsoft", channels_last=1, pads=[1] * 4),
            node("NhwcMaxPool", "c", "p", domain="com.microsoft", kernel_shape=[2, 2], strides=[2, 2]),
            node("QLinearGlobalAveragePool", "p u z u z", "gq", domain="com.microsoft", channels_last=1),
            node("DequantizeLinear", "gq u z", "y")]
    model = contrib(ours, {"x": (1, 4, 8, 8)}, ["y"], constants)
    plan = check(model, {"x": noise(1, 4, 8, 8)}, atol=0.0501, little=False).plan
    assert not any(op.dtype is DType.FLOAT32 for op in plan.program.ops)


def test_products_of_integers_with_scales() -> None:
    """The optimised form of quantize_dynamic's files."""
    nodes = [node("DynamicQuantizeMatMul", "x w ws wz b", "a", domain="com.microsoft"),
             node("DynamicQuantizeLinear", "a", "q qs qz"),
             node("MatMulIntegerToFloat", "q v qs vs qz", "y", domain="com.microsoft")]
    random = np.random.default_rng(4)
    weights = {"w": random.integers(0, 256, (8, 6)).astype(np.uint8), "ws": np.array(0.01, np.float32),
               "wz": np.array(120, np.uint8), "b": noise(6), "vs": np.full(5, 0.02, np.float32),
               "v": random.integers(-127, 128, (6, 5)).astype(np.int8)}
    model = contrib(nodes, {"x": (3, 8)}, ["y"], weights)
    check(model, {"x": noise(3, 8)}, rtol=1e-3, atol=1e-3, little=False)


def test_orders_for_one_processor_are_refused_with_a_remedy() -> None:
    laid_out = node("Conv", "x w", "y", domain="com.microsoft.nchwc", activation="Relu")
    model = contrib([laid_out], {"x": (1, 8, 6, 6)}, ["y"], {"w": noise(8, 8, 3, 3)})
    with pytest.raises(UnsupportedError, match="before onnxruntime optimised it"):
        compile_model(model)
