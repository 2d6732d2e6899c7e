"""`tigris verify --hop`: runs on overlapping windows must equal runs on whole windows."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.harness.command import tigris
from tests.networks.folders import OWN
from tigris_pio import Session, compile_model
from tigris_pio.verify.hop import compare_hop

SWW = OWN / "sww_int8.onnx"


def test_a_network_is_verified_on_overlapping_windows() -> None:
    done = tigris("verify", SWW, "-m", "8K", "--hop", "2", "--samples", "3")
    assert "3 runs on overlapping windows against whole ones, from run 15 on: identical" in done.stdout
    document = json.loads(tigris("verify", SWW, "-m", "8K", "--hop", "2", "--samples", "2", "--json").stdout)
    assert document["passed"] and document["hop"] == {"runs": 2, "first": 15, "different": []}


def test_a_session_that_loses_its_states_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The states are reset before run 17."""
    hop, whole = compile_model(SWW, hop=2), compile_model(SWW)
    run, calls = Session.run, []

    def forgetful(session: Session, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if session.state:
            calls.append(1)
            if len(calls) == 17:
                session.reset()
        return run(session, inputs)

    assert compare_hop(hop, whole, 4, 0).passed
    monkeypatch.setattr(Session, "run", forgetful)
    found = compare_hop(hop, whole, 4, 0)
    assert not found.passed and found.first == 15 and 17 in found.different and 15 not in found.different
