"""The list of supported operators in the documentation is the compiler's own."""

from __future__ import annotations

from tigris_pio.compiler.lower import documentation


def test_the_committed_list_is_the_rendered_one():
    assert documentation.DOCUMENT_PATH.read_text(encoding="utf-8") == documentation.render()
