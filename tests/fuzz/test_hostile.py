"""Some of the hostile models, the same ones each time; `make fuzz` tries others for as long as it is told."""

import subprocess
import sys

from tests.harness.tiers import examples

MODELS = examples(60, 250)
CODE = f"""
from tests.fuzz import hostile_tflite
from tests.fuzz.hostile import bounded, hostile, outcome
from tests.peak import peak
bounded()
counts = {{"refused": 0, "opened": 0}}
for seed in range({MODELS}):
    for model in (hostile(seed), hostile_tflite.hostile(seed)):
        if model is not None:
            counts[outcome(model)] += 1
print(counts["refused"], counts["opened"], peak())
"""


def test_whatever_a_file_asks_is_refused_or_opens():
    """In a child of little memory: an exception that is no refusal, or a plan that the runtime refuses, ends it."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    refused, opened, most = map(int, done.stdout.split())
    assert refused > MODELS and opened > MODELS // 4
    assert most < 1 << 30
