"""Every fenced block has a language, and is run, compiled or read by what would read it."""

import ast
import configparser
import csv
import functools
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs import commands, compiled
from tests.docs.pages import NOT_RUN, PAGES, ROOMS, ROOT, Block, anchors, blocks, every_block, links, prose
from tests.docs.test_messages import python_texts
from tests.esp_idf.project import Project, copy_compiler, link_component
from tests.networks.folders import OWN
from tigris_pio.format.enums import Strategy
from tigris_pio.hil.rig import board_list
from tigris_pio.platformio import options, partitions

#: What blocks that are not run may need.
ELSEWHERE = re.compile(r"\b(import torch|import tensorflow|tf2onnx|tensorflow)\b")


def check_ini(block: Block, folder: Path) -> None:
    """Options that the hook reads, with values that it takes; what a fragment leaves out is put beside it."""
    reader = configparser.ConfigParser(interpolation=None, inline_comment_prefixes=(";",))
    text = block.text if re.search(r"(?m)^\[", block.text) else f"[env:page]\n{block.text}"
    reader.read_string(text)
    for name in reader.sections():
        given = dict(reader[name])
        own = {key: value for key, value in given.items() if key.startswith(options.PREFIX)}
        if not own:
            continue
        for line in (*own.get("custom_tigris_models", "").splitlines(), own.get("custom_tigris_sign", "key.pem")):
            path = folder / line.rpartition("=")[2].strip()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        own.setdefault("custom_tigris_models", "kws = model.onnx\nvibration = model.onnx")
        own.setdefault("custom_tigris_mem", "64K")
        (folder / "model.onnx").touch()
        if library := own.get("custom_tigris_backend_path"):
            (folder / library / "include").mkdir(parents=True)  # what the hook takes for a checkout of ESP-NN
            (folder / library / "include" / "esp_nn.h").touch()
        options.parse(own, folder)
    hook = reader[reader.sections()[0]].get("extra_scripts", "")
    assert not hook or re.search(r"^pre:.*tigris_pio/platformio/hook\.py$", hook.strip())


def matched(pattern: str, block: Block, folder: Path) -> None:
    """Each line is one of these."""
    for line in block.text.splitlines():
        assert re.fullmatch(pattern, line), f"{block.place}: {line}"


#: Keys and texts, two spaces a level.
YAML = r"(  )*(- )?[\w\-./\"]+:( [^\t]+)?|(  )*- [^\t]+"
KCONFIG = r'CONFIG_[A-Z0-9_]+=(y|n|\d+|"[^"]*")|#.*'
#: Labels, directives and instructions; tests/docs/test_boards.py assembles them.
ASSEMBLER = r"(\w+:)?\s*\.\w+( .*)?|\w+:"


def check_csv(block: Block, folder: Path) -> None:
    """A partition table, or lines of one."""
    assert partitions.parse_csv(block.text, block.place)
    assert all(len(row) in (5, 6) for row in csv.reader(block.text.splitlines()) if row and row[0][0] != "#")


def check_sh(block: Block, folder: Path) -> None:
    for line in block.text.replace("\\\n", " ").splitlines():
        try:
            commands.check(line, block.page.parent)
        except commands.Wrong as wrong:
            pytest.fail(f"{block.place}: {line}\n{wrong}")


def check_toml(block: Block, folder: Path) -> None:
    """A list of boards."""
    (folder / "boards.toml").write_text(block.text, "utf-8")
    assert board_list.read_list(folder / "boards.toml")


def check_diff(block: Block, folder: Path) -> None:
    """Its files are there; tests/docs/test_extending.py applies it."""
    names = re.findall(r"(?m)^--- a/(.*)$", block.text)
    assert names and all((ROOT / name).is_file() for name in names), block.place


def check_text(block: Block, folder: Path) -> None:
    """A drawing or a list of files: no command, nothing that another language would show better."""
    first = block.text.split(None, 1)[0]
    assert first not in {*commands.CHECKS, *commands.FOREIGN}, f"{block.place}: mark it as sh"


@functools.cache
def _printed() -> list[str]:
    """The literal parts of what programs of the project print, and the names of strategies."""
    sources = [*(ROOT / "tigris_pio").rglob("*.py"), *(ROOT / "examples").rglob("*.py")]
    texts = {part for path in sources for text in python_texts(path) for part in text.split("…")}
    texts |= {strategy.name.lower() for strategy in Strategy}
    return [text.strip() for text in texts if len(text) > 4 and text.strip()]


def _whole(text: str) -> str:
    """A pattern of a text that neither begins nor ends within a word."""
    before, after = ("(?<!\\w)" if text[0].isalnum() else ""), ("(?!\\w)" if text[-1].isalnum() else "")
    return f"{before}{re.escape(text)}{after}"


def check_output(block: Block, folder: Path) -> None:
    """Each word stands in what the programs of the project print, with the words around it; names and numbers aside."""
    said = " ".join(block.text.split())  # lines may be broken
    shown = re.sub(r"\S*[/_\d]\S*", lambda match: " " * len(match[0]), said)
    for text in _printed():
        if text in said:
            for match in re.finditer(_whole(text), said):
                shown = shown[: match.start()] + " " * len(match[0]) + shown[match.end() :]
    foreign = re.findall(r"[^\W\d]{4,}", shown)
    assert not foreign, f"{block.place}: no program prints {foreign}"


