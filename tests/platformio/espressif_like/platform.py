"""A platform whose packages lie in its own folder, so nothing has to be installed."""

import os

from platformio.platform.base import PlatformBase


class Espressif32Platform(PlatformBase):
    def get_package_dir(self, name):
        folder = os.path.join(self.get_dir(), "packages", name)
        return folder if os.path.isdir(folder) else None
