"""The project's name, version, repository and licence, which stand here alone.

`python -m tools.manifests` copies them into the manifests (library.json, idf_component.yml, pyproject.toml, the
emulated platform's platform.json, the site's mkdocs.yml) and into pages that show how to fetch the project. A test
compares.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Identity:
    """`repository`: the address of the Git repository's page, without a slash or .git at its end. If it is empty,
    manifests leave the key out, and pages show an address under example.org."""

    name: str = "tigris-pio"
    version: str = "0.1.0"
    repository: str = ""
    license: str = "Apache-2.0"
    authors: str = "The authors of tigris-pio"
    #: Describes the compiler with its plugins; registries of C libraries get `runtime` instead.
    summary: str = (
        "ONNX and TensorFlow Lite models far larger than a microcontroller's SRAM, from one line in platformio.ini to "
        "verified inference"
    )
    runtime: str = (
        "Runs compiled ONNX and TensorFlow Lite models (.tgrs plans) in place from flash, in memory the caller provides"
    )


IDENTITY = Identity()
