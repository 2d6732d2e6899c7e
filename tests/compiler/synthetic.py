"""Programs of row maps and sizes alone, without arithmetic, for tests of the planner."""

import dataclasses
import random

from tigris_pio.compiler.ir.program import Alias, Operand, Program, ProgramIo, ProgramOp, ProgramTensor, RowMap
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import CopyParams


class Builder:
    """Adds operators one by one; every tensor is int8 with one image."""

    def __init__(self) -> None:
        self.tensors: dict[str, ProgramTensor] = {}
        self.ops: list[ProgramOp] = []
        self.inputs: list[str] = []

    def input(self, height: int, row_bytes: int) -> str:
        name = f"in{len(self.inputs)}"
        self._tensor(name, height, row_bytes)
        self.inputs.append(name)
        return name

    def _tensor(self, name: str, height: int, row_bytes: int) -> None:
        self.tensors[name] = ProgramTensor(name, 1, height, row_bytes, 1, DType.INT8)

    def op(self, operands: list[Operand], height: int, row_bytes: int, scratch: int = 0) -> str:
        name = f"t{len(self.ops)}"
        self._tensor(name, height, row_bytes)
        kind, dtype = OpKind.COPY, DType.INT8
        self.ops.append(
            ProgramOp(
                f"op{len(self.ops)}", kind, dtype, tuple(operands), name, CopyParams(0),
                macs=height * row_bytes, scratch_bytes=scratch,
            )
        )
        return name

    def window(self, source: str, kernel: int, stride: int, pad: int, row_bytes: int, scratch: int = 0) -> str:
        height = (self.tensors[source].height + 2 * pad - kernel) // stride + 1
        return self.op([Operand(source, RowMap.window(kernel, stride, 1, pad))], height, row_bytes, scratch)

    def pointwise(self, *sources: str) -> str:
        """A pointwise operator, which may overwrite a source that is as wide as the first."""
        first = self.tensors[sources[0]]
        output = self.op([Operand(s, RowMap.same()) for s in sources], first.height, first.row_bytes)
        wide = [index for index, name in enumerate(sources) if self.is_free(name) and
                (self.tensors[name].height, self.tensors[name].row_bytes) == (first.height, first.row_bytes)]
        self.ops[-1] = dataclasses.replace(self.ops[-1], in_place=tuple(wide))
        return output

    def is_free(self, name: str) -> bool:
        """Whether the memory of a tensor may be shared."""
        return not (self.tensors[name].folded or self.tensors[name].sequential)

    def concatenated(self, *sources: str) -> str:
        """Concat of tensors of one width along the rows."""
        start, operands, aliases = 0, [], []
        row_bytes = self.tensors[sources[0]].row_bytes
        for index, name in enumerate(sources):
            operands.append(Operand(name, RowMap.shifted(-start)))
            if self.is_free(name):
                aliases.append(Alias(index, start * row_bytes))
            start += self.tensors[name].height
        output = self.op(operands, start, row_bytes)
        self.ops[-1] = dataclasses.replace(self.ops[-1], aliases=tuple(aliases))
        return output

    def slice(self, source: str, first: int, rows: int) -> str:
        """Rows first … first + rows."""
        row_bytes = self.tensors[source].row_bytes
        output = self.op([Operand(source, RowMap.shifted(first))], rows, row_bytes)
        if self.is_free(source):
            self.ops[-1] = dataclasses.replace(self.ops[-1], aliases=(Alias(0, -first * row_bytes),))
        return output

    def upsample(self, source: str, factor: int) -> str:
        tensor = self.tensors[source]
        return self.op([Operand(source, RowMap(1, factor, 0, 0))], tensor.height * factor, tensor.row_bytes)

    def whole(self, source: str, height: int, row_bytes: int) -> str:
        return self.op([Operand(source, RowMap.whole(self.tensors[source].height))], height, row_bytes)

    def summed(self, source: str, row_bytes: int) -> str:
        """A folded tensor that sums all rows of `source`, and an operator that reads it at the end."""
        height = self.tensors[source].height
        sums = self.op([Operand(source, RowMap.same())], height, row_bytes)
        self.tensors[sums] = dataclasses.replace(self.tensors[sums], folded=True)
        return self.whole(sums, 1, row_bytes)

    def stepped(self, source: str, row_bytes: int) -> str:
        """A sequential tensor: each row is made from a row of `source` and the row before."""
        steps = self.op([Operand(source, RowMap.same())], self.tensors[source].height, row_bytes)
        self.tensors[steps] = dataclasses.replace(self.tensors[steps], sequential=True)
        return steps

    def program(self, *outputs: str) -> Program:
        def io(name: str) -> ProgramIo:
            t = self.tensors[name]
            return ProgramIo(name, name, DType.INT8, (t.height, t.width), (t.height, t.width), (0, 1))

        return Program(
            "synthetic", bytes(32), self.tensors, tuple(self.ops),
            tuple(io(n) for n in self.inputs), tuple(io(n) for n in outputs),
        )


