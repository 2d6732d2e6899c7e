"""Names that are none in C, that C or the model's file has already, or that two things share."""

import re
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.compiler.codegen.c_model import CModel, build, noise, same
from tests.compiler.models import make, node
from tigris_pio import Session, compile_model
from tigris_pio.compiler.pipeline import Compiled


def chain(*steps: tuple[str, str], read: str = "x", stream: str | None = None) -> Compiled:
    """Operators of these names, each of which makes the tensor of the other name out of the one before."""
    nodes, before = [], read
    for place, (name, made) in enumerate(steps):
        nodes.append(onnx.helper.make_node(("Relu", "Neg", "Abs")[place % 3], [before], [made], name=name))
        before = made
    return compile_model(make(nodes, {read: (1, 2, 4, 4)}, [before]), stream=stream)


def works(plan: Compiled, folder: Path, name: str = "m", *flags: str) -> bool:
    """Whether the C compiles without warnings and gives the plan's bytes."""
    generated = plan.codegen(None, name)
    with Session(plan) as session:
        return same(CModel(build([generated], folder, *flags), plan, generated, session), noise(session, 1))


def hostile(*names: str) -> onnx.ModelProto:
    """Inputs of these names, added, and outputs that are called the same in other letters."""
    nodes = [node("Add", f"{names[0]} {names[1]}", "sum of\n\"both\" */ int x; /*")]
    nodes[0].input[:] = names[:2]
    nodes[0].output[:] = ["total"]
    nodes.append(onnx.helper.make_node("Relu", ["total"], ["INT"], name='"); evil(); /* \\'))
    nodes.append(onnx.helper.make_node("Neg", ["total"], ["out put"], name="*/ int evil; /*"))
    return make(nodes, dict.fromkeys(names, (1, 4)), ["INT", "out put"])


