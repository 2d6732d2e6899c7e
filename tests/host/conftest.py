"""The host library is built before the tests that need it."""

import pytest

from tests.runtime.build import ensure_library


@pytest.fixture(scope="session", autouse=True)
def _library() -> None:
    ensure_library()