def batched(program: Program, images: int, from_op: int = 0) -> Program:
    """The program for several images; operators from `from_op` on run for each image, earlier ones once."""
    many = {op.output for op in program.ops[from_op:]}
    many |= {io.tensor for io in program.inputs} - {item.tensor for op in program.ops[:from_op] for item in op.operands}
    tensors = {name: dataclasses.replace(tensor, batch=images) if name in many and tensor.constant is None else tensor
               for name, tensor in program.tensors.items()}
    ops = tuple(dataclasses.replace(op, images=images if at >= from_op else 1, in_place=(), aliases=())
                for at, op in enumerate(program.ops))
    return dataclasses.replace(program, tensors=tensors, ops=ops)


def chain(length: int, height: int, row_bytes: int) -> Program:
    """3-row windows one after the other."""
    b = Builder()
    t = b.input(height, row_bytes)
    for _ in range(length):
        t = b.window(t, 3, 1, 1, row_bytes)
    return b.program(t)


def random_program(seed: int, length: int) -> Program:
    """A random network of windows, strides, skips, branches, upsampling and a dense tail."""
    rng = random.Random(seed)
    b = Builder()
    live = [b.input(rng.choice([7, 16, 23, 32]), rng.choice([3, 8, 16]))]
    for _ in range(length):
        source = rng.choice(live[-3:])
        height = b.tensors[source].height
        kind = rng.randrange(8)
        if kind <= 3 and height >= 2:
            kernel = rng.choice([1, 2, 3, 5])
            stride = rng.choice([1, 1, 2, 3])
            pad = rng.randrange(kernel)
            if height + 2 * pad < kernel:
                continue
            live.append(b.window(source, kernel, stride, pad, rng.choice([4, 8, 24, 33]), rng.choice([0, 0, 40])))
        elif kind == 4:
            size = (height, b.tensors[source].row_bytes)
            twins = [t for t in live if (b.tensors[t].height, b.tensors[t].row_bytes) == size]
            live.append(b.pointwise(source, rng.choice(twins)))
        elif kind == 5 and height <= 16:
            live.append(b.upsample(source, 2))
        elif kind == 6:
            live.append(b.op([Operand(source, RowMap.shifted(-2)), Operand(source, RowMap.same())], height + 2, 8))
        elif kind == 7 and rng.random() < 0.5:
            live.append(b.stepped(source, rng.choice([4, 16, 40])))
        elif kind == 7 and rng.random() < 0.6:
            live.append(b.whole(source, rng.choice([1, 4, 9]), rng.choice([10, 40])))
    read = {operand.tensor for op in b.ops for operand in op.operands}
    outputs = [op.output for op in b.ops if op.output not in read] or [live[-1]]
    if rng.random() < 0.3 and b.ops:
        outputs.append(rng.choice(b.ops).output)
    if not b.ops:
        outputs = [b.pointwise(live[0])]
    program = b.program(*dict.fromkeys(outputs))
    used = {o.tensor for op in program.ops for o in op.operands}
    return dataclasses.replace(program, inputs=tuple(io for io in program.inputs if io.tensor in used))


def wild_program(seed: int, length: int) -> Program:
    """Every kind of row map that lowering makes, several inputs and outputs, skips over any distance."""
    rng = random.Random(seed)
    b = Builder()
    live = [b.input(rng.choice([5, 12, 24, 33, 48]), rng.choice([4, 8, 16])) for _ in range(rng.choice([1, 1, 2, 3]))]
    for _ in range(length):
        source = rng.choice(live[-4:]) if rng.random() < 0.8 else rng.choice(live)
        live.append(rng.choice(_KINDS)(b, rng, source, live))
    read = {operand.tensor for op in b.ops for operand in op.operands}
    outputs = [op.output for op in b.ops if op.output not in read]
    outputs += rng.sample([op.output for op in b.ops], min(len(b.ops), rng.choice([0, 0, 1, 2])))
    program = b.program(*dict.fromkeys(outputs))
    return dataclasses.replace(program, inputs=tuple(io for io in program.inputs if io.tensor in read))


def _size(rng: random.Random) -> int:
    return rng.choice([3, 8, 16, 24, 40])


def _window(b: Builder, rng: random.Random, source: str, live: list[str]) -> str:
    height = b.tensors[source].height
    dilation, stride = rng.choice([1, 1, 1, 2, 3]), rng.choice([1, 1, 1, 2, 3])
    kernel = rng.choice([1, 3, 3, 5, 7])
    reach = (kernel - 1) * dilation
    top, bottom = rng.randrange(reach + 1), rng.randrange(reach + 1)
    if height + top + bottom <= reach:
        top = bottom = reach
    out = (height + top + bottom - reach - 1) // stride + 1
    rows = RowMap.window(kernel, stride, dilation, top)
    return b.op([Operand(source, rows)], out, _size(rng), rng.choice([0, 0, 32]))


