"""Messages name options in the caller's words: the command line, Python or platformio.ini."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

from tests.compiler.models import Shape, make, node
from tigris_pio import compile_model, spelling
from tigris_pio.cli.main import cli
from tigris_pio.errors import TigrisError
from tigris_pio.spelling import CALLER_VARIABLE, OPTIONS, Caller

PACKAGE = Path(spelling.__file__).parent
BUILDS = (Caller.COMMAND, Caller.PLATFORMIO, Caller.CMAKE)


def model(*free: str) -> onnx.ModelProto:
    """A convolution of 16x16 maps, some of whose sizes may be free."""
    weights = {"w": np.ones((8, 4, 3, 3), np.float32)}
    shape: Shape = (1, 4, *free, *(16,) * (2 - len(free)))
    return make([node("Conv", "x w", "y", name="conv")], {"x": shape}, ["y"], weights)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    onnx.save(model(), folder / "fixed.onnx")
    onnx.save(model("height", "width"), folder / "free.onnx")
    return folder


#: Command line that is refused, and what its message holds by caller in the order of BUILDS.
REFUSALS = [
    ("fixed.onnx -m 1K", "(-m 7K)", "(custom_tigris_mem = 7K)", "(MEM 7K)"),
    ("fixed.onnx -m 2K", "memory: -m 2K+", "memory: custom_tigris_mem = 2K+", "memory: MEM 2K+"),
    ("fixed.onnx -m 256", "mean -m 256K?", "mean custom_tigris_mem = 256K?", "mean MEM 256K?"),
    ("fixed.onnx -m 64K -f 1K", "is -f 2K", "is custom_tigris_flash = 2K", "is FLASH 2K"),
    ("fixed.onnx -m 64K -f 1K", "try --compress lz4", "try custom_tigris_compress = lz4", "try COMPRESS lz4"),
    ("fixed.onnx -m 64X", "-m: '64X'", "custom_tigris_mem: '64X'", "MEM: '64X'"),
    ("fixed.onnx -m 0", "-m: the", "custom_tigris_mem: the", "MEM: the"),
    ("fixed.onnx -m 64K -f much", "-f: 'much'", "custom_tigris_flash: 'much'", "FLASH: 'much'"),
    ("fixed.onnx -m 64K --compress zip", "--compress: 'zip'", "custom_tigris_compress: 'zip'", "COMPRESS: 'zip'"),
    ("fixed.onnx -m 64K --backend nn", "--backend: 'nn'", "custom_tigris_backend: 'nn'", "BACKEND: 'nn'"),
    ("fixed.onnx -m 64K --xip --compress lz4", "--xip with --compress lz4:",
     "custom_tigris_xip = yes with custom_tigris_compress = lz4:", "XIP with COMPRESS lz4:"),
    ("fixed.onnx -m 64K --backend esp-nn --chip esp32s9", "--chip", "board_build.mcu", "IDF_TARGET"),
    ("fixed.onnx -m 64K --name a-b", "--name: ", "custom_tigris_models: ", "NAME: "),
    ("fixed.onnx -m 64K --dim n", "--dim: 'n'", "custom_tigris_dims: 'n'", "DIMS: 'n'"),
    ("fixed.onnx -m 64K --dim n=3", "--dim n=3", "custom_tigris_dims = n=3", "DIMS n=3"),
    ("fixed.onnx -m 64K --set n", "--set: 'n'", "custom_tigris_set: 'n'", "SET: 'n'"),
    ("fixed.onnx -m 64K --set n=3", "--set n=3", "custom_tigris_set = n=3", "SET n=3"),
    ("fixed.onnx -m 64K --set n=3 --set n=4", "--set n=4", "custom_tigris_set = n=4", "SET n=4"),
    ("fixed.onnx -m 64K --state n", "--state: 'n'", "custom_tigris_state: 'n'", "STATE: 'n'"),
    ("fixed.onnx -m 64K --state n=m", "--state n=m", "custom_tigris_state = n=m", "STATE n=m"),
    ("fixed.onnx -m 64K --stream q", "--stream q:", "custom_tigris_stream = q:", "STREAM q:"),
    ("fixed.onnx -m 64K --hop n", "--hop: 'n'", "custom_tigris_hop: 'n'", "HOP: 'n'"),
    ("fixed.onnx -m 64K --hop 99", "--hop 99:", "custom_tigris_hop = 99:", "HOP 99:"),
    ("free.onnx -m 64K --dim width=3", "--dim height=", "custom_tigris_dims = height=", "DIMS height="),
]  # fmt: skip


def foreign(caller: Caller) -> list[str]:
    """Patterns of the other callers' words; Python's are words of plain English but for the sign behind them."""
    callers = [known for known in Caller if known is not Caller.ESPHOME]  # whose words are Python's, in YAML
    found = set()
    for words in OPTIONS.values():
        own = words[callers.index(caller)]
        for other, word in zip(callers, words, strict=True):
            if word != own:
                found.add(rf"\b{word}=" if other is Caller.PYTHON else rf"(?<![\w-]){re.escape(word)}(?![\w=-])")
    return sorted(found)


def check_words(text: str, caller: Caller) -> None:
    assert [pattern for pattern in foreign(caller) if re.search(pattern, text)] == []


@pytest.mark.parametrize("caller", BUILDS)
@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row[0])
def test_refusals(row: tuple[str, ...], caller: Caller, files: Path) -> None:
    (model, *options), words = row[0].split(), row[1:]
    line = ["compile", str(files / model), *options, "-o", str(files / "out.tgrs")]
    error = CliRunner(env={CALLER_VARIABLE: caller.value}).invoke(cli, line).exception
    assert isinstance(error, TigrisError)
    assert words[BUILDS.index(caller)] in str(error)
    check_words(str(error), caller)


@pytest.mark.parametrize("caller", BUILDS)
def test_warnings(caller: Caller, files: Path) -> None:
    line = ["analyze", str(files / "fixed.onnx"), "-m", "256+1M"]
    done = CliRunner(env={CALLER_VARIABLE: caller.value}).invoke(cli, [*line, "--json"])
    assert done.exit_code == 0, done.output
    assert f"a larger {OPTIONS['mem'][BUILDS.index(caller)]} avoids it" in done.output
    check_words(done.output, caller)


@pytest.mark.parametrize(
    "options,words",
    [
        ({"fast": "1K"}, '(fast="7K")'),
        ({"fast": "2K"}, 'memory: fast="2K", slow="'),
        ({"fast": "64K", "flash": "1K"}, 'flash="2K", or try compress="lz4"'),
        ({"state": {"n": "m"}}, 'state={"n": "m"}'),
        ({"stream": "q"}, 'stream="q":'),
        ({"stream": 3}, "stream: 3 is no name"),
        ({"hop": 99}, "hop=99:"),
        ({"hop": 1.5}, "hop: 1.5 is no whole number"),
    ],
)
def test_python(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TigrisError) as error:
        compile_model(model(), **options)
    assert words in str(error.value)
    check_words(str(error.value), Caller.PYTHON)


def texts_of(path: Path) -> Iterator[str]:
    """The strings of a module that are no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    first = {id(item.body[0].value) for item in ast.walk(tree)
             if isinstance(item, documented) and item.body and isinstance(item.body[0], ast.Expr)}  # fmt: skip
    for item in ast.walk(tree):
        if isinstance(item, ast.Constant) and isinstance(item.value, str) and id(item) not in first:
            yield item.value


#: Other programs' options, and whole commands.
OTHERS = ("convert it with tf2onnx (", "`python -m ", "tigris compile MODEL -m SIZE")
SOURCES = [
    path
    for name in ("compiler", "sizes.py", "flash_layout.py", "files.py")
    for path in ([PACKAGE / name] if name.endswith(".py") else sorted((PACKAGE / name).rglob("*.py")))
]


def test_what_every_caller_reaches_writes_no_option_by_hand() -> None:
    """A message with an option of the command line in it, or of platformio.ini, is wrong for the others."""
    by_hand = re.compile(r"(?<![\w-])(-[mfo]|--[a-z][a-z-]+)(?![\w-])|custom_tigris_|(?<!\w)[A-Z_]{3,} (lz4|VALUE)")
    found = [
        f"{path.relative_to(PACKAGE)}: {text}"
        for path in SOURCES
        for text in texts_of(path)
        if by_hand.search(text) and not any(other in text for other in OTHERS)
    ]
    assert found == []
