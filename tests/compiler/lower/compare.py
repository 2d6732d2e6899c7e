"""Compares compiled models with a reference, in ample and in little memory; models of one node, for tables of them."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx

from tests.compiler.models import Quantiser, make, node, ort
from tigris_pio import Session, compile_model
from tigris_pio.compiler.emit.writer import write_plan
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.search import find_plan
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.format.enums import OpKind

RANDOM = np.random.default_rng(7)
SLOW = 1 << 24
#: Shares of the fast memory that a run without a limit takes.
SHARES = (0.4, 0.7)
Arrays = Mapping[str, np.ndarray]
Shape = tuple[int, ...]


def noise(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def outputs(plan: Compiled | bytes, inputs: Arrays) -> dict[str, np.ndarray]:
    """The runtime's results of one run."""
    with Session(plan) as session:
        return session.run(inputs)


def kinds(compiled: Compiled) -> list[OpKind]:
    return [op.kind for op in compiled.plan.program.ops]


def in_little_memory(compiled: Compiled) -> bytes | None:
    """A plan for less fast memory, with slow memory beside it; None if there is none."""
    index = ProgramIndex.of(compiled.plan.program)
    for share in SHARES:
        budget = Budget(int(compiled.plan.fast_bytes * share), SLOW)
        plan = find_plan(index, budget, 16, WeightOptions())
        if plan is not None:
            return write_plan(plan, False)
    return None


def check(model: onnx.ModelProto, inputs: Arrays, expected: Arrays | None = None, rtol: float = 1e-5,
          atol: float = 1e-5, little: bool = True) -> Compiled:
    """The runtime's results are the reference's (default: onnxruntime's), and the same bytes in little memory.

    little: False where plans for little memory take seconds to find
    """
    compiled = compile_model(model)
    results = outputs(compiled, inputs)
    for name, value in (ort(model, inputs) if expected is None else expected).items():
        assert (results[name].shape, results[name].dtype) == (value.shape, value.dtype), name
        np.testing.assert_allclose(results[name], value, rtol, atol, err_msg=name)
    small = in_little_memory(compiled) if little else None
    for name, array in ({} if small is None else outputs(small, inputs)).items():
        assert array.tobytes() == results[name].tobytes(), name
    return compiled


#: Integers with their scale, or scales and axis; or real numbers.
Constant = tuple[np.ndarray, np.ndarray | float, int] | np.ndarray | np.generic


def quantised(nodes: Sequence[onnx.NodeProto], inputs: Mapping[str, tuple[Shape, float, int]], out: tuple[float, int],
              constants: Mapping[str, Constant] | None = None, unsigned: bool = False,
              opset: int = 17) -> onnx.ModelProto:
    """A model of nodes between quantised inputs and the quantised output y, of the last node's first result.

    inputs: shape, scale and zero point
    out: scale and zero point
    """
    q = Quantiser(unsigned)
    names = {name: q.pair(name, scale, zero) for name, (_, scale, zero) in inputs.items()}
    for name, value in (constants or {}).items():
        if isinstance(value, tuple):
            names[name] = q.constant(name, *value)
        else:
            q.weights[name] = np.asarray(value)
    for item in nodes:
        item.input[:] = [names.get(name, name) for name in item.input]
    q.add(*nodes)
    q.add(node("Identity", q.pair(nodes[-1].output[0], *out), "y"))
    return make(q.nodes, {name: shape for name, (shape, *_) in inputs.items()}, ["y"], q.weights, opset)


@dataclasses.dataclass(frozen=True)
class Given:
    """An input of the model, and the values that it runs with."""

    values: np.ndarray


#: The shape of an input of the model; that of a random constant, as a list; a constant; None: left out.
Input = Shape | list[int] | Given | np.ndarray | np.generic | None


@dataclasses.dataclass(frozen=True)
class Case:
    """A model of one node.

    expected: the reference, of all inputs in their order; None: onnxruntime
    found: kinds of the plan's operators, in turn; empty: any
    """

    op: str
    inputs: Sequence[Input]
    attributes: Mapping[str, object]
    opset: int
    types: Sequence[type]
    expected: Callable[..., Sequence[np.ndarray]] | None
    found: Sequence[OpKind]

    def check(self, rtol: float = 1e-5, atol: float = 1e-5, pooled: bool = False, little: bool = True) -> None:
        """Compares the runtime's results with the reference's.

        pooled: the first input comes from a pooling of 1 x 1, so its channels are stored last
        """
        random = np.random.default_rng(7)
        names: list[str] = []
        given: dict[str, np.ndarray] = {}
        weights: dict[str, np.ndarray] = {}
        for index, item in enumerate(self.inputs):
            name = "-" if item is None else f"x{index}"
            names.append(name)
            if isinstance(item, Given):
                given[name] = item.values
            elif isinstance(item, tuple):
                given[name] = random.standard_normal(item).astype(np.float32)
            elif isinstance(item, list):
                weights[name] = random.standard_normal(item).astype(np.float32)
            elif item is not None:
                weights[name] = np.asarray(item)
        results = [f"y{index}" for index in range(len(self.types))]
        nodes = [node(self.op, " ".join(names), " ".join(results), **self.attributes)]
        if pooled:
            nodes.insert(0, node("MaxPool", "x0", "pooled", kernel_shape=[1, 1]))
            nodes[1].input[0] = "pooled"
        types = {name: onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)) for name, kind in
                 [*zip(results, self.types, strict=True), *((name, array.dtype) for name, array in given.items())]}
        model = make(nodes, {name: array.shape for name, array in given.items()}, results, weights, self.opset, types)
        expected = None
        if self.expected is not None:
            values = [(weights | given)[name] for name in names if name != "-"]
            arrays = zip(self.expected(*values), self.types, strict=True)
            expected = {name: np.asarray(value).astype(kind) for name, (value, kind) in
                        zip(results, arrays, strict=True)}
            for output in model.graph.output:
                output.CopyFrom(onnx.helper.make_tensor_value_info(output.name, types[output.name],
                                                                   expected[output.name].shape))
        compiled = check(model, given, expected, rtol, atol, little)
        assert kinds(compiled)[pooled:] == list(self.found) or not self.found


def case(op: str, *inputs: Input, opset: int = 17, types: Sequence[type] = (np.float32,),
         expected: Callable[..., Sequence[np.ndarray]] | None = None, found: Sequence[OpKind] = (),
         **attributes: object) -> Case:
    """A case for a table; attributes by name."""
    return Case(op, inputs, attributes, opset, types, expected, found)
