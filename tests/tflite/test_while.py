"""WHILE: unrolled if its number of trips follows from constants; a loop on data is refused by name."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from tests.tflite.compare import check_exact, random_input
from tests.tflite.tflm import Tflm
from tests.tflite.writer import RELU_N1_TO_1, Operator, Part, Tensor, constant, write
from tigris_pio import ModelError, Session, UnsupportedError, compile_model
from tigris_pio.compiler.load.model import load_model
from tigris_pio.format.enums import OpKind

STEPS, WIDTH = 5, 6
NUMBER = (0.05, 3)


def whole(name: str, *values: int) -> Tensor:
    return constant(name, np.array(values, np.int32).reshape(() if len(values) == 1 else (len(values),)))


def vector(name: str, rows: int = 1, dtype: str = "int8") -> Tensor:
    return Tensor(name, (rows, WIDTH), dtype, *(NUMBER if dtype == "int8" else ()))


def sequence(name: str, dtype: str) -> Tensor:
    return dataclasses.replace(vector(name, 1, dtype), shape=(STEPS, 1, WIDTH))


def counter(name: str = "i") -> Tensor:
    return Tensor(name, (), "int32")


def flag(name: str) -> Tensor:
    return Tensor(name, (), "bool")


#: Conditions by operators on `i`, with the constants of a loop from 0 to STEPS, or with another start and increment.
CONDITIONS: dict[str, tuple[tuple[int, int], Sequence[tuple[str, Sequence[str], str]], dict[str, int]]] = {
    "less": ((0, 1), [("LESS", "ie", "r")], {"e": STEPS}),
    "less, twice": ((0, 1), [("LESS", "ie", "a"), ("LESS", "if", "b"), ("LOGICAL_AND", "ab", "r")],
                    {"e": STEPS, "f": STEPS + 2}),
    "in steps of two": ((1, 2), [("LESS_EQUAL", "ie", "r")], {"e": 4}),
    "backwards": ((STEPS - 1, -1), [("GREATER_EQUAL", "ie", "r")], {"e": 0}),
    "not equal": ((0, 1), [("NOT_EQUAL", "ie", "r")], {"e": 3}),
    "never": ((STEPS, 1), [("LESS", "ie", "r")], {"e": 1}),
}


def loop(form: str, dtype: str = "int8", nested: bool = False) -> bytes:
    """A recurrent layer: FULLY_CONNECTED of the state, plus a row of x; `y`: the states of all steps, `z`: the last."""
    (first, step), spelling, numbers = CONDITIONS[form]
    state = [counter(), vector("s", dtype=dtype), vector("o", STEPS, dtype), sequence("x", dtype)]
    names = [item.name for item in state]
    flags = [flag(result) for _, _, result in spelling]
    condition: Part = ([*state, *(whole(*item) for item in numbers.items()), *flags],
                       [Operator(op, list(given), [result]) for op, given, result in spelling], names, ["r"])
    weights = random_input((WIDTH, WIDTH), seed=3) if dtype == "int8" else random_input((WIDTH, WIDTH), dtype) / 20
    scale = (0.01,) if dtype == "int8" else ()
    inner = [whole("one", step), counter("j"), vector("row", dtype=dtype), vector("p", dtype=dtype),
             vector("t", dtype=dtype), vector("q", STEPS, dtype), constant("w", weights.astype(dtype), *scale),
             whole("zero", 0), Tensor("at", (2,), "int32")]
    work = [Operator("ADD", ["i", "one"], ["j"]), Operator("GATHER", ["x", "i"], ["row"], {"axis": 0}),
            Operator("FULLY_CONNECTED", ["s", "w", ""], ["p"]), Operator("ADD", ["p", "row"], ["t"]),
            Operator("PACK", ["i", "zero"], ["at"], {"axis": 0, "valuesCount": 2}),
            Operator("DYNAMIC_UPDATE_SLICE", ["o", "t", "at"], ["q"])]
    body: Part = ([*state, *inner], work, names, ["j", "t", "q", "x"])
    last = [counter("j"), vector("z", dtype=dtype), vector("y", STEPS, dtype), sequence("u", dtype)]
    start = [whole("i", first), constant("s", np.zeros((1, WIDTH), dtype), *(NUMBER if scale else ())),
             constant("o", np.zeros((STEPS, WIDTH), dtype), *(NUMBER if scale else ()))]
    run = Operator("WHILE", names, [item.name for item in last], {"condSubgraphIndex": 1, "bodySubgraphIndex": 2})
    if not nested:
        return write([*start, sequence("x", dtype), *last], [run], ["x"], ["y", "z"], [condition, body])
    outer_state = [counter("k"), vector("s", dtype=dtype), vector("o", STEPS, dtype), sequence("x", dtype)]
    outer = [item.name for item in outer_state]
    twice: Part = ([*outer_state, whole("e", 2), flag("r")], [Operator("LESS", ["k", "e"], ["r"])], outer, ["r"])
    again: Part = ([*outer_state, whole("i", first), whole("one", 1), counter("l"), *last],
                   [run, Operator("ADD", ["k", "one"], ["l"])], outer, ["l", "z", "y", "x"])
    start = [whole("k", 0), *start[1:]]
    outside = [counter("l"), *last[1:]]
    around = Operator("WHILE", outer, [item.name for item in outside], {"condSubgraphIndex": 3, "bodySubgraphIndex": 4})
    return write([*start, sequence("x", dtype), *outside], [around], ["x"], ["y", "z"], [condition, body, twice, again])


@pytest.mark.parametrize("form", CONDITIONS)
def test_a_loop_has_the_references_bytes(form: str) -> None:
    data = loop(form)
    check_exact(data, data, {"x": random_input((STEPS, 1, WIDTH), seed=1)}, tight=form == "less")


def test_a_loop_within_a_loop_has_the_references_bytes() -> None:
    data = loop("less", nested=True)
    check_exact(data, data, {"x": random_input((STEPS, 1, WIDTH), seed=1)}, tight=False)


def test_all_trips_share_the_weights() -> None:
    read = [item.inputs[1] for item in load_model(loop("less", "float32")).nodes if item.op == "Gemm"]
    assert len(read) == STEPS - 1 and len(set(read)) == 1  # the first state is a constant


#: Bodies by operators on `given`, a row of x times weights, and `kept`, the state times weights; `split` has the gates.
#: `h` and `c`: the states before the step; `n` and `d`: the states after it.
CELLS = {
    "RNN": "ADD given kept z; TANH z n",
    "GRU": "SPLIT given a b g; SPLIT kept e f k; ADD a e u; LOGISTIC u v; ADD b f r; LOGISTIC r q; MUL q k m; "
           "ADD g m t; TANH t w; MUL v h o; SUB one v x1; MUL x1 w y1; ADD o y1 n",
    "LSTM": "ADD given kept z; SPLIT z a b g o; LOGISTIC a i1; LOGISTIC b f; TANH g t; LOGISTIC o p; MUL f c q; "
            "MUL i1 t r; ADD q r d; TANH d w; MUL p w n",
    "relu": "ADD given kept z; RELU z n",
    "bounded": "ADD given kept z; TANH z n",
}
#: Fused activations of a body's operators: bounds that small numbers do not reach.
FUSED = {"bounded": {"ADD": {"fusedActivationFunction": RELU_N1_TO_1}}}
GATES = {"GRU": 3, "LSTM": 4}


def recurrent(kind: str, every: bool, bias: bool) -> bytes:
    """A recurrent layer; `y`: the states of all steps, or the last one."""
    gates, rows = GATES.get(kind, 1), STEPS if every else 1
    def real(name: str, *shape: int) -> Tensor:
        return Tensor(name, shape, "float32")

    def weights(name: str, *shape: int) -> Tensor:
        return constant(name, random_input(shape, "float32", ord(name[1])) / (40 if kind in FUSED else 8))

    state = [counter(), real("h", 1, WIDTH), *([real("c", 1, WIDTH)] if kind == "LSTM" else []),
             sequence("x", "float32"), real("same", 1, WIDTH), real("out", rows, 1, WIDTH)]
    names = [item.name for item in state]
    condition: Part = ([*state, whole("e", STEPS), flag("r")], [Operator("LESS", ["i", "e"], ["r"])], names, ["r"])
    tensors = [whole("step", 1), counter("j"), real("row", 1, WIDTH), weights("wx", gates * WIDTH, WIDTH),
               weights("wh", gates * WIDTH, WIDTH), weights("wb", gates * WIDTH), whole("axis", 1),
               *(real(name, 1, gates * WIDTH) for name in ("given", "kept", "z")), constant("one", np.float32([1])),
               whole("like", 1, 1, WIDTH), real("slice", 1, 1, WIDTH), whole("zero", 0),
               Tensor("at", (3,), "int32"), real("after", rows, 1, WIDTH)]
    work = [Operator("ADD", ["i", "step"], ["j"]), Operator("GATHER", ["x", "i"], ["row"], {"axis": 0}),
            Operator("FULLY_CONNECTED", ["row", "wx", "wb" if bias else ""], ["given"]),
            Operator("FULLY_CONNECTED", ["h", "wh", ""], ["kept"])]
    for op, *words in (item.split() for item in CELLS[kind].split(";")):
        indices = 1 if op in ("SPLIT", "TANH", "LOGISTIC", "RELU") else 2
        given, results = words[:indices], words[indices:]
        tensors += [real(name, 1, WIDTH) for name in results if name != "z"]
        options = {"numSplits": gates} if op == "SPLIT" else FUSED.get(kind, {}).get(op, {})
        work.append(Operator(op, ["axis", *given] if op == "SPLIT" else given, results, options))
    work += [Operator("RESHAPE", ["n", "like"], ["slice"]),
             Operator("PACK", ["i" if every else "zero", "zero", "zero"], ["at"], {"axis": 0, "valuesCount": 3}),
             Operator("DYNAMIC_UPDATE_SLICE", ["out", "slice", "at"], ["after"])]
    body: Part = ([*state, *tensors], work, names, ["j", "n", *(["d"] if kind == "LSTM" else []), "x", "same", "after"])
    first = [whole("i", 0), *(constant(name, np.full((1, WIDTH), 0.25, np.float32)) for name in "hc"[: len(state) - 4]),
             sequence("x", "float32"), constant("same", np.full((1, WIDTH), 0.5, np.float32)),
             constant("out", np.zeros((rows, 1, WIDTH), np.float32))]
    last = [dataclasses.replace(item, name=f"{item.name}/last", data=None) for item in first[:-1]]
    results = [*(item.name for item in last), "y"]
    run = Operator("WHILE", names, results, {"condSubgraphIndex": 1, "bodySubgraphIndex": 2})
    outputs = ["y", "h/last", "same/last"]
    return write([*first, *last, real("y", rows, 1, WIDTH)], [run], ["x"], outputs, [condition, body])


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize(("every", "bias"), [(True, False), (False, True)])
def test_a_recurrent_layer_becomes_one_operator(kind: str, every: bool, bias: bool) -> None:
    """A loop with another function is unrolled."""
    data = recurrent(kind, every, bias)
    x = random_input((STEPS, 1, WIDTH), "float32", 7) * (40 if kind in FUSED else 1)
    compiled = compile_model(data)
    assert (OpKind.RECURRENT in {op.kind for op in compiled.plan.program.ops}) == (kind in ("RNN", *GATES))
    with Session(compiled) as session:
        got = session.run({"x": x})
    for name, want in zip(("y", "h/last", "same/last"), Tflm(data).run([x], 3), strict=True):
        np.testing.assert_allclose(got[name], want, rtol=0, atol=2e-6)


def listed(prefix: str, indices: Sequence[str] = ("i", "i"), reader: str = "TensorListStack") -> bytes:
    """The negative rows of x, through two lists, as Keras writes a layer with a free batch."""
    def variant(name: str) -> Tensor:
        return Tensor(name, (), "variant")

    def custom(op: str, inputs: Sequence[str], output: str) -> Operator:
        return Operator(prefix + op, inputs, [output], custom=b"")

    names = ["i", "a", "b"]
    state = [counter(), variant("a"), variant("b")]
    condition: Part = ([*state, whole("e", STEPS), flag("r")], [Operator("LESS", ["i", "e"], ["r"])], names, ["r"])
    inner = [whole("one", 1), whole("s", 1, WIDTH), whole("many", STEPS), counter("j"), vector("row", 1, "float32"),
             vector("n", 1, "float32"), variant("c")]
    work = [Operator("ADD", ["i", "one"], ["j"]), custom("TensorListGetItem", ["a", indices[0], "s"], "row"),
            Operator("NEG", ["row"], ["n"]), custom("TensorListSetItem", ["b", indices[1], "n"], "c")]
    body: Part = ([*state, *inner], work, names, ["j", "a", "c"])
    tensors = [sequence("x", "float32"), whole("s", 1, WIDTH), whole("n", STEPS), whole("i", 0),
               *map(variant, ("a", "b", "d", "c")), counter("j"), sequence("y", "float32")]
    return write(tensors, [
        custom("TensorListFromTensor", ["x", "s"], "a"), custom("TensorListReserve", ["s", "n"], "b"),
        Operator("WHILE", names, ["j", "d", "c"], {"condSubgraphIndex": 1, "bodySubgraphIndex": 2}),
        custom(reader, ["c", "s"], "y") if reader.startswith("Tensor") else Operator(reader, ["c"], ["y"])],
        ["x"], ["y"], [condition, body])


@pytest.mark.parametrize("prefix", ["", "Flex"])
def test_lists_of_tensors(prefix: str) -> None:
    x = random_input((STEPS, 1, WIDTH), "float32")
    with Session(compile_model(listed(prefix))) as session:
        assert np.array_equal(session.run({"x": x})["y"], -x)


@pytest.mark.parametrize(("data", "reason"), [
    (listed("", ("i", "one")), r"TensorListStack_3 .*it reads an item that nothing has set"),
    (listed("", reader="NEG"), r"NEG_3 .*its input c is a list of tensors"),
    (listed("", reader="TensorListFromTensor"), r"TensorListFromTensor_3 .*its input c is a list of tensors"),
    (listed("Flex", reader="TensorListScatter"), r"FlexTensorListScatter.*without SELECT_TF_OPS"),
])  # fmt: skip
def test_other_uses_of_lists_are_refused_by_name(data: bytes, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        compile_model(data)


def test_an_item_beyond_a_list_is_refused() -> None:
    with pytest.raises(ModelError, match=r"item 5 of 5"):
        compile_model(listed("", ("many", "i")))


def test_a_loop_on_data_is_refused_by_name() -> None:
    tensors = [Tensor("x", (), "float32"), Tensor("y", (), "float32")]
    state = Tensor("s", (), "float32")
    end = constant("e", np.array(4, np.float32))
    condition: Part = ([state, end, flag("r")], [Operator("LESS", ["s", "e"], ["r"])], ["s"], ["r"])
    body: Part = ([state, constant("e", np.array(1, np.float32)), dataclasses.replace(state, name="t")],
                  [Operator("ADD", ["s", "e"], ["t"])], ["s"], ["t"])
    run = Operator("WHILE", ["x"], ["y"], {"condSubgraphIndex": 1, "bodySubgraphIndex": 2})
    with pytest.raises(UnsupportedError, match=r"WHILE_0 .*the number of trips depends on data; export the model"):
        compile_model(write(tensors, [run], ["x"], ["y"], [condition, body]))


@pytest.mark.parametrize(("most", "reason"), [(20, r"30 nodes unrolled; the limit is 20"), (6, r"more than 3 times")])
def test_a_long_loop_names_the_limit(most: int, reason: str) -> None:
    with pytest.raises(ModelError, match=rf"node WHILE_0: .*{reason}"):
        compile_model(loop("less"), limits={"unrolled": most})
