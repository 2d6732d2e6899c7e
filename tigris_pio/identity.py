"""What the project is called and where it lives: the one place of its version and of its repository's address.

Manifests repeat both (library.json, idf_component.yml, pyproject.toml, the emulated platform's platform.json, the
site's mkdocs.yml), and so do pages that show how to fetch the project. All are written from here by
`python -m tools.manifests`; a test holds them to it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Identity:
    """`repository` is the address of the Git repository's page, without a slash or .git at its end. It is empty while
    there is none: then no manifest has a key for an address, and pages show one under example.org."""

    name: str = "tigris-pio"
    version: str = "0.1.0"
    repository: str = ""
    license: str = "Apache-2.0"
    #: Of the compiler with its plugins; registries of libraries get `runtime`.
    summary: str = (
        "ONNX and TensorFlow Lite models far larger than a microcontroller's SRAM, from one line in platformio.ini to "
        "verified inference"
    )
    runtime: str = (
        "Runs compiled ONNX and TensorFlow Lite models (.tgrs plans) in place from flash, in memory the caller provides"
    )


IDENTITY = Identity()
