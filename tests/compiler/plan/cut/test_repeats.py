"""Long programs: places that activations share, and operators that repeat themselves."""

import dataclasses
import itertools
from functools import partial

import pytest

from bench.graphs import GRAPHS
from tests.compiler.synthetic import Builder, random_program
from tests.harness.tiers import sampled
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Operand, Program, RowMap
from tigris_pio.compiler.plan.aim import Aim, WeightOptions
from tigris_pio.compiler.plan.cut import offers, reach
from tigris_pio.compiler.plan.cut.crossings import Crossings
from tigris_pio.compiler.plan.cut.repeats import earliest_alike
from tigris_pio.compiler.plan.cut.temporal import Cut, cheapest_cut
from tigris_pio.compiler.plan.index import ProgramIndex


def repeated(program: Program, times: int) -> Program:
    """`program`, `times` in a row: each copy reads the last output of the one before, if the sizes are equal."""
    tensors, ops = dict(program.tensors), list(program.ops)
    source, last = program.inputs[0].tensor, program.ops[-1].output
    others = {each.tensor for each in program.inputs[1:]} | {each.tensor for each in program.states}
    for time in range(1, times):
        def at(name: str, time: int = time, before: str = last) -> str:
            return before if name == source else name if name in others else f"{name}.{time}"

        for op in program.ops:
            operands = tuple(dataclasses.replace(each, tensor=at(each.tensor)) for each in op.operands)
            tensors[at(op.output)] = dataclasses.replace(program.tensors[op.output], name=at(op.output))
            ops.append(dataclasses.replace(op, name=f"{op.name}.{time}", operands=operands, output=at(op.output)))
        last = ops[-1].output
    end = dataclasses.replace(program.outputs[0], tensor=last)
    return dataclasses.replace(program, tensors=tensors, ops=tuple(ops), outputs=(end,))


@pytest.mark.parametrize("seed", range(2))
def test_a_set_tells_what_it_holds(seed: int) -> None:
    """Names and bytes of what crosses each cut come back from bits that others share."""
    index = ProgramIndex.of(repeated(random_program(seed, 12), 40))
    sets = Crossings.of(index, 16)
    assert max(sets.places.values()) < len(index.lives) - 1, "nothing is shared"
    longest = max(max(reach.Reach.of(len(index.ops), slow)) for slow in (False, True))
    for one, other in itertools.combinations(sorted(index.lives, key=lambda name: index.lives[name].birth), 2):
        shares = sets.places[one] == sets.places[other]
        assert not shares or index.lives[other].birth - index.lives[one].death > longest, "a segment touches both"
    for cut in range(len(index.ops) + 1):
        crossing = [name for name, life in index.lives.items() if life.birth < cut <= life.death]
        assert sorted(sets.named(sets.across[cut], cut)) == sorted(crossing)
        assert sets.size(sets.across[cut]) == sum(-(-index.tensor(name).bytes // 16) * 16 for name in crossing)
        for begin in (0, cut // 2, max(0, cut - 3)):
            both = {name for name in crossing if index.lives[name].birth < begin}
            assert sets.since(begin, cut) == sum(sets.bit[name] for name in both)


def skipping(blocks: int) -> Program:
    """Windows over windows while what the first read waits to be added."""
    builder = Builder()
    tensor = builder.input(48, 64)
    for _ in range(blocks):
        inner = tensor
        for _ in range(4):
            inner = builder.op([Operand(inner, RowMap.window(3, 1, 1, 1))], 48, 64)
        tensor = builder.op([Operand(inner, RowMap.same()), Operand(tensor, RowMap.same())], 48, 64)
    return builder.program(tensor)


#: Repeated programs, a share of what all of it takes whole, and slow memory.
REPEATED = {
    "chain": (partial(GRAPHS["chain"], 20), 0.75, 0),
    "skipping": (partial(skipping, 7), 0.75, 0),
    "residual beside slow memory": (partial(GRAPHS["residual"], 28), 0.6, 1 << 30),
    "grid beside slow memory": (partial(GRAPHS["grid"], 36), 0.6, 1 << 30),
    **{f"random {seed}": (partial(repeated, random_program(seed, 6), 10), 0.6, 1 << 30) for seed in (1, 3, 5)},
}


@pytest.mark.parametrize("name", sampled(REPEATED, ["chain", "random 1", "random 3", "random 5"]))
def test_cuts_are_the_same_when_each_is_told_for_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expansions are computed for one of several cuts that are alike, and moved to the others."""
    for longest in ("BANDED_REACH", "SLOW_REACH", "AGAIN_REACH", "WHOLE_REACH"):
        monkeypatch.setattr(reach, longest, (12, 12, 0))
    make, share, slow = REPEATED[name]
    told = 0

    def found() -> Cut | None:
        index = ProgramIndex.of(make())
        limit = int(share * index.live.max())
        return cheapest_cut(index, Aim.of(Budget(limit, slow), limit, 16, WeightOptions()))

    def counted(repeated: offers.Repeated, *arguments: object) -> object:
        nonlocal told
        told += 1
        return moved(repeated, *arguments)

    moved = offers.Repeated._moved
    monkeypatch.setattr(offers.Repeated, "_moved", counted)
    shared = found()
    assert told > 10 or shared is None, "nothing was moved"
    monkeypatch.setattr(offers, "SEVERAL_CUTS", 1 << 60)
    told, alone = 0, found()
    assert not told
    assert (shared and dataclasses.replace(shared, led=0)) == (alone and dataclasses.replace(alone, led=0))


def test_operators_are_alike_whose_tensors_live_as_long() -> None:
    """The third window's output is read once more, by the last operator."""
    builder = Builder()
    names = [builder.input(16, 8)]
    for _ in range(5):
        names.append(builder.window(names[-1], 3, 1, 1, 8))
    index = ProgramIndex.of(builder.program(builder.pointwise(names[5], names[3])))
    assert list(earliest_alike(index, 1))[:5] == [0, 1, 2, 3, 1]
