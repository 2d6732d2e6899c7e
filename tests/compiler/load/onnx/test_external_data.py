"""Data files beside a model: found for every tensor, read only from the model's folder, part of the plan's source."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from tests.compiler.models import make, node
from tigris_pio.compiler.load import load_model
from tigris_pio.compiler.load.onnx import external_data
from tigris_pio.compiler.load.onnx.external_data import ExternalDataError
from tigris_pio.compiler.load.onnx.protobuf import read
from tigris_pio.errors import ModelError

WEIGHTS = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)


def model() -> onnx.ModelProto:
    return make([node("MatMul", "x w", "y")], {"x": (1, 64)}, ["y"], {"w": WEIGHTS})


def elsewhere(tensor: TensorProto, **entries: str) -> TensorProto:
    """The tensor with its data in another file."""
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def saved(folder: Path, **entries: str) -> Path:
    """A model in `folder`; `entries`: the external data of its weights."""
    proto = model()
    elsewhere(proto.graph.initializer[0], **entries)
    path = folder / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


# ---- which files -------------------------------------------------------------------------------------------------


def tensor(location: str) -> TensorProto:
    return elsewhere(numpy_helper.from_array(np.float32([1, 2]), "t"), location=location)


def attribute(kind: str, location: str) -> onnx.AttributeProto:
    made = onnx.AttributeProto(name="value")
    sparse = onnx.SparseTensorProto(values=tensor(location), dims=[2])
    graph = onnx.GraphProto(initializer=[tensor(location)])
    {
        "t": lambda: made.t.CopyFrom(tensor(location)),
        "g": lambda: made.g.CopyFrom(graph),
        "tensors": lambda: made.tensors.append(tensor(location)),
        "graphs": lambda: made.graphs.append(graph),
        "sparse_tensor": lambda: made.sparse_tensor.CopyFrom(sparse),
        "sparse_tensors": lambda: made.sparse_tensors.append(sparse),
    }[kind]()
    return made


def placed(place: tuple[str, ...], location: str) -> onnx.ModelProto:
    """A model with one tensor; `place`: the path of message fields from the model to it."""
    proto = model()
    first, *rest = place
    made = tensor(location)
    if first == "initializer":
        proto.graph.initializer.append(made)
    elif first.startswith("sparse"):
        field = "indices" if first.endswith("indices") else "values"
        proto.graph.sparse_initializer.append(onnx.SparseTensorProto(**{field: made}))
    elif first == "training":
        proto.training_info.add().initialization.initializer.append(made)
    else:
        inner = attribute(rest[-1], location)
        for step in reversed(rest[:-1]):
            inside = onnx.GraphProto(node=[onnx.NodeProto(op_type="If", attribute=[inner])])
            inner = onnx.AttributeProto(name="branch")
            inner.g.CopyFrom(inside) if step == "g" else inner.graphs.append(inside)
        holder = onnx.NodeProto(op_type="Constant", attribute=[inner])
        if first == "node":
            proto.graph.node.append(holder)
        elif first == "function":
            proto.functions.add().node.append(holder)
        else:
            proto.functions.add().attribute_proto.append(inner)
    return proto


KINDS = ("t", "g", "tensors", "graphs", "sparse_tensor", "sparse_tensors")
PLACES = [
    *[("initializer",), ("sparse values",), ("sparse indices",), ("training",)],
    *[(first, kind) for first in ("node", "function", "function's default") for kind in KINDS],
    *[("node", *way, "t") for way in (("g",), ("graphs",), ("g", "graphs"), ("g",) * 20)],
]


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
def test_locations_are_found_in_all_messages(place: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(placed(place, "folder/wéights 1.bin").SerializeToString())
    assert external_data.locations(path) == ("folder/wéights 1.bin",)
    with pytest.raises(ModelError, match=r"external data `folder/wéights 1\.bin` is missing in"):
        read(path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "wéights 1.bin").write_bytes(np.float32([1, 2]).tobytes())
    before = read(path)
    assert external_data.locations(path) == ("folder/wéights 1.bin",)
    assert b"location" not in before.model.SerializeToString()
    (tmp_path / "folder" / "wéights 1.bin").write_bytes(np.float32([1, 3]).tobytes())
    assert read(path).sha256 != before.sha256


@given(st.lists(st.sampled_from([*PLACES, None]), max_size=5), st.randoms(use_true_random=False))
def test_all_locations_are_found(places, random) -> None:
    """Also several in one file, and between unknown fields of any kind."""
    data, wanted = b"", set()
    for number, place in enumerate(places):
        if place is None:
            unknown = [b"\xf8\x07\x96\x01", b"\xf9\x07" + bytes(8), b"\xfd\x07" + bytes(4), b"\xfa\x07\x03abc"]
            unknown.append(b"\xfb\x07\x3a\x02\x2a\x00\xfc\x07")
            data += random.choice(unknown)
        else:
            data += placed(place, f"w{number}").SerializeToString()
            wanted.add(f"w{number}")
    assert found_in(data) == tuple(sorted(wanted))


@given(st.binary(max_size=200))
def test_any_bytes_are_searched(data: bytes) -> None:
    found_in(data + b"\x0a\x08location")
    whole = placed(("node", "g", "t"), "w").SerializeToString()
    for end in range(len(data) % 7, len(whole), max(7, len(whole) // 24)):
        found_in(whole[:end] + data)


def found_in(data: bytes) -> tuple[str, ...]:
    path = Path(os.environ.get("TMPDIR", "/tmp"), f"locations-{os.getpid()}.onnx")
    path.write_bytes(data)
    try:
        return external_data.locations(path)
    finally:
        path.unlink()


# ---- whether they may be read ------------------------------------------------------------------------------------


def in_place(folder: Path) -> None:
    (folder / "model" / "w").write_bytes(WEIGHTS.tobytes())


def link(target: str) -> Callable[[Path], None]:
    return lambda folder: (folder / "model" / "w").symlink_to(target)


#: (location, the kind of file at folder/model, the message, or None if the file is read).
FOUND: list[tuple[str, Callable[[Path], object], str | None]] = [
    ("w", in_place, None),
    ("./w", in_place, None),
    ("sub/w", lambda folder: (folder / "model" / "sub" / "w").write_bytes(WEIGHTS.tobytes()), None),
    ("w", link("sub/../real"), None),
    ("w", link("../outside"), "is a link that leaves the model's folder"),
    ("w", lambda folder: (folder / "model" / "w").symlink_to(folder / "outside"), "is a link that leaves"),
    ("linked/outside", lambda folder: (folder / "model" / "linked").symlink_to(".."), "is a link that leaves"),
    ("w", link("w"), "no regular file|cannot be read"),
    ("w", link("nothing"), "is missing in .*keep the data files beside the model"),
    ("w", lambda folder: None, "is missing in .*keep the data files beside the model"),
    ("m.onnx/w", lambda folder: None, "cannot be read"),
    ("w", lambda folder: os.link(folder / "outside", folder / "model" / "w"), "another name elsewhere"),
    ("w", lambda folder: os.mkfifo(folder / "model" / "w"), "is no regular file"),
    ("sub", lambda folder: None, "is no regular file"),
    (".", lambda folder: None, "is no regular file"),
    ("", lambda folder: None, "has no location"),
    ("../outside", lambda folder: None, "must be a path in the model's folder"),
    ("sub/../../outside", lambda folder: None, "must be a path in the model's folder"),
    ("/etc/passwd", lambda folder: None, "must be a path in the model's folder"),
    ("C:w", in_place, "must be a path in the model's folder"),
    ("sub\\w", in_place, "must be a path in the model's folder"),
    ("w\0x", in_place, r"`w\\x00x`: must be a path in the model's folder"),
    ("w" * 300, in_place, "cannot be read"),
]


@pytest.mark.parametrize(("location", "lay", "message"), FOUND)
def test_only_files_in_the_models_folder_are_read(tmp_path, location, lay, message) -> None:
    (tmp_path / "model" / "sub").mkdir(parents=True)
    (tmp_path / "outside").write_bytes(WEIGHTS.tobytes())
    (tmp_path / "model" / "real").write_bytes(WEIGHTS.tobytes())
    lay(tmp_path)
    path = saved(tmp_path / "model", location=location)
    if message is None:
        assert (load_model(path).weights["w"] == WEIGHTS).all()
        assert external_data.readable_files(path) == [Path(os.path.realpath(tmp_path / "model" / location))]
    else:
        with pytest.raises(ModelError, match=message) as error:
            load_model(path)
        assert "tensor w: " in str(error.value)
        assert str(error.value).isprintable()
        assert external_data.readable_files(path) == []


@given(offset=st.integers(-9, 150), length=st.integers(-9, 150) | st.none())
def test_ranges_lie_within_the_file(offset: int, length: int | None, tmp_path_factory) -> None:
    path = tmp_path_factory.getbasetemp() / "range.bin"
    path.write_bytes(bytes(range(100)))
    entries = {"location": "range.bin", "offset": str(offset)} | ({} if length is None else {"length": str(length)})
    allowed = offset >= 0 and (offset <= 100 if length is None else length >= 0 and offset + length <= 100)
    with path.open("rb") as file:
        if allowed:
            assert external_data.read_part(file, entries) == bytes(range(100))[offset:][:length]
        else:
            with pytest.raises(ExternalDataError, match=r"`range\.bin`"):
                external_data.read_part(file, entries)


@pytest.mark.parametrize("text", ["x", "1e3", " 1", "0x10", "-1", "9" * 19, "9" * 5000, "١", "1_0"])
def test_ranges_are_plain_numbers(tmp_path: Path, text: str) -> None:
    (tmp_path / "w").write_bytes(WEIGHTS.tobytes())
    for key in ("offset", "length"):
        with pytest.raises(ModelError, match="tensor w: external data `w`"):
            load_model(saved(tmp_path, location="w", **{key: text}))


def test_a_model_in_memory_reads_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder is not the model's."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w").write_bytes(WEIGHTS.tobytes())
    with pytest.raises(ModelError, match="the data of initializer w is in a file beside the model"):
        load_model(onnx.load(saved(tmp_path, location="w"), load_external_data=False))
    constant = helper.make_node("Constant", [], ["c"])
    constant.attribute.append(attribute("t", "w"))
    with pytest.raises(ModelError, match="is in a file beside the model"):
        load_model(make([constant, node("Add", "x c", "y")], {"x": (1, 2)}, ["y"]))


# ---- digest ------------------------------------------------------------------------------------------------------


def test_the_plans_source_covers_the_data_files(tmp_path: Path) -> None:
    """The digest follows SPEC.md: the model, then each data file."""
    proto = make([node("MatMul", "x w", "t"), node("Add", "t b", "y")], {"x": (1, 64)}, ["y"],
                 {"w": WEIGHTS, "b": WEIGHTS[0], "c": WEIGHTS[1]})  # fmt: skip
    for tensor, (location, offset) in zip(proto.graph.initializer, (("é", 0), ("z", 0), ("é", 8)), strict=True):
        elsewhere(tensor, location=location, offset=str(offset), length=str(len(tensor.raw_data) or 256))
    proto.graph.initializer[0].external_data[-1].value = str(WEIGHTS.nbytes)
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    (tmp_path / "é").write_bytes(WEIGHTS.tobytes())
    (tmp_path / "z").write_bytes(WEIGHTS[5].tobytes())

    def sha(data: bytes) -> bytes:
        return hashlib.sha256(data).digest()

    parts = [sha(path.read_bytes()), b"z\0", sha(WEIGHTS[5].tobytes()), "é".encode() + b"\0", sha(WEIGHTS.tobytes())]
    graph = load_model(path)
    assert graph.source_sha256 == sha(b"".join(parts))
    assert (graph.weights["b"] == WEIGHTS[5]).all()
    whole = tmp_path / "whole.onnx"
    whole.write_bytes(model().SerializeToString())
    assert load_model(whole).source_sha256 == sha(whole.read_bytes())
