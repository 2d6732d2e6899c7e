"""Code lines: what counts, and that no room exceeds its budget."""

from tools import size


def test_what_counts() -> None:
    text = '"""Doc.\n\nMore."""\n\nX = """a\n\nb"""  # text\n\n\n# comment\n'
    python = text + 'def f():\n    """doc"""\n    return (\n        1\n    )\n'
    assert size.python_lines(python) == 2 + 1 + 3
    assert size.c_lines("/* a\n   b */\n\nint x; // y\n  // z\n/* c */ int z;\n") == 2
    assert size.room_of("a/b/c.py", {"a": 1, "a/b": 1}) == "a/b" and size.room_of("ab/c.py", {"a": 1}) is None


def test_no_room_exceeds_its_budget() -> None:
    assert size.main() == 0