CHECKS: dict[str, Callable[[Block, Path], object]] = {
    "ini": check_ini, "c": compiled.check, "cpp": compiled.check, "csv": check_csv, "sh": check_sh, "diff": check_diff,
    "text": check_text, "toml": check_toml, "output": check_output,
    "yaml": functools.partial(matched, YAML), "kconfig": functools.partial(matched, KCONFIG),
    "asm": functools.partial(matched, ASSEMBLER), "json": lambda block, _: json.loads(block.text),
    "python": lambda block, _: ast.parse(block.text, block.place),
}  # fmt: skip
#: Tested together, for configuring takes seconds.
TOGETHER = {"cmake"}


EVERY = sorted({*PAGES, *ROOMS})


@pytest.mark.parametrize("page", EVERY, ids=[page.relative_to(ROOT).as_posix() for page in EVERY])
def test_blocks(page: Path, tmp_path: Path) -> None:
    for block in blocks(page):
        known = block.language in CHECKS or block.language in TOGETHER
        assert known, f"{block.place}: ```{block.language}: mark it as one of {', '.join((*CHECKS, *TOGETHER))}"
        if block.language in CHECKS and block.is_run:
            CHECKS[block.language](block, tmp_path)
        if not block.is_run:
            assert ELSEWHERE.search(block.text), f"{block.place}: why is it not run?"
            assert block.text.startswith(f"{NOT_RUN}needs ")
            if block.language == "python":
                compile(block.text, block.place, "exec")


def test_blocks_of_cmake_are_configured(tmp_path: Path) -> None:
    """All in one project: each call adds a model, and its plan is compiled."""
    calls = [call for block in every_block("cmake") for call in re.findall(r"tigris_add_model\([^)]*\)", block.text)]
    assert len(calls) >= 2
    base = tmp_path / "project"
    shutil.copytree(ROOT / "tests" / "esp_idf" / "fake_idf", base)
    (base / "models").mkdir()
    shutil.copyfile(OWN / "kws_int8.onnx", base / "models" / "kws.onnx")
    variables = {"FAKE_COMPONENT": str(link_component(tmp_path)), "FAKE_IDF_PYTHON": str(copy_compiler(tmp_path)),
                 "FAKE_CHIP": "esp32s3", "FAKE_ENCRYPTED": "OFF"}  # fmt: skip
    project = Project(base, variables, {"TIGRIS_PYTHON": "", "IDF_PATH": str(tmp_path / "idf")}, timeout=120)
    renamed = [re.sub(r"NAME (\w+)", rf"NAME \1_{number}", call) for number, call in enumerate(calls)]
    portable = [re.sub(r" BACKEND esp-nn", "", call) for call in renamed]  # needs the component
    (base / "main" / "CMakeLists.txt").write_text("\n".join(portable), "utf-8")
    project.configure()


def test_links_lead_somewhere() -> None:
    """Each page of docs is in their index."""
    wrong = []
    every = [(page, *link) for page in {*PAGES, *ROOMS, ROOT / "SPEC.md"} for link in links(page)]
    for page, name, anchor in every:
        target = (page.parent / name).resolve() if name else page
        inside = target.exists() and ROOT in (target, *target.parents)
        if not inside or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            wrong.append(f"{page}: {name}#{anchor}")
    assert wrong == []
    index = ROOT / "docs" / "README.md"
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"} <= {name for name, _ in links(index)}


def test_options_that_pages_name_exist() -> None:
    """`custom_tigris_…` anywhere in the text."""
    for page in PAGES:
        for name in re.findall(r"\bcustom_tigris_(\w+)", page.read_text("utf-8")):
            assert name in options.NAMES, f"{page}: custom_tigris_{name}"
        assert not re.search(r"https?://[\w.]*example\.\w+/", prose(page)), f"{page} names an address that is none"


def test_names_of_the_c_api_exist() -> None:
    """`tigris_…`, `TIGRIS_…` and fields of a session anywhere in the prose."""
    folders = ("runtime", "tigris_pio", "cmake", "tests", "Makefile", "setup.py", "bench", "integrations")
    files = [path for name in folders for path in (ROOT / name, *(ROOT / name).rglob("*"))]
    known = {word for path in files if path.suffix in (".h", ".c", ".py", ".cmake", ".j2", "") and path.is_file()
             for word in re.findall(r"\b(?:tigris|TIGRIS)_\w+", path.read_text("utf-8", "replace"))}  # fmt: skip
    for page in PAGES:
        for name in re.findall(r"`(?:[^`\n]*[^\w`])?((?:tigris|TIGRIS)_\w+)", prose(page)):
            made = name.startswith(("TIGRIS_MODEL_", "tigris_model_"))
            assert made or name in known, f"{page}: {name}"
    header = (ROOT / "runtime" / "include" / "tigris.h").read_text("utf-8")
    for page in PAGES:
        for field in re.findall(r"`session\.(\w+)`", page.read_text("utf-8")):
            assert page.name == "python.md" or re.search(rf"\b{field};", header), f"{page}: session.{field}"
