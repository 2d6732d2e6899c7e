"""Long programs: places that activations share, and operators that repeat themselves."""

from __future__ import annotations

import dataclasses
from functools import partial

import pytest

from bench.graphs import GRAPHS
from tests.compiler.synthetic import Builder, random_program, wild_program
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Operand, Program, RowMap
from tigris_pio.compiler.plan.aim import Aim, WeightOptions
from tigris_pio.compiler.plan.cut import crossings, offers, reach
from tigris_pio.compiler.plan.cut.crossings import Crossings
from tigris_pio.compiler.plan.cut.reach import Reach
from tigris_pio.compiler.plan.cut.repeats import earliest_alike, earliest_crossed_alike
from tigris_pio.compiler.plan.cut.rolling_sweep import _Swept, rolling_fits
from tigris_pio.compiler.plan.cut.temporal import Cut, cheapest_cut
from tigris_pio.compiler.plan.index import ProgramIndex

MAP = 96 * 256  #: bytes of a map of these programs

def repeated(program: Program, times: int) -> Program:
    """`program` behind itself so often: what it makes last is what it reads first, if it is as large."""
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


def needed(program: Program) -> Program:
    """The operators that the last one needs."""
    wanted, ops = {program.ops[-1].output}, []
    for op in reversed(program.ops):
        if op.output in wanted:
            ops.append(op)
            wanted |= {each.tensor for each in op.operands}
    return dataclasses.replace(program, ops=tuple(reversed(ops)))


def read_again(program: Program) -> Program:
    """With the first reader of a tensor that another operator made once more, behind all else."""
    made = {op.output for op in program.ops}
    reader = next(op for op in program.ops if any(each.tensor in made for each in op.operands))
    last = dataclasses.replace(reader, name="again", output="again")
    tensors = {**program.tensors, "again": dataclasses.replace(program.tensors[reader.output], name="again")}
    return dataclasses.replace(program, tensors=tensors, ops=(*program.ops, last))


