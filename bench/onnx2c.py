"""Instructions and memory of a float32 network as C code of onnx2c (https://github.com/kraiskil/onnx2c).

onnx2c is not part of this project: the bench runs a program that was built elsewhere.
"""

import re
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from bench.command import Row
from bench.emulator import Machine, compiler, emulate, link, numbers, run_tool, samples

Array = np.ndarray


def float_sample(path: Path) -> tuple[Array, Array]:
    """An input of a network, and what onnxruntime gives for it."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (given,), (wanted,) = session.get_inputs(), session.get_outputs()
    extents = [extent if isinstance(extent, int) else 1 for extent in given.shape]
    x = np.random.default_rng(1).standard_normal(extents).astype(np.float32)
    return x, session.run([wanted.name], {given.name: x})[0]


def with_one_image(path: Path, folder: Path) -> Path:
    """The network with a batch of one in place of any, which onnx2c wants."""
    model = onnx.load(path)
    for value in (*model.graph.input, *model.graph.output):
        for dimension in value.type.tensor_type.shape.dim:
            if not dimension.dim_value:
                dimension.dim_value = 1
    onnx.save(model, folder / "peer.onnx")
    return folder / "peer.onnx"


def peer_row(machine: Machine, program: Path, name: str, path: Path, executor: int, folder: Path) -> Row:
    """A row of bench.plain_c; RAM: what it has as static variables, and input and output beside them.
    executor: instructions of this project's."""
    (folder / "peer_model.c").write_text(run_tool([str(program), str(with_one_image(path, folder))]))
    x, y = float_sample(path)
    program = link(machine, folder / "peer.elf", "onnx2c.c", f"-I{folder}")
    found = numbers(emulate(machine, program, content=samples(x.tobytes(), y.tobytes())))
    text, variables = sizes_of(machine, folder / "peer_model.c", r"[rR] tensor_\w+")
    return {
        "machine": machine.name, "name": name, "budget": "onnx2c", "instructions": found["run"], "executor": executor,
        "ratio": found["run"] / executor, "text": text, "ram": variables + x.nbytes + y.nbytes, "plan_ram": 0,
        "stack_run": found["stack_run"], "executor_stack": 0, "beside": 0, "right": found["right"] == 1,
    }  # fmt: skip


def sizes_of(machine: Machine, source: Path, weights: str, *flags: str) -> tuple[int, int]:
    """At -Os: code and constants without weights, and variables. weights: a pattern of nm's letter and their names"""
    target = source.with_suffix(".o")
    run_tool([*compiler(machine), "-Os", *flags, "-c", str(source), "-o", str(target)], source.parent)
    lines = run_tool([f"{machine.toolchain}-size", str(target)]).splitlines()
    text, data, bss = (int(value) for value in lines[1].split()[:3])
    symbols = run_tool([f"{machine.toolchain}-nm", "-S", str(target)])
    held = sum(int(size, 16) for size in re.findall(rf"^\w+ (\w+) {weights}$", symbols, re.MULTILINE))
    return text - held, data + bss
