"""PlatformIO's core folder, as its own tests find it."""

from tests.platformio.conftest import core_dir

__all__ = ["core_dir"]
