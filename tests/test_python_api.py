"""`compile_model` and `Session` as people call them from Python: names, types, what is printed and shown."""

import inspect
import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import tigris_pio
from tests.compiler.models import make, node
from tests.report.parsed import parse
from tigris_pio import Compiled, Session, UsageError, compile_model
from tigris_pio.errors import ArgumentError
from tools import api

ROOT = Path(tigris_pio.__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def model() -> onnx.ModelProto:
    weights = {"w": np.ones((8, 4, 3, 3), np.float32)}
    return make([node("Conv", "x w", "y", name="conv")], {"x": (1, 4, 16, 16)}, ["y"], weights)


@pytest.fixture(scope="module")
def compiled(model: onnx.ModelProto) -> Compiled:
    return compile_model(model, fast="64K", name="net")


# ---- names --------------------------------------------------------------------------------------------------------


def test_every_name_is_there_and_listed() -> None:
    assert dir(tigris_pio) == sorted(tigris_pio.__all__)
    for name in tigris_pio.__all__:
        assert getattr(tigris_pio, name) is not None
    errors = {name for name in vars(tigris_pio.errors) if name.endswith(("Error", "Failure"))}
    assert errors <= set(tigris_pio.__all__), "whoever calls it can catch what it raises"
    with pytest.raises(AttributeError, match=r"has no attribute 'Sesion'; it has .*Session"):
        tigris_pio.Sesion  # noqa: B018


def test_the_reference_is_current_and_complete() -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    assert page == api.page(), "make generated"
    parameters = [name for name in inspect.signature(compile_model).parameters if name != "unknown"]
    public = [name for name, value in vars(Session).items() if not name.startswith("_")]
    for name in [*parameters, *public, *(name for name in tigris_pio.__all__ if name != "__version__")]:
        assert re.search(rf"(?m)^(\| [^|]*`{name}\b|## {name}$)", page), f"{name} has no docstring of its own"


# ---- what is printed and shown ------------------------------------------------------------------------------------


def test_a_notebook_shows_the_report(compiled: Compiled) -> None:
    """Nothing is fetched, no tag is a page's, and the style is its own."""
    shown = parse(compiled._repr_html_())
    tags, names = {item.tag for item in shown.walk()}, {name for item in shown.walk() for name in item.attributes}
    assert not {"html", "head", "body", "script", "link"} & tags and {"svg", "table", "h1"} <= tags
    assert not [name for name in names if name in ("src", "href") or name.startswith("on")]
    assert "Memory over time" in shown.text
    selectors = re.findall(r"([^{}]+)\{", re.sub(r"@media[^{]*\{", "", shown.one("style").text))
    parts = [part.strip() for text in selectors for part in text.split(",")]
    assert parts and all(part.startswith(".tigris-report") for part in parts)


def test_names_in_it_are_text() -> None:
    bad = "<img src=x onerror=alert(1)>"
    weights = {"w": np.ones((8, 4, 3, 3), np.float32)}
    hostile = make([node("Conv", "x w", "y", name=bad)], {"x": (1, 4, 16, 16)}, ["y"], weights)
    hostile.graph.name = "a\x1b[31m</style><script>"
    result = compile_model(hostile)
    assert not {"img", "script"} & {item.tag for item in parse(result._repr_html_()).walk()}
    assert "\x1b" not in repr(result) and "\n" not in repr(result)


# ---- a session's life ---------------------------------------------------------------------------------------------


def test_a_closed_session_says_so(compiled: Compiled) -> None:
    session = Session(compiled)
    inputs = {"x": np.ones((1, 4, 16, 16), np.float32)}
    stored = {"x": np.ones((1, 16, 16, 4), np.float32)}
    session.run(inputs)
    used = session.memory
    assert repr(session).startswith("<Session 'net': ")
    session.close()
    session.close()
    for call in (lambda: session.run(inputs), lambda: session.run_raw(stored), lambda: session.run_raw_traced(stored),
                 lambda: session.run({}), session.__enter__):  # fmt: skip
        with pytest.raises(UsageError, match="the session of net is closed; open another one"):
            call()
    assert session.memory == used and session.inputs[0].name == "x", "what was measured stays"
    assert repr(session).endswith(", closed>")


# ---- wrong arguments ----------------------------------------------------------------------------------------------

WRONG: list[tuple[str, list[object], list[object]]] = [  # values of the wrong type, and wrong values
    ("fast", [1.5, True, b"64K"], [-1, "64X", "", 0]),
    ("slow", [1.5, False, {}], [-1, "+"]),
    ("flash", [2.5, object()], [-5, "many"]),
    ("xip", ["yes", 1, None], []),
    ("copy_weights", ["no", 1], []),
    ("compress", [None, 4, b"lz4"], ["zip", ""]),
    ("alignment", ["16", 3, 0, True, None], []),
    ("name", [3, b"kws"], ["my model", "3kws", ""]),
    ("backend", [None, 1], ["nn", ""]),
    ("chip", [None, 32], ["esp32s9"]),
    ("set", [{"x": None}, {3: 3}, [("x", 3)], "x=3"], [{"n": 3}, {"n": "three"}]),
    ("state", [3, "y=x", [3], {"y": 3}, b"y=x"], [{"y": "n"}, {"n": "x"}, ["y"], ["=x"]]),
    ("dims", [{"n": 1.5}, {"n": "3"}, {"n": True}, [("n", 3)], "n=3"], [{"n": 3}, {"n": 0}, {"n": -1}]),
]


@pytest.mark.parametrize(("option", "types", "values"), WRONG, ids=[option for option, *_ in WRONG])
def test_a_wrong_value_is_refused_by_name(
    model: onnx.ModelProto, option: str, types: list[object], values: list[object]
) -> None:
    for value in (*types, *values):
        with pytest.raises(UsageError, match=rf"^{option}\b") as error:
            compile_model(model, **{option: value})  # type: ignore[arg-type]
        assert "\n" not in str(error.value)
        if value in types:
            assert isinstance(error.value, ArgumentError) and isinstance(error.value, TypeError), value


def test_numbers_of_numpy_are_numbers(model: onnx.ModelProto) -> None:
    result = compile_model(
        model, fast=np.int64(65536), slow=None, xip=np.bool_(True), alignment=np.int32(8),  # type: ignore[arg-type]
        dims={},
    )  # fmt: skip
    assert result.data == compile_model(model, fast="64K", xip=True, alignment=8).data


@pytest.mark.parametrize(
    ("name", "words"), [("fats", "did you mean 'fast'?"), ("XIP", "known are model, fast"), ("align", "'alignment'?")]
)
def test_an_unknown_keyword_names_the_nearest(model: onnx.ModelProto, name: str, words: str) -> None:
    with pytest.raises(TypeError, match=re.escape(words)) as error:
        compile_model(model, **{name: 1})  # type: ignore[arg-type]
    assert f"'{name}'" in str(error.value) and "unknown" not in str(error.value)


@pytest.mark.parametrize("value", [None, 3, b"onnx", [], np.zeros(3)])
def test_what_is_no_model_and_no_plan(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^model: .* is no model; give a path or an onnx\.ModelProto"):
        compile_model(value)
    if not isinstance(value, bytes):
        with pytest.raises(ArgumentError, match=r"^plan: .* is no plan; give a path"):
            Session(value)
    for path, call in itertools.product(["none.onnx", ".", "a\0b"], (compile_model, Session)):
        with pytest.raises(tigris_pio.FileError, match="give "):
            call(path)


@pytest.mark.parametrize("value", [-1, 1.5, True, "64X", []])
def test_arenas_of_no_size(compiled: Compiled, value: Any) -> None:
    for option in ("fast_bytes", "slow_bytes"):
        with pytest.raises(UsageError, match=rf"^{option}: "):
            Session(compiled, **{option: value})
    assert repr(Session(compiled, fast_bytes="64K")) == repr(Session(compiled, fast_bytes=1 << 16))


# ---- types --------------------------------------------------------------------------------------------------------

EXAMPLE = """
import numpy as np
from tigris_pio import BudgetError, Compiled, Session, compile_model

try:
    plan: Compiled = compile_model("kws.onnx", fast="64K", slow=1 << 20, xip=True, dims={"length": 512}, chip="esp32s3")
except BudgetError as error:
    raise SystemExit(str(error)) from error
plan.save("kws.tgrs")
bytes_of_it: bytes = plan.data
with Session("kws.tgrs", fast_bytes=None) as session:
    scores = session.run({"input": np.zeros((1, 49, 10), np.float32)})["scores"]
    best: int = int(scores.argmax())
    used: int = session.memory.fast_peak
    names: list[str] = [io.name for io in session.inputs]
    nanoseconds: int = sum(row.nanoseconds for row in session.profile)
session.close()
compile_model("kws.onnx", fats="64K")  # wrong
compile_model("kws.onnx", xip="yes")  # wrong
compile_model("kws.onnx", dims=[3])  # wrong
Session(plan).run()  # wrong
"""


#: Checked with what the caller sees alone: nothing of numpy's stubs, nor of the modules behind.
SEEN = ("tigris_pio", "tigris_pio.api", "tigris_pio.errors", "tigris_pio.compiler.pipeline", "tigris_pio.host",
        "tigris_pio.host.session", "tigris_pio.host.io", "tigris_pio.host.fields")  # fmt: skip


def test_the_types_that_callers_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """mypy --strict on a caller's file: nothing to say but on the lines that are wrong."""
    from mypy import api

    assert (ROOT / "tigris_pio" / "py.typed").is_file()
    file, config = tmp_path / "caller.py", tmp_path / "mypy.ini"
    file.write_text(EXAMPLE, "utf-8")
    sections = [f"[mypy-{name}]\nfollow_imports = silent\n" for name in SEEN]
    config.write_text("[mypy]\nfollow_imports = skip\n" + "".join(sections), "utf-8")
    monkeypatch.setenv("MYPYPATH", str(ROOT))
    arguments = ["--strict", "--allow-subclassing-any", "--config-file", str(config), "--cache-dir", str(tmp_path)]
    said, errors, _ = api.run([*arguments, str(file)])
    lines = {int(line.split(":")[1]) for line in said.splitlines() if ": error: " in line}
    wrong = {number for number, line in enumerate(EXAMPLE.splitlines(), 1) if "# wrong" in line}
    assert lines == wrong, said + errors
