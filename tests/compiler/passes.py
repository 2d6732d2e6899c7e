"""Verifies the graph or program after each pass, for every model that a test compiles."""

from collections.abc import Callable, Sequence
from typing import Any

from tigris_pio.compiler.ir.graph import Graph, Node, Tensor
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.lower import passes as program_passes
from tigris_pio.compiler.lower.in_place import with_derived
from tigris_pio.compiler.lower.verify import check_program
from tigris_pio.compiler.normalise import PASSES
from tigris_pio.compiler.normalise.verify import check_graph
from tigris_pio.compiler.passes import Pass

#: Nodes after the pass before, with their tensors; shapes of unchanged nodes are not inferred again.
_SEEN: dict[int, tuple[Node, list[Tensor | None]]] = {}
_MOST_SEEN = 5000
#: The graph after the pass before; a pass that changes nothing returns it.
_verified: Graph | None = None


def changed(graph: Graph) -> Callable[[Node], bool]:
    """Whether a node, or one of its tensors, has changed since the pass before."""

    def is_new(node: Node) -> bool:
        tensors = [graph.tensors.get(name) for name in (*node.inputs, *node.outputs)]
        before = _SEEN.get(id(node))
        _SEEN[id(node)] = (node, tensors)
        return before is None or before[0] is not node or any(
            old is not new for old, new in zip(before[1], tensors, strict=True))

    if len(_SEEN) > _MOST_SEEN:
        _SEEN.clear()
    return is_new


def verify_after(step: Pass[Any], form: Graph | Program) -> None:
    """Checks the form; after the last pass, no pass finds anything to do, so the facts that each provides hold."""
    table: Sequence[Pass[Any]] = PASSES if isinstance(form, Graph) else program_passes.PASSES
    if isinstance(form, Graph):
        _verify_graph(form)
    else:
        verify_program(form, shares=step in table)
    if step is not table[-1]:
        return
    for earlier in table:
        again, _ = earlier.run(form)
        unchanged = again.nodes == form.nodes if isinstance(form, Graph) else again is form
        assert unchanged, f"{', '.join(earlier.provides)} does not hold after all passes"


def _verify_graph(graph: Graph) -> None:
    global _verified  # noqa: PLW0603
    if graph is not _verified:
        check_graph(graph, changed(graph))
        _verified = graph


def verify_program(program: Program, shares: bool) -> None:
    """Checks a program, and facts that a pass derives anew for what it makes: with `shares`, memory of operands too."""
    check_program(program)
    tensors = program.tensors
    assert len({op.name for op in program.ops}) == len(program.ops), "two operators have one name"
    for op in program.ops:
        op.params.pack()
        shared = with_derived(op, tensors) if shares else op
        assert (shared.in_place, shared.aliases) == (op.in_place, op.aliases), f"{op.name} shares other memory"
        assert op.images in (1, tensors[op.output].batch), f"{op.name} computes {op.images} images"
    used = {op.output for op in program.ops} | {item.tensor for op in program.ops for item in op.operands}
    assert tensors.keys() == used | program.ports, "a tensor is declared and not used"
    assert {value.tensor for value in program.values.values()} <= tensors.keys(), "a value lies nowhere"
    for tensor in tensors.values():
        assert min(tensor.batch, tensor.height, tensor.width, tensor.channels) > 0, f"{tensor.name} is empty"
        assert tensor.constant is None or tensor.constant.nbytes == tensor.bytes, f"{tensor.name} has another size"