@pytest.mark.parametrize("seed", range(6))
def test_a_set_tells_what_it_holds(seed: int) -> None:
    """Names and bytes of what crosses each cut come back from bits that others share."""
    index = ProgramIndex.of(repeated(random_program(seed, 12), 60))
    sets = Crossings.of(index, 16)
    assert max(sets.places.values()) < len(index.lives) - 1, "nothing is shared"
    for cut in range(len(index.ops) + 1):
        crossing = [name for name, life in index.lives.items() if life.birth < cut <= life.death]
        assert sorted(sets.named(sets.across[cut], cut)) == sorted(crossing)
        assert sets.size(sets.across[cut]) == sum(-(-index.tensor(name).bytes // 16) * 16 for name in crossing)
        for begin in (0, cut // 2, max(0, cut - 3)):
            both = {name for name in crossing if index.lives[name].birth < begin}
            assert sets.since(begin, cut) == sum(sets.bit[name] for name in both)


@pytest.mark.parametrize("graph", GRAPHS)
def test_no_segment_touches_two_that_share_a_place(graph: str) -> None:
    index = ProgramIndex.of(GRAPHS[graph](700))
    sets = Crossings.of(index, 16)
    reach = max(max(Reach.of(len(index.ops), slow)) for slow in (False, True))
    assert max(sets.across).bit_length() < len(index.ops), "sets are as long as the program"
    for first in range(0, len(index.ops), 7):
        end = first + reach
        touched = [name for name, life in index.lives.items() if life.birth < end and life.death >= first]
        assert len({sets.places[name] for name in touched}) == len(touched)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("memory", ((3 * MAP, 0), (MAP // 2, 1 << 30)))
def test_cuts_are_the_same_with_a_place_each(
    graph: str, memory: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(index: ProgramIndex) -> Cut | None:
        return cheapest_cut(index, Aim.of(Budget(*memory), memory[0], 16, WeightOptions()))

    shared = found(ProgramIndex.of(GRAPHS[graph](310)))
    monkeypatch.setattr(crossings.Reach, "of", lambda steps, slow: (10_000,))
    index = ProgramIndex.of(GRAPHS[graph](310))
    assert len(set(Crossings.of(index, 16).places.values())) == len(index.lives)
    monkeypatch.undo()
    assert shared == found(index)


def random_repeated(seed: int) -> Program:
    """Few operators, whatever they are, behind themselves again and again."""
    return repeated(needed((random_program, wild_program)[seed % 2](seed, 12)), 10)


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
    "chain": (partial(GRAPHS["chain"], 28), 0.75, 0),
    "residual": (partial(GRAPHS["residual"], 60), 0.6, 0),
    "skipping": (partial(skipping, 7), 0.75, 0),
    "residual beside slow memory": (partial(GRAPHS["residual"], 28), 0.6, 1 << 30),
    "grid beside slow memory": (partial(GRAPHS["grid"], 36), 0.6, 1 << 30),
    **{f"random {seed}": (partial(random_repeated, seed), 0.6, 1 << 30) for seed in range(4)},
}


@pytest.mark.parametrize("name", REPEATED)
def test_cuts_are_the_same_when_each_is_told_for_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What leads on from cuts that are alike is told of one and moved to the others."""
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


@pytest.mark.parametrize("graph", GRAPHS)
def test_what_leads_on_is_told_of_few_cuts(graph: str) -> None:
    """Of a program of 1,500 operators which repeats itself, and of one twice as long, not twice as many."""
    counts = []
    for nodes in (1500, 3000):
        sets = Crossings.of(ProgramIndex.of(GRAPHS[graph](nodes)), 16)
        counts.append(len(set(earliest_crossed_alike(sets, 12))))
    assert counts[0] == counts[1] < 150


@pytest.mark.parametrize("reach", (1, 2, 3, 5, 8, 13))
def test_the_earliest_alike_is_found(reach: int) -> None:
    """Against a comparison of every pair of steps; one of the tensors is read once more at the end."""
    index = ProgramIndex.of(read_again(repeated(wild_program(3, 9), 4)))

    def seen(step: int) -> list[object]:
        ops = index.ops[step : step + reach]
        found: list[object] = [len(ops)]
        for at, op in enumerate(ops, step):
            for name in (*(each.tensor for each in op.operands), op.output):
                tensor, life = index.tensor(name), index.lives.get(name)
                made = None if life is None else at - life.birth if life.birth >= 0 else name
                found.append((made, life and life.death - at, tensor.height, tensor.row_bytes, tensor.folded))
            found.append((op.scratch_bytes, op.images, tuple(each.rows for each in op.operands)))
        return found

    known = earliest_alike(index, reach)
    for step, earliest in enumerate(known):
        assert seen(step) == seen(earliest)
        assert all(seen(other) != seen(step) for other in range(earliest))


@pytest.mark.parametrize("make", (random_program, wild_program))
@pytest.mark.parametrize("resident", (False, True))
def test_segments_of_twins_are_those_of_their_own(make: object, resident: bool) -> None:
    """What is told of a start by another is what a sweep from there finds."""
    assert callable(make)
    twins = 0
    for seed in range(6):
        index = ProgramIndex.of(read_again(repeated(make(seed, 10), 4)))
        for first, earliest in enumerate(earliest_alike(index, 12)):
            twins += earliest != first
            own = _Swept(index, first, resident, 12)
            own.extend(1 << 40)
            told = rolling_fits(index, first, resident, 1 << 40, 12)
            assert told.fits == own.fits
            assert told.paces == own.paces
    assert twins > 20


def test_scratch_makes_a_difference() -> None:
    program = repeated(random_program(1, 6), 4)
    known = earliest_alike(ProgramIndex.of(program), 1)
    step = next(step for step, earliest in enumerate(known) if earliest < step)
    ops = list(program.ops)
    ops[step] = dataclasses.replace(ops[step], scratch_bytes=1234)
    assert earliest_alike(ProgramIndex.of(dataclasses.replace(program, ops=tuple(ops))), 1)[step] == step
