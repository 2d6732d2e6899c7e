"""An error lists all free dimensions without a size, each as an option sets it."""

from __future__ import annotations

import pytest

from tests.compiler.models import make, node
from tigris_pio.compiler.load import load_model
from tigris_pio.errors import ModelError
from tigris_pio.spelling import Caller, messages_for


@pytest.mark.parametrize(("inputs", "words"), [
    ({"x": (1, "length")}, ["length=VALUE"]), ({"x": (1, 3, "height", "width")}, ["height=VALUE", "width=VALUE"]),
    ({"x": (-1, 3, "?", "?")}, ["x:2=VALUE", "x:3=VALUE"]), ({"x": (1, "", 3, "")}, ["x:1=VALUE", "x:3=VALUE"]),
    ({"x": ("n", "t", "t")}, ["t=VALUE"]), ({"x": (1, "h"), "z": (1, "w", "?")}, ["h=VALUE", "w=VALUE", "z:2=VALUE"]),
    ({"x": (1, "2*h", "a b")}, ["x:1=VALUE", "x:2=VALUE"]),
])  # fmt: skip
def test_all_are_listed_and_the_listed_options_work(inputs, words):
    nodes = [node("Relu", name, f"y{name}") for name in inputs]
    model = make(nodes, inputs, [f"y{name}" for name in inputs])
    with pytest.raises(ModelError) as caught, messages_for(Caller.COMMAND):
        load_model(model)
    given = str(caught.value).split("give it with ")[1]
    assert given == " ".join(f"--dim {word}" for word in words)
    load_model(model, {word.split("=")[0]: 5 + place for place, word in enumerate(words)})
