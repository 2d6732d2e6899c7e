"""TiGrIS for PlatformIO and ESP-IDF: runs ONNX and TensorFlow Lite models in memory far smaller than the model.

    from tigris_pio import compile_model, Session
    plan = compile_model("kws.onnx", fast="64K", slow="1M")
    plan.save("kws.tgrs")
    with Session("kws.tgrs") as session:
        y = session.run({"input": x})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tigris_pio.errors import (
    ArgumentError,
    BudgetError,
    FileError,
    InternalError,
    ModelError,
    ModelFileError,
    PlanError,
    PlanFileError,
    RuntimeFailure,
    TigrisError,
    ToolError,
    UnsupportedError,
    UsageError,
)
from tigris_pio.identity import IDENTITY

__version__ = IDENTITY.version
__all__ = [
    "ArgumentError",
    "BudgetError",
    "Compiled",
    "FileError",
    "InternalError",
    "ModelError",
    "ModelFileError",
    "PlanError",
    "PlanFileError",
    "RuntimeFailure",
    "Session",
    "TigrisError",
    "ToolError",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "compile_model",
]

if TYPE_CHECKING:
    from tigris_pio.api import compile_model
    from tigris_pio.compiler.pipeline import Compiled
    from tigris_pio.host import Session


def __dir__() -> list[str]:
    """The public names, also those that are not imported yet."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Imports the compiler and the host runtime at their first use: reading the version needs neither."""
    if name in ("Compiled", "compile_model"):
        from tigris_pio import api

        return getattr(api, name)
    if name == "Session":
        from tigris_pio.host import Session

        return Session
    raise AttributeError(f"module 'tigris_pio' has no attribute {name!r}; it has {', '.join(__all__)}")