def test_hostile_names_never_reach_the_c(tmp_path: Path) -> None:
    model = hostile("int", "*/ evil(); /*")
    plan = compile_model(model)
    generated = plan.codegen(tmp_path, "m")
    header, source = (generated.files[name].decode() for name in ("m.h", "m.c"))
    members = re.search(r"struct m_inputs \{(.*?)\}", header, re.DOTALL)
    assert members is not None and re.findall(r"\*(\w+);", members[1]) == ["int_", "evil"]
    assert "'int' is int_ in C: it is not allowed in C" in generated.notes
    assert any("INT" in note and "is int__2" in note for note in generated.notes)
    code = re.sub(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", "", source + header, flags=re.DOTALL)
    assert "evil()" not in code and "int evil" not in code
    assert works(plan, tmp_path / "b")


@pytest.mark.parametrize("name,prefix", [
    ("kws", "kws"), ("Kws_2", "Kws_2"), ("_kws", "kws"), ("a b", "a_b"), ("2nd", "model_2nd"), ("ä", "model"),
    ("int", "model_int"), ("String", "model_string"), ("tigris_models", "model_tigris_models"),
    ("conv_2d_int8", "model_conv_2d_int8"),
])  # fmt: skip
def test_the_models_name_becomes_an_identifier(name: str, prefix: str) -> None:
    generated = chain(("a", "y")).codegen(None, name)
    assert generated.name == prefix and set(generated.files) == {f"{prefix}.c", f"{prefix}.h"}
    assert bool(generated.notes) == (name != prefix)


#: Names of operators that the file needs for something else.
OPERATORS = {
    "another's constants": ("m", "a", "a_rows", "a_params"),
    "tensors, stages, weights": ("m", "tensor_float32_1x4x4x2", "stage_0", "stage", "weights_0", "keep_x_rows",
                                 "constant"),
    "the description": ("m", "port", "status", "input_ports", "output_ports", "model", "run"),
    "the same": ("m", "a b", "a.b", "A-B", "a_b_2"), "functions for rows": ("m", "input", "input_rows"),
    "a kernel's, with the model's": ("unary", "float_run", "int8_run"), "a header of C": ("string", "run", "run"),
}


@pytest.mark.parametrize("names", OPERATORS.values(), ids=OPERATORS)
def test_operators_are_called_like_nothing_else(names: tuple[str, ...], tmp_path: Path) -> None:
    """And a header that is found before C's own is none of those."""
    model, *operators = names
    steps = [(name, f"t{place}") for place, name in enumerate(operators)]
    assert works(chain(*steps, stream="x" if "input" in names else None), tmp_path, model, f"-I{tmp_path}")


def test_tensors_are_called_like_no_other_member(tmp_path: Path) -> None:
    names = ("bytes", "scratch_of_a", "weights_of_stage_0", "before", "data", "unix", "default")
    nodes = [onnx.helper.make_node("Concat", names, ["all"], axis=0),
             node("ReduceSum", "all axes", "y", "a", keepdims=1)]  # fmt: skip
    values = {"axes": np.array([1], np.int64)}
    model = make(nodes, dict.fromkeys(names, (3, 2)), ["y"], values)
    plan = compile_model(model, copy_weights=True)
    assert works(plan, tmp_path)


@pytest.mark.parametrize("other", ["x_row", "x_context", "X"])
def test_inputs_are_called_like_nothing_of_another_s_rows(other: str, tmp_path: Path) -> None:
    """Its context, or the bytes of one of its rows."""
    nodes = [onnx.helper.make_node("Add", ["x", other], ["y"], name="x_rows")]
    plan = compile_model(make(nodes, {"x": (1, 2, 4, 4), other: (1, 2, 4, 4)}, ["y"]), stream="x")
    assert works(plan, tmp_path)
    notes = plan.codegen(None, "m").notes
    assert [note for note in notes if "is already used" in note] == list(notes) and len(notes) == 1
    free = compile_model(make(nodes, {"x": (1, 2, 4, 4), other: (1, 2, 4, 4)}, ["y"]))
    assert bool(free.codegen(None, "m").notes) == (other == "X")


def test_weights_of_two_operators_have_two_names(tmp_path: Path) -> None:
    """input_weights of `x_part`, and weights of `x_part_input`."""
    rng = np.random.default_rng(1)
    shapes = {"w": (1, 8, 3), "r": (1, 8, 2), "b": (2, 4)}
    nodes = [node("LSTM", "s w r", "t", "x", hidden_size=2), node("Reshape", "t shape", "u"),
             node("Gemm", "u b", "y", "x_part_input")]  # fmt: skip
    values: dict[str, np.ndarray] = {
        name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()
    }
    values["shape"] = np.array([5, 2], np.int64)
    assert works(compile_model(make(nodes, {"s": (5, 1, 3)}, ["y"], values)), tmp_path)


def test_what_c_obeys_is_only_in_comments(tmp_path: Path) -> None:
    """Ends of comments, trigraphs, lines that go on, marks that reorder text, bytes that are no text."""
    words = ("??/", "\\", "*/ int x; /*", "// \\\n", "a\nb", "\u00fcn\u00ef", "\x00z", "", "%s", "#define A",
             "\u202e", "a??/\n")  # fmt: skip
    plan = chain(*((word, f"{word}{place}") for place, word in enumerate(words)), read="*/ ??/\n")
    assert works(plan, tmp_path, 'x"*/ \n??/', "-trigraphs")
    for path in tmp_path.glob("*.[ch]"):
        assert path.read_bytes().isascii() and b"??" not in path.read_bytes()


def test_constants_are_exact(tmp_path: Path) -> None:
    """Weights are the numbers that are hard to write."""
    hard = np.array([[1e-45, 3.4028235e38, -0.0, 1 / 3, np.inf, -np.inf, 16777217.0, 5e-324]], np.float32)
    assert works(compile_model(make([node("Add", "x w", "y")], {"x": (1, 8)}, ["y"], {"w": hard})), tmp_path)
