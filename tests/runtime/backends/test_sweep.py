"""bench.vendor finds and names the layers in which a kernel library gives wrong outputs, crashes or writes too far."""

import sys
from pathlib import Path

import numpy as np
import pytest

from bench.libraries import Sources
from bench.vendor import __main__ as command
from bench.vendor.__main__ import counts, judged
from bench.vendor.faults import COLUMNS, Table, faults
from bench.vendor.sweep import Sweep, on_board, on_host
from bench.vendor.vectors import CHIPS
from tests.runtime.backends.libraries import STAND_IN, VARIABLES, checkout, sources

SWEEP = Sweep(800, 1, 50_000)
#: The stand-in with a fault in one of its functions.
PLANTED = """
#define {name} sound_{name}
#include "{stand_in}"
#undef {name}
void {name}(STAND_IN_LAYER({params}))
{{
    sound_{name}(input_dims, input, filter_dims, filter, bias, output_dims, output, params, scales);
    if ({condition})
        {fault};
}}
"""
FAULTS = [
    ("esp_nn_conv_s8", "conv_params_t", "params->stride.width > 1 && filter_dims->height == 1", "output[0] ^= 1",
     ("convolution", "wrong outputs", {"kernel of one row", "1x1"})),
    ("esp_nn_conv_s8", "conv_params_t", "params->stride.width > 1", "*(volatile char *)8 = 1",
     ("convolution", "crashes", {"stride of 2 or more"})),
    ("esp_nn_depthwise_conv_s8", "dw_conv_params_t", "params->ch_mult > 1",
     "output[output_dims->width * output_dims->height * output_dims->channels] = 1",
     ("depthwise", "writes elsewhere", {"multiplied channels"})),
]  # fmt: skip


@pytest.mark.parametrize("library", VARIABLES)
def test_behind_the_adapter_all_outputs_are_right(library: str, tmp_path: Path) -> None:
    """The stand-ins are as blind as the libraries: alone they fail in layers that the adapter keeps from them."""
    table = on_host(library, sources(library, False), SWEEP, tmp_path)
    rows = list(counts(table))
    assert sum(row["run"] + row["refused"] for row in rows) == SWEEP.shapes
    assert [row["adapted_wrong"] for row in rows] == [0, 0, 0]
    assert all(row["adapted"] for row in rows)
    assert {fault.kind for fault in faults(table) if fault.what == "wrong outputs"} >= {"convolution", "depthwise"}
    assert any(row["exceeded"] for row in rows) is (library == "esp-nn")


@pytest.mark.parametrize(("name", "params", "condition", "fault", "found"), FAULTS)
def test_a_planted_fault_is_found(name: str, params: str, condition: str, fault: str,
                                  found: tuple[str, str, set[str]], tmp_path: Path) -> None:  # fmt: skip
    own = tmp_path / "planted.c"
    own.write_text(PLANTED.format(name=name, stand_in=STAND_IN / "esp_nn.c", params=params, condition=condition,
                                  fault=fault))  # fmt: skip
    given = sources("esp-nn", False)
    table = on_host("esp-nn", Sources((*given.files[:-1], own), given.flags), SWEEP, tmp_path)
    kind, what, words = found
    named = [word for one in faults(table) if (one.kind, one.what) == (kind, what) for word in one.where.split(", ")]
    assert words & set(named)


def table_of(count: int, **columns: np.ndarray) -> Table:
    """Depthwise layers of 3x3 kernels, all right."""
    usual = {name: np.ones(count, np.int64) for name in COLUMNS}
    none = ("extreme", "above", "left", "below", "right", "status", "asked", "written", "before", "behind")
    usual |= {name: np.zeros(count, np.int64) for name in none}
    three = np.full(count, 3)
    return usual | {"kernel_rows": three, "kernel_columns": three, "rows": 4 * three, "columns": 4 * three} | columns


def test_words_are_the_fewest_that_tell_the_layers_apart() -> None:
    choose = np.random.default_rng(1)
    stride, below, channels = choose.integers(1, 3, 400), choose.integers(0, 2, 400), choose.integers(1, 64, 400)
    failed = (stride > 1) & (below > 0)
    columns = {"stride_rows": stride, "below": below, "inputs": channels, "outputs": channels, "status": failed * 1}
    (one,) = faults(table_of(400, **columns))
    assert set(one.where.split(", ")) == {"padded only behind", "stride of 2 or more"}
    assert one.failed == one.layers == failed.sum()
    everywhere = next(faults(table_of(9, status=np.ones(9, np.int64))))
    assert (everywhere.where, everywhere.failed) == ("everywhere", 9)
    assert list(faults(table_of(9))) == []


def test_single_layers_are_counted_without_words() -> None:
    status = np.zeros(200, np.int64)
    status[:2] = 1
    (one,) = faults(table_of(200, status=status))
    assert (one.where, one.failed, one.layers) == ("elsewhere", 2, 200)


def test_the_command_prints_both_tables(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
                                        tmp_path: Path) -> None:  # fmt: skip
    """Exit status 1 if an output behind the adapter is wrong."""
    table = table_of(50, status=np.ones(50, np.int64), adapted=np.arange(50) // 49)
    monkeypatch.setattr(command, "judged", lambda *_: table)
    monkeypatch.setattr(sys, "argv", ["vendor", "--esp-nn", str(tmp_path), "--json", str(tmp_path / "found.json")])
    assert command.main() == 1
    assert "depthwise  wrong outputs  50 of 50  everywhere" in capsys.readouterr().out
    assert (tmp_path / "found.json").is_file()
    table["adapted"][:] = 3
    assert command.main() == 0


def test_a_board_gives_the_host_s_table(tmp_path: Path) -> None:
    """On the Cortex-M4, as on this machine, the stand-in is C alone."""
    given, sweep = sources("cmsis-nn", False), Sweep(60, 3, 5000)
    (tmp_path / "board").mkdir()
    host = on_host("cmsis-nn", given, sweep, tmp_path)
    board = on_board("cmsis-nn", given, sweep, "cortex-m4", tmp_path / "board")
    assert all((host[name] == board[name]).all() for name in COLUMNS)


RUNS = [("esp-nn", "host", 3000), ("cmsis-nn", "host", 3000), ("cmsis-nn", "cortex-m55", 300),
        *(("esp-nn", chip, 60) for chip in CHIPS)]  # fmt: skip
REAL = [pytest.param(*run, marks=[pytest.mark.thorough, pytest.mark.vendor(VARIABLES[run[0]])]) for run in RUNS]


@pytest.mark.parametrize(("library", "machine", "shapes"), REAL)
def test_libraries_behind_the_adapter(library: str, machine: str, shapes: int) -> None:
    """On the ESP32-P4 the adapter is judged by whole plans: tests/emulation/riscv/test_whole.py."""
    folder = checkout(library)
    assert folder is not None
    table = judged(library, folder, machine, Sweep(shapes, 5, 5000))
    rows = list(counts(table))
    assert [row["adapted_wrong"] for row in rows] == [0, 0, 0]
    assert sum(row["run"] for row in rows) > 0.9 * shapes
