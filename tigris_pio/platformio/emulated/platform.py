"""The PlatformIO platform of the emulated boards."""

import importlib.util
import os
import sys

from platformio.platform.base import PlatformBase
from platformio.project.options import ProjectOptions


class EmulatedPlatform(PlatformBase):
    def __init__(self, manifest_path):
        super().__init__(manifest_path)
        # `pio device monitor` creates a platform without an environment.
        self._offer_port(_environment_argument() or self.config.get_default_env())

    def is_embedded(self):
        return True

    def configure_project_packages(self, env, targets=None):
        self._offer_port(env)
        return super().configure_project_packages(env, targets)

    def board_process(self):
        """The module that owns flash files and processes."""
        return self.load_module("tigris_board_process", "tools", "board_process.py")

    def load_module(self, name, *path):
        """Loads a file of the package by its path from here, because a platform is no Python package."""
        if name not in sys.modules:
            file = os.path.realpath(os.path.join(self.get_dir(), *path))
            spec = importlib.util.spec_from_file_location(name, file)
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
        return sys.modules[name]

    def port_url(self, environment):
        """The board's serial port if platformio.ini names none."""
        board_process = self.board_process()
        folder = board_process.board_folder(self.config.get("platformio", "workspace_dir"), environment)
        return board_process.port_url(folder, os.getcwd(), environment)

    def _offer_port(self, environment):
        """Makes the board's port the default of monitor_port and test_port.

        Otherwise PlatformIO would search a USB device; a platform has no other way to name a URL.
        """
        if not environment or not self._is_own_board(environment):
            return
        for option in ("env.monitor_port", "env.test_port"):
            ProjectOptions[option].default = self.port_url(environment)

    def _is_own_board(self, environment):
        board = self.config.get(f"env:{environment}", "board", None)
        return bool(board) and os.path.isfile(os.path.join(self.get_dir(), "boards", f"{board}.json"))


def _environment_argument():
    arguments = sys.argv[1:]
    for index, argument in enumerate(arguments):
        if argument in ("-e", "--environment") and index + 1 < len(arguments):
            return arguments[index + 1]
        if argument.startswith("--environment="):
            return argument.split("=", 1)[1]
    return None
