"""python -m bench.allocation: its lines, and what it says of files that are wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
GOOD = "id,lower,upper,size\n0,0,2,10\n1,1,3,20\n2,2,4,10\n"


def bench(*arguments):
    command = [sys.executable, "-m", "bench.allocation", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_line_for_each_instance(tmp_path):
    (tmp_path / "small.30.csv").write_text(GOOD)
    done = bench(tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split()[:4] == ["small.30", "30", "30", "proved"]


@pytest.mark.parametrize(
    "text,said",
    [
        ("id,lower,upper\n0,0,2\n", "no column 'size'"),
        ("", "no column 'id'"),
        ("id,lower,upper,size\n0,0,2,-5\n", "line 2: size is negative"),
        ("id,lower,upper,size\n0,0,2,4\n1,3,3,4\n", "line 3: upper is 3, not above lower, 3"),
        ("id,lower,upper,size\n0,0,two,4\n", "line 2: lower, upper and size must be whole numbers"),
        ("id,lower,upper,size\n0,0\n", "line 2: lower, upper and size must be whole numbers"),
        ("id,lower,upper,size\n0,0,1,4\n0,0,1,4\n", "two buffers have the id '0'"),
    ],
)
def test_a_wrong_file_is_named_in_one_line(tmp_path, text, said):
    path = tmp_path / "wrong.csv"
    path.write_text(text)
    done = bench(tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ") and str(path) in line and said in line


def test_a_folder_without_instances_and_wrong_usage(tmp_path):
    done = bench(tmp_path)
    assert done.returncode == 1 and "holds no *.csv" in done.stderr
    assert bench().returncode == bench(tmp_path, "--zoo").returncode == bench(tmp_path, "--nodes", "-1").returncode == 2
