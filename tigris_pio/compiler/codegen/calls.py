"""Writes a C function for each operator: its constants, and the call of its kernel.

Numbers that are equal in all calls of an operator are constants in its function. A number whose distance from an
argument is equal in all calls is computed from it; each other number is an argument of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from tigris_pio.compiler.codegen import constants
from tigris_pio.compiler.codegen.memory import shape
from tigris_pio.compiler.codegen.model import WITHOUT_KERNEL, Model
from tigris_pio.compiler.codegen.names import Names
from tigris_pio.compiler.codegen.schedule import Call, Place, Step, operands_of, values_of
from tigris_pio.compiler.codegen.split import kernel_name
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.format.c_header import kernel_symbol
from tigris_pio.format.enums import Home, OpKind, TensorFlag
from tigris_pio.format.params import CommitParams
from tigris_pio.text import c_comment

#: Constants of a call: (rows, padding above, padding below, first row) of the output and of each input.
Case: TypeAlias = tuple[tuple[int, int, int, int], ...]

#: Members of tigris_band_rows behind the tensor, as in `Case`.
_ROWS = ("rows", "pad_top", "pad_bottom", "first_row")

#: A number in a loop: its first value, and its increment per iteration.
Progression: TypeAlias = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Affine:
    """factor * argument + constant; None as argument: a constant."""

    argument: str | None
    factor: int
    constant: int

    def text(self) -> str:
        """The C expression, of type uint32_t."""
        if self.argument is None:
            return f"{self.constant}U"
        if self.constant == 0:
            return self.argument if self.factor == 1 else f"{self.factor}U * {self.argument}"
        scaled = self.argument if self.factor == 1 else f"({self.factor}U * {self.argument})"
        return f"{scaled} {'+' if self.constant > 0 else '-'} {abs(self.constant)}U"


def affine_numbers(names: Sequence[str], values: Sequence[tuple[Progression, ...]],
                   order: Sequence[int]) -> list[Affine]:
    """Expresses each number as a constant, by its distance from an argument, or as an argument with its own name.

    values: of each number, in all calls. order: indices of the numbers; arguments are chosen in this order.
    """
    found: dict[int, Affine] = {}
    arguments: dict[str, tuple[Progression, ...]] = {}
    for place in order:
        number = _affine(values[place], arguments)
        if number is None:
            arguments[names[place]] = values[place]
            number = Affine(names[place], 1, 0)
        found[place] = number
    return [found[place] for place in range(len(values))]


def argument_progressions(numbers: list[Affine], arguments: list[str], values: list[Progression]) -> list[Progression]:
    """The values of `arguments` in a call whose numbers have `values`."""
    places = {number.argument: place for place, number in reversed(list(enumerate(numbers)))
              if number.argument is not None and number.constant == 0}  # fmt: skip
    return [values[places[name]] for name in arguments]


def in_iteration(line: Progression, by: int) -> Affine:
    """A number in an iteration of a loop whose variable i grows by `by`."""
    value, growth = line
    return Affine("i" if growth else None, growth // by, value)


class Function:
    """A C function that a stage calls, made from all its calls there. Its parameters are what its body names."""

    names: Sequence[str]  #: of the numbers of `values`, as arguments

    def __init__(self, model: Model, stage: int, steps: Sequence[Step], name: str) -> None:
        self.model, self.stage, self.steps = model, stage, steps
        self.name = f"{model.name}_{name}"

    def values(self, step: Step) -> list[Progression]:
        """The numbers of a call."""
        raise NotImplementedError

    def body(self) -> str:
        """The statements."""
        raise NotImplementedError

    @cached_property
    def numbers(self) -> list[Affine]:
        """The numbers of `values`, in this function."""
        values = list(zip(*(self.values(step) for step in self.steps), strict=True))
        first = sorted(range(len(values)), key=lambda place: not self.names[place].endswith("_row"))
        return affine_numbers(self.names, values, first)

    @cached_property
    def arguments(self) -> list[str]:
        """Names of the numbers that are arguments."""
        return list(dict.fromkeys(number.argument for number in self.numbers if number.argument is not None))

    @cached_property
    def _named(self) -> list[str]:
        return self.model.named_in(self.body(), "fast", "slow", "weights", "image", "rows")

    def function(self, comment: str) -> str:
        """The C text of the function."""
        parameters = [self.model.parameter(name) for name in [*self._named, *self.arguments]]
        head = constants.signature(f"static TIGRIS_OWN_FRAME void {self.name}", parameters)
        return f"{comment}{head}\n{{\n{self.body()}}}\n"

    def case_of(self, step: Step) -> str:
        """The C name of a call's constants."""
        raise NotImplementedError

    def call_text(self, step: Step, by: int) -> str:
        """The C text of a call. by: step of the loop's variable."""
        values = argument_progressions(self.numbers, self.arguments, self.values(step))
        words = [self.case_of(step) if name == "rows" else name for name in self._named]
        return f"{self.name}({', '.join([*words, *(in_iteration(value, by).text() for value in values)])})"

    def address(self, place: Place, at: Affine) -> str:
        """The address of row `at` of a place, as uint8_t *."""
        program, stage = self.model.plan.program, self.model.plan.stages[self.stage]
        per_image = program.ops[stage.first_op].images > 1 and program.tensors[place.tensor].batch > 1
        return row_address(self.model, self.stage, place, at, "image" if per_image and not place.window else None)


