"""Writes a C function for each operator: its constants, and the call of its kernel.

Numbers that are equal in all calls of an operator are constants in its function. A number that is an affine function of
an argument is computed from it; each other number is an argument of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from tigris_pio.compiler.codegen import constants
from tigris_pio.compiler.codegen.memory import shape
from tigris_pio.compiler.codegen.model import WITHOUT_KERNEL, Model, reads_row_numbers
from tigris_pio.compiler.codegen.schedule import Call, Place, Rows, Step, operands_of, values_of
from tigris_pio.compiler.codegen.split import kernel_name
from tigris_pio.compiler.ir.program import ProgramOp, ProgramTensor
from tigris_pio.format.c_header import kernel_symbol
from tigris_pio.format.enums import Home, OpKind, TensorFlag
from tigris_pio.format.params import CommitParams
from tigris_pio.format.record import Record
from tigris_pio.text import c_comment

#: Constants of a call: (rows, padding above, padding below, first row) of the output and of each input.
Case: TypeAlias = tuple[tuple[int, int, int, int], ...]

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
        scaled = self.argument if self.factor == 1 else f"{self.factor}U * {self.argument}"
        sign = "+" if self.constant > 0 else "-"
        return scaled if self.constant == 0 else f"{scaled} {sign} {abs(self.constant)}U"


def affine_numbers(names: Sequence[str], values: Sequence[tuple[Progression, ...]],
                   order: Sequence[int]) -> list[Affine]:
    """Expresses each number as a constant, by an earlier argument, or as an argument with its own name.

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
              if number.argument is not None and (number.factor, number.constant) == (1, 0)}  # fmt: skip
    return [values[places[name]] for name in arguments]


