"""Lowers a graph to a program, node by node; README.md of this folder shows the call chain."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Graph, Node
from tigris_pio.compiler.ir.program import Program, ProgramIo
from tigris_pio.compiler.lower import element_types
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import (
    Layout,
    canonical,
    channels_last,
    default_dims,
    row_major,
    same_bytes,
    transposed,
)
from tigris_pio.compiler.lower.input_layout import input_layout
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import REFUSAL, contract_of, refused
from tigris_pio.compiler.lower.remedies import not_supported
from tigris_pio.compiler.lower.states import prepare_commit
from tigris_pio.compiler.lower.storage import Cell, Value
from tigris_pio.errors import UnsupportedError
from tigris_pio.format.records import MAX_RANK


def lower(graph: Graph) -> Program:
    """Lowers a normalised graph. Raises UnsupportedError, which names every node that has no kernel."""
    builder = Builder(graph)
    problems = list(graph.refused)
    problems += [problem for name in graph.inputs if (problem := _add_input(builder, name)) is not None]
    problems += [problem for state in graph.states
                 if (problem := _add_input(builder, state.input, is_state=True)) is not None]
    for node in graph.nodes:
        try:
            reason = _lower_node(builder, node)
        except Exception:
            if not problems:
                raise
            builder.add_stub(node)  # the stubs of refused nodes may contradict it
            continue
        if reason is not None:
            problems.append((node, reason))
            builder.add_stub(node)
    problems += [problem for name in graph.outputs if (problem := _check_output(builder, name)) is not None]
    if problems:
        raise refused(problems, graph.name)
    inputs = tuple(_io(builder, name, builder.values[name][0], graph.tensors[name].shape) for name in graph.inputs)
    outputs = tuple(_output(builder, name) for name in graph.outputs)
    return builder.finish(inputs, outputs, _commit_states(builder))


def _commit_states(builder: Builder) -> tuple[ProgramIo, ...]:
    commits = []
    for state in builder.graph.states:
        node = Node(state.input, "state", (state.output,), (state.input,))
        builder.begin_node(node)
        io = _io(builder, state.input, builder.values[state.input][0], builder.shape(state.input))
        try:
            commits.append(prepare_commit(builder, state, io))
        except Refusal as refusal:
            raise refused([(node, str(refusal))], builder.graph.name) from None
    for commit in commits:
        builder.add_commit(commit.io, commit.sources, commit.params)
    return tuple(commit.io for commit in commits)


def _add_input(builder: Builder, name: str, is_state: bool = False) -> tuple[Node, str] | None:
    layout = input_layout(builder.graph, name)
    try:
        numeric = builder.numeric(name)
        tensor = builder.tensors[name]
        if tensor.quantisation is None:
            numeric = element_types.io_numeric(tensor, tensor.dtype)
            builder.warnings += filter(None, [element_types.input_warning(tensor)])
    except Refusal as refusal:
        node = Node(name, "state" if is_state else "graph input", (), (name,))
        builder.add_stub(node)
        return node, str(refusal)
    cell = Cell(default_dims(layout.stored_shape))
    builder.add_value(name, Value(builder.add_storage(name, numeric, cell, state=is_state), layout))
    return None


def _check_output(builder: Builder, name: str) -> tuple[Node, str] | None:
    """The refusal of a constant output whose type has no kernels; other outputs are refused with their node."""
    try:
        if builder.is_constant(name):
            builder.numeric(name)
            builder.float_constant(name)
    except Refusal as refusal:
        return Node(name, "graph output", (), (name,)), str(refusal)
    return None


def _lower_node(builder: Builder, node: Node) -> str | None:
    """Lowers a node; returns the reason if that is impossible, None otherwise."""
    if REFUSAL in node.attributes:  # the front end's reason
        return str(node.attributes[REFUSAL])
    contract = contract_of(node)
    if contract is None:
        return not_supported(node.domain, node.op)
    builder.begin_node(node)
    activations = [builder.tensors[name] for name in (*node.inputs, *node.outputs)
                   if name and name in builder.tensors and not builder.is_constant(name)]
    try:
        element_types.check_arithmetic(node, activations)
        contract.lower(builder, node)
    except Refusal as refusal:
        return str(refusal)
    return None


def _output(builder: Builder, name: str) -> ProgramIo:
    graph, tensor = builder.graph, builder.tensors[name]
    if tensor.quantisation is None and tensor.dtype != np.float32:
        builder.begin_node(Node(name, "graph output", (), ()))
        wanted = element_types.io_numeric(tensor, tensor.dtype)
        stored = [item for item in builder.values.get(name, ()) if builder.storages[item.storage].numeric == wanted]
        value = stored[0] if stored else builder.convert(name, builder.value(name), wanted, f"{name}/output")
    else:
        value = builder.value(name)
    storage = builder.storages[value.storage]
    inputs = {builder.values[item][0].storage for item in graph.sources}
    if storage.constant is not None or storage.name in inputs:
        value = builder.add_copy(name, value)
    shape = graph.tensors[name].shape
    permutation = graph.output_permutations.get(name)
    if permutation is None:
        return _io(builder, name, value, shape)
    moved = transposed(value.layout, shape, permutation)
    if moved is None:
        value = builder.value_in_order(name, row_major(shape))
        moved = transposed(value.layout, shape, permutation)
        assert moved is not None  # row-major factors fit any permutation
    return _io(builder, name, Value(value.storage, moved), tuple(shape[axis] for axis in permutation))


def _io(builder: Builder, name: str, value: Value, shape: tuple[int, ...]) -> ProgramIo:
    common = [layout for layout in (row_major(shape), channels_last(shape)) if same_bytes(layout, value.layout)]
    layout = common[0] if common else canonical(value.layout)
    if not layout.factors:
        layout = Layout((1,), (0,))
    if len(layout.order) > MAX_RANK or len(shape) > MAX_RANK:
        raise UnsupportedError(f"{builder.graph.name}: {name} has more than {MAX_RANK} dimensions")
    dtype = builder.graph.io_dtypes.get(name, np.dtype(np.float32))
    if dtype.name not in element_types.STORED_TYPES:
        place = "graph input" if name in builder.graph.inputs else "graph output"
        raise UnsupportedError(f"{builder.graph.name}: {name} ({place}) has type {dtype}, which a plan cannot hold")
    inverse = tuple(int(axis) for axis in np.argsort(layout.order))
    return ProgramIo(name, value.storage, element_types.STORED_TYPES[dtype.name], shape, layout.stored_shape, inverse,
                     builder.graph.labels.get(name, ()))