class Operator(Function):
    """The function of operator `step`."""

    def __init__(self, model: Model, stage: int, step: int, calls: Sequence[Step]) -> None:
        super().__init__(model, stage, calls, model.ops[step])
        self.step = step
        self.op: ProgramOp = model.plan.program.ops[step]
        self.operands = [operand.tensor for operand in operands_of(self.op, model.plan.program.tensors)]
        self.actions = [call.action for call in calls if isinstance(call.action, Call)]
        others = [name for band in range(2, len(self.operands) + 1) for name in (f"from_{band}", f"from_{band}_row")]
        self.names = ["to", "to_row", "from", "from_row", *others]

    @cached_property
    def cases(self) -> list[Case]:
        """The distinct constants of the operator's calls."""
        return list(dict.fromkeys(self._case(action) for action in self.actions))

    @cached_property
    def case_names(self) -> dict[Case, str]:
        """C names of `cases`: by output rows, if these differ, and rows of padding."""
        names, found = Names(), {}
        rows_differ = len({case[0][0] for case in self.cases}) > 1
        for case in self.cases:
            _, top, bottom, first = map(max, zip(*case, strict=True))
            sizes = {"rows": case[0][0] if rows_differ else 0, "top": top, "bottom": bottom, "from": first}
            words = " ".join(f"{word} {size}" for word, size in sizes.items() if size)
            found[case] = f"{self.name}_{names.assign(words, 'inner')}".upper()
        return found

    def _case(self, action: Call) -> Case:
        """A call's constants; the first row is 0 if it grows or the kernel does not read it."""
        return tuple(
            (rows.rows, rows.pad_top, rows.pad_bottom, rows.first if self._reads_first_row and not grows else 0)
            for rows, grows in zip(action.bands, self._growing, strict=True)
        )

    @cached_property
    def _growing(self) -> list[bool]:
        """For each band, whether its kernel reads the number of the first row and this grows in a loop."""
        return [self._reads_first_row and any(call.growth[2 * place + 1] for call in self.steps)
                for place in range(len(self.operands) + 1)]  # fmt: skip

    @property
    def _reads_first_row(self) -> bool:
        readers = self.model.kernels.first_row_readers
        return self.op.kind in (OpKind.FETCH, OpKind.TAKE) or kernel_symbol(self.op.kind, self.op.dtype) in readers

    def values(self, step: Step) -> list[Progression]:
        """For each band, its first row in the place and in the tensor."""
        values = list(zip(values_of(step.action), step.growth, strict=True))
        if self.op.kind in (OpKind.FETCH, OpKind.TAKE):
            return values
        return [value if place % 2 == 0 or self._growing[place // 2] else (0, 0) for place, value in enumerate(values)]

    def case_of(self, step: Step) -> str:
        """The C name of a call's constants."""
        assert isinstance(step.action, Call)
        return self.case_names[self._case(step.action)]

    def text(self) -> str:
        """The C text of constants and function; empty if the stage calls the firmware's function for rows instead."""
        if self.op.kind in (OpKind.FETCH, OpKind.TAKE):
            return ""
        return ("" if self.op.kind is OpKind.COMMIT else self._constants()) + self.function(self._head())

    def _head(self) -> str:
        tensors = self.model.plan.program.tensors
        lines = [f"/* {self.step}: {c_comment(self.op.name)} ({self.op.kind.name}, {self.op.dtype.name.lower()})"]
        for side, name in [*(("from", name) for name in self.operands), ("to", self.op.output)]:
            lines.append(f" *   {side:<4} {c_comment(name)} {shape(tensors[name])}")
        return "\n".join(lines) + " */\n"

    def body(self) -> str:
        """The call of the kernel, or the moves that write a state."""
        if self.op.kind is OpKind.COMMIT:
            return self._commit()
        model, symbol = self.model, kernel_symbol(self.op.kind, self.op.dtype)
        kernel = kernel_name(symbol, model.weights_in_calls) if model.split else model.kernels.functions[symbol]
        copies, of = self._rows()
        bands = [
            f"{{.data = {self.address(rows.place, self.numbers[2 * band])}, .of = {of[band]}}}"
            for band, rows in enumerate(self.actions[0].bands)
        ]
        if model.weights_in_calls:
            bands.append(f"{{.data = {self._weights()}}}")
        if self.op.scratch_bytes:
            bands.append(f"{{.data = fast->scratch_of_{model.ops[self.step]}.data}}")
        lines = "".join(f"        {band},\n" for band in bands)
        return f"{copies}    const tigris_band call[] = {{\n{lines}    }};\n    {kernel}(call);\n"

    def _rows(self) -> tuple[str, list[str]]:
        """C statements, and the address of each band's constants. A band whose first row grows has a copy of them."""
        constants_of = "of->" if len(self.cases) > 1 or self.arguments else f"{self.name}_rows[0]."
        statements, addresses = "", []
        if len(self.cases) > 1 or self.arguments:
            case = f"&{self.name}_rows[rows]" if len(self.cases) > 1 else f"{self.name}_rows"
            statements = f"    const struct {self.name}_case *of = {case};\n    TIGRIS_ONCE(of);\n"
        for place, grows in enumerate(self._growing):
            member = f"inputs[{place - 1}]" if place else "output"
            row = ".rows" if place == 0 else ""
            if not grows:
                addresses.append(f"&{constants_of}{member}{row}")
                continue
            copy, kind = (f"input_{place}", "band_rows") if place else ("output", "operation")
            statements += f"    tigris_{kind} {copy} = {constants_of}{member};\n"
            statements += f"    {copy}{row}.first_row = (int32_t)({self.numbers[2 * place + 1].text()});\n"
            addresses.append(f"&{copy}{row}")
        return statements, addresses

    def _weights(self) -> str:
        """The address of the stage's weights, for a call."""
        model = self.model
        if self.stage not in model.section[1]:
            return "NULL"
        if not model.is_in_place(self.stage):
            return f"fast->weights_of_stage_{self.stage}.data"
        return f"(uint8_t *)(uintptr_t)({model.weights_at(self.stage)})"

    def _constants(self) -> str:
        """C text of the parameters, and of the constants of all calls."""
        model, params, offsets = self.model, self.op.params, {}
        if self.op.blobs:  # the record has offsets of arrays in the stage's weight block
            params = model.section[1][self.stage].params[self.step - model.plan.stages[self.stage].first_op]
            struct, names = model.block_members(self.stage)
            offsets = {field: f"(uint32_t)offsetof(struct {struct}, {names[getattr(params, field)]})"
                       for field in self.op.blobs}  # fmt: skip
        inputs = f"\n    tigris_band_rows inputs[{len(self.operands)}];" if self.operands else ""
        body = "\n".join(self._constant(case) for case in self.cases)
        enum = "".join(f"    {name},\n" for name in self.case_names.values())
        named = f"enum {{\n{enum}}};\n\n" if len(self.cases) > 1 else ""
        return (
            f"{named}static const {params.C_NAME} {self.name}_params = {{\n{constants.record(params, offsets)}\n}};\n\n"
            f"static const struct {self.name}_case {{\n    tigris_operation output;{inputs}\n}} {self.name}_rows[] = "
            f"{{\n{body}\n}};\n\n"
        )

    def _constant(self, case: Case) -> str:
        """C text of the constants of some calls."""
        in_place = not self.model.weights_in_calls and self.op.blobs
        output, *inputs = (
            f"{{.tensor = &{tensor_name(self.model, name)}, "
            + ", ".join(f".{member} = {number}" for member, number in zip(_ROWS, numbers, strict=True) if number) + "}"
            for name, numbers in zip([self.op.output, *self.operands], case, strict=True)
        )  # fmt: skip
        weights = f", .weights = {self.model.weights_start}" if in_place else ""
        lines = [
            *([f"    [{self.case_names[case]}] ="] if len(self.cases) > 1 else []),
            f"    {{.output = {{.rows = {output},",
            f"                .input_count = {len(inputs)}U, .params = &{self.name}_params{weights}}},",
        ]
        if inputs:
            lines.append("     .inputs = {" + ",\n                ".join(inputs) + "},")
        return "\n".join(lines)[:-1] + "},"

    def _commit(self) -> str:
        params, model = self.op.params, self.model
        assert isinstance(params, CommitParams)
        state = row_address(model, self.stage, self.actions[0].bands[0].place, START)
        source = self.address(self.actions[0].bands[1].place, self.numbers[2])
        kept = params.kept_bytes
        new = model.plan.program.tensors[self.op.output].bytes - kept
        moves = f"    memmove({state}, {state} + {new}, {kept}U);\n" if kept else ""
        return f"{moves}    memmove({state}{f' + {kept}' if kept else ''}, {source}, {new}U);\n"


def _affine(line: tuple[Progression, ...], arguments: Mapping[str, tuple[Progression, ...]]) -> Affine | None:
    """A number as a constant or by one of `arguments`; None if neither is possible."""
    if all(item == (line[0][0], 0) for item in line):
        return Affine(None, 0, line[0][0])
    for name, other in arguments.items():
        constant = line[0][0] - other[0][0]
        if all((x + constant, growth) == item for (x, growth), item in zip(other, line, strict=True)):
            return Affine(name, 1, constant)
    return None


def row_address(model: Model, stage: int, place: Place, at: Affine, image: str | None = None) -> str:
    """The address of row `at` of a place, as uint8_t *. image: the C variable with the number of the image."""
    tensor, row = model.plan.program.tensors[place.tensor], at.text()
    if not place.window and model.home(place.tensor) is Home.FLASH:
        start = f"(uint8_t *)(uintptr_t){model.constants[place.tensor]}"
        start += f" + ({image} * {tensor.bytes // tensor.batch}U)" if image is not None else ""
        return start if row == "0U" else f"{start} + (({row}) * {tensor.row_bytes}U)"
    slow = not place.window and model.home(place.tensor) is Home.SLOW
    region = "slow" if slow else "fast"
    if tensor.bytes == 0 or (not place.window and model.home(place.tensor) is Home.NONE):
        return f"{region}->bytes"
    place_in_batch = f"[{image or 0}]" if tensor.batch > 1 and (image is not None or row != "0U") else ""
    place_in_image = "" if row == "0U" else f"[{row}]"
    return f"(uint8_t *){region}->{model.member(stage, place)}.data{place_in_batch}{place_in_image}"


#: The first row.
START = Affine(None, 0, 0)


def tensor_name(model: Model, tensor: str) -> str:
    """C name of a tensor's record; equal records have one name."""
    found = model.plan.program.tensors[tensor]
    flags = ("_folded" if found.folded else "") + ("_state" if found.state else "")
    extents = "x".join(map(str, (found.batch, found.height, found.width, found.channels)))
    return f"{model.name}_tensor_{found.dtype.name.lower()}_{extents}{flags}"


def tensor_records(model: Model) -> str:
    """C text of the records of tensors that kernels access, each once."""
    ops = [op for op in model.called.values() if op.kind not in WITHOUT_KERNEL]
    names = [name for op in ops for name in (op.output, *(operand.tensor for operand in op.operands))]
    found = {tensor_name(model, name): model.plan.program.tensors[name] for name in names}
    lines = []
    for name, tensor in found.items():
        flags = (TensorFlag.FOLDED if tensor.folded else 0) | (TensorFlag.STATE if tensor.state else 0)
        lines.append(
            f"static const tigris_tensor_record {name} = {{\n    .batch = {tensor.batch}U, .height = {tensor.height}U, "
            f".width = {tensor.width}U, .channels = {tensor.channels}U,\n"
            f"    .dtype = TIGRIS_DTYPE_{tensor.dtype.name}, .flags = {int(flags)},\n}};\n"
        )
    return "".join(lines)