def _transposed(b: Builder, rng: random.Random, source: str, live: list[str]) -> str:
    """Output row r reads the taps k with (r + pad - k) divisible by the stride."""
    height, stride = b.tensors[source].height, rng.choice([1, 2, 3])
    kernel = rng.choice([k for k in (1, 2, 3, 4, 5) if k >= stride])
    pad = rng.randrange(min(kernel, 3))
    out = (height - 1) * stride + kernel - 2 * pad
    if not 1 <= out <= 80:
        return _pointwise(b, rng, source, live)
    rows = RowMap(1, stride, min(pad - kernel + 1 + stride - 1, pad), pad)
    return b.op([Operand(source, rows)], out, _size(rng))


def _upsampled(b: Builder, rng: random.Random, source: str, live: list[str]) -> str:
    """Nearest, and linear with a neighbour on either side."""
    height, factor = b.tensors[source].height, rng.choice([2, 3])
    if height * factor > 80:
        return _pointwise(b, rng, source, live)
    rows = rng.choice([RowMap(1, factor, 0, 0), RowMap(1, factor, -factor, factor)])
    return b.op([Operand(source, rows)], height * factor, _size(rng))


def _sliced(b: Builder, rng: random.Random, source: str, live: list[str]) -> str:
    height, step = b.tensors[source].height, rng.choice([1, 1, 2, 3])
    start = rng.randrange(height)
    out = rng.randint(1, (height - start - 1) // step + 1)
    return b.op([Operand(source, RowMap(step, 1, start, start))], out, _size(rng))


def _padded(b: Builder, rng: random.Random, source: str, live: list[str]) -> str:
    top, bottom = rng.randrange(4), rng.randrange(4)
    return b.op([Operand(source, RowMap.shifted(-top))], b.tensors[source].height + top + bottom, _size(rng))


def _joined(b: Builder, rng: random.Random, source: str, live: list[str]) -> str:
    """Concat along the rows."""
    names = [source, *rng.sample(live, min(len(live), rng.choice([1, 2])))]
    start, operands = 0, []
    for name in names:
        operands.append(Operand(name, RowMap.shifted(-start)))
        start += b.tensors[name].height
    return b.op(operands, start, _size(rng)) if start <= 96 else _pointwise(b, rng, source, live)


def _regrouped(b: Builder, rng: random.Random, source: str, live: list[str]) -> str:
    """Reshape along the rows: two rows into one, or each row into halves."""
    height = b.tensors[source].height
    if height % 2 == 0:
        return b.op([Operand(source, RowMap(2, 1, 0, 1))], height // 2, _size(rng))
    return b.op([Operand(source, RowMap(1, 2, 0, 0))], height * 2, _size(rng))


def _pointwise(b: Builder, rng: random.Random, source: str, live: list[str]) -> str:
    """An operator on tensors of equal height, sometimes with a single row that is broadcast."""
    height = b.tensors[source].height
    twins = [name for name in live if b.tensors[name].height == height]
    operands = [Operand(name, RowMap.same()) for name in dict.fromkeys([source, rng.choice(twins)])]
    if rng.random() < 0.2:
        operands.append(Operand(rng.choice(live), RowMap(0, 1, 0, 0)))
    return b.op(operands, height, _size(rng))


def _whole(b: Builder, rng: random.Random, source: str, live: list[str]) -> str:
    rows = RowMap.whole(b.tensors[source].height)
    return b.op([Operand(source, rows)], rng.choice([1, 1, 4, 9]), _size(rng), rng.choice([0, 20]))


def _concatenated(b: Builder, rng: random.Random, source: str, live: list[str]) -> str:
    row_bytes = b.tensors[source].row_bytes
    twins = [name for name in live if b.tensors[name].row_bytes == row_bytes and not b.tensors[name].folded]
    names = [source, *rng.choices(twins, k=rng.choice([1, 1, 2]))]
    fits = sum(b.tensors[name].height for name in names) <= 96 and not b.tensors[source].folded
    return b.concatenated(*names) if fits else _pointwise(b, rng, source, live)


def _cut(b: Builder, rng: random.Random, source: str, live: list[str]) -> str:
    height = b.tensors[source].height
    first = rng.choice([0, rng.randrange(height)])
    return b.slice(source, first, rng.randint(1, height - first))


def _summed(b: Builder, rng: random.Random, source: str, live: list[str]) -> str:
    return b.summed(source, _size(rng))


def _stepped(b: Builder, rng: random.Random, source: str, live: list[str]) -> str:
    return b.stepped(source, _size(rng))


_KINDS = (
    (_window,) * 6
    + (_transposed, _upsampled, _sliced, _padded, _joined, _regrouped, _whole, _summed, _stepped)
    + (_pointwise,) * 3
    + (_concatenated, _cut, _cut)
)