def in_iteration(line: Progression, by: int) -> Affine:
    """A number in an iteration of a loop whose variable i grows by `by`."""
    value, growth = line
    return Affine("i" if growth else None, growth // by, value)


class Operator:
    """The C function of operator `step`, made from all its calls in stage `stage`."""

    def __init__(self, model: Model, stage: int, step: int, calls: Sequence[Step]) -> None:
        self.model = model
        self.stage = stage
        self.step = step
        self.op: ProgramOp = model.plan.program.ops[step]
        self.operands = [operand.tensor for operand in operands_of(self.op, model.plan.program.tensors)]
        self.calls = calls
        self.name = f"{model.name}_{model.ops[step]}"
        self.actions = [call.action for call in calls if isinstance(call.action, Call)]

    @cached_property
    def cases(self) -> list[Case]:
        """The distinct constants of the operator's calls."""
        return list(dict.fromkeys(self._case(action) for action in self.actions))

    def _case(self, action: Call) -> Case:
        """A call's constants; the first row is 0 if it grows or the kernel does not read it."""
        return tuple(
            (rows.rows, rows.pad_top, rows.pad_bottom, rows.first if self._reads_first_row and not grows else 0)
            for rows, grows in zip(action.bands, self._growing, strict=True)
        )

    @cached_property
    def _growing(self) -> list[bool]:
        """For each band, whether its kernel reads the number of the first row and this grows in a loop."""
        return [self._reads_first_row and any(call.growth[2 * place + 1] for call in self.calls)
                for place in range(len(self.operands) + 1)]  # fmt: skip

    @cached_property
    def numbers(self) -> list[Affine]:
        """For each band, its first row in the place and in the tensor."""
        values = list(zip(*(self._values(call) for call in self.calls), strict=True))
        order = sorted(range(len(values)), key=lambda place: (place % 2 == 0, place))  # rows before bytes
        return affine_numbers([self._argument(place) for place in range(len(values))], values, order)

    @property
    def _reads_first_row(self) -> bool:
        return self.op.kind in (OpKind.FETCH, OpKind.TAKE) or reads_row_numbers(self.op, self.model.kernels)

    def _values(self, call: Step) -> list[Progression]:
        values = list(zip(values_of(call.action), call.growth, strict=True))
        if self.op.kind in (OpKind.FETCH, OpKind.TAKE):
            return values
        return [value if place % 2 == 0 or self._growing[place // 2] else (0, 0) for place, value in enumerate(values)]

    @staticmethod
    def _argument(place: int) -> str:
        """Name of a number as an argument."""
        band, is_row = divmod(place, 2)
        name = ("to" if band == 0 else "from") if not is_row else "to_row" if band == 0 else "from_row"
        return name if band < 2 else f"{name}_{band}"

    @cached_property
    def arguments(self) -> list[str]:
        """Names of the arguments, in order."""
        return list(dict.fromkeys(number.argument for number in self.numbers if number.argument is not None))

    def argument_values(self, call: Step) -> list[Progression]:
        """Values of the arguments in a call."""
        return argument_progressions(self.numbers, self.arguments, self._values(call))

    @property
    def has_cases(self) -> bool:
        """Whether the index of the call's constants is an argument."""
        return len(self.cases) > 1 and self.op.kind not in WITHOUT_KERNEL

    @property
    def needs_image(self) -> bool:
        """Whether the image is an argument."""
        return self.op.images > 1 and any(self._per_image(rows) for rows in self.actions[0].bands)

    def _per_image(self, rows: Rows) -> bool:
        return not rows.place.window and self.model.plan.program.tensors[rows.place.tensor].batch > 1

    @property
    def needs_slow(self) -> bool:
        """Whether the operator accesses slow memory."""
        bands = self.actions[0].bands
        return any(not rows.place.window and self.model.home(rows.place.tensor) is Home.SLOW for rows in bands)

    def call_text(self, call: Step, by: int) -> str:
        """The C text of a call. by: step of the loop's variable."""
        assert isinstance(call.action, Call)
        arguments = ["fast", *(["slow"] if self.needs_slow else []), *(["weights"] if self.needs_weights else [])]
        arguments += ["image"] if self.needs_image else []
        if self.has_cases:
            arguments.append(f"{self.cases.index(self._case(call.action))}U")
        arguments += [in_iteration(line, by).text() for line in self.argument_values(call)]
        return f"{self.name}({', '.join(arguments)})"

    @property
    def needs_weights(self) -> bool:
        """Whether the address of the weights is an argument."""
        in_place = self.model.is_in_place(self.stage) and self.model.has_weights(self.stage)
        return self.model.partition and in_place and self.op.kind not in WITHOUT_KERNEL

    # ---- the function ----

    def text(self) -> str:
        """The C text of constants and function."""
        if self.op.kind in (OpKind.FETCH, OpKind.TAKE):
            return self._stream()
        if self.op.kind is OpKind.COMMIT:
            return self._commit()
        return self._constants() + self._function()

    def _head(self) -> str:
        tensors = self.model.plan.program.tensors
        lines = [f"/* {self.step}: {c_comment(self.op.name)} ({self.op.kind.name}, {self.op.dtype.name.lower()})"]
        for side, name in [*(("from", name) for name in self.operands), ("to", self.op.output)]:
            lines.append(f" *   {side:<4} {c_comment(name)} {shape(tensors[name])}")
        return "\n".join(lines) + " */\n"

    def _parameters(self) -> str:
        model = self.model
        parameters = [f"union {model.name}_fast *fast"]
        parameters += [f"union {model.name}_slow *slow"] if self.needs_slow else []
        parameters += ["const uint8_t *weights"] if self.needs_weights else []
        parameters += ["uint32_t image"] if self.needs_image else []
        parameters += ["uint32_t rows"] if self.has_cases else []
        parameters += [f"uint32_t {name}" for name in self.arguments]
        return ", ".join(parameters)

    def _signature(self) -> str:
        head = f"static TIGRIS_OWN_FRAME void {self.name}("
        words = f"{self._parameters()})".split(", ")
        lines = [head]
        for word in [f"{word}, " for word in words[:-1]] + words[-1:]:
            if len(lines[-1]) + len(word) > constants.LINE:
                lines[-1] = lines[-1].rstrip()
                lines.append(" " * len(head))
            lines[-1] += word
        return "\n".join(lines) + "\n"

    def _function(self) -> str:
        symbol = kernel_symbol(self.op.kind, self.op.dtype)
        split = self.model.split
        kernel = kernel_name(symbol, self.model.weights_in_calls) if split else self.model.kernels.functions[symbol]
        count = len(self.operands)
        copies, of = self._rows()
        bands = [self._band(place, of[place]) for place in range(count + 1)]
        if self.model.weights_in_calls:
            bands.append(f"{{{self._weights()}, NULL}}")
        if self.op.scratch_bytes:
            bands.append(f"{{fast->scratch_of_{self.model.ops[self.step]}.data, NULL}}")
        lines = ",\n".join(f"        {band}" for band in bands)
        body = copies + f"    const tigris_band call[] = {{\n{lines},\n    }};\n    {kernel}(call);\n"
        return f"{self._head()}{self._signature()}{{\n{unused(body)}{body}}}\n"

    def _band(self, place: int, of: str) -> str:
        rows = self.actions[0].bands[place]
        return f"{{{self.address(rows, self.numbers[2 * place])}, {of}}}"

    def _rows(self) -> tuple[str, list[str]]:
        """C statements, and the address of each band's constants. A band whose first row grows has a copy of them."""
        constants_of = "of->" if self.has_cases or self.arguments else f"{self.name}_rows[0]."
        statements, addresses = "", []
        if self.has_cases or self.arguments:
            case = f"&{self.name}_rows[rows]" if self.has_cases else f"{self.name}_rows"
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

    def address(self, rows: Rows, at: Affine) -> str:
        """The address of rows, as uint8_t *."""
        image = "image" if self.op.images > 1 and self._per_image(rows) else None
        return row_address(self.model, self.stage, rows.place, at, image)

    def _weights(self) -> str:
        """The address of the stage's weights, for a call."""
        model = self.model
        if not model.has_weights(self.stage):
            return "NULL"
        if not model.is_in_place(self.stage):
            return f"fast->weights_of_stage_{self.stage}.data"
        return f"(uint8_t *)(uintptr_t)({model.weights_at(self.stage)})"

    def _constants(self) -> str:
        """C text of the parameters, and of the constants of all calls."""
        params = self._params()
        count = len(self.operands)
        inputs = f" tigris_band_rows inputs[{count}];" if count else ""
        body = "\n".join(self._constant(case) for case in self.cases)
        return (
            f"static const {params.C_NAME} {self.name}_params = {{\n{constants.record(params)}\n}};\n"
            f"static const struct {self.name}_case {{ tigris_operation output;{inputs} }} {self.name}_rows[] = "
            f"{{\n{body}\n}};\n\n"
        )

    def _constant(self, case: Case) -> str:
        """C text of the constants of some calls."""
        in_place = not self.model.weights_in_calls and self.op.blobs
        weights = self.model.weights_at(self.stage) if in_place else "NULL"
        output, *inputs = (
            f"{{&{tensor_name(self.model, name)}, {', '.join(map(str, numbers))}}}"
            for name, numbers in zip([self.op.output, *self.operands], case, strict=True)
        )
        lines = [f"    {{{{{output}, {len(inputs)}U, &{self.name}_params, {weights}}},"]
        if inputs:
            lines += ["     {" + ",\n      ".join(inputs) + "}},"]
        else:
            lines[-1] += "},"
        return "\n".join(lines)

    def _params(self) -> Record:
        """The parameter record, with the offsets of its arrays in the stage's weight block."""
        if not self.op.blobs:
            return self.op.params
        first = self.model.plan.stages[self.stage].first_op
        return self.model.section[1][self.stage].params[self.step - first]

    # ---- operators without a kernel ----

    def _stream(self) -> str:
        """No function: the stage calls the firmware's function directly."""
        return ""

    def _commit(self) -> str:
        params, model = self.op.params, self.model
        assert isinstance(params, CommitParams)
        tensor = model.plan.program.tensors[self.op.output]
        state = row_address(model, self.stage, self.actions[0].output.place, START)
        source = self.address(self.actions[0].inputs[0], self.numbers[2])
        new, kept = tensor.bytes - params.kept_bytes, params.kept_bytes
        lines = [f"    memmove({state}, {state} + {new}, {kept}U);"] if kept else []
        target = f"{state} + {kept}" if kept else state
        lines.append(f"    memmove({target}, {source}, {new}U);")
        body = "\n".join(lines) + "\n"
        return f"{self._head()}{self._signature()}{{\n{unused(body)}{body}}}\n"


def unused(body: str) -> str:
    """A statement against the warning of an unused parameter, if `body` does not use fast memory."""
    return "" if "fast->" in body else "    (void)fast;\n"


def _affine(line: tuple[Progression, ...], arguments: Mapping[str, tuple[Progression, ...]]) -> Affine | None:
    """A number as a constant or by one of `arguments`; None if neither is possible."""
    if all(item == (line[0][0], 0) for item in line):
        return Affine(None, 0, line[0][0])
    for name, other in arguments.items():
        factor = _factor(line, other)
        if factor is None or factor < 1:
            continue
        constant = line[0][0] - factor * other[0][0]
        if all((factor * x + constant, factor * growth) == item for (x, growth), item in zip(other, line, strict=True)):
            return Affine(name, factor, constant)
    return None


def _factor(line: tuple[Progression, ...], other: tuple[Progression, ...]) -> int | None:
    for (value, growth), (x, x_growth) in zip(line, other, strict=True):
        for a, b in ((growth, x_growth), (value - line[0][0], x - other[0][0])):
            if b != 0:
                return a // b if a % b == 0 else None
    return None


def row_address(model: Model, stage: int, place: Place, at: Affine, image: str | None = None) -> str:
    """The address of row `at` of a place, as uint8_t *. image: the C variable with the number of the image."""
    tensor, row = model.plan.program.tensors[place.tensor], at.text()
    if not place.window and model.home(place.tensor) is Home.FLASH:
        start = f"(uint8_t *)(uintptr_t){model.constants[place.tensor]}"
        start += f" + {image} * {tensor.bytes // tensor.batch}U" if image is not None else ""
        return start if row == "0U" else f"{start} + ({row}) * {tensor.row_bytes}U"
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
    return f"{model.name}_tensor_{tensor_key(model.plan.program.tensors[tensor])}"


def tensor_key(tensor: ProgramTensor) -> str:
    """The contents of a tensor's record as part of a C name."""
    flags = ("_folded" if tensor.folded else "") + ("_state" if tensor.state else "")
    extents = "x".join(map(str, (tensor.batch, tensor.height, tensor.width, tensor.channels)))
    return f"{tensor.dtype.name.lower()}_{extents}{flags}"


def tensor_records(model: Model, names: Sequence[str]) -> str:
    """C text of the records of tensors, each once."""
    tensors = model.plan.program.tensors
    found = {tensor_name(model, name): tensors[name] for name in names}
    lines = []
    for name, tensor in found.items():
        flags = (TensorFlag.FOLDED if tensor.folded else 0) | (TensorFlag.STATE if tensor.state else 0)
        extents = ", ".join(map(str, (tensor.batch, tensor.height, tensor.width, tensor.channels)))
        lines.append(f"static const tigris_tensor_record {name} = {{{extents}, {int(tensor.dtype)}, {int(flags)}}};")
    return "\n".join(lines) + "\n"
